"""Monomials, products of atoms sorted by key: their order, product and bounds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from absint.lattices.terms.atoms import Monomial
from absint.lattices.terms.interval import Interval, clamped


def term_order(term: tuple[Monomial, int]) -> tuple[int, list[str]]:
    """By descending degree, then by key: the same order in every run."""
    return -len(term[0]), [a.key for a in term[0]]


def joined(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a:
        return b
    if not b:
        return a
    return tuple(sorted(a + b, key=lambda factor: factor.key))


def divided(a: tuple[Monomial, int], b: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    """The exact quotient of two monomials with their coefficients, if there is one."""
    if a[1] % b[1]:
        return None
    left = list(a[0])
    for factor in b[0]:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left), a[1] // b[1]


def sum_bounds(items: Iterable[tuple[Monomial, int]]) -> Interval:
    """Bounds of a sum of monomials with their coefficients."""
    lo: int | None = 0
    hi: int | None = 0
    for mono, coef in items:
        if not mono:
            low = high = cast("int | None", coef)
        else:
            low, high = mono[0].bounds if len(mono) == 1 else product_bounds(mono)
            if coef < 0:
                low, high = high, low
            low, high = None if low is None else low * coef, None if high is None else high * coef
        lo = None if lo is None or low is None else lo + low
        hi = None if hi is None or high is None else hi + high
    return clamped(lo, hi)


@lru_cache(maxsize=1 << 14)
def product_bounds(mono: Monomial) -> Interval:
    """Bounds of a product of atoms."""
    if len(mono) == 2 and mono[0] is mono[1] and _mixed(mono[0].bounds):
        return Interval(0, mono[0].bounds.times(mono[1].bounds).hi)
    part = mono[0].bounds
    for factor in mono[1:]:
        part = part.times(factor.bounds)
    return part


def _mixed(bounds: Interval) -> bool:
    """Neither sign is known: a square is still a natural number."""
    return (bounds.lo is None or bounds.lo < 0) and (bounds.hi is None or bounds.hi > 0)
