"""Ranges of what operators on whole tensors compute: parts and stacks, indices, other types, quantised numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, trunc
from typing import Final

from absint.analyses.queries import bounds_of
from absint.analyses.ranges.rules import LARGEST, ZERO, computed, fitted, interval, join, same, span_of, truth
from absint.analyses.ranges.seen import ANY, FLOATS, TRUTHS, At, Rule, any_of, upper
from absint.lattices.domains import INTERVALS as INTS, Interval, Span
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.value import Tensor


def joined(at: At) -> Span:
    return join(*(ANY if one is None else one for one in at.ranges))


def with_zero(at: At) -> Span:
    return join(at.input(0), Span(0, 0))


def padded(at: At) -> Span:
    value = at.attribute("value", 0.0) if len(at.ranges) == 1 else 0
    return join(at.input(0), at.input(2, Span(value, value)))


def constant(at: At) -> Span:
    """Few elements; what the analysis of shapes knows of others is met with this."""
    found = at.attribute("value", _NOTHING)
    least, most = bounds_of(found).numbers
    known = at.any if found is _NOTHING else Span(least, most, (least, most) == (-inf, inf))
    read = at.ends()
    return known if read is None else Span(*read)


_NOTHING: Final = Tensor(DType.UNDEFINED)


def scattered(at: At) -> Span:
    """Data with updates in their places; one place may get all of them."""
    _index(at, 1, at.attribute("axis", 0))
    data, updates = at.input(0), at.input(2)
    reduction = at.attribute("reduction", "none")
    if reduction in ("none", "min", "max"):
        return join(data, updates)
    most = min(upper(at.shape(2)), LARGEST)
    if reduction != "add" or not at.is_float or ANY in (data, updates) or updates.is_empty or data.is_empty:
        return at.any
    exact = Span(data.lo + min(0.0, updates.lo * most), data.hi + max(0.0, updates.hi * most))
    size = data.magnitude + updates.magnitude * most
    return ANY if data.nan or updates.nan else computed(at, exact, size, most)


def scattered_parts(at: At) -> Span:
    """ScatterND, whose indices speak of several axes."""
    if at.attribute("reduction", "none") not in ("none", "min", "max"):
        return at.any
    return join(at.input(0), at.input(2))


def gathered(at: At) -> Span:
    _index(at, 1, at.attribute("axis", 0))
    return at.input(0)


def _index(at: At, index: int, axis: int) -> None:
    """Indices must lie within the axis; its least size counts."""
    shape = at.shape(0)
    known = shape.rank is not None and -shape.rank <= axis < shape.rank
    least = (shape[axis].bounds.lo or 0) if known else 0
    is_fixed = known and shape[axis].bounds.lo == shape[axis].bounds.hi
    at.note("index out of range", at.input(index), Span(-least, least - 1), is_fixed=is_fixed)


def position(axis: int) -> Rule:
    """An index of the axis, which is this one if the node does not say it."""
    return lambda at: Span(0, max(0, at.size(0, at.attribute("axis", axis)) - 1))


def places(at: At) -> Span:
    """Indices of any axis."""
    shape = at.shape(0)
    sizes = [inf] if shape.rank is None else [at.size(0, axis) for axis in range(shape.rank)]
    return Span(0, max([1, *sizes]) - 1)


def shape_of(at: At) -> Span:
    shape = at.shape(0)
    if not shape.rank:
        return Span(0, any_of(DType.INT64).hi)
    found = join(*(span_of(Interval(shape[axis].bounds.lo, shape[axis].bounds.hi)) for axis in range(shape.rank)))
    return Span(max(found.lo, 0), found.hi)


def counted(at: At) -> Span:
    """The numbers of a Range of integers, between its start and its limit."""
    if at.dtype not in INTEGER_RANGES:
        return ANY
    start, limit = at.input(0), at.input(1)
    return start.join(limit)


# Types


def cast(at: At) -> Span:
    x = at.input(0)
    source = at.type(0)
    if source in (DType.UNDEFINED, DType.STRING):
        return at.any
    if at.dtype is DType.BOOL:
        return Span(1, 1) if (x.lo > 0 or x.hi < 0) and not x.nan else Span(0, 0) if x == Span(0, 0) else TRUTHS
    if at.is_float:
        return at.form.rounded(x) if source in FLOATS or source in INTEGER_RANGES or source is DType.BOOL else ANY
    if at.dtype not in INTEGER_RANGES or (
        source not in FLOATS and source not in INTEGER_RANGES and source != DType.BOOL
    ):
        return at.any
    if not x.is_finite:
        at.note("overflow", x, at.any)
        return at.any
    return fitted(at, Interval(trunc(x.lo), trunc(x.hi)))


def quantized(at: At) -> Span:
    """A quotient that is rounded, shifted and cut to the type."""
    x, scale, zero = at.input(0), at.input(1), at.input(2, Span(0, 0))
    limits = at.any
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
    x, scale, zero = at.input(0), at.input(1), at.input(2, Span(0, 0))
    if not at.is_float or at.type(0) not in INTEGER_RANGES:
        return at.any
    form = at.form
    return form.mul(form.rounded(span_of(INTS.sub(interval(x), interval(zero)))), scale)


def selected(at: At) -> Span:
    """NonMaxSuppression: numbers of a batch, a class and a box."""
    boxes, scores = at.shape(0), at.shape(1)
    sizes = [
        inf if s.rank is None else upper(s, [axis]) for s in (boxes, scores) for axis in range(min(s.rank or 0, 3))
    ]
    return Span(0, max([1, *sizes]) - 1) if boxes.rank and scores.rank else at.any


def step(at: At) -> Span:
    """The scale of DynamicQuantizeLinear: the range of the input and 0, by 255 steps; of zeros, a runtime says 1."""
    x = join(at.input(0), ZERO)
    form = at.form
    if x.nan or x.is_empty:
        return ANY
    found = form.div(form.sub(Span(x.hi, x.hi), Span(x.lo, x.lo)), Span(255.0, 255.0))
    return Span(0.0, max(1.0, found.hi), found.nan)


_SAME: Final = (
    "Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand", "Tile", "Slice", "Split",
    "DepthToSpace", "SpaceToDepth", "ReverseSequence", "GatherND", "Compress", "SequenceAt", "SplitToSequence",
    "ConcatFromSequence", "SequenceErase", "Unique",
)  # fmt: skip

PARTS: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(_SAME, same), "Concat": joined, "SequenceConstruct": joined, "Trilu": with_zero, "Pad": padded,
    "Constant": constant, "ConstantOfShape": lambda at: constant(at) if at.has("value") else ZERO, "Gather": gathered,
    "GatherElements": gathered, "ScatterElements": scattered, "ScatterND": scattered_parts, "ArgMax": position(0),
    "ArgMin": position(0), "EyeLike": truth, "Hardmax": truth, "NonZero": places, "NonMaxSuppression": selected,
    "OneHot": lambda at: at.input(2), "Shape": shape_of, "Size": lambda at: Span(0, upper(at.shape(0))),
    "Range": counted, "Cast": cast, "QuantizeLinear": quantized, "DequantizeLinear": dequantized,
}  # fmt: skip
