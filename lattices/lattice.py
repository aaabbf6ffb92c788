"""What a domain is: the operations that the fixpoint engine and the executable laws ask for."""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T")


class Lattice(Protocol[T]):
    """An abstract domain with elements of type T.

    `leq` is a partial order with `bottom` least and `top` greatest; `join` is the least upper bound; `meet` describes
    every value that both describe, is the smaller of two comparable operands, and below one of two others (in a
    product, factor by factor); `widen(old, new)` is an upper bound of both, and no chain of widenings grows forever.
    `absint.lattices.laws` has these laws in executable form.
    """

    bottom: T
    top: T

    def leq(self, a: T, b: T) -> bool: ...

    def join(self, a: T, b: T) -> T: ...

    def meet(self, a: T, b: T) -> T: ...

    def widen(self, old: T, new: T) -> T: ...
