"""The attributes of an operator instance, read by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, overload

from absint.lattices.value import Tensor
from absint.transfer.stated import BadNodeError

AttributeValue = int | float | str | bytes | Tensor | list[int] | list[float] | list[str] | object

_INTEGERS: Final = frozenset({int, bool})


class Attributes:
    """Attributes by name, with defaults. Raises BadNodeError for an attribute of another type."""

    __slots__ = ("attributes",)

    attributes: Mapping[str, AttributeValue]

    @overload
    def integer(self, name: str) -> int | None: ...
    @overload
    def integer(self, name: str, default: int) -> int: ...
    def integer(self, name: str, default: int | None = None) -> int | None:
        """An integer attribute."""
        value = self.attributes.get(name)
        if value is None:
            return default
        if not isinstance(value, int):
            raise BadNodeError(f"attribute {name} must be an integer")
        return value

    @overload
    def number(self, name: str) -> float | None: ...
    @overload
    def number(self, name: str, default: float) -> float: ...
    def number(self, name: str, default: float | None = None) -> float | None:
        """A float attribute."""
        value = self.attributes.get(name)
        if value is None:
            return default
        if not isinstance(value, (float, int)):
            raise BadNodeError(f"attribute {name} must be a float")
        return value

    @overload
    def string(self, name: str) -> str | None: ...
    @overload
    def string(self, name: str, default: str) -> str: ...
    def string(self, name: str, default: str | None = None) -> str | None:
        """A string attribute."""
        value = self.attributes.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise BadNodeError(f"attribute {name} must be a string")
        return value

    def ints(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers, or None if it is absent."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or not _INTEGERS.issuperset(map(type, value)):
            raise BadNodeError(f"attribute {name} must be a list of integers")
        return [*value]

    def attribute_tensor(self, name: str) -> Tensor | None:
        """A tensor attribute, as an abstract value."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, Tensor):
            raise BadNodeError(f"attribute {name} must be a tensor")
        return value
