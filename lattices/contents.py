"""What is known of the elements of a small tensor: the domain that shape arithmetic in a model is followed with.

Elements are interned: an integer is a dim, a boolean a relation, a float an exact real; OPAQUE stands for one of which
nothing is known. Contents are either a row-major tuple of elements with a concrete shape, at most `MAX_ELEMENTS`, or a
fill: every element is the same, whatever the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lattices.dim import DIMS
from lattices.expr import Dim, Expr, Symbol, substitute
from lattices.intern import InternTable
from lattices.real import Real
from lattices.relation import OPEN, Relation

MAX_ELEMENTS: Final = 1024

ObjectArray = npt.NDArray[np.object_]


class Opaque:
    """An element of which nothing is known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


OPAQUE: Final = Opaque()

Element = Dim | Relation | Real | Opaque


class Contents:
    """The elements of a tensor. `shape` is None for a fill."""

    __slots__ = ("__weakref__", "elements", "shape")

    shape: tuple[int, ...] | None
    elements: tuple[Element, ...]

    @staticmethod
    def of(shape: Sequence[int], elements: Iterable[Element]) -> Contents | None:
        """Row-major elements of a concrete shape, or None if nothing is known of any or there are too many."""
        items = tuple(elements)
        sizes = tuple(shape)
        if prod(sizes) != len(items):
            raise ValueError(f"{len(items)} elements do not fill shape {sizes}")
        if len(items) > MAX_ELEMENTS or (items and all(e is OPAQUE or e is DIMS.top for e in items)):
            return None
        return _intern(sizes, items)

    @staticmethod
    def vector(elements: Iterable[Element]) -> Contents | None:
        """A tensor of rank 1."""
        items = tuple(elements)
        return Contents.of((len(items),), items)

    @staticmethod
    def scalar(element: Element) -> Contents | None:
        """A tensor of rank 0."""
        return Contents.of((), (element,))

    @staticmethod
    def from_array(array: ObjectArray) -> Contents | None:
        """The elements of an object array."""
        return Contents.of(array.shape, array.ravel().tolist()) if array.size <= MAX_ELEMENTS else None

    @staticmethod
    def fill(element: Element) -> Contents | None:
        """Every element is this one, for any shape."""
        return None if element is OPAQUE or element is DIMS.top else _intern(None, (element,))

    @property
    def is_fill(self) -> bool:
        return self.shape is None

    def array(self, shape: Sequence[int] | None = None) -> ObjectArray | None:
        """The elements as an object array; a fill needs the shape, and gives None where it has too many elements."""
        sizes = self.shape if self.shape is not None else shape
        if sizes is None or prod(sizes) > MAX_ELEMENTS:
            return None
        result = np.empty(tuple(sizes), dtype=object)
        if self.is_fill:
            result.fill(self.elements[0])
        else:
            result.ravel()[:] = self.elements
        return result

    def map(self, change: Callable[[Element], Element]) -> Contents | None:
        """The contents with each element changed."""
        items = tuple(change(e) for e in self.elements)
        return Contents.fill(items[0]) if self.shape is None else Contents.of(self.shape, items)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Contents | None:
        """Replace symbols in every element."""
        return self.map(lambda e: replace_in(e, mapping))

    def __str__(self) -> str:
        if self.shape is None:
            return f"all {self.elements[0]}"
        if self.shape == ():
            return str(self.elements[0])
        return str(self._nested(self.shape, 0)).replace("'", "")

    def _nested(self, shape: tuple[int, ...], at: int) -> list[Any]:
        if len(shape) == 1:
            return [str(e) for e in self.elements[at : at + shape[0]]]
        step = prod(shape[1:])
        return [self._nested(shape[1:], at + i * step) for i in range(shape[0])]

    def __repr__(self) -> str:
        return f"Contents({self})"


_CONTENTS: InternTable[Contents] = InternTable()


def _intern(shape: tuple[int, ...] | None, elements: tuple[Element, ...]) -> Contents:
    # The kinds are part of the key: Dim 1 and Real 1 must never be one element.
    key = (shape, elements, tuple(map(type, elements)))

    def build() -> Contents:
        self = object.__new__(Contents)
        self.shape, self.elements = shape, elements
        return self

    found = _CONTENTS.get(key)
    return found if found is not None else _CONTENTS.add(key, build)


def replace_in(element: Element, mapping: Mapping[Symbol, Dim]) -> Element:
    """The element with symbols replaced."""
    if isinstance(element, Expr):
        return substitute(element, mapping)
    if isinstance(element, Relation):
        changed = element.substitute(mapping)
        return OPAQUE if changed is OPEN else changed
    if isinstance(element, Real):
        num = substitute(element.num, mapping)
        return Real.of(num, element.den) or OPAQUE
    return element


def element_symbols(element: Element) -> frozenset[Symbol]:
    """The integer symbols that occur in an element."""
    if isinstance(element, (Expr, Relation)):
        return element.symbols
    return element.num.symbols if isinstance(element, Real) else frozenset()


def join_elements(a: Element, b: Element) -> Element:
    """An element that describes both."""
    if a is b:
        return a
    if isinstance(a, Dim) and isinstance(b, Dim):
        return DIMS.join(a, b)
    return a if a == b else OPAQUE


def leq_elements(a: Element, b: Element) -> bool:
    """Every value that a allows, b allows."""
    if b is OPAQUE or a is b:
        return True
    return DIMS.leq(a, b) if isinstance(a, Dim) and isinstance(b, Dim) else a == b


class ContentsLattice:
    """Pointwise on elements; None is top (nothing known). There is no bottom: a tensor without runs is bottom itself."""

    top: Contents | None = None

    def leq(self, a: Contents | None, b: Contents | None) -> bool:
        if a is b or b is None:
            return True
        if a is None:
            return False
        if b.is_fill:
            return all(leq_elements(e, b.elements[0]) for e in a.elements)
        return a.shape == b.shape and all(map(leq_elements, a.elements, b.elements))

    def join(self, a: Contents | None, b: Contents | None) -> Contents | None:
        return self._pointwise(a, b, join_elements)

    def widen(self, old: Contents | None, new: Contents | None) -> Contents | None:
        return self._pointwise(old, new, _widen_elements)

    def _pointwise(
        self, a: Contents | None, b: Contents | None, combine: Callable[[Element, Element], Element]
    ) -> Contents | None:
        if a is None or b is None:
            return None
        if a is b:
            return a
        if a.is_fill and b.is_fill:
            return Contents.fill(combine(a.elements[0], b.elements[0]))
        if a.is_fill or b.is_fill:
            return self._with_fill(a, b, combine)
        return Contents.of(a.shape or (), map(combine, a.elements, b.elements)) if a.shape == b.shape else None

    @staticmethod
    def _with_fill(a: Contents, b: Contents, combine: Callable[[Element, Element], Element]) -> Contents | None:
        """Join of a fill and a tuple: the fill of all elements, since the shapes may differ."""
        first, *rest = (*a.elements, *b.elements)
        for e in rest:
            first = combine(first, e)
        return Contents.fill(first)

    def meet(self, a: Contents | None, b: Contents | None) -> Contents | None:
        """The more exact of the two."""
        if a is None or self.leq(b, a):
            return b
        return a


def _widen_elements(old: Element, new: Element) -> Element:
    if isinstance(old, Dim) and isinstance(new, Dim):
        return DIMS.widen(old, new)
    return join_elements(old, new)


CONTENTS: Final = ContentsLattice()
