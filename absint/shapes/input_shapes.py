"""Shapes that a caller states for inputs that the model declares without one.

`bind={"X": ["*s", 64]}` and the assumption `shape(X) == [*s, 64]` say the same. It is a premise, as a declaration in
the file is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from absint.errors import UsageError
from absint.lattices.logic.relation import Relation
from absint.lattices.shape import Item, Shape
from absint.lattices.starred import read_shape
from absint.lattices.text.tokens import TextError
from absint.lattices.value import OptionalOf, Tensor, Value
from absint.program.lowered import Lowered
from absint.shapes import sizes

_STATED: Final = re.compile(r"\s*shape\(\s*(?:`([^`]+)`|([^`()]+?))\s*\)\s*==\s*(\[.*\])\s*")


def split_assumptions(
    assume: Sequence[sizes.Assumption], lowered: Lowered
) -> tuple[dict[str, Shape], list[sizes.Assumption]]:
    """The shapes that assumptions state of inputs without one, and the other assumptions.

    Raises UsageError for a shape that does not parse, for two of one input, and for one of an input that has a shape.
    """
    shapes: dict[str, Shape] = {}
    others: list[sizes.Assumption] = []
    for item in assume:
        match = None if isinstance(item, Relation) else _STATED.fullmatch(item)
        name = match and (match[1] or match[2])
        if match is None or not name or name not in lowered.signature.inputs:
            others.append(item)
            continue
        if not is_without_shape(name, lowered):
            raise UsageError(f"assumption {item!r}: {name!r} is declared with a shape: assume relations of its symbols")
        try:
            shape = read_shape(match[3])
        except TextError as problem:
            raise UsageError(f"assumption {item!r} does not parse: {problem.reason}") from None
        if shapes.setdefault(name, shape) is not shape:
            raise UsageError(f"assumption {item!r}: {name!r} is already stated to have shape {shapes[name]}")
    return shapes, others


def bound_shapes(bind: sizes.Sizes, lowered: Lowered) -> dict[str, Shape]:
    """The shapes that sizes state of inputs without one: a number for an axis, a name for any other."""
    found = {}
    sizes.by_name(bind)
    for name, size in bind.items():
        if sizes.is_shape(size) and name in lowered.signature.inputs and is_without_shape(name, lowered):
            try:
                found[name] = Shape([_item(name, sizes.in_integers(axis)) for axis in size])
            except ValueError as problem:
                raise UsageError(f"{sizes.spelled(name, size)}: {problem}") from None
    return found


def _item(name: str, axis: sizes.Size | str | None) -> Item:
    if isinstance(axis, str) and sizes.is_star(axis):
        return f"*`{name}`" if axis == "*" else axis
    return None if sizes.is_range_of_sizes(axis) or not isinstance(axis, int) else axis


def is_without_shape(name: str, lowered: Lowered) -> bool:
    """The model declares the input as a tensor and gives it no shape."""
    value: Value | None = lowered.program.nodes[lowered.signature.inputs[name]].value
    if isinstance(value, OptionalOf):
        value = value.element
    return isinstance(value, Tensor) and value.shape.is_top
