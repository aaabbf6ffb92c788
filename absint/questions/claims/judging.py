"""Judging claims: by facts, by legal sizes, and as far as the effort goes by runs and the solver.

`analyze`, `lint`, `annotate --strict` and `trust` ask with the least effort, `audit` with the most. Whoever asks, a
claim means the same, and is false at the same sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION
from absint.lattices.logic.truth import NO
from absint.questions.claims.claims import Claim, Effort, Finding, Judgement, Verdicts
from absint.solution.analysed import Analysed


def judge(analysed: Analysed, claims: Sequence[Claim], effort: Effort | None = None) -> Verdicts:
    """The verdicts on claims.

    Without an effort these are the claims that facts or legal sizes refute, those last that only a size of 0 refutes. A
    claim that is false in every run has no counterexample.
    """
    if effort is not None:
        from absint.questions.claims.proving import Proving

        return Proving(analysed, claims, effort).run()
    facts = analysed.analysis.facts
    open_ = [claim for claim in claims if claim.relation not in (TRUE, UNKNOWN_RELATION)]
    if not open_:
        return Verdicts({})
    from absint.questions.claims.conditions import Conditions

    denied = {claim for claim in open_ if claim.relation is FALSE or facts.decide(claim.relation) is NO}
    conditions = Conditions(analysed)
    found = {claim: Finding(Judgement.REFUTED) for claim in open_ if claim in denied and conditions.is_reached(claim)}
    at = conditions.false_at([claim for claim in open_ if claim not in denied])
    for claim in sorted(at, key=lambda claim: 0 in at[claim][0].values()):
        found[claim] = Finding(Judgement.REFUTED, at[claim][0], False, (at[claim][1].when,))
    return Verdicts(found)
