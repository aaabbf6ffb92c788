"""Pad and CenterCropPad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Contents, Element, join_elements
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, conjunction, disjunction, eq, ge, le, one_of
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import maximum
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, is_empty, runs_as, vector
from absint.transfer.elements.arithmetic import zero
from absint.transfer.elements.logic import is_natural, least
from absint.transfer.op import Op
from absint.transfer.rule import rule

Pads = tuple[Dim, Dim]
"""The elements added before and after one axis; negative numbers remove elements."""


@rule("Pad", "data -> Y", until=10, complete=True, elements=True)
def pad_attribute(op: Op) -> Tensor:
    """numpy.pad with the pads in an attribute (`paddings` in version 1)."""
    pads = op.ints("pads") or op.ints("paddings") or []
    return _pad(op, [Dim(p) for p in pads], None)


@rule("Pad", "data pads constant_value axes -> Y", since=11, complete=True, elements=True)
def pad(op: Op) -> Tensor:
    """numpy.pad on the given axes, by default all: pads before each axis, then after each; negative pads crop."""
    x, pads = op.tensor("data"), op.integers("pads")
    axes = op.constants("axes") if op.has("axes") else None
    _require_row(op, op.tensor("pads").shape)
    vector(op, "axes")
    if pads is None and x.shape.rank is not None and not op.has("axes"):
        op.require_equal(op.tensor("pads").shape.size, 2 * len(x.shape), "pads must have two values for each axis")
        pads = [UNKNOWN_SIZE] * (2 * len(x.shape))
    if pads is None or (op.has("axes") and axes is None):
        op.may_fail("the pads or their axes, which are unknown, must fit the rank")
        shape = TOP_SHAPE if x.shape.is_top else shape_of((UNKNOWN_SIZE,) * len(x.shape))
        return Tensor(x.dtype, shape, _padded_fill(op, x, None))
    return _pad(op, pads, axes)


def _require_row(op: Op, pads: Shape) -> None:
    """onnxruntime takes a row of a matrix for a vector."""
    if not pads.is_top:
        is_row = eq(pads[0], 1) if len(pads) == 2 else FALSE
        runs_as(op, TRUE if len(pads) == 1 else is_row, eq(len(pads), 1), "pads must be a vector")


def _pad(op: Op, pads: Sequence[Dim], axes: Sequence[int] | None) -> Tensor:
    x = op.tensor("data")
    if len(pads) % 2:
        op.reject(f"pads must have two values for each axis, found {len(pads)}")
    if x.shape.is_top:
        op.may_fail("pads must have two values for each axis, and the rank is unknown")
        rank = len(pads) // 2
        shape = TOP_SHAPE if axes is not None else shape_of((UNKNOWN_SIZE,) * rank)
        return Tensor(x.dtype, shape, _padded_fill(op, x, pads))
    rank = len(x.shape)
    op.reject("onnxruntime does not pad scalars", unless=rank != 0, by="onnxruntime")
    if "constant_value" in op.rule.inputs and op.has("constant_value"):  # of any rank, in every mode
        constant = op.tensor("constant_value").shape
        one = UNKNOWN_RELATION if constant.is_top else conjunction(*(eq(dim, 1) for dim in constant))
        op.require(one, "constant_value must be one element", by="undocumented")
    at = list(range(rank)) if axes is None else [op.axis(axis, rank, "axes") for axis in axes]
    op.reject(f"pads must have {2 * len(at)} values", unless=len(pads) == 2 * len(at), found=len(pads))
    if len(set(at)) < len(at):
        op.may_fail("axes must not repeat an axis")
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * rank), _padded_fill(op, x, None))
    added = {axis: (pads[i], pads[i + len(at)]) for i, axis in enumerate(at)}
    mode = op.string("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        op.may_fail(f"mode must be constant, edge, reflect or wrap, found {mode}")
    dims = tuple(_padded(op, i, d, added[i], mode) if i in added else d for i, d in enumerate(x.shape))
    if mode == "wrap":
        op.require(filled(x.shape), "onnxruntime does not wrap empty tensors", by="undocumented")
    _check_extents(op, x.shape, dims, added, mode)
    result = shape_of(dims)
    fill = _padded_fill(op, x, pads)
    return Tensor(x.dtype, result, fill or (_padded_contents(op, x, added) if result.concrete is not None else None))


def _padded(op: Op, axis: int, size: Dim, added: Pads, mode: str) -> Dim:
    before, after = added
    if not (isinstance(before, Expr) and isinstance(after, Expr)):
        op.may_fail(f"the pads of axis {axis}, which are unknown, must fit its size")
        return UNKNOWN_SIZE
    result = size + before + after
    op.require(ge(result, 0), f"axis {axis} must not be cropped below 0")
    if mode != "constant" and not (before.const == 0 and after.const == 0):
        grows_from_nothing = ge(size, 1) | le(before + after, 0)
        op.require(grows_from_nothing, f"axis {axis} must not be empty where mode {mode} extends it")
    return result


def _check_extents(op: Op, shape: Shape, dims: Sequence[Dim], added: Mapping[int, Pads], mode: str) -> None:
    """onnxruntime (not ONNX) needs elements after cropping, enough to reflect, unless it makes nothing of nothing."""
    nothing = FALSE
    if op.semantics == "onnxruntime":
        nothing = is_empty(shape) & is_empty(dims)
    for axis, pads in added.items():
        known = all(isinstance(pad, Expr) for pad in pads)
        if mode == "constant" or not known or all(eq(pad, 0) is TRUE for pad in pads):
            continue
        left = shape[axis] + least(op.facts, pads[0], 0) + least(op.facts, pads[1], 0)
        if left is not shape[axis]:
            kept = disjunction(ge(left, 1), conjunction(*(ge(pad, 0) for pad in pads)), nothing)
            op.require(kept, f"mode {mode} needs elements on axis {axis} after cropping", by="undocumented")
        if mode == "reflect":
            unchanged = conjunction(*(eq(pad, 0) for pad in pads))
            fits = disjunction(conjunction(*(ge(left - 1, pad) for pad in pads)), unchanged, nothing)
            op.require(fits, f"onnxruntime reflects axis {axis} by less than its size", by="onnxruntime")


def _padded_fill(op: Op, x: Tensor, pads: Sequence[Dim] | None) -> Contents | None:
    """The join of the constant and the element that fills the input. `pads` is None if unknown."""
    if x.contents is None or not x.contents.is_fill:
        return None
    if pads is not None and all(pad.bounds.leq(_CROPPED) for pad in pads):
        return x.contents
    return Contents.fill(join_elements(x.contents.elements[0], _filling(op, x)))


def _padded_contents(op: Op, x: Tensor, added: dict[int, Pads]) -> Contents | None:
    """Known elements with known pads of a known constant."""
    filling, constant = _filling(op, x), all(pad.is_concrete for pads in added.values() for pad in pads)
    if x.contents is None or not constant or filling is OPAQUE:
        return None
    block = op.block("data")
    for axis, (before, after) in added.items():
        if block is None:
            return None
        block = _pad_axis(block, axis, int(before), int(after), filling)
    return None if block is None else Contents.from_block(block)


def _filling(op: Op, x: Tensor) -> Element:
    """The constant; OPAQUE where it is unknown, or in another mode."""
    if op.string("mode", "constant") != "constant":
        return OPAQUE
    if "constant_value" not in op.rule.places:
        return OPAQUE if op.number("value", 0.0) else zero(x.dtype)
    return op.only("constant_value") if op.has("constant_value") else zero(x.dtype)


def _pad_axis(block: Block[Element], axis: int, before: int, after: int, filling: Element) -> Block[Element] | None:
    size = block.shape[axis]
    if not 0 <= size + before + after <= _LARGEST:
        return None

    def padded(lane: tuple[Element, ...]) -> list[Element]:
        result = [filling] * (size + before + after)
        for i in range(max(0, -before), min(size, size + after)):
            result[i + before] = lane[i]
        return result

    return block.along(axis, size + before + after, padded)


_LARGEST: Final = 1024
_CROPPED: Final = Interval(None, 0)


def _targets(op: Op) -> Dim:
    """The number of target sizes. onnxruntime takes a scalar, or a single size, for all axes."""
    shape = op.tensor("shape").shape
    if not shape.is_top and len(shape) != 1:
        runs_as(op, FALSE if len(shape) else TRUE, FALSE, f"shape must be a vector, found rank {len(shape)}")
    return UNKNOWN_SIZE if shape.is_top else shape[0] if len(shape) else Dim(1)


@rule("CenterCropPad", "input_data shape -> output_data", complete=True)
def center_crop_pad(op: Op) -> Tensor:
    """The given axes, by default all, cropped or padded around the centre to the target."""
    x, target, axes = op.tensor("input_data"), op.integers("shape"), op.ints("axes")
    if x.shape.is_top:
        op.may_fail("the target must have one size for each axis, and the rank is unknown")
        known = axes is None and target is not None and len(target) != 1  # onnxruntime takes a single size for all axes
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * len(target)) if known and target else TOP_SHAPE)
    rank = len(x.shape)
    op.reject("onnxruntime does not pad scalars", unless=rank != 0, by="onnxruntime")
    at = list(range(rank)) if axes is None else [op.axis(axis, rank, "axes") for axis in axes]
    if len(set(at)) < len(at):
        op.reject(f"axes must not repeat an axis, found {axes}", by="undocumented")
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * rank))
    count = _targets(op)
    runs_as(op, one_of(count, (1, len(at))), eq(count, len(at)), "the target must have one size for each axis")
    if target is not None and len(target) == 1:
        target *= len(at)
    if target is None or len(target) != len(at):
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * rank))
    dims = list(x.shape)
    for axis, size in zip(at, target, strict=True):
        if not isinstance(size, Expr) or not is_natural(op, size):
            op.may_fail("a target size must not be negative")
            dims[axis] = maximum(size, 0)  # onnxruntime takes a negative one for 0
        else:
            dims[axis] = size
    return Tensor(x.dtype, shape_of(tuple(dims)))
