"""Texts of shapes: `[N, *s, 64]` is read back as the shape that prints so, and `?` as any shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import StarredShape
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import UNKNOWN_SIZE, Expr, Symbol, sole_atom
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.text.reading import parse
from absint.lattices.text.tokens import TextError

if TYPE_CHECKING:
    from absint.lattices.shape import Item


def read_shape(text: str) -> Shape:
    """The shape that a text denotes: dims of the grammar between brackets, and at most one variable `*s` among them.

    Raises TextError, which points at the column, for any other text.
    """
    whole = text.strip()
    if whole == "?":
        return TOP_SHAPE
    if not whole.startswith("[") or not whole.endswith("]"):
        raise TextError(text, 0, "expected a shape in brackets, as [N, *s, 64]")
    return shape_of_items([None if item == "?" else item for item in _items(text, whole[1:-1])])


def _items(text: str, inside: str) -> Iterator[str]:
    """The texts between the commas that are in no bracket and no quoted name."""
    if not inside.strip():
        return
    depth, begun, quoted = 0, 0, False
    for at, character in enumerate(inside):
        quoted = quoted != (character == "`" and not (quoted and inside[at - 1] == "\\"))
        if not quoted:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                yield inside[begun:at].strip()
                begun = at + 1
    yield inside[begun:].strip()


def shape_of_items(items: Iterable[Item]) -> Shape:
    """The shape of these dims; a text with a star names a variable. Raises TextError for two of them, or a bad text."""
    head: list[Dim] = []
    tail: list[Dim] = []
    variable: ShapeVariable | None = None
    for item in items:
        if isinstance(item, str) and item.startswith("*"):
            if variable is not None:
                raise TextError(item, 0, "a shape has one variable at most: two lists of sizes in a row are one")
            variable = read_variable(item)
        else:
            dim = item if isinstance(item, Dim) else UNKNOWN_SIZE if item is None else Dim(item)
            (head if variable is None else tail).append(dim)
    return shape_of(tuple(head)) if variable is None else StarredShape(tuple(head), variable, tuple(tail))


def read_variable(text: str) -> ShapeVariable:
    """The variable of a text `*s`. Raises TextError for any other text."""
    dim = parse(text[1:]) if text.startswith("*") else None
    name = sole_atom(dim) if isinstance(dim, Expr) else None
    if not isinstance(name, Symbol):
        raise TextError(text, 0, "expected the name of a shape variable, as *s")
    return ShapeVariable(f"*{name.name}")


__all__ = ["read_shape", "read_variable", "shape_of_items"]
