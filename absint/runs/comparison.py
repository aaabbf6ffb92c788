"""The claims of an analysis compared with the tensors of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from absint.lattices.logic.relation import FALSE, NO
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import counted, excerpt, format_sizes
from absint.lattices.text.forms import SIZES, Key, Object, keys_of, many
from absint.runs.shown_sizes import ShownSizes
from absint.runs.statements import Row, Statement, Statements, check_names, read_actual, shapes_of
from absint.solution.analysed import Analysed
from absint.solution.constraints import constraints
from absint.solution.naming import Claimed, claims
from absint.solver.constraints import Constraint

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
