"""The domain com.microsoft.nchwc: images with channels in blocks, as onnxruntime's optimiser makes them for a CPU.

An image has the shape (N, C, H, W), with C padded to a multiple of the block size. The block size is that of the
processor's vectors: 8 or 16. A model optimised on one processor may not run on another.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.logic.relation import FALSE, conjunction, divisible, ge, le
from absint.lattices.logic.truth import YES
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Unknown, const
from absint.lattices.terms.interval import Congruence, Interval
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor, Value
from absint.transfer.conditions import positive
from absint.transfer.contrib.channels_last import onnx_rule
from absint.transfer.contrib.fused_products import check_activation, require_sum
from absint.transfer.contrib.views import NEWEST, restate
from absint.transfer.op import Op
from absint.transfer.rule import rule

NCHWC = "com.microsoft.nchwc"

LEAST_BLOCK, LARGEST_BLOCK = 8, 16


def _image(op: Op) -> Sequence[Dim]:
    """The sizes of X, which has rank 4."""
    shape = op.tensor("X").shape
    op.require_rank(shape, 4, "X")
    return (UNKNOWN_SIZE,) * 4 if shape.is_top else shape.dims


def _require_blocks(op: Op, channels: Dim) -> None:
    op.require(divisible(channels, LEAST_BLOCK), "channels of X must be a multiple of the block size")
    op.may_fail("the block size must be the processor's", unless=divisible(channels, LARGEST_BLOCK))


@rule("ReorderInput", "X -> Y", domain=NCHWC, complete=True)
def reorder_input(op: Op) -> Tensor:
    """(N, C, H, W), or (N, H, W, C) with the attribute channels_last, to blocks: C is padded to whole blocks."""
    batch, *sizes = _image(op)
    channels = sizes.pop(-1 if op.integer("channels_last", 0) else 0)
    op.require(divisible(channels, 4), "channels of X must be a multiple of 4")
    return Tensor(op.dtype("X"), shape_of((batch, _padded(op, channels), *sizes)))


def _padded(op: Op, channels: Dim) -> Dim:
    least, largest = (ceildiv(channels, block) * block for block in (LEAST_BLOCK, LARGEST_BLOCK))
    if op.is_equal(least, largest) is YES:
        return least
    if least.is_concrete and largest.is_concrete:
        return Unknown(Interval(int(least), int(largest)), Congruence.of(LEAST_BLOCK, 0))
    padded = op.fresh("padded")
    bounds = conjunction(ge(padded, least), le(padded, largest), divisible(padded, LEAST_BLOCK))
    op.define(bounds, "channels fill whole blocks")
    return padded


@rule("ReorderOutput", "X -> Y", domain=NCHWC, complete=True)
def reorder_output(op: Op) -> Tensor:
    """Blocks back to (N, C, H, W), or (N, H, W, C) with the attribute channels_last, with C as the attributes say."""
    batch, padded, *sizes = _image(op)
    channels = op.integer("channels", 0)
    if channels <= 0:
        op.reject(f"channels must be positive, found {channels}")
    _require_blocks(op, padded)
    op.require(ge(padded, channels), "the blocks must hold all channels")
    op.require(le(padded, channels + LARGEST_BLOCK - 1), "blocks must not be empty")
    op.may_fail("the block size must be the processor's", unless=le(padded, channels + LEAST_BLOCK - 1))
    sizes.insert(len(sizes) if op.integer("channels_last", 0) else 0, const(channels))
    return Tensor(op.dtype("X"), shape_of((batch, *sizes)))


@rule("AveragePool GlobalAveragePool GlobalMaxPool MaxPool", "X -> Y", domain=NCHWC, complete=True)
def pool(op: Op) -> Value:
    """The rule of ONNX's operator of that name, for channels in blocks."""
    _, channels, *sizes = _image(op)
    _require_blocks(op, channels)
    result = restate(op, onnx_rule(op, NEWEST), op.inputs)[0]
    pooled = result.shape[2:] if isinstance(result, Tensor) and result.shape.rank is not None else (UNKNOWN_SIZE,)
    positive(op, "onnxruntime may crash on an empty image", (*sizes, *pooled))
    return result


@rule("Conv", "X W B Sum -> Y", domain=NCHWC, complete=True)
def conv(op: Op) -> Value:
    """Conv; X of fewer channels than a block is not blocked, and Sum of the output's shape is added."""
    channels = _image(op)[1]
    check_activation(op)
    op.require(
        le(channels, LARGEST_BLOCK - 1) | divisible(channels, LEAST_BLOCK),
        "channels of X must be fewer than a block or fill blocks",
    )
    result = restate(op, onnx_rule(op, NEWEST), op.inputs[:3])[0]
    require_sum(op, "Sum", result)
    outputs = result.shape[1] if isinstance(result, Tensor) and result.shape.rank == 4 else UNKNOWN_SIZE
    op.require(ge(channels, 1) & ge(outputs, 1), "X and W must have channels")
    op.require(divisible(outputs, LEAST_BLOCK), "the weights must fill blocks")
    either = le(channels, LEAST_BLOCK - 1) | divisible(channels, LARGEST_BLOCK)
    fits = FALSE if op.integer("group", 1) != 1 else either & divisible(outputs, LARGEST_BLOCK)
    op.may_fail("the block size must be the processor's, and groups must fill blocks", unless=fits)
    return result


_MODES = ("align_corners", "half_pixel", "asymmetric")


@rule("Upsample", "X -> Y", domain=NCHWC, complete=True)
def upsample(op: Op) -> Tensor:
    """Height and width times the integers of the attribute scales."""
    batch, channels, *sizes = _image(op)
    scales = op.ints("scales")
    _require_blocks(op, channels)
    mode, moved = op.string("mode", "nearest"), op.string("coordinate_transformation_mode", "asymmetric")
    if mode not in ("nearest", "linear") or moved not in _MODES[2 if mode == "nearest" else 0 :]:
        op.reject(f"mode must be nearest of asymmetric coordinates, or linear, found {mode} and {moved}")
    if scales is None or len(scales) != 4:
        op.reject(f"scales must have 4 values, found {len(scales or ())}")
    if scales[:2] != [1, 1] or any(scale < 1 for scale in scales):
        op.reject(f"scales must be positive, and 1 for batch and channels, found {scales}")
    scaled = [size * scale for size, scale in zip(sizes, scales[2:], strict=True)]
    return Tensor(op.dtype("X"), shape_of((batch, channels, *scaled)))
