"""Tensors of an ONNX file as plain objects, with the names that protobuf gives their fields; never changed.

A large tensor has its type and sizes, and no elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

EXTERNAL: Final = 1
"""TensorProto.DataLocation: the elements are in another file."""


_NONE: Final[Mapping[str, Sequence[int]]] = MappingProxyType({})


class Entry:
    """A key and its value."""

    __slots__ = ("key", "value")

    def __init__(self, key: str, value: str) -> None:
        self.key = key
        self.value = value


class Tensor:
    """A tensor. Elements are there if they are few."""

    __slots__ = (
        "_floats",
        "_integers",
        "data_location",
        "data_type",
        "dims",
        "external_data",
        "is_raw",
        "name",
        "raw_data",
    )

    def __init__(
        self,
        name: str = "",
        data_type: int = 0,
        dims: Sequence[int] = (),
        raw_data: bytes | None = None,
        data_location: int = 0,
        external_data: Sequence[Entry] = (),
        integers: Mapping[str, Sequence[int]] = _NONE,
        floats: Mapping[str, Sequence[float]] = _NONE,
    ) -> None:
        """`integers` and `floats` are elements that are not raw, by the names of their fields."""
        self.name = name
        self.data_type = data_type
        self.dims = dims
        self.is_raw = raw_data is not None
        self.raw_data = raw_data or b""
        self.data_location = data_location
        self.external_data = external_data
        self._integers = integers
        self._floats = floats

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has `raw_data`."""
        return self.is_raw

    @property
    def float_data(self) -> Sequence[float]:
        """Elements that are floats."""
        return self._floats.get("float_data", ())

    @property
    def double_data(self) -> Sequence[float]:
        """Elements that are doubles."""
        return self._floats.get("double_data", ())

    @property
    def int32_data(self) -> Sequence[int]:
        """Elements of integer types of up to 32 bits, of BOOL, and the bits of small floats."""
        return self._integers.get("int32_data", ())

    @property
    def int64_data(self) -> Sequence[int]:
        """Elements that are INT64."""
        return self._integers.get("int64_data", ())

    @property
    def uint64_data(self) -> Sequence[int]:
        """Elements that are UINT32 or UINT64."""
        return self._integers.get("uint64_data", ())


NO_TENSOR: Final = Tensor()


class SparseTensor:
    """A sparse tensor: its sizes, and tensors of its elements and of their places."""

    __slots__ = ("dims", "indices", "values")

    def __init__(self, values: Tensor = NO_TENSOR, indices: Tensor = NO_TENSOR, dims: Sequence[int] = ()) -> None:
        self.values = values
        self.indices = indices
        self.dims = dims


NO_SPARSE: Final = SparseTensor()


__all__ = ["EXTERNAL", "NO_SPARSE", "NO_TENSOR", "Entry", "SparseTensor", "Tensor"]
