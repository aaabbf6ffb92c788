"""The values of an analysis by name, computed on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar, overload

from absint.errors import UnknownNameError, UsageError
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.graph import Scope
from absint.program.steps import Operand
from absint.solution.described import described

T = TypeVar("T")


class Shapes(Mapping[str, Shape]):
    """The shapes of the tensors of one graph by name, computed on access.

    A shape of unknown rank is `Shape(None)`: its `is_top` is True, and it has no dims. A name that is no tensor of the
    graph raises UnknownNameError, which is a UsageError and a KeyError. `get` returns its default for both.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    @overload
    def get(self, name: str, default: None = None, /) -> Shape | None: ...
    @overload
    def get(self, name: str, default: Shape | T, /) -> Shape | T: ...
    def get(self, name: str, default: object = None, /) -> object:
        """The shape if its rank is known, else the default."""
        return default if name not in self or (found := self[name]).is_top else found

    def __getitem__(self, name: str) -> Shape:
        found = _shape_of(self._view[name])
        if found is None:
            raise UnknownNameError(f"{self._view.place} has no tensor", name, self)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._view and _shape_of(self._view[name]) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._view.items() if _shape_of(value) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Shapes({dict(self)!r})"


def _shape_of(value: Value) -> Shape | None:
    if isinstance(value, Tensor):
        return value.shape
    return TOP_SHAPE if value is TOP else BOTTOM_SHAPE if value is BOTTOM else None


class View(Mapping[str, Value]):
    """The values of one graph by name. Any other name raises UnknownNameError, a UsageError and a KeyError."""

    def __init__(self, value_of: Callable[[Operand], Value], scope: Scope, path: str = "") -> None:
        self._value_of = value_of
        self._scope = scope
        self.place: Final = repr(path) if path else "the main graph"

    def __getitem__(self, name: str) -> Value:
        return self._value_of(self.operand(name))

    def operand(self, name: str) -> Operand:
        """The node that computes a value, and the index among its outputs."""
        found = self._scope.names.get(name)
        if found is None:
            raise UnknownNameError(f"{self.place} has no value", name, self._scope.names)
        return found

    def tensor(self, name: str) -> Tensor:
        """A value that is a tensor. Raises UsageError for any other."""
        value = self[name]
        if not isinstance(value, Tensor):
            raise UsageError(f"{self.place} has no tensor {name!r}: it is {described(value)}")
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._scope.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names)

    def __len__(self) -> int:
        return len(self._scope.names)

    def __repr__(self) -> str:
        return f"<View of {self.place}: {len(self):,} values>"

    @property
    def shapes(self) -> Shapes:
        """The tensors among them."""
        return Shapes(self)
