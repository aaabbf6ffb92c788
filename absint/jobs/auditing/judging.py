"""The claims of a source about the shapes of a model, judged with runs of the model and the solver."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Final, NamedTuple

from absint.jobs.auditing.runs import Feeds, Runs, bodies
from absint.lattices.dtype import DType
from absint.lattices.limits import RLIMIT, Limits
from absint.lattices.logic.relation import TRUE
from absint.lattices.text.escapes import excerpt
from absint.lattices.value import Tensor
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.questions.claims import judging, proving
from absint.questions.claims.claims import Advance, Claim, ClaimedShape, Effort, Judgement, Place, Sizes, Stated
from absint.questions.claims.reading import Reader, held
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed
from absint.solution.loading import can_run


@dataclass(frozen=True)
class Claims:
    """Shapes of the values of one model, as a tool, an author or a policy claims them."""

    source: str
    shapes: Mapping[str, tuple[Stated, ...] | None]
    """Value name -> dims; None: the rank is unknown. A value of a body is named `path/value`."""
    failure: str = ""
    """One line where the source failed."""
    seconds: float = 0.0
    anonymous: frozenset[str] = frozenset()
    """Names that the source invented, as far as it reports them."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its verdict."""

    places: tuple[Place, ...]
    """The place that it is about, and the one that it refers to, if any."""
    relation: str
    judgement: Judgement
    counterexample: Mapping[str, int] | None = None
    """Sizes of the inputs at which it is false; of a claim that is not entailed, a candidate."""
    confirmed: bool = False
    """A run at these sizes showed that it is false."""
    because: tuple[str, ...] = ()
    """The constraints behind a proof, the shape that a run showed, or why there is no answer."""


@dataclass(frozen=True)
class Audit:
    """The claims of one source about one model."""

    source: str
    failure: str
    """One line where the source failed."""
    seconds: float
    """Time that the source took."""
    judged: tuple[Judged, ...]
    dims: int
    """Dims of the main graph that the source speaks of, known or not."""
    resolved: int
    """Of these, dims that it gives a size, or a text without names of its own invention, and that are not refuted."""
    solver_calls: int
    judging: float = 0.0
    """Seconds that judging took."""
    needs: str = ""
    """One line where claims are not entailed because nothing here can run the model."""

    @cached_property
    def counts(self) -> Mapping[Judgement, int]:
        """The number of claims of each judgement."""
        found = dict.fromkeys(Judgement, 0)
        for item in self.judged:
            found[item.judgement] += 1
        return found

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {judgement.value}" for judgement, count in self.counts.items())
        return f"<Audit of {excerpt(self.source)}: {counts}>"

    @property
    def unconfirmed(self) -> int:
        """Refuted claims that rest on a proof alone, since the model cannot be run here."""
        return sum(item.judgement is Judgement.REFUTED and not item.confirmed for item in self.judged)

    def of(self, judgement: Judgement) -> tuple[Judged, ...]:
        """The claims of one judgement."""
        return tuple(item for item in self.judged if item.judgement is judgement)


# What a source claims of the values that the analysis knows.


class Reading(NamedTuple):
    """Everything that a source says."""

    claims: list[Claim]
    dims: int
    """Of the values that nodes of the main graph compute: not every source speaks of bodies."""
    resolved: frozenset[Place]
    """Of these dims, those that the source gives a size, or a text without names of its own invention."""


def read_claims(result: Analysed, claims: Claims) -> Reading:
    """The claims that a source makes of the values that the analysis knows."""
    operands, main, reader = operands_of(result), result.operands, Reader(result)
    gates = {graph.path: graph.gate for graph in result.lowered.declaring}
    shapes: list[ClaimedShape] = []
    dims = 0
    resolved: set[Place] = set()
    for name, shape in claims.shapes.items():
        if shape is None or name not in operands:
            continue
        operand, path = operands[name]
        computed = result.nodes[operand[0]].value is None
        if computed and name in main:
            dims += len(shape)
            said = enumerate(map(reader.expression, shape))
            own = (axis for axis, dim in said if dim is not None and dim.free_symbols.isdisjoint(claims.anonymous))
            resolved.update(Place(name, axis) for axis in own)
        known, rank = held(value_in(result.states, operand), len(shape))
        shapes.append(ClaimedShape(name, path, gates.get(path), computed, shape, known, rank))
    return Reading(reader.read(shapes, proved=True), dims, frozenset(resolved))


def operands_of(result: Analysed) -> dict[str, tuple[Operand, str]]:
    """The values that claims are about, with the paths of their graphs, by the names that sources use."""
    scopes = result.scopes
    found: dict[str, tuple[Operand, str]] = {}
    for body in bodies(result.loaded.outline()):
        scope = scopes.get(body.path)
        for name, operand in scope.names.items() if scope is not None else ():
            if operand[0] >= 0:
                found.setdefault(body.key(name), (operand, body.path))
    return found


SECONDS: Final = 120.0
"""Seconds in which runs and proofs must judge one source."""

BUDGET: Final = 60.0
"""Seconds that the solver may take for one source."""


def judge(
    result: Analysed,
    claims: Claims,
    *,
    confirm: bool = True,
    sizes: Sequence[Sizes] = (),
    runs: Sequence[Feeds] = (),
    budget: float = BUDGET,
    seconds: float = SECONDS,
    rlimit: int = RLIMIT,
    advance: Advance | None = None,
) -> Audit:
    """Hold every claim of a source against the analysis of the model that it speaks of.

    With `confirm` the model is run. `sizes` are input sizes, and `runs` feeds, at which it is known to run: they are
    tried first, unless its declarations rule them out. Runs are kept for the next source on the result. After `seconds`
    no run and no proof begins, and a run that lasts is ended.
    """
    start = perf_counter()
    reading = read_claims(result, claims)
    trials = result.once(Runs) if confirm else None
    open_ = [claim for claim in reading.claims if claim.relation is not TRUE]
    if trials is not None and open_ and can_run(result):
        trials.deadline = start + seconds / 2  # the rest is for proofs
        trials.inner = any(claim.shape.value not in result.operands for claim in open_)
        trials.given(sizes, runs)
    effort = Effort(Limits(min(budget, seconds), rlimit), start + seconds, trials, advance)
    findings, calls = proving.judge(result, reading.claims, effort)
    judged = tuple(Judged(claim.places, str(claim), *findings[claim]) for claim in reading.claims)
    false = {found.places[0] for found in judged if found.judgement is Judgement.REFUTED}
    resolved = sum(place not in false and Place(place.value) not in false for place in reading.resolved)
    return Audit(
        claims.source, claims.failure, claims.seconds, judged, reading.dims, resolved, calls,
        perf_counter() - start, _needs(judged, trials),
    )  # fmt: skip


def _needs(judged: Sequence[Judged], trials: Runs | None) -> str:
    """One line about what this installation lacks for some verdicts; empty if nothing."""
    if trials is None or not trials.missing:
        return ""
    left = sum(item.judgement is Judgement.NOT_ENTAILED and _lacks_a_run(item, trials) for item in judged)
    return f"{left:,} claim{'s need' if left > 1 else ' needs'} a run of the model: {trials.missing}" if left else ""


def _lacks_a_run(item: Judged, trials: Runs) -> bool:
    """The model does not run here, or not at the sizes at which the claim may be false."""
    at, observed = item.counterexample, trials.observed
    return not observed or (at is not None and trials.tried(at) and not any(run.sizes == at for run in observed))


# The first node from which a false claim comes: its *root*.

_SIZES: Final = (DType.INT32, DType.INT64)
"""Element types of tensors that sizes are computed in."""


def roots(result: Analysed, judged: Iterable[Judged]) -> Mapping[str, Node]:
    """Value with a refuted claim -> the node that the claim comes from."""
    places = operands_of(result)
    refuted = {item.places[0].value for item in judged if item.judgement is Judgement.REFUTED}
    false = {value: places[value][0] for value in refuted if value in places}
    wrong = {*false.values()}

    def carries(operand: Operand) -> bool:
        """The source makes a refuted claim about it, sizes are computed in it, or it is of a branch or body."""
        if operand in wrong or result.nodes[operand[0]].step is not None:
            return True
        value = value_in(result.states, operand)
        return isinstance(value, Tensor) and value.dtype in _SIZES

    found = judging.origins(result, {node for node, _ in wrong}, carries)
    return {value: result.nodes[found[node]] for value, (node, _) in false.items()}
