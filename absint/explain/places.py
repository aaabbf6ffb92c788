"""Where a number stands in an abstract value: a dim, an element of the contents, the length of a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from lattices.contents import OPAQUE, Contents, Element
from lattices.expr import Dim, Expr, Unknown
from lattices.real import Real
from lattices.relation import Relation
from lattices.shape import shape_of
from lattices.tensor import Map, Optional, SparseTensor, Tensor, Value
from lattices.tensor import Sequence as SequenceValue

Kind = Literal["axis", "element", "length"]


class Place(NamedTuple):
    """A dim by its axis, an element by its row-major index, or a length.

    `depth` counts the sequences, optionals and maps around it.
    """

    kind: Kind
    at: int = 0
    depth: int = 0

    def moved(self, by: int) -> Place:
        """The place of the same kind further on."""
        return self._replace(at=self.at + by)


FIRST: Final = Place("element")
"""The element of a scalar."""


def _opened(value: Value | None, depth: int) -> Value | None:
    for _ in range(depth):
        if not isinstance(value, (SequenceValue, Optional, Map)):
            return None
        value = value.element
    return value


def number_at(value: Value | None, place: Place) -> Element | None:
    """What stands at the place; None if there is no such place, or nothing is known of what stands there.

    A fill has its one element at every index.
    """
    inner = _opened(value, place.depth)
    if place.kind == "length":
        return inner.length if isinstance(inner, SequenceValue) else None
    if not isinstance(inner, (Tensor, SparseTensor)):
        return None
    if place.kind == "axis":
        rank = inner.shape.rank
        return None if rank is None or place.at >= rank else inner.shape.dims[place.at]
    contents = inner.contents if isinstance(inner, Tensor) else None
    if contents is None or not contents.elements:
        return None
    if contents.is_fill:
        return contents.elements[0]
    return contents.elements[place.at] if place.at < len(contents.elements) else None


def numbers_of(value: Value | None) -> Iterator[tuple[Place, Element]]:
    """Everything that is known in a value, with its place: elements before dims."""
    depth = 0
    while isinstance(value, (SequenceValue, Optional, Map)):
        if isinstance(value, SequenceValue) and not isinstance(value.length, Unknown):
            yield Place("length", 0, depth), value.length
        value = value.element
        depth += 1
    if isinstance(value, Tensor) and value.contents is not None:
        for at, element in enumerate(value.contents.elements):
            if element is not OPAQUE and not isinstance(element, Unknown):
                yield Place("element", at, depth), element
    if isinstance(value, (Tensor, SparseTensor)) and value.shape.rank:
        for axis, dim in enumerate(value.shape.dims):
            if not isinstance(dim, Unknown):
                yield Place("axis", axis, depth), dim


def replaced(value: Value, changes: Mapping[Place, Element]) -> Value:
    """The value with other numbers at some places. Elements whose number is no longer known are forgotten."""
    outer: list[Value] = []
    while isinstance(value, (SequenceValue, Optional, Map)):
        outer.append(value)
        value = value.element
    result = _replaced(value, changes, len(outer))
    for depth, wrapper in reversed(list(enumerate(outer))):
        if isinstance(wrapper, SequenceValue):
            length = changes.get(Place("length", 0, depth), wrapper.length)
            result = SequenceValue(result, length if isinstance(length, Dim) else wrapper.length)
        elif isinstance(wrapper, Optional):
            result = Optional(result, wrapper.present)
        elif isinstance(wrapper, Map):
            result = Map(wrapper.key, result)
    return result


def _replaced(value: Value, changes: Mapping[Place, Element], depth: int) -> Value:
    if not isinstance(value, (Tensor, SparseTensor)):
        return value
    shape, contents = value.shape, value.contents if isinstance(value, Tensor) else None
    if shape.rank:
        dims = tuple([_dim(changes.get(Place("axis", a, depth)), d) for a, d in enumerate(shape.dims)])
        if dims != shape.dims:
            shape = shape_of(dims)
            contents = contents if contents is not None and contents.is_fill else None
    if contents is not None:
        elements = [changes.get(Place("element", at, depth), e) for at, e in enumerate(contents.elements)]
        contents = Contents.fill(elements[0]) if contents.is_fill else Contents.of(contents.shape or (), elements)
    return Tensor(value.dtype, shape, contents) if isinstance(value, Tensor) else SparseTensor(value.dtype, shape)


def _dim(number: Element | None, otherwise: Dim) -> Dim:
    return number if isinstance(number, Dim) else otherwise


def as_integer(number: Element | None) -> Expr | Relation | None:
    """The number without its type: an exact float that is an integer, and that integer, are one."""
    if isinstance(number, Real):
        return number.num if number.den == 1 else None
    return number if isinstance(number, (Expr, Relation)) else None


__all__ = ["FIRST", "Kind", "Place", "as_integer", "number_at", "numbers_of", "replaced"]
