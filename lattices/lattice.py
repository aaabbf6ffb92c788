"""The interface of a domain: the operations that the fixpoint engine and the executable laws use.

`ValueDomain` is the base of domains of plain values, `Rows` the domain of the outputs of one node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
Compared = TypeVar("Compared", contravariant=True)


class Lattice(Protocol[T]):
    """An abstract domain with elements of type T.

    `leq` is a partial order with `bottom` least and `top` greatest; `join` is the least upper bound; `meet` describes
    every value that both describe, is the smaller of two comparable operands, and below one of two others (in a
    product, factor by factor); `widen(old, new)` is an upper bound of both, and no chain of widenings grows forever.
    `absint.lattices.laws` has these laws in executable form.
    """

    bottom: T
    """No value at all: below every element."""
    top: T
    """Any value: above every element."""

    def leq(self, a: T, b: T) -> bool:
        """Every value that `a` describes is one that `b` describes."""

    def join(self, a: T, b: T) -> T:
        """The least element that is above both."""

    def meet(self, a: T, b: T) -> T:
        """An element that describes every value that both describe."""

    def widen(self, old: T, new: T) -> T:
        """An element above both; no chain of widenings grows forever."""


@runtime_checkable
class ExplainedOrder(Protocol[Compared]):
    """A domain that can explain why its order does not hold. If a `Lattice` has this method, messages use it."""

    def why_not_leq(self, a: Compared, b: Compared) -> str:
        """The reason why `a` is not below `b`, in one line: the place in the element, the expected part, the one found.

        Empty where `a` is below `b`. For a dim of a shape: `dim 1 must be 3, found N`.
        """


def why_not_leq(lattice: Lattice[T], a: T, b: T) -> str:
    """The reason why `a` is not below `b`, in one line; empty if it is. Without `why_not_leq` it names both."""
    if isinstance(lattice, ExplainedOrder):
        return lattice.why_not_leq(a, b)
    return "" if lattice.leq(a, b) else f"must be below {b}, found {a}"


def placed(place: str, reason: str) -> str:
    """A reason found at a place inside an element: `output 1, dim 0 must be 3, found N`. Empty if there is none."""
    if not reason:
        return ""
    return f"{place} {reason}" if reason.startswith("must ") else f"{place}, {reason}"


def first_reason(place: str, reasons: Iterable[str]) -> str:
    """The first reason that is not empty, with its position: `dim 1 must be 3, found N`. Empty if all are."""
    return next((placed(f"{place} {at}", reason) for at, reason in enumerate(reasons) if reason), "")


class ValueDomain(ABC, Generic[T]):
    """A `Lattice` that says which values an element allows, and prints elements."""

    bottom: T
    top: T

    @abstractmethod
    def allows(self, element: T, value: object) -> bool:
        """The value is one that the element describes."""

    @abstractmethod
    def text(self, element: T) -> str:
        """The element in one line."""

    @abstractmethod
    def leq(self, a: T, b: T) -> bool: ...

    @abstractmethod
    def join(self, a: T, b: T) -> T: ...

    @abstractmethod
    def meet(self, a: T, b: T) -> T: ...

    @abstractmethod
    def widen(self, old: T, new: T) -> T: ...

    def why_not_leq(self, a: T, b: T) -> str:
        """The reason why `a` is not below `b`: `must be [0, 3], found [0, 4]`. Empty if it is."""
        return "" if self.leq(a, b) else f"must be {self.text(b)}, found {self.text(a)}"


class Rows(Generic[T]):
    """The empty row is bottom, "not computed". Rows of two lengths only meet at the ends."""

    def __init__(self, places: Lattice[T]) -> None:
        self.places = places
        self.bottom: tuple[T, ...] = ()
        self.top: tuple[T, ...] = (places.top,)

    def leq(self, a: tuple[T, ...], b: tuple[T, ...]) -> bool:
        if a == b or not a or b == self.top:
            return True
        return len(a) == len(b) and all(map(self.places.leq, a, b))

    def why_not_leq(self, a: tuple[T, ...], b: tuple[T, ...]) -> str:
        """The reason why `a` is not below `b`: `output 1, dim 0 must be 3, found N`."""
        if self.leq(a, b):
            return ""
        if not b:
            return "must not be computed"
        if len(a) != len(b):
            return f"must have {len(b)} outputs, found {len(a)}"
        return first_reason("output", map(partial(why_not_leq, self.places), a, b))

    def join(self, a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
        return self._pointwise(a, b, self.places.join)

    def meet(self, a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
        if a == self.top or b == self.top:
            return b if a == self.top else a
        return tuple(map(self.places.meet, a, b)) if len(a) == len(b) else self.bottom

    def widen(self, old: tuple[T, ...], new: tuple[T, ...]) -> tuple[T, ...]:
        return self._pointwise(old, new, self.places.widen)

    def _pointwise(self, a: tuple[T, ...], b: tuple[T, ...], combine: Callable[[T, T], T]) -> tuple[T, ...]:
        if not a or not b:
            return a or b
        return tuple(map(combine, a, b)) if len(a) == len(b) else self.top
