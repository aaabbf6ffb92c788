"""`absint.diff` and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from absint.api import analyze
from absint.diffing.answers import Contracts, Figures, Inner, Port, Ports, Surroundings
from absint.diffing.correspondence import correspondence
from absint.diffing.figures import figures
from absint.diffing.inner import differing
from absint.diffing.legality import Direction, Model, contracts
from absint.diffing.outputs import Compared, inputs
from absint.diffing.pairing import paired
from absint.diffing.surroundings import surroundings
from absint.diffing.witness import Both
from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import LONG, MEMORY, RLIMIT, Limits
from absint.lattices.logic.relation import Relation
from absint.queries.contracts import contract
from absint.queries.evidence import Evidence, chosen
from absint.result import Result
from absint.shapes.assumptions import Assumption, read_assumptions

if TYPE_CHECKING:
    from absint.model.load import Loaded, ModelLike

T = TypeVar("T")

Headline = Literal["same", "compatible", "changed", "undecided"]


@dataclass(frozen=True)
class Diff:
    """A model A beside a model B that is to take its place."""

    first: str
    """The path of A, or a word for its origin."""
    second: str
    symbols: Mapping[str, str]
    """Each symbol of B over those of A, where inputs say so: `{"N": "batch"}`."""
    inputs: Ports
    outputs: Ports
    contract: Contracts
    surroundings: Surroundings
    figures: Figures | None
    """None if time ran out before costs were counted."""
    values: tuple[Inner, ...] | None = None
    """With `values=True`: computed values of one name whose types or shapes differ."""
    reason: str = ""
    """The reason why the comparison is not complete, if it is not."""

    @property
    def verdict(self) -> Headline:
        """`same`: the same inputs and outputs, the same legal sizes, and the same output shapes for all of them.

        `compatible`: all that works with A works with B, which differs. `changed`: a call that works with A does not
        work with B, or an output is another one. `undecided`: neither is shown.
        """
        if self.broken:
            return "changed"
        if self.undecided:
            return "undecided"
        return "same" if self._is_same else "compatible"

    def __bool__(self) -> bool:
        """All that works with A is shown to work with B."""
        return self.verdict in ("same", "compatible")

    @property
    def broken(self) -> tuple[str, ...]:
        """What makes B no replacement of A, a few words each; the contract first."""
        found = ["the contract narrowed"] if self.contract.narrowed else []
        words = {"gone": "is gone", "new": "is required", "changed": "changed", "renamed": "was renamed"}
        found += [f"input {p.name} {words[p.status]}" for p in self.inputs.of("gone", "new", "changed", "renamed")]
        found += [f"output {p.name} {words[p.status]}" for p in self.outputs.of("gone", "changed", "renamed")]
        if self.outputs.reordered:
            found.append("outputs stand in another order")
        return tuple(found)

    @property
    def undecided(self) -> tuple[str, ...]:
        """What is not decided, a few words each."""
        found = ["legal sizes"] if self.contract.undecided else []
        found += [f"output {p.name}" for p in self.outputs.of("undecided", "not comparable")]
        return (*found, self.reason) if self.reason else tuple(found)

    @property
    def _is_same(self) -> bool:
        ports: tuple[Port, ...] = (*self.inputs.items, *self.outputs.items)
        kept = all(port.status in ("same", "resized") for port in ports) and not self.inputs.reordered
        return kept and self.contract.agreement == "same"

    def __str__(self) -> str:
        from absint.diffing.text import lines

        return "\n".join(line.text for line in lines(self))

    def __repr__(self) -> str:
        return f"<Diff of {self.first} and {self.second}: {self.verdict}>"

    def to_json(self) -> str:
        """As a JSON object, schema `absint.diff/1`."""
        from absint.diffing.document import document

        return document(self)


def diff(
    first: ModelLike | Loaded | Result,
    second: ModelLike | Loaded | Result,
    *,
    values: bool = False,
    assume: Sequence[Assumption] = (),
    evidence: Evidence | None = None,
    seconds: float = LONG,
    rlimit: int = RLIMIT,
    memory: int = MEMORY,
) -> Diff:
    """Compare two models, or their results: may the second one take the place of the first?

    Inputs and outputs are compared by name, those left over by position. Symbols are matched by the axes of inputs at
    which they stand, so `batch` in one may be `N` in the other. Legal sizes are compared by entailment in both
    directions; `assume` narrows them, over symbols of the first model. Sizes that tell the models apart are the
    smallest that were found. Both are run there in a process of their own if onnxruntime is installed;
    `evidence="none"` never does, and then rules alone say where a model runs.

    With `values`, computed values of one name are compared too. Limits are as for `Result.prove`, for the whole
    comparison; what is not decided in time is said to be undecided.

    Raises ModelError if a model cannot be read, UsageError for assumptions that make no sense.
    """
    runs = chosen(evidence) == "run"
    limits = Limits(seconds, rlimit, memory)
    a, b = (model if isinstance(model, Result) else analyze(model) for model in (first, second))
    a.require_sound("a comparison")
    b.require_sound("a comparison")
    assumed = read_assumptions(assume, {}, a.declared_inputs)
    with within(seconds):
        return _Comparison(a, b, runs, limits).answer(assumed, values)


class _Comparison:
    def __init__(self, first: Result, second: Result, runs: bool, limits: Limits) -> None:
        self._a, self._b, self._limits = first, second, limits
        self._inputs = paired(first.inputs, second.inputs)
        swapped = [pair.swapped for pair in self._inputs]
        self._over = correspondence(first, second, self._inputs)
        self._back = correspondence(second, first, swapped)
        self._runs = Both(first, second, self._inputs, allowed=runs)
        self._reason = ""

    def answer(self, assumed: Sequence[Relation], values: bool) -> Diff:
        a, b, over, back = self._a, self._b, self._over, self._back
        first, second = Model("A", a, contract(a, self._limits)), Model("B", b, contract(b, self._limits))
        there = Direction(first, second, over, self._runs, self._limits, assumed).run()
        carried = [back.relation(r) for r in assumed if back.covers(r)]
        again = Direction(second, first, back, self._runs, self._limits, carried).run()
        common = there.both()
        compared = Compared(a, b, over, common, self._runs)
        return Diff(
            a.origin,
            b.origin,
            {name: str(expr) for name, expr in over.symbols.items() if name in b.symbols},
            inputs(a, b, self._inputs, over),
            compared.outputs(paired(a.outputs, b.outputs)),
            contracts(there, again, first, second),
            surroundings(a, b, (first.contract, second.contract)),
            self._in_time(lambda: figures(a, b, over)),
            self._in_time(lambda: tuple(differing(a, b, over, common))) if values else None,
            self._reason,
        )

    def _in_time(self, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except DeadlineError as error:
            self._reason = str(error)
            return None


__all__ = ["Diff", "diff"]
