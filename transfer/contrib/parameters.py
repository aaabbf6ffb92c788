"""Scales, zero points and biases: the small inputs of quantised operators."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from absint.lattices.logic.relation import Relation, disjunction, eq
from absint.lattices.logic.truth import YES
from absint.lattices.shape import SCALAR, Shape, shape_of
from absint.lattices.terms.expr import ONE_EXPR, Dim
from absint.lattices.value import Tensor, Value
from absint.transfer.elements.arithmetic import constant
from absint.transfer.op import Op

_ONE_VALUE: Final = (SCALAR, shape_of((ONE_EXPR,)))


def may_refuse_parameters(op: Op, *names: str) -> None:
    """The node may fail unless each of these, if given, is one value."""
    for name in names:
        if op.has(name) and not is_one_value(op.value(name)):
            op.may_fail(f"{name} must be one value")


def may_refuse_vectors(op: Op, *names: str) -> None:
    """Kernels accept a vector of one element as a scalar; type inference does not if it sees the shape."""
    for name in names:
        if op.has(name) and op.tensor(name).shape.rank != 0:
            op.may_fail(f"{name} must be a scalar")


def may_want_zero_points(op: Op, *names: str) -> None:
    """Type inference rejects an empty name for a zero point."""
    if not all(op.has(name) for name in names):
        op.may_fail("onnxruntime needs every zero point")


def is_one_value(value: Value | None) -> bool:
    """A scalar or a vector of one element."""
    return isinstance(value, Tensor) and value.shape in _ONE_VALUE


def only_number(op: Op, name: str) -> Fraction:
    """The only element of an input; 0 if it is unknown."""
    block = op.block(name)
    value = constant(block.elements[0]) if block is not None and len(block.elements) == 1 else None
    return Fraction(0 if value is None else value)


def may_refuse_channels(op: Op, weight: Shape, *names: str) -> None:
    """The node may fail unless each of these is one value, or a vector with one for each row of the weight."""
    for name in names:
        shape = op.tensor(name).shape
        fits = shape.rank == 1 and not weight.is_top and len(weight) and op.is_equal(shape[0], weight[0]) is YES
        if not fits and not is_one_value(op.value(name)):
            op.may_fail(f"{name} must be one value, or one for each output channel")


def require_one_value(op: Op, *names: str) -> None:
    """Require a scalar or a vector of one element for each of these that is given."""
    for name in names:
        if op.has(name):
            _require_vector(op, name, "must be one value")


def require_one_or_each(op: Op, count: Dim, *names: str, unless: Relation) -> None:
    """Require one value, or a vector with one for each of `count` columns, for each of these that is given."""
    for name in names:
        if op.has(name):
            _require_vector(
                op, name, "must have one value, or one for each column", eq(op.tensor(name).shape.size, count), unless
            )


def _require_vector(op: Op, name: str, what: str, *instead: Relation) -> None:
    shape = op.tensor(name).shape
    if shape.rank == 1:
        op.require(disjunction(eq(shape[0], 1), *instead), f"{name} {what}")
    elif shape.rank != 0:
        op.may_fail(f"{name} {what}")


__all__ = [
    "is_one_value",
    "may_refuse_channels",
    "may_refuse_parameters",
    "may_refuse_vectors",
    "may_want_zero_points",
    "only_number",
    "require_one_or_each",
    "require_one_value",
]
