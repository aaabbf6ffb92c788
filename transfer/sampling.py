"""Sampling of feature maps: regions of interest and grids."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import YES, Relation, eq, ge, ne
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, known_text, require_from_zero
from absint.transfer.op import Op, as_size
from absint.transfer.rule import overlay, rule


@rule("RoiAlign", "X rois batch_indices -> Y", complete=True)
def roi_align(op: Op) -> Tensor:
    """A map (output_height, output_width) for each region and channel."""
    sizes = [op.integer("output_height", 1), op.integer("output_width", 1)]
    op.reject("output sizes must not be negative", unless=min(sizes) >= 0, found=sizes)
    mode = op.string("mode", "avg") or ""
    op.reject("mode must be avg or max", unless=mode.lower() in ("avg", "max"), found=repr(mode))
    known_text(op, "coordinate_transformation_mode", ("half_pixel", "output_half_pixel"))
    if op.integer("sampling_ratio", 0) < 0:
        op.reject("onnxruntime needs a sampling_ratio that is not negative", by="onnxruntime")
    op.require_rank(op.tensor("rois").shape, 2, "rois")
    regions, (count,) = _regions(op, 4), op.sizes("batch_indices", 1)
    op.require_equal(regions, count, "rois and batch_indices must have the same length")
    regions = count if regions.is_unknown else regions
    batch, _, *image = _images(op, regions)
    require_from_zero(op, "batch_indices", batch - 1, "every region must name an image", by="either")
    nothing = eq(regions, 0)
    op.may_fail("the regions must be finite, and not too large", unless=nothing)
    inside = nothing | filled(image)
    op.may_fail("onnxruntime may read beyond an empty image", unless=inside, by="onnxruntime")
    return _cut(op, regions, sizes)


@rule("MaxRoiPool", "X rois -> Y", complete=True)
def max_roi_pool(op: Op) -> Tensor:
    """The maximum of each cell of each region: pooled_shape for each region and channel."""
    sizes = op.ints("pooled_shape")
    if sizes is None or len(sizes) != 2 or min(sizes) <= 0:
        op.reject(f"pooled_shape must have 2 positive values, found {sizes}")
    if not (op.number("spatial_scale") or 1.0) > 0:
        op.reject("onnxruntime needs a spatial_scale that is positive", by="onnxruntime")
    if (op.tensor("rois").shape.rank or 0) > 2:
        op.reject("rois must be a matrix; onnxruntime ignores further axes", by="onnx")
    regions = _regions(op, 5)
    _images(op, regions)
    op.may_fail("every region must name an image", unless=eq(regions, 0))
    return _cut(op, regions, sizes)


def _regions(op: Op, width: int) -> Dim:
    """The number of regions, each a row of so many numbers."""
    rois = op.tensor("rois").shape
    op.reject("rois must have rank 2", unless=rois.is_top or len(rois) >= 2, found=rois)
    regions, numbers, *_ = (UNKNOWN_SIZE,) * 2 if rois.is_top else rois.dims
    op.require_equal(numbers, width, f"a region must have {width} numbers")
    return regions


def _images(op: Op, regions: Dim) -> Sequence[Dim]:
    """The sizes (N, C, H, W) of X: an image for the regions to name."""
    x = op.tensor("X").shape
    if x.is_top:
        op.may_fail("X must have rank 4")
        return (UNKNOWN_SIZE,) * 4
    if len(x) > 4:
        op.reject("X must have rank 4; onnxruntime ignores further axes", by="onnx")
    elif len(x) < 4:
        op.reject(f"X must have rank 4, found shape {x}")
    op.require(eq(regions, 0) | ge(x[0], 1), "every region must name an image")
    return x.dims[:4]


def _cut(op: Op, regions: Dim, sizes: Sequence[int]) -> Tensor:
    x = op.tensor("X").shape
    channels = UNKNOWN_SIZE if x.is_top else x[1]
    return Tensor(op.common_dtype("X", "rois"), shape_of((regions, channels, *map(Dim, sizes))))


@rule("GridSample", "X grid -> Y", complete=True)
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
    op.reject("X must have rank 3 or more", unless=rank >= 3, found=x.shape)
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
    reason = f"onnxruntime does not sample X of rank {rank} in this mode"
    if rank not in (4, 5) or (rank == 5 and op.string("mode") == names[1]):
        op.reject(reason, by="onnxruntime")
    elif rank == 5 and op.version < 20:
        op.may_fail(reason, by="onnxruntime")
    x = op.tensor("X").shape
    for size in (UNKNOWN_SIZE,) if x.is_top else x[2:]:
        op.require(ge(size, 1), "onnxruntime does not sample empty images", by="onnxruntime")


@overlay
def grid_of_a_function(op: Op) -> Tensor | None:
    """Types other than FLOAT and DOUBLE have no kernel: the function that defines it runs, which broadcasts."""
    theta, size = op.tensor("theta"), op.integers("size")
    if theta.dtype in (DType.FLOAT, DType.DOUBLE):
        return None
    needs = _grid_needs(op, theta.shape, size)
    if size is None:
        return Tensor(theta.dtype)
    if len(size) == 4 and op.version < 21:
        op.require(ne(size[0], 1), "onnxruntime needs a batch other than 1 in this type", by="onnxruntime")
    for relation, reason in needs:
        op.may_fail(reason, unless=relation)
    if theta.shape.is_top or any(op.decide(relation) is not YES for relation, _ in needs):
        return Tensor(theta.dtype, shape_of((UNKNOWN_SIZE,) * len(size)))
    return None


@rule("AffineGrid", "theta size -> grid", complete=True)
@grid_of_a_function
def affine_grid(op: Op) -> Tensor:
    """The sampling grid of an image (N, C, spatial...) under theta (N, r, r + 1): (N, spatial..., r)."""
    theta, size = op.tensor("theta"), op.integers("size")
    for relation, reason in _grid_needs(op, theta.shape, size):
        op.require(relation, reason)
    batch = UNKNOWN_SIZE if theta.shape.is_top else theta.shape[0]
    if size is None:
        return Tensor(theta.dtype, _unknown_grid(theta.shape, batch))
    first = batch if isinstance(batch, Expr) else as_size(size[0])
    return Tensor(theta.dtype, shape_of((first, *(as_size(d) for d in size[2:]), Dim(len(size) - 2))))


def _grid_needs(op: Op, theta: Shape, size: Sequence[Dim] | None) -> list[tuple[Relation, str]]:
    """What makes size and theta fit, with reasons."""
    op.require_rank(theta, 3, "theta")
    if size is None:
        op.may_fail("size must be positive and fit theta")
        return []
    op.reject("size must have 4 or 5 values", unless=len(size) in (4, 5), found=len(size))
    needs = [(eq(size[0], UNKNOWN_SIZE if theta.is_top else theta[0]), "size must have the batch of theta")]
    if not theta.is_top:
        needs.append((eq(theta[1], len(size) - 2), "theta must have one row for each spatial axis"))
        needs.append((eq(theta[2], len(size) - 1), "theta must have one column more than spatial axes"))
    return [*needs, *((ge(extent, 1), "spatial sizes must be positive") for extent in size[2:])]


def _unknown_grid(theta: Shape, batch: Dim) -> Shape:
    """The shape of the grid if only theta can show that it is 2-D or 3-D."""
    rows = None if theta.is_top else theta[1]
    if not isinstance(rows, Expr) or rows.const not in (2, 3):
        return Shape(None)
    return shape_of((batch, *[UNKNOWN_SIZE] * rows.const, rows))
