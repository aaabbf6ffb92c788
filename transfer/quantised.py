"""Quantisation: conversion between floats and narrow integers, which keeps the shape."""

from __future__ import annotations

from typing import Final

from absint.lattices.dtype import DTYPES, DType
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation, conjunction, disjunction
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ZERO_EXPR
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor
from absint.transfer.caveats import one_value, same_dims
from absint.transfer.elements.conversion import type_attribute
from absint.transfer.op import Op
from absint.transfer.rule import rule, shaped
from absint.transfer.semantics import ONNX

_FLOATS_OF_8_BITS = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)


@rule("QuantizeLinear", "x y_scale y_zero_point -> y", complete=True, starred=True)
def quantize_linear(op: Op) -> Tensor:
    """x / scale + zero point, rounded: the type is that of the zero point, else output_dtype, else uint8."""
    x = op.tensor("x")
    _require_parameters(op, x.shape, "y_scale", "y_zero_point")
    given = type_attribute(op, "output_dtype") if op.integer("output_dtype", 0) else DType.UNDEFINED
    zero_point = op.dtype("y_zero_point") if op.has("y_zero_point") else given
    if DTYPES.meet(given, zero_point) is DType.CONFLICT:
        op.ill_typed(f"output_dtype must be the type of y_zero_point, found {given} and {zero_point}")
    if given.is_float or given in (DType.INT32, DType.UINT32, DType.INT64, DType.UINT64, DType.BOOL, DType.STRING):
        op.may_fail(f"onnxruntime does not quantise to {given}")
    precision = op.integer("precision", 0)
    if precision not in (0, DType.FLOAT, DType.FLOAT16):
        op.runtime_may_fail(f"onnxruntime divides in FLOAT or FLOAT16, found precision {precision}")
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
    if dtype is not op.dtype("x_scale"):
        op.may_fail("output_dtype must be the type of x_scale")
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
    if block < 0:
        op.reject(f"block_size must be positive, found {block}")
    one = one_value(scale)
    if op.version < 13 and op.semantics == ONNX:
        op.require(one, f"{scale_name} must be one value before opset 13")
    reason = f"{scale_name} must be one value, or have one for each {'block' if block else 'slice'} of axis"
    op.require(disjunction(one, _fits(op, x, scale, block)), f"{reason} {op.integer('axis', 1)}")
    if block:
        op.runtime_requires(one.negated, "onnxruntime needs a scale for each block")
    if not op.has(zero_point_name):
        return
    zero_point = op.tensor(zero_point_name).shape
    if zero_point != scale or scale.is_top:
        alike = UNKNOWN_RELATION if scale.is_top else same_dims(zero_point, scale.dims)
        op.require(disjunction(alike, conjunction(one, one_value(zero_point))), _ALIKE)
    dtype = op.dtype("x")
    if (dtype is DType.INT32 or dtype in _FLOATS_OF_8_BITS) and not _is_zero(op, zero_point_name):
        op.runtime_may_fail(f"onnxruntime needs a zero point of 0 for {dtype}")


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


def _is_zero(op: Op, name: str) -> bool:
    found = op.tensor(name).contents
    return found is not None and all(element is ZERO_EXPR for element in found.elements)
