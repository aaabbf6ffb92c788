"""Pools: the maximum, mean or norm of each window; samples of images, at regions of interest and grids."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import UNKNOWN_RELATION, YES, Relation, conjunction, eq, ge, ne
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const, product
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, is_empty, known_text, require_from_zero, same_dims
from absint.transfer.op import Op, as_size
from absint.transfer.rule import overlay, rule
from absint.transfer.window import Window, pooled, windows


@rule("MaxPool", "X -> Y Indices", complete=True)
def max_pool(op: Op) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its flat index."""
    op.flag("storage_order")
    shape = pool_shape(op)
    return Tensor(op.dtype("X"), shape), Tensor(DType.INT64, shape)


@rule("AveragePool LpPool", "X -> Y", complete=True)
def average_pool(op: Op) -> Tensor:
    """The mean or p-norm of each window."""
    return Tensor(op.dtype("X"), pool_shape(op))


@rule("GlobalAveragePool GlobalMaxPool GlobalLpPool", "X -> Y", complete=True)
def global_pool(op: Op) -> Tensor:
    """One value for each channel: every spatial axis becomes 1."""
    x = op.tensor("X")
    if x.shape.is_top:
        op.may_fail("X must have rank 3 or more")
        return Tensor(x.dtype)
    _check_rank(op, len(x.shape))
    batch, channels, *spatial = x.shape.dims
    for axis, size in enumerate(spatial):
        relation, reason = eq(batch, 0) | ge(size, 1), f"spatial axis {axis} must not be empty"
        if op.semantics == "onnx":
            op.may_fail(reason, unless=relation)
        else:
            op.require(relation, reason)
    _may_refuse_channels(op, batch, channels)
    return Tensor(x.dtype, shape_of((batch, channels, *(Dim(1) for _ in spatial))))


def pool_shape(op: Op) -> Shape:
    """The output shape of a pool with a window."""
    kernel = op.ints("kernel_shape")
    if not kernel:
        op.reject("kernel_shape is missing")
    op.reject("kernel_shape must be positive", unless=min(kernel) > 0, found=kernel)
    x, rank = op.tensor("X").shape, len(kernel) + 2
    op.reject(f"X must have rank {rank} for kernel_shape {kernel}", unless=x.is_top or len(x) == rank, found=x)
    _check_rank(op, rank)
    batch, channels, *spatial = (UNKNOWN_SIZE,) * rank if x.is_top else x.dims
    found = windows(op, [const(size) for size in kernel])
    _may_refuse_pads(op, found)
    _may_refuse_to_crop(op, batch, spatial, found)
    _may_refuse_channels(op, batch, channels)
    ceil_mode = op.flag("ceil_mode")
    sizes = []
    may_be_empty = not op.never_empty(batch)
    for axis, (size, window) in enumerate(zip(spatial, found, strict=True)):
        if op.semantics != "onnx":
            op.require(eq(batch, 0) | ge(size, 1), f"spatial axis {axis} must not be empty")
        sizes.append(pooled(op, size, window, axis, ceil_mode=ceil_mode, may_be_empty=may_be_empty))
    return shape_of((batch, channels, *sizes))


def _check_rank(op: Op, rank: int) -> None:
    if rank < 2:
        op.reject(f"X must have rank 3 or more, found rank {rank}")
    op.reject("X must have a spatial axis", unless=rank != 2, by="undocumented")
    if rank > 5:
        reason = "onnxruntime pools at most three spatial axes"
        op.may_fail(reason, by="onnxruntime") if op.rule.domain else op.reject(reason, by="onnxruntime")


def _may_refuse_channels(op: Op, batch: Dim, channels: Dim) -> None:
    some = ge(channels, 1) | eq(batch, 0)
    op.require(some, "onnxruntime does not pool a tensor without channels", by="onnxruntime")


def _may_refuse_pads(op: Op, found: Sequence[Window]) -> None:
    left_out = op.ints("pads") or [] if op.string("auto_pad", "NOTSET") != "NOTSET" else []
    for value, window in zip(left_out, [*found, *found], strict=False):
        reason = "onnxruntime pads a pool by less than the kernel, even where auto_pad ignores the pads"
        if value >= int(window.kernel):
            op.reject(reason, by="onnxruntime")
        elif value < 0:  # it infers the shape of a pool, and refuses negative pads where it knows the rank
            op.may_fail(reason, by="onnxruntime", at_load=True)
    for window in found:
        kernel = int(window.kernel)
        if min(window.before, window.after) < 0:
            op.reject(f"the pads of a pool must not be negative, found {op.ints('pads')}", "ill-formed")
        if max(window.before, window.after) >= kernel:
            op.reject("onnxruntime pads a pool by less than the kernel", by="onnxruntime")


def _may_refuse_to_crop(op: Op, batch: Dim, spatial: Sequence[Dim], found: Sequence[Window]) -> None:
    """SAME padding with a stride above the kernel may have to crop, which onnxruntime's plain kernels refuse.

    Its kernels for channels in blocks crop. They replace pools over two axes behind a convolution.
    """
    reason = "onnxruntime does not crop a pool with SAME padding"
    plain = not op.rule.domain and op.dtype("X") is DType.FLOAT and all(window.dilation == 1 for window in found)
    crops = op.name == "LpPool" or (op.name == "AveragePool" and op.version >= 19)
    for size, window in zip(spatial, found, strict=True):
        if window.same and int(window.span) < window.stride and not (plain and crops):
            covered = (ceildiv(size, window.stride) - 1) * window.stride + window.span
            fits = eq(batch, 0) | ge(covered, size)
            if plain and len(spatial) != 2:
                op.require(fits, reason, by="onnxruntime")
            else:
                op.may_fail(reason, unless=fits, by="onnxruntime")


@rule("MaxUnpool", "X I output_shape -> output", complete=True)
def max_unpool(op: Op) -> Tensor:
    """The inverse of MaxPool: stride*(N-1) + kernel - pads, or output_shape if given."""
    x, places = op.tensor("X"), op.tensor("I").shape
    kernel = op.ints("kernel_shape")
    if not kernel:
        op.reject("kernel_shape is missing")
    rank = len(kernel) + 2
    op.require_rank(x.shape, rank, "X")
    op.require_rank(places, rank, "I")
    like_x = places if x.shape.is_top and op.semantics == "onnxruntime" else x.shape
    dims = (UNKNOWN_SIZE,) * rank if like_x.is_top else like_x.dims
    alike = UNKNOWN_RELATION if x.shape.is_top else same_dims(places, dims)
    op.require(alike, "I must have the shape of X", by="undocumented")
    op.may_fail("I must hold places of the output", unless=is_empty(dims))
    found = windows(op, [Dim(size) for size in kernel])
    for window in found:
        if int(window.kernel) < 1 or max(window.before, window.after) >= int(window.kernel):
            op.reject("onnxruntime pads by less than a positive kernel", by="onnxruntime")
        op.may_fail("MaxUnpool has explicit pads and no dilations", unless=not window.same and window.dilation == 1)
    op.reject("onnxruntime unpools at most three spatial axes", unless=rank <= 5, by="onnxruntime")
    sizes = [w.stride * (d - 1) + w.kernel - (w.before + w.after) for d, w in zip(dims[2:], found, strict=True)]
    for size in sizes:
        op.require(ge(size, 1), "no axis of the output may be empty", by="undocumented")
    inferred = (*dims[:2], *sizes)
    if not op.has("output_shape"):
        return Tensor(x.dtype, shape_of(tuple(map(as_size, inferred))))
    op.require_rank(op.tensor("output_shape").shape, 1, "output_shape")
    op.require_equal(op.tensor("output_shape").shape.size, rank, f"output_shape must have {rank} values")
    given = op.integers("output_shape") or [UNKNOWN_SIZE] * rank
    op.require(conjunction(*map(eq, given[:2], dims)), "output_shape must keep batch and channels", by="undocumented")
    op.require(ge(product(given), product(inferred)), "output_shape must have room for the output", by="undocumented")
    return Tensor(x.dtype, shape_of(tuple(map(as_size, given))))


# Regions of interest and grids


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
    op.may_fail("X and grid must fit", unless=not (grid.is_top or x.shape.is_top))
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
