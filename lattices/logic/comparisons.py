"""Comparisons in normal form: e == 0, e != 0 and e >= 0 in their plainest form.

A comparison is kept as one expression against 0 (content divided out, sign fixed for equalities), so that `a + 1 <= b`
and `a < b` are one object.

`canonical` tries, in this order: what the sign of the expression settles; the quotient, extreme, choice or product that
it is made of, taken apart into comparisons of its parts; the solutions of its one symbol. What is left stays as it is.
Rewrites go on with smaller expressions; where one could bring its own expression back, it says so and does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from math import gcd, prod
from typing import Final, cast

from absint.lattices.logic.formula import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, disjunction, relation_of
from absint.lattices.logic.solving import solved
from absint.lattices.terms.atoms import Atom
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.division import further_divisor
from absint.lattices.terms.evaluation import states
from absint.lattices.terms.expr import MAX_TERMS, Expr, add, as_dim, const, expr_of, mul, neg, polynomial, sub
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import with_atoms
from absint.lattices.terms.polynomials import common_factor, exact_quotient, nonneg, nonneg_of


def comparison(op: str, difference: Dim) -> Relation:
    """A difference compared with 0; UNKNOWN_RELATION if it is unknown."""
    if not isinstance(difference, Expr) or len(difference.terms) >= MAX_TERMS:  # its negation may have a term more
        return UNKNOWN_RELATION
    return canonical(op, difference)


@remembered
def eq(a: Dim | int, b: Dim | int) -> Relation:
    """a == b. UNKNOWN_RELATION if either is unknown."""
    return comparison("==", sub(as_dim(a), as_dim(b)))


@remembered
def ne(a: Dim | int, b: Dim | int) -> Relation:
    """a != b."""
    return comparison("!=", sub(as_dim(a), as_dim(b)))


@remembered
def ge(a: Dim | int, b: Dim | int) -> Relation:
    """a >= b."""
    return comparison(">=", sub(as_dim(a), as_dim(b)))


def le(a: Dim | int, b: Dim | int) -> Relation:
    """a <= b."""
    return ge(b, a)


@remembered
def gt(a: Dim | int, b: Dim | int) -> Relation:
    """a > b."""
    return comparison(">=", sub(sub(as_dim(a), as_dim(b)), const(1)))


def lt(a: Dim | int, b: Dim | int) -> Relation:
    """a < b."""
    return gt(b, a)


@remembered
def divisible(a: Dim | int, by: Dim | int) -> Relation:
    """a is a multiple of `by` (which is not 0)."""
    return eq(as_dim(a) % by, 0)


@lru_cache(maxsize=1 << 14)
@states("a // m + c >= 0 -> a + c * m >= 0", when="m >= 1")
@states("c - a // m >= 0 -> c * m + m - 1 - a >= 0", when="m >= 1")
@states("g * y + c >= 0 -> y + c // g >= 0", when="g >= 1")
@states("g * y + c == 0 -> False", when="g >= 1 and c % g != 0")
@states("g * y + g * c == 0 -> y + c == 0", when="g != 0")
@states("a >= 0 -> a == 0", when="a <= 0")
@states("a != 0 -> a >= 1", when="a >= 0")
@states("g * y == 0 -> g == 0 or y == 0")
@states("a * b - 1 >= 0 -> a >= 1 and b >= 1", when="a >= 0 and b >= 0")
@states("-(a * b) >= 0 -> a <= 0 or b <= 0", when="a >= 0 and b >= 0")
@states("a * b - 2 >= 0 -> a >= 2 or b >= 2", when="a >= 1 and b >= 1")
@states("g * a + b - (g * m + n + 1) >= 0 -> a >= m + 1 or b >= n + 1", when="g >= 1 and a >= m and b >= n")
@states("min(a, b) - a == 0 -> b - a >= 0")
@states("max(a, b) - a == 0 -> a - b >= 0")
@states("min(a, b) + c == 0 -> a + c == 0", when="b + c >= 1")
@states("max(a, b) + c == 0 -> a + c == 0", when="b + c <= -1")
@states("min(a, b) + c >= 0 -> a + c >= 0 and b + c >= 0")
@states("c - max(a, b) >= 0 -> c - a >= 0 and c - b >= 0")
@states("max(a, b) + c >= 0 -> a + c >= 0 or b + c >= 0")
@states("c - min(a, b) >= 0 -> c - a >= 0 or c - b >= 0")
@states("a // m == 0 -> m - 1 - a >= 0", when="m >= 1 and a >= 0")
@states("ite(a >= 0, b, c) + x >= 0 -> a >= 0 or c + x >= 0", when="b + x >= 0")
@states("ite(a >= 0, b, c) + x >= 0 -> a < 0 and c + x >= 0", when="b + x < 0")
@states("ite(a >= 0, b, c) + x == 0 -> a >= 0 or c + x == 0", when="b + x == 0")
@states("ite(a >= 0, b, c) + x == 0 -> a < 0 and c + x == 0", when="b + x != 0")
@states("ite(a == 0, b, a) - a == 0 -> a != 0", when="b != 0")
def canonical(op: str, e: Expr) -> Relation:
    """The comparison of an expression with 0, in normal form."""
    if e.const is not None:
        holds = e.const == 0 if op == "==" else e.const != 0 if op == "!=" else e.const >= 0
        return TRUE if holds else FALSE
    constant = sum(coef for mono, coef in e.terms if not mono)
    content = gcd(*(coef for mono, coef in e.terms if mono))
    if op == ">=":
        if content > 1:
            e = cast(Expr, polynomial({m: (c // content) for m, c in e.terms}))
        if e.is_composite and (unrolled := _without_quotient(e)) is not None:
            return canonical(op, unrolled)
        if nonneg(e):
            return TRUE
        if nonneg_of(e, -1, -1):
            return FALSE
        if nonneg_of(e, -1, 0):
            return canonical("==", e)
        for at_least_zero in _AT_LEAST_ZERO if e.is_composite else (_split_product,):
            bounded = at_least_zero(e)
            if bounded is not None:
                return bounded
        return _open(op, e)
    if constant % content:
        return FALSE if op == "==" else TRUE
    lead = next(coef for mono, coef in e.ordered if mono)
    scale = content if lead > 0 else -content
    if scale != 1:
        e = cast(Expr, polynomial({m: c // scale for m, c in e.terms}))
    if nonneg_of(e, 1, -1) or nonneg_of(e, -1, -1):
        return FALSE if op == "==" else TRUE
    if op == "!=" and (nonneg(e) or nonneg_of(e, -1, 0)):
        return canonical(">=", cast(Expr, e - 1 if nonneg(e) else -e - 1))
    for equal_zero in _ZEROS_OF_OPERATIONS if e.is_composite else (_zero_product,):
        met = equal_zero(e)
        if met is not None:
            return met if op == "==" else ~met
    return _open(op, e)


def _open(op: str, e: Expr) -> Relation:
    """A comparison that no rewrite settles: about the one symbol of e, if it can be put so."""
    simpler = solved(op, e)
    return relation_of(op, e) if simpler is None else comparison(*simpler)


def _split_product(e: Expr) -> Relation | None:
    """e >= 0 as a claim about factors, if it says that a product of natural numbers is positive, or is not."""
    constant = sum(coef for mono, coef in e.terms if not mono)
    if constant == -1:
        return _positive_product(add(e, const(1)))
    opposite = _positive_product(neg(e)) if not constant else None
    return ~opposite if opposite is not None else _above_least(e, constant)


def _above_least(e: Expr, constant: int) -> Relation | None:
    """e >= 0 as "some factor is above its least", if it says this of a sum of products of factors of at least 1."""
    terms = [(mono, coef) for mono, coef in e.terms if mono]
    if constant >= 0 or all(len(mono) == 1 for mono, _ in terms) or any(coef < 0 for _, coef in terms):
        return None
    least = 1
    for mono, coef in terms:
        lows = [atom.bounds.lo or 0 for atom in mono]
        if min(lows) < 1:
            return None
        least += coef * prod(lows)
    if least != -constant:
        return None
    factors = dict.fromkeys(atom for mono, _ in terms for atom in mono)
    return disjunction(*(ge(expr_of(atom), cast(int, atom.bounds.lo) + 1) for atom in factors))


def _zero_product(e: Expr) -> Relation | None:
    """e == 0 as "some factor is 0", if a factor divides all of e."""
    factor = common_factor(e)
    if factor.const is not None or (len(e.terms) == 1 and len(e.terms[0][0]) == 1):
        return None
    rest = cast(Expr, exact_quotient(e, factor))
    return disjunction(*(comparison("==", part) for part in (*map(expr_of, factor.terms[0][0]), rest)))


def _empty_quotient(e: Expr) -> Relation | None:
    """e == 0 as "the dividend is small", if e is a natural number divided by a constant."""
    unrolled = _without_quotient(cast(Expr, -e))
    return canonical(">=", unrolled) if unrolled is not None and nonneg(e) else None


@states("a - g * m * (b // m) == 0 -> b % m == 0 and a == g * b", when="g >= 1 and m >= 1 and a >= g * b")
def _whole_quotient(e: Expr) -> Relation | None:
    """e == 0 as "the division is exact", if e is a multiple of a quotient, subtracted from something large enough.

    `N*H == 32*(N*(H//4)//8)` says that both divisions are exact.
    """
    for mono, coef in e.ordered:
        node = mono[0] if len(mono) == 1 else None
        if node is None or node.op != "floordiv":
            continue
        b, m = cast(tuple[Expr, Expr], node.args)
        if m.const is None or m.const < 1 or coef % m.const or any(atom.op in ("max", "min") for atom in b.atoms()):
            continue  # an extreme in b would be rewritten without end
        if coef > 0:
            e, coef = cast(Expr, -e), -coef
        a = add(e, mul(const(-coef), expr_of(node)))
        least = mul(const(-coef // m.const), b)
        lost = sub(a, least)
        if isinstance(lost, Expr) and lost is not const(0) and _is_natural_product(lost):
            return conjunction(divisible(b, m), eq(lost, 0))
    return None


def _is_natural_product(e: Expr) -> bool:
    factor = common_factor(e)
    rest = exact_quotient(e, factor)
    return all(nonneg(expr_of(atom)) for atom in factor.atoms()) and rest is not None and nonneg(rest)


@states(
    "a * c - g * (a // g) * (k * (c // k)) == 0 -> a == 0 or c == 0 or (a == g * (a // g) and c == k * (c // k))",
    when="g >= 1 and k >= 1 and a >= 0 and c >= 0",
)
def _whole_factors(e: Expr) -> Relation | None:
    """e == 0 as "every division is exact, or a factor is 0", if e is like H*W - 7*(H//7)*5*(W//5)."""
    if len(e.terms) != 2:
        return None
    (whole, one), (cut, scale) = sorted(e.terms, key=lambda term: abs(term[1]))
    if one < 0:
        one, scale = -one, -scale
    if one != 1 or scale > -2 or len(whole) < 2 or len(whole) != len(cut):
        return None
    left = list(whole)
    divisors = 1
    pairs: list[tuple[Expr, Expr]] = []
    for quotient in cut:
        found = next(
            ((a, m) for a in left if (m := further_divisor(a, quotient)) is not None and nonneg(expr_of(a))), None
        )
        if found is None:
            return None
        a, m = found
        left.remove(a)
        divisors *= m
        pairs.append((expr_of(a), cast(Expr, m * expr_of(quotient))))
    if divisors != -scale:
        return None
    return disjunction(*(eq(a, 0) for a, _ in pairs), conjunction(*(eq(a, cut_off) for a, cut_off in pairs)))


def _positive_product(product: Dim) -> Relation | None:
    """a*b >= 1 for natural a and b as "both are at least 1"; the product has no constant part."""
    if not isinstance(product, Expr) or not nonneg(product):
        return None
    factor = common_factor(product)
    if factor.const is not None or (len(product.terms) == 1 and len(product.terms[0][0]) == 1):
        return None
    rest = exact_quotient(product, factor)
    factors = [expr_of(atom) for atom in factor.terms[0][0]]
    if not isinstance(rest, Expr) or not all(map(nonneg, (*factors, rest))):
        return None
    return conjunction(*(ge(part, 1) for part in (*factors, rest)))


def _extreme_and_rest(e: Expr) -> tuple[str, tuple[Expr, Expr], Expr] | None:
    """e as +-(an extreme of two) + rest, as the extreme's operation, its operands and +-rest, the extreme positive."""
    for mono, coef in e.terms:
        if len(mono) == 1 and mono[0].op in ("max", "min") and len(mono[0].args) == 2 and coef in (1, -1):
            rest = sub(e, mul(const(coef), expr_of(mono[0])))
            if isinstance(rest, Expr) and len(rest.terms) <= _SHORT:
                return mono[0].op, cast(tuple[Expr, Expr], mono[0].args), cast(Expr, rest if coef > 0 else -rest)
    return None


_SHORT: Final = 4


def _met_extreme(e: Expr) -> Relation | None:
    """e == 0 without an extreme, if e is an extreme of two minus one of them, or minus a value that one cannot have."""
    found = _extreme_and_rest(e)
    if found is None:
        return None
    op, operands, rest = found
    for a, b in (operands, operands[::-1]):
        plus, other = sub(a, -rest), sub(b, -rest)
        if not (isinstance(plus, Expr) and isinstance(other, Expr)):
            continue
        if plus is const(0):
            return ge(b, a) if op == "min" else ge(a, b)
        if nonneg(other - 1) if op == "min" else nonneg(-other - 1):
            return comparison("==", plus)
    return None


def _bounded_extreme(e: Expr) -> Relation | None:
    """e >= 0 as a relation over the operands, if e is an extreme plus or minus something."""
    for mono, coef in e.ordered:
        node = mono[0] if len(mono) == 1 else None
        if node is not None and node.op in ("max", "min") and abs(coef) == 1 and node.size <= _SMALL:
            rest = sub(e, mul(const(coef), expr_of(node)))
            parts = [comparison(">=", add(rest, mul(const(coef), cast(Expr, x)))) for x in node.args]
            return conjunction(*parts) if (node.op == "min") == (coef > 0) else disjunction(*parts)
    return None


_SMALL: Final = 64


def _settled_choice(op: str, e: Expr) -> Relation | None:
    """The comparison where one side of a choice in e always meets it, or never does: `N == ite(N == 0, 2, N)` is
    `N != 0`."""
    if e.size > _SMALL or len(e.terms) > _SHORT:
        return None
    conditions = dict.fromkeys(cast(Relation, a.args[0]) for mono, _ in e.ordered for a in mono if a.op == "ite")
    for condition in conditions:
        otherwise = ~condition
        here = _where(condition, comparison(op, chosen(e, frozenset((condition,)))))
        there = _where(otherwise, comparison(op, chosen(e, frozenset((otherwise,)))))
        if here in (TRUE, FALSE):
            return disjunction(condition, there) if here is TRUE else conjunction(otherwise, there)
        if there in (TRUE, FALSE):
            return disjunction(otherwise, here) if there is TRUE else conjunction(condition, here)
    return None


def _where(condition: Relation, relation: Relation) -> Relation:
    """The relation, or its truth if the condition alone settles it."""
    if conjunction(condition, relation) is FALSE:
        return FALSE
    return TRUE if disjunction(~condition, relation) is TRUE else relation


@lru_cache(maxsize=1 << 13)
def chosen(dim: Dim, held: frozenset[Relation]) -> Dim:
    """The dim with the choices resolved, wherever they occur, whose conditions, or their negations, are among these.

    One left inside a quotient could bring back the comparison that is being settled.
    """
    if not isinstance(dim, Expr) or dim.size > LARGE or not any(atom.args for atom in dim.atoms()):
        return dim

    def taken(node: Atom, values: Mapping[Atom, Dim]) -> Dim | None:
        condition = cast(Relation, node.args[0]) if node.op == "ite" else None
        if condition is None or not (condition in held or condition.negated in held):
            return None
        return cast(Expr, node.args[1 if condition in held else 2]).rebuild(values)

    return dim.rebuild(with_atoms(dim, taken))


LARGE: Final = 400
"""Atoms of the largest expression in which choices are looked for."""


_AT_LEAST_ZERO: Final = (_bounded_extreme, _split_product, partial(_settled_choice, ">="))
"""The rewrites of e >= 0 in their order."""

_ZEROS_OF_OPERATIONS: Final = (
    _met_extreme,
    _empty_quotient,
    _zero_product,
    _whole_quotient,
    _whole_factors,
    partial(_settled_choice, "=="),
)
"""The rewrites of e == 0 in their order. An expression over symbols alone can only be a product."""


def _without_quotient(e: Expr) -> Expr | None:
    """f with f >= 0 wherever e >= 0, if e is a quotient by a constant, or the opposite of one, plus a constant."""
    (mono, coef), *others = e.ordered
    if len(mono) != 1 or mono[0].op != "floordiv" or coef not in (1, -1) or any(m for m, _ in others):
        return None
    a, m = cast(tuple[Expr, Expr], mono[0].args)
    if m.const is None or m.const < 1:
        return None
    bound = sum(c for _, c in others) * m.const
    unrolled = a + bound if coef > 0 else bound + m.const - 1 - a
    return unrolled if isinstance(unrolled, Expr) else None
