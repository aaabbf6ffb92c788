"""Shapes of which sizes choose one: `[N] if C == 1, else [N, C]`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

from absint.lattices.logic.relation import FALSE, Relation, chosen_of, eq
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of, without_dims
from absint.lattices.terms.expr import Binding, Dim, Expr, add, const
from absint.lattices.terms.intern import InternTable

MAX_CASES: Final = 4
"""A choice of more shapes is treated as one of unknown rank."""


class ShapeChoice(Shape):
    """One of a few shapes of different ranks: in each run the one whose index the selector, a number, gives. Interned.

    `[N] if C == 1, else [N, C]` has the selector `ite(C == 1, 0, 1)`. Whatever settles the selector settles the shape.
    """

    __slots__ = ("_among", "_selector")

    _among: tuple[Shape, ...]
    _selector: Expr

    def __new__(cls, selector: Dim, among: tuple[Shape, ...]) -> Shape:  # type: ignore[misc]
        """A shape of known rank where all that remain have one; any shape if the selector or a rank is unknown."""
        if not isinstance(selector, Expr):
            return TOP_SHAPE
        if selector.const is not None:
            return among[selector.const]
        left = _cases(selector, among)
        shapes = [shape for _, shape in left]
        if not left or len(left) > MAX_CASES or any(shape.rank is None for shape in shapes):
            return TOP_SHAPE
        if len({shape.rank for shape in shapes}) == 1:
            conditions = [condition for condition, _ in left]
            return shape_of(tuple([chosen_of(conditions, sizes) for sizes in zip(*shapes, strict=True)]))

        def build() -> ShapeChoice:
            self = without_dims(cls, is_top=True)
            self._selector, self._among = selector, among
            self._hash = hash((selector, among))
            self.open = tuple(dict.fromkeys((selector, *(dim for shape in shapes for dim in shape.open))))
            return self

        return _CHOICES.add((id(selector), tuple(map(id, among))), build)

    @staticmethod
    def of(condition: Relation, a: Shape, b: Shape) -> Shape:
        """The shape `a` where the condition holds, else `b`, each of known rank or a choice itself."""
        first, rest = _parts(a), _parts(b)
        if first is None or rest is None:
            return TOP_SHAPE
        moved = add(rest[0], const(len(first[1])))
        return ShapeChoice(condition.choose(first[0], moved), (*first[1], *rest[1]))

    @property
    def cases(self) -> tuple[tuple[Relation, Shape], ...]:
        return tuple(_cases(self._selector, self._among))

    @property
    def form(self) -> ShapeChoice:
        """No other shape has the form of a choice."""
        return self

    @property
    def numbers(self) -> tuple[Dim, ...]:
        return self.open

    @property
    def has_names(self) -> bool:
        """No size in a case is unknown."""
        return not any(shape.has_unknown for _, shape in self.cases)

    @cached_property
    def size(self) -> Dim:
        return chosen_of([condition for condition, _ in self.cases], [shape.size for _, shape in self.cases])

    def evaluate(self, binding: Binding) -> list[int]:
        return self._among[self._selector.evaluate(binding)].evaluate(binding)

    def map(self, change: Callable[[Dim], Dim]) -> Shape:
        return ShapeChoice(change(self._selector), tuple([shape.map(change) for shape in self._among]))

    def __str__(self) -> str:
        cases = self.cases
        first = ", ".join(f"{shape} if {condition}" for condition, shape in cases[:-1])
        return f"{first}, else {cases[-1][1]}"


_CHOICES: Final[InternTable[ShapeChoice]] = InternTable()


def _parts(shape: Shape) -> tuple[Expr, tuple[Shape, ...]] | None:
    """The number that chooses, and the shapes of which it does; None if the rank is unknown."""
    if isinstance(shape, ShapeChoice):
        return shape._selector, shape._among
    return None if shape.rank is None else (const(0), (shape,))


def _cases(selector: Expr, among: tuple[Shape, ...]) -> list[tuple[Relation, Shape]]:
    """The shapes that the selector may choose, each with the condition under which it does."""
    found = [(eq(selector, index), shape) for index, shape in enumerate(among) if index in selector.bounds]
    return [(condition, shape) for condition, shape in found if condition is not FALSE]
