"""Fused and quantised arithmetic of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from lattices.dtype import DType
from lattices.expr import ONE_EXPR, UNKNOWN_SIZE, Dim, const
from lattices.shape import Shape, shape_of
from lattices.tensor import Tensor
from transfer.contrib.com_microsoft import require_vector
from transfer.linalg import gemm, matmul_shape
from transfer.op import Op
from transfer.rule import MICROSOFT, transfer


def _swapped(shape: Shape, swap: bool) -> Shape:
    """The last two axes exchanged; a vector stays."""
    if not swap or shape.is_top or len(shape) < 2:
        return shape
    return shape_of((*shape[:-2], shape[-1], shape[-2]))


def _batch_last(shape: Shape, moved: bool) -> Shape:
    """The first of the batch axes brought to the rows: (rows, batch..., k) is (batch..., rows, k)."""
    if not moved or shape.is_top or len(shape) < 3:
        return shape
    return shape_of((*shape[1:-1], shape[0], shape[-1]))


@transfer("FusedMatMul", inputs="A B", domain=MICROSOFT)
def fused_matmul(op: Op) -> Tensor:
    """alpha * A @ B after the transpositions that the attributes ask for."""
    a = _batch_last(op.tensor("A").shape, bool(op.integer("transBatchA", 0)))
    b = _batch_last(op.tensor("B").shape, bool(op.integer("transBatchB", 0)))
    a, b = _swapped(a, bool(op.integer("transA", 0))), _swapped(b, bool(op.integer("transB", 0)))
    return Tensor(op.common_dtype("A", "B"), matmul_shape(op, a, b))


@transfer("DynamicQuantizeMatMul", inputs="A B b_scale b_zero_point bias", domain=MICROSOFT)
def dynamic_quantize_matmul(op: Op) -> Tensor:
    """A @ B with A quantised on the fly."""
    return _product(op, op.common_dtype("A", "b_scale"))


@transfer("MatMulIntegerToFloat", inputs="A B a_scale b_scale a_zero_point b_zero_point bias", domain=MICROSOFT)
def matmul_integer_to_float(op: Op) -> Tensor:
    """A @ B of integers, scaled to floats."""
    return _product(op, op.common_dtype("a_scale", "b_scale"))


@transfer("MatMulInteger16", inputs="A B", domain=MICROSOFT)
def matmul_integer_16(op: Op) -> Tensor:
    """A @ B of 16-bit integers, summed in 32 bits."""
    unsigned = op.dtype("A") is DType.UINT16 and op.dtype("B") is DType.UINT16
    known = op.dtype("A") is not DType.UNDEFINED and op.dtype("B") is not DType.UNDEFINED
    return _product(op, DType.UNDEFINED if not known else DType.UINT32 if unsigned else DType.INT32)


def _product(op: Op, dtype: DType) -> Tensor:
    op.may_fail("scales and bias fit the product")
    return Tensor(dtype, matmul_shape(op, op.tensor("A").shape, op.tensor("B").shape))


@transfer("MatMulNBits", inputs="A B scales zero_points g_idx bias", domain=MICROSOFT)
def matmul_n_bits(op: Op) -> Tensor:
    """A @ B for a packed B of K rows and N columns, as the attributes say."""
    k, n, a = op.integer("K"), op.integer("N"), op.tensor("A").shape
    if k is None or n is None:
        op.reject("attributes K and N are missing")
    op.may_fail("the packed matrix fits its attributes")
    if a.is_top:
        return Tensor(op.dtype("A"))
    if len(a) == 0:
        op.reject("A is a scalar")
    op.require_equal(a[-1], k, "A has K columns")
    return Tensor(op.dtype("A"), shape_of((*a[:-1], const(n))))


@transfer(
    "QLinearAdd QLinearMul",
    inputs="A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point",
    outputs="C",
    domain=MICROSOFT,
)
def qlinear_binary(op: Op) -> Tensor:
    """An element-wise operation on quantised tensors with broadcasting."""
    op.may_fail("scales and zero points are scalars")
    return Tensor(op.common_dtype("A", "B"), op.broadcast(op.tensor("A").shape, op.tensor("B").shape))


@transfer(
    "QLinearWhere", inputs="condition X x_scale x_zero_point Y y_scale y_zero_point", outputs="Z", domain=MICROSOFT
)
def qlinear_where(op: Op) -> Tensor:
    """Where on quantised tensors."""
    op.may_fail("scales and zero points are scalars")
    shapes = (op.tensor(name).shape for name in ("condition", "X", "Y"))
    return Tensor(op.common_dtype("X", "Y"), op.broadcast(*shapes))


@transfer("QLinearSigmoid QLinearLeakyRelu", inputs="X X_scale X_zero_point", domain=MICROSOFT)
def qlinear_unary(op: Op) -> Tensor:
    """An element-wise operation on a quantised tensor."""
    op.may_fail("scales and zero points are scalars")
    return Tensor(op.dtype("X"), op.tensor("X").shape)


@transfer("QLinearGlobalAveragePool", inputs="X x_scale x_zero_point y_scale y_zero_point", domain=MICROSOFT)
def qlinear_global_average_pool(op: Op) -> Tensor:
    """The mean of each channel of a quantised image; spatial axes become 1."""
    shape, dtype = op.tensor("X").shape, op.dtype("X")
    if shape.is_top:
        return Tensor(dtype)
    if len(shape) < 3:
        op.reject(f"X must have rank 3 or more, found shape {shape}")
    op.may_fail("the spatial axes are not empty")
    ones = [ONE_EXPR] * (len(shape) - 2)
    dims = (shape[0], *ones, shape[-1]) if op.integer("channels_last", 0) else (*shape[:2], *ones)
    return Tensor(dtype, shape_of(dims))


@transfer("CDist", inputs="A B", outputs="C", domain=MICROSOFT)
def cdist(op: Op) -> Tensor:
    """The distance of each row of A to each row of B."""
    rows: list[Dim] = []
    columns: list[Dim] = []
    for name in ("A", "B"):
        shape = op.tensor(name).shape
        op.require_rank(shape, 2, name)
        rows.append(UNKNOWN_SIZE if shape.is_top else shape[0])
        columns.append(UNKNOWN_SIZE if shape.is_top else shape[1])
    op.require_equal(columns[0], columns[1], "the rows of A and B have one length")
    return Tensor(op.common_dtype("A", "B"), shape_of(tuple(rows)))


@transfer("QuantizeLinear", inputs="x y_scale y_zero_point", outputs="y", domain=MICROSOFT)
def quantize_linear(op: Op) -> Tensor:
    """x in the type of the zero point (UINT8 without one)."""
    op.may_fail("scale and zero point fit the axis")
    dtype = op.dtype("y_zero_point") if op.has("y_zero_point") else DType.UINT8
    return Tensor(dtype, op.tensor("x").shape)


@transfer("DequantizeLinear", inputs="x x_scale x_zero_point", outputs="y", domain=MICROSOFT)
def dequantize_linear(op: Op) -> Tensor:
    """x in the type of the scale."""
    op.may_fail("scale and zero point fit the axis")
    return Tensor(op.dtype("x_scale"), op.tensor("x").shape)


@transfer("GemmFastGelu", inputs="X W bias", domain=MICROSOFT)
def gemm_fast_gelu(op: Op) -> Tensor:
    """FastGelu(X @ W + bias)."""
    shape = matmul_shape(op, op.tensor("X").shape, op.tensor("W").shape)
    if not shape.is_top and len(shape):
        require_vector(op, "bias", shape[-1])
    return Tensor(op.common_dtype("X", "W"), shape)


fused_gemm = transfer("FusedGemm", inputs="A B C", domain=MICROSOFT)(gemm.function)
