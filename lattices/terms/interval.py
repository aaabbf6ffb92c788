"""Integer intervals with open ends, unions of them, and congruences `x = r (mod m)`: what is known of an unknown dim.

A bound of None is infinite: `(0, None)` is every natural number.
Source: Granger, "Static analysis of arithmetical congruences" (1989); Cousot and Cousot (1976) for intervals.
"""

from __future__ import annotations

from math import gcd

from absint.lattices.records import NamedTuple

Bound = int | None


class Interval(NamedTuple):
    """All integers x with lo <= x <= hi; empty if lo > hi."""

    lo: Bound
    hi: Bound

    @property
    def is_empty(self) -> bool:
        return self.lo is not None and self.hi is not None and self.lo > self.hi

    @property
    def text(self) -> str:
        """`within 0..4`, `at least 0`; empty if there is no bound."""
        if self.is_empty:
            return "no number"
        if self.lo is None:
            return "" if self.hi is None else f"at most {self.hi}"
        if self.hi is None:
            return f"at least {self.lo}"
        return str(self.lo) if self.lo == self.hi else f"within {self.lo}..{self.hi}"

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int):
            return False
        return (self.lo is None or self.lo <= value) and (self.hi is None or value <= self.hi)

    def nearest(self, value: int) -> int:
        """The number, or the end next to it of an interval that is not empty."""
        value = value if self.lo is None else max(value, self.lo)
        return value if self.hi is None else min(value, self.hi)

    def leq(self, other: Interval) -> bool:
        """Every member of self is a member of other."""
        if self.is_empty:
            return True
        below = other.lo is None or (self.lo is not None and self.lo >= other.lo)
        above = other.hi is None or (self.hi is not None and self.hi <= other.hi)
        return below and above

    def join(self, other: Interval) -> Interval:
        if self.is_empty:
            return other
        if other.is_empty:
            return self
        lo = None if self.lo is None or other.lo is None else min(self.lo, other.lo)
        hi = None if self.hi is None or other.hi is None else max(self.hi, other.hi)
        return Interval(lo, hi)

    def meet(self, other: Interval) -> Interval:
        lo = other.lo if self.lo is None else self.lo if other.lo is None else max(self.lo, other.lo)
        hi = other.hi if self.hi is None else self.hi if other.hi is None else min(self.hi, other.hi)
        return Interval(lo, hi) if lo is None or hi is None or lo <= hi else EMPTY

    def widen(self, other: Interval) -> Interval:
        """Join in which a bound that moved jumps to the next landmark: 0 for lower bounds, then infinity."""
        if self.is_empty:
            return other
        if other.is_empty:
            return self
        lo, hi = self.lo, self.hi
        if lo is not None and (other.lo is None or other.lo < lo):
            lo = 0 if other.lo is not None and other.lo >= 0 else None
        if hi is not None and (other.hi is None or other.hi > hi):
            hi = None
        return Interval(lo, hi)

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        lo = None if self.lo is None or other.lo is None else self.lo + other.lo
        hi = None if self.hi is None or other.hi is None else self.hi + other.hi
        return Interval(lo, hi)

    def scale(self, factor: int) -> Interval:
        """Image under multiplication by a constant."""
        if factor == 0:
            return ZERO
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return clamped(lo, hi) if factor > 0 else clamped(hi, lo)

    def times(self, other: Interval) -> Interval:
        """Image under multiplication."""
        if self == ZERO or other == ZERO:
            return ZERO
        if self.lo is not None and self.lo >= 0 and other.lo is not None and other.lo >= 0:
            hi = None if self.hi is None or other.hi is None else self.hi * other.hi
            return clamped(self.lo * other.lo, hi)
        if self.lo is None or self.hi is None or other.lo is None or other.hi is None:
            return _times_open(self, other)
        ends = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return clamped(min(ends), max(ends))

    def floordiv(self, other: Interval) -> Interval:
        """Image under floor division, the divisor 0 left out."""
        if other == ZERO or self.is_empty or other.is_empty:
            return FULL
        if other.lo is not None and other.lo >= 0:
            positive = other.meet(POSITIVE)
            return Interval(
                self._quotient(self.lo, positive, lower=True), self._quotient(self.hi, positive, lower=False)
            )
        if other.hi is not None and other.hi <= 0:
            return self.scale(-1).floordiv(other.scale(-1))
        return self._within_size()

    def _within_size(self) -> Interval:
        """All integers no larger in size than some member: the quotients by any divisor."""
        if self.lo is None or self.hi is None:
            return FULL
        size = max(abs(self.lo), abs(self.hi))
        return Interval(-size, size)

    @staticmethod
    def _quotient(end: Bound, divisor: Interval, lower: bool) -> Bound:
        """Extreme of end // d over a positive divisor interval."""
        if end is None:
            return None
        assert divisor.lo is not None
        small, large = end // divisor.lo, 0 if end >= 0 else -1
        if divisor.hi is not None:
            large = end // divisor.hi
        return min(small, large) if lower else max(small, large)

    def truncdiv(self, other: Interval) -> Interval:
        """Image under division rounded towards zero, the divisor 0 left out."""
        if self.lo is not None and self.lo >= 0 and other.lo is not None and other.lo >= 0:
            return self.floordiv(other)
        if other.lo is not None and other.lo >= 0 and not self.is_empty and not other.is_empty and other != ZERO:
            least = max(other.lo, 1)
            below = None if self.lo is None else -(max(-self.lo, 0) // least)
            above = None if self.hi is None else max(self.hi, 0) // least
            return Interval(below, above)
        return self._within_size()


def _times_open(a: Interval, b: Interval) -> Interval:
    """Product where some end is infinite: keep the sign when both signs are known."""
    sign = 1
    if a.hi is not None and a.hi <= 0:
        a, sign = a.scale(-1), -sign
    if b.hi is not None and b.hi <= 0:
        b, sign = b.scale(-1), -sign
    if a.lo is not None and a.lo >= 0 and b.lo is not None and b.lo >= 0:
        hi = None if a.hi is None or b.hi is None else a.hi * b.hi
        return clamped(a.lo * b.lo, hi).scale(sign)
    return FULL


MAX_BOUND = 1 << 512
"""Largest bound of a product: repeated squaring would double the length of a bound each time."""


def clamped(lo: Bound, hi: Bound) -> Interval:
    """The interval, an end beyond the largest bound moved outwards to infinity or inwards to that bound."""
    if lo is not None and not -MAX_BOUND <= lo <= MAX_BOUND:
        lo = None if lo < 0 else MAX_BOUND
    if hi is not None and not -MAX_BOUND <= hi <= MAX_BOUND:
        hi = None if hi > 0 else -MAX_BOUND
    return Interval(lo, hi)


FULL = Interval(None, None)
EMPTY = Interval(1, 0)
ZERO = Interval(0, 0)
POSITIVE = Interval(1, None)


class Congruence(NamedTuple):
    """All integers x with x = remainder (mod modulus). Modulus 1 is every integer, modulus 0 the one value."""

    modulus: int
    remainder: int

    @staticmethod
    def of(modulus: int, remainder: int) -> Congruence:
        modulus = abs(modulus)
        return Congruence(modulus, remainder % modulus if modulus else remainder)

    @property
    def text(self) -> str:
        """`a multiple of 4`, `1 modulo 4`; empty for every integer."""
        if self.modulus <= 1:
            return "" if self.modulus else str(self.remainder)
        return f"{self.remainder} modulo {self.modulus}" if self.remainder else f"a multiple of {self.modulus}"

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int):
            return False
        return value == self.remainder if self.modulus == 0 else (value - self.remainder) % self.modulus == 0

    def leq(self, other: Congruence) -> bool:
        if other.modulus == 0:
            return self == other
        return self.modulus % other.modulus == 0 and (self.remainder - other.remainder) % other.modulus == 0

    def join(self, other: Congruence) -> Congruence:
        modulus = gcd(self.modulus, other.modulus, self.remainder - other.remainder)
        return Congruence.of(modulus, self.remainder)

    def meet(self, other: Congruence) -> Congruence | None:
        """Common members (Chinese remainder theorem), or None if there are none."""
        if self.modulus == 0:
            return self if self.remainder in other else None
        if other.modulus == 0:
            return other if other.remainder in self else None
        common = gcd(self.modulus, other.modulus)
        if (self.remainder - other.remainder) % common:
            return None
        lcm = self.modulus // common * other.modulus
        step = other.modulus // common
        shift = (other.remainder - self.remainder) // common * pow(self.modulus // common, -1, step) if step > 1 else 0
        return Congruence.of(lcm, self.remainder + self.modulus * (shift % step if step > 1 else 0))

    def __add__(self, other: Congruence) -> Congruence:  # type: ignore[override]
        return Congruence.of(gcd(self.modulus, other.modulus), self.remainder + other.remainder)

    def scale(self, factor: int) -> Congruence:
        return self.times(Congruence(0, factor))

    def times(self, other: Congruence) -> Congruence:
        modulus = gcd(self.modulus * other.modulus, self.modulus * other.remainder, other.modulus * self.remainder)
        remainder = self.remainder * other.remainder
        return ANY if max(modulus, abs(remainder)) > MAX_BOUND else Congruence.of(modulus, remainder)


ANY = Congruence(1, 0)


Range = tuple[Interval, ...]
"""Disjoint intervals in ascending order, no two of them adjacent."""


def points(*intervals: Interval) -> Range:
    """The union of the intervals."""
    result: list[Interval] = []
    for interval in sorted((i for i in intervals if not i.is_empty), key=lambda i: (i.lo is not None, i.lo or 0)):
        if result and (result[-1].hi is None or interval.lo is None or interval.lo <= result[-1].hi + 1):
            result[-1] = result[-1].join(interval)
        else:
            result.append(interval)
    return tuple(result)


def union(a: Range, b: Range) -> Range:
    return points(*a, *b)


def intersection(a: Range, b: Range) -> Range:
    """The meet of both, in one pass over their intervals."""
    result: list[Interval] = []
    i = j = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        both = x.meet(y)
        if not both.is_empty:
            result.append(both)
        if y.hi is None or (x.hi is not None and x.hi <= y.hi):
            i += 1
        else:
            j += 1
    return tuple(result)


def without(value: int) -> Range:
    """All integers but one."""
    return (Interval(None, value - 1), Interval(value + 1, None))


def contains(a: Range, b: Range) -> bool:
    """Every member of b is a member of a."""
    return all(any(x.leq(y) for y in a) for x in b)
