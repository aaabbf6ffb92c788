"""Intervals of integers, with arithmetic. An end of None is infinite.

Source: Cousot and Cousot, "Static determination of dynamic properties of programs" (1976).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from math import ceil, floor, inf, isfinite
from typing import Final, TypeVar

from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.lattice import ValueDomain
from absint.lattices.terms.interval import EMPTY, FULL, ZERO, Bound, Interval

# Domains of numbers: the arithmetic, comparisons and bounds that an analysis of elements needs.

T = TypeVar("T")
Number = int | float


class NumberDomain(ValueDomain[T]):
    """A domain of numbers, as `absint.ElementAnalysis` computes with: integers, or floats of one format.

    Every result on values that the operands allow is allowed by the result of the operation.
    """

    @abstractmethod
    def between(self, least: Number, most: Number) -> T:
        """The numbers from `least` to `most`, which may be infinite."""

    @abstractmethod
    def ends(self, element: T) -> tuple[Number, Number]:
        """The least and the greatest number, perhaps infinite; infinite ones for an element that allows NaN."""

    @abstractmethod
    def held(self, element: T, dtype: DType) -> T:
        """The results of arithmetic in a tensor of this type: all that wrap around, and top if it is about others."""

    @abstractmethod
    def neg(self, a: T) -> T: ...

    @abstractmethod
    def abs(self, a: T) -> T: ...

    @abstractmethod
    def add(self, a: T, b: T) -> T: ...

    @abstractmethod
    def sub(self, a: T, b: T) -> T: ...

    @abstractmethod
    def mul(self, a: T, b: T) -> T: ...

    @abstractmethod
    def div(self, a: T, b: T) -> T:
        """Quotients as by ONNX's Div: those of integers are rounded towards 0."""

    @abstractmethod
    def min(self, a: T, b: T) -> T: ...

    @abstractmethod
    def max(self, a: T, b: T) -> T: ...

    @abstractmethod
    def assume_less(self, a: T, b: T, taken: bool = True) -> tuple[T, T]:
        """The values of both for which `a < b`; if not `taken`, for which it is false."""

    @abstractmethod
    def assume_less_equal(self, a: T, b: T, taken: bool = True) -> tuple[T, T]:
        """The values of both for which `a <= b`; if not `taken`, for which it is false."""

    @abstractmethod
    def assume_equal(self, a: T, b: T, taken: bool = True) -> tuple[T, T]:
        """The values of both for which `a == b`; if not `taken`, for which it is false."""


Pair = tuple[Interval, Interval]


class Intervals(NumberDomain[Interval]):
    """Intervals by inclusion. Widening moves an end that grows to the next threshold, then to infinity.

    Operations give the least interval of all results, unless they say otherwise. Numbers are unbounded: `wrapped` gives
    what is left in a type that overflows. Divisors of 0 are left out, since they have no result.
    """

    bottom, top = EMPTY, FULL

    def __init__(self, thresholds: Iterable[int] = ()) -> None:
        self.thresholds = sorted(set(thresholds))

    def constant(self, value: int) -> Interval:
        """One number."""
        return Interval(value, value)

    def between(self, least: Number, most: Number) -> Interval:
        """The integers from `least` to `most`, which may be infinite."""
        return Interval(ceil(least) if isfinite(least) else None, floor(most) if isfinite(most) else None)

    def ends(self, element: Interval) -> tuple[Number, Number]:
        return -inf if element.lo is None else element.lo, inf if element.hi is None else element.hi

    def held(self, element: Interval, dtype: DType) -> Interval:
        """The values left in a type of integers that wraps around: all of the type's if some value does not fit."""
        if dtype not in INTEGER_RANGES:
            return self.top
        limits = Interval(*INTEGER_RANGES[dtype])
        return element if element.leq(limits) else limits

    def allows(self, element: Interval, value: object) -> bool:
        return value in element

    def text(self, element: Interval) -> str:
        if element.is_empty:
            return "no number"
        lo = "(-inf" if element.lo is None else f"[{element.lo}"
        hi = "inf)" if element.hi is None else f"{element.hi}]"
        return f"{lo}, {hi}"

    def leq(self, a: Interval, b: Interval) -> bool:
        return a.leq(b)

    def join(self, a: Interval, b: Interval) -> Interval:
        return a.join(b)

    def meet(self, a: Interval, b: Interval) -> Interval:
        return a.meet(b)

    def widen(self, old: Interval, new: Interval) -> Interval:
        if old.is_empty or new.is_empty or new.leq(old):
            return new if old.is_empty else old
        both, marks = old.join(new), self.thresholds
        lo, hi = both.lo, both.hi
        if lo is not None and lo != old.lo:
            at = bisect_right(marks, lo)
            lo = marks[at - 1] if at else None
        if hi is not None and hi != old.hi:
            at = bisect_left(marks, hi)
            hi = marks[at] if at < len(marks) else None
        return Interval(lo, hi)

    # Arithmetic

    def neg(self, a: Interval) -> Interval:
        return EMPTY if a.is_empty else Interval(_negated(a.hi), _negated(a.lo))

    def add(self, a: Interval, b: Interval) -> Interval:
        return EMPTY if a.is_empty or b.is_empty else a + b

    def sub(self, a: Interval, b: Interval) -> Interval:
        return self.add(a, self.neg(b))

    def mul(self, a: Interval, b: Interval) -> Interval:
        """The least interval where no end is infinite; ends beyond 2**512 are infinite."""
        return EMPTY if a.is_empty or b.is_empty else a.times(b)

    def floordiv(self, a: Interval, b: Interval) -> Interval:
        """Quotients rounded down, as by Python; not always the least interval."""
        return self._divided(a, b, Interval.floordiv)

    def truncdiv(self, a: Interval, b: Interval) -> Interval:
        """Quotients rounded towards 0, as by C and by ONNX's Div; not always the least interval."""
        return self._divided(a, b, Interval.truncdiv)

    def div(self, a: Interval, b: Interval) -> Interval:
        """As `truncdiv`."""
        return self.truncdiv(a, b)

    def mod(self, a: Interval, b: Interval) -> Interval:
        """Remainders with the sign of the divisor, as by Python and by ONNX's Mod; not always the least interval."""
        return self._per_sign(a, b, self._mod)

    def rem(self, a: Interval, b: Interval) -> Interval:
        """Remainders with the sign of the dividend, as by C and by ONNX's Mod with fmod=1; not always the least."""
        return self._per_sign(a, b, self._rem)

    def min(self, a: Interval, b: Interval) -> Interval:
        return self.neg(self.max(self.neg(a), self.neg(b)))

    def max(self, a: Interval, b: Interval) -> Interval:
        if a.is_empty or b.is_empty:
            return EMPTY
        lo = a.lo if b.lo is None else b.lo if a.lo is None else max(a.lo, b.lo)
        return Interval(lo, None if a.hi is None or b.hi is None else max(a.hi, b.hi))

    def abs(self, a: Interval) -> Interval:
        """The least interval: 0 is in it where the numbers have both signs."""
        if 0 in a:
            return self.max(a, self.neg(a)).meet(Interval(0, None))
        return self.neg(a) if a.hi is not None and a.hi < 0 else a

    def wrapped(self, a: Interval, bits: int, *, signed: bool = True) -> Interval:
        """The values in a type of so many bits that wraps around: all of the type's if some value does not fit."""
        limits = Interval(-(1 << bits - 1), (1 << bits - 1) - 1) if signed else Interval(0, (1 << bits) - 1)
        return a if a.leq(limits) else limits

    # Conditions: the values of both sides for which a comparison holds, or does not hold

    def assume_less(self, a: Interval, b: Interval, taken: bool = True) -> Pair:
        if not taken:
            more, less = self.assume_less_equal(b, a)
            return less, more
        return self._ordered(a, b, 1)

    def assume_less_equal(self, a: Interval, b: Interval, taken: bool = True) -> Pair:
        if not taken:
            more, less = self.assume_less(b, a)
            return less, more
        return self._ordered(a, b, 0)

    def assume_equal(self, a: Interval, b: Interval, taken: bool = True) -> Pair:
        if taken:
            return a.meet(b), a.meet(b)
        left, right = _without(a, b), _without(b, a)
        return (EMPTY, EMPTY) if left.is_empty or right.is_empty else (left, right)

    def _ordered(self, a: Interval, b: Interval, gap: int) -> Pair:
        """The values of both for which `a + gap <= b`."""
        if a.is_empty or b.is_empty:
            return EMPTY, EMPTY
        left = a.meet(Interval(None, None if b.hi is None else b.hi - gap))
        right = b.meet(Interval(None if a.lo is None else a.lo + gap, None))
        return (EMPTY, EMPTY) if left.is_empty or right.is_empty else (left, right)

    def _divided(self, a: Interval, b: Interval, divide: Callable[[Interval, Interval], Interval]) -> Interval:
        return EMPTY if a.is_empty or b.is_empty or b == ZERO else divide(a, b)

    def _per_sign(self, a: Interval, b: Interval, apply: Callable[[Interval, Interval], Interval]) -> Interval:
        """An operation for the positive and the negative divisors, joined."""
        above, below = b.meet(Interval(1, None)), b.meet(Interval(None, -1))
        if a.is_empty:
            return EMPTY
        found = apply(a, above) if not above.is_empty else EMPTY
        return found if below.is_empty else found.join(self.neg(apply(self.neg(a), self.neg(below))))

    def _mod(self, a: Interval, b: Interval) -> Interval:
        """Floor remainders by positive divisors."""
        assert b.lo is not None
        if a.lo is not None and a.lo >= 0 and a.hi is not None and a.hi < b.lo:
            return a
        if b.lo == b.hi and a.lo is not None and a.hi is not None and a.lo // b.lo == a.hi // b.lo:
            return Interval(a.lo % b.lo, a.hi % b.lo)
        most = None if b.hi is None else b.hi - 1
        if a.lo is not None and a.lo >= 0 and a.hi is not None:
            most = a.hi if most is None else min(most, a.hi)
        return Interval(0, most)

    def _rem(self, a: Interval, b: Interval) -> Interval:
        """Remainders by positive divisors, with the sign of the dividend."""
        above, below = a.meet(Interval(0, None)), a.meet(Interval(None, -1))
        found = EMPTY if above.is_empty else self._mod(above, b)
        return found if below.is_empty else found.join(self.neg(self._mod(self.neg(below), b)))


def _negated(end: Bound) -> Bound:
    return None if end is None else -end


def _without(a: Interval, b: Interval) -> Interval:
    """The members of `a` that differ from some member of `b`: all, but for an end that `b` alone consists of."""
    if b.is_empty:
        return EMPTY
    if b.lo is None or b.lo != b.hi:
        return a
    lo = b.lo + 1 if a.lo == b.lo else a.lo
    hi = b.lo - 1 if a.hi == b.lo else a.hi
    return a.meet(Interval(lo, hi))


INTERVALS: Final = Intervals()
"""Without thresholds."""
