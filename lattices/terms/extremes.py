"""Maximum and minimum in normal form: flat, without dominated operands, with shared terms and factors taken out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import gcd
from typing import Final, cast

from absint.lattices.terms.atoms import atom
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import ZERO_EXPR, Expr, Unknown, add, as_dim, const, expr_of, mul, polynomial, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.polynomials import exact_quotient
from absint.lattices.terms.rewriting import states
from absint.lattices.terms.sign import nonneg


def maximum(*dims: Dim | int) -> Dim:
    """The largest of the dims (at least one)."""
    return _extreme("max", tuple(as_dim(d) for d in dims))


def minimum(*dims: Dim | int) -> Dim:
    """The smallest of the dims (at least one)."""
    return _extreme("min", tuple(as_dim(d) for d in dims))


_MAX_OPERANDS: Final = 64
"""Most operands of max and min, which are compared pairwise."""


@lru_cache(maxsize=1 << 14)
def _extreme(op: str, dims: tuple[Dim, ...]) -> Dim:
    if any(not isinstance(d, Expr) for d in dims) or len(dims) > _MAX_OPERANDS:
        return Unknown(_extreme_bounds(op, dims))
    flat = _flatten(op, cast(tuple[Expr, ...], dims))
    if len(flat) > _MAX_OPERANDS:
        return Unknown(_extreme_bounds(op, flat))
    kept = _undominated(op, flat)
    if len(kept) == 1:
        return kept[0]
    shared = _shared_part(kept)
    rests = [cast(Expr, sub(e, shared)) for e in kept]
    if not all(isinstance(e, Expr) for e in rests):
        return Unknown(_extreme_bounds(op, kept))
    scale = gcd(*(coef for e in rests for _, coef in e.terms)) or 1
    if scale > 1:
        rests = [cast(Expr, exact_quotient(e, const(scale))) for e in rests]
    if shared is not ZERO_EXPR or scale > 1 or _flatten(op, tuple(rests)) != rests:
        return add(shared, mul(const(scale), _extreme(op, tuple(rests))))  # a rest may be a nested extreme by now
    rests.sort(key=lambda e: (e.const is not None, e.key))
    return expr_of(atom(op, tuple(rests), _extreme_bounds(op, rests)))


def _extreme_bounds(op: str, dims: Iterable[Dim]) -> Interval:
    los = [d.bounds.lo for d in dims]
    his = [d.bounds.hi for d in dims]
    known_los = [lo for lo in los if lo is not None]
    known_his = [hi for hi in his if hi is not None]
    if op == "max":
        return Interval(max(known_los, default=None), None if None in his else max(known_his))
    return Interval(None if None in los else min(known_los), min(known_his, default=None))


@states("max(max(a, b) + c, d) -> max(a + c, b + c, d)")
@states("min(min(a, b) + c, d) -> min(a + c, b + c, d)")
def _flatten(op: str, exprs: tuple[Expr, ...]) -> list[Expr]:
    """Nested max(..., max(x, y) + c) as max(..., x + c, y + c); duplicates dropped."""
    flat: dict[Expr, None] = {}
    for e in exprs:
        inner = [mono for mono, coef in e.terms if len(mono) == 1 and mono[0].op == op and coef == 1]
        if len(inner) == 1 and len(e.terms) <= 2:
            rest = sub(e, expr_of(inner[0][0]))
            parts = [add(rest, cast(Expr, x)) for x in inner[0][0].args]
            if all(isinstance(p, Expr) for p in parts):
                flat.update(dict.fromkeys(cast(list[Expr], parts)))
                continue
        flat[e] = None
    return list(flat)


@states("max(a, b) -> a", when="a >= b")
@states("min(a, b) -> a", when="a <= b")
def _undominated(op: str, exprs: list[Expr]) -> list[Expr]:
    """Drop every operand that another one provably dominates; of equal ones the plainest stays."""
    kept: list[Expr] = []
    for e in exprs:
        above = next((k for k in kept if _dominates(op, k, e)), None)
        if above is not None and (_plainness(above) <= _plainness(e) or not _dominates(op, e, above)):
            continue
        kept = [k for k in kept if not _dominates(op, e, k)]
        kept.append(e)
    return kept


def _plainness(e: Expr) -> tuple[int, str]:
    return e.size, e.key


def _dominates(op: str, a: Expr, b: Expr) -> bool:
    difference = sub(a, b) if op == "max" else sub(b, a)
    return isinstance(difference, Expr) and nonneg(difference)


@states("max(a + c, b + c) -> c + max(a, b)")
@states("min(a + c, b + c) -> c + min(a, b)")
@states("max(g * a, g * b) -> g * max(a, b)", when="g >= 0")
@states("min(g * a, g * b) -> g * min(a, b)", when="g >= 0")
def _shared_part(exprs: list[Expr]) -> Dim:
    """The terms that occur in every operand with the same coefficient, the constant aside."""
    shared = set(exprs[0].terms)
    for e in exprs[1:]:
        shared &= set(e.terms)
    return polynomial({mono: coef for mono, coef in exprs[0].terms if mono and (mono, coef) in shared})
