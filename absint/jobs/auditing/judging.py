"""Judging the claims of a source: with runs of the model and the solver."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final

from absint.jobs.auditing.audit import Audit, Claims, Judged
from absint.jobs.auditing.claims import read_claims
from absint.jobs.auditing.runs import Feeds, Runs
from absint.lattices.limits import RLIMIT, Limits
from absint.lattices.logic.relation import TRUE
from absint.questions.claims import judging
from absint.questions.claims.claims import Advance, Effort, Judgement, Place, Sizes

if TYPE_CHECKING:
    from absint.result import Result

SECONDS: Final = 120.0
"""Seconds in which runs and proofs must judge one source."""

BUDGET: Final = 60.0
"""Seconds that the solver may take for one source."""


def judge(
    result: Result,
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
    if trials is not None and open_ and result.can_run:
        trials.deadline = start + seconds / 2  # the rest is for proofs
        trials.inner = any(claim.shape.value not in result.operands for claim in open_)
        trials.given(sizes, runs)
    effort = Effort(Limits(min(budget, seconds), rlimit), start + seconds, trials, advance)
    findings, calls = judging.judge(result, reading.claims, effort)
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
