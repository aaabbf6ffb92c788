"""An element for each key, as the values of variables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import permutations
from typing import Generic, Literal, TypeVar, cast

from absint.lattices.domains.intervals import INTERVALS
from absint.lattices.lattice import ValueDomain, placed, why_not_leq
from absint.lattices.terms.interval import Interval

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Map(Mapping[K, T], Generic[K, T]):
    """Some keys and their elements. All other keys have the element `missing` of the domain."""

    __slots__ = ("_items", "whole")

    def __init__(self, items: Mapping[K, T], whole: str = "") -> None:
        """`whole` names the end of a lattice that no keys can describe."""
        self._items = dict(items)
        self.whole = whole
        """`bottom` or `top`, if no keys can describe it."""

    def __getitem__(self, key: K) -> T:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self.whole == other.whole and self._items == other._items

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return self.whole or f"Map({self._items})"


class Maps(ValueDomain[Map[K, T]]):
    """Maps from keys to elements of a domain, compared key by key.

    With `missing="top"` nothing is known of a key that is missing, as in a state of variables: the empty map is top. A
    key with bottom has no value, so there is no state, and the map is bottom. With `missing="bottom"` a key that is
    missing has no value yet: the empty map is bottom. In both, a chain of widenings ends if its keys are finitely many.
    """

    def __init__(self, domain: ValueDomain[T], *, missing: Literal["top", "bottom"] = "top") -> None:
        self.domain = domain
        self._is_state = missing == "top"
        empty: Map[K, T] = Map({})
        whole: Map[K, T] = Map({}, "bottom" if self._is_state else "top")
        self.bottom, self.top = (whole, empty) if self._is_state else (empty, whole)
        self._missing = domain.top if self._is_state else domain.bottom

    def of(self, items: Mapping[K, T]) -> Map[K, T]:
        """A map of these keys."""
        if self._is_state and any(item == self.domain.bottom for item in items.values()):
            return self.bottom
        return Map({key: item for key, item in items.items() if item != self._missing})

    def get(self, a: Map[K, T], key: K) -> T:
        """The element of a key."""
        if a.whole:
            return self.domain.bottom if self._is_state else self.domain.top
        return a.get(key, self._missing)

    def set(self, a: Map[K, T], key: K, element: T) -> Map[K, T]:
        """The map with another element for a key."""
        return a if a.whole else self.of({**a, key: element})

    def allows(self, element: Map[K, T], value: object) -> bool:
        """A state is a mapping of values, with every key of the element. Otherwise a value is a key and its value."""
        if not self._is_state:
            key, only = cast("tuple[K, object]", value)
            return self.domain.allows(self.get(element, key), only)
        assert isinstance(value, Mapping)
        keys = {**element, **value}
        return not element.whole and all(
            key in value and self.domain.allows(self.get(element, key), value[key]) for key in keys
        )

    def text(self, element: Map[K, T]) -> str:
        inside = ", ".join(f"{key}: {self.domain.text(item)}" for key, item in element.items())
        return element.whole or f"{{{inside}}}"

    def leq(self, a: Map[K, T], b: Map[K, T]) -> bool:
        if a.whole or b.whole:
            return a == self.bottom or b == self.top
        return all(self.domain.leq(self.get(a, key), self.get(b, key)) for key in (b if self._is_state else a))

    def why_not_leq(self, a: Map[K, T], b: Map[K, T]) -> str:
        """The reason, with its key: `key 'x' must be [0, 3], found [0, 4]`."""
        if self.leq(a, b) or a.whole or b.whole:
            return super().why_not_leq(a, b)
        keys = b if self._is_state else a
        reasons = ((key, why_not_leq(self.domain, self.get(a, key), self.get(b, key))) for key in keys)
        return next(placed(f"key {key!r}", reason) for key, reason in reasons if reason)

    def join(self, a: Map[K, T], b: Map[K, T]) -> Map[K, T]:
        return self._above(a, b, self.domain.join)

    def widen(self, old: Map[K, T], new: Map[K, T]) -> Map[K, T]:
        return self._above(old, new, self.domain.widen)

    def meet(self, a: Map[K, T], b: Map[K, T]) -> Map[K, T]:
        if a.whole or b.whole:
            return b if a == self.top else a if b == self.top else self.bottom
        keys = {**a, **b} if self._is_state else [key for key in a if key in b]
        return self.of({key: self.domain.meet(self.get(a, key), self.get(b, key)) for key in keys})

    def _above(self, a: Map[K, T], b: Map[K, T], combine: Callable[[T, T], T]) -> Map[K, T]:
        if a.whole or b.whole:
            return b if a == self.bottom else a if b == self.bottom else self.top
        keys = [key for key in a if key in b] if self._is_state else [*a, *(key for key in b if key not in a)]
        return self.of({key: combine(self.get(a, key), self.get(b, key)) for key in keys})


# Zones: intervals of the differences of variables, one of which may be the number 0.
#
# Source: Miné, "A new numerical abstract domain based on difference-bound matrices" (2001).

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
        moved = {pair: ((pair[0] == a) - (pair[1] == a)) * step for pair in state}
        return self.of({pair: INTERVALS.add(known, INTERVALS.constant(moved[pair])) for pair, known in state.items()})

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
