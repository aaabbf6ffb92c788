"""Pools: the maximum, mean or norm of each window."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import UNKNOWN_RELATION, conjunction, eq, ge
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const, product
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import is_empty, same_dims
from absint.transfer.op import Op, as_size
from absint.transfer.rule import rule
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
    if any(size <= 0 for size in kernel):
        op.reject(f"kernel_shape must be positive, found {kernel}")
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
        if window.same or window.dilation != 1:
            op.may_fail("MaxUnpool has explicit pads and no dilations")
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
