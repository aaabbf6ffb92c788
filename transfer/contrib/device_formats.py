"""Operators of com.microsoft on tensors in the format of a device: ordered int8 matrices, BFP, compiled graphs.

None has a CPU kernel. The rules follow onnxruntime's docs/ContribOperators.md and its shape inference.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import ge
from absint.lattices.logic.truth import YES
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, const
from absint.lattices.value import Tensor, Value
from absint.transfer.elements.conversion import type_attribute
from absint.transfer.op import Op, as_size
from absint.transfer.rule import MICROSOFT, device, shaped

_ORDER = "the device must support the order of elements"

ORDERED = shaped(
    """
    # The shape of X, as int8.
    QOrderedGelu QOrderedLayerNormalization: X[...] rest* -> Y:int8[...]
    ! the device must support the order of elements
    # The shape of the input (batch, length, hidden), as int8.
    QOrderedLongformerAttention: input[B, L, H] rest* -> output:int8[B, L, H]
    ! the device must support the order of elements
    """,
    domain=MICROSOFT,
)


@device("QuantizeWithOrder", "input scale_input -> output")
def quantize_with_order(op: Op) -> Tensor:
    """The shape of the input, as int8."""
    return Tensor(DType.INT8, _reordered(op))


@device("DequantizeWithOrder", "input scale_input -> output")
def dequantize_with_order(op: Op) -> Tensor:
    """The shape of the input, in the type that the attribute `to` names."""
    return Tensor(type_attribute(op, "to"), _reordered(op))


def _reordered(op: Op) -> Shape:
    """The shape of a matrix or of several; the documents do not say what becomes of a vector."""
    op.may_fail(_ORDER)
    shape = op.tensor("input").shape
    return TOP_SHAPE if shape.rank in (0, 1) else shape


@device(
    "QOrderedAttention",
    "input scale_input scale_Q_gemm scale_K_gemm scale_V_gemm Q_weight K_weight V_weight rest* -> output",
)
def q_ordered_attention(op: Op) -> Tensor:
    """(batch, length, hidden) as int8. The documents differ on `hidden` where the weights change it."""
    shape, weight = op.tensor("input").shape, op.tensor("V_weight").shape
    op.require_rank(shape, 3, "input")
    op.require_rank(weight, 2, "V_weight")
    op.may_fail(_ORDER)
    batch, length, size = (UNKNOWN_SIZE,) * 3 if shape.is_top else shape.dims
    hidden = UNKNOWN_SIZE if weight.is_top else weight[1]
    return Tensor(DType.INT8, shape_of((batch, length, hidden if op.is_equal(size, hidden) is YES else UNKNOWN_SIZE)))


# Block floating point


@device("QuantizeBFP", "x -> y shape strides", elements=True)
def quantize_bfp(op: Op) -> Sequence[Tensor]:
    """The bytes of x, a vector; the shape of x; its strides."""
    shape = op.tensor("x").shape
    op.may_fail("the device must support the format")
    if shape.is_top:
        unknown = Tensor(DType.INT64, shape_of((UNKNOWN_SIZE,)))
        return Tensor(DType.UINT8, unknown.shape), unknown, unknown
    length = shape_of((const(len(shape)),))
    sizes = Contents.of((len(shape),), list(shape.dims))
    return (
        Tensor(DType.UINT8, shape_of((UNKNOWN_SIZE,))),
        Tensor(DType.INT64, length, sizes),
        Tensor(DType.INT64, length),
    )


@device("DequantizeBFP", "x shape strides -> y")
def dequantize_bfp(op: Op) -> Tensor:
    """A tensor of the shape in the input `shape`, in the type that the attribute dtype names."""
    dtype, sizes = type_attribute(op, "dtype", DType.FLOAT), op.integers("shape")
    op.may_fail("the device must support the format")
    if sizes is None:
        return Tensor(dtype)
    for size in sizes:
        op.require(ge(size, 0), "sizes must not be negative")
    return Tensor(dtype, shape_of(tuple(map(as_size, sizes))))


# Compiled graphs


@device("EPContext", "inputs* -> outputs*")
def ep_context(op: Op) -> Sequence[Value]:
    """A graph compiled for a device: nothing is known of its outputs."""
    op.may_fail("the device must exist, and its graph must accept the inputs")
    return ()
