"""Holding what an analysis claims against the tensors of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.terms.expr import Dim, Expr, Symbol, UndefinedError, const
from absint.lattices.terms.normal import sole_atom
from absint.lattices.terms.real import Real
from absint.lattices.terms.substitution import substitute
from absint.lattices.text.escapes import json_text
from absint.program.steps import IfJoin
from absint.runs.arrays import Actual, Array, check_names, read_actual
from absint.runs.statements import Number, Part, Statement, Statements
from absint.solution.claimed import Claimed, claims
from absint.solution.constraints import all_names, constraints

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed
    from absint.solver.constraints import Constraint

SCHEMA: Final = "absint.compare/1"
_SHOWN: Final = 20
"""Wrong rows that the text lists."""

_ROUNDING: Final = Fraction(1, 1 << 10)
"""The relative error of the narrowest float whose elements are followed."""

_VALUES: Final = 40
"""Values whose shapes the text lists."""


@dataclass(frozen=True, slots=True)
class Row:
    """One claim held against the run."""

    value: str
    """The name of the value; for a constraint, the node that states it."""
    part: Part
    axis: int | None
    """Of a dim; the row-major place of an element, None where the claim is about all elements."""
    expression: str
    """The claim; `?` for a size of which only bounds are known."""
    predicted: Number | None
    """The value of the expression at the sizes of the run; None where they do not determine it."""
    actual: Number
    ok: bool
    note: str = ""
    premise: bool = False
    """It is about an input or an assumption: what the claims rest on, not what they say."""

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return self.value if self.part == "constraint" else Statement(self.value, self.part, self.axis, "", "").place

    def __str__(self) -> str:
        if self.part == "constraint":
            return f"{self.place}: {self.note}"
        is_plain = self.predicted is None or str(self.predicted) == self.expression
        claimed = self.expression if is_plain else f"{self.expression} = {self.predicted}"
        stated = "declared" if self.premise else "claimed"
        return f"{self.place}: {stated} {claimed}, ran {self.actual}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Comparison:
    """The claims of an analysis beside the tensors of one run."""

    model: str
    binding: Mapping[str, int]
    """The sizes that the tensors show, of input symbols and of invented ones."""
    rows: tuple[Row, ...]
    """A row for each type, dim and known element of what was given, and for each constraint that does not hold."""
    unchecked: tuple[str, ...]
    """Claims that could not be compared, and why."""
    constraints: int
    """Constraints that the tensors settle."""
    label: str = ""
    """The unsound policy that makes the claims; empty for a sound result."""

    @property
    def wrong(self) -> tuple[Row, ...]:
        """The rows that the run contradicts."""
        return tuple(row for row in self.rows if not row.ok)

    @property
    def ok(self) -> bool:
        """No claim that could be compared is wrong."""
        return all(row.ok for row in self.rows)

    def of(self, value: str) -> tuple[Row, ...]:
        """The rows of one value."""
        return tuple(row for row in self.rows if row.value == value)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.binding.items())
        title = f"{self.model} ({self.label})" if self.label else self.model
        lines = [f"{title} at {sizes}" if sizes else title]
        values = [f"  {line}" for line in self._values()]
        lines += values[:_VALUES]
        if len(values) > _VALUES:
            lines.append(f"  and {len(values) - _VALUES} more values")
        wrong = self.wrong
        if wrong:
            lines.append(f"wrong: {len(wrong)} of {_counted(len(self.rows), 'claim')}")
            lines += [f"  {row}" for row in wrong[:_SHOWN]]
            if len(wrong) > _SHOWN:
                lines.append(f"  and {len(wrong) - _SHOWN} more")
            if any(row.premise for row in wrong):
                lines.append(
                    "the inputs or assumptions are not as the analysis took them: it claims nothing of this run"
                )
        else:
            lines.append(f"right: {_counted(len(self.rows), 'claim')} and {_counted(self.constraints, 'constraint')}")
        if self.unchecked:
            lines += ["not compared:", *(f"  {line}" for line in self.unchecked)]
        return "\n".join(lines)

    def _values(self) -> Iterator[str]:
        """A line for each value: its claimed shape, and the one it has."""
        shapes: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.part == "dim":
                shapes.setdefault(row.value, []).append(row)
        for value, rows in shapes.items():
            claimed = ", ".join(row.expression for row in rows)
            ran = ", ".join(str(row.actual) for row in rows)
            yield f"{value}: [{claimed}] ran [{ran}]" + ("" if all(row.ok for row in rows) else ", wrong")

    def to_json(self) -> str:
        """Everything, as JSON."""
        head = {"schema": SCHEMA, "model": self.model, "ok": self.ok, "binding": dict(self.binding)}
        if self.label:
            head["policy"] = self.label
        tail = {"unchecked": list(self.unchecked), "constraints": self.constraints}
        rows = ",\n  ".join(_text(asdict(row)) for row in self.rows)
        return f'{_text(head)[:-1]},\n "rows": [\n  {rows}],\n {_text(tail)[1:]}'


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _text(item: object) -> str:
    return json_text(item)


def compare(result: Analysed, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> Comparison:
    """Hold the claims of an analysis against the tensors of one run that succeeded.

    `inputs` and `outputs` map names to arrays (anything with `shape` and `dtype`), to tuples of sizes, or for sequences
    to lists of these; `outputs` may hold any value of the main graph. Symbols get their sizes from the inputs, and what
    these leave open from the first place where it shows; every other place must agree.

    Raises UsageError for a name that the model does not have and for what is no tensor. Tensors that contradict
    a claim are rows of the result.
    """
    check_names("the model has no input", inputs, [info.name for info in result.model.graph.input])
    check_names("the main graph has no value", outputs, list(result.values))
    reader = Statements()
    actual = {name: read_actual(name, item) for name, item in {**inputs, **outputs}.items()}
    fed = {*inputs, *result.inputs}
    of_inputs: list[Statement] = []
    others: list[Statement] = []
    for name, value in result.values.items():
        if name in actual:
            (of_inputs if name in fed else others).extend(reader.of(name, value, actual[name]))

    sizes = Sizes()
    sizes.learn(of_inputs)
    sizes.learn_conditions(result, actual)
    sizes.learn(others)
    rows = [*(sizes.judge(claim, premise=True) for claim in of_inputs), *(sizes.judge(claim) for claim in others)]
    if result.policy.sound:
        rows += [
            _finding(constraints, sizes, ran=bool(outputs))
            for constraints in constraints(result).distinct.values()
            if sizes.settle(constraints[0]) is False
        ]
    else:
        rows += [_refuted(claim) for claim in claims(result) if sizes.truth(claim.relation) is False]
    absent = [f"input {name!r}: not given" for name in result.inputs if name not in actual]
    absent += [f"output {name!r}: not given" for name in result.outputs if name not in actual]
    unchecked = (*absent, *reader.notes, *sizes.unsettled, *sizes.open_constraints())
    return Comparison(result.origin, dict(sizes.known), tuple(rows), unchecked, sizes.settled, result.policy.label)


def _refuted(claim: Claimed) -> Row:
    """The row of what a policy took for granted and the tensors do not show."""
    note = f"the policy takes {claim.relation} for granted ({claim.reason})"
    return Row(claim.node, "constraint", None, str(claim.relation), True, False, False, note)


def _finding(constraints: Sequence[Constraint], sizes: Sizes, ran: bool) -> Row:
    """The row of a formula that does not hold, and of the nodes that state it."""
    first = constraints[0]
    formula, others = first.formula, len(constraints) - 1
    at = sizes.told(formula.free_symbols)
    note = "the run succeeded, but " if ran else ""
    said = f"{formula} is {'claimed' if first.role == 'defined' else first.role}"
    note += "it is claimed never to run" if formula is FALSE else said
    note += f" ({first.reason}){f', at {at}' if at else ''}"
    note += f"; {others} other{'s' * (others > 1)} say so too" if others else ""
    premise = first.role in ("assumed", "declared")
    return Row(str(first.origin), "constraint", None, str(formula), True, False, False, note, premise)


class Sizes:
    """The sizes of symbols that the tensors of a run show, and where."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.places: dict[str, str] = {}
        self.unsettled: list[str] = []
        self.open: list[Constraint] = []
        self.settled = 0

    # Learning

    def learn(self, claims: Iterable[Statement]) -> None:
        """Symbols that stand alone first; then what is linear in the only symbol without a size."""
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
                    solution = _solved(self._partly(expr), missing[0], number)
                    if solution is not None:
                        self._bind(missing[0], solution, place)
                        progress = True
                elif missing:
                    remaining.append((place, expr, number))
            pending = remaining

    def learn_conditions(self, result: Analysed, actual: Mapping[str, Actual]) -> None:
        """Data-dependent truths: conditions of Ifs, where they were given."""
        names = {operand: name for name, operand in result.operands.items() if name in actual}
        for number, node in enumerate(result.nodes):
            if isinstance(node.step, IfJoin) and node.operands[0] in names:
                name = names[node.operands[0]]
                tensor = actual[name]
                shown = all_names(result).get(Symbol(f"%{number}:condition", 0, 1))
                if isinstance(shown, Expr) and isinstance(tensor, Array) and tensor.has_elements:
                    for truth in tensor.elements().tolist()[:1]:
                        self._bind(next(iter(shown.symbols)), int(bool(truth)), name)

    def _bind(self, symbol: Symbol, number: int, place: str) -> None:
        if symbol.name not in self.known:
            self.known[symbol.name] = number
            self.places[symbol.name] = place

    def _partly(self, expr: Expr) -> Dim:
        """The expression with the sizes that are known."""
        return substitute(expr, {s: const(self.known[s.name]) for s in expr.symbols if s.name in self.known})

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
            truth = self.truth(stated)
            found = truth, truth is None or truth is bool(actual), ""
            self._needs(claim, stated.free_symbols)
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
                    return None, False, f"it divides by zero at {self.told(stated.free_symbols)}"
                except ValueError as error:  # a symbol is out of its bounds
                    return None, False, str(error)
                return predicted, predicted == actual, "" if predicted == actual else self._why(claim, stated)
            partly = self._partly(stated)
            if isinstance(partly, Expr) and partly.const is not None:  # a size of 0 has made the rest irrelevant
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
        return f"at {told}" if (told := self.told(stated.free_symbols)) else ""

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

    def told(self, names: Iterable[str]) -> str:
        """Symbols with their sizes."""
        return ", ".join(f"{name}={self.known[name]}" for name in self.known if name in set(names))

    # Constraints

    def truth(self, relation: Relation) -> bool | None:
        """The truth of a relation; None if the sizes do not settle it."""
        try:
            return relation.evaluate(self.known)
        except (KeyError, ValueError, UndefinedError):
            return None

    def settle(self, constraint: Constraint) -> bool | None:
        """The truth of a constraint, counted; None if the sizes do not settle it."""
        is_off = constraint.guard is not TRUE and self.truth(constraint.guard) is False
        truth = True if is_off else self.truth(constraint.formula)
        if truth is None:
            self.open.append(constraint)
        else:
            self.settled += 1
        return truth

    def open_constraints(self) -> Iterator[str]:
        """A line for the constraints that are not settled."""
        missing = sorted({name for c in self.open for name in c.formula.free_symbols} - self.known.keys())
        if self.open:
            over = f" over {', '.join(missing)}" if missing else ""
            yield f"{_counted(len(self.open), 'constraint')}{over}: not settled by the tensors"


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
    """The bounds in words."""
    lo, hi = dim.bounds
    ends = [] if lo is None else [f"at least {lo}"]
    return " and ".join(ends if hi is None else [*ends, f"at most {hi}"])


__all__ = ["Comparison", "Row", "compare"]
