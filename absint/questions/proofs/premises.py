"""Numeric premises of a model: those of all nodes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import YES
from absint.solution.analysed import Analysed

if TYPE_CHECKING:
    from absint.solver.constraints import Constraint

_COMPARED: Final = 64
"""With more premises than this, those that others imply are kept."""


def all_premises(analysed: Analysed) -> tuple[Constraint, ...]:
    """The numeric premises of all nodes, without those that others plainly imply; none of an unsound policy."""
    return analysed.once(_all_premises) if analysed.policy.sound else ()


def _all_premises(analysed: Analysed) -> tuple[Constraint, ...]:
    summaries = chain.from_iterable(round_.analysis.applied.values() for round_ in analysed.rounds.rounds)
    if not any(statement.role == "assumed" for summary in summaries for statement in summary.statements):
        return ()
    from absint.solution.constraints import all_names, recorded
    from absint.solver.constraints import ConstraintSet

    stated = {c.formula: c for c in reversed(recorded(analysed).every) if c.is_premise}
    kept = ConstraintSet(stated[formula] for formula in independent(list(stated)))
    return tuple(sorted(kept.renamed(all_names(analysed)), key=lambda c: c.origin.node))


def independent(premises: list[Relation]) -> list[Relation]:
    """The premises without those that the others imply by facts: N <= 10 implies N <= 20."""
    if len(premises) > _COMPARED:
        return premises

    def derived(rest: list[Relation], dropped: list[Relation]) -> bool:
        facts = Facts(rest)
        return all(facts.decide(premise) is YES for premise in dropped)

    from absint.solver.minimal import minimal

    return minimal(premises, derived, order=sorted(premises, key=lambda r: r.key))
