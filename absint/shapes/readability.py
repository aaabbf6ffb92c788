"""Sizes that people can read: the shortest of the known equal forms, and none that goes on for pages.

A size whose expression would be too long is unknown but for its bounds and congruence, and a note of the node says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from absint.lattices.contents import Contents, Element
from absint.lattices.logic.piecewise import shortest
from absint.lattices.shape import Shape
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import Expr, Unknown
from absint.lattices.terms.periodic import FEW, extent
from absint.lattices.terms.shortening import length
from absint.lattices.value import Tensor, Value
from absint.shapes.summaries import State

MOST: Final = 20_000
"""Characters of an expression, about. Later rounds shorten many: of 90 exported models none keeps one over 400."""

_SHORT: Final = 20
"""Atoms of an expression that is not measured."""


def readable(outputs: State) -> tuple[State, tuple[str, ...]]:
    """The outputs with sizes and elements in their shortest forms, and what to say of those that are too long."""
    if all(map(is_short, outputs)):
        return outputs, ()
    notes: list[str] = []
    return tuple([_readable(v, i, notes) if isinstance(v, Tensor) else v for i, v in enumerate(outputs)]), tuple(notes)


def is_short(value: Value) -> bool:
    """No size or element of it is long."""
    return not isinstance(value, Tensor) or (value.shape.largest < FEW and not _has_long(value.contents))


def is_readable(value: Value) -> bool:
    """Its sizes and elements are in their shortest forms, and none is too long."""
    if is_short(value):
        return True
    assert isinstance(value, Tensor)
    elements = value.contents.open if value.contents is not None else ()
    return all(map(is_final, value.shape.open)) and all(is_final(e) for e in elements if isinstance(e, Expr))


def is_final(dim: Expr) -> bool:
    """It is its shortest form, and not too long."""
    return dim.size < FEW or (shortest(dim) is dim and (dim.size <= _SHORT or length(dim) <= MOST))


def _has_long(contents: Contents | None) -> bool:
    """An element is a long expression."""
    if contents is None or not contents.open:
        return False
    return any(isinstance(e, Expr) and e.size >= FEW for e in contents.open)


def _readable(value: Tensor, index: int, notes: list[str]) -> Tensor:
    shape, contents = value.shape, value.contents
    if shape.largest >= FEW:
        shape = _sizes(shape, lambda axis, text: notes.append(f"{place(index, axis)} {text}"))
    if contents is not None and _has_long(contents):
        contents = _elements(contents, lambda at, text: notes.append(f"{place(index, at, 'element')} {text}"))
    unchanged = shape is value.shape and contents is value.contents
    return value if unchanged else Tensor(value.dtype, shape, contents, value.ramps)


def place(output: int, at: int, kind: str = "axis") -> str:
    """The place of a number in the outputs of a node, with which the note about it begins."""
    return f"output {output}, {kind} {at}:"


def _sizes(shape: Shape, say: Callable[[int, str], None]) -> Shape:
    return shape.around(tuple([_short(dim, axis, say) for axis, dim in enumerate(shape.known)]))


def _elements(contents: Contents, say: Callable[[int, str], None]) -> Contents | None:
    def short(at: int, element: Element) -> Element:
        return _short(element, at, say) if isinstance(element, Dim) else element

    if contents.is_fill:
        return Contents.fill(short(0, contents.elements[0]))
    return Contents.of(contents.shape or (), [short(at, e) for at, e in enumerate(contents.elements)])


def _short(dim: Dim, at: int, say: Callable[[int, str], None]) -> Dim:
    best = shortest(dim)
    if not isinstance(best, Expr) or best.size <= _SHORT or (long := length(best)) <= MOST:
        return best
    say(at, f"its expression has about {long:,} characters, more than {MOST:,}: unknown but for its bounds")
    return Unknown(best.bounds.meet(extent(best)), best.congruence)
