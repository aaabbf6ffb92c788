"""Questions that analyses ask each other about a value or a node: each class is a question and its answer in one.

Without arguments an answer says nothing. Several analyses may answer: the `meet` of true answers is true.
"""

from __future__ import annotations

from math import ceil, floor, inf, isfinite
from typing import Protocol, Self, TypeVar

from absint.lattices.contents import Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.records import record
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.expr import Dim, Expr, as_dim
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real, maximum, minimum
from absint.lattices.value import TOP, AnyTensor, Tensor, Value

Number = int | float
Bound = int | float | Dim | None
"""A number, or an expression over sizes; None or an infinite number for none."""


class Query(Protocol):
    """A question, with the answer as its fields; called without arguments it is the answer that says nothing."""

    def meet(self, other: Self) -> Self:
        """An answer that says what both say."""
        ...


Q = TypeVar("Q", bound=Query)


@record()
class ElementBounds:
    """Bounds of every element of a tensor or sequence, both inclusive; a truth is 0 or 1. NaN has none."""

    least: Bound = None
    most: Bound = None

    def meet(self, other: Self) -> Self:
        """The bounds of both."""
        return type(self)(_larger(self.least, other.least), _smaller(self.most, other.most))

    @property
    def numbers(self) -> tuple[Number, Number]:
        """The bounds as numbers, each symbol at its worst."""
        return _least(self.least), _most(self.most)

    @property
    def interval(self) -> Interval:
        """The integers between the bounds, each symbol at its worst."""
        least, most = self.numbers
        return Interval(ceil(least) if isfinite(least) else None, floor(most) if isfinite(most) else None)

    @property
    def whole(self) -> tuple[Dim | None, Dim | None]:
        """The bounds of integers as dims; None for an infinite one."""
        least, most = self.interval
        low = self.least if isinstance(self.least, Dim) else None if least is None else as_dim(least)
        high = self.most if isinstance(self.most, Dim) else None if most is None else as_dim(most)
        return low, high

    @property
    def truth(self) -> bool | None:
        """The truth that all elements have, if it is one."""
        least, most = self.numbers
        return True if least >= 1 else False if most <= 0 else None


class TripCount(ElementBounds):
    """Bounds of the number of trips that a loop makes, by its head."""


@record()
class ShapeOf:
    """A value as the shape analysis knows it: its type, shape, and elements if they are few."""

    value: Value = TOP

    def meet(self, other: Self) -> Self:
        """The answer that says something."""
        return other if self.value is TOP else self

    @property
    def shape(self) -> Shape:
        """The shape; that of unknown rank if it is no tensor."""
        return self.value.shape if isinstance(self.value, AnyTensor) else TOP_SHAPE

    @property
    def dtype(self) -> DType:
        """The element type; UNDEFINED if it is not known, or the value is no tensor."""
        return self.value.dtype if isinstance(self.value, AnyTensor) else DType.UNDEFINED

    def size(self, axis: int) -> Dim | None:
        """The size of an axis, counted from the end if negative; None if the rank is unknown or has no such axis."""
        rank = self.shape.rank
        return self.shape[axis] if rank is not None and -rank <= axis < rank else None

    def most(self, axis: int | None = None) -> Number:
        """The greatest size of an axis, or of any axis, which is 1 of a scalar; infinite if it has no bound."""
        rank = self.shape.rank
        if axis is None and rank is None:
            return inf
        axes = [axis] if axis is not None else range(rank or 0)
        return max((_most(self.size(one)) for one in axes), default=1)


@record()
class ElementOf:
    """The finding of one analysis about a value, in its own domain; None without one."""

    element: object = None

    def meet(self, other: Self) -> Self:
        """The answer that says something."""
        return other if self.element is None else self


@record()
class Reachable:
    """Some run may reach the node."""

    possible: bool = True

    def meet(self, other: Self) -> Self:
        """Reachable by both."""
        return type(self)(self.possible and other.possible)


def _least(bound: Bound) -> Number:
    low = bound.bounds.lo if isinstance(bound, Dim) else bound
    return -inf if low is None else low


def _most(bound: Bound) -> Number:
    high = bound.bounds.hi if isinstance(bound, Dim) else bound
    return inf if high is None else high


def _larger(a: Bound, b: Bound) -> Bound:
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return max(_least(a), _least(b))
    one, other = ElementBounds(a).whole[0], ElementBounds(b).whole[0]
    return other if one is None else one if other is None else maximum(one, other)


def _smaller(a: Bound, b: Bound) -> Bound:
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return min(_most(a), _most(b))
    one, other = ElementBounds(None, a).whole[1], ElementBounds(None, b).whole[1]
    return other if one is None else one if other is None else minimum(one, other)


# Bounds of the elements of a tensor, from what the shape analysis knows of it.


def bounds_of(value: Value) -> ElementBounds:
    """Bounds of all elements; those of the element type where they are not known.

    A term of data that may not fit the type wraps around. Sizes are taken to fit: they have no greatest.
    """
    if not isinstance(value, Tensor):
        return ElementBounds()
    by_type = ElementBounds(0, 1) if value.dtype is DType.BOOL else ElementBounds(*INTEGER_RANGES.get(value.dtype, ()))
    contents = value.contents
    if contents is None or not contents.elements:
        return by_type
    elements = list(dict.fromkeys(contents.elements))
    least, most = _of(elements[0])
    if len(elements) == 1 and isinstance(least, Dim):
        return by_type if _wraps(ElementBounds(least, most), by_type) else ElementBounds(least, most)
    if len(elements) > 1:
        ends = [ElementBounds(*_of(element)).numbers for element in elements]
        least, most = min(low for low, _ in ends), max(high for _, high in ends)
    found = ElementBounds(least, most)
    return by_type if _wraps(found, by_type) else found.meet(by_type)


def _wraps(found: ElementBounds, by_type: ElementBounds) -> bool:
    (least, most), (low, high) = found.numbers, by_type.numbers
    return -inf < least < low or high < most < inf


def _of(element: Element) -> tuple[Bound, Bound]:
    if isinstance(element, Expr):
        return element, element
    if isinstance(element, Dim):
        low, high = element.bounds
        return -inf if low is None else low, inf if high is None else high
    if isinstance(element, Relation):
        return (1, 1) if element is TRUE else (0, 0) if element is FALSE else (0, 1)
    fraction = element.fraction if isinstance(element, Real) else None
    if fraction is None:
        return -inf, inf
    # The quotient stands for itself, or for the float that is nearest to it in the type of the tensor.
    return (float(fraction),) * 2 if fraction.denominator & (fraction.denominator - 1) == 0 else (-inf, inf)
