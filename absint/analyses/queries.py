"""Questions that analyses ask each other about a value or a node: each class is a question and its answer in one.

Without arguments an answer says nothing. Several analyses may answer: the `meet` of true answers is true.

Rows: the states of nodes in an analysis of values; an analysis as those see it that run together with it; the
comparisons that conditions are made of, and the values that these speak of.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from math import ceil, floor, inf, isfinite
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

from absint.engine import Analysis
from absint.lattices.contents import Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.lattice import Lattice
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.records import record
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.expr import Dim, Expr, as_dim
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real, maximum, minimum
from absint.lattices.value import TOP, AnyTensor, Tensor, Value
from absint.program.folded import Body
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.transfer.traits import RESHAPING

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


T = TypeVar("T")

Row = tuple[Any, ...]
"""The elements of the outputs of a node; empty if nothing has been computed."""


class Member(Analysis[tuple[T, ...]]):
    """An analysis of values, as others see it that run together with it."""

    domain: Lattice[T]
    """The domain of single values."""

    @property
    def label(self) -> str:
        """Its name in proofs, explanations and findings; with what it takes for granted, if it is an assumption."""
        return type(self).__name__

    def names_given(self) -> Collection[str]:
        """The names of inputs, initialisers and constants of which something is taken for granted."""
        return ()

    @abstractmethod
    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        """The answers that a row of the node gives."""

    @abstractmethod
    def is_closed(self, row: Row) -> bool:
        """No run enters a branch or the body of a Loop, by the row of its gate or head."""

    @abstractmethod
    def arguments(self, node: int, rows: Sequence[Row]) -> Row:
        """The row that a folded call gives to its body: of inputs, or backward of outputs."""

    @abstractmethod
    def results(self, body: Body, rows: Sequence[Row]) -> Row:
        """The elements of the outputs of a body, or backward of its inputs."""

    def meet(self, a: Row, b: Row) -> Row:
        """The row that says what both say."""
        return tuple(map(self.domain.meet, a, b)) if len(a) == len(b) else a

    def unknown(self, count: int) -> Row:
        """A row of which nothing is known."""
        return (self.domain.top,) * count


SAME: Final = RESHAPING | {"Identity", "Cast"}
"""Operators of ai.onnx that give the truth of their first input."""

MAX_PARTS: Final = 16
"""Most comparisons of one condition that are followed."""


class ConditionPart(NamedTuple):
    """An operator with one truth as its output, and the truth that it has."""

    node: int
    truth: bool


def parts_of(nodes: Sequence[Node], condition: Operand, truth: bool) -> list[ConditionPart]:
    """The operators that a condition is made of, each with the truth that it has where the condition has this one."""
    found: list[ConditionPart] = []
    pending = [(condition, truth)]
    while pending and len(found) < MAX_PARTS:
        (node, output), truth = pending.pop()
        operation = nodes[node].operation if node >= 0 else None
        if operation is None or output != 0 or operation.domain:
            continue
        operands, kind = nodes[node].operands, operation.op_type
        if kind == "Not":
            pending.append((operands[0], not truth))
        elif kind == ("And" if truth else "Or"):
            pending += [(operand, truth) for operand in reversed(operands)]
        elif kind in SAME:
            pending.append((operands[0], truth))
        elif operands:
            found.append(ConditionPart(node, truth))
    return found


def spoken_of(nodes: Sequence[Node], condition: Operand, truth: bool) -> Iterator[Operand]:
    """The values that the condition speaks of, each once."""
    parts = parts_of(nodes, condition, truth)
    yield from dict.fromkeys(operand for part in parts for operand in nodes[part.node].operands if operand[0] >= 0)
