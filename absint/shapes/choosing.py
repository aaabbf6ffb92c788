"""Choices in values resolved where their conditions hold."""

from __future__ import annotations

from collections.abc import Callable

from absint.lattices.logic.piecewise import chosen
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor, Value


class Choosing:
    """Resolves the choices in a value whose conditions hold. Equal ones do the same, as the memo demands."""

    __slots__ = ("held",)

    def __init__(self, held: frozenset[Relation]) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choosing) and self.held == other.held

    def __hash__(self) -> int:
        return hash(self.held)

    def __call__(self, value: Value) -> Value:
        if isinstance(value, Tensor) and not value.shape.open and (value.contents is None or not value.contents.open):
            return value
        return replaced(value, lambda dim: chosen(dim, self.held))


def replaced(value: Value, change: Callable[[Dim], Dim]) -> Value:
    """The value with its dims and integer elements changed."""
    if not isinstance(value, Tensor):
        return value
    contents = value.contents
    if contents is not None:
        contents = contents.map(lambda e: change(e) if isinstance(e, Dim) else e)
    return Tensor(value.dtype, value.shape.map(change), contents)


__all__ = ["Choosing", "replaced"]
