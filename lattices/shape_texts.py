"""Texts of shapes: `[N, *s, 64]` is read back as the shape that prints so, and `?` as any shape."""

from __future__ import annotations

from collections.abc import Iterator

from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.text.tokens import TextError


def read_shape(text: str) -> Shape:
    """The shape that a text denotes: dims of the grammar between brackets, and at most one variable `*s` among them.

    Raises TextError, which points at the column, for any other text.
    """
    whole = text.strip()
    if whole == "?":
        return TOP_SHAPE
    if not whole.startswith("[") or not whole.endswith("]"):
        raise TextError(text, 0, "expected a shape in brackets, as [N, *s, 64]")
    try:
        return Shape([None if item == "?" else item for item in _items(text, whole[1:-1])])
    except TextError:
        raise
    except ValueError as problem:
        raise TextError(text, 0, str(problem)) from None


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
