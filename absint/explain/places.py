"""The place of a number in an abstract value: a dim, an element of the contents, the length of a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.logic.relation import Relation
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import Dim, Expr, Unknown
from absint.lattices.terms.real import Real
from absint.lattices.value import AnyTensor, Container, SequenceOf, SparseTensor, Tensor, Value

Kind = Literal["axis", "element", "length"]


class Place(NamedTuple):
    """A dim by its axis, an element by its row-major index, or a length.

    `depth` counts the sequences, optionals and maps around it. `items` are the positions in the sequences whose
    elements are known one by one, None for other sequences; empty if there are none.
    """

    kind: Kind
    at: int = 0
    depth: int = 0
    items: tuple[int | None, ...] = ()

    def moved(self, by: int) -> Place:
        """The place of the same kind, shifted by `by`."""
        return self._replace(at=self.at + by)


FIRST: Final = Place("element")
"""The element of a scalar."""


def _opened(value: Value | None, place: Place) -> Value | None:
    for at in place.items or (None,) * place.depth:
        if not isinstance(value, Container):
            return None
        each = value.each if at is not None and isinstance(value, SequenceOf) else None
        value = each[at] if each is not None and at is not None and at < len(each) else value.element
    return value


def number_at(value: Value | None, place: Place) -> Element | None:
    """The number at the place; None if there is no such place, or its number is unknown.

    A fill has its one element at every index.
    """
    inner = _opened(value, place)
    if place.kind == "length":
        return inner.length if isinstance(inner, SequenceOf) else None
    if not isinstance(inner, AnyTensor):
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
    """All numbers known in a value, with their places: elements before dims."""
    stack: list[tuple[Value | None, tuple[int | None, ...]]] = [(value, ())]
    while stack:
        value, around = stack.pop()
        depth, items = len(around), _told_apart(around)
        if isinstance(value, SequenceOf) and not isinstance(value.length, Unknown):
            yield Place("length", 0, depth, items), value.length
        stack.extend((inner, (*around, at)) for at, inner in reversed(_insides(value)))
        if isinstance(value, Tensor) and value.contents is not None:
            for at, element in enumerate(value.contents.elements):
                if element is not OPAQUE and not isinstance(element, Unknown):
                    yield Place("element", at, depth, items), element
        if isinstance(value, AnyTensor) and value.shape.rank:
            for axis, dim in enumerate(value.shape.dims):
                if not isinstance(dim, Unknown):
                    yield Place("axis", axis, depth, items), dim


def _told_apart(around: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return around if any(at is not None for at in around) else ()


def _insides(value: Value | None) -> list[tuple[int | None, Value]]:
    """The elements of a container, each with its position if positions are distinguished."""
    if isinstance(value, SequenceOf) and value.items is not None:
        return list(enumerate(value.items))
    return [(None, value.element)] if isinstance(value, Container) else []


def replaced(value: Value, changes: Mapping[Place, Element]) -> Value:
    """The value with other numbers at some places. Elements whose number is no longer known are forgotten."""
    return _rebuilt(value, changes, ())


def _rebuilt(value: Value, changes: Mapping[Place, Element], around: tuple[int | None, ...]) -> Value:
    if not isinstance(value, Container):
        return _replaced(value, changes, around)
    inner = iter([_rebuilt(found, changes, (*around, at)) for at, found in _insides(value)])
    length = changes.get(Place("length", 0, len(around), _told_apart(around)))
    return value.map(lambda part: next(inner), lambda found: length if isinstance(length, Dim) else found)


def _replaced(value: Value, changes: Mapping[Place, Element], around: tuple[int | None, ...]) -> Value:
    if not isinstance(value, AnyTensor):
        return value
    depth, items = len(around), _told_apart(around)
    shape, contents = value.shape, value.contents if isinstance(value, Tensor) else None
    if shape.rank:
        dims = tuple([_dim(changes.get(Place("axis", a, depth, items)), d) for a, d in enumerate(shape.dims)])
        if dims != shape.dims:
            shape = shape_of(dims)
            contents = contents if contents is not None and contents.is_fill else None
    if contents is not None:
        elements = [changes.get(Place("element", at, depth, items), e) for at, e in enumerate(contents.elements)]
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
