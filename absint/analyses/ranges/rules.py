"""Ranges of what operators compute, from the ranges of their inputs: a function for each operator.

A result of floats is rounded outward, and functions such as Exp get room for kernels that approximate them. An integer
result that may not fit its type is any number of the type. A sum of n terms allows for every order of addition. What is
not listed is any number of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import ceil, floor, inf, isinf, prod
from typing import Final, Literal

from absint.analyses.ranges.seen import ANY, TRUTHS, At, Rule, Sums, any_of
from absint.lattices.domains import INTERVALS as INTS, FloatIntervals, Interval, Span
from absint.lattices.domains.floats import FORMAT_OF, FORMATS
from absint.lattices.dtype import INTEGER_RANGES
from absint.lattices.shape import Shape

NONE: Final = Span(inf, -inf)
ZERO: Final = Span(0.0, 0.0)
ONE: Final = Span(1.0, 1.0)


class Floats(FloatIntervals):
    """Floats whose ends are rounded outward, but not to infinity where the nearest number is the greatest one."""

    def rounded(self, a: Span) -> Span:
        limit = self.greatest
        half = limit * 2.0 ** (-1 - self._digits)
        lo = -limit if -limit - half < a.lo < -limit else a.lo
        hi = limit if limit < a.hi < limit + half else a.hi
        return super().rounded(Span(lo, hi, a.nan))


FLOATS: Final = {dtype: Floats(name) for dtype, name in FORMAT_OF.items()}
DIGITS: Final = {dtype: FORMATS[name][0] for dtype, name in FORMAT_OF.items()}

LARGEST: Final = 2.0**63
"""No axis is longer."""


def join(*spans: Span) -> Span:
    found = NONE
    for span in spans:
        found = found.join(span)
    return found


def interval(span: Span) -> Interval:
    return Interval(None if isinf(span.lo) else ceil(span.lo), None if isinf(span.hi) else floor(span.hi))


def span_of(found: Interval) -> Span:
    if found.is_empty:
        return NONE
    return Span(-inf if found.lo is None else found.lo, inf if found.hi is None else found.hi)


def fitted(at: At, found: Interval) -> Span:
    """Integers in the type of the output: all of its numbers if some does not fit."""
    limits, span = any_of(at.dtype), span_of(found)
    at.note("overflow", span, limits)
    return span if limits.lo <= span.lo and span.hi <= limits.hi else limits


def input_of(at: At, index: int, default: Span = ANY) -> Span:
    found = at.ranges[index] if index < len(at.ranges) else None
    return default if found is None else found


def same(at: At) -> Span:
    """Elements of the first input."""
    return input_of(at, 0)


def truth(_: At) -> Span:
    """Zeros and ones."""
    return TRUTHS


# Sums


def upper(shape: Shape, axes: Sequence[int] | None = None) -> float:
    """The greatest number of elements along the axes."""
    if shape.rank is None:
        return inf
    if axes is not None and not all(-shape.rank <= axis < shape.rank for axis in axes):
        return inf
    sizes = [shape[axis].bounds.hi for axis in (range(shape.rank) if axes is None else axes)]
    return inf if None in sizes else prod(size for size in sizes if size is not None)


def size_of(shape: Shape, axis: int) -> float:
    return upper(shape, (axis,))


def total(at: At, term: Span, most: float) -> Span:
    """The sum of at most so many floats, in any order: with none it is 0."""
    if term.nan or term.is_empty:
        return ANY
    most = min(most, LARGEST)
    size = max(abs(term.lo), abs(term.hi)) * most
    found = computed(at, Span(min(0.0, term.lo * most), max(0.0, term.hi * most)), size, most)
    # Terms of one sign never give the other, nor NaN where the sum is infinite.
    if found == ANY:
        return Span(0.0, inf) if term.lo >= 0 else Span(-inf, 0.0) if term.hi <= 0 else ANY
    return Span(0.0 if term.lo >= 0 else found.lo, 0.0 if term.hi <= 0 else found.hi)


def weighed(x: Span, sums: Sums) -> tuple[Span, float]:
    """Sums of products of elements with weights that have these sums: the exact result, and the sum of absolute values.

    A place whose positive weights add up to p and whose negative ones to q gives at least `p lo + q hi` and at most
    `p hi + q lo`. With `lo <= 0 <= hi` the sum of any part of the terms lies there as well.
    """
    low = min((p * x.lo + q * x.hi for p, q in sums), default=0.0)
    high = max((p * x.hi + q * x.lo for p, q in sums), default=0.0)
    return Span(low, high), max((p - q for p, q in sums), default=0.0) * max(abs(x.lo), abs(x.hi))


def computed(at: At, exact: Span, size: float, most: float) -> Span:
    """The range that a kernel computes for a sum of at most `most` terms of absolute sum at most `size`.

    In any order it is at most `n u size` away from the exact sum, without a limit on n (Jeannerod and Rump 2013, for
    rounding to the nearest; u is half the distance of 1 and the next number). Here it is four times that, and 8 terms
    more: for products, which are rounded as well, and may be too small for the format; for a scale and a bias; and for
    sums of weights, which are off by n * 2**-53. Where a part of the sum can be infinite, parts of both signs give NaN.
    """
    form = FLOATS[at.dtype]
    slack = (2.0 ** (2 - DIGITS[at.dtype]) * size + form.next(0.0, down=False)) * (most + 8)
    if isinf(exact.lo) or isinf(exact.hi) or not size + slack < form.greatest / 2:
        return ANY
    return form.rounded(Span(exact.lo - slack, exact.hi + slack))


def narrower(a: Span, b: Span) -> Span:
    """The intersection."""
    return Span(max(a.lo, b.lo), min(a.hi, b.hi), a.nan and b.nan)


def mean(at: At, x: Span, most: float, *, nan: bool) -> Span:
    """The mean of some elements, rounded as in `computed`; `nan` if there may be none, whose mean is NaN or 0."""
    form = FLOATS[at.dtype]
    if nan or x.is_empty:
        x, nan = join(x, ZERO), True
    size, most = max(abs(x.lo), abs(x.hi)), min(most, LARGEST)
    slack = (2.0 ** (2 - DIGITS[at.dtype]) * size + form.next(0.0, down=False)) * (most + 8)
    if x.nan or isinf(size) or not (size + slack) * most < form.greatest / 2:
        return Span(0.0, inf, nan) if x.lo >= 0 and not x.nan else ANY
    low = 0.0 if x.lo >= 0 else x.lo - slack
    return form.rounded(Span(low, x.hi + slack, nan))


# Elementwise


def arithmetic(name: Literal["add", "sub", "mul"], least: int = 2) -> Rule:
    """Of that many operands or more."""

    def rule(at: At) -> Span:
        operands = [input_of(at, index) for index in range(max(len(at.ranges), least))]
        if at.dtype in FLOATS:
            of_floats: Callable[[Span, Span], Span] = getattr(FLOATS[at.dtype], name)
            return reduce(of_floats, operands)
        if at.dtype not in INTEGER_RANGES:
            return any_of(at.dtype)
        of_integers: Callable[[Interval, Interval], Interval] = getattr(INTS, name)
        return fitted(at, reduce(of_integers, map(interval, operands)))

    return rule


def negative(at: At) -> Span:
    if at.dtype in FLOATS:
        return FLOATS[at.dtype].neg(input_of(at, 0))
    return fitted(at, INTS.neg(interval(input_of(at, 0)))) if at.dtype in INTEGER_RANGES else any_of(at.dtype)


def division(at: At) -> Span:
    a, b = input_of(at, 0), input_of(at, 1)
    at.note("division by zero", b, ZERO)
    if at.dtype in FLOATS:
        return FLOATS[at.dtype].div(a, b)
    if at.dtype not in INTEGER_RANGES or b.has(0):
        return any_of(at.dtype)
    x, y = interval(a), interval(b)
    return fitted(at, INTS.truncdiv(x, y).join(INTS.floordiv(x, y)))


def modulo(at: At) -> Span:
    a, b = input_of(at, 0), input_of(at, 1)
    at.note("division by zero", b, ZERO)
    if at.dtype not in INTEGER_RANGES or b.has(0):
        return any_of(at.dtype)
    apply = INTS.rem if at.attribute("fmod", 0) else INTS.mod
    return fitted(at, apply(interval(a), interval(b)))


def power(at: At) -> Span:
    """Of a base that is not negative, or by one whole number."""
    x, y = input_of(at, 0), input_of(at, 1)
    whole = y.lo == y.hi and 0 <= y.lo <= 64 and float(y.lo).is_integer() and not y.nan
    if at.dtype in INTEGER_RANGES:
        if not whole or at.type(1) not in INTEGER_RANGES or isinf(x.lo) or isinf(x.hi):
            return any_of(at.dtype)
        ends = [int(x.lo) ** int(y.lo), int(x.hi) ** int(y.lo)]
        low = 0 if x.has(0) and y.lo > 0 else min(ends)
        return fitted(at, Interval(min(low, *ends), max(ends)))
    if at.dtype not in FLOATS:
        return ANY
    if not whole:
        if not float(y.lo).is_integer() or y.lo != y.hi:
            at.note("outside of domain", x, Span(0.0, inf))
        return _real_power(at, x, y)
    found, form = Span(1.0, 1.0), FLOATS[at.dtype]
    size = form.abs(x)
    for _ in range(int(y.lo)):
        found = form.mul(found, size)
    found = form.increasing(lambda end: end, found, steps=4)
    low = max(found.lo, 0.0)
    if y.lo % 2 == 0 or x.lo >= 0:
        return Span(low, found.hi, found.nan or x.nan)
    return Span(-found.hi, found.hi, found.nan or x.nan)


def _real_power(at: At, x: Span, y: Span) -> Span:
    """Of a base that is not negative; by one exponent it rises or falls."""
    if x.lo < 0 or x.nan or y.nan or x.is_empty or y.is_empty or (x.lo == 0 and y.lo < 0):
        return ANY  # by an odd exponent below 0, -0 gives -inf
    found = Span(0.0, inf, isinf(x.hi) or isinf(y.lo) or isinf(y.hi))
    if y.lo != y.hi or found.nan or (x.lo == 0 and y.lo == 0) or at.type(1) not in FLOATS:
        return found
    slack = max(2.0 ** (5 - DIGITS[at.dtype]), 1e-6)
    try:
        low, high = sorted(float(end) ** float(y.lo) for end in (x.lo, x.hi))
    except OverflowError:
        return found
    return FLOATS[at.dtype].rounded(Span(max(0.0, low * (1 - slack) - slack), high * (1 + slack) + slack))


def extreme(name: str) -> Rule:
    pick: Callable[[float, float], float] = max if name == "max" else min

    def rule(at: At) -> Span:
        found = input_of(at, 0)
        for index in range(1, len(at.ranges)):
            found = picked(pick, found, input_of(at, index))
        return found

    return rule


def picked(pick: Callable[[float, float], float], a: Span, b: Span) -> Span:
    """The greater or the less of both; where one is NaN, a runtime may give the other."""
    lo, hi = pick(a.lo, b.lo), pick(a.hi, b.hi)
    if a.is_empty or b.is_empty:
        lo, hi = inf, -inf
    found = Span(lo, hi, a.nan or b.nan)
    found = found.join(b) if a.nan else found
    return found.join(a) if b.nan else found


def clip(at: At) -> Span:
    low, high = input_of(at, 1, NONE), input_of(at, 2, NONE)
    if len(at.ranges) == 1:  # before opset 11
        least, most = at.attribute("min", -inf), at.attribute("max", inf)
        low, high = Span(least, least), Span(most, most)
    found = input_of(at, 0)
    found = found if low == NONE else picked(max, found, low)
    return found if high == NONE else picked(min, found, high)
