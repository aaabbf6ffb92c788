"""Do relations over elements of inputs exclude each other? A check and a contract judge them together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation
from absint.solver.constraints import ConstraintSet

_LIMITS: Final = Limits(0.5, 200_000)


def exclude_each_other(relations: Iterable[Relation]) -> bool:
    """No values of their symbols meet all of these relations: proved."""
    asked = [relation for relation in dict.fromkeys(relations) if relation is not UNKNOWN_RELATION]
    names = sorted(set[str]().union(*(relation.free_symbols for relation in asked)))
    if FALSE in asked or Facts(asked, tuple(names)).contradiction:
        return True
    if not names:
        return False
    from absint.solver.contracts.samples import near
    from absint.solver.prove import Prover

    if near(asked, names).meet(asked):
        return False
    return Prover(ConstraintSet(), order=tuple(names), limits=_LIMITS).entails(asked, FALSE).entailed is True
