"""Known bits of integers in two's complement of a fixed width: those that are 0 and those that are 1 in all values."""

from __future__ import annotations

from typing import Final

from absint.lattices.lattice import ValueDomain
from absint.lattices.records import NamedTuple

STRIDE: Final = 8
"""Widening gives up bits by this many, so that chains are short."""


class KnownBits(NamedTuple):
    """Masks of the bits that are known to be 0 and to be 1. A bit in both makes it empty."""

    zeros: int
    ones: int


class KnownBitsLattice(ValueDomain[KnownBits]):
    """Known bits by inclusion. Arithmetic wraps around, as that of the type does. Values are numbers of either sign."""

    def __init__(self, width: int = 64) -> None:
        self.width = width
        self._all = (1 << width) - 1
        self.bottom = KnownBits(self._all, self._all)
        self.top = KnownBits(0, 0)

    def constant(self, value: int) -> KnownBits:
        """All bits of one number; those beyond the width are left out."""
        return KnownBits(~value & self._all, value & self._all)

    def allows(self, element: KnownBits, value: object) -> bool:
        return isinstance(value, int) and not (value & element.zeros or ~value & element.ones)

    def text(self, element: KnownBits) -> str:
        """The bits from the highest, `?` where one is unknown; equal ones at the top once, before dots."""
        if element == self.bottom:
            return "no number"
        bits = "".join(
            "0" if element.zeros >> at & 1 else "1" if element.ones >> at & 1 else "?"
            for at in reversed(range(self.width))
        )
        rest = bits.lstrip(bits[0])
        return bits if len(rest) + 4 >= self.width else f"{bits[0]}...{bits[0]}{rest}"

    def leq(self, a: KnownBits, b: KnownBits) -> bool:
        return a == self.bottom or not (b.zeros & ~a.zeros or b.ones & ~a.ones)

    def join(self, a: KnownBits, b: KnownBits) -> KnownBits:
        return KnownBits(a.zeros & b.zeros, a.ones & b.ones)

    def meet(self, a: KnownBits, b: KnownBits) -> KnownBits:
        return self._made(a.zeros | b.zeros, a.ones | b.ones)

    def widen(self, old: KnownBits, new: KnownBits) -> KnownBits:
        """Keeps the bits below the lowest that is lost."""
        both = self.join(old, new)
        if old in (self.bottom, both):
            return both
        lost = (old.zeros & ~both.zeros) | (old.ones & ~both.ones)
        lowest = (lost & -lost).bit_length() - 1
        kept = (1 << lowest // STRIDE * STRIDE) - 1
        return KnownBits(both.zeros & kept, both.ones & kept)

    def invert(self, a: KnownBits) -> KnownBits:
        return a if a == self.bottom else KnownBits(a.ones, a.zeros)

    def bit_and(self, a: KnownBits, b: KnownBits) -> KnownBits:
        return self._strict(a, b, a.zeros | b.zeros, a.ones & b.ones)

    def bit_or(self, a: KnownBits, b: KnownBits) -> KnownBits:
        return self._strict(a, b, a.zeros & b.zeros, a.ones | b.ones)

    def bit_xor(self, a: KnownBits, b: KnownBits) -> KnownBits:
        ones = a.ones & b.zeros | a.zeros & b.ones
        return self._strict(a, b, a.zeros & b.zeros | a.ones & b.ones, ones)

    def shift_left(self, a: KnownBits, count: int) -> KnownBits:
        """Zeros come in from below; bits beyond the width are lost."""
        below = (1 << count) - 1
        return self._strict(a, a, a.zeros << count | below, a.ones << count)

    def neg(self, a: KnownBits) -> KnownBits:
        return self.add(self.invert(a), self.constant(1))

    def sub(self, a: KnownBits, b: KnownBits) -> KnownBits:
        """a + ~b + 1."""
        return self._sum(a, self.invert(b), 1)

    def add(self, a: KnownBits, b: KnownBits) -> KnownBits:
        return self._sum(a, b, 0)

    def mul(self, a: KnownBits, b: KnownBits) -> KnownBits:
        """The low bits that are known of both are known of the product, and the zeros at its end."""
        if self.bottom in (a, b):
            return self.bottom
        known = min(_trailing(a.zeros | a.ones), _trailing(b.zeros | b.ones), self.width)
        ends = min(_trailing(a.zeros) + _trailing(b.zeros), self.width)
        product = a.ones * b.ones
        sure = (1 << known) - 1
        return self._made(~product & sure | (1 << ends) - 1, product & sure & ~((1 << ends) - 1))

    def _sum(self, a: KnownBits, b: KnownBits, carry: int) -> KnownBits:
        """A bit of the sum is known where both bits and the carry are: carries of the least and greatest sum agree."""
        if self.bottom in (a, b):
            return self.bottom
        least = a.ones + b.ones + carry
        greatest = (~a.zeros & self._all) + (~b.zeros & self._all) + carry
        carry_zero = ~(greatest ^ a.zeros ^ b.zeros)
        carry_one = least ^ a.ones ^ b.ones
        known = (a.zeros | a.ones) & (b.zeros | b.ones) & (carry_zero | carry_one)
        return self._made(~greatest & known, least & known)

    def _strict(self, a: KnownBits, b: KnownBits, zeros: int, ones: int) -> KnownBits:
        return self.bottom if self.bottom in (a, b) else self._made(zeros, ones)

    def _made(self, zeros: int, ones: int) -> KnownBits:
        return self.bottom if zeros & ones & self._all else KnownBits(zeros & self._all, ones & self._all)


def _trailing(mask: int) -> int:
    """The number of ones at the end of a mask."""
    return (~mask & mask + 1).bit_length() - 1
