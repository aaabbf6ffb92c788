"""Resize and Upsample: interpolation to other sizes.

onnxruntime multiplies sizes and scales in float32 and truncates. While the numerator of the scale times the size is
exact in float32 that is the floor of the exact product; for 0.7 and the like, it is a float that is cast to an integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import compress
from math import floor
from typing import Final

from absint.lattices.contents import Element
from absint.lattices.dtype import DType
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN, UNKNOWN_RELATION, YES, Truth, implies
from absint.lattices.logic.relation import Relation, conjunction, disjunction, eq, ge, le
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import MAX_DIM, UNKNOWN_SIZE, Dim, Expr, const, sub
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import Real, ceildiv, floordiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import is_empty, known_text, runs_as, same_dims
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.premises import converted, nearest, of_integer, to_integer
from absint.transfer.op import Op, as_size
from absint.transfer.rule import rule

EXACT: Final = 1 << 24
"""float32 holds all integers up to this exactly."""


@rule("Upsample", "X -> Y", until=6, complete=True)
def upsample_1(op: Op) -> Tensor:
    """The last two axes of four, scaled by height_scale and width_scale and rounded down."""
    x = op.tensor("X")
    op.require_rank(x.shape, 4, "X")
    scales = [op.number(name) for name in ("height_scale", "width_scale")]
    op.reject("height_scale or width_scale is missing", unless=None not in scales)
    return _scaled(op, x, [ar.float_element(float32(scale or 0.0)) for scale in (1.0, 1.0, *scales)], least=1)


@rule("Upsample", "X -> Y", since=7, until=8, complete=True)
def upsample_7(op: Op) -> Tensor:
    """Every axis scaled by the attribute scales, rounded down."""
    x = op.tensor("X")
    scales = op.attributes.get("scales")
    if not isinstance(scales, (list, tuple)):
        op.reject("scales is missing")
    return _scaled(op, x, [ar.float_element(float32(float(s))) for s in scales], least=1)


def by_scales(op: Op) -> Tensor:
    """Every axis scaled by the input scales, rounded down."""
    return _scaled(op, op.tensor("X"), _scale_elements(op), least=int(op.name == "Upsample"))


upsample = rule("Upsample", "X scales -> Y", since=9, complete=True)(by_scales)
resize_10 = rule("Resize", "X scales -> Y", until=10, complete=True)(by_scales)


@rule("Resize", "X roi scales sizes -> Y", since=11, complete=True)
def resize(op: Op) -> Tensor:
    """The given sizes, or sizes times scales rounded down; axes that `axes` does not name stay."""
    x = op.tensor("X")
    sizes, scales = _is_given(op, "sizes"), _is_given(op, "scales")
    if sizes is scales and sizes is not UNKNOWN:
        op.reject(f"one of scales and sizes must be given, found {'both' if sizes is YES else 'none'}")
    if sizes is YES or scales is NO:
        return _sized(op, x)
    if scales is YES or sizes is NO:
        if op.has("sizes"):
            op.reject("onnxruntime needs sizes to be left out, even if empty, where scales are given", by="onnxruntime")
        if not _stretches(op):
            op.may_fail("keep_aspect_ratio_policy must be stretch where scales are given", at_load=True)
        return _scaled(op, x, _scale_elements(op))
    op.may_fail("one of scales and sizes must be empty")
    return _kept(op, x)


def _is_given(op: Op, name: str) -> Truth:
    """The input is given and not empty: an empty tensor stands for a missing one."""
    if not op.has(name):
        return NO
    shape = op.tensor(name).shape
    if shape.concrete is None:
        return UNKNOWN
    return Truth.of(0 not in shape.concrete)


def _scale_elements(op: Op) -> list[Element] | None:
    """The scales, or None if their number is unknown."""
    found = op.block("scales")
    if found is not None:
        return list(found.elements)
    sizes = op.tensor("scales").shape.concrete
    return None if sizes is None or len(sizes) != 1 else [UNKNOWN_SIZE] * min(sizes[0], 64)


def _listed_axes(op: Op) -> list[int] | None:
    """The attribute `axes`, or None if it is empty or left out: both mean all axes."""
    return op.ints("axes") or None


def _axes(op: Op, rank: int, count: int | None, what: str) -> list[int]:
    """The axes to resize. Rejects the node if `count`, the number of scales or sizes, differs from theirs."""
    given = _listed_axes(op)
    axes = list(range(rank)) if given is None else [op.axis(a, rank, "axes") for a in given]
    op.reject("axes must not repeat an axis", unless=len(set(axes)) == len(axes), found=given)
    op.reject(f"{what} must have {len(axes)} values", unless=count is None or count == len(axes), found=count)
    return axes


def _kept(op: Op, x: Tensor) -> Tensor:
    """The tensor with unknown sizes for the axes to resize."""
    op.may_fail("the scales or sizes must fit X")
    if x.shape.is_top:
        return Tensor(x.dtype)
    dims = list(x.shape.dims)
    for axis in _axes(op, len(dims), None, "sizes"):
        dims[axis] = UNKNOWN_SIZE
    return Tensor(x.dtype, shape_of(tuple(dims)))


def _scaled(op: Op, x: Tensor, scales: Sequence[Element] | None, least: int = 0) -> Tensor:
    if x.shape.is_top:
        op.may_fail("X must have an axis for each scale")
        return Tensor(x.dtype)  # onnxruntime also takes an X of fewer axes than there are scales
    if scales is None:
        return _kept(op, x)
    dims = list(x.shape.dims)
    if _listed_axes(op) is None and len(scales) > len(dims):
        reason = f"scales must have {len(dims)} values, found {len(scales)}"
        if op.semantics == "onnx":
            op.reject(reason)
        # onnxruntime returns an empty result before it compares the numbers.
        pairs = enumerate(zip(dims, scales, strict=False))
        results = [_scale(op, size, scale, axis, least) for axis, (size, scale) in pairs]
        op.require(is_empty(results), f"{reason}, unless the result is empty")
        return _kept(op, x)
    unchanged: list[Relation] = [TRUE] * len(dims)
    for axis, scale in zip(_axes(op, len(dims), len(scales), "scales"), scales, strict=True):
        dims[axis] = _scale(op, dims[axis], scale, axis, least)
        value = scale.fraction if isinstance(scale, Real) else None
        unchanged[axis] = UNKNOWN_RELATION if value is None else TRUE if value == 1 else FALSE
    supported(op, dims, unchanged)
    return Tensor(x.dtype, shape_of(tuple(dims)))


def _scale(op: Op, size: Dim, scale: Element, axis: int, least: int) -> Dim:
    """floor(size * scale)."""
    value = scale.fraction if isinstance(scale, Real) else None
    if value is None:
        op.may_fail(f"the scale of axis {axis} must be positive")
    elif value <= 0 or value < least:
        op.reject(f"the scale of axis {axis} must be {'at least 1' if least else 'positive'}, found {float(value)}")
    if op.semantics != "onnx":
        return _scale_in_float32(op, size, scale, value, axis)
    if not isinstance(scale, Real) or not isinstance(size, Expr):
        return UNKNOWN_SIZE
    return as_size(floordiv(size * scale.num, scale.den))


def _scale_in_float32(op: Op, size: Dim, scale: Element, value: Fraction | None, axis: int) -> Dim:
    """The product of a size and a scale, of this `value` if it is a constant, as float32 holds it, truncated."""
    if isinstance(scale, Float):
        return _rounded(op, size, scale)
    if not isinstance(scale, Real) or not isinstance(size, Expr):
        return UNKNOWN_SIZE
    if value is not None and size.const is not None:
        product = float32(float(value) * float32(size.const))
        if product <= MAX_DIM:
            return Dim(int(product))
        op.may_fail(f"axis {axis} must not become too large")
        return UNKNOWN_SIZE
    scaled = size * scale.num
    if not isinstance(scaled, Expr) or not scale.is_dyadic:
        return _rounded(op, size, scale)
    # The digits that the mantissa holds: those of the largest odd divisor.
    digits = scaled if value is None else size * (value.numerator // (value.numerator & -value.numerator))
    if op.assume(le(digits, EXACT), f"FLOAT holds the product of scale and size of axis {axis} exactly"):
        return floordiv(scaled, scale.den)
    result = _rounded(op, size, scale)
    if value is not None and isinstance(result, Expr):
        _near(op, result, size, scaled, scale.den, axis)
    return result


def _rounded(op: Op, size: Dim, scale: Real | Float) -> Dim:
    """The product that float32 rounds, truncated."""
    product = ar.mul(op, DType.FLOAT, of_integer(DType.FLOAT, size), scale)
    return as_size(to_integer(op, DType.FLOAT, DType.INT64, product))


def _near(op: Op, result: Expr, size: Expr, scaled: Expr, den: int, axis: int) -> None:
    """The size is the floor of the exact product or the integer above.

    No integer lies between a number and its rounding as long as float32 holds all integers up to it.
    """
    fits = le(size, EXACT) & le(scaled, EXACT * den)
    reason = f"axis {axis} is the product of size and scale, rounded by float32"
    op.define(implies(fits, ge(result, floordiv(scaled, den))), reason)
    op.define(implies(fits, le(result, ceildiv(scaled, den))), reason)


def _sized(op: Op, x: Tensor) -> Tensor:
    sizes = op.integers("sizes")
    if x.shape.is_top or sizes is None:
        return _kept(op, x)  # an X of unknown rank may have further, empty axes, which onnxruntime keeps
    dims = list(x.shape.dims)
    stretches = _stretches(op)
    if _listed_axes(op) is None and not all(stretches and op.decide(ge(size, 1)) is YES for size in dims[len(sizes) :]):
        reason = f"sizes must have {len(dims)} values, found {len(sizes)}"
        if op.semantics == "onnx" and len(sizes) != len(dims):
            op.reject(reason)
        op.note(reason)  # onnxruntime takes 0 as the size of the others
        return _kept(op, x)
    axes = _axes(op, len(dims), len(sizes), "sizes")
    old = [dims[axis] for axis in axes]
    ones = [TRUE] * len(old) if stretches else _scales_of_one(op, old, sizes)
    if stretches:
        for size in sizes:
            op.require(ge(size, 0), "sizes must not be negative")
    else:
        for axis, before, size in zip(axes, old, sizes, strict=True):
            _check_size(op, before, size, axis)
        sizes = _keeping_ratio_where_meant(op, old, sizes)
    unchanged: list[Relation] = [TRUE] * len(dims)
    for axis, before, size, one in zip(axes, old, sizes, ones, strict=True):
        _check_size(op, before, size, axis)
        unchanged[axis] = eq(before, size) & one
        dims[axis] = as_size(size)
    supported(op, dims, unchanged)
    return Tensor(x.dtype, shape_of(tuple(dims)))


def _check_size(op: Op, before: Dim, size: Dim, axis: int) -> None:
    """onnxruntime resizes an axis to 0 only if it is empty, and an empty axis only to 0."""
    both = (ge(size, 1) & ge(before, 1)) | eq(size, before)
    reason = f"axis {axis} must stay empty or stay non-empty"
    if _stretches(op):
        op.require(both, reason, by="undocumented")
        return
    if op.semantics == "onnxruntime":
        op.require(ge(before, 1) | eq(size, 0), reason)
    op.may_fail(reason, unless=both)


def _stretches(op: Op) -> bool:
    return op.string("keep_aspect_ratio_policy", "stretch") == "stretch"


def _keeping_ratio_where_meant(op: Op, old: Sequence[Dim], sizes: Sequence[Dim]) -> list[Dim]:
    meant = _meant(op, len(old))
    if not any(meant):
        return list(old)
    chosen = iter(_keeping_ratio(op, [*compress(old, meant)], [*compress(sizes, meant)]))
    return [next(chosen) if one else before for one, before in zip(meant, old, strict=True)]


def _meant(op: Op, count: int) -> list[bool]:
    """Whether each size counts: onnxruntime ignores that of an axis that `axes` counts from the end, and keeps it."""
    return [axis >= 0 or op.semantics == "onnx" for axis in _listed_axes(op) or [0] * count]


def _scales_of_one(op: Op, old: Sequence[Dim], sizes: Sequence[Dim]) -> list[Relation]:
    """Where the scale of each axis is 1: that of all that are meant is the least or the greatest of those asked for."""
    meant = _meant(op, len(old))
    bound = ge if op.string("keep_aspect_ratio_policy") == "not_larger" else le
    pairs = list(compress(zip(old, sizes, strict=True), meant))
    reached = disjunction(*(eq(size, before) for before, size in pairs))
    one = conjunction(reached, *(bound(size, before) for before, size in pairs))
    return [one if each else TRUE for each in meant]


def _keeping_ratio(op: Op, old: Sequence[Dim], sizes: Sequence[Dim]) -> list[Dim]:
    """The sizes at one scale for all axes: the smallest (not_larger) or largest (not_smaller) of those asked for."""
    smallest = op.string("keep_aspect_ratio_policy", "stretch") == "not_larger"
    pairs = list(zip(old, sizes, strict=True))
    if any(op.decide(ge(size, 1)) is not YES for size in sizes):
        op.may_fail("onnxruntime cannot keep the aspect ratio of empty axes")
        return [UNKNOWN_SIZE] * len(pairs)
    if op.semantics == "onnx":
        return _exact_ratio(pairs, smallest)
    reason = "FLOAT division and multiplication return the size itself"
    exact = [op.assume(le(size, EXACT >> 2), reason) for size in sizes]
    if len(set(pairs)) == 1 and all(exact) and not any(d.is_unknown for d in pairs[0]):
        return list(sizes)
    if all(exact) and all(isinstance(d, Expr) and d.const and d.const <= MAX_DIM for pair in pairs for d in pair):
        scales = [float32(int(size) / int(before)) for before, size in pairs]
        scale = min(scales) if smallest else max(scales)
        return [Dim(int(Fraction(float32(scale * int(before))) + Fraction(1, 2))) for before, _ in pairs]
    pick = ar.minimum if smallest else ar.maximum
    terms = [[of_integer(DType.FLOAT, d) for d in pair] for pair in pairs]
    common = reduce(partial(pick, op, DType.FLOAT), (ar.div(op, DType.FLOAT, size, before) for before, size in terms))
    result: list[Dim] = []
    for axis, (before, size) in enumerate(zip((term[0] for term in terms), sizes, strict=True)):
        kept = _nearest(op, ar.mul(op, DType.FLOAT, before, common))
        if not isinstance(kept, Expr):
            kept = op.fresh(f"size{axis}")
        bound = sub(size, kept) if smallest else sub(kept, size)
        if exact[axis]:
            op.define(ge(bound, 0), "the aspect ratio is kept")
        result.append(kept)
    return result


def _exact_ratio(pairs: Sequence[tuple[Dim, Dim]], smallest: bool) -> list[Dim]:
    """The sizes at one scale by the documents of ONNX, which round no quotient; halves go up."""
    if len(set(pairs)) == 1 and not any(d.is_unknown for d in pairs[0]):
        return [pairs[0][1]] * len(pairs)
    if not all(isinstance(d, Expr) and d.const for pair in pairs for d in pair):
        return [UNKNOWN_SIZE] * len(pairs)
    scales = [Fraction(int(size), int(before)) for before, size in pairs]
    scale = min(scales) if smallest else max(scales)
    return [Dim(floor(scale * int(before) + Fraction(1, 2))) for before, _ in pairs]


def _nearest(op: Op, value: Element) -> Dim:
    """std::round of a positive float32: ties go away from 0. A float64 holds the sum with 1/2."""
    wide = converted(DType.FLOAT, DType.DOUBLE, value)
    raised = ar.floor(op, DType.DOUBLE, ar.add(op, DType.DOUBLE, wide, Real.constant(0.5)))
    return as_size(to_integer(op, DType.DOUBLE, DType.INT64, raised))


float32: Final = partial(nearest, DType.FLOAT)
"""The nearest float32."""


# Modes that onnxruntime supports, and the axes that each may scale


_MODES: Final[Mapping[str, Sequence[str]]] = {
    "coordinate_transformation_mode": (
        "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize", "half_pixel_symmetric",
        "tf_half_pixel_for_nn",
    ),
    "nearest_mode": ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
}  # fmt: skip

_LINEAR_RANKS: Final = frozenset({2, 3, 4, 5})
_CUBIC_RANKS: Final = frozenset({2, 4})


def supported(op: Op, dims: Sequence[Dim], unchanged: Sequence[Relation]) -> None:
    """State where onnxruntime refuses the mode, for results of these sizes.

    `unchanged` holds where each axis keeps its size.
    """
    mode = op.string("mode", "nearest")
    is_resize = op.name == "Resize"
    if not dims and (is_resize or op.version >= 9):
        op.reject("X must have an axis, found a scalar", by="undocumented")
    if mode not in ("nearest", "linear", "cubic")[: 3 if is_resize and op.version >= 11 else 2]:
        op.may_fail(f"mode {mode!r} is not known")
        return
    for name, known in _MODES.items():
        known_text(op, name, known)
    antialias = op.integer("antialias", 0) != 0
    if antialias and mode == "nearest":
        op.may_fail("onnxruntime does not antialias in nearest mode", by="onnxruntime")
    if op.integer("exclude_outside", 0) and mode != "cubic" and not (antialias and mode == "linear"):
        op.may_fail("onnxruntime takes exclude_outside only in cubic mode, or in linear mode with antialias")
    if op.string("coordinate_transformation_mode") == "tf_crop_and_resize":
        _needs_region(op, dims)
    if mode != "nearest":
        _interpolated(op, mode, unchanged, antialias)


def _needs_region(op: Op, dims: Sequence[Dim]) -> None:
    """onnxruntime takes a region of all axes, of any rank, and any where there are no `axes` and no elements."""
    reason, axes = "roi must have two values for each axis", op.ints("axes")
    if not op.has("roi"):
        op.may_fail(reason)
        return
    shape, count = op.tensor("roi").shape, 2 * len(dims if axes is None else axes)
    nothing = () if axes else (eq(size, 0) for size in dims)
    runs = disjunction(eq(shape.size, count), eq(shape.size, 2 * len(dims)), *nothing)
    runs_as(op, runs, same_dims(shape, [const(count)]), reason)


def _interpolated(op: Op, mode: str, unchanged: Sequence[Relation], antialias: bool) -> None:
    """State the limits of linear and cubic interpolation: the inner axes, at a few ranks."""
    rank = len(unchanged)
    if rank not in (_LINEAR_RANKS if mode == "linear" else _CUBIC_RANKS):
        op.reject(f"onnxruntime has no {mode} mode of rank {rank}", by="onnxruntime")
        return
    if mode == "cubic" and op.dtype("X") is not DType.FLOAT:
        op.may_fail("onnxruntime has the cubic mode for float32 only", by="onnxruntime")
    if rank > 3:
        reason = f"onnxruntime scales only the inner axes of rank {rank} in {mode} mode"
        outer = conjunction(*unchanged[:2])
        either = outer | (unchanged[0] & unchanged[3]) if rank == 4 else outer
        op.require(either, reason, by="onnxruntime")
        if mode != "linear" or antialias or op.dtype("X") is not DType.FLOAT:
            op.may_fail(reason, unless=outer, by="onnxruntime")
