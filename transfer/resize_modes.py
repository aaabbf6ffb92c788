"""Interpolation modes of Resize and Upsample that onnxruntime supports, and the axes that each may scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import Relation, conjunction, disjunction, eq
from absint.lattices.terms.expr import Dim, const
from absint.transfer.conditions import known_text, runs_as, same_dims
from absint.transfer.op import Op

_MODES: Final[Mapping[str, frozenset[str]]] = {
    "coordinate_transformation_mode": frozenset(
        {
            "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize",
            "half_pixel_symmetric", "tf_half_pixel_for_nn",
        }
    ),
    "nearest_mode": frozenset({"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}),
    "keep_aspect_ratio_policy": frozenset({"stretch", "not_larger", "not_smaller"}),
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
