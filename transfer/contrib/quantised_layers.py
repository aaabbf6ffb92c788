"""Quantised layers of the com.microsoft domain: concatenation, softmax, embeddings, LSTM, gathered weights.

Source: onnxruntime's docs/ContribOperators.md and its behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, ge
from absint.lattices.shape import TOP_SHAPE, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor, Value
from absint.transfer import normalisation, recurrent
from absint.transfer.concat import joined
from absint.transfer.contrib import com_microsoft
from absint.transfer.contrib.products import swapped
from absint.transfer.contrib.quantised_products import may_refuse, only_number, require_one_value
from absint.transfer.contrib.views import restate, retyped
from absint.transfer.op import ANY_TENSOR, Op
from absint.transfer.rule import kernel


@kernel("QLinearConcat", "Y_scale Y_zero_point inputs* -> Y")
def q_linear_concat(op: Op) -> Tensor:
    """Concat of quantised tensors, each followed by its scale and zero point."""
    axis = op.integer("axis")
    if axis is None:
        op.reject("attribute axis must be given")
    parts = op.inputs[2:]
    if not parts or len(parts) % 3:
        op.reject(f"inputs must come in threes, found {len(parts)}")
    for part in (*op.inputs[:2], *parts[1::3], *parts[2::3]):  # not read where a tensor is already quantised as Y is
        shape = part.shape if isinstance(part, Tensor) else TOP_SHAPE
        may_refuse(op, "scales and zero points must be single values", shape)
    dtype = op.dtype("Y_zero_point")
    tensors = [part if isinstance(part, Tensor) else ANY_TENSOR for part in parts[::3]]
    if any(tensor.dtype is not dtype for tensor in tensors):
        op.may_fail("all tensors must have the same type")
    if any(isinstance(part, Tensor) and part.dtype is not dtype for part in parts[2::3]):
        op.may_fail("all zero points must have the type of the tensors")
    if any(isinstance(part, Tensor) and part.dtype is not DType.FLOAT for part in parts[1::3]):
        op.may_fail("all scales must be floats")
    return joined(op, [Tensor(dtype, tensor.shape) for tensor in tensors], axis)


@kernel("QLinearSoftmax", "X X_scale x_zero_point y_scale y_zero_point -> Y")
def q_linear_softmax(op: Op) -> Value:
    """The shape of X: Softmax of the version that the attribute opset names, with -1 as the default axis."""
    version = op.integer("opset")
    if version is None:
        op.reject("attribute opset must be given")
    if op.tensor("X").shape.rank == 0:
        op.reject("X must not be a scalar")
    for name in ("X_scale", "x_zero_point", "y_scale", "y_zero_point"):  # onnxruntime takes the first element
        if op.has(name):
            shape = op.tensor(name).shape
            op.may_fail(f"{name} must not be empty", unless=FALSE if shape.is_top else ge(shape.size, 1))
    if only_number(op, "X_scale") <= 0:
        op.may_fail("X_scale must be positive")
    return restate(op, normalisation.softmax, op.inputs[:1], version=version, attributes={"axis": -1, **op.attributes})[
        0
    ]


@kernel(
    "QEmbedLayerNormalization",
    "input_ids segment_ids word_embedding_quant position_embedding_quant segment_embedding gamma_quant "
    "beta_quant mask word_embedding_scale position_embedding_scale segment_embedding_scale gamma_scale "
    "beta_scale word_embedding_zero_point position_embedding_zero_point segment_embedding_zero_point "
    "gamma_zero_point beta_zero_point -> layernorm_out mask_index_out",
)
def q_embed_layer_normalization(op: Op) -> Sequence[Value]:
    """EmbedLayerNormalization of quantised tables, in the type of their scales."""
    dtype = op.common_dtype("word_embedding_scale", "position_embedding_scale", "gamma_scale", "beta_scale")
    require_one_value(op, *op.rule.inputs[8:])
    segments = [op.has(name) for name in op.rule.inputs if name.startswith("segment")]
    if any(segments) and not all(segments):
        op.reject("segments must have indices, a table, a scale and a zero point, or none of these")
    tables = [retyped(value, dtype) for value in op.inputs[2:7]]
    return restate(op, com_microsoft.embed_layer_normalization, [*op.inputs[:2], *tables, *op.inputs[7:8]])[:2]


@kernel(
    "DynamicQuantizeLSTM",
    "X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale R_zero_point -> Y Y_h Y_c",
)
def dynamic_quantize_lstm(op: Op) -> Sequence[Value]:
    """LSTM with quantised weights, which are the transposes of LSTM's."""
    weights = [_transposed(op, name) for name in ("W", "R")]
    directions, gates = 1 + (op.string("direction") == "bidirectional"), 4 * op.integer("hidden_size", 0)
    for name in op.rule.inputs[8:]:
        shape, reason = op.tensor(name).shape, f"{name} must have a value for each direction, or each of its columns"
        if shape.rank not in (None, 1, 2):
            op.reject(f"{reason}, found shape {shape}")
        if shape.is_top:
            op.may_fail(reason)
            continue
        for found, wanted in zip(shape, (directions, gates), strict=False):
            op.require_equal(found, wanted, reason)
        if name.endswith("zero_point") and len(shape) == 2:
            op.may_fail("the zero points of all columns must be equal, those of signed weights 0")
    return restate(op, recurrent.lstm, [op.value("X"), *weights, *op.inputs[3:8]])


def _transposed(op: Op, name: str) -> Value:
    return Tensor(op.dtype("X"), swapped(op.tensor(name).shape, True))


@kernel("GatherBlockQuantized", "data indices scales zero_points -> output")
def gather_block_quantized(op: Op) -> Tensor:
    """Gather along `gather_axis`, as floats; a byte of the last axis holds 8 / bits elements.

    An index out of range gives zeros.
    """
    data, indices, dtype = op.tensor("data").shape, op.tensor("indices").shape, op.dtype("scales")
    if not op.dtype("data").is_integer:
        op.may_fail("scales must fit the blocks")
    elif (size := op.integer("block_size", 128)) < 16 or size.bit_count() != 1:
        op.reject(f"block_size must be a power of 2 and at least 16, found {size}")
    if data.is_top:
        op.may_fail("axes must be in range, and scales and zero points must fit the blocks")
        return Tensor(dtype)
    if len(data) == 0:
        op.reject("data must not be a scalar")
    count = _elements_per_item(op)
    sizes = [*data[:-1], UNKNOWN_SIZE if count is None else data[-1] * count]
    axis = op.axis(op.integer("gather_axis", 0), len(data), "gather_axis")
    _require_blocks(op, sizes, axis, count)
    return Tensor(dtype) if indices.is_top else Tensor(dtype, shape_of((*sizes[:axis], *indices, *sizes[axis + 1 :])))


def _elements_per_item(op: Op) -> int | None:
    if op.dtype("data") is not DType.UINT8:
        if op.dtype("data").is_integer and op.integer("bits", 4) != 4:
            op.reject(f"bits must be 4, found {op.integer('bits')}")
        return None if op.dtype("data") is DType.UNDEFINED else 1
    bits = op.integer("bits", 4)
    if bits not in (2, 4, 8):
        op.reject(f"bits must be 2, 4 or 8, found {bits}")
    return 8 // bits


def _require_blocks(op: Op, sizes: Sequence[Dim], gathered: int, count: int | None) -> None:
    """One scale for each block along `quantize_axis`, and one for each index of all other axes; so for zero points, of
    which a byte holds `count`."""
    axis, block = op.axis(op.integer("quantize_axis", 1), len(sizes), "quantize_axis"), op.integer("block_size", 128)
    if op.dtype("data") is DType.UINT8 and not gathered == 0 < axis == len(sizes) - 1:
        op.reject(f"gather_axis must be the first axis and quantize_axis the last, found {gathered} and {axis}")
    if not op.dtype("data").is_integer:
        op.require_rank(op.tensor("scales").shape, len(sizes), "scales")
        return
    blocks = [ceildiv(size, block) if i == axis else size for i, size in enumerate(sizes)]
    op.require_dims("scales", *blocks)
    if op.has("zero_points"):
        op.may_fail("onnxruntime must not see sizes of zero points that it cannot compare")
    op.require_dims("zero_points", *(ceildiv(n, count or 1) if i == axis else n for i, n in enumerate(blocks)))
