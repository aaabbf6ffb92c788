"""Elementwise operators of one input: same shape out, the element type by the spec."""

from __future__ import annotations

from lattices.contents import Contents, Element
from lattices.dtype import DType
from lattices.expr import UNKNOWN_DIM
from lattices.shape import Shape
from lattices.tensor import Tensor, Value
from transfer import arithmetic as ar
from transfer.arithmetic import Unary
from transfer.conversion import bitwise_not, cast
from transfer.folding import pointwise
from transfer.logic import invert
from transfer.op import BadNode, Op
from transfer.rule import Rule, transfer


def _unary(names: str, says: str, fold: Unary | None = None, *, gives: DType | None = None) -> Rule:
    """The rule of operators that change each element alone; `fold` follows the contents, `gives` fixes the type."""

    def rule(op: Op) -> Tensor:
        x = op.tensor("X")
        contents = None if fold is None or x.contents is None else _folded(op, fold, x)
        return Tensor(x.dtype if gives is None else gives, x.shape, contents)

    rule.__doc__ = says
    return transfer(names, inputs="X", complete=True)(rule)


def _folded(op: Op, fold: Unary, x: Tensor) -> Contents | None:
    return pointwise([x], x.shape, lambda e: fold(op, x.dtype, e))


activation = _unary(
    "Sigmoid Tanh Softplus Softsign Gelu HardSigmoid HardSwish Selu Elu Celu LeakyRelu ThresholdedRelu Mish Swish Shrink",
    "An activation: shape and type of X.",
)
transcendental = _unary(
    "Erf Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh",
    "A transcendental function of each element: shape and type of X.",
)
relu = _unary("Relu", "max(x, 0) of each element.", ar.relu)
neg = _unary("Neg", "-x of each element.", ar.neg)
absolute = _unary("Abs", "|x| of each element.", ar.absolute)
sign = _unary("Sign", "1, 0 or -1 for each element.", ar.sign)
ceil = _unary("Ceil", "numpy.ceil of each element.", ar.ceil)
floor = _unary("Floor", "numpy.floor of each element.", ar.floor)
round_half_even = _unary("Round", "numpy.round: to the nearest integer, ties to the even one.", ar.round_half_even)
sqrt = _unary("Sqrt", "numpy.sqrt of each element.", ar.sqrt)
reciprocal = _unary("Reciprocal", "1/x of each element.", ar.reciprocal)
logical_not = _unary("Not", "numpy.logical_not of each element.", lambda op, dtype, e: invert(e), gives=DType.BOOL)
invert_bits = _unary("BitwiseNot", "numpy.bitwise_not of each element.", bitwise_not)
float_class = _unary("IsNaN IsInf", "A test of each element: booleans in the shape of X.", gives=DType.BOOL)


@transfer("Identity", inputs="X", complete=True)
def identity(op: Op) -> Value:
    """The input itself, of any kind."""
    value = op.value("X")
    if value is None:
        raise BadNode("required input X is missing")
    return value


@transfer("Dropout", inputs="X", outputs="Y mask", until=6, complete=True)
def dropout_1(op: Op) -> tuple[Tensor, Tensor]:
    """Shape and type of X for both outputs; elements change unless is_test is set."""
    return _dropped(op.tensor("X"), op.dtype("X"), unchanged=op.int("is_test", 0) != 0)


@transfer("Dropout", inputs="X", outputs="Y mask", since=7, until=9, complete=True)
def dropout_7(op: Op) -> tuple[Tensor, Tensor]:
    """X itself, and a mask of its shape and type."""
    return _dropped(op.tensor("X"), op.dtype("X"))


@transfer("Dropout", inputs="X", outputs="Y mask", since=10, until=11, complete=True)
def dropout_10(op: Op) -> tuple[Tensor, Tensor]:
    """X itself, and a boolean mask of its shape."""
    return _dropped(op.tensor("X"), DType.BOOL)


@transfer("Dropout", inputs="X ratio training_mode", outputs="Y mask", since=12, complete=True)
def dropout(op: Op) -> tuple[Tensor, Tensor]:
    """Shape and type of X, X itself outside training; a boolean mask of the same shape."""
    ratio, mode = op.optional("ratio"), op.optional("training_mode")
    if ratio is not None:
        require_scalar(op, ratio, "ratio")
        if not _is_probability(op.elements("ratio")):
            op.may_fail("ratio is in [0, 1)")
    return _dropped(op.tensor("X"), DType.BOOL, unchanged=mode is None)


def _dropped(x: Tensor, mask: DType, unchanged: bool = True) -> tuple[Tensor, Tensor]:
    return (x if unchanged else Tensor(x.dtype, x.shape)), Tensor(mask, x.shape)


def _is_probability(elements: ar.Elements | None) -> bool:
    values = [ar.constant(e) for e in elements.ravel().tolist()] if elements is not None else [None]
    return all(v is not None and 0 <= v < 1 for v in values)


def require_scalar(op: Op, x: Tensor, name: str) -> None:
    """The input is a scalar; a vector of one element passes for one, as onnxruntime has it."""
    rank = x.shape.rank
    if rank is None:
        op.may_fail(f"{name} is a scalar")
    elif rank > 1:
        op.reject(f"{name} must be a scalar, found shape {x.shape}")
    elif rank == 1:
        op.require_equal(x.shape[0], 1, f"{name} is a scalar")


@transfer("Clip", inputs="X", until=10, complete=True)
def clip_1(op: Op) -> Tensor:
    """min(max(x, attribute min), attribute max) of each element."""
    x = op.tensor("X")
    contents: Contents | None = x.contents
    for name, fold in (("min", ar.maximum), ("max", ar.minimum)):
        bound = op.float(name)
        if contents is not None and bound is not None:
            limit = ar.float_constant(x.dtype, bound)
            contents = contents.map(lambda e, fold=fold, limit=limit: fold(op, x.dtype, e, limit))  # type: ignore[misc]
    return Tensor(x.dtype, x.shape, contents)


@transfer("Clip", inputs="X min max", since=11, complete=True)
def clip(op: Op) -> Tensor:
    """min(max(x, min), max) of each element."""
    x = op.tensor("X")
    dtype = op.common_dtype("X", "min", "max")
    result = Tensor(dtype, x.shape, x.contents)
    for name, fold in (("min", ar.maximum), ("max", ar.minimum)):
        bound = op.optional(name)
        if bound is None:
            continue
        require_scalar(op, bound, name)
        if result.contents is None and (not dtype.is_integer or bound.contents is None):
            continue
        limit = bound.contents.elements[0] if bound.contents and bound.contents.elements else ar.unknown(dtype)
        whole = Tensor(dtype, result.shape, result.contents)
        contents = pointwise([whole], x.shape, lambda e: fold(op, dtype, e, limit), missing=UNKNOWN_DIM)  # noqa: B023
        result = Tensor(dtype, result.shape, contents)
    return result


@transfer("Cast BitCast", inputs="input", complete=True)
def cast_to(op: Op) -> Tensor:
    """numpy.astype to attribute `to`."""
    raise NotImplementedError
