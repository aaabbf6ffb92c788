"""Element types, numbered as in ONNX's TensorProto.DataType."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class DType(IntEnum):
    """The element type of a tensor; UNDEFINED is an unknown one (top), CONFLICT none at all (bottom)."""

    CONFLICT = -1
    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    @property
    def is_integer(self) -> bool:
        return self in INTEGER_RANGES

    @property
    def is_float(self) -> bool:
        """A float whose arithmetic is followed exactly; narrower floats are opaque."""
        return self in MANTISSA_BITS

    @property
    def bits(self) -> int:
        """Bits of one element; 0 if they are not fixed."""
        return _BITS.get(self, 0)

    def __str__(self) -> str:
        return "?" if self is DType.UNDEFINED else self.name


UNDEFINED: Final = DType.UNDEFINED
CONFLICT: Final = DType.CONFLICT
"""Both by themselves, for what runs at every node: Python 3.11 takes ten times as long to find them in the class."""

_BITS_BY_NAME: Final = {
    "FLOAT": 32, "UINT8": 8, "INT8": 8, "UINT16": 16, "INT16": 16, "INT32": 32, "INT64": 64, "BOOL": 8,
    "FLOAT16": 16, "DOUBLE": 64, "UINT32": 32, "UINT64": 64, "COMPLEX64": 64, "COMPLEX128": 128, "BFLOAT16": 16,
    "FLOAT8E4M3FN": 8, "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2": 8, "FLOAT8E5M2FNUZ": 8, "FLOAT8E8M0": 8,
    "FLOAT6E2M3": 6, "FLOAT6E3M2": 6, "UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2,
}  # fmt: skip
_BITS: Final[Mapping[DType, int]] = {DType[name]: bits for name, bits in _BITS_BY_NAME.items()}


def _signed(bits: int) -> tuple[int, int]:
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _unsigned(bits: int) -> tuple[int, int]:
    return 0, (1 << bits) - 1


INTEGER_RANGES: Final[dict[DType, tuple[int, int]]] = {
    DType.INT2: _signed(2),
    DType.INT4: _signed(4),
    DType.INT8: _signed(8),
    DType.INT16: _signed(16),
    DType.INT32: _signed(32),
    DType.INT64: _signed(64),
    DType.UINT2: _unsigned(2),
    DType.UINT4: _unsigned(4),
    DType.UINT8: _unsigned(8),
    DType.UINT16: _unsigned(16),
    DType.UINT32: _unsigned(32),
    DType.UINT64: _unsigned(64),
}
"""Smallest and largest value of each integer type."""

MANTISSA_BITS: Final[dict[DType, int]] = {DType.FLOAT16: 11, DType.FLOAT: 24, DType.DOUBLE: 53}
"""Integers of up to this many bits are exact in the type."""


class DTypeLattice:
    """The flat lattice of element types."""

    bottom = DType.CONFLICT
    top = DType.UNDEFINED

    def leq(self, a: DType, b: DType) -> bool:
        return a is b or a is DType.CONFLICT or b is DType.UNDEFINED

    def why_not_leq(self, a: DType, b: DType) -> str:
        return "" if self.leq(a, b) else f"must be {b}, found {'unknown' if a is DType.UNDEFINED else a}"

    def join(self, a: DType, b: DType) -> DType:
        return b if self.leq(a, b) else a if self.leq(b, a) else DType.UNDEFINED

    def meet(self, a: DType, b: DType) -> DType:
        return a if self.leq(a, b) else b if self.leq(b, a) else DType.CONFLICT

    def widen(self, old: DType, new: DType) -> DType:
        return self.join(old, new)


DTYPES: Final = DTypeLattice()
