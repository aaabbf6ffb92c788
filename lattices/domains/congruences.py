"""Integers that leave a remainder: `x = r (mod m)`, with arithmetic. None is bottom, no integer.

Source: Granger, "Static analysis of arithmetical congruences" (1989).
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Final

from absint.lattices.lattice import ValueDomain
from absint.lattices.terms.interval import ANY, Congruence

Element = Congruence | None
Pair = tuple[Element, Element]


class Congruences(ValueDomain[Element]):
    """Congruences by inclusion: modulus 1 is every integer, modulus 0 the remainder alone.

    In a growing chain each modulus divides the one before, so join is a widening. Divisors of 0 are left out.
    """

    bottom: Element = None
    top: Element = ANY

    def constant(self, value: int) -> Element:
        """One number."""
        return Congruence(0, value)

    def of(self, modulus: int, remainder: int = 0) -> Element:
        """The numbers that leave this remainder."""
        return Congruence.of(modulus, remainder)

    def allows(self, element: Element, value: object) -> bool:
        return element is not None and value in element

    def text(self, element: Element) -> str:
        return "no number" if element is None else element.text or "any integer"

    def leq(self, a: Element, b: Element) -> bool:
        return a is None or (b is not None and a.leq(b))

    def join(self, a: Element, b: Element) -> Element:
        if a is None or b is None:
            return b if a is None else a
        return a.join(b)

    def meet(self, a: Element, b: Element) -> Element:
        return None if a is None or b is None else a.meet(b)

    def widen(self, old: Element, new: Element) -> Element:
        return self.join(old, new)

    # Arithmetic

    def neg(self, a: Element) -> Element:
        return None if a is None else a.scale(-1)

    def add(self, a: Element, b: Element) -> Element:
        return None if a is None or b is None else a + b

    def sub(self, a: Element, b: Element) -> Element:
        return self.add(a, self.neg(b))

    def mul(self, a: Element, b: Element) -> Element:
        return None if a is None or b is None else a.times(b)

    def floordiv(self, a: Element, b: Element) -> Element:
        """Quotients rounded down: known if the divisor is one number, which divides the modulus."""
        if a is None or b is None or b == Congruence(0, 0):
            return None
        divisor = b.remainder
        if b.modulus or a.modulus % divisor:
            return ANY
        return Congruence.of(a.modulus // divisor, a.remainder // divisor)

    def truncdiv(self, a: Element, b: Element) -> Element:
        """Quotients rounded towards 0: known of two numbers, or where nothing is rounded."""
        if a is None or b is None or b == Congruence(0, 0):
            return None
        divisor = b.remainder
        if a.modulus == b.modulus == 0:
            size = abs(a.remainder) // abs(divisor)
            return Congruence(0, size if (a.remainder < 0) == (divisor < 0) else -size)
        if b.modulus or a.modulus % divisor or a.remainder % divisor:
            return ANY
        return Congruence.of(a.modulus // divisor, a.remainder // divisor)

    def mod(self, a: Element, b: Element) -> Element:
        """Remainders with the sign of the divisor."""
        if a is not None and b is not None and a.modulus == b.modulus == 0 and b.remainder:
            return Congruence(0, a.remainder % b.remainder)
        return self._reduced(a, b)

    def rem(self, a: Element, b: Element) -> Element:
        """Remainders with the sign of the dividend."""
        if a is not None and b is not None and a.modulus == b.modulus == 0 and b.remainder:
            size = abs(a.remainder) % abs(b.remainder)
            return Congruence(0, -size if a.remainder < 0 else size)
        return self._reduced(a, b)

    def min(self, a: Element, b: Element) -> Element:
        return self._chosen(a, b, least=True)

    def max(self, a: Element, b: Element) -> Element:
        return self._chosen(a, b, least=False)

    def abs(self, a: Element) -> Element:
        if a is not None and a.modulus == 0:
            return Congruence(0, abs(a.remainder))
        return self.join(a, self.neg(a))

    # Conditions

    def assume_less(self, a: Element, b: Element, taken: bool = True) -> Pair:
        """The values of both for which `a < b`: all, unless both are one number."""
        return self._compared(a, b, lambda x, y: (x < y) is taken)

    def assume_less_equal(self, a: Element, b: Element, taken: bool = True) -> Pair:
        """The values of both for which `a <= b`: all, unless both are one number."""
        return self._compared(a, b, lambda x, y: (x <= y) is taken)

    def assume_equal(self, a: Element, b: Element, taken: bool = True) -> Pair:
        """The values of both for which `a == b`."""
        if taken:
            both = self.meet(a, b)
            return both, both
        return self._compared(a, b, lambda x, y: x != y)

    def _compared(self, a: Element, b: Element, holds: Callable[[int, int], bool]) -> Pair:
        if a is None or b is None:
            return None, None
        if a.modulus == b.modulus == 0 and not holds(a.remainder, b.remainder):
            return None, None
        return a, b

    def _reduced(self, a: Element, b: Element) -> Element:
        """`a` less some multiple of `b`: equal modulo all that divides `b`."""
        if a is None or b is None or b == Congruence(0, 0):
            return None
        return Congruence.of(gcd(a.modulus, b.modulus, b.remainder), a.remainder)

    def _chosen(self, a: Element, b: Element, *, least: bool) -> Element:
        if a is None or b is None:
            return None
        if a.modulus == b.modulus == 0:
            pick = min if least else max
            return Congruence(0, pick(a.remainder, b.remainder))
        return a.join(b)


CONGRUENCES: Final = Congruences()
