"""Pad and CenterCropPad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import Contents, Element, join_elements
from absint.lattices.logic.relation import FALSE, conjunction, disjunction, eq, ge, le
from absint.lattices.shape import TOP_SHAPE, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import maximum
from absint.lattices.value import Tensor
from absint.transfer.elements.cases import is_natural, least
from absint.transfer.elements.rearrange import zero
from absint.transfer.op import Op
from absint.transfer.rule import rule

Pads = tuple[Dim, Dim]
"""The elements added before and after one axis; negative numbers remove elements."""


@rule("Pad", inputs="data", until=10, complete=True, elements=True)
def pad_attribute(op: Op) -> Tensor:
    """numpy.pad with the pads in an attribute (`paddings` in version 1)."""
    pads = op.ints("pads") or op.ints("paddings") or []
    return _pad(op, [Dim(p) for p in pads], None)


@rule("Pad", inputs="data pads constant_value axes", since=11, complete=True, elements=True)
def pad(op: Op) -> Tensor:
    """numpy.pad on the given axes, by default all: pads before each axis, then after each; negative pads crop."""
    x, pads = op.tensor("data"), op.integers("pads")
    axes = op.constants("axes") if op.has("axes") else None
    if pads is None and op.has("pads") and x.shape.rank is not None and not op.has("axes"):
        op.may_fail("pads must have two values for each axis")
        pads = [UNKNOWN_SIZE] * (2 * len(x.shape))
    if pads is None or (op.has("axes") and axes is None):
        op.may_fail("the pads or their axes, which are unknown, must fit the rank")
        shape = TOP_SHAPE if x.shape.is_top else shape_of((UNKNOWN_SIZE,) * len(x.shape))
        return Tensor(x.dtype, shape, _padded_fill(op, x, None))
    return _pad(op, pads, axes)


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
    if rank == 0:
        op.runtime_may_fail("onnxruntime does not pad scalars")
    _may_refuse_constant(op)
    at = list(range(rank)) if axes is None else [op.axis(axis, rank, "axes") for axis in axes]
    if len(pads) != 2 * len(at):
        op.reject(f"pads must have {2 * len(at)} values, found {len(pads)}")
    if len(set(at)) < len(at):
        op.may_fail("axes must not repeat an axis")
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * rank), _padded_fill(op, x, None))
    added = {axis: (pads[i], pads[i + len(at)]) for i, axis in enumerate(at)}
    mode = op.string("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        op.may_fail(f"mode must be constant, edge, reflect or wrap, found {mode}")
    dims = tuple(_padded(op, i, d, added[i], mode) if i in added else d for i, d in enumerate(x.shape))
    if mode == "wrap":
        op.may_fail("onnxruntime does not wrap empty tensors", unless=conjunction(*(ge(d, 1) for d in x.shape)))
    result = shape_of(dims)
    fill = _padded_fill(op, x, pads)
    return Tensor(x.dtype, result, fill or (_padded_contents(op, x, added) if result.concrete is not None else None))


def _may_refuse_constant(op: Op) -> None:
    """onnxruntime needs one element in every mode, of any rank; only mode `constant` reads it."""
    if "constant_value" not in op.rule.inputs or not op.has("constant_value"):
        return
    shape, reason = op.tensor("constant_value").shape, "constant_value must be one element"
    if shape.is_top:
        op.may_fail(reason)
        return
    op.may_fail(reason, unless=conjunction(*(FALSE if d.is_unknown else eq(d, 1) for d in shape)))


def _padded(op: Op, axis: int, size: Dim, added: Pads, mode: str) -> Dim:
    before, after = added
    if not (isinstance(before, Expr) and isinstance(after, Expr)):
        op.may_fail(f"the pads of axis {axis}, which are unknown, must fit its size")
        return UNKNOWN_SIZE
    result = size + before + after
    op.require(ge(result, 0), f"axis {axis} must not be cropped below 0")
    if mode != "constant" and not (before.const == 0 and after.const == 0):
        grows_from_nothing = disjunction(ge(size, 1), le(before + after, 0))
        op.require(grows_from_nothing, f"axis {axis} must not be empty where mode {mode} extends it")
        _check_extent(op, axis, size, added, mode)
    return result


def _check_extent(op: Op, axis: int, size: Dim, added: Pads, mode: str) -> None:
    """onnxruntime (not ONNX) needs elements after cropping, and enough of them to reflect."""
    left = size + least(op.facts, added[0], 0) + least(op.facts, added[1], 0)
    if left is not size:
        kept = disjunction(ge(left, 1), conjunction(*(ge(pad, 0) for pad in added)))
        op.may_fail(f"mode {mode} needs elements on axis {axis} after cropping", unless=kept)
    if mode == "reflect":
        unchanged = conjunction(*(eq(pad, 0) for pad in added))
        fits = disjunction(conjunction(*(ge(left - 1, pad) for pad in added)), unchanged)
        op.runtime_may_fail(f"onnxruntime reflects axis {axis} by less than its size", unless=fits)


def _padded_fill(op: Op, x: Tensor, pads: Sequence[Dim] | None) -> Contents | None:
    """The join of the constant and the element that fills the input. `pads` is None if unknown."""
    if x.contents is None or not x.contents.is_fill:
        return None
    if pads is not None and all(pad.bounds.leq(_CROPPED) for pad in pads):
        return x.contents
    filling = _filling(op, x) if op.string("mode", "constant") == "constant" else None
    return None if filling is None else Contents.fill(join_elements(x.contents.elements[0], filling))


def _padded_contents(op: Op, x: Tensor, added: dict[int, Pads]) -> Contents | None:
    """Known elements with known pads of a known constant."""
    filling = _filling(op, x)
    constant = all(pad.is_concrete for pads in added.values() for pad in pads)
    if x.contents is None or not constant or filling is None or op.string("mode", "constant") != "constant":
        return None
    block = op.block("data")
    for axis, (before, after) in added.items():
        if block is None:
            return None
        block = _pad_axis(block, axis, int(before), int(after), filling)
    return None if block is None else Contents.from_block(block)


def _filling(op: Op, x: Tensor) -> Element | None:
    if "constant_value" not in op.rule.inputs:
        return zero(x.dtype) if not op.number("value", 0.0) else None
    if not op.has("constant_value"):
        return zero(x.dtype)
    found = op.block("constant_value")
    return None if found is None or len(found.elements) != 1 else found.elements[0]


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


@rule("CenterCropPad", inputs="input_data shape", outputs="output_data", complete=True)
def center_crop_pad(op: Op) -> Tensor:
    """The given axes, by default all, cropped or padded around the centre to the target."""
    x, target, axes = op.tensor("input_data"), op.integers("shape"), op.ints("axes")
    if x.shape.is_top:
        op.may_fail("the target must have one size for each axis, and the rank is unknown")
        known = axes is None and target is not None and len(target) != 1  # onnxruntime takes a single size for all axes
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * len(target)) if known and target else TOP_SHAPE)
    rank = len(x.shape)
    if rank == 0:
        op.runtime_may_fail("onnxruntime does not pad scalars")
    at = list(range(rank)) if axes is None else [op.axis(axis, rank, "axes") for axis in axes]
    if target is None or len(target) != len(at) or len(set(at)) < len(at):
        op.may_fail("the target must have one size for each axis")
        return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * rank))
    dims = list(x.shape)
    for axis, size in zip(at, target, strict=True):
        if not isinstance(size, Expr) or not is_natural(op, size):
            op.may_fail("a target size must not be negative")
            dims[axis] = maximum(size, 0)  # onnxruntime takes a negative one for 0
        else:
            dims[axis] = size
    return Tensor(x.dtype, shape_of(tuple(dims)))
