"""Elementwise operators of several inputs, which broadcast as in numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Final

from absint.lattices.contents import OPAQUE, Contents
from absint.lattices.dtype import DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import FALSE, YES
from absint.lattices.ramp import Ramps, added, scaled
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr
from absint.lattices.value import Tensor
from absint.transfer.conditions import require_one_way
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.arithmetic import Binary
from absint.transfer.elements.conversion import bitwise, shift_left, shift_right
from absint.transfer.elements.folding import Combine, combined, elementwise, pointwise
from absint.transfer.elements.logic import Comparison, compare, conjoin, differ, disjoin, where
from absint.transfer.elements.premises import integer
from absint.transfer.op import Op
from absint.transfer.rule import Rule, overlay, rule
from absint.transfer.stated import BadNodeError, Within


def _binary(
    names: str, says: str, fold: Binary, *, since: int = 7, grow: Callable[[Ramps, Ramps], Ramps] | None = None
) -> Rule:
    """The rule of operators A, B -> C of one element type; `grow` combines ramps."""

    def transfer(op: Op) -> Tensor:
        result = arithmetic(op, fold)
        if grow is None or not result.dtype.is_integer:
            return result
        ramps = combined(op.tensor("A"), op.tensor("B"), result.dtype, result.shape, grow)
        return Tensor(result.dtype, result.shape, result.contents, ramps) if ramps else result

    transfer.__doc__ = says
    return rule(names, "A B -> C", since=since, complete=True, elements=True, starred=True)(transfer)


def arithmetic(op: Op, fold: Binary) -> Tensor:
    """The broadcast of A and B in their common type, contents folded."""
    a, b = op.tensor("A"), op.tensor("B")
    shape, dtype = op.broadcast(a.shape, b.shape), op.same_dtype(a.dtype, b.dtype)
    if a.contents is None or b.contents is None:
        return Tensor(dtype, shape)
    return Tensor(dtype, shape, pointwise((a, b), shape, lambda x, y: fold(op, dtype, x, y)))


add = _binary("Add", "numpy.add.", ar.add, grow=added)
subtract = _binary("Sub", "numpy.subtract.", ar.sub, grow=partial(added, sign=-1))
multiply = _binary("Mul", "numpy.multiply.", ar.mul, grow=scaled)
bits_and = _binary("BitwiseAnd", "numpy.bitwise_and.", bitwise(operator.and_), since=18)
bits_or = _binary("BitwiseOr", "numpy.bitwise_or.", bitwise(operator.or_), since=18)
bits_xor = _binary("BitwiseXor", "numpy.bitwise_xor.", bitwise(operator.xor), since=18)
logical_and = _binary("And", "numpy.logical_and.", lambda op, dtype, a, b: conjoin(a, b))
logical_or = _binary("Or", "numpy.logical_or.", lambda op, dtype, a, b: disjoin(a, b))
logical_xor = _binary("Xor", "numpy.logical_xor.", lambda op, dtype, a, b: differ(a, b))


@rule("SwiGLU", "A B -> Y", complete=True, starred=True)
def swiglu(op: Op) -> Tensor:
    """Swish(A) * B, both of the same shape."""
    return Tensor(op.common_dtype("A", "B"), _same_shape(op, op.tensor("A").shape, op.tensor("B").shape))


@rule("Div", "A B -> C", since=7, complete=True, elements=True, starred=True)
def divide(op: Op) -> Tensor:
    """numpy.true_divide on floats; on integers the quotient rounded towards zero, by a nonzero divisor."""
    result = arithmetic(op, ar.div)
    _require_divisor(op, result)
    return result


@rule("Mod", "A B -> C", complete=True, elements=True, starred=True)
def modulo(op: Op) -> Tensor:
    """numpy.fmod if fmod is 1, else numpy.mod: of integers, by a nonzero divisor, and since opset 28 of floats."""
    c_sign = op.flag("fmod")
    if not c_sign and op.version < 28 and op.common_dtype("A", "B") in _FLOATS:
        op.reject("attribute fmod must be 1 for floats, found 0")
    result = arithmetic(op, ar.fmod if c_sign else ar.mod)
    _require_divisor(op, result)
    return result


_FLOATS = (DType.FLOAT, DType.DOUBLE, DType.FLOAT16, DType.BFLOAT16)


def _require_divisor(op: Op, result: Tensor) -> None:
    """Integer division fails on a zero divisor, in onnxruntime even if the result is empty."""
    if result.dtype in _FLOATS:
        return
    contents, within = op.tensor("B").contents, op.within("B")
    if within is not None and _is_safe(op, within):
        return
    for divisor in dict.fromkeys(contents.elements) if contents is not None else (OPAQUE,):
        _require_nonzero(op, integer(divisor), result.shape)


def _is_safe(op: Op, within: Within) -> bool:
    """No divisor between these bounds is 0 or -1."""
    least, most = within
    positive = least is not None and op.decide(rel.ge(least, 1)) is YES
    return positive or (most is not None and op.decide(rel.le(most, -2)) is YES)


def _require_nonzero(op: Op, divisor: Dim, shape: Shape) -> None:
    if -1 in divisor.bounds and -1 in divisor.congruence:
        op.may_fail("the smallest integer must not be divided by -1")
    if 0 not in divisor.bounds or 0 not in divisor.congruence:
        return
    if not isinstance(divisor, Expr):
        op.may_fail("no element of the divisor must be 0")
        return
    nonzero = rel.ne(divisor, 0)
    there_is_none = rel.eq(op.tensor("B").shape.size, 0)
    reason = "no element of the divisor must be 0, even if the result is empty"
    op.require(nonzero | there_is_none, reason, by="onnxruntime")
    empty = rel.eq(shape.size, 0)
    op.require(nonzero | empty, "no element of the divisor must be 0")


@rule("Pow", "X Y -> Z", since=7, complete=True, elements=True, starred=True)
def power(op: Op) -> Tensor:
    """numpy.power, in the type of X."""
    x, y = op.tensor("X"), op.tensor("Y")
    shape = op.broadcast(x.shape, y.shape)
    contents = elementwise(op, ("X", "Y"), lambda a, b: ar.power(op, x.dtype, a, b), shape)
    return Tensor(x.dtype, shape, contents)


@rule("BitShift", "X Y -> Z", complete=True, elements=True, starred=True)
def bit_shift(op: Op) -> Tensor:
    """numpy.left_shift or right_shift, by attribute direction."""
    fold = {"LEFT": shift_left, "RIGHT": shift_right}.get(op.string("direction", ""))
    if fold is None:
        op.reject(f"attribute direction must be LEFT or RIGHT, found {op.string('direction', '') or 'none'}")
    dtype, shape = op.common_dtype("X", "Y"), op.broadcast(op.tensor("X").shape, op.tensor("Y").shape)
    return Tensor(dtype, shape, elementwise(op, ("X", "Y"), lambda a, b: fold(op, dtype, a, b), shape))


# Comparisons


def _comparison(name: str, test: Comparison, *, since: int = 7) -> Rule:
    """The rule of a comparison A, B -> C."""

    def transfer(op: Op) -> Tensor:
        dtype, shape = op.common_dtype("A", "B"), op.broadcast(op.tensor("A").shape, op.tensor("B").shape)
        contents = elementwise(op, ("A", "B"), lambda a, b: compare(op, dtype, test, a, b), shape)
        return Tensor(DType.BOOL, shape, contents)

    transfer.__doc__ = f"A {test.__name__} B, booleans in the broadcast shape."
    return rule(name, "A B -> C", since=since, complete=True, elements=True, starred=True)(transfer)


equal = _comparison("Equal", rel.eq)
less = _comparison("Less", rel.lt)
greater = _comparison("Greater", rel.gt)
less_or_equal = _comparison("LessOrEqual", rel.le, since=12)
greater_or_equal = _comparison("GreaterOrEqual", rel.ge, since=12)


# Before opset 7


_FOLDS_1: Final[Mapping[str, Binary]] = {"Add": ar.add, "Sub": ar.sub, "Mul": ar.mul, "Div": ar.div, "Pow": ar.power}
_TESTS_1: Final[Mapping[str, Comparison]] = {"Equal": rel.eq, "Less": rel.lt, "Greater": rel.gt}


@rule("Add Sub Mul Div Pow And Or Xor", "A B -> C", until=6, complete=True, elements=True, starred=True)
def arithmetic_1(op: Op) -> Tensor:
    """Inputs of one shape; with `broadcast` B may be one element, or a part of the shape of A from `axis` on."""
    dtype, shape, fold = op.common_dtype("A", "B"), _limited_broadcast(op), _FOLDS_1.get(op.name)
    contents = None if fold is None else _aligned(op, shape, lambda a, b: fold(op, dtype, a, b))
    result = Tensor(dtype, shape, contents)
    if op.name == "Div":
        _require_divisor(op, result)
    return result


@rule("Equal Less Greater", "A B -> C", until=6, complete=True, elements=True, starred=True)
def comparison_1(op: Op) -> Tensor:
    """Booleans of one shape; with `broadcast` B may be one element, or a part of the shape of A from `axis` on."""
    dtype, shape, test = op.common_dtype("A", "B"), _limited_broadcast(op), _TESTS_1[op.name]
    return Tensor(DType.BOOL, shape, _aligned(op, shape, lambda a, b: compare(op, dtype, test, a, b)))


def _limited_broadcast(op: Op) -> Shape:
    """The shape of the result, that of A; requirements on B are stated."""
    a, b = op.tensor("A").shape, op.tensor("B").shape
    if not op.integer("broadcast", 0):
        return _same_shape(op, a, b)
    if a.is_top or b.is_top:
        op.may_fail("B must have one element, or a part of the shape of A")
        return a
    if len(b) > len(a):
        op.reject(f"B must not have more axes than A, found shapes {b} and {a}")
    start = op.integer("axis", len(a) - len(b))
    if start < 0:
        op.may_fail(f"axis must not be negative, found {start}")
        return a
    single = [rel.eq(size, 1) for size in b]
    part = [rel.eq(x, y) for x, y in zip(a[start:], b, strict=False)] if start + len(b) <= len(a) else [FALSE]
    runs = rel.conjunction(*single) | rel.conjunction(*part)
    op.require(runs, f"B must have one element, or the shape of A from axis {start} on", found=f"{b} and {a}")
    return a


def _aligned(op: Op, shape: Shape, combine: Combine) -> Contents | None:
    """Contents, if B lies along the last axes of A, as in numpy."""
    b = op.tensor("B").shape
    ends_with_a = shape.rank is not None and b.rank is not None and op.integer("axis") in (None, len(shape) - len(b))
    return elementwise(op, ("A", "B"), combine, shape) if ends_with_a or b.concrete == () else None


# Any number of inputs


def _variadic(name: str, says: str, fold: Binary | None) -> Rule:
    """The rule of an operator of one or more inputs, which broadcast."""

    def transfer(op: Op) -> Tensor:
        inputs = _given(op)
        return _combined(op, inputs, op.broadcast(*(t.shape for t in inputs)), fold)

    transfer.__doc__ = says
    return rule(name, "data_0* -> Y", since=8, complete=True, elements=True, starred=True)(transfer)


def _given(op: Op) -> list[Tensor]:
    inputs = op.variadic()
    if not inputs:
        raise BadNodeError(f"{op.name} needs an input, found none")
    return inputs


def _combined(op: Op, inputs: list[Tensor], shape: Shape, fold: Binary | None) -> Tensor:
    """The inputs in their common type, contents combined from left to right."""
    dtype = op.same_dtype(*(t.dtype for t in inputs))
    if len(inputs) == 1:
        return inputs[0]
    if fold is None or all(t.contents is None for t in inputs):
        return Tensor(dtype, shape)
    missing = UNKNOWN_DIM if dtype.is_integer and fold in (ar.maximum, ar.minimum) else None
    combine = partial(fold, op, dtype)
    return Tensor(dtype, shape, pointwise(inputs, shape, lambda *elements: reduce(combine, elements), missing))


maximum = _variadic("Max", "numpy.maximum of all inputs.", ar.maximum)
minimum = _variadic("Min", "numpy.minimum of all inputs.", ar.minimum)
total = _variadic("Sum", "The sum of all inputs, broadcast.", ar.add)
mean = _variadic("Mean", "The mean of all inputs, broadcast.", None)


@rule("Max Min Sum Mean", "data_0* -> Y", until=7, complete=True, starred=True)
def variadic_1(op: Op) -> Tensor:
    """Before opset 8 all inputs must have the same shape."""
    inputs = _given(op)
    shape = inputs[0].shape
    for other in inputs[1:]:
        shape = _same_shape(op, shape, other.shape)
    return Tensor(op.same_dtype(*(t.dtype for t in inputs)), shape)


def _same_shape(op: Op, a: Shape, b: Shape) -> Shape:
    if a.is_top or b.is_top:
        op.may_fail("all inputs must have the same shape")
        return b if a.is_top else a
    if len(a) != len(b):
        op.reject(f"all inputs must have the same shape, found {a} and {b}")
    for x, y in zip(a, b, strict=True):
        op.require_equal(x, y, "all inputs must have the same shape")
    return shape_of(tuple(map(op.unified, a, b)))


# Selection


@rule("Where", "condition X Y -> output", complete=True, elements=True, starred=True)
def choose(op: Op) -> Tensor:
    """numpy.where: all three inputs broadcast."""
    inputs = [op.tensor("condition"), op.tensor("X"), op.tensor("Y")]
    shape = op.broadcast(*(t.shape for t in inputs))
    dtype = op.common_dtype("X", "Y")
    if sum(t.contents is not None for t in inputs) < 2:
        return Tensor(dtype, shape)
    return Tensor(dtype, shape, pointwise(inputs, shape, partial(where, op), missing=OPAQUE))


@overlay
def broadcast_both_ways(op: Op) -> Tensor:
    """A slope may enlarge X: the shape is that of the broadcast."""
    x, slope = op.tensor("X"), op.tensor("slope")
    return Tensor(op.common_dtype("X", "slope"), op.broadcast(x.shape, slope.shape))


@rule("PRelu", "X slope -> Y", since=7, complete=True, starred=True)
@broadcast_both_ways
def parametric_relu(op: Op) -> Tensor:
    """X or slope * X, slope broadcast to X."""
    x, slope = op.tensor("X").shape, op.tensor("slope").shape
    dtype = op.common_dtype("X", "slope")
    if x.rank is None or slope.rank is None:
        return Tensor(dtype, op.broadcast(x, slope))
    require_one_way(op, "slope", x, "X")
    return Tensor(dtype, x)


@rule("PRelu", "X slope -> Y", until=6, complete=True, starred=True)
def parametric_relu_1(op: Op) -> Tensor:
    """X or slope * X, slope given for each channel, or one for all. No implementation tells how it lies along X."""
    slope = op.tensor("slope").shape
    one = rel.eq(slope.size, 1) if slope.rank in (0, 1) else rel.FALSE
    op.may_fail("slope must be one value, or one for each channel", unless=one)
    return Tensor(op.common_dtype("X", "slope"), op.tensor("X").shape)
