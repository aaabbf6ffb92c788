"""The values of an analysis by name, computed on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from absint.lattices.shape import Shape
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.graph import Scope
from absint.program.steps import Operand


class Shapes(Mapping[str, Shape | None]):
    """Tensor values of one graph body by name; None where the rank is unknown. Computed on access."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __getitem__(self, name: str) -> Shape | None:
        value = self._view[name]
        if isinstance(value, Tensor):
            return None if value.shape.rank is None else value.shape
        if value is TOP or value is BOTTOM:
            return None
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._view.items() if isinstance(value, Tensor) or value in (TOP, BOTTOM))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Shapes({dict(self)!r})"


class View(Mapping[str, Value]):
    """Abstract values of one graph body by name."""

    def __init__(self, value_of: Callable[[Operand], Value], scope: Scope) -> None:
        self._value_of = value_of
        self._scope = scope

    def __getitem__(self, name: str) -> Value:
        return self._value_of(self._scope.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.names)

    def __len__(self) -> int:
        return len(self._scope.names)

    @property
    def shapes(self) -> Shapes:
        """The tensors among them."""
        return Shapes(self)
