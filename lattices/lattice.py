"""What a domain is: the operations that the fixpoint engine and the executable laws ask for."""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T")


class Lattice(Protocol[T]):
    """An abstract domain with elements of type T.

    `leq` is a partial order with `bottom` least and `top` greatest; `join` is an upper bound; `meet` over-approximates
    the values that both describe and is below at least one of its operands; `widen(old, new)` is an upper bound of both, and
    no chain of widenings grows forever.
    """

    bottom: T
    top: T

    def leq(self, a: T, b: T) -> bool: ...

    def join(self, a: T, b: T) -> T: ...

    def meet(self, a: T, b: T) -> T: ...

    def widen(self, old: T, new: T) -> T: ...
