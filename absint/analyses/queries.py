"""Questions that analyses ask each other about a value or a node: each class is a question and its answer in one.

Without arguments an answer says nothing. Several analyses may answer: the `meet` of true answers is true.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, inf, isfinite
from typing import Protocol, Self, TypeVar

from absint.lattices.records import record
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.expr import Dim, as_dim
from absint.lattices.terms.normal import maximum, minimum
from absint.lattices.value import TOP, AnyTensor, Value

Number = int | float
Bound = int | float | Dim
"""A number, infinite for none, or an expression over sizes."""


class Query(Protocol):
    """A question, with the answer as its fields; called without arguments it is the answer that says nothing."""

    def meet(self, other: Self) -> Self:
        """An answer that says what both say."""
        ...


Q = TypeVar("Q", bound=Query)


@record()
class ElementBounds:
    """Bounds of every element of a tensor or sequence, both inclusive; a truth is 0 or 1. NaN has none."""

    least: Bound = -inf
    most: Bound = inf

    def meet(self, other: Self) -> Self:
        """The bounds of both."""
        return type(self)(_larger(self.least, other.least), _smaller(self.most, other.most))

    @property
    def numbers(self) -> tuple[Number, Number]:
        """The bounds as numbers, each symbol at its worst."""
        return _least(self.least), _most(self.most)

    @property
    def whole(self) -> tuple[Dim | None, Dim | None]:
        """The bounds of integers as dims; None for an infinite one."""
        least, most = self.least, self.most
        low = least if isinstance(least, Dim) else as_dim(ceil(least)) if isfinite(least) else None
        high = most if isinstance(most, Dim) else as_dim(floor(most)) if isfinite(most) else None
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
    """What the shape analysis knows of a value: its type, shape, and elements if they are few."""

    value: Value = TOP

    def meet(self, other: Self) -> Self:
        """The answer that says something."""
        return other if self.value is TOP else self

    @property
    def shape(self) -> Shape:
        """The shape; that of unknown rank if it is no tensor."""
        return self.value.shape if isinstance(self.value, AnyTensor) else TOP_SHAPE

    def size(self, axis: int) -> Dim | None:
        """The size of an axis, counted from the end if negative; None if the rank is unknown or has no such axis."""
        rank = self.shape.rank
        return self.shape[axis] if rank is not None and -rank <= axis < rank else None


@record()
class Reachable:
    """Some run may reach the node."""

    possible: bool = True

    def meet(self, other: Self) -> Self:
        """Reachable by both."""
        return type(self)(self.possible and other.possible)


def _rounded(bound: Bound, towards: Callable[[float], int]) -> Dim:
    return bound if isinstance(bound, Dim) else as_dim(towards(bound))


def _least(bound: Bound) -> Number:
    if not isinstance(bound, Dim):
        return bound
    return -inf if bound.bounds.lo is None else bound.bounds.lo


def _most(bound: Bound) -> Number:
    if not isinstance(bound, Dim):
        return bound
    return inf if bound.bounds.hi is None else bound.bounds.hi


def _larger(a: Bound, b: Bound) -> Bound:
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return max(a, b)
    if _least(a) == -inf and not isinstance(a, Dim):
        return b
    if _least(b) == -inf and not isinstance(b, Dim):
        return a
    return maximum(_rounded(a, ceil), _rounded(b, ceil))


def _smaller(a: Bound, b: Bound) -> Bound:
    if not isinstance(a, Dim) and not isinstance(b, Dim):
        return min(a, b)
    if not isinstance(a, Dim) and a == inf:
        return b
    if not isinstance(b, Dim) and b == inf:
        return a
    return minimum(_rounded(a, floor), _rounded(b, floor))


__all__ = ["Bound", "ElementBounds", "Number", "Q", "Query", "Reachable", "ShapeOf", "TripCount"]
