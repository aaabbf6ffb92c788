"""Quantised operators of the com.microsoft domain: element-wise ones, products, concatenation, softmax, embeddings,
LSTM, gathered weights; on quantised, sparse or float8 tensors.

Small inputs are scales, zero points and biases. Source: onnxruntime's docs/ContribOperators.md and its behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, YES, eq, ge, ne
from absint.lattices.shape import SCALAR, TOP_SHAPE, shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, Dim
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import SparseTensor, Tensor, Value
from absint.transfer import elementwise, linalg, normalisation, recurrent
from absint.transfer.application import restate, retyped, viewed
from absint.transfer.concat import joined
from absint.transfer.conditions import one_value, require_like, require_one_value
from absint.transfer.contrib import com_microsoft
from absint.transfer.contrib.products import swapped
from absint.transfer.elements.arithmetic import constant
from absint.transfer.elements.conversion import type_attribute
from absint.transfer.linalg import matmul_shape
from absint.transfer.op import ANY_TENSOR, Op
from absint.transfer.reduction import by_attribute
from absint.transfer.rule import device, kernel


def may_refuse_vectors(op: Op, *names: str) -> None:
    """Kernels accept a vector of one element as a scalar; type inference does not if it sees the shape."""
    for name in filter(op.has, names):
        op.may_fail(f"{name} must be a scalar", unless=op.tensor(name).shape.rank == 0)


def require_names(op: Op, *names: str) -> None:
    """Type inference rejects an empty name for a zero point, though not a list of inputs that ends before it."""
    for name in names:
        op.reject(f"{name} must not have an empty name", unless=op.has(name) or op.rule.places[name] >= len(op.inputs))


def only_number(op: Op, name: str) -> Fraction:
    """The only element of an input; 0 if it is unknown."""
    return constant(op.only(name)) or Fraction(0)


@kernel("QLinearAdd QLinearMul", "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point -> C")
def q_linear_binary(op: Op) -> Tensor:
    """An element-wise operation on quantised tensors with broadcasting."""
    scales, zero_points = ("A_scale", "B_scale", "C_scale"), ("A_zero_point", "B_zero_point", "C_zero_point")
    require_one_value(op, *scales, *zero_points)
    require_names(op, *zero_points)
    may_refuse_vectors(op, *scales, *zero_points)
    return Tensor(op.common_dtype("A", "B"), op.broadcast(op.tensor("A").shape, op.tensor("B").shape))


@kernel("QLinearWhere", "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point -> Z")
def q_linear_where(op: Op) -> Tensor:
    """Where on quantised tensors."""
    for name in op.rule.inputs:  # not read where X or Y is already quantised as Z is
        if name.endswith(("_scale", "_zero_point")):
            op.may_fail(f"{name} must be one value", unless=one_value(op.tensor(name).shape))
    op.may_fail("onnxruntime may crash if some parameters are constants")
    shapes = (op.tensor(name).shape for name in ("condition", "X", "Y"))
    return Tensor(op.common_dtype("X", "Y"), op.broadcast(*shapes))


@kernel("QLinearSigmoid QLinearLeakyRelu", "X X_scale X_zero_point Y_scale Y_zero_point -> Y")
def q_linear_unary(op: Op) -> Tensor:
    """An element-wise operation on a quantised tensor."""
    require_one_value(op, "X_scale", "Y_scale", "X_zero_point", "Y_zero_point")
    op.may_fail("onnxruntime crashes if the inputs end before Y_zero_point", unless=len(op.inputs) >= 5)
    return Tensor(op.dtype("X"), op.tensor("X").shape)


quantize_linear = kernel("QuantizeLinear", "x y_scale y_zero_point -> y")(viewed(elementwise.quantize_linear))
dequantize_linear = kernel("DequantizeLinear", "x x_scale x_zero_point -> y")(viewed(elementwise.dequantize_linear))


@device("MulInteger", "A A_zero_point B B_zero_point -> C")
def mul_integer(op: Op) -> Tensor:
    """A * B of 8-bit integers with broadcasting, as int32."""
    op.may_fail("zero points must be single values")
    return Tensor(DType.INT32, op.broadcast(op.tensor("A").shape, op.tensor("B").shape))


@device("ReduceSumInteger", "data -> reduced")
def reduce_sum_integer(op: Op) -> Tensor:
    """The sum of 8-bit integers over the axes of an attribute, in 32 bits."""
    result = by_attribute(None)(op)
    return Tensor(DType.UNDEFINED, result.shape if isinstance(result, Tensor) else TOP_SHAPE)


@kernel("QGemm", "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point -> Y")
def q_gemm(op: Op) -> Value:
    """Gemm of quantised matrices: in the type of y_zero_point, else floats."""
    dtype = op.dtype("y_zero_point") if op.has("y_zero_point") else DType.FLOAT
    (result,) = restate(op, linalg.gemm, [retyped(op.value(name), dtype) for name in ("A", "B", "C")])
    require_one_value(op, "a_scale", "a_zero_point", "y_scale", "y_zero_point")
    if isinstance(result, Tensor) and not result.shape.is_top:
        require_one_value(op, "b_scale", "b_zero_point", each=result.shape[1])
    require_like(op, "b_zero_point", "b_scale")
    if op.has("y_zero_point") and not op.has("y_scale"):
        op.may_fail("onnxruntime may crash on a zero point without a scale")
    return result


def scaled_product(op: Op) -> Tensor:
    """A @ B, times scales and plus a bias that are one value or one for each column; A as floats if it has no scale."""
    scales = [name for name in ("a_scale", "b_scale") if name in op.rule.places]
    if len(scales) == 2:
        require_one_value(op, "a_zero_point")
    dtype, b = op.common_dtype("A" if len(scales) < 2 else "a_scale", "b_scale"), op.tensor("B").shape
    shape = matmul_shape(op, op.tensor("A").shape, b)
    if b.is_top or len(b) < 2:
        op.may_fail("scales and bias must fit the product")
        return Tensor(dtype, shape)
    empty = eq(shape.size, 0)
    for name in scales:
        _require_scale(op, name, b[-1])
    if (op.optional("b_zero_point") or Tensor(DType.INT8, SCALAR)).shape.rank in (0, 1):
        columns = b[-1] if len(b) == 2 else ONE_EXPR
        require_one_value(op, "b_zero_point", each=columns, unless=empty)
    else:
        op.may_fail("b_zero_point must have one value, or one for each column")
    if op.has("bias"):
        op.require(eq(op.tensor("bias").shape.size, b[-1]) | empty, "bias must have one value for each column")
    return Tensor(dtype, shape)


_TO_FLOAT = "A B a_scale b_scale a_zero_point b_zero_point bias -> Y"
dynamic_quantize_matmul = kernel("DynamicQuantizeMatMul", "A B b_scale b_zero_point bias -> Y")(scaled_product)
matmul_integer_to_float = kernel("MatMulIntegerToFloat", _TO_FLOAT)(scaled_product)


def _require_scale(op: Op, name: str, columns: Dim) -> None:
    """onnxruntime broadcasts the scale with the product, and may crash where that adds columns."""
    shape = op.tensor(name).shape
    if shape.rank not in (0, 1):
        op.may_fail(f"{name} must have one value, or one for each column")
        return
    require_one_value(op, name, each=columns, unless=eq(columns, 1))
    if shape.rank == 1 and op.decide(eq(shape[0], 1) | ne(columns, 1)) is not YES:
        op.may_fail(f"{name} must not have more values than the product has columns")


@kernel("MatMulInteger16", "A B -> Y")
def matmul_integer_16(op: Op) -> Tensor:
    """A @ B of 16-bit integers, summed in 32 bits."""
    dtypes = {op.dtype("A"), op.dtype("B")}
    op.may_fail("onnxruntime multiplies only signed integers on a CPU", unless=dtypes == {DType.INT16})
    shape = matmul_shape(op, op.tensor("A").shape, op.tensor("B").shape)
    # Of two unsigned matrices the documentation says UINT32, and onnxruntime infers INT32.
    return Tensor(DType.INT32 if dtypes & {DType.INT16} else DType.UNDEFINED, shape)


@device("GemmFloat8", "A B C scaleA scaleB scaleY -> Y")
def gemm_float8(op: Op) -> Value:
    """Gemm of float8 matrices, in the type that the attribute dtype names."""
    dtype = type_attribute(op, "dtype", DType.FLOAT)
    op.may_fail("C and the scales must fit the product")
    return restate(op, linalg.gemm, [retyped(op.value(name), dtype) for name in ("A", "B")])[0]


@device("QOrderedMatMul", "A scale_A B scale_B scale_Y bias C scale_C -> Y")
def q_ordered_matmul(op: Op) -> Tensor:
    """A @ B of int8 matrices, plus bias and C; the order of their elements changes no shape."""
    op.may_fail("the order must be known, and scales, bias and C must fit the product")
    return Tensor(DType.INT8, matmul_shape(op, op.tensor("A").shape, op.tensor("B").shape))


@kernel("SparseToDenseMatMul", "A B -> Y")
def sparse_to_dense_matmul(op: Op) -> Tensor:
    """A sparse matrix times a dense one, after the transpositions that the attributes ask for."""
    sparse = op.value("A")
    a = sparse.shape if isinstance(sparse, SparseTensor) else TOP_SHAPE
    b = op.tensor("B").shape
    for name, shape in (("A", a), ("B", b)):
        op.require_rank(shape, 2, name)
        if shape.is_top:
            op.may_fail(f"{name} must be a matrix")
    op.may_fail("the format of A must be supported")
    a, b = swapped(a, bool(op.integer("transA", 0))), swapped(b, bool(op.integer("transB", 0)))
    return Tensor(op.dtype("B"), matmul_shape(op, a, b))


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
        op.may_fail("scales and zero points must be single values", unless=one_value(shape))
    dtype = op.dtype("Y_zero_point")
    tensors = [part if isinstance(part, Tensor) else ANY_TENSOR for part in parts[::3]]
    op.may_fail("all tensors must have the same type", unless=all(tensor.dtype is dtype for tensor in tensors))
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
    op.reject("X must not be a scalar", unless=op.tensor("X").shape.rank != 0)
    for name in ("X_scale", "x_zero_point", "y_scale", "y_zero_point"):  # onnxruntime takes the first element
        if op.has(name):
            shape = op.tensor(name).shape
            op.may_fail(f"{name} must not be empty", unless=FALSE if shape.is_top else ge(shape.size, 1))
    op.may_fail("X_scale must be positive", unless=only_number(op, "X_scale") > 0)
    attributes = {"axis": -1, **op.attributes}
    return restate(op, normalisation.softmax, op.inputs[:1], version=version, attributes=attributes)[0]


@kernel("""QEmbedLayerNormalization: input_ids segment_ids word_embedding_quant position_embedding_quant
    segment_embedding gamma_quant beta_quant mask word_embedding_scale position_embedding_scale
    segment_embedding_scale gamma_scale beta_scale word_embedding_zero_point position_embedding_zero_point
    segment_embedding_zero_point gamma_zero_point beta_zero_point -> layernorm_out mask_index_out""")
def q_embed_layer_normalization(op: Op) -> Sequence[Value]:
    """EmbedLayerNormalization of quantised tables, in the type of their scales."""
    dtype = op.common_dtype("word_embedding_scale", "position_embedding_scale", "gamma_scale", "beta_scale")
    require_one_value(op, *op.rule.inputs[8:])
    segments = [op.has(name) for name in op.rule.inputs if name.startswith("segment")]
    if any(segments) and not all(segments):
        op.reject("segments must have indices, a table, a scale and a zero point, or none of these")
    tables = [retyped(value, dtype) for value in op.inputs[2:7]]
    return restate(op, com_microsoft.embed_layer_normalization, [*op.inputs[:2], *tables, *op.inputs[7:8]])[:2]


@kernel("""DynamicQuantizeLSTM: X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale
    R_zero_point -> Y Y_h Y_c""")
def dynamic_quantize_lstm(op: Op) -> Sequence[Value]:
    """LSTM with quantised weights, which are the transposes of LSTM's."""
    weights = [Tensor(op.dtype("X"), swapped(op.tensor(name).shape, True)) for name in ("W", "R")]
    directions, gates = 1 + (op.string("direction") == "bidirectional"), 4 * op.integer("hidden_size", 0)
    for name in op.rule.inputs[8:]:
        shape, reason = op.tensor(name).shape, f"{name} must have a value for each direction, or each of its columns"
        op.reject(reason, unless=shape.rank in (None, 1, 2), found=shape)
        if shape.is_top:
            op.may_fail(reason)
            continue
        for found, wanted in zip(shape, (directions, gates), strict=False):
            op.require_equal(found, wanted, reason)
        if name.endswith("zero_point") and len(shape) == 2:
            op.may_fail("the zero points of all columns must be equal, those of signed weights 0")
    return restate(op, recurrent.lstm, [op.value("X"), *weights, *op.inputs[3:8]])


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
    op.reject("data must not be a scalar", unless=len(data) != 0)
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
    op.reject("bits must be 2, 4 or 8", unless=bits in (2, 4, 8), found=bits)
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
