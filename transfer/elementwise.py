"""Elementwise operators of one input, quantisation among them: they keep the shape; the spec gives the element type."""

from __future__ import annotations

from functools import partial
from typing import Final

from absint.lattices.contents import OPAQUE, Element
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation, conjunction, eq
from absint.lattices.ramp import NO_RAMPS
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_DIM, ZERO_EXPR
from absint.lattices.terms.normal import Real, ceildiv
from absint.lattices.value import Tensor, Value
from absint.transfer.conditions import one_value, require_scalar, same_dims
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.arithmetic import Unary
from absint.transfer.elements.conversion import bitwise_not, cast, type_attribute
from absint.transfer.elements.folding import pointwise, within
from absint.transfer.elements.logic import invert
from absint.transfer.elements.premises import representable
from absint.transfer.op import Op
from absint.transfer.rule import Rule, rule, shaped
from absint.transfer.stated import BadNodeError


def _unary(names: str, says: str, fold: Unary | None = None, *, gives: DType | None = None) -> Rule:
    """The rule of operators that change each element alone; `fold` maps the contents, `gives` fixes the type."""

    def transfer(op: Op) -> Tensor:
        x = op.tensor("X")
        combine = None if fold is None or x.contents is None else partial(fold, op, x.dtype)
        contents = None if combine is None else pointwise([x], x.shape, combine)
        return Tensor(x.dtype if gives is None else gives, x.shape, contents)

    transfer.__doc__ = says
    return rule(names, "X -> Y", complete=True, elements=fold is not None, starred=True)(transfer)


activation = _unary(
    "Sigmoid Softplus Softsign Gelu HardSigmoid HardSwish Selu Elu Celu LeakyRelu ThresholdedRelu Mish Swish Shrink",
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
float_class = _unary(
    "IsNaN IsInf",
    "A test of each element, which no exact real passes: booleans in the shape of X.",
    lambda op, dtype, e: FALSE if isinstance(e, Real) else OPAQUE,
    gives=DType.BOOL,
)


@rule("Identity", "X -> Y", complete=True, elements=True, starred=True)
def identity(op: Op) -> Value:
    """The input itself, of any kind."""
    value = op.value("X")
    if value is None:
        raise BadNodeError("required input X is missing")
    return value


@rule("Dropout", "X -> Y mask", until=11, complete=True, elements=True, starred=True)
def dropout_1(op: Op) -> tuple[Tensor, Tensor]:
    """X itself, before opset 7 only if is_test is set; a mask of its shape, and before opset 10 of its type."""
    mask = DType.BOOL if op.version >= 10 else op.dtype("X")
    return _dropped(op.tensor("X"), mask, op.version >= 7 or op.integer("is_test", 0) != 0)


@rule("Dropout", "X ratio training_mode -> Y mask", since=12, complete=True, elements=True, starred=True)
def dropout(op: Op) -> tuple[Tensor, Tensor]:
    """Shape and type of X, X itself outside training; a boolean mask of the same shape."""
    if op.has("ratio"):
        require_single(op, "ratio")
        ratios = op.block("ratio")
        values = [None] if ratios is None else list(map(ar.constant, ratios.elements))
        op.may_fail("ratio must be in [0, 1)", unless=all(value is not None and 0 <= value < 1 for value in values))
    for name in ("ratio", "training_mode"):
        if op.has(name) and op.tensor(name).shape.rank:
            op.may_fail(f"{name} must be a scalar, found shape {op.tensor(name).shape}", at_load=True)
    if op.has("training_mode"):
        fits = one_value(op.tensor("training_mode").shape)
        op.may_fail("onnxruntime needs training_mode to be one value", unless=fits)
    modes = op.block("training_mode")
    known = modes is not None and modes.elements == (FALSE,)
    training = op.has("training_mode") and not known
    return _dropped(op.tensor("X"), DType.BOOL, not training)


def _dropped(x: Tensor, mask: DType, unchanged: bool) -> tuple[Tensor, Tensor]:
    return x if unchanged else Tensor(x.dtype, x.shape), Tensor(mask, x.shape)


def require_single(op: Op, name: str) -> None:
    """Require one element, whatever the rank."""
    shape = op.tensor(name).shape
    alone = UNKNOWN_RELATION if shape.is_top else conjunction(*(eq(size, 1) for size in shape))
    op.require(alone, f"{name} must have one element", found=shape)


@rule("Clip", "X -> Y", until=10, complete=True, elements=True, starred=True)
def clip_1(op: Op) -> Tensor:
    """min(max(x, min), max) of each element, the ends as attributes."""
    x = op.tensor("X")
    least, most = op.number("min"), op.number("max")
    if least is not None and most is not None and not least <= most:
        op.may_fail(f"onnxruntime needs min to be at most max, found {least} and {most}")
    lo, hi = (None if v is None else _end_of_type(x.dtype, v) for v in (least, most))
    return _clipped(op, x, lo, hi)


def _end_of_type(dtype: DType, value: float) -> Element:
    """An end that the type of X holds exactly; others are rounded."""
    found = ar.constant(ar.float_element(value))
    return ar.float_element(value) if found is not None and dtype.is_float and representable(dtype, found) else OPAQUE


@rule("Clip", "X min max -> Y", since=11, complete=True, elements=True, starred=True)
def clip(op: Op) -> Tensor:
    """min(max(x, min), max) of each element."""
    x = op.tensor("X")
    for name in filter(op.has, ("min", "max")):
        require_scalar(op, name)
        if op.semantics == "onnx":
            op.require_rank(op.tensor(name).shape, 0, name)
    x = Tensor(op.common_dtype("X", "min", "max"), x.shape, x.contents)
    if x.dtype is DType.BFLOAT16 and op.version < 16 and (op.has("min") or op.has("max")):
        op.reject("onnxruntime runs a function with a Where, which takes no BFLOAT16 before opset 16", by="onnxruntime")
    lo, hi = (op.only(name) if op.has(name) else None for name in ("min", "max"))
    return _clipped(op, x, lo, hi)


def _clipped(op: Op, x: Tensor, lo: Element | None, hi: Element | None) -> Tensor:
    def fold(element: Element) -> Element:
        if lo is not None:
            element = ar.maximum(op, x.dtype, element, lo)
        return element if hi is None else ar.minimum(op, x.dtype, element, hi)

    missing = UNKNOWN_DIM if x.dtype.is_integer else None
    return Tensor(x.dtype, x.shape, pointwise([x], x.shape, fold, missing))


@rule("Cast", "input -> Y", complete=True, elements=True, starred=True)
def cast_to(op: Op) -> Tensor:
    """numpy.astype to the type of attribute `to`."""
    if op.version < 6 and not isinstance(op.attributes.get("to"), str):
        op.may_fail("attribute to must be a name before opset 6")
    return _converted(op, type_attribute(op, "to"))


@rule("CastLike", "input target_type -> Y", complete=True, elements=True, starred=True)
def cast_like(op: Op) -> Tensor:
    """numpy.astype to the type of the second input."""
    return _converted(op, op.dtype("target_type"))


def _converted(op: Op, target: DType) -> Tensor:
    x = op.tensor("input")
    if op.integer("saturate", 1) != 1 and not target.name.startswith("FLOAT8"):
        op.may_fail("onnxruntime accepts saturate only for 8-bit floats")
    if x.dtype is target:
        return x
    if x.dtype is DType.FLOAT16 and target is DType.UINT2:
        op.may_fail("onnxruntime may end the process where it casts FLOAT16 to UINT2", by="onnxruntime")
    if op.integer("saturate", 1) not in (0, 1):
        return Tensor(target, x.shape)  # onnxruntime writes nothing: the elements are uninitialised memory
    op.may_fail("every string must be a number", unless=x.dtype not in (DType.STRING, DType.UNDEFINED))
    if x.contents is None or target is DType.UNDEFINED:
        return Tensor(target, x.shape, ramps=within(target, x.ramps, x.shape) if x.dtype.is_integer else NO_RAMPS)
    return Tensor(target, x.shape, pointwise([x], x.shape, lambda e: cast(op, x.dtype, target, e)))


@rule("BitCast", "input -> Y", complete=True, starred=True)
def bit_cast(op: Op) -> Tensor:
    """numpy.ndarray.view as a type of the same width: the shape is unchanged."""
    source, target = op.dtype("input"), type_attribute(op, "to")
    if source.bits and target.bits and source.bits != target.bits:
        both = f"{source} of {source.bits} bits and {target} of {target.bits}"
        op.reject(f"both types must have the same width, found {both}", "ill-typed")
    return Tensor(target, op.tensor("input").shape)


_FLOATS_OF_8_BITS = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)


@rule("QuantizeLinear", "x y_scale y_zero_point -> y", complete=True, starred=True)
def quantize_linear(op: Op) -> Tensor:
    """x / scale + zero point, rounded: the type is that of the zero point, else output_dtype, else uint8."""
    x = op.tensor("x")
    _require_parameters(op, x.shape, "y_scale", "y_zero_point")
    given = type_attribute(op, "output_dtype") if op.integer("output_dtype", 0) else DType.UNDEFINED
    zero_point = op.dtype("y_zero_point") if op.has("y_zero_point") else given
    if DTYPES.meet(given, zero_point) is DType.CONFLICT:
        op.reject(f"output_dtype must be the type of y_zero_point, found {given} and {zero_point}", "ill-typed")
    if given.is_float or given in (DType.INT32, DType.UINT32, DType.INT64, DType.UINT64, DType.BOOL, DType.STRING):
        op.may_fail(f"onnxruntime does not quantise to {given}")
    precision = op.integer("precision", 0)
    if precision not in (0, DType.FLOAT, DType.FLOAT16):
        op.may_fail(f"onnxruntime divides in FLOAT or FLOAT16, found precision {precision}", by="onnxruntime")
    if op.dtype("y_scale") is not x.dtype:
        op.may_fail(f"onnxruntime needs y_scale to have the type of x, found {op.dtype('y_scale')} and {x.dtype}")
    if given is DType.UNDEFINED:
        given = DType.UINT8
    return Tensor(op.dtype("y_zero_point") if op.has("y_zero_point") else given, x.shape)


@rule("DequantizeLinear", "x x_scale x_zero_point -> y", complete=True, starred=True)
def dequantize_linear(op: Op) -> Tensor:
    """(x - zero point) * scale: the type is output_dtype, else that of the scale."""
    x = op.tensor("x")
    _require_parameters(op, x.shape, "x_scale", "x_zero_point")
    given = op.integer("output_dtype", 0)
    dtype = type_attribute(op, "output_dtype") if given else op.dtype("x_scale")
    op.may_fail("output_dtype must be the type of x_scale", unless=dtype is op.dtype("x_scale"))
    return Tensor(dtype, x.shape)


QUANTISED = shaped(
    """
    # x as uint8, with the scale and zero point computed from its range.
    DynamicQuantizeLinear: x[...] -> y:uint8[...] y_scale:float[] y_zero_point:uint8[]
    """,
    complete=True,
)


def _require_parameters(op: Op, x: Shape, scale_name: str, zero_point_name: str) -> None:
    """Require one scale, or one for each slice along `axis`, or for each block of one; and as many zero points.

    Before opset 13 the specification allows one value only, but onnxruntime takes a vector along axis 1 too.
    """
    scale, block = op.tensor(scale_name).shape, op.integer("block_size", 0)
    op.reject("block_size must be positive", unless=block >= 0, found=block)
    one = one_value(scale)
    if op.version < 13 and op.semantics == "onnx":
        op.require(one, f"{scale_name} must be one value before opset 13")
    parts = "have one for each block" if block else "be one value, or have one for each slice"
    reason = f"{scale_name} must {parts} of axis"
    fits = _fits(op, x, scale, block)
    op.require(fits if block else one | fits, f"{reason} {op.integer('axis', 1)}")
    if block:
        op.require(one.negated, "onnxruntime needs a scale for each block", by="onnxruntime")
    if not op.has(zero_point_name):
        return
    zero_point = op.tensor(zero_point_name).shape
    if zero_point != scale or scale.is_top:
        alike = same_dims(zero_point, scale)
        op.require(alike | (one & one_value(zero_point)), _ALIKE)
    dtype = op.dtype("x")
    if dtype is DType.INT32 or dtype in _FLOATS_OF_8_BITS:
        found = op.tensor(zero_point_name).contents
        zeros = found is not None and all(element is ZERO_EXPR for element in found.elements)
        op.may_fail(f"onnxruntime needs a zero point of 0 for {dtype}", unless=zeros, by="onnxruntime")


_ALIKE: Final = "scale and zero point must have the same shape"


def _fits(op: Op, x: Shape, scale: Shape, block: int) -> Relation:
    """There is one scale for each slice along the axis, or for each block of one."""
    if x.is_top or scale.is_top:
        return UNKNOWN_RELATION
    axis = op.integer("axis", 1)
    if not -len(x) <= axis < len(x):
        return FALSE
    if not block:
        return same_dims(scale, (x[axis],))
    axis %= len(x)
    return same_dims(scale, (*x[:axis], ceildiv(x[axis], block), *x[axis + 1 :]))
