"""Products of two domains: a value is allowed if both parts allow it. In a reduced one the parts sharpen each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from absint.lattices.domains.congruences import CONGRUENCES
from absint.lattices.domains.intervals import INTERVALS, Number, NumberDomain
from absint.lattices.dtype import DType
from absint.lattices.lattice import ValueDomain, first_reason, why_not_leq
from absint.lattices.terms.interval import EMPTY, Congruence, Interval

A = TypeVar("A")
B = TypeVar("B")


class Product(ValueDomain[tuple[A, B]], Generic[A, B]):
    """Pairs of elements, compared part by part. For more than two, one of the domains is a product."""

    def __init__(self, first: ValueDomain[A], second: ValueDomain[B]) -> None:
        self.first, self.second = first, second
        self.bottom, self.top = (first.bottom, second.bottom), (first.top, second.top)

    def allows(self, element: tuple[A, B], value: object) -> bool:
        return self.first.allows(element[0], value) and self.second.allows(element[1], value)

    def text(self, element: tuple[A, B]) -> str:
        return f"{self.first.text(element[0])} and {self.second.text(element[1])}"

    def leq(self, a: tuple[A, B], b: tuple[A, B]) -> bool:
        return self.first.leq(a[0], b[0]) and self.second.leq(a[1], b[1])

    def why_not_leq(self, a: tuple[A, B], b: tuple[A, B]) -> str:
        """The reason, with its part: `part 1 must be a multiple of 4, found 2`."""
        return first_reason("part", (why_not_leq(self.first, a[0], b[0]), why_not_leq(self.second, a[1], b[1])))

    def join(self, a: tuple[A, B], b: tuple[A, B]) -> tuple[A, B]:
        return self.first.join(a[0], b[0]), self.second.join(a[1], b[1])

    def meet(self, a: tuple[A, B], b: tuple[A, B]) -> tuple[A, B]:
        return self.first.meet(a[0], b[0]), self.second.meet(a[1], b[1])

    def widen(self, old: tuple[A, B], new: tuple[A, B]) -> tuple[A, B]:
        return self.first.widen(old[0], new[0]), self.second.widen(old[1], new[1])


class ReducedProduct(Product[A, B]):
    """A product whose elements are reduced by an operator: parts that allow the same values together are one element.

    `reduce` must be monotone, give parts below its operands that allow the same values, and change nothing when it is
    applied again; where no value is left it must give both bottoms. Elements come from `of`. Joins of reduced elements
    are reduced. Widenings are not reduced, which might undo them forever; the next operation does it.
    """

    def __init__(self, first: ValueDomain[A], second: ValueDomain[B], reduce: Callable[[A, B], tuple[A, B]]) -> None:
        super().__init__(first, second)
        self._reduce = reduce

    def of(self, first: A, second: B) -> tuple[A, B]:
        """The reduced element of two parts."""
        return self._reduce(first, second)

    def meet(self, a: tuple[A, B], b: tuple[A, B]) -> tuple[A, B]:
        return self.of(*super().meet(a, b))


Strided = tuple[Interval, Congruence | None]
"""Numbers of an interval that leave a remainder."""


def _strided(bounds: Interval, steps: Congruence | None) -> Strided:
    """Ends move to the next number that leaves the remainder; a single number is a constant for both."""
    if steps is None or bounds.is_empty:
        return EMPTY, None
    if steps.modulus == 0:
        return (Interval(steps.remainder, steps.remainder), steps) if steps.remainder in bounds else (EMPTY, None)
    lo = None if bounds.lo is None else bounds.lo + (steps.remainder - bounds.lo) % steps.modulus
    hi = None if bounds.hi is None else bounds.hi - (bounds.hi - steps.remainder) % steps.modulus
    if lo is not None and hi is not None and lo >= hi:
        return (Interval(lo, lo), Congruence(0, lo)) if lo == hi else (EMPTY, None)
    return Interval(lo, hi), steps


def _of_parts(name: str) -> Callable[..., Strided]:
    """The operation of this name, which both domains have, on intervals and on congruences."""

    def apply(self: StridedIntervals, *operands: Strided) -> Strided:
        bounds, steps = zip(*operands, strict=True)
        return self.of(getattr(INTERVALS, name)(*bounds), getattr(CONGRUENCES, name)(*steps))

    return apply


def _assuming(name: str) -> Callable[..., tuple[Strided, Strided]]:
    """The same of a comparison, which gives the values of both sides; where one has none, neither has."""

    def assume(self: StridedIntervals, a: Strided, b: Strided, taken: bool = True) -> tuple[Strided, Strided]:
        bounds, steps = (getattr(d, name)(a[at], b[at], taken) for at, d in enumerate((INTERVALS, CONGRUENCES)))
        left, right = map(self.of, bounds, steps)
        return (self.bottom, self.bottom) if self.bottom in (left, right) else (left, right)

    return assume


class StridedIntervals(ReducedProduct[Interval, Congruence | None], NumberDomain[Strided]):
    """Intervals with a congruence, reduced, with the arithmetic that both have."""

    def __init__(self) -> None:
        super().__init__(INTERVALS, CONGRUENCES, _strided)

    def constant(self, value: int) -> Strided:
        """One number."""
        return Interval(value, value), Congruence(0, value)

    def between(self, least: Number, most: Number) -> Strided:
        return self.of(INTERVALS.between(least, most), CONGRUENCES.top)

    def ends(self, element: Strided) -> tuple[Number, Number]:
        return INTERVALS.ends(element[0])

    def held(self, element: Strided, dtype: DType) -> Strided:
        """The values left in a type of integers that wraps around: all of the type's if some value does not fit."""
        bounds = INTERVALS.held(element[0], dtype)
        fits = dtype.is_integer and bounds == element[0]
        return element if fits else self.of(bounds, CONGRUENCES.top)

    neg, abs, add, sub, mul = map(_of_parts, ("neg", "abs", "add", "sub", "mul"))
    floordiv, truncdiv, mod, rem = map(_of_parts, ("floordiv", "truncdiv", "mod", "rem"))
    div, min, max = map(_of_parts, ("truncdiv", "min", "max"))

    assume_less, assume_less_equal = map(_assuming, ("assume_less", "assume_less_equal"))
    assume_equal = _assuming("assume_equal")


STRIDED: Final = StridedIntervals()
