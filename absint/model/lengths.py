"""The length of the data of a tensor, wanted and found, and the largest tensor that there can be.

No elements are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.intern import remembered
from absint.lattices.value import Tensor, Value
from absint.model.wire.tensors import EXTERNAL, Tensor as ReadTensor

if TYPE_CHECKING:
    from absint.model.messages import TensorMessage

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
