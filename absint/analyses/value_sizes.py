"""Sizes of values in elements and bytes, as expressions; None where unknown or not fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.piecewise import product_settled
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, mul
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import AnyTensor, OptionalOf, SequenceOf, Value

BITS: Final[Mapping[DType, int]] = {
    dtype: width
    for width, dtypes in {
        2: (DType.UINT2, DType.INT2),
        4: (DType.UINT4, DType.INT4, DType.FLOAT4E2M1),
        6: (DType.FLOAT6E2M3, DType.FLOAT6E3M2),
        8: (DType.UINT8, DType.INT8, DType.BOOL, DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2,
            DType.FLOAT8E5M2FNUZ, DType.FLOAT8E8M0),
        16: (DType.UINT16, DType.INT16, DType.FLOAT16, DType.BFLOAT16),
        32: (DType.UINT32, DType.INT32, DType.FLOAT),
        64: (DType.UINT64, DType.INT64, DType.DOUBLE, DType.COMPLEX64),
        128: (DType.COMPLEX128,),
    }.items()
    for dtype in dtypes
}  # fmt: skip
"""Bits of an element; strings have no fixed width."""

_BITS_OF_A_BYTE: Final = 8


def elements_of(value: Value) -> Expr | None:
    """The number of elements of a tensor; of a sparse one, all that it stands for."""
    if not isinstance(value, AnyTensor) or value.shape.rank is None:
        return None
    return _known(value.shape.size)


def bytes_of(value: Value) -> Expr | None:
    """The bytes of a tensor, of a sequence of tensors of known sizes, or of an optional that is known to be present.

    Elements of less than a byte are packed. Strings and maps have no fixed size; a sparse tensor counts as a dense one.
    """
    if isinstance(value, OptionalOf):
        return ZERO_EXPR if value.present is False else bytes_of(value.element) if value.present else None
    if isinstance(value, SequenceOf):
        return _of_sequence(value)
    count = elements_of(value)
    width = BITS.get(value.dtype) if isinstance(value, AnyTensor) else None
    if count is None or width is None:
        return None
    whole, rest = divmod(width, _BITS_OF_A_BYTE)
    return _known(ceildiv(count * width, _BITS_OF_A_BYTE) if rest else count * whole)


def _of_sequence(value: SequenceOf) -> Expr | None:
    if value.items is None:
        each = bytes_of(value.element)
        return ZERO_EXPR if value.length is ZERO_EXPR else None if each is None else _known(mul(value.length, each))
    total: Dim = ZERO_EXPR
    for item in value.items:
        size = bytes_of(item)
        if size is None:
            return None
        total = total + size
    return _known(total)


def _known(size: Dim) -> Expr | None:
    settled = product_settled(size)
    return settled if isinstance(settled, Expr) else None
