"""Tensors of an ONNX file as plain objects, with the names that protobuf gives their fields; never changed.

A large tensor has its type and sizes, and no elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from absint.lattices import value
from absint.lattices.records import NamedTuple

EXTERNAL: Final = 1
"""TensorProto.DataLocation: the elements are in another file."""


_NONE: Final[Mapping[str, Sequence[int]]] = MappingProxyType({})


def shown(path: str) -> Any:  # noqa: ANN401 (the type of what it shows)
    """A property that shows an attribute of an attribute."""
    return property(attrgetter(path))


class Entry(NamedTuple):
    """A key and its value."""

    key: str
    value: str


class Rest:
    """All of a tensor but its name. Tensors with equal bytes there share one. Elements are there if they are few."""

    __slots__ = (
        *("data_location", "data_type", "dims", "external_data"),
        *("fault", "floats", "held", "integers", "raw_data", "value"),
    )

    def __init__(
        self,
        data_type: int = 0,
        dims: Sequence[int] = (),
        raw_data: bytes | None = None,
        data_location: int = 0,
        external_data: Sequence[Entry] = (),
        integers: Mapping[str, Sequence[int]] = _NONE,
        floats: Mapping[str, Sequence[float]] = _NONE,
        held: Mapping[str, int] | None = None,
    ) -> None:
        """`integers` and `floats` are elements that are not raw, by the names of their fields. `held` counts those
        of the file: bytes of `raw_data`, or numbers and texts of other fields.
        """
        self.data_type = data_type
        self.dims = dims
        self.raw_data = raw_data
        self.data_location = data_location
        self.external_data = external_data
        self.integers = integers
        self.floats = floats
        self.held = held
        self.value: value.Tensor | None = None
        """The abstract value, once somebody has asked for it."""
        self.fault: str | None = None
        """The reason why no runtime accepts it as an initialiser, once somebody has asked for it; empty if one may."""


def _numbers(kind: str, name: str) -> Any:  # noqa: ANN401 (the type of what it shows)
    """A property that shows elements of a kind that are in the field of this name."""
    return property(lambda tensor: getattr(tensor.rest, kind).get(name, ()))


class Tensor:
    """A tensor."""

    __slots__ = ("name", "rest")

    def __init__(self, name: str, rest: Rest) -> None:
        self.name = name
        self.rest = rest

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has `raw_data`."""
        return self.rest.raw_data is not None

    data_type: int = shown("rest.data_type")
    """The code of the element type."""
    dims: Sequence[int] = shown("rest.dims")
    """The sizes."""
    data_location: int = shown("rest.data_location")
    """The elements are in this file, or EXTERNAL."""
    external_data: Sequence[Entry] = shown("rest.external_data")
    """The place of elements that are in another file."""

    @property
    def raw_data(self) -> bytes:
        """Elements as bytes."""
        return self.rest.raw_data or b""

    float_data: Sequence[float] = _numbers("floats", "float_data")
    """Elements that are floats."""
    double_data: Sequence[float] = _numbers("floats", "double_data")
    """Elements that are doubles."""
    int32_data: Sequence[int] = _numbers("integers", "int32_data")
    """Elements of integer types of up to 32 bits, of BOOL, and the bits of small floats."""
    int64_data: Sequence[int] = _numbers("integers", "int64_data")
    """Elements that are INT64."""
    uint64_data: Sequence[int] = _numbers("integers", "uint64_data")
    """Elements that are UINT32 or UINT64."""

    def count(self, field: str) -> int | None:
        """The bytes of `raw_data`, or the elements of another field; None if as many as wanted, or not counted."""
        held = self.rest.held
        return None if held is None else held.get(field)


NO_TENSOR: Final = Tensor("", Rest())


class SparseTensor(NamedTuple):
    """A sparse tensor: its sizes, and tensors of its elements and of their places."""

    values: Tensor = NO_TENSOR
    indices: Tensor = NO_TENSOR
    dims: Sequence[int] = ()


NO_SPARSE: Final = SparseTensor()
