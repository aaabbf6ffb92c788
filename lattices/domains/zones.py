"""Zones: intervals of the differences of variables, one of which may be the number 0.

Source: Miné, "A new numerical abstract domain based on difference-bound matrices" (2001).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import permutations
from typing import TypeVar

from absint.lattices.domains.intervals import INTERVALS
from absint.lattices.domains.maps import Map, Maps
from absint.lattices.terms.interval import Interval

V = TypeVar("V", bound=Hashable)
State = Map[tuple[V, V], Interval]


class Zones(Maps[tuple[V, V], Interval]):
    """States of integer variables: maps from pairs (a, b) to the interval of a - b.

    `assume`, `assign` and `forget` add all that follows from sums of differences, a - b = (a - c) + (c - b). Joins keep
    it. Widenings do not, which might undo them forever.
    """

    def __init__(self) -> None:
        super().__init__(INTERVALS)

    def difference(self, state: State[V], a: V, b: V) -> Interval:
        """The interval of a - b."""
        return self.get(state, (a, b))

    def assume(self, state: State[V], a: V, b: V, most: int) -> State[V]:
        """The state where a - b is at most `most`."""
        return self._met(state, a, b, Interval(None, most))

    def assign(self, state: State[V], a: V, b: V, step: int = 0) -> State[V]:
        """The state after `a = b + step`."""
        if a != b:
            return self._met(self.forget(state, a), a, b, Interval(step, step))
        if state.whole:
            return state
        signs = {pair: (pair[0] == a) - (pair[1] == a) for pair in state}
        return self.of({pair: INTERVALS.add(known, _only(signs[pair] * step)) for pair, known in state.items()})

    def forget(self, state: State[V], a: V) -> State[V]:
        """The state after `a` has become any number."""
        return state if state.whole else self.of({pair: known for pair, known in state.items() if a not in pair})

    def allows(self, element: State[V], value: object) -> bool:
        """A value is a mapping from variables to numbers; of one that is missing nothing may be known."""
        assert isinstance(value, Mapping)
        return not element.whole and all(
            a in value and b in value and value[a] - value[b] in known for (a, b), known in element.items()
        )

    def _met(self, state: State[V], a: V, b: V, known: Interval) -> State[V]:
        """The state where a - b is within an interval, with all that follows."""
        state = self._sharper(self._sharper(state, a, b, known), b, a, INTERVALS.neg(known))
        for c, x, y in permutations(sorted({name for pair in state for name in pair}, key=repr), 3):
            through = INTERVALS.add(self.difference(state, x, c), self.difference(state, c, y))
            state = self._sharper(state, x, y, through)
        return state

    def _sharper(self, state: State[V], a: V, b: V, known: Interval) -> State[V]:
        return self.set(state, (a, b), INTERVALS.meet(self.difference(state, a, b), known))


def _only(value: int) -> Interval:
    return Interval(value, value)
