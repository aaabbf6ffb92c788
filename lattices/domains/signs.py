"""Signs of numbers: an example of a domain in a page. An element is a set of "-", "0" and "+"."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final

from absint.lattices.domains.plain import ValueDomain

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
