"""Ranges of what operators on whole tensors compute: parts and stacks, sums of products, indices, quantised numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf, prod, trunc
from typing import Final

from absint.analyses.elements import bounds_of
from absint.analyses.range_functions import ELEMENTWISE
from absint.analyses.range_rules import (
    ANY,
    FLOATS,
    TRUTHS,
    ZERO,
    At,
    Rule,
    any_of,
    fitted,
    input_of,
    interval,
    is_full,
    join,
    mean,
    size_of,
    span_of,
    total,
    upper,
    weighed,
)  # fmt: skip
from absint.lattices.domains import INTERVALS as INTS
from absint.lattices.domains import Interval, Span
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.value import Tensor

Side = tuple[int, tuple[int, ...]]
"""The number of an input, and axes of it."""


def same(at: At) -> Span:
    return input_of(at, 0)


def joined(at: At) -> Span:
    return join(*(ANY if one is None else one for one in at.ranges))


def with_zero(at: At) -> Span:
    return join(input_of(at, 0), Span(0, 0))


def padded(at: At) -> Span:
    value = at.attribute("value", 0.0) if len(at.ranges) == 1 else 0
    return join(input_of(at, 0), input_of(at, 2, Span(value, value)))


def constant(at: At) -> Span:
    """Few elements; what the analysis of shapes knows of others is met with this."""
    found = at.attribute("value", _NOTHING)
    least, most = bounds_of(found).numbers
    return any_of(at.dtype) if found is _NOTHING else Span(least, most, (least, most) == (-inf, inf))


def filled(at: At) -> Span:
    return constant(at) if at.has("value") else ZERO


_NOTHING: Final = Tensor(DType.UNDEFINED)


def scattered(at: At) -> Span:
    """Data with updates in their places."""
    _index(at, 1, at.attribute("axis", 0))
    if at.attribute("reduction", "none") != "none":
        return any_of(at.dtype)
    return join(input_of(at, 0), input_of(at, 2))


def gathered(at: At) -> Span:
    _index(at, 1, at.attribute("axis", 0))
    return input_of(at, 0)


def _index(at: At, index: int, axis: int) -> None:
    """Indices must lie within the axis; its least size counts."""
    shape = at.shape(0)
    known = shape.rank is not None and -shape.rank <= axis < shape.rank
    least = (shape[axis].bounds.lo or 0) if known else 0
    is_fixed = known and shape[axis].bounds.lo == shape[axis].bounds.hi
    at.note("index out of range", input_of(at, index), Span(-least, least - 1), is_fixed=is_fixed)


def position(at: At) -> Span:
    """An index of the axis."""
    return Span(0, max(0, size_of(at.shape(0), at.attribute("axis", 0)) - 1))


def places(at: At) -> Span:
    """Indices of any axis."""
    shape = at.shape(0)
    sizes = [inf] if shape.rank is None else [size_of(shape, axis) for axis in range(shape.rank)]
    return Span(0, max([1, *sizes]) - 1)


def shape_of(at: At) -> Span:
    shape = at.shape(0)
    if not shape.rank:
        return Span(0, any_of(DType.INT64).hi)
    found = join(*(span_of(Interval(shape[axis].bounds.lo, shape[axis].bounds.hi)) for axis in range(shape.rank)))
    return Span(max(found.lo, 0), found.hi)


def count_of(at: At) -> Span:
    return Span(0, upper(at.shape(0)))


def counted(at: At) -> Span:
    """The numbers of a Range of integers, between its start and its limit."""
    if at.dtype not in INTEGER_RANGES:
        return ANY
    start, limit = input_of(at, 0), input_of(at, 1)
    return start.join(limit)


# Reductions


def largest(at: At) -> Span:
    """Of no elements, the least number of the type or its greatest."""
    x = input_of(at, 0)
    return any_of(at.dtype) if x.nan or not is_full(at.shape(0)) else x


def pooled(at: At) -> Span:
    """A window within the padding has no number."""
    x = input_of(at, 0)
    is_plain = not at.attribute("ceil_mode", 0) and set(at.attribute("dilations", [1])) == {1}
    if x.nan or (is_plain and is_full(at.shape(0))):
        return any_of(at.dtype) if x.nan else x
    least = any_of(at.dtype).lo
    return join(x, Span(least, least))


def averaged(at: At) -> Span:
    if at.dtype not in FLOATS:
        return ANY
    kernel = at.attribute("kernel_shape", [0])
    nan = bool(at.attribute("ceil_mode", 0)) or not is_full(at.shape(0))
    return mean(at, join(input_of(at, 0), ZERO), prod(kernel) or inf, nan=nan)


def reduced_mean(at: At) -> Span:
    if at.dtype not in FLOATS:
        return any_of(at.dtype)
    return mean(at, input_of(at, 0), upper(at.shape(0)), nan=not is_full(at.shape(0)))


def summed(at: At) -> Span:
    x = input_of(at, 0)
    return _sum(at, x, upper(at.shape(0)))


def _sum(at: At, term: Span, most: float) -> Span:
    if at.dtype in FLOATS:
        return total(at, term, most)
    if at.dtype not in INTEGER_RANGES:
        return any_of(at.dtype)
    return fitted(at, INTS.mul(interval(term), Interval(0, None if isinf(most) else int(most))))


def squares(at: At) -> Span:
    x = input_of(at, 0)
    return Span(0.0, inf, x.nan) if at.dtype in FLOATS else any_of(at.dtype)


def softmax(at: At) -> Span:
    x = input_of(at, 0)
    return Span(0.0, 1.0, x.nan or isinf(x.lo) or isinf(x.hi))


# Sums of products


def product(at: At) -> Span:
    left, right = at.shape(0), at.shape(1)
    inner = -1 if right.rank == 1 else -2
    most = min(size_of(left, -1), size_of(right, inner))
    return _dot(at, (0, (-1,)), (1, (inner,)), most)


def _dot(at: At, left: Side, right: Side, most: float) -> Span:
    """Sums of products of elements of two inputs along some axes of theirs, of at most so many."""
    a, b = input_of(at, left[0]), input_of(at, right[0])
    if at.dtype not in FLOATS:
        return _dots(at, a, b, most)
    found = total(at, FLOATS[at.dtype].mul(a, b), most)
    for x, (index, axes) in ((a, right), (b, left)):
        sums = at.sums(index, axes)
        if sums is not None:
            found = narrower(found, weighed(at, x, sums, most))
    return found


def _dots(at: At, a: Span, b: Span, most: float) -> Span:
    """Sums of products of integers."""
    return _sum(at, span_of(INTS.mul(interval(a), interval(b))), most) if at.dtype in INTEGER_RANGES else ANY


def narrower(a: Span, b: Span) -> Span:
    """What both allow."""
    return Span(max(a.lo, b.lo), min(a.hi, b.hi), a.nan and b.nan)


def gemm(at: At) -> Span:
    alpha, beta = at.attribute("alpha", 1.0), at.attribute("beta", 1.0)
    left, right = (0 if at.attribute("transA", 0) else 1), (1 if at.attribute("transB", 0) else 0)
    if at.dtype not in FLOATS:
        return any_of(at.dtype)
    form = FLOATS[at.dtype]
    scale, weight = form.rounded(Span(alpha, alpha)), form.rounded(Span(beta, beta))
    # A kernel may scale an operand or the sum.
    most = min(size_of(at.shape(0), left), size_of(at.shape(1), right))
    found = form.mul(_dot(at, (0, (left,)), (1, (right,)), most), scale)
    if alpha != 1.0:
        found = _loose(at, found)
    return _loose(at, form.add(found, form.mul(input_of(at, 2, ZERO), weight)))


def convolved(at: At) -> Span:
    """Of the padding, products are 0."""
    weights = at.shape(1)
    if at.dtype not in FLOATS or weights.rank is None:
        return any_of(at.dtype)
    axes = tuple(range(1, weights.rank))
    x, most = join(input_of(at, 0), ZERO), upper(weights, axes)
    found = total(at, FLOATS[at.dtype].mul(x, input_of(at, 1)), most)
    sums = at.sums(1, axes)
    if sums is not None:
        found = narrower(found, weighed(at, x, sums, most))
    return _loose(at, FLOATS[at.dtype].add(found, input_of(at, 2, ZERO)))


def normalized(at: At) -> Span:
    """In one of two forms: as a runtime that combines the constants computes it, or as it is written."""
    if at.dtype not in FLOATS or at.attribute("training_mode", 0) or len(at.ranges) < 5:
        return ANY
    form, epsilon = FLOATS[at.dtype], at.attribute("epsilon", 1e-5)
    x, scale, bias, middle, variance = (input_of(at, index) for index in range(5))
    deviation = form.increasing(lambda end: end, form.sqrt(form.add(variance, form.rounded(Span(epsilon, epsilon)))))
    if deviation.nan or deviation.lo <= 0:
        return ANY
    factor = form.div(scale, deviation)
    shift = form.mul(middle, factor)
    combined = form.add(form.mul(x, factor), form.sub(bias, shift))
    written = form.add(form.mul(form.sub(x, middle), factor), bias)
    return _loose(at, join(combined, written, form.mul(x, factor), shift, form.neg(shift)))


def _loose(at: At, found: Span) -> Span:
    """With room for a sum in another order."""
    if found.is_empty or isinf(found.lo) or isinf(found.hi):
        return found
    form = FLOATS[at.dtype]
    slack = max(abs(found.lo), abs(found.hi)) * 1e-5 if at.dtype in (DType.FLOAT, DType.DOUBLE) else inf
    return form.rounded(Span(found.lo - slack, found.hi + slack, found.nan)) if slack < inf else ANY


def integer_product(at: At) -> Span:
    a, b = (_shifted(input_of(at, at_), input_of(at, at_ + 2, Span(0, 0))) for at_ in (0, 1))
    left, right = at.shape(0), at.shape(1)
    most = min(size_of(left, -1), size_of(right, -1 if right.rank == 1 else -2))
    return _dots(at, a, b, most)


def integer_convolved(at: At) -> Span:
    a, b = (_shifted(input_of(at, at_), input_of(at, at_ + 2, Span(0, 0))) for at_ in (0, 1))
    weights = at.shape(1)
    most = inf if weights.rank is None else upper(weights, range(1, weights.rank))
    return _dots(at, join(a, Span(0, 0)), b, most)


def _shifted(x: Span, zero: Span) -> Span:
    return span_of(INTS.sub(interval(x), interval(zero)))


# Types


def cast(at: At) -> Span:
    x = input_of(at, 0)
    source = at.type(0)
    if source in (DType.UNDEFINED, DType.STRING):
        return any_of(at.dtype)
    if at.dtype is DType.BOOL:
        return Span(1, 1) if (x.lo > 0 or x.hi < 0) and not x.nan else Span(0, 0) if x == Span(0, 0) else TRUTHS
    if at.dtype in FLOATS:
        return (
            FLOATS[at.dtype].rounded(x) if source in FLOATS or source in INTEGER_RANGES or source is DType.BOOL else ANY
        )
    if at.dtype not in INTEGER_RANGES or (
        source not in FLOATS and source not in INTEGER_RANGES and source != DType.BOOL
    ):
        return any_of(at.dtype)
    if x.nan or isinf(x.lo) or isinf(x.hi):
        at.note("overflow", x, any_of(at.dtype))
        return any_of(at.dtype)
    return fitted(at, Interval(trunc(x.lo), trunc(x.hi)))


def quantized(at: At) -> Span:
    """A quotient that is rounded, shifted and cut to the type."""
    x, scale, zero = input_of(at, 0), input_of(at, 1), input_of(at, 2, Span(0, 0))
    limits = any_of(at.dtype)
    if at.dtype not in INTEGER_RANGES or at.type(0) not in FLOATS:
        return limits
    form = FLOATS[at.type(0)]
    found = form.increasing(lambda end: end, form.div(x, scale))
    if found.nan or found.is_empty:
        at.note("saturation", found, limits)
        return limits
    exact = FLOATS[DType.DOUBLE].round(found)
    exact = Span(exact.lo + zero.lo, exact.hi + zero.hi)
    at.note("saturation", exact, limits)
    low, high = (int(min(max(end, limits.lo), limits.hi)) for end in (exact.lo, exact.hi))
    return Span(low, high)


def dequantized(at: At) -> Span:
    x, scale, zero = input_of(at, 0), input_of(at, 1), input_of(at, 2, Span(0, 0))
    if at.dtype not in FLOATS or at.type(0) not in INTEGER_RANGES:
        return any_of(at.dtype)
    form = FLOATS[at.dtype]
    return form.mul(form.rounded(span_of(INTS.sub(interval(x), interval(zero)))), scale)


_SAME: Final = (
    "Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand", "Tile", "Slice", "Split",
    "DepthToSpace", "SpaceToDepth", "ReverseSequence", "GatherND", "Compress",
)  # fmt: skip

RULES: Final[Mapping[str, Rule]] = {
    **ELEMENTWISE, **dict.fromkeys(_SAME, same), "Concat": joined, "Trilu": with_zero, "Pad": padded,
    "Constant": constant, "ConstantOfShape": filled, "Gather": gathered, "GatherElements": gathered,
    "ScatterElements": scattered, "ArgMax": position, "ArgMin": position, "NonZero": places, "Shape": shape_of,
    "Size": count_of, "Range": counted, "ReduceMax": largest, "ReduceMin": largest, "GlobalMaxPool": largest,
    "MaxPool": pooled, "AveragePool": averaged, "GlobalAveragePool": reduced_mean, "ReduceMean": reduced_mean,
    "ReduceSum": summed, "ReduceSumSquare": squares, "ReduceL1": squares, "ReduceL2": squares, "Softmax":
    softmax, "BatchNormalization": normalized, "MatMul": product, "Gemm": gemm, "Conv": convolved,
    "MatMulInteger": integer_product, "ConvInteger": integer_convolved, "Cast": cast, "QuantizeLinear":
    quantized, "DequantizeLinear": dequantized,
}  # fmt: skip

__all__ = ["RULES"]
