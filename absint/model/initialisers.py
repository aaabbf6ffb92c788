"""Tensors of a model file as abstract values: always their sizes, and their elements if few and small.

The length of the data of a tensor, wanted and found, and the largest tensor that there can be.

No elements are read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isfinite, prod
from typing import TYPE_CHECKING, Final

from absint.lattices.contents import MAX_ELEMENTS, OPAQUE, Contents, Element
from absint.lattices.dtype import INTEGER_RANGES, UNDEFINED, DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import const
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.model.opening import read_beside
from absint.model.wire.graphs import TensorMessage
from absint.model.wire.tensors import EXTERNAL, Tensor as ReadTensor

if TYPE_CHECKING:
    import numpy as np

MAX_FLOATS: Final = 64
"""Floats matter for scales and ranges only, so fewer of them are decoded."""

_OFFSET: Final = re.compile(r"[0-9]{1,18}")
_DTYPES: Final = {int(d): d for d in DType}
_FORMATS: Final = {
    DType.INT64: "q",
    DType.INT32: "i",
    DType.INT16: "h",
    DType.INT8: "b",
    DType.UINT64: "Q",
    DType.UINT32: "I",
    DType.UINT16: "H",
    DType.UINT8: "B",
    DType.BOOL: "?",
    DType.FLOAT: "f",
    DType.DOUBLE: "d",
    DType.FLOAT16: "e",
}


def dtype_of(code: int) -> DType:
    """The element type of a TensorProto code; UNDEFINED for one that this package does not know."""
    return _DTYPES.get(code, UNDEFINED)


def decode(tensor: TensorMessage, folder: str | None = None) -> Tensor:
    """The abstract value of a tensor; without its shape if a size is negative, as none is.

    External data are read only for small tensors, from below `folder`.
    """
    if not isinstance(tensor, ReadTensor) or tensor.rest.data_location == EXTERNAL:
        return _decoded(tensor, folder)
    rest = tensor.rest
    if rest.value is None:
        rest.value = _decoded(tensor, folder)
    return rest.value


def _decoded(tensor: TensorMessage, folder: str | None) -> Tensor:
    dims = tuple(tensor.dims[:])
    plain, count = _plain(tensor.data_type, dims)
    if count < 0:
        return plain
    if tensor.HasField("raw_data") and tensor.data_location != EXTERNAL:
        return _of_bytes(plain.dtype, dims, tensor.raw_data)
    return _of_numbers(plain.dtype, dims, _numbers(tensor, plain.dtype, count, folder))


def lacks_data(tensor: TensorMessage) -> bool:
    """The elements are few and in the model itself, and `decode` finds fewer, more, or some that are not of the type.

    A tensor of infinities alone has its data, though nothing is known of its elements.
    """
    dtype, (_, count) = dtype_of(tensor.data_type), _plain(tensor.data_type, tuple(tensor.dims))
    if count < 0 or tensor.data_location == EXTERNAL:
        return False
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data) != struct.calcsize(f"<{count}{_FORMATS[dtype]}")
    return _typed_numbers(tensor, dtype, count) is None


def is_small(code: int, dims: tuple[int, ...]) -> bool:
    """Elements of a tensor of this type and these dims are wanted."""
    return _plain(code, dims)[1] >= 0


@lru_cache(maxsize=1 << 12)
def _plain(code: int, dims: tuple[int, ...]) -> tuple[Tensor, int]:
    """A tensor without its elements, and how many there are; -1 if they are not wanted."""
    dtype = dtype_of(code)
    if dims and min(dims) < 0:
        return Tensor(dtype), -1
    limit = MAX_FLOATS if dtype.is_float else MAX_ELEMENTS
    wanted = dtype in _FORMATS and prod(dims) <= limit
    return Tensor(dtype, Shape(dims)), prod(dims) if wanted else -1


@lru_cache(maxsize=1 << 12)
def _of_bytes(dtype: DType, dims: tuple[int, ...], raw: bytes) -> Tensor:
    """Models repeat small constants."""
    return _of_numbers(dtype, dims, _unpacked(dtype, prod(dims), raw))


def _of_numbers(dtype: DType, dims: tuple[int, ...], numbers: Sequence[int | float | bool] | None) -> Tensor:
    return _of_elements(dtype, dims, None if numbers is None else tuple(numbers))


@lru_cache(maxsize=1 << 12)
def _of_elements(dtype: DType, dims: tuple[int, ...], numbers: tuple[int | float | bool, ...] | None) -> Tensor:
    contents = None if numbers is None else Contents.of(dims, map(element_maker(dtype), numbers))
    return Tensor(dtype, Shape(dims), contents)


def element_maker(dtype: DType) -> Callable[[int | float | bool], Element]:
    """The function that makes an element of this type from a number."""
    if dtype is DType.BOOL:
        return lambda number: TRUE if number else FALSE
    if dtype.is_integer:
        return lambda number: const(int(number))
    return lambda number: Real.constant(number) if isfinite(number) else OPAQUE


def _numbers(
    tensor: TensorMessage, dtype: DType, count: int, folder: str | None
) -> Sequence[int | float | bool] | None:
    if tensor.data_location != EXTERNAL:
        return _typed_numbers(tensor, dtype, count)
    raw = _external_bytes(tensor, struct.calcsize(f"<{count}{_FORMATS[dtype]}"), folder)
    return None if raw is None else _unpacked(dtype, count, raw)


def _unpacked(dtype: DType, count: int, raw: bytes) -> Sequence[int | float | bool] | None:
    layout = f"<{count}{_FORMATS[dtype]}"
    return None if len(raw) != struct.calcsize(layout) else struct.unpack(layout, raw)


def _typed_numbers(tensor: TensorMessage, dtype: DType, count: int) -> Sequence[int | float | bool] | None:
    numbers: Sequence[int | float] = list(getattr(tensor, _FIELDS.get(dtype, "int32_data")))
    if len(numbers) != count:
        return None
    if dtype is DType.FLOAT16:
        if any(not 0 <= bits < 1 << 16 for bits in numbers):
            return None
        return struct.unpack(f"<{count}e", struct.pack(f"<{count}H", *numbers))
    return _narrowed(dtype, numbers) if dtype in INTEGER_RANGES else numbers


def _narrowed(dtype: DType, numbers: Sequence[int | float]) -> Sequence[int | float]:
    """The numbers in the type: fields of a file are wider than narrow types, and readers keep the low bits."""
    lo, hi = INTEGER_RANGES[dtype]
    if not numbers or (lo <= min(numbers) and max(numbers) <= hi):
        return numbers
    return [(int(number) - lo) % (hi - lo + 1) + lo for number in numbers]


def _external_bytes(tensor: TensorMessage, size: int, folder: str | None) -> bytes | None:
    """The bytes of a small external tensor, or None where the file cannot be read; never from outside `folder`."""
    place = None if folder is None else external_place(tensor)
    return None if folder is None or place is None else read_beside(folder, *place, size)


def external_place(tensor: TensorMessage) -> tuple[str, int] | None:
    """The location and the offset of external data; None if the entries do not give them."""
    entries: dict[str, object] = {entry.key: entry.value for entry in tensor.external_data}
    location, offset = entries.get("location"), entries.get("offset", "0")
    # Protobuf gives what is not valid UTF-8 as bytes.
    if not isinstance(location, str) or not isinstance(offset, str) or not _OFFSET.fullmatch(offset):
        return None
    return location, int(offset)


MAX_COPIED: Final = 1 << 16
"""Most bytes of a message of protobuf that are looked at: it copies them."""

_PARTS: Final[Mapping[int, int]] = {DType.COMPLEX64: 2, DType.COMPLEX128: 2}
"""Numbers of an element."""

_FIELDS: Final[Mapping[int, str]] = {
    DType.FLOAT: "float_data",
    DType.COMPLEX64: "float_data",
    DType.DOUBLE: "double_data",
    DType.COMPLEX128: "double_data",
    DType.INT64: "int64_data",
    DType.UINT32: "uint64_data",
    DType.UINT64: "uint64_data",
    DType.STRING: "string_data",
}
"""Fields of elements that are not raw; those of other types are in `int32_data`, several to a number if they have less
than 8 bits."""

_PACKED_BITS: Final = (1, 2, 4)
_BITS: Final = {int(dtype): dtype.bits for dtype in DType if dtype.bits % 8 == 0 or dtype.bits in _PACKED_BITS}


def size_in_bytes(code: int, dims: Sequence[int]) -> int:
    """The bytes of a tensor of this type and these sizes; -1 if they do not say."""
    bits = _BITS.get(code, 0)
    return (prod(dims) * bits + 7) // 8 if bits and (not dims or min(dims) >= 0) else -1


def has_another_length(tensor: TensorMessage) -> bool:
    """The data in the model itself are more or fewer than the type and the sizes want, as far as that is counted."""
    if tensor.data_location == EXTERNAL:
        return False
    code, dims = tensor.data_type, tensor.dims[:]
    count, wanted = prod(dims), size_in_bytes(code, dims)
    if wanted < 0 and (code != DType.STRING or count < 0):
        return False
    if tensor.HasField("raw_data"):
        if code == DType.STRING:
            return True
        found = _found(tensor, "raw_data", wanted <= MAX_COPIED)
        return found is not None and found != wanted
    field = _FIELDS.get(code, "int32_data")
    numbers = wanted if _BITS.get(code) in _PACKED_BITS else count * _PARTS.get(code, 1)
    found = _found(tensor, field, count <= MAX_ELEMENTS or not field.startswith(("int", "uint")))
    return found is not None and found != numbers


def _found(tensor: TensorMessage, field: str, is_cheap: bool) -> int | None:
    """The bytes of `raw_data`, or the elements of another field; None if they are not counted."""
    if isinstance(tensor, ReadTensor):
        return tensor.count(field)
    return len(getattr(tensor, field)) if is_cheap else None


MOST: Final = (1 << 63) - 1
"""The largest size, of an axis or in bytes."""


def oversize(value: Value) -> str | None:
    """The reason why no tensor has the type and shape of a value: a size or its bytes do not fit 63 bits."""
    if not isinstance(value, Tensor) or not value.shape.rank:
        return None
    return too_many(value.shape, value.dtype.bits)


@remembered
def too_many(shape: Shape, bits: int) -> str | None:
    """The reason why no tensor has the shape and elements of so many bits."""
    for dim in shape.dims:
        if dim.bounds.lo is not None and dim.bounds.lo > MOST:
            return f"no axis has {dim} elements: a size fits 63 bits"
    sizes = shape.concrete
    if sizes is not None and prod(sizes) * max(bits, 8) // 8 > MOST:
        return f"no tensor has shape {shape}: its bytes are over 2**63 - 1"
    return None


# Element types of ONNX and those of array libraries.

NUMPY_NAMES: Final[Mapping[DType, str]] = {
    DType.FLOAT: "float32",
    DType.DOUBLE: "float64",
    DType.FLOAT16: "float16",
    DType.BFLOAT16: "bfloat16",
    DType.FLOAT8E4M3FN: "float8_e4m3fn",
    DType.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    DType.FLOAT8E5M2: "float8_e5m2",
    DType.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    DType.FLOAT8E8M0: "float8_e8m0fnu",
    DType.FLOAT6E2M3: "float6_e2m3fn",
    DType.FLOAT6E3M2: "float6_e3m2fn",
    DType.FLOAT4E2M1: "float4_e2m1fn",
    DType.COMPLEX64: "complex64",
    DType.COMPLEX128: "complex128",
    DType.BOOL: "bool",
    DType.STRING: "object",
    **{dtype: dtype.name.lower() for dtype in DType if dtype.name.removeprefix("U").startswith("INT")},
}
"""Element type -> its name in numpy, and in the package ml_dtypes that adds types to it."""

_OF_NAME: Final = {name: dtype for dtype, name in NUMPY_NAMES.items()}
_TEXTS: Final = ("object", "str", "bytes", "StringDType")


def dtype_of_array(dtype: object) -> DType | None:
    """The ONNX element type of a numpy, ml_dtypes, PyTorch or JAX type; None if ONNX has none."""
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    return DType.STRING if name.startswith(_TEXTS) else _OF_NAME.get(name)


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The type of an array of this element type. Raises TypeError if numpy has none, not even with ml_dtypes."""
    import numpy as np

    if dtype not in NUMPY_NAMES:
        raise TypeError(f"numpy has no type {dtype}")
    return np.dtype(NUMPY_NAMES[dtype])
