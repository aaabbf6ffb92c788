"""The sum and the maximum, over all iterations of a loop, of a term over the iteration number.

The iteration number counts from 0 to trips - 1. Sums of polynomials have a closed form (Faulhaber); a term that never
falls, never rises, or curves upwards is largest in the first trip or the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.logic.relation import ge, ite
from absint.lattices.terms.expr import (
    ONE_EXPR,
    UNKNOWN_DIM,
    ZERO_EXPR,
    Dim,
    Expr,
    Monomial,
    Symbol,
    const,
    expr_of,
    mul,
    product,
    sub,
)
from absint.lattices.terms.normal import exact_quotient, floordiv
from absint.lattices.terms.sign import nonneg
from absint.lattices.terms.substitution import substitute

_DENOMINATORS: Final = (1, 2, 6, 4)
_COMMON: Final = 12


def sum_over(term: Dim, number: Symbol, trips: Dim) -> Dim:
    """The sum of the term over all trips; unknown if it has no closed form here.

    >>> from absint.lattices.terms.expr import symbol
    >>> i = Symbol("i")
    >>> print(sum_over(expr_of(i) * 2 + symbol("N"), i, symbol("T")))
    N*T + T**2 - T
    """
    if not isinstance(term, Expr) or not isinstance(trips, Expr):
        return ZERO_EXPR if term is ZERO_EXPR or trips is ZERO_EXPR else UNKNOWN_DIM
    if number not in term.symbols:
        return mul(term, trips)
    factors = _coefficients(term, number)
    if factors is not None:
        return _power_sums(factors, trips)
    # In all trips but the first, `i >= 1` decides the choices that carried values begin with.
    first, later = substitute(term, {number: ZERO_EXPR}), substitute(term, {number: expr_of(number) + 1})
    factors = _coefficients(later, number) if isinstance(later, Expr) else None
    if factors is None:
        return UNKNOWN_DIM
    return at_least_once(trips, first + _power_sums(factors, trips - 1))


def largest_over(term: Dim, number: Symbol, trips: Dim) -> list[Dim] | None:
    """Terms one of which is the largest value over all trips, if there is a trip; None if unknown."""
    if not isinstance(term, Expr) or number not in term.symbols:
        return [term]
    first = substitute(term, {number: ZERO_EXPR})
    later = substitute(term, {number: expr_of(number) + 1})
    last = substitute(term, {number: trips - 1}) if isinstance(trips, Expr) else UNKNOWN_DIM
    if _never_falls(term, number):
        return [last]
    if _never_rises(term, number):
        return [first]
    if _never_falls(later, number) or _curves_upwards(term, number):
        return [first, last]
    return None


def at_least_once(trips: Dim, total: Dim) -> Dim:
    """The total if there is a trip, else 0."""
    lo = trips.bounds.lo
    return total if lo is not None and lo >= 1 else ite(ge(trips, 1), total, 0)


def _coefficients(term: Expr, number: Symbol) -> list[Dim] | None:
    """Of a polynomial in the iteration number, the factors of its powers from the zeroth on."""
    factors: list[Dim] = []
    for mono, coef in term.terms:
        rest: Monomial = tuple(atom for atom in mono if atom is not number)
        degree = len(mono) - len(rest)
        if degree >= len(_DENOMINATORS) or any(number in expr_of(atom).symbols for atom in rest):
            return None
        factors += [ZERO_EXPR] * (degree + 1 - len(factors))
        factors[degree] = factors[degree] + mul(const(coef), product(map(expr_of, rest)))
    return factors


def _power_sums(factors: Sequence[Dim], trips: Dim) -> Dim:
    """The sum over i < trips of the sum of factors[d] * i**d."""
    n, m = trips, trips - 1
    sums = (n, n * m, n * m * (n + m), n * n * m * m)
    whole: Dim = ZERO_EXPR
    for factor, total, divisor in zip(factors, sums, _DENOMINATORS, strict=False):
        whole = whole + factor * total * (_COMMON // divisor)
    if not isinstance(whole, Expr):
        return UNKNOWN_DIM
    exact = exact_quotient(whole, const(_COMMON))
    return exact if exact is not None else floordiv(whole, _COMMON)


def _never_falls(term: Dim, number: Symbol) -> bool:
    return nonneg(_difference(term, number))


def _never_rises(term: Dim, number: Symbol) -> bool:
    return nonneg(sub(ZERO_EXPR, _difference(term, number)))


def _curves_upwards(term: Dim, number: Symbol) -> bool:
    return nonneg(_difference(_difference(term, number), number))


def _difference(term: Dim, number: Symbol) -> Dim:
    """The growth of the term from one trip to the next."""
    return sub(substitute(term, {number: expr_of(number) + ONE_EXPR}), term) if isinstance(term, Expr) else UNKNOWN_DIM
