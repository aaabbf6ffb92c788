"""The interface of a domain: the operations that the fixpoint engine and the executable laws use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar, runtime_checkable

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
