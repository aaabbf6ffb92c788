"""Values under facts that no bounds of a symbol show: conditions of choices that hold, and remainders."""

from __future__ import annotations

from collections.abc import Callable

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import chosen
from absint.lattices.logic.relation import Relation
from absint.lattices.ramp import NO_RAMPS, mapped
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor, Value


class Choosing:
    """Resolves the choices in a value whose conditions hold, and divides what known remainders make divisible.

    Equal ones do the same, as the memo demands.
    """

    __slots__ = ("_changed", "facts", "held")

    def __init__(self, held: frozenset[Relation], facts: Facts) -> None:
        self.held = held
        self.facts = facts
        self._changed: dict[Dim, Dim] = {}

    @staticmethod
    def under(facts: Facts, held: frozenset[Relation] = frozenset()) -> Choosing | None:
        """What these facts and conditions allow; None if that is nothing."""
        return Choosing(held, facts) if held or facts.remainders else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Choosing):
            return False
        return self.held == other.held and self.facts.remainders == other.facts.remainders

    def __hash__(self) -> int:
        return hash((self.held, frozenset(self.facts.remainders.items())))

    def __call__(self, value: Value) -> Value:
        if isinstance(value, Tensor) and not value.shape.open and (value.contents is None or not value.contents.open):
            return value
        return replaced(value, self._change)

    def _change(self, dim: Dim) -> Dim:
        if not self.facts.remainders:
            return chosen(dim, self.held)
        found = self._changed.get(dim)
        if found is None:
            found = self._changed[dim] = self.facts.without_remainders(chosen(dim, self.held))
        return found


def replaced(value: Value, change: Callable[[Dim], Dim]) -> Value:
    """The value with its dims, integer elements and ramps changed."""
    if not isinstance(value, Tensor):
        return value
    contents = value.contents
    if contents is not None:
        contents = contents.map(lambda e: change(e) if isinstance(e, Dim) else e)
    ramps = mapped(value.ramps, change) if value.ramps else NO_RAMPS
    return Tensor(value.dtype, value.shape.map(change), contents, ramps)


__all__ = ["Choosing", "replaced"]
