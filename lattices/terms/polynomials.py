"""Division of polynomials: exact quotients and common factors."""

from __future__ import annotations

from math import gcd
from typing import cast

from absint.lattices.terms.atoms import Atom, Monomial, divided
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import MAX_TERMS, ONE_EXPR, Expr, mul, polynomial, sub
from absint.lattices.terms.intern import remembered


@remembered
def exact_quotient(a: Expr, b: Expr) -> Dim | None:
    """q with a == q * b as polynomials, if there is one (multivariate division by the leading term)."""
    if a is b:
        return ONE_EXPR
    if b.const is not None:
        m = b.const
        if any(coef % m for _, coef in a.terms):
            return None
        return polynomial({mono: coef // m for mono, coef in a.terms})
    if a.const == 0:
        return a
    lead = b.ordered[0]
    quotient: dict[Monomial, int] = {}
    rest: Dim = a
    while isinstance(rest, Expr) and rest.terms:
        part = divided(rest.ordered[0], lead)
        if part is None or len(quotient) > MAX_TERMS:
            return None
        quotient[part[0]] = part[1]
        rest = sub(rest, mul(polynomial(dict([part])), b))
    return polynomial(quotient) if isinstance(rest, Expr) else None


def common_factor(*exprs: Expr) -> Expr:
    """The largest single term (positive coefficient) that divides every term of every expression."""
    g = 0
    mono: list[Atom] | None = None
    for e in exprs:
        for factors, coef in e.terms:
            g = gcd(g, coef)
            if mono is None:
                mono = list(factors)
            elif mono:
                left = list(factors)
                kept = []
                for factor in mono:
                    if factor in left:
                        left.remove(factor)
                        kept.append(factor)
                mono = kept
    return cast(Expr, polynomial({tuple(mono or ()): g or 1}))


def reduced(a: Expr, b: Expr) -> tuple[Expr, Expr] | None:
    """Both without their common factor, if they have one."""
    factor = common_factor(a, b)
    if factor is ONE_EXPR:
        return None
    return cast(Expr, exact_quotient(a, factor)), cast(Expr, exact_quotient(b, factor))
