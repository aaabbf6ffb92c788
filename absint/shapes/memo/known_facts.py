"""Facts of earlier work: equal relations give one object, which has been learned and keeps what it has rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.limits import takes_shortcuts
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation

MAX_FACTS: Final = 256
"""Most objects that are kept; then all are forgotten."""

MAX_REWRITTEN: Final = 1 << 14
"""Facts that have rewritten more atoms are made anew: `seq >= 1` is a fact of many models."""

_known: dict[tuple[tuple[Relation, ...], tuple[str, ...]], Facts] = {}


def facts_of(relations: Sequence[Relation], order: Sequence[str] = ()) -> Facts:
    """The facts of these relations. `order` lists symbols by priority (`Facts`)."""
    if not takes_shortcuts():
        return Facts(relations, order)
    key = tuple(relations), tuple(order)
    found = _known.get(key)
    if found is None or found.rewritten > MAX_REWRITTEN:
        if len(_known) >= MAX_FACTS:
            forget()
        found = _known[key] = Facts(*key)
    return found


def assuming(facts: Facts, relation: Relation) -> Facts:
    """The facts and one more."""
    return facts_of((*facts.relations, relation), facts.order)


def forget() -> None:
    """Drop all facts."""
    _known.clear()
