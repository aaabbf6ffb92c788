"""Judging claims: trivially equal dims first, then runs at sizes that tell most claims apart, then the solver.

Equal relations are judged once. A claim is refuted by a run in which it is false, so a wrong answer of the solver can
refute nothing. Where there is no run at some size, the analysis at that very size takes its place, if the rules of all
operators promise that a run succeeds. So the verdicts are the same without onnxruntime, as far as rules are complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from absint.diagnostics import Severity
from absint.jobs.auditing.audit import Audit, Judged, Judgement, Place
from absint.jobs.auditing.claims import Claim, read_claims
from absint.jobs.auditing.runs import Feeds, Observed, Runs
from absint.jobs.auditing.sampling import CHOSEN, Sampler, input_sizes, is_legal
from absint.lattices.limits import RLIMIT, Limits
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation
from absint.questions.proofs.provers import prover as prover_of
from absint.questions.sizes.falsifying import Condition, LegalSizes
from absint.solver.prove import Decision, Prover

if TYPE_CHECKING:
    from absint.jobs.auditing.audit import Claims
    from absint.result import Result

Advance = Callable[[int, int], None]
"""Called with the number of relations judged so far, and of all."""

SECONDS: Final = 120.0
"""Seconds in which runs and proofs must judge one source."""

BUDGET: Final = 60.0
"""Seconds that the solver may take for one source."""

QUESTION: Final = 5.0
"""Seconds for one question."""

MAX_ROUNDS: Final = 8
"""Most runs at sizes that the solver proposes."""

_RUNS: WeakKeyDictionary[Result, Runs] = WeakKeyDictionary()


def judge(
    result: Result,
    claims: Claims,
    *,
    confirm: bool = True,
    sizes: Sequence[Mapping[str, int]] = (),
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
    judging = _Judging(result, reading.claims, confirm, Limits(min(budget, seconds), rlimit), advance)
    judging.end = start + seconds
    judging.runs.deadline = start + seconds / 2  # the rest is for proofs
    judging.run(sizes, runs)
    judged = tuple(judging.judged(claim) for claim in reading.claims)
    false = {found.places[0] for found in judged if found.judgement is Judgement.REFUTED}
    resolved = sum(place not in false and Place(place.value) not in false for place in reading.resolved)
    return Audit(
        claims.source, claims.failure, claims.seconds, judged, reading.dims, resolved, judging.calls,
        perf_counter() - start, judging.needs(judged),
    )  # fmt: skip


class _Finding(NamedTuple):
    """The verdict on a relation."""

    judgement: Judgement
    counterexample: Mapping[str, int] | None = None
    because: tuple[str, ...] = ()


_TRIVIAL: Final = _Finding(Judgement.PROVED)
_OPEN: Final = _Finding(Judgement.UNPROVED, because=("the analysis has no expression for the size",))


class _Judging:
    def __init__(
        self, result: Result, claims: Iterable[Claim], confirm: bool, limits: Limits, advance: Advance | None
    ) -> None:
        self._result = result
        self._confirm = confirm
        self._limits = limits
        self._advance = advance
        self._groups: dict[Relation, list[Claim]] = {}
        for claim in claims:
            if claim.relation is not TRUE:
                self._groups.setdefault(claim.relation, []).append(claim)
        self._findings: dict[Relation, _Finding] = {TRUE: _TRIVIAL}
        self._refuted: dict[Claim, tuple[Mapping[str, int], str]] = {}
        self._legal = LegalSizes(result)
        self._false_at: dict[Relation, Mapping[str, int]] = {}
        """Legal sizes at which relations are false, found without a solver."""
        self.runs = _RUNS.setdefault(result, Runs(result)) if confirm else Runs(result)
        self.end = inf
        """The time, on the clock of `perf_counter`, after which no proof begins."""
        self.calls = 0
        """Questions that reached the solver."""

    def run(self, sizes: Sequence[Mapping[str, int]], feeds: Sequence[Feeds]) -> None:
        """Decide every relation."""
        if not self._result.can_run:
            self._never(str(d) for d in self._result.diagnostics if d.severity is Severity.ERROR)
            return
        if not self._groups:
            return
        prover = prover_of(self._result)
        if prover.consistent.entailed:
            self._never(["; ".join(str(c) for c in prover.because(prover.consistent.core))])
            return
        sampler = Sampler(self._result, prover)
        conditions = (Condition(r) for r in self._groups if r is not UNKNOWN_RELATION and self._of_main(r))
        self._false_at = {c.relation: at for c, at in self._legal.falsifying(conditions).items()}
        if self._confirm:
            self._explore(sampler, sizes, feeds)
        self._decide(prover, sampler)

    def _never(self, because: Iterable[str]) -> None:
        """Nothing is proved of a model that never runs."""
        first, *others = because
        more = (f"and {len(others):,} more {'error' if len(others) == 1 else 'errors'}",) if others else ()
        never = _Finding(Judgement.UNPROVED, because=("no run of the model succeeds", first, *more))
        self._findings = dict.fromkeys((TRUE, *self._groups), never)

    # Runs

    def _explore(self, sampler: Sampler, sizes: Sequence[Mapping[str, int]], feeds: Sequence[Feeds]) -> None:
        """Run at sizes that are known to be good, then at legal ones that make the most claims false."""
        inner = self._inner()
        given = [(input_sizes(self._result, one), one) for one in feeds]
        self.runs.run([(at, one) for at, one in given if at is not None], inner=inner)
        self.runs.at([at for at in sizes if is_legal(self._result, at)], inner=inner)
        self._apply(self.runs.observed)
        found = {tuple(at.items()): at for at in self._false_at.values()}
        self._apply(self.runs.at(list(found.values())[:CHOSEN], inner=inner))
        self._apply(self.runs.at(sampler.telling(self._open(), self.runs), inner=inner))
        more = sampler.telling(self._open(), self.runs)
        self._apply(self.runs.at(more, inner=inner))

    def _open(self) -> list[Relation]:
        """Relations of which some claim is not refuted."""
        return [r for r, claims in self._groups.items() if any(claim not in self._refuted for claim in claims)]

    def _inner(self) -> bool:
        """Some claim is about a value outside of the main graph."""
        main = self._result.operands
        return any(claim.place.value not in main for claims in self._groups.values() for claim in claims)

    def _apply(self, observed: Sequence[Observed]) -> None:
        for run in observed:
            for claims in self._groups.values():
                for claim in claims:
                    if claim not in self._refuted and (seen := run.contradicts(claim)):
                        self._refuted[claim] = run.sizes, seen

    # The solver

    def _decide(self, prover: Prover, sampler: Sampler) -> None:
        rounds, end = 0, min(perf_counter() + self._limits.seconds, self.end)
        prover.limits = self._limits._replace(seconds=min(QUESTION, self._limits.seconds))
        for number, relation in enumerate(self._groups):
            if self._advance is not None:
                self._advance(number, len(self._groups))
            if all(claim in self._refuted for claim in self._groups[relation]):
                continue
            if relation is UNKNOWN_RELATION:
                self._findings[relation] = _OPEN
                continue
            at = self._false_at.get(relation)
            if at is not None and self._rests_on_rules(relation, at):
                self._findings[relation] = _Finding(Judgement.REFUTED, at, (self._by_proof(),))
                continue
            if perf_counter() > end:
                self._findings[relation] = _Finding(Judgement.UNPROVED, because=("the time for proofs is used up",))
                continue
            decision = sampler.decide(relation)
            self.calls += decision.tier == "z3"
            if decision.entailed is False and self._confirm and rounds < MAX_ROUNDS:
                sizes = sampler.sizes_of(decision)
                if not self.runs.tried(sizes):
                    rounds += 1
                    self._apply(self.runs.at([sizes], inner=self._inner()))
            self._findings[relation] = self._found(relation, decision, prover, sampler)

    def _found(self, relation: Relation, decision: Decision, prover: Prover, sampler: Sampler) -> _Finding:
        if decision.entailed:
            core = prover.because(decision.core)
            return _Finding(Judgement.PROVED, because=tuple(str(c) for c in core))
        if decision.entailed is None:
            return _Finding(Judgement.UNPROVED, because=(decision.reason or "it was not decided",))
        sizes = self._false_at.get(relation) or sampler.sizes_of(decision)
        if self._rests_on_rules(relation, sizes):
            return _Finding(Judgement.REFUTED, sizes, (self._by_proof(),))
        return _Finding(Judgement.NOT_ENTAILED, sizes, (self._why_not(relation, sizes),))

    def _by_proof(self) -> str:
        why = self.runs.missing or self.runs.failure
        return "by proof alone: " + (f"the model cannot be run here: {why}" if why else "it was not run at these sizes")

    def _rests_on_rules(self, relation: Relation, sizes: Mapping[str, int]) -> bool:
        """Without a run: the sizes alone make it false, and complete rules promise a run at them."""
        if not self._confirm or not self._of_main(relation):
            return False  # a body may not be visited
        if self.runs.tried(sizes) and (self.runs.observed or self.runs.refused):
            return False  # a run there failed, or did not contradict it
        return relation.free_symbols <= sizes.keys() and self._legal.runs(sizes)

    def _of_main(self, relation: Relation) -> bool:
        main = self._result.operands
        return all(claim.place.value in main for claim in self._groups[relation])

    def _why_not(self, relation: Relation, sizes: Mapping[str, int]) -> str:
        if not relation.free_symbols <= sizes.keys():
            return "it rests on data-dependent sizes"
        if not self._confirm:
            return "no run was asked for"
        if any(run.sizes == sizes for run in self.runs.observed):
            return "a run at these sizes does not contradict it"
        if self.runs.tried(sizes):
            return f"a run at these sizes fails: {self.runs.failure_at(sizes)}"
        return "sizes were run often enough"

    # The outcome

    def needs(self, judged: Sequence[Judged]) -> str:
        """One line about what this installation lacks for some verdicts; empty if nothing."""
        left = sum(item.judgement is Judgement.NOT_ENTAILED and self._lacks_a_run(item) for item in judged)
        if not self.runs.missing or not left:
            return ""
        return f"{left:,} claim{'s need' if left > 1 else ' needs'} a run of the model: {self.runs.missing}"

    def _lacks_a_run(self, item: Judged) -> bool:
        """The model does not run here, or not at the sizes at which the claim may be false."""
        at, observed = item.counterexample, self.runs.observed
        return not observed or (at is not None and self.runs.tried(at) and not any(run.sizes == at for run in observed))

    def judged(self, claim: Claim) -> Judged:
        """The claim with its verdict."""
        if claim in self._refuted:
            sizes, seen = self._refuted[claim]
            return Judged(claim.places, str(claim), Judgement.REFUTED, sizes, True, (seen,))
        found = self._findings[claim.relation]
        return Judged(claim.places, str(claim), found.judgement, found.counterexample, False, found.because)
