"""Binary32 and binary64 of IEEE 754: operations that round as a run rounds them, and intervals of their results.

A number is a Python float, which binary32 rounds once more. That rounding does no harm: binary64 has more than twice
the digits of binary32 and two to spare, so a sum, product, quotient or root of binary32 numbers comes out as if it had
been rounded once (Figueroa 1995, "When is double rounding innocuous?").

NaN stands for every result on which kernels or platforms may differ: the larger of 0 and -0 is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil, copysign, floor, inf, isinf, isnan, nan, nextafter, sqrt
from struct import pack, unpack
from typing import Final, Literal

from absint.lattices.records import NamedTuple

Format = Literal["float32", "float64"]

DIGITS: Final[Mapping[Format, int]] = {"float32": 24, "float64": 53}
"""Binary digits of the significand: integers up to 2 to this power are exact."""


def rounded(form: Format, value: float) -> float:
    """The nearest number of the format, ties to even; infinite beyond its range."""
    if form == "float64":
        return value
    try:
        result: float = unpack("f", pack("f", value))[0]
    except OverflowError:
        return copysign(inf, value)
    return result


def of_ratio(form: Format, over: int, under: int = 1) -> float:
    """The nearest number of the format to a rational number; `under` is positive."""
    try:
        near = over / under
    except OverflowError:
        return inf if over > 0 else -inf
    if form == "float64" or isinf(near):
        return near
    exact = Fraction(over, under)
    # Rounded to odd, a number is on no tie of binary32 unless it was there before.
    if Fraction(near) != exact and unpack("q", pack("d", near))[0] % 2 == 0:
        near = nextafter(near, inf if exact > near else -inf)
    return rounded(form, near)


def shortest(form: Format, value: float) -> str:
    """The fewest decimal digits that read back as this finite number, without an exponent."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 17)) if form == "float32" else ()
    text = next((text for text in texts if decimal(form, text) == value), repr(value))
    return f"{Decimal(text):f}".removesuffix(".0")


def decimal(form: Format, text: str) -> float:
    """The nearest number of the format to a decimal one."""
    value = Fraction(text)
    return of_ratio(form, value.numerator, value.denominator)


# Operations


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return nan if not a or isnan(a) else copysign(inf, a) * copysign(1.0, b)


def _integral(toward: Callable[[float], int]) -> Callable[[float], float]:
    def apply(a: float) -> float:
        return a if isinf(a) or isnan(a) else copysign(float(toward(a)), a)

    return apply


def _extreme(pick: Callable[[float, float], float]) -> Callable[[float, float], float]:
    def apply(a: float, b: float) -> float:
        if isnan(a) or isnan(b) or (a == b == 0 and copysign(1.0, a) != copysign(1.0, b)):
            return nan
        return pick(a, b)

    return apply


UNARY: Final[Mapping[str, Callable[[float], float]]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "floor": _integral(floor),
    "ceil": _integral(ceil),
    "round": _integral(round),
    "sqrt": lambda a: nan if a < 0 else sqrt(a),
}
"""Operation -> its value on one number; `round` takes ties to the even integer."""

BINARY: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "max": _extreme(max),
    "min": _extreme(min),
}
"""Operation -> its value on two numbers, before it is rounded."""


# Intervals


class Span(NamedTuple):
    """Numbers between two ends, -0 below 0, and NaN if `nan`; NaN alone where the ends are in no order."""

    lo: float
    hi: float
    nan: bool = False

    @property
    def is_finite(self) -> bool:
        """No member is infinite or NaN."""
        return not (self.nan or isinf(self.lo) or isinf(self.hi))

    @property
    def magnitude(self) -> float:
        """The greatest absolute value of an end."""
        return max(abs(self.lo), abs(self.hi))

    @property
    def is_empty(self) -> bool:
        """No member is a number."""
        return self.lo > self.hi

    @property
    def has_finite(self) -> bool:
        """Some member is finite, if an end is not."""
        return self.lo != self.hi

    def join(self, other: Span) -> Span:
        return Span(min(self.lo, other.lo, key=order), max(self.hi, other.hi, key=order), self.nan or other.nan)

    def meet(self, other: Span) -> Span:
        return Span(max(self.lo, other.lo), min(self.hi, other.hi), self.nan and other.nan)

    def has(self, value: float) -> bool:
        """The number is a member; 0 stands for both zeros."""
        return self.lo <= value <= self.hi


def order(value: float) -> tuple[float, float]:
    """Sorts numbers, -0 before 0."""
    return value, copysign(1.0, value)


ANYTHING: Final = Span(-inf, inf, True)


NOTHING: Final = Span(inf, -inf, True)


def unary_span(form: Format, op: str, a: Span) -> Span:
    """The rounded results of an operation on the members."""
    if a.is_empty:
        return NOTHING
    apply = UNARY[op]
    if op == "neg":
        return Span(-a.hi, -a.lo, a.nan)
    if op == "abs":
        return a if order(a.lo) >= order(0.0) else Span(0.0, max(-a.lo, abs(a.hi)), a.nan)
    if op == "sqrt" and a.lo < 0:
        return Span(-0.0, rounded(form, sqrt(a.hi)), True) if a.hi >= 0 else NOTHING
    return Span(rounded(form, apply(a.lo)), rounded(form, apply(a.hi)), a.nan)


def binary_span(form: Format, op: str, a: Span, b: Span) -> Span:
    """The rounded results of an operation on the members of two spans. Rounding keeps order."""
    if a.is_empty or b.is_empty:
        return NOTHING
    if op == "+":
        missing = a.nan or b.nan or (a.hi == inf and b.lo == -inf) or (a.lo == -inf and b.hi == inf)
        lo, hi = rounded(form, a.lo + b.lo), rounded(form, a.hi + b.hi)
        return Span(-inf if isnan(lo) else lo, inf if isnan(hi) else hi, missing)
    if op in ("max", "min"):
        return _extreme_span(op, a, b)
    if op == "*":
        missing = (a.has(0) and _unbounded(b)) or (b.has(0) and _unbounded(a))
    else:
        missing = (a.has(0) and b.has(0)) or (_unbounded(a) and _unbounded(b))
        if order(b.lo) <= order(-0.0) and order(b.hi) >= order(0.0):
            return Span(-inf, inf, missing or a.nan or b.nan)
    known = [rounded(form, end) for x in (a.lo, a.hi) for y in (b.lo, b.hi) for end in _near_end(op, a, b, x, y)]
    if not known:
        return NOTHING
    return Span(min(known, key=order), max(known, key=order), missing or a.nan or b.nan)


def _near_end(op: str, a: Span, b: Span, x: float, y: float) -> Iterator[float]:
    """The result at an end of both spans. Where it is NaN, those beside it: 0 by finite numbers, and their like."""
    result = BINARY[op](x, y)
    if not isnan(result):
        yield result
        return
    sign = copysign(1.0, x) * copysign(1.0, y)
    if op == "*":  # 0 and an infinity
        if (a if isinf(x) else b).has_finite:
            yield copysign(0.0, sign)
        return
    if a.has_finite:
        yield copysign(0.0, sign)
    if b.has_finite:
        yield copysign(inf, sign)


def _extreme_span(op: str, a: Span, b: Span) -> Span:
    pick = max if op == "max" else min
    lo, hi = pick(a.lo, b.lo, key=order), pick(a.hi, b.hi, key=order)
    return Span(-0.0 if lo == 0 else lo, 0.0 if hi == 0 else hi, a.nan or b.nan)


def _unbounded(a: Span) -> bool:
    return isinf(a.lo) or isinf(a.hi)
