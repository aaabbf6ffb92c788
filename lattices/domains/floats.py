"""Intervals of floats: infinite ends, NaN or none, and arithmetic that rounds to a format.

The elements are `Span`s of `terms.ieee`, which computes on them; here they are rounded to a format and form a lattice.
Numbers are Python floats. 0 stands for both zeros.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from math import ceil, floor, frexp, inf, isinf, isnan, nextafter
from typing import Final, Literal

from absint.lattices.domains.intervals import Number, NumberDomain
from absint.lattices.dtype import DType
from absint.lattices.terms.ieee import ANYTHING, Span, binary_span, unary_span

Name = Literal["float16", "bfloat16", "float32", "float64"]
Pair = tuple[Span, Span]

NONE: Final = Span(inf, -inf)
"""No number, and not NaN."""

FORMATS: Final[Mapping[Name, tuple[int, int]]] = {
    "float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022),
}  # fmt: skip
"""Binary digits of the significand, and the exponent of the least normal number."""


FORMAT_OF: Final[Mapping[DType, Name]] = {
    DType.FLOAT16: "float16", DType.BFLOAT16: "bfloat16", DType.FLOAT: "float32", DType.DOUBLE: "float64",
}  # fmt: skip


class FloatIntervals(NumberDomain[Span]):
    """Intervals of floats by inclusion, each with NaN or without. Widening moves an end to a threshold or to infinity.

    An operation allows every result of the operation on values that the operands allow, rounded once to the format.
    With `rounding="nearest"` ends are rounded as values are: right where a runtime computes each operation as IEEE 754
    says. With `"outward"` they are rounded to the next number below and above: right as well where it keeps more
    digits. Results that a runtime flushes to zero are not allowed for.
    """

    bottom, top = NONE, ANYTHING

    def __init__(
        self,
        name: Name = "float32",
        *,
        rounding: Literal["nearest", "outward"] = "outward",
        thresholds: Iterable[float] = (),
    ) -> None:
        self.name = name
        self.rounding = rounding
        self.thresholds = sorted({float(mark) for mark in thresholds})
        self._digits, self._least = FORMATS[name]

    def of(self, lo: float, hi: float, *, nan: bool = False) -> Span:
        """The numbers from `lo` to `hi`; raises ValueError if an end is NaN."""
        if isnan(lo) or isnan(hi):
            raise ValueError(f"an end must be a number, found {lo} and {hi}")
        return _ordered(lo, hi, nan)

    def constant(self, value: float) -> Span:
        """One number, or NaN."""
        return Span(inf, -inf, True) if isnan(value) else Span(value, value)

    def between(self, least: Number, most: Number) -> Span:
        """The numbers from `least` to `most`; with NaN if both are infinite, which says nothing."""
        return self.of(least, most, nan=(least, most) == (-inf, inf))

    def ends(self, element: Span) -> tuple[Number, Number]:
        """The least and the greatest number; infinite ones for an element that allows NaN."""
        return (-inf, inf) if element.nan else (element.lo, element.hi)

    def held(self, element: Span, dtype: DType) -> Span:
        """The element, in a tensor of the domain's format."""
        return element if FORMAT_OF.get(dtype) == self.name else self.top

    def allows(self, element: Span, value: object) -> bool:
        if not isinstance(value, float | int):
            return False
        return element.nan if isnan(value) else element.has(value)

    def text(self, element: Span) -> str:
        if element.is_empty:
            return "NaN" if element.nan else "no number"
        return f"[{element.lo + 0.0:.9g}, {element.hi + 0.0:.9g}]{' or NaN' if element.nan else ''}"

    def leq(self, a: Span, b: Span) -> bool:
        return (a.is_empty or (b.lo <= a.lo and a.hi <= b.hi)) and (b.nan or not a.nan)

    def join(self, a: Span, b: Span) -> Span:
        return a.join(b)

    def meet(self, a: Span, b: Span) -> Span:
        return _ordered(max(a.lo, b.lo), min(a.hi, b.hi), a.nan and b.nan)

    def widen(self, old: Span, new: Span) -> Span:
        both = old.join(new)
        if old.is_empty or new.is_empty:
            return both
        lo, hi, marks = both.lo, both.hi, self.thresholds
        if lo < old.lo:
            at = bisect_right(marks, lo)
            lo = marks[at - 1] if at else -inf
        if hi > old.hi:
            at = bisect_left(marks, hi)
            hi = marks[at] if at < len(marks) else inf
        return Span(lo, hi, both.nan)

    # Arithmetic

    def neg(self, a: Span) -> Span:
        return _unary("neg", a)

    def abs(self, a: Span) -> Span:
        return _unary("abs", a)

    def floor(self, a: Span) -> Span:
        return _unary("floor", a)

    def ceil(self, a: Span) -> Span:
        return _unary("ceil", a)

    def round(self, a: Span) -> Span:
        """Ties go to the even number."""
        return _unary("round", a)

    def sqrt(self, a: Span) -> Span:
        """NaN below 0."""
        return self.rounded(_unary("sqrt", a))

    def add(self, a: Span, b: Span) -> Span:
        return self.rounded(_binary("+", a, b))

    def sub(self, a: Span, b: Span) -> Span:
        return self.add(a, self.neg(b))

    def mul(self, a: Span, b: Span) -> Span:
        return self.rounded(_binary("*", a, b))

    def div(self, a: Span, b: Span) -> Span:
        """Infinite by 0; NaN for 0 by 0 and for infinities."""
        return self.rounded(_binary("/", a, b))

    def min(self, a: Span, b: Span) -> Span:
        """NaN if one of both is."""
        return _binary("min", a, b)

    def max(self, a: Span, b: Span) -> Span:
        """NaN if one of both is."""
        return _binary("max", a, b)

    def increasing(self, function: Callable[[float], float], a: Span, steps: int = 4) -> Span:
        """The results of a function that never falls, as exp or tanh; NaN stays NaN.

        `steps` is how many numbers of the format a runtime may be off. The function must take infinities; where it
        raises OverflowError, the result is infinite.
        """
        if a.is_empty:
            return a
        lo, hi = self._toward(_value(function, a.lo), down=True), self._toward(_value(function, a.hi), down=False)
        for _ in range(steps):
            lo, hi = self.next(lo, down=True), self.next(hi, down=False)
        return self.of(lo, hi, nan=a.nan)

    def rounded(self, a: Span) -> Span:
        """The values, rounded to the format."""
        if a.is_empty:
            return a
        if self.rounding == "nearest":
            return Span(self._nearest(a.lo), self._nearest(a.hi), a.nan)
        return Span(self._toward(a.lo, down=True), self._toward(a.hi, down=False), a.nan)

    # Conditions: the values of both sides for which a comparison is true, or is not. With NaN, none is true.

    def assume_less(self, a: Span, b: Span, taken: bool = True) -> Pair:
        if not taken:
            return _not(a, b, lambda x, y: self._at_most(y, x)[::-1])
        return self._below(a, b)

    def assume_less_equal(self, a: Span, b: Span, taken: bool = True) -> Pair:
        if not taken:
            return _not(a, b, lambda x, y: self._below(y, x)[::-1])
        return self._at_most(a, b)

    def assume_equal(self, a: Span, b: Span, taken: bool = True) -> Pair:
        if not taken:
            return _not(a, b, self._different)
        both = _number(self.meet(a, b))
        return both, both

    def _at_most(self, a: Span, b: Span) -> Pair:
        if a.is_empty or b.is_empty:
            return NONE, NONE
        left, right = _ordered(a.lo, min(a.hi, b.hi), False), _ordered(max(b.lo, a.lo), b.hi, False)
        return (NONE, NONE) if left.is_empty or right.is_empty else (left, right)

    def _below(self, a: Span, b: Span) -> Pair:
        if a.is_empty or b.is_empty:
            return NONE, NONE
        most, least = self.next(b.hi, down=True), self.next(a.lo, down=False)
        if b.hi == -inf or a.lo == inf:
            return NONE, NONE
        left, right = _ordered(a.lo, min(a.hi, most), False), _ordered(max(b.lo, least), b.hi, False)
        return (NONE, NONE) if left.is_empty or right.is_empty else (left, right)

    def _different(self, a: Span, b: Span) -> Pair:
        if a.is_empty or b.is_empty or a.lo == a.hi == b.lo == b.hi:
            return NONE, NONE
        return _number(a), _number(b)

    # Formats

    def next(self, value: float, *, down: bool) -> float:
        """The next number of the format below or above; of a number that the format lacks, the one beside it.

        Past the greatest it is infinite.
        """
        if isinf(value) and (value < 0) is down:
            return value
        near = nextafter(value, -inf if down else inf)
        return self._toward(near, down=down)

    def _toward(self, value: float, *, down: bool) -> float:
        """The greatest number of the format that is not above, or the least that is not below."""
        if isinf(value) or isnan(value) or value == 0 or self.name == "float64":
            return value
        quantum = self._quantum(value)
        found = (floor if down else ceil)(value / quantum) * quantum
        if abs(found) > self.greatest:
            if found > 0:
                return self.greatest if down else inf
            return -inf if down else -self.greatest
        return found or (-0.0 if value < 0 else 0.0)

    def _nearest(self, value: float) -> float:
        if isinf(value) or value == 0 or self.name == "float64":
            return value
        found = round(value / self._quantum(value)) * self._quantum(value)
        if abs(found) > self.greatest:
            return inf if found > 0 else -inf
        return found or (-0.0 if value < 0 else 0.0)

    def _quantum(self, value: float) -> float:
        """The distance of the numbers of the format around a value."""
        exponent = max(frexp(value)[1] - 1, self._least)
        result: float = 2.0 ** (exponent - self._digits + 1)
        return result

    @property
    def greatest(self) -> float:
        """The greatest finite number of the format."""
        result: float = (2.0 - 2.0 ** (1 - self._digits)) * 2.0 ** (1 - self._least)
        return result


def _value(function: Callable[[float], float], at: float) -> float:
    try:
        return function(at)
    except OverflowError:
        return inf


def _ordered(lo: float, hi: float, nan: bool) -> Span:
    return Span(lo, hi, nan) if lo <= hi else Span(inf, -inf, nan)


def _number(a: Span) -> Span:
    """Without NaN."""
    return Span(a.lo, a.hi)


def _both_zeros(a: Span) -> Span:
    """With the other zero where an end is one."""
    return a if a.is_empty else Span(-0.0 if a.lo == 0 else a.lo, 0.0 if a.hi == 0 else a.hi, a.nan)


def _unary(op: str, a: Span) -> Span:
    return a if a.is_empty else unary_span("float64", op, _both_zeros(a))


def _binary(op: str, a: Span, b: Span) -> Span:
    return NONE if NONE in (a, b) else binary_span("float64", op, _both_zeros(a), _both_zeros(b))


def _not(a: Span, b: Span, opposite: Callable[[Span, Span], Pair]) -> Pair:
    """The values for which a comparison is false: the opposite holds, or one of both is NaN."""
    if NONE in (a, b):
        return NONE, NONE
    left, right = opposite(_number(a), _number(b))
    kept, other = a if b.nan else left, b if a.nan else right
    return Span(kept.lo, kept.hi, a.nan), Span(other.lo, other.hi, b.nan)


FLOAT32: Final = FloatIntervals("float32")
FLOAT64: Final = FloatIntervals("float64")
