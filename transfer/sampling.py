"""Sampling of feature maps: regions of interest and grids."""

from __future__ import annotations

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import eq, ge, ne
from absint.lattices.logic.truth import YES
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.value import Tensor
from absint.transfer.caveats import known_text, positive
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX
from absint.transfer.window import as_size


@rule("RoiAlign", inputs="X rois batch_indices")
def roi_align(op: Op) -> Tensor:
    """A map (output_height, output_width) for each region and channel."""
    indices = op.tensor("batch_indices").shape
    op.require_rank(indices, 1, "batch_indices")
    sizes = [op.integer("output_height", 1), op.integer("output_width", 1)]
    regions = _regions(op, 4)
    if not indices.is_top:
        op.require_equal(regions, indices[0], "rois and batch_indices must have the same length")
        regions = indices[0] if regions.is_unknown else regions
    return _cut(op, regions, sizes)


@rule("MaxRoiPool", inputs="X rois")
def max_roi_pool(op: Op) -> Tensor:
    """The maximum of each cell of each region: pooled_shape for each region and channel."""
    sizes = op.ints("pooled_shape")
    if sizes is None or len(sizes) != 2:
        op.reject("pooled_shape must have 2 values")
    return _cut(op, _regions(op, 5), sizes)


def _regions(op: Op, width: int) -> Dim:
    rois = op.tensor("rois").shape
    if rois.is_top:
        return UNKNOWN_SIZE
    if len(rois) > 2:
        op.may_fail("rois must be a matrix; onnxruntime ignores further axes")
    else:
        op.require_rank(rois, 2, "rois")
    op.require_equal(rois[1], width, f"a region must have {width} numbers")
    return rois[0]


def _cut(op: Op, regions: Dim, sizes: list[int]) -> Tensor:
    x = op.tensor("X")
    if not x.shape.is_top and len(x.shape) > 4:
        op.may_fail("X must have rank 4; onnxruntime ignores further axes")
    else:
        op.require_rank(x.shape, 4, "X")
    if any(size < 0 for size in sizes):
        op.reject(f"output sizes must not be negative, found {sizes}")
    channels = UNKNOWN_SIZE if x.shape.is_top else x.shape[1]
    return Tensor(op.common_dtype("X", "rois"), shape_of((regions, channels, *map(Dim, sizes))))


@rule("GridSample", inputs="X grid", complete=True)
def grid_sample(op: Op) -> Tensor:
    """X (N, C, ...) sampled at grid (N, out..., r): (N, C, out...)."""
    x, grid = op.tensor("X"), op.tensor("grid").shape
    rank = x.shape.rank if x.shape.rank is not None else grid.rank
    if rank is None:
        op.may_fail("X and grid must have the same rank")
        return Tensor(x.dtype)
    _check_modes(op, rank)
    op.require_rank(x.shape, rank, "X")
    op.require_rank(grid, rank, "grid")
    if rank < 3:
        op.reject(f"X must have rank 3 or more, found shape {x.shape}")
    batch, channels = x.shape[:2] if not x.shape.is_top else (UNKNOWN_SIZE, UNKNOWN_SIZE)
    if grid.is_top or x.shape.is_top:
        op.may_fail("X and grid must fit")
    if grid.is_top:
        return Tensor(x.dtype, shape_of((batch, channels, *[UNKNOWN_SIZE] * (rank - 2))))
    op.require_equal(grid[0], batch, "X and grid must have the same batch size")
    op.require_equal(grid[-1], rank - 2, "the last axis of grid must have one coordinate for each spatial axis")
    return Tensor(x.dtype, shape_of((grid[0] if batch.is_unknown else batch, channels, *grid[1:-1])))


def _check_modes(op: Op, rank: int) -> None:
    names = ("linear", "cubic") if op.version >= 20 and not op.rule.domain else ("bilinear", "bicubic")
    known_text(op, "mode", (*names, "nearest"))
    known_text(op, "padding_mode", ("zeros", "border", "reflection"))
    if rank not in ((4, 5) if op.version >= 20 else (4,)) or (rank == 5 and op.string("mode") == "cubic"):
        op.runtime_may_fail(f"onnxruntime does not sample X of rank {rank} in this mode")
    x = op.tensor("X").shape
    positive(op, "onnxruntime does not sample empty images", (UNKNOWN_SIZE,) if x.is_top else x[2:])


@rule("AffineGrid", inputs="theta size", outputs="grid", complete=True)
def affine_grid(op: Op) -> Tensor:
    """The sampling grid of an image (N, C, spatial...) under theta (N, r, r + 1): (N, spatial..., r)."""
    theta = op.tensor("theta")
    op.require_rank(theta.shape, 3, "theta")
    batch = UNKNOWN_SIZE if theta.shape.is_top else theta.shape[0]
    size = op.integers("size")
    # onnxruntime has no kernel for other types and runs the function that defines the operator, which may broadcast.
    as_function = op.semantics != ONNX and theta.dtype not in (DType.FLOAT, DType.DOUBLE)
    if size is None:
        op.may_fail("size must be positive and fit theta")
        return Tensor(theta.dtype, Shape(None) if as_function else _unknown_grid(theta.shape, batch))
    if len(size) not in (4, 5):
        op.reject(f"size must have 4 or 5 values, found {len(size)}")
    needs = [(eq(size[0], batch), "size must have the batch of theta")]
    if not theta.shape.is_top:
        needs.append((eq(theta.shape[1], len(size) - 2), "theta must have one row for each spatial axis"))
        needs.append((eq(theta.shape[2], len(size) - 1), "theta must have one column more than spatial axes"))
    needs += [(ge(extent, 1), "spatial sizes must be positive") for extent in size[2:]]
    if as_function:
        if len(size) == 4:
            op.runtime_requires(ne(size[0], 1), "onnxruntime needs a batch other than 1 in this type")
        for relation, reason in needs:
            op.may_fail(reason, unless=relation)
        if theta.shape.is_top or any(op.decide(relation) is not YES for relation, _ in needs):
            return Tensor(theta.dtype, shape_of((UNKNOWN_SIZE,) * len(size)))
    for relation, reason in needs:
        op.require(relation, reason)
    first = batch if isinstance(batch, Expr) else as_size(size[0])
    return Tensor(theta.dtype, shape_of((first, *(as_size(d) for d in size[2:]), Dim(len(size) - 2))))


def _unknown_grid(theta: Shape, batch: Dim) -> Shape:
    """The shape of the grid if only theta can show that it is 2-D or 3-D."""
    rows = None if theta.is_top else theta[1]
    if not isinstance(rows, Expr) or rows.const not in (2, 3):
        return Shape(None)
    return shape_of((batch, *[UNKNOWN_SIZE] * rows.const, rows))


__all__ = ["affine_grid", "grid_sample", "max_roi_pool", "roi_align"]
