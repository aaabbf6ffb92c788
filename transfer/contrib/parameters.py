"""Scales, zero points and biases: the small inputs of quantised operators."""

from __future__ import annotations

from fractions import Fraction

from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, eq
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.transfer.elements.arithmetic import constant
from absint.transfer.op import Op


def may_refuse_vectors(op: Op, *names: str) -> None:
    """Kernels accept a vector of one element as a scalar; type inference does not if it sees the shape."""
    for name in names:
        if op.has(name) and op.tensor(name).shape.rank != 0:
            op.may_fail(f"{name} must be a scalar")


def may_refuse(op: Op, reason: str, shape: Shape) -> None:
    """The node may fail for the reason unless this is the shape of one value."""
    one = FALSE if shape.is_top or len(shape) > 1 else conjunction(*(eq(size, 1) for size in shape))
    op.may_fail(reason, unless=one)


def require_names(op: Op, *names: str) -> None:
    """Type inference rejects an empty name for a zero point, though not a list of inputs that ends before it."""
    for name in names:
        if not op.has(name) and op.rule.places[name] < len(op.inputs):
            op.reject(f"{name} must not have an empty name")


def only_number(op: Op, name: str) -> Fraction:
    """The only element of an input; 0 if it is unknown."""
    block = op.block(name)
    value = constant(block.elements[0]) if block is not None and len(block.elements) == 1 else None
    return Fraction(0 if value is None else value)


def require_one_value(op: Op, *names: str) -> None:
    """Require a scalar or a vector of one element for each of these that is given."""
    for name in names:
        if op.has(name):
            _require_vector(op, name, f"{name} must be one value")


def require_one_or_each(op: Op, count: Dim, *names: str, unless: Relation = FALSE) -> None:
    """Require one value, or a vector with one for each of `count` channels, for each of these that is given."""
    for name in names:
        if op.has(name):
            is_each = eq(op.tensor(name).shape.size, count)
            _require_vector(op, name, f"{name} must have one value, or one for each channel", is_each, unless)


def _require_vector(op: Op, name: str, reason: str, *instead: Relation) -> None:
    shape = op.tensor(name).shape
    if shape.rank == 1:
        op.require(disjunction(eq(shape[0], 1), *instead), reason)
    elif shape.is_top:
        op.may_fail(reason)
    elif len(shape) > 1:
        op.reject(f"{reason}, found shape {shape}")
