"""Ranges of what operators compute, from the ranges of their inputs: a function for each operator.

A result of floats is rounded outward, and functions such as Exp get room for kernels that approximate them. An integer
result that may not fit its type is any number of the type. A sum of n terms allows for every order of addition. What is
not listed is any number of its type.
"""

from collections.abc import Callable, Sequence
from math import ceil, floor, inf, isinf
from typing import Final

from absint.analyses.ranges.seen import ANY, TRUTHS, At, Origin, Sums, upper
from absint.lattices.domains import Interval, Span
from absint.program.steps import Operand

NONE: Final = Span(inf, -inf)
ZERO: Final = Span(0.0, 0.0)
ONE: Final = Span(1.0, 1.0)


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
    limits, span = at.any, span_of(found)
    at.note("overflow", span, limits)
    return span if limits.lo <= span.lo and span.hi <= limits.hi else limits


def same(at: At) -> Span:
    """Elements of the first input."""
    return at.input(0)


def truth(_: At) -> Span:
    """Zeros and ones."""
    return TRUTHS


# Sums


def weighed(x: Span, sums: Sums) -> tuple[Span, float]:
    """Sums of products of elements with weights that have these sums: the exact result, and the sum of absolute values.

    A place whose positive weights add up to p and whose negative ones to q gives at least `p lo + q hi` and at most
    `p hi + q lo`. With `lo <= 0 <= hi` the sum of any part of the terms lies there as well.
    """
    low = min((p * x.lo + q * x.hi for p, q in sums), default=0.0)
    high = max((p * x.hi + q * x.lo for p, q in sums), default=0.0)
    return Span(low, high), max((p - q for p, q in sums), default=0.0) * x.magnitude


def computed(at: At, exact: Span, size: float, most: float) -> Span:
    """The range that a kernel computes for a sum of at most `most` terms of absolute sum at most `size`.

    In any order it is at most `n u size` away from the exact sum, without a limit on n (Jeannerod and Rump 2013, for
    rounding to the nearest; u is half the distance of 1 and the next number). Here it is four times that, and 8 terms
    more: for products, which are rounded as well, and may be too small for the format; for a scale and a bias; and for
    sums of weights, which are off by n * 2**-53. Where a part of the sum can be infinite, parts of both signs give NaN.
    """
    form = at.form
    slack = (2.0 ** (2 - at.digits) * size + form.next(0.0, down=False)) * (most + 8)
    if isinf(exact.lo) or isinf(exact.hi) or not size + slack < form.greatest / 2:
        return ANY
    return form.rounded(Span(exact.lo - slack, exact.hi + slack))


def mean(at: At, x: Span, most: float, *, nan: bool) -> Span:
    """The mean of some elements, rounded as in `computed`; `nan` if there may be none, whose mean is NaN or 0."""
    form = at.form
    if nan or x.is_empty:
        x, nan = join(x, ZERO), True
    size, most = x.magnitude, min(most, LARGEST)
    slack = (2.0 ** (2 - at.digits) * size + form.next(0.0, down=False)) * (most + 8)
    if x.nan or isinf(size) or not (size + slack) * most < form.greatest / 2:
        return Span(0.0, inf, nan) if x.lo >= 0 and not x.nan else ANY
    low = 0.0 if x.lo >= 0 else x.lo - slack
    return form.rounded(Span(low, x.hi + slack, nan))


def picked(pick: Callable[[float, float], float], a: Span, b: Span) -> Span:
    """The greater or the less of both; where one is NaN, a runtime may give the other."""
    lo, hi = pick(a.lo, b.lo), pick(a.hi, b.hi)
    if a.is_empty or b.is_empty:
        lo, hi = inf, -inf
    found = Span(lo, hi, a.nan or b.nan)
    found = found.join(b) if a.nan else found
    return found.join(a) if b.nan else found


# What an operand was computed from, where ranges alone say too little: shares, own roots, NaN


_PASSED: Final = ("Identity", "Dropout", "Cast")
"""Operators that keep rows that add up to 1."""


def is_share(at: At, index: int) -> bool:
    """The rows of the input along its last axis come from a Softmax, some elements perhaps set to 0."""
    operand = at.operand(index)
    for _ in range(8):
        found = at.origin(operand)
        if operand is None or found is None:
            return False
        if found.operator == "Softmax":
            return _axis(at, found) == -1
        if found.operator == "Where" and len(found.operands) == 3:
            operand = _other_than_zero(at, found)
        elif found.operator in _PASSED and (found.operator != "Dropout" or len(found.operands) == 1):
            operand = found.operands[0]
        else:
            return False
    return False


def _axis(at: At, softmax: Origin) -> int | None:
    """The axis, -1 for the last one; before version 13 all axes from there on are one."""
    rank = at.shape_of(softmax.operands[0]).rank
    axis = softmax.attributes.get("axis", -1 if softmax.version >= 13 else 1)
    return -1 if axis == -1 or (rank is not None and axis == rank - 1) else None


def _other_than_zero(at: At, where: Origin) -> Operand | None:
    """The branch of a Where whose other one is 0."""
    for kept, other in ((1, 2), (2, 1)):
        if at.bounds(where.operands[other]) == (0, 0):
            return where.operands[kept]
    return None


def without_nan(at: At) -> int | None:
    """The branch of a Where that is taken only where it is no NaN: its condition is IsNaN of it, or its negation."""
    found, branch = at.origin(at.operand(0)), 2
    if found is not None and found.operator == "Not":
        found, branch = at.origin(found.operands[0]), 1
    if found is None or found.operator != "IsNaN" or found.operands[0] != at.operand(branch):
        return None
    return branch


def own_root(at: At, divisor: Operand | None, dividend: Operand | None) -> float | None:
    """The number of squares of the dividend averaged under the root that divides it, with a constant above 0."""
    root = at.origin(divisor)
    return _under_root(at, root.operands[0], dividend) if root is not None and root.operator == "Sqrt" else None


def own_inverse_root(at: At, factor: Operand | None, other: Operand | None) -> float | None:
    """The same where the inverse of the root is a factor."""
    found = at.origin(factor)
    if found is None:
        return None
    if found.operator == "Reciprocal":
        return own_root(at, found.operands[0], other)
    if found.operator == "Div" and at.bounds(found.operands[0]) == (1, 1):
        return own_root(at, found.operands[1], other)
    if found.operator == "Pow" and at.bounds(found.operands[1]) == (-0.5, -0.5):
        return _under_root(at, found.operands[0], other)
    return None


LEAST: Final = 1e-12
"""The least constant under a root: much more than squares that are too small for the format."""


def _under_root(at: At, operand: Operand, dividend: Operand | None) -> float | None:
    added = at.origin(operand)
    if added is None or added.operator != "Add" or dividend is None or len(added.operands) != 2:
        return None
    for squares, constant in (added.operands, added.operands[::-1]):
        average = at.origin(squares)
        if average is None or average.operator != "ReduceMean" or not LEAST <= at.bounds(constant)[0] < 1e30:
            continue
        if _is_square(at, average.operands[0], dividend):
            return upper(at.shape_of(average.operands[0]), _axes(at, average))
    return None


def _is_square(at: At, operand: Operand, of: Operand) -> bool:
    found = at.origin(operand)
    if found is None or len(found.operands) != 2 or found.operands[0] != of:
        return False
    if found.operator == "Pow":
        return at.bounds(found.operands[1]) == (2, 2)
    return found.operator == "Mul" and found.operands[1] == of


def _axes(at: At, average: Origin) -> Sequence[int] | None:
    """The axes of a ReduceMean, None for all."""
    axes = average.attributes.get("axes")
    if isinstance(axes, list) and axes:
        return axes
    if len(average.operands) > 1:
        low, high = at.bounds(average.operands[1])
        return [int(low)] if low == high else None
    return None
