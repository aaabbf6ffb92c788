"""Sizes of symbols that the tensors of a run show, and claims judged at these sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import isfinite
from typing import Final

from absint.lattices.contents import element_symbols
from absint.lattices.logic.relation import UNKNOWN, YES, Relation, Truth
from absint.lattices.terms.evaluation import casts_floats, values_of
from absint.lattices.terms.expr import Dim, Expr, Symbol, UndefinedError
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import Real, sole_atom
from absint.lattices.text.escapes import counted
from absint.program.steps import IfJoin
from absint.runs.statements import Actual, Array, Number, Row, Statement
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names
from absint.solver.constraints import Constraint

_ROUNDING: Final = Fraction(1, 1 << 10)
"""The relative error of the narrowest float whose elements are followed."""


class ShownSizes:
    """The sizes of symbols that the tensors of a run show, with their places."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.places: dict[str, str] = {}
        self.unsettled: list[str] = []
        self.open: list[Constraint] = []
        self.settled = 0

    # Learning

    def learn(self, claims: Iterable[Statement]) -> None:
        """Symbols that stand alone first; then terms that are linear in the only symbol without a size."""
        shown = [(claim.place, *pair) for claim in claims if (pair := claim.shown) is not None]
        for place, expr, number in shown:
            if isinstance(atom := sole_atom(expr), Symbol):
                self._bind(atom, number, place)
        pending = [item for item in shown if len(item[1].symbols) > 0]
        progress = True
        while progress:
            progress = False
            remaining = []
            for place, expr, number in pending:
                missing = [symbol for symbol in expr.symbols if symbol.name not in self.known]
                if len(missing) == 1:
                    solution = _solved(expr.substitute(self.known), missing[0], number)
                    if solution is not None:
                        self._bind(missing[0], solution, place)
                        progress = True
                elif missing:
                    remaining.append((place, expr, number))
            pending = remaining

    def learn_conditions(self, analysed: Analysed, actual: Mapping[str, Actual]) -> None:
        """Data-dependent truths: conditions of Ifs, if given."""
        names = {operand: name for name, operand in analysed.operands.items() if name in actual}
        for number, node in enumerate(analysed.nodes):
            if isinstance(node.step, IfJoin) and node.operands[0] in names:
                name = names[node.operands[0]]
                tensor = actual[name]
                shown = all_names(analysed).get(Symbol.fresh(number, "condition", 0, 1))
                if isinstance(shown, Expr) and isinstance(tensor, Array) and tensor.has_elements:
                    for truth in tensor.elements().tolist()[:1]:
                        self._bind(next(iter(shown.symbols)), int(bool(truth)), name)

    def _bind(self, symbol: Symbol, number: int, place: str) -> None:
        if symbol.name not in self.known:
            self.known[symbol.name] = number
            self.places[symbol.name] = place

    # Judging

    def judge(self, claim: Statement, premise: bool = False) -> Row:
        """The row of a claim."""
        stated, actual = claim.stated, claim.actual
        if isinstance(stated, str):
            predicted, ok, note = stated, stated == actual, ""
            return Row(claim.value, claim.part, claim.axis, stated, predicted, actual, ok, note, premise)
        found: tuple[Number | None, bool, str]
        if isinstance(stated, Dim):
            found = self._dim(claim, stated)
        elif isinstance(stated, Relation):
            truth = stated.at(self.known)
            predicted_truth = None if truth is UNKNOWN else truth is YES
            found = predicted_truth, predicted_truth in (None, bool(actual)), ""
            self._needs(claim, stated.free_symbols)
        elif isinstance(stated, Float):
            found = self._float(stated, actual)
            self._needs(claim, {symbol.name for symbol in element_symbols(stated)})
        else:
            found = self._real(stated, actual)
            self._needs(claim, stated.num.free_symbols)
        shown: Number = str(actual) if isinstance(actual, float) and not isfinite(actual) else actual
        return Row(claim.value, claim.part, claim.axis, str(stated), found[0], shown, found[1], found[2], premise)

    def _dim(self, claim: Statement, stated: Dim) -> tuple[int | None, bool, str]:
        actual = claim.actual
        partly: Dim = stated
        if isinstance(stated, Expr):
            if stated.free_symbols <= self.known.keys():
                try:
                    predicted = stated.evaluate(self.known)
                except UndefinedError:
                    if casts_floats(stated):
                        return None, True, ""
                    return None, False, f"it divides by zero at {self.spelled(stated.free_symbols)}"
                except ValueError as error:  # a symbol is out of its bounds
                    return None, False, str(error)
                return predicted, predicted == actual, "" if predicted == actual else self._why(claim, stated)
            partly = stated.substitute(self.known)
            if isinstance(partly, Expr) and partly.const is not None:  # a factor of 0 makes the rest irrelevant
                return partly.const, partly.const == actual, "" if partly.const == actual else self._why(claim, stated)
        if actual not in partly.bounds:
            return None, False, f"it is {_between(partly)}"
        if actual not in partly.congruence:
            modulus, remainder = partly.congruence
            return None, False, f"it is {remainder} modulo {modulus}" if remainder else f"it is a multiple of {modulus}"
        self._needs(claim, stated.free_symbols)
        return None, True, ""

    def _needs(self, claim: Statement, names: Iterable[str]) -> None:
        missing = sorted(name for name in names if name not in self.known)
        if missing:
            self.unsettled.append(f"{claim.place}: {claim.stated} needs {', '.join(missing)}")

    def _why(self, claim: Statement, stated: Expr) -> str:
        if isinstance(atom := sole_atom(stated), Symbol):
            size, place = self.known[atom.name], self.places[atom.name]
            return f"{atom.name} is {size} in {place}, {claim.actual} in {claim.place}"
        return f"at {sizes}" if (sizes := self.spelled(stated.free_symbols)) else ""

    def _real(self, stated: Real, actual: Number) -> tuple[Number | None, bool, str]:
        if not stated.num.free_symbols <= self.known.keys():
            return None, True, ""
        try:
            exact = Fraction(stated.num.evaluate(self.known), stated.den)
        except (UndefinedError, ValueError) as error:
            return None, False, str(error)
        ok = isinstance(actual, (int, float)) and isfinite(actual)
        if ok and stated.is_dyadic:
            ok = Fraction(actual) == exact
        elif ok:  # a quotient that some float type has rounded
            ok = abs(Fraction(actual) - exact) <= abs(exact) * _ROUNDING
        number: Number = (
            exact.numerator if exact.denominator == 1 else float(exact) if abs(exact) < 2**1000 else str(exact)
        )
        return number, ok, ""

    def _float(self, stated: Float, actual: Number) -> tuple[Number | None, bool, str]:
        if not {symbol.name for symbol in element_symbols(stated)} <= self.known.keys():
            return None, True, ""
        try:
            number = stated.compute(values_of(stated, self.known))
        except UndefinedError:  # a number that the platform makes up
            return None, True, ""
        except ValueError as error:
            return None, False, str(error)
        return (number if isfinite(number) else str(number)), number == actual, ""

    def spelled(self, names: Iterable[str]) -> str:
        """Symbols with their sizes."""
        return ", ".join(f"{name}={self.known[name]}" for name in self.known if name in set(names))

    # Constraints

    def settle(self, constraint: Constraint) -> Truth:
        """The truth of a constraint, counted; UNKNOWN if the sizes do not decide it."""
        truth = ~constraint.guard.at(self.known) | constraint.formula.at(self.known)
        if truth is UNKNOWN:
            self.open.append(constraint)
        else:
            self.settled += 1
        return truth

    def open_constraints(self) -> Iterator[str]:
        """A line for the constraints that are not decided."""
        missing = sorted({name for c in self.open for name in c.formula.free_symbols} - self.known.keys())
        if self.open:
            over = f" over {', '.join(missing)}" if missing else ""
            yield f"{counted(len(self.open), 'constraint')}{over}: not settled by the tensors"


def _solved(partly: Dim, symbol: Symbol, number: int) -> int | None:
    """The value at which c*symbol + rest is the number, if it is an integer within the bounds of the symbol."""
    if not isinstance(partly, Expr) or any(mono not in ((), (symbol,)) for mono, _ in partly.terms):
        return None
    terms = dict(partly.terms)
    factor = terms.get((symbol,), 0)
    if not factor or (number - terms.get((), 0)) % factor:
        return None
    found = (number - terms.get((), 0)) // factor
    return found if found in symbol.bounds else None


def _between(dim: Dim) -> str:
    lo, hi = dim.bounds
    ends = [] if lo is None else [f"at least {lo}"]
    return " and ".join(ends if hi is None else [*ends, f"at most {hi}"])
