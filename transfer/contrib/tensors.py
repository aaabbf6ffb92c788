"""Other operators of com.microsoft on tensors: ranges, windows, lookups, crops, transforms, dropout; hyper-connections.

Source: onnxruntime's operator documentation, its CPU kernels, and its shape inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, divisible, eq, ge
from absint.lattices.shape import SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.terms.normal import Real, ceildiv
from absint.lattices.value import Tensor, Value
from absint.transfer.application import restate
from absint.transfer.conditions import of_attribute, require_like, require_scalar
from absint.transfer.generators import arange
from absint.transfer.op import Op, as_size, of_dims
from absint.transfer.pooling import grid_sample
from absint.transfer.rule import MICROSOFT, device, kernel, shaped
from absint.transfer.shape_ops import unsqueeze

grid_sample_ms = kernel("GridSample", "X grid -> Y")(grid_sample.function)

LOOKUPS = shaped(
    """
    # The row of a table for each index: the shape of the indices, and the size of a row.
    TorchEmbedding: weight[?, D] indices[...] padding_idx scale_grad_by_freq -> Y[..., D]
    ! every index must be in the table
    # A boolean scalar: no element of any input is infinite or NaN.
    IsAllFinite: input* -> output:bool[]
    """,
    domain=MICROSOFT,
)


@kernel("ExpandDims", "data axis -> Y", elements=True)
def expand_dims(op: Op) -> Value:
    """Unsqueeze at one axis."""
    require_scalar(op, "axis")
    return restate(op, unsqueeze, op.inputs)[0]


@kernel("Range", "start limit delta -> Y", elements=True)
def arange_by_one(op: Op) -> Sequence[Value]:
    """numpy.arange: max(ceil((limit - start) / delta), 0) numbers, by 1 if delta is left out."""
    dtype = op.common_dtype("start", "limit", "delta")
    one = Real.constant(1) if dtype.is_float else const(1)
    step = op.value("delta") or Tensor(dtype, SCALAR, Contents.scalar(one))
    return restate(op, arange, (op.value("start"), op.value("limit"), step))


@kernel("UnfoldTensor", "input -> output")
def unfold_tensor(op: Op) -> Tensor:
    """All windows along an axis: (..., floor((n - size) / step) + 1, ..., size)."""
    x, size, step = op.tensor("input"), op.integer("size"), op.integer("step", 1)
    if size is None or size < 0 or step < 1:
        both = f"{'none' if size is None else size} and {step}"
        op.reject(f"size must not be negative, and step must be positive, found {both}")
    op.may_fail("the window must not be empty", unless=size != 0)
    if x.dtype not in (DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64):
        runs = UNKNOWN_RELATION if x.dtype is DType.UNDEFINED else FALSE
        op.require(runs, f"onnxruntime unfolds floats, doubles and integers of 32 or 64 bits, found {x.dtype}")
    if x.shape.is_top:
        op.may_fail("the axis must exist, and a window must fit it")
        return Tensor(x.dtype)
    axis = op.axis(op.integer("dim", -1), len(x.shape), "dim")
    op.require(ge(x.shape[axis], size), "a window must fit the axis")
    count = as_size((x.shape[axis] - size) // step + 1)
    return of_dims(x.dtype, *x.shape[:axis], count, *x.shape[axis + 1 :], size)


@kernel("CropAndResize", "X[?, C, ?, ?] rois[R, 4] batch_indices[R] crop_size[2] -> Y")
def crop_and_resize(op: Op, R: Dim, C: Dim) -> Tensor:
    """A crop of images (N, C, H, W) for each of R regions, resized: (R, C, height, width) of crop_size."""
    of_attribute(op, "mode", ("bilinear", "nearest"), "bilinear")
    op.may_fail("every region must belong to an image", unless=eq(R, 0))
    size = op.integers("crop_size")
    height, width = size if size is not None and len(size) == 2 else (UNKNOWN_SIZE, UNKNOWN_SIZE)
    for dim in (height, width):
        op.require(ge(dim, 1), "crops must not be empty")
    return of_dims(op.dtype("X"), R, C, as_size(height), as_size(width))


@kernel("WordConvEmbedding", "Sequence W B C -> Y")
def word_conv_embedding(op: Op) -> Tensor:
    """A vector for each word, (N, characters), by a convolution of its characters: (N, filters)."""
    words, characters = _leading(op, "Sequence", 2)
    filters, _, window, size = _leading(op, "W", 4)
    _, length = _leading(op, "C", 2)
    op.require_dims("B", filters)
    op.require_equal(length, size, "a vector of a character must have the size of the window")
    for name, dim in (("embedding_size", filters), ("conv_window_size", window), ("char_embedding_size", length)):
        if (given := op.integer(name, -1)) != -1:
            op.require_equal(dim, given, f"attribute {name} must be that of the inputs")
    op.require(ge(characters, window), "a word must be at least as long as the window")
    op.may_fail("every character must have a vector", unless=eq(words, 0))
    return of_dims(op.common_dtype("W", "B", "C"), words, filters)


def _leading(op: Op, name: str, rank: int) -> tuple[Dim, ...]:
    """The first dims of an input. onnxruntime accepts further axes, but may read beyond the input."""
    shape = op.tensor(name).shape
    if shape.rank is None or shape.rank <= rank:
        return op.sizes(name, rank)
    op.may_fail(f"{name} must have rank {rank}")
    return shape.dims[:rank]


# Numbers of two parts


@device("ComplexMul ComplexMulConj", "A B -> C")
def complex_mul(op: Op) -> Tensor:
    """The product of complex numbers, which the last axis holds as two reals, with broadcasting."""
    shapes = [op.ranked(name, 1) for name in ("A", "B")]
    for name, shape in zip("AB", shapes, strict=True):
        op.require_equal(UNKNOWN_SIZE if shape.is_top else shape[-1], 2, f"the last axis of {name} must have size 2")
    return Tensor(op.common_dtype("A", "B"), op.broadcast(*shapes))


@device("Rfft Irfft", "X -> Y")
def fft(op: Op) -> Tensor:
    """The spectrum of real signals, (..., n) to (..., n//2 + 1, 2), or back to an unknown length."""
    x, forward = op.tensor("X"), op.name == "Rfft"
    if op.integer("onesided", 1) != 1 or x.shape.is_top:
        op.may_fail("the transform must be one-sided, of a signal")
        return Tensor(x.dtype)
    op.reject("X must hold a signal", unless=len(x.shape) >= (1 if forward else 2), found=x.shape)
    if forward:
        return of_dims(x.dtype, *x.shape[:-1], x.shape[-1] // 2 + 1, 2)
    op.require_equal(x.shape[-1], 2, "the last axis must have size 2")
    return of_dims(x.dtype, *x.shape[:-2], UNKNOWN_SIZE)


# Normalisation and dropout


@device("GroupNorm", "X gamma beta -> Y")
def group_norm(op: Op) -> Tensor:
    """Normalisation of groups of channels of images (N, H, W, C), or (N, C, H, W): their shape."""
    x = op.sizes("X", 4)
    channels = x[3] if op.integer("channels_last", 1) else x[1]
    for name in ("gamma", "beta"):
        op.require_dims(name, channels)
    op.may_fail("the channels must divide into groups")
    return of_dims(op.dtype("X"), *x)


def dropout_with_bits(op: Op) -> Sequence[Tensor]:
    """data (+ bias) with elements dropped (+ residual), and a bit for each element that was kept, 32 in a number."""
    if "bias" in op.rule.places:
        require_like(op, "residual", "data")
        op.may_fail("bias must fit the data")
    data = op.tensor("data")
    return Tensor(data.dtype, data.shape), of_dims(DType.UINT32, as_size(ceildiv(data.shape.size, 32)))


bitmask_dropout = device("BitmaskDropout", "data ratio training_mode -> output mask")(dropout_with_bits)
_BIASED = "data bias residual ratio training_mode -> output mask"
bitmask_bias_dropout = device("BitmaskBiasDropout", _BIASED)(dropout_with_bits)


@device("Snpe", "inputs* -> outputs*")
def snpe(op: Op) -> Sequence[Tensor]:
    """The outputs of a compiled model in an attribute: tensors of the type of the inputs."""
    op.may_fail("the compiled model must fit the inputs")
    dtype = op.same_dtype(*(tensor.dtype for tensor in op.variadic()))
    return [Tensor(dtype, TOP_SHAPE)] * op.outputs


# Streams that run side by side through a model (hyper-connections), with their norms and gates. C streams of H features
# are two axes, or one of size C * H where the attribute num_branches gives C.


class Streams(NamedTuple):
    """The axes of streams."""

    lead: tuple[Dim, ...]
    branches: Dim
    width: Dim


def _streams(op: Op, name: str) -> Streams | None:
    """The axes of an input; None if its rank is unknown."""
    shape, count = op.tensor(name).shape, op.integer("num_branches", 0)
    op.reject("num_branches must not be negative", unless=count >= 0, found=count)
    if shape.is_top:
        op.may_fail(f"{name} must hold streams, and the other inputs must fit them")
        return None
    op.reject(f"{name} must have the axes of streams", unless=len(shape) >= (1 if count else 2), found=shape)
    if count:
        op.require(ge(shape[-1], 1), f"{name} must have features")
        op.require(divisible(shape[-1], count), f"{name} must hold {count} streams")
        return Streams(shape[:-1], const(count), shape[-1] // count)
    for axis, what in ((-2, "streams"), (-1, "features")):
        op.require(ge(shape[axis], 1), f"{name} must have {what}")
    return Streams(shape[:-2], shape[-2], shape[-1])


def _require_gate(op: Op, name: str, streams: Streams, *, flat: bool = False) -> None:
    """A gate for each stream, (..., C) or (..., C, 1), or feature, (..., C, H) and with `flat` (..., C * H)."""
    gate, (lead, branches, width) = op.tensor(name).shape, streams
    if gate.is_top:
        op.may_fail(f"{name} must fit the streams")
        return
    if len(gate) not in (len(lead) + 1, len(lead) + 2):
        op.reject(f"{name} must have a gate for each stream or feature, found shape {gate}")
    for axis, (found, wanted) in enumerate(zip(gate, lead, strict=False)):
        op.require_equal(found, wanted, f"dim {axis} of {name} must equal that of the streams")
    reason = f"{name} must have a gate for each stream or feature"
    if len(gate) == len(lead) + 1:
        per_stream = eq(gate[-1], branches)
        op.require(per_stream | eq(gate[-1], branches * width) if flat else per_stream, reason)
    else:
        op.require_equal(gate[-2], branches, reason)
        op.require(eq(gate[-1], 1) | eq(gate[-1], width), reason)


@kernel("HyperConnectionPreMix", "streams pre_mix -> output")
def hyper_connection_pre_mix(op: Op) -> Tensor:
    """The sum of the streams (..., C, H), each times its gate: (..., H)."""
    streams, dtype = _streams(op, "streams"), op.dtype("streams")
    if streams is None:
        return Tensor(dtype)
    _require_gate(op, "pre_mix", streams, flat=bool(op.integer("num_branches", 0)))
    return Tensor(dtype, shape_of((*streams.lead, streams.width)))


@kernel("HyperConnectionPostMix", "streams block_output post_mix stream_mix -> output")
def hyper_connection_post_mix(op: Op) -> Tensor:
    """The streams mixed, and a block's output (..., H) added to each by its gate: the shape of the streams."""
    op.require_given("block_output", "post_mix")
    streams = _streams(op, "streams")
    if streams is not None:
        op.require_dims("block_output", *streams.lead, streams.width)
        op.require_dims("stream_mix", *streams.lead, streams.branches, streams.branches)
        _require_gate(op, "post_mix", streams)
    return Tensor(op.dtype("streams"), op.tensor("streams").shape)


@kernel("BranchwiseRMSNorm", "X[...] scale -> Y[...]")
def branchwise_rms_norm(op: Op) -> None:
    """Root-mean-square normalisation of each stream: the shape of X."""
    streams, scale = _streams(op, "X"), op.optional("scale")
    if streams is not None and scale is not None:
        _require_scale(op, scale.shape, streams)


def _require_scale(op: Op, scale: Shape, streams: Streams) -> None:
    """A factor for each feature, of one stream or of all: (H), (C * H) or (C, H)."""
    _, branches, width = streams
    if scale.rank == 1:
        wanted = eq(scale[0], width) | eq(scale[0], branches * width)
        op.require(wanted, "scale must have a factor for each feature")
    elif scale.rank is None:
        op.may_fail("scale must fit the streams")
    else:
        op.require_dims("scale", branches, width)


@kernel("GatedRMSNorm", "X[..., H] scale gate[..., H] -> Y[..., H]")
def gated_rms_norm(op: Op, H: Dim) -> None:
    """Root-mean-square normalisation of groups of the last axis, times an activated gate: the shape of X."""
    groups = op.tensor("scale").shape.size
    of_attribute(op, "activation", ("silu", "swish", "sigmoid"), "silu")
    op.require(ge(groups, 1), "scale must not be empty")
    op.require(divisible(H, groups), "the last axis must divide into groups")


@kernel("GatedAdd", "X[..., H] Y[..., H] gate[..., F] gate_weight[F, 1]? -> output[..., H]")
def gated_add(op: Op, H: Dim, F: Dim) -> None:
    """X + Y * gate, with a gate (..., 1) for each row: the shape of X."""
    op.require(ge(H, 1), "the last axis of X must not be empty")
    if op.has("gate_weight"):
        op.may_fail("the device must have the kernel")
    else:
        op.require_equal(F, 1, "gate must have one value for each row")


@kernel("ScaledSiLU", "X[...] scale[]? -> Y[...]", starred=True)
def scaled_silu(op: Op) -> None:
    """SiLU of X times a scalar: the shape of X."""


@kernel("""EngramGate: key[B, S, C, H] query[B, S, C, H] value[B, S, H] key_norm_scale[C, H] query_norm_scale[C, H]
    conv_norm_scale[C, H]? -> output:key&query&value[B, S, C, H] gated_value_normed:key&query&value[B, S, C, H]""")
def engram_gate(op: Op) -> None:
    """A value (B, S, H) times a gate of each of C streams: (B, S, C, H), and normalised."""
    if op.wants(1) and not op.has("conv_norm_scale"):
        op.reject("gated_value_normed needs conv_norm_scale, which is missing")
