"""Polynomials: exact quotients, common factors, and which are natural numbers whatever their symbols are.

The last is a bounded search beyond interval arithmetic, the question that nearly every rewrite asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import gcd
from typing import Final, cast

from absint.lattices.terms.atoms import Atom, Monomial, divided, sum_bounds
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.evaluation import states
from absint.lattices.terms.expr import MAX_TERMS, ONE_EXPR, ZERO_EXPR, Expr, add, const, mul, neg, polynomial, sub
from absint.lattices.terms.float_bounds import Term, multiples
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.periodic import FEW, MANY, extent


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


_STEPS: Final = 48


@lru_cache(maxsize=1 << 14)
@states("c * (a // m) * m >= c * a -> True", when="c <= 0 and m >= 1")
@states("c * (a // m) * m >= c * (a - (m - 1)) -> True", when="c >= 0 and m >= 1")
@states("a // b <= a -> True", when="a >= 0 and b >= 0")
@states("g * y >= 1 - g -> y >= 0", when="g >= 1")
@states("c * max(a, b) >= c * a -> True", when="c >= 0")
@states("c * min(a, b) >= c * a -> True", when="c <= 0")
@states("q // m <= max(a, 0) and q // m >= min(a, 0) -> True", when="m >= 2 and q <= max(a, 0) and q >= min(a, 0)")
@states("broadcast(a, b) == a or broadcast(a, b) == b -> True")
def nonneg(e: Dim) -> bool:
    """True if e >= 0 is shown for all values of the symbols within their bounds; False means "not shown".

    Beyond interval arithmetic, a composite atom is replaced by linear bounds of its value (for m >= 1,
    a - m + 1 <= m * (a // m) <= a) or by each of the operands that its value may be or lie between. What is left open
    is held against the least value of the parts that one symbol decides.
    """
    if isinstance(e, Expr):
        return nonneg_of(e, 1, 0)
    lo = e.bounds.lo
    return lo is not None and lo >= 0


@lru_cache(maxsize=1 << 14)
def nonneg_of(e: Expr, sign: int, shift: int) -> bool:
    """nonneg(sign*e + shift) for a sign of 1 or -1; the sum is interned only if nothing simpler settles it."""
    lo, hi = e.bounds
    if sign < 0:
        lo, hi = None if hi is None else -hi, None if lo is None else -lo
    if lo is not None and lo + shift >= 0:
        return True
    if not e.is_composite or (hi is not None and hi + shift < 0):
        return False
    terms = {mono: sign * coef for mono, coef in e.terms}
    terms[()] = terms.get((), 0) + shift
    if not terms[()]:
        del terms[()]
    return _shown_nonneg(terms, [_STEPS], 1) or (FEW <= e.size <= MANY and _least_nonneg(e, sign, shift))


def _least_nonneg(e: Expr, sign: int, shift: int) -> bool:
    """The same of sign*e + shift, by the least value of e or the greatest."""
    lo, hi = extent(e)
    least = lo if sign > 0 else hi
    if least is not None and sign * least + shift >= 0:
        return True
    if sign * sum(coef for mono, coef in e.terms if not mono) + shift:
        return False  # a constant part has no factor
    moved = add(e if sign > 0 else neg(e), const(shift))
    factor = common_factor(moved) if isinstance(moved, Expr) else ZERO_EXPR
    if factor.const is not None or factor.bounds.lo is None or factor.bounds.lo < 0:
        return False
    rest = exact_quotient(cast(Expr, moved), factor)
    return isinstance(rest, Expr) and nonneg(rest)


def _shown_nonneg(terms: Mapping[Monomial, int], budget: list[int], scale: int) -> bool:
    """True if the sum is shown > -scale: it bounds `scale` times an integer from below, which is then a natural number.

    Intermediate sums are plain dicts: interning them would take most of the time.
    """
    if len(terms) > MAX_TERMS:
        return False
    lo, hi = sum_bounds(terms.items())
    if lo is not None and lo > -scale:
        return True
    if hi is not None and hi <= -scale:
        return False
    budget[0] -= 1
    if budget[0] <= 0:
        return False
    composite = [(mono, coef) for mono, coef in terms.items() if len(mono) == 1 and mono[0].args]
    if len(composite) > 1:
        composite.sort(key=lambda term: term[0][0].key)
    for mono, coef in composite:
        node = mono[0]
        if node.op == "floordiv":
            a, b = cast(tuple[Expr, Expr], node.args)
            if b.const is not None and b.const > 0:
                lost = 0 if coef < 0 else coef * (b.const - 1)
                return _shown_nonneg(_replaced(terms, mono, a, b.const, lost), budget, scale * b.const)
            # One budget in total: with a fresh one for each premise the work would grow with the depth.
            if coef < 0 and _shown_nonneg(dict(a.terms), budget, 1) and _shown_nonneg(dict(b.terms), budget, 1):
                return _shown_nonneg(_replaced(terms, mono, a), budget, scale)
        elif node.op == "int" and coef < 0:
            for most, per in multiples(cast(Term, node.args[0])):
                if _shown_nonneg(_replaced(terms, mono, most, per), budget, scale * per):
                    return True
        elif node.op == "divided":
            a = cast(Expr, node.args[0])
            return all(_shown_nonneg(_replaced(terms, mono, end), budget, scale) for end in (a, ZERO_EXPR))
        elif node.op in ("max", "min", "broadcast", "ite"):
            # One operand is enough if the value is on its far side; else the value may be any of them.
            enough = any if (node.op == "max" and coef > 0) or (node.op == "min" and coef < 0) else all
            operands = [arg for arg in node.args if isinstance(arg, Expr)]
            return enough(_shown_nonneg(_replaced(terms, mono, arg), budget, scale) for arg in operands)
    return False


def _replaced(
    terms: Mapping[Monomial, int], mono: Monomial, by: Expr, factor: int = 1, lost: int = 0
) -> Mapping[Monomial, int]:
    """`factor` times the sum, with `factor` times this atom replaced by an expression, minus `lost`."""
    result = {m: c * factor for m, c in terms.items() if m is not mono}
    coef = terms[mono]
    for m, c in by.terms:
        result[m] = result.get(m, 0) + coef * c
    if lost:
        result[()] = result.get((), 0) - lost
    return {m: c for m, c in result.items() if c}
