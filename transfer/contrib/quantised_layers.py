"""Quantised layers of the com.microsoft domain: concatenation, softmax, embeddings, LSTM, gathered weights.

Source: onnxruntime's docs/ContribOperators.md and its behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import ge
from absint.lattices.logic.truth import YES
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor, Value
from absint.transfer import normalisation, recurrent
from absint.transfer.concat import joined
from absint.transfer.contrib import com_microsoft
from absint.transfer.contrib.fused_products import swapped
from absint.transfer.contrib.parameters import is_one_value, may_refuse_parameters, only_number
from absint.transfer.contrib.views import restate, retyped
from absint.transfer.op import ANY_TENSOR, Op
from absint.transfer.rule import MICROSOFT, rule


@rule("QLinearConcat", inputs="Y_scale Y_zero_point inputs*", outputs="Y", domain=MICROSOFT, complete=True)
def q_linear_concat(op: Op) -> Tensor:
    """Concat of quantised tensors, each followed by its scale and zero point."""
    axis = op.integer("axis")
    if axis is None:
        op.reject("attribute axis must be given")
    parts = op.inputs[2:]
    if not parts or len(parts) % 3:
        op.reject(f"inputs must come in threes, found {len(parts)}")
    may_refuse_parameters(op, "Y_scale", "Y_zero_point")
    if not all(map(is_one_value, (*parts[1::3], *parts[2::3]))):
        op.may_fail("scales and zero points must be single values")
    dtype = op.dtype("Y_zero_point")
    tensors = [part if isinstance(part, Tensor) else ANY_TENSOR for part in parts[::3]]
    if any(tensor.dtype is not dtype for tensor in tensors):
        op.may_fail("all tensors must have the same type")
    if any(isinstance(part, Tensor) and part.dtype is not dtype for part in parts[2::3]):
        op.may_fail("all zero points must have the type of the tensors")
    if any(isinstance(part, Tensor) and part.dtype is not DType.FLOAT for part in parts[1::3]):
        op.may_fail("all scales must be floats")
    return joined(op, [Tensor(dtype, tensor.shape) for tensor in tensors], axis)


@rule("QLinearSoftmax", inputs="X X_scale x_zero_point y_scale y_zero_point", domain=MICROSOFT, complete=True)
def q_linear_softmax(op: Op) -> Value:
    """The shape of X: Softmax of the version that the attribute opset names, with -1 as the default axis."""
    version = op.integer("opset")
    if version is None:
        op.reject("attribute opset must be given")
    x = op.tensor("X").shape
    may_refuse_parameters(op, "X_scale", "x_zero_point", "y_scale", "y_zero_point")
    if x.is_top or op.decide(ge(x.size, 1)) is not YES:
        op.may_fail("onnxruntime needs an X that is not empty")
    if only_number(op, "X_scale") <= 0:
        op.may_fail("X_scale must be positive")
    return restate(op, normalisation.softmax, op.inputs[:1], version=version, attributes={"axis": -1, **op.attributes})[
        0
    ]


@rule(
    "QEmbedLayerNormalization",
    inputs="input_ids segment_ids word_embedding_quant position_embedding_quant segment_embedding gamma_quant "
    "beta_quant mask word_embedding_scale position_embedding_scale segment_embedding_scale gamma_scale beta_scale "
    "word_embedding_zero_point position_embedding_zero_point segment_embedding_zero_point gamma_zero_point "
    "beta_zero_point",
    outputs="layernorm_out mask_index_out",
    domain=MICROSOFT,
)
def q_embed_layer_normalization(op: Op) -> Sequence[Value]:
    """EmbedLayerNormalization of quantised tables, in the type of their scales."""
    dtype = op.common_dtype("word_embedding_scale", "position_embedding_scale", "gamma_scale", "beta_scale")
    op.may_fail("scales and zero points must be single values")
    tables = [retyped(value, dtype) for value in op.inputs[2:7]]
    return restate(op, com_microsoft.embed_layer_normalization, [*op.inputs[:2], *tables, *op.inputs[7:8]])[:2]


@rule(
    "DynamicQuantizeLSTM",
    inputs="X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale R_zero_point",
    outputs="Y Y_h Y_c",
    domain=MICROSOFT,
)
def dynamic_quantize_lstm(op: Op) -> Sequence[Value]:
    """LSTM with quantised weights, which are the transposes of LSTM's."""
    weights = [_transposed(op, name) for name in ("W", "R")]
    op.may_fail("scales and zero points must fit the weights, and the batch must not be empty")
    return restate(op, recurrent.lstm, [op.value("X"), *weights, *op.inputs[3:8]])


def _transposed(op: Op, name: str) -> Value:
    return Tensor(op.dtype("X"), swapped(op.tensor(name).shape, True))


@rule("GatherBlockQuantized", inputs="data indices scales zero_points", outputs="output", domain=MICROSOFT)
def gather_block_quantized(op: Op) -> Tensor:
    """Gather along `gather_axis`, as floats; a byte of the last axis holds 8 / bits elements.

    An index out of range gives zeros.
    """
    data, indices, dtype = op.tensor("data").shape, op.tensor("indices").shape, op.dtype("scales")
    op.may_fail("scales and zero points must fit the blocks")
    if data.is_top:
        return Tensor(dtype)
    if len(data) == 0:
        op.reject("data must not be a scalar")
    op.require_rank(op.tensor("scales").shape, len(data), "scales")
    count = _elements_per_item(op)
    sizes = [*data[:-1], UNKNOWN_SIZE if count is None else data[-1] * count]
    _require_scales(op, sizes)
    axis = op.axis(op.integer("gather_axis", 0), len(data), "gather_axis")
    return Tensor(dtype) if indices.is_top else Tensor(dtype, shape_of((*sizes[:axis], *indices, *sizes[axis + 1 :])))


def _elements_per_item(op: Op) -> int | None:
    if op.dtype("data") is not DType.UINT8:
        return None if op.dtype("data") is DType.UNDEFINED else 1
    bits = op.integer("bits", 4)
    if bits not in (2, 4, 8):
        op.reject(f"bits must be 2, 4 or 8, found {bits}")
    return 8 // bits


def _require_scales(op: Op, sizes: Sequence[Dim]) -> None:
    """One scale for each block along `quantize_axis`; those of integers have the sizes of data on all other axes."""
    scales = op.tensor("scales").shape
    axis = op.axis(op.integer("quantize_axis", 1), len(sizes), "quantize_axis")
    block = op.integer("block_size", 128)
    if scales.is_top or block < 1 or not op.dtype("data").is_integer:
        return
    for i, (scale, size) in enumerate(zip(scales, sizes, strict=True)):
        blocks = ceildiv(size, block) if i == axis else size
        op.require_equal(scale, blocks, f"scales must have one value for each block of axis {i}")


__all__ = [
    "dynamic_quantize_lstm", "gather_block_quantized", "q_embed_layer_normalization", "q_linear_concat",
    "q_linear_softmax",
]  # fmt: skip
