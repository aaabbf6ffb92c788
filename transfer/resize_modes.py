"""Interpolation modes of Resize and Upsample that onnxruntime supports, and the axes that each may scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation, conjunction, disjunction
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


def supported(op: Op, rank: int, unchanged: Sequence[Relation]) -> None:
    """State where onnxruntime may refuse the mode; `unchanged` holds where each axis keeps its size."""
    if rank == 0:
        op.may_fail("X must have an axis, found a scalar")
    mode = op.string("mode", "nearest")
    is_resize = op.name == "Resize"
    if mode not in ("nearest", "linear", "cubic")[: 3 if is_resize and op.version >= 11 else 2]:
        op.may_fail(f"mode {mode!r} is not known")
        return
    for name, known in _MODES.items():
        value = op.string(name)
        if value is not None and value not in known:
            op.may_fail(f"{name} {value!r} is not known")
    antialias = op.integer("antialias", 0) != 0
    if antialias and mode == "nearest":
        op.runtime_may_fail("onnxruntime does not antialias in nearest mode")
    if op.integer("exclude_outside", 0) and mode != "cubic" and not (antialias and mode == "linear"):
        op.may_fail("onnxruntime takes exclude_outside only in cubic mode, or in linear mode with antialias")
    if op.string("coordinate_transformation_mode") == "tf_crop_and_resize":
        _needs_region(op, rank)
    if mode != "nearest":
        _interpolated(op, mode, rank, unchanged, antialias)


def _needs_region(op: Op, rank: int) -> None:
    shape = op.tensor("roi").shape if op.has("roi") else None
    count = None if shape is None or shape.concrete is None else shape.concrete
    axes = op.ints("axes")
    if count != (2 * (rank if axes is None else len(axes)),):
        op.may_fail("roi must have two values for each axis")


def _interpolated(op: Op, mode: str, rank: int, unchanged: Sequence[Relation], antialias: bool) -> None:
    """State the limits of linear and cubic interpolation: the inner axes, at a few ranks."""
    if rank not in (_LINEAR_RANKS if mode == "linear" else _CUBIC_RANKS):
        op.runtime_may_fail(f"onnxruntime has no {mode} mode of rank {rank}")
        return
    if mode == "cubic" and op.dtype("X") is not DType.FLOAT:
        op.runtime_may_fail("onnxruntime has the cubic mode for float32 only")
    if rank > 3:
        outer = _kept(unchanged[:2])
        if mode == "linear" and rank == 4 and not antialias and op.dtype("X") is DType.FLOAT:
            outer = disjunction(outer, _kept([unchanged[0], unchanged[3]]))
        op.runtime_may_fail(f"onnxruntime scales only the inner axes of rank {rank} in {mode} mode", unless=outer)


def _kept(unchanged: Sequence[Relation]) -> Relation:
    """The relation that all axes keep their size; FALSE if it is unknown."""
    return FALSE if UNKNOWN_RELATION in unchanged else conjunction(*unchanged)


__all__ = ["supported"]
