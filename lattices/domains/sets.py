"""Finite sets of values. With one value at most they are constants: the flat lattice.

The signs of numbers, sets of "-", "0" and "+", are the example of a domain in a page.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import product
from typing import Final, Generic, TypeVar

from absint.lattices.lattice import ValueDomain

V = TypeVar("V", bound=Hashable)
W = TypeVar("W", bound=Hashable)

SHOWN: Final = 8
"""Most values that a text lists."""


class ValueSet(Generic[V]):
    """Some values, or any value. 1, True and 1.0 are three values, 0.0 and -0.0 are two; all NaNs are one."""

    __slots__ = ("_keys", "_values")

    def __init__(self, values: Iterable[V] | None = ()) -> None:
        """`None` stands for any value."""
        self._values: Mapping[Hashable, V] | None = None if values is None else {_identity(v): v for v in values}
        self._keys = None if self._values is None else frozenset(self._values)

    @property
    def is_any(self) -> bool:
        """Every value is allowed."""
        return self._keys is None

    @property
    def value(self) -> V | None:
        """The only value, if there is one alone."""
        return next(iter(self)) if self._keys is not None and len(self._keys) == 1 else None

    def __contains__(self, value: object) -> bool:
        return self._keys is None or _identity(value) in self._keys

    def __iter__(self) -> Iterator[V]:
        """The values, in no order; none if every value is allowed."""
        return iter(() if self._values is None else self._values.values())

    def __len__(self) -> int:
        return len(self._keys or ())

    def __bool__(self) -> bool:
        return self._keys is None or bool(self._keys)

    def __le__(self, other: ValueSet[V]) -> bool:
        return other._keys is None or (self._keys is not None and self._keys <= other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueSet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        if self._keys is None:
            return "any value"
        texts = sorted(map(repr, self))
        more = [f"... {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
        return "{" + ", ".join(texts[:SHOWN] + more) + "}"


def _identity(value: Hashable) -> Hashable:
    """A key that is equal for equal values of one type only."""
    if isinstance(value, tuple):
        return tuple, tuple(map(_identity, value))
    if isinstance(value, float):
        return float, "nan" if value != value else value.hex()
    return type(value), value


class FiniteSets(ValueDomain[ValueSet[V]]):
    """Sets of at most `limit` values by inclusion; a larger one is any value. No chain is longer than `limit` + 1."""

    bottom: ValueSet[V] = ValueSet()
    top: ValueSet[V] = ValueSet(None)

    def __init__(self, limit: int = 8) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, found {limit}")
        self.limit = limit

    def of(self, values: Iterable[V]) -> ValueSet[V]:
        """These values; any value if they are more than the limit."""
        found = ValueSet(values)
        return self.top if len(found) > self.limit else found

    def constant(self, value: V) -> ValueSet[V]:
        """One value."""
        return ValueSet([value])

    def allows(self, element: ValueSet[V], value: object) -> bool:
        return value in element

    def text(self, element: ValueSet[V]) -> str:
        return repr(element)

    def leq(self, a: ValueSet[V], b: ValueSet[V]) -> bool:
        return a <= b

    def join(self, a: ValueSet[V], b: ValueSet[V]) -> ValueSet[V]:
        return self.top if a.is_any or b.is_any else self.of([*a, *b])

    def meet(self, a: ValueSet[V], b: ValueSet[V]) -> ValueSet[V]:
        if a.is_any or b.is_any:
            return b if a.is_any else a
        return ValueSet([value for value in a if value in b])

    def widen(self, old: ValueSet[V], new: ValueSet[V]) -> ValueSet[V]:
        return self.join(old, new)

    def map(self, function: Callable[..., W], *operands: ValueSet[V]) -> ValueSet[W]:
        """The results of a function on every choice of values. It must have no effects; errors pass through."""
        if not all(operands):
            return ValueSet()
        if any(operand.is_any for operand in operands):
            return ValueSet(None)
        found: dict[Hashable, W] = {}
        for values in product(*operands):
            result = function(*values)
            found[_identity(result)] = result
            if len(found) > self.limit:
                return ValueSet(None)
        return ValueSet(found.values())

    def keep(self, element: ValueSet[V], holds: Callable[[V], bool]) -> ValueSet[V]:
        """The values for which a condition holds; any value stays so."""
        return element if element.is_any else ValueSet([value for value in element if holds(value)])


FLAT: Final[FiniteSets[Hashable]] = FiniteSets(1)
"""Constants: no value, one value, or any."""


Element = frozenset[str]
ORDER: Final = "-0+"


class Signs(ValueDomain[Element]):
    """Sets of signs by inclusion: eight elements, so that join is a widening. NaN has no sign."""

    bottom: Element = frozenset()
    top: Element = frozenset(ORDER)

    def constant(self, value: float) -> Element:
        """The sign of a number."""
        return frozenset() if value != value else frozenset(_sign(value))

    def allows(self, element: Element, value: object) -> bool:
        return isinstance(value, float | int) and value == value and _sign(value) in element

    def text(self, element: Element) -> str:
        return " or ".join(sorted(element, key=ORDER.index)) or "no number"

    def leq(self, a: Element, b: Element) -> bool:
        return a <= b

    def join(self, a: Element, b: Element) -> Element:
        return a | b

    def meet(self, a: Element, b: Element) -> Element:
        return a & b

    def widen(self, old: Element, new: Element) -> Element:
        return old | new

    def neg(self, a: Element) -> Element:
        return frozenset(ORDER[2 - ORDER.index(sign)] for sign in a)

    def abs(self, a: Element) -> Element:
        return frozenset("0" if sign == "0" else "+" for sign in a)

    def add(self, a: Element, b: Element) -> Element:
        return _each(a, b, lambda x, y: x if y in ("0", x) else y if x == "0" else ORDER)

    def sub(self, a: Element, b: Element) -> Element:
        return self.add(a, self.neg(b))

    def mul(self, a: Element, b: Element) -> Element:
        return _each(a, b, lambda x, y: "0" if "0" in (x, y) else "+" if x == y else "-")

    def min(self, a: Element, b: Element) -> Element:
        return _each(a, b, lambda x, y: min(x, y, key=ORDER.index))

    def max(self, a: Element, b: Element) -> Element:
        return _each(a, b, lambda x, y: max(x, y, key=ORDER.index))


def _sign(value: float) -> str:
    return ORDER[(value > 0) - (value < 0) + 1]


def _each(a: Element, b: Element, apply: Callable[[str, str], str]) -> Element:
    """The signs that a choice of both may give; the texts of results are sets of signs."""
    return frozenset().union(*(apply(x, y) for x, y in product(a, b)))


SIGNS: Final = Signs()
