"""Tuples of elements of a domain, compared place by place: the state of the outputs of one node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from absint.lattices.lattice import Lattice, first_reason, why_not_leq

T = TypeVar("T")


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
