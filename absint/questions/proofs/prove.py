"""Proofs about an analysed model, whose provers are kept, so that queries share their work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from absint.lattices.limits import Limits
from absint.lattices.logic.relation import Relation
from absint.questions.proofs.evidence import Evidence
from absint.questions.proofs.proof import Proof
from absint.questions.proofs.proofs import Proving
from absint.questions.proofs.provers import Given
from absint.questions.proofs.resting import with_premises
from absint.shapes.assumptions import Assumption

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def prove(
    analysed: Analysed,
    query: str | Relation,
    *,
    given: Given = "run",
    assume: Sequence[Assumption] = (),
    confirm: bool = False,
    evidence: Evidence | None = None,
    limits: Limits,
) -> Proof:
    """See `absint.Result.prove`."""
    analysed.require_sound("a proof")
    found = proving(analysed).prove(
        query, given=given, assume=assume, confirm=confirm, evidence=evidence, limits=limits
    )
    return with_premises(analysed, query, found)


def proving(analysed: Analysed) -> Proving:
    """Answers queries; it keeps its provers, and the sizes of its runs."""
    return analysed.once(Proving)
