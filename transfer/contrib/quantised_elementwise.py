"""Element-wise operators on quantised tensors, of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.dtype import DType
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.value import Tensor, Value
from absint.transfer import quantised
from absint.transfer.contrib.parameters import may_refuse, may_refuse_vectors, require_names, require_one_value
from absint.transfer.contrib.views import restate
from absint.transfer.op import Op
from absint.transfer.reduction import by_attribute
from absint.transfer.rule import device, kernel


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
            may_refuse(op, f"{name} must be one value", op.tensor(name).shape)
    op.may_fail("onnxruntime may crash if some parameters are constants")
    shapes = (op.tensor(name).shape for name in ("condition", "X", "Y"))
    return Tensor(op.common_dtype("X", "Y"), op.broadcast(*shapes))


@kernel("QLinearSigmoid QLinearLeakyRelu", "X X_scale X_zero_point Y_scale Y_zero_point -> Y")
def q_linear_unary(op: Op) -> Tensor:
    """An element-wise operation on a quantised tensor."""
    require_one_value(op, "X_scale", "Y_scale", "X_zero_point", "Y_zero_point")
    if len(op.inputs) < 5:
        op.may_fail("onnxruntime crashes if the inputs end before Y_zero_point")
    return Tensor(op.dtype("X"), op.tensor("X").shape)


@kernel("QuantizeLinear", "x y_scale y_zero_point -> y")
def quantize_linear(op: Op) -> Value:
    """QuantizeLinear of ONNX, with more types."""
    return restate(op, quantised.quantize_linear, op.inputs)[0]


@kernel("DequantizeLinear", "x x_scale x_zero_point -> y")
def dequantize_linear(op: Op) -> Value:
    """DequantizeLinear of ONNX, with more types."""
    return restate(op, quantised.dequantize_linear, op.inputs)[0]


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
