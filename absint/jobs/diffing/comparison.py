"""`absint.diff` and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from absint.api import analyze
from absint.jobs.diffing.clock import Clock
from absint.jobs.diffing.correspondence import correspondence
from absint.jobs.diffing.document import DIFF
from absint.jobs.diffing.figures import figures
from absint.jobs.diffing.findings import Findings
from absint.jobs.diffing.html import notebook, page
from absint.jobs.diffing.inner import differing
from absint.jobs.diffing.legality import Direction, Model, contracts
from absint.jobs.diffing.numbering import Numbers
from absint.jobs.diffing.outputs import Compared, inputs
from absint.jobs.diffing.pairing import Pair, form_of, paired
from absint.jobs.diffing.surroundings import surroundings
from absint.jobs.diffing.text import lines
from absint.jobs.diffing.witness import Both
from absint.lattices.deadline import DeadlineError
from absint.lattices.limits import LONG, MEMORY, RLIMIT, Limits
from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.text.sheets import written
from absint.model.load import Loaded, ModelLike
from absint.questions.limits import checked
from absint.questions.proofs.evidence import Evidence, chosen
from absint.questions.sizes.contracts import contract
from absint.result import Result
from absint.shapes.assumptions import Assumption, facts_of, read_assumptions
from absint.shapes.sizes import Sizes
from absint.shapes.sizes import given as given_sizes

T = TypeVar("T")


@dataclass(frozen=True)
class Diff(Findings):
    """A model A beside a model B that is to take its place."""

    def __str__(self) -> str:
        return written(lines(self))

    def __repr__(self) -> str:
        return f"<Diff of {self.first} and {self.second}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return notebook(self)

    def to_html(self) -> str:
        """As a page: one HTML file without scripts, in the style of `Result.report`."""
        return page(self)

    def to_json(self) -> str:
        """As a JSON object, schema `absint.diff/1`."""
        return DIFF.text(self)


def diff(
    first: ModelLike | Loaded | Result,
    second: ModelLike | Loaded | Result,
    *,
    values: bool = False,
    assume: Sequence[Assumption] = (),
    sizes: Sizes | None = None,
    evidence: Evidence | None = None,
    seconds: float = LONG,
    rlimit: int = RLIMIT,
    memory: int = MEMORY,
) -> Diff:
    """Compare two models, or their results: may the second one take the place of the first?

    Inputs and outputs are compared by name, those left over by position. Symbols are matched by the axes of inputs at
    which they stand, so `batch` in one may be `N` in the other. Legal sizes are compared by entailment in both
    directions; `assume` and `sizes` narrow them, over symbols of the first model. Sizes that tell the models apart are
    the smallest that were found. Both are run there in a process of their own if onnxruntime is installed;
    `evidence="none"` never does, and then rules alone say where a model runs.

    With `values`, computed values of one name are compared too. Limits are as for `Result.prove`, for the whole
    comparison; what is not decided in time is said to be undecided.

    Raises ModelError if a model cannot be read, UsageError for assumptions that make no sense.
    """
    runs = chosen(evidence) == "run"
    limits = checked(Limits(seconds, rlimit, memory))
    a, b = (model if isinstance(model, Result) else analyze(model) for model in (first, second))
    a.require_sound("a comparison")
    b.require_sound("a comparison")
    given = given_sizes(sizes or {}, a.declared_inputs)
    assumed = [*read_assumptions(assume, a.declared_inputs), *given.relations(a.declared_inputs)]
    facts_of([*a.assumptions, *assumed], a.declared_inputs.premises)  # refuses contradictions
    at = {name: low for name, (low, high, _) in given.ends.items() if low is not None and low == high}
    return _Comparison(a, b, runs, limits, at).answer([r for r in assumed if r is not TRUE], values)


class _Comparison:
    def __init__(self, first: Result, second: Result, runs: bool, limits: Limits, at: Mapping[str, int]) -> None:
        self._at = at
        self._a, self._b, self._clock = first, second, Clock(limits)
        self._inputs = paired(first.inputs, second.inputs)
        swapped = [pair.swapped for pair in self._inputs]
        self._over = correspondence(first, second, self._inputs)
        self._back = correspondence(second, first, swapped)
        self._runs = Both(first, second, self._inputs, allowed=runs)
        self._numbers: dict[bool, Numbers] = {}
        self._reason = ""

    def answer(self, assumed: Sequence[Relation], values: bool) -> Diff:
        a, b, over, back, clock = self._a, self._b, self._over, self._back, self._clock
        first, second = Model("A", a, contract(a, clock.left)), Model("B", b, contract(b, clock.left))
        there = Direction(first, second, over, self._runs, clock, assumed, self._numbered).run()
        carried = [back.relation(r) for r in assumed if back.covers(r)]
        again = Direction(second, first, back, self._runs, clock, carried, self._numbered).run()
        common = there.both()
        outputs = Compared(a, b, over, common, self._runs, self._numbered).outputs(paired(a.outputs, b.outputs))
        costs = self._in_time(lambda: figures(a, b, over, self._at))
        inner = self._in_time(lambda: tuple(differing(a, b, over, common))) if values else None
        return Diff(
            a.origin,
            b.origin,
            {name: str(expr) for name, expr in over.symbols.items() if name in b.symbols},
            inputs(a, b, self._inputs, over),
            outputs,
            contracts(there, again, first, second, self._numbered),
            surroundings(a, b, (first.contract, second.contract)),
            tuple(map(str, dict.fromkeys([*assumed, *a.assumptions, *map(over.relation, b.assumptions)]))),
            costs,
            inner,
            self._reason,
        )

    def _numbered(self, of_values: bool) -> Numbers:
        """Both models under common numbers, made when data-dependent sizes need it: it reads weights."""
        if of_values not in self._numbers:
            alike = [pair for pair in self._inputs if self._of_one_type(pair)]
            self._numbers[of_values] = Numbers(self._a, self._b, alike, of_values=of_values)
        return self._numbers[of_values]

    def _of_one_type(self, pair: Pair) -> bool:
        if pair.first is None or pair.second is None:
            return False
        before, after = form_of(self._a[pair.first]), form_of(self._b[pair.second])
        return bool(before.kind) and (before.kind, before.dtype, before.rank) == (after.kind, after.dtype, after.rank)

    def _in_time(self, make: Callable[[], T]) -> T | None:
        try:
            with self._clock.limited():
                return make()
        except DeadlineError:
            self._reason = self._clock.over
            return None
