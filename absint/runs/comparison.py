"""The claims of an analysis compared with the tensors of one run, and the sizes of symbols that these show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Final

from absint.lattices.contents import element_symbols
from absint.lattices.logic.relation import FALSE, NO, UNKNOWN, YES, Relation, Truth
from absint.lattices.terms.evaluation import casts_floats, values_of
from absint.lattices.terms.expr import Dim, Expr, Symbol, UndefinedError
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import Real, sole_atom
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import counted, excerpt, format_sizes
from absint.lattices.text.forms import SIZES, Key, Object, keys_of, many
from absint.program.steps import IfJoin
from absint.runs.statements import Array, Number, Row, Statement, Statements, check_names, read_actual, shapes_of
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names, constraints
from absint.solution.naming import Claimed, claims
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

    def learn_conditions(self, analysed: Analysed, actual: Mapping[str, object]) -> None:
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


_SHOWN: Final = 20
"""Wrong rows that the text lists."""

_VALUES: Final = 40
"""Values whose shapes the text lists."""


@dataclass(frozen=True)
class Comparison:
    """The claims of an analysis, and the tensors of one run."""

    model: str
    """The path of the model, or a word for its origin."""
    binding: Mapping[str, int]
    """The sizes that the tensors show, of input symbols and of invented ones."""
    rows: tuple[Row, ...]
    """A row for each type, dim and known element of the given values, and for each constraint that does not hold."""
    unchecked: tuple[str, ...]
    """Claims that could not be compared, and why."""
    constraints: int
    """Constraints that the tensors decide."""
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

    def __repr__(self) -> str:
        return f"<Comparison with {excerpt(self.model)}: {len(self.wrong):,} of {len(self.rows):,} claims wrong>"

    def __str__(self) -> str:
        sizes = format_sizes(self.binding)
        title = f"{self.model} ({self.label})" if self.label else self.model
        lines = [f"{title} at {sizes}" if sizes else title]
        values = [f"  {name}: {a} ran {b}{'' if ok else ', wrong'}" for name, a, b, ok in shapes_of(self.rows)]
        lines += values[:_VALUES]
        if len(values) > _VALUES:
            lines.append(f"  and {len(values) - _VALUES} more values")
        wrong = self.wrong
        if wrong:
            lines.append(f"wrong: {len(wrong)} of {counted(len(self.rows), 'claim')}")
            lines += [f"  {row}" for row in wrong[:_SHOWN]]
            if len(wrong) > _SHOWN:
                lines.append(f"  and {len(wrong) - _SHOWN} more")
            if any(row.premise for row in wrong):
                lines.append(
                    "the inputs break a declaration or an assumption of the analysis: it claims nothing of this run"
                )
        else:
            lines.append(f"right: {counted(len(self.rows), 'claim')} and {counted(self.constraints, 'constraint')}")
        if self.unchecked:
            lines += ["not compared:", *(f"  {line}" for line in self.unchecked)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything, as JSON, schema `absint.compare/1`."""
        return COMPARISON.text(self)


_ROW: Final = keys_of(
    Row,
    value="its name; for a constraint, the node that states it",
    axis="of a dim; of an element its row-major place; null for all elements",
    expression="the claim; `?` for a size known by its bounds alone",
    predicted="its value at the sizes of the run; null if they do not determine it",
    premise="it is about what the analysis takes for granted",
)
COMPARISON: Final = Document[Comparison](
    "compare",
    1,
    "claims beside the tensors of a run (Result.compare)",
    Key("ok", bool, "no claim is wrong"),
    Key("binding", SIZES, "the sizes that the tensors show"),
    Key("policy", str, "the unsound policy; left out without one", lambda found: found.label, lambda f: f.label),
    Key("rows", many(Object(*_ROW)), "the claims, and the constraints that do not hold"),
    Key("unchecked", many(str), "claims that could not be compared, and why"),
    Key("constraints", int, "how many hold"),
    head=("model",),
    head_of=lambda found: Head(found.model),
    defines=False,
    lines=True,
)


def compare(analysed: Analysed, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> Comparison:
    """Compare the claims of an analysis with the tensors of one run that succeeded.

    `inputs` and `outputs` map names to arrays (anything with `shape` and `dtype`), to tuples of sizes, or for sequences
    to lists of these; `outputs` may hold any value of the main graph. Symbols get their sizes from the inputs, and
    others from the first place that shows them; every other place must agree.

    Raises UsageError for an unknown name, and for a value that is no tensor. Tensors that contradict a claim are rows
    of the result.
    """
    check_names("the model has no input", inputs, [info.name for info in analysed.loaded.model.graph.input])
    check_names("the main graph has no value", outputs, list(analysed.values))
    reader = Statements()
    actual = {name: read_actual(name, item) for name, item in {**inputs, **outputs}.items()}
    fed = {*inputs, *analysed.inputs}
    of_inputs: list[Statement] = []
    others: list[Statement] = []
    for name, value in analysed.values.items():
        if name in actual:
            (of_inputs if name in fed else others).extend(reader.of(name, value, actual[name]))

    sizes = ShownSizes()
    sizes.learn(of_inputs)
    sizes.learn_conditions(analysed, actual)
    sizes.learn(others)
    rows = [*(sizes.judge(claim, premise=True) for claim in of_inputs), *(sizes.judge(claim) for claim in others)]
    if analysed.policy.sound:
        rows += [
            _finding(stated, sizes, ran=bool(outputs))
            for stated in constraints(analysed).distinct.values()
            if sizes.settle(stated[0]) is NO
        ]
    else:
        rows += [_refuted(claim) for claim in claims(analysed) if claim.relation.at(sizes.known) is NO]
    absent = [f"input {name!r}: not given" for name in analysed.inputs if name not in actual]
    absent += [f"output {name!r}: not given" for name in analysed.outputs if name not in actual]
    unchecked = (*absent, *reader.notes, *sizes.unsettled, *sizes.open_constraints())
    return Comparison(analysed.origin, dict(sizes.known), tuple(rows), unchecked, sizes.settled, analysed.policy.label)


def _refuted(claim: Claimed) -> Row:
    """The row of a relation that a policy took for granted and the tensors contradict."""
    note = f"the policy takes {claim.relation} for granted ({claim.reason})"
    return Row(claim.node, "constraint", None, str(claim.relation), True, False, False, note)


def _finding(constraints: Sequence[Constraint], sizes: ShownSizes, ran: bool) -> Row:
    """The row of a formula that does not hold, with the nodes that state it."""
    first = constraints[0]
    formula, others = first.formula, len(constraints) - 1
    at = sizes.spelled(formula.free_symbols)
    note = "the run succeeded, but " if ran else ""
    said = f"{formula} is {'claimed' if first.role == 'defined' else first.role}"
    note += "it is claimed never to run" if formula is FALSE else said
    note += f" ({first.reason}){f', at {at}' if at else ''}"
    note += f"; {others} other{'s' * (others > 1)} say so too" if others else ""
    premise = first.role in ("assumed", "declared")
    return Row(str(first.origin), "constraint", None, str(formula), True, False, False, note, premise)
