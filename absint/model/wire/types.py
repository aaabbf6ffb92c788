"""Declared types of an ONNX file as plain objects, with the names that protobuf gives their fields; never changed.

A field that the file leaves out has protobuf's default. A text that is not valid UTF-8 is bytes, as in protobuf, whose
annotations do not say so either.
"""

from __future__ import annotations

from typing import Final


class Dim:
    """A size, a text, or neither."""

    __slots__ = ("_kind", "dim_param", "dim_value")

    def __init__(self, kind: str | None = None, size: int = 0, text: str = "") -> None:
        self._kind = kind
        self.dim_value = size
        self.dim_param = text

    def WhichOneof(self, _: str) -> str | None:  # noqa: N802
        """`dim_value`, `dim_param` or None."""
        return self._kind


class Dims:
    """The dims of a tensor's type."""

    __slots__ = ("dim",)

    def __init__(self, dim: tuple[Dim, ...] = ()) -> None:
        self.dim = dim


_NO_DIMS: Final = Dims()


class TensorType:
    """The element type and the dims of a tensor, dense or sparse."""

    __slots__ = ("elem_type", "shape")

    def __init__(self, elem_type: int = 0, shape: Dims = _NO_DIMS) -> None:
        self.elem_type = elem_type
        self.shape = shape

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has a `shape`."""
        return self.shape is not _NO_DIMS


class ElementType:
    """The type of the elements of a sequence, or of the value of an optional."""

    __slots__ = ("elem_type",)

    def __init__(self, elem_type: Type) -> None:
        self.elem_type = elem_type


class MapType:
    """The types of the keys and the values of a map."""

    __slots__ = ("key_type", "value_type")

    def __init__(self, key_type: int, value_type: Type) -> None:
        self.key_type = key_type
        self.value_type = value_type


class Type:
    """The type of a value: one of several kinds, or none."""

    __slots__ = ("_content", "_inner", "_kind")

    def __init__(
        self,
        kind: str | None = None,
        inner: TensorType | ElementType | MapType | None = None,
        content: bytes = b"",
    ) -> None:
        self._kind = kind
        self._inner = inner
        self._content = content

    def WhichOneof(self, _: str) -> str | None:  # noqa: N802
        """The kind: `tensor_type`, `sequence_type` and so on, or None."""
        return self._kind

    def SerializeToString(self) -> bytes:  # noqa: N802
        """Its bytes in the file."""
        return self._content

    @property
    def tensor_type(self) -> TensorType:
        """A dense tensor."""
        return self._inner if self._kind == "tensor_type" and isinstance(self._inner, TensorType) else _NO_TENSOR

    @property
    def sparse_tensor_type(self) -> TensorType:
        """A sparse tensor."""
        return self._inner if self._kind == "sparse_tensor_type" and isinstance(self._inner, TensorType) else _NO_TENSOR

    @property
    def sequence_type(self) -> ElementType:
        """A sequence."""
        return self._inner if self._kind == "sequence_type" and isinstance(self._inner, ElementType) else _NO_ELEMENT

    @property
    def optional_type(self) -> ElementType:
        """An optional."""
        return self._inner if self._kind == "optional_type" and isinstance(self._inner, ElementType) else _NO_ELEMENT

    @property
    def map_type(self) -> MapType:
        """A map."""
        return self._inner if isinstance(self._inner, MapType) else _NO_MAP


NO_TYPE: Final = Type()
_NO_TENSOR: Final = TensorType()
_NO_ELEMENT: Final = ElementType(NO_TYPE)
_NO_MAP: Final = MapType(0, NO_TYPE)


class ValueInfo:
    """The declared type of a value."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: Type) -> None:
        self.name = name
        self.type = type

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has a `type`."""
        return self.type is not NO_TYPE
