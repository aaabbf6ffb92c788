"""Maximum, minimum and broadcasts in normal form: flat, without needless operands, sorted by key.

The operands of an extreme share no term but the constant, and no factor: these stand outside, `N + 2*max(M, 3)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from math import gcd
from typing import Final, cast

from absint.lattices.terms.atoms import atom
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.evaluation import states
from absint.lattices.terms.expr import ONE_EXPR, Expr, Unknown, add, as_dim, const, expr_of, polynomial, sole_atom, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.polynomials import exact_quotient, nonneg


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
    if shared is not const(0) or scale > 1 or _flatten(op, tuple(rests)) != rests:
        return add(shared, _extreme(op, tuple(rests)) * scale)  # a rest may be a nested extreme by now
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


# The size of an axis after broadcasting, in normal form.


def broadcast(*dims: Dim | int) -> Dim:
    """The size of an axis after numpy broadcasting: the operand that is not 1, else 1.

    It has a value only where the operands are pairwise equal or 1. The normal form may have one elsewhere too:
    `broadcast(N, 64)` is 64. Whoever builds it states the requirement.
    """
    return _broadcast(tuple(as_dim(d) for d in dims))


@lru_cache(maxsize=1 << 14)
@states("broadcast(a, 1) -> a")
@states("broadcast(a, a) -> a")
@states("broadcast(broadcast(a, b), c) -> broadcast(a, b, c)")
@states("broadcast(a, b) -> a", when="a != 1")
@states("broadcast(a, b) -> broadcast(b, a)")
@states("broadcast(a, max(a, 1)) -> a", when="a >= 0")
@states("broadcast(a, min(a, 1)) -> a", when="a >= 0")
@states("broadcast(a, ite(x >= 0, max(a, 1), a)) -> a", when="a >= 0")
def _broadcast(dims: tuple[Dim, ...]) -> Dim:
    flat: dict[Dim, None] = {}
    for d in dims:
        only = sole_atom(d) if isinstance(d, Expr) else None
        if only is not None and only.op == "broadcast":
            flat.update(dict.fromkeys(cast(tuple[Expr, ...], only.args)))
        elif d is not ONE_EXPR:
            flat[d] = None
    if not flat:
        return ONE_EXPR
    if len(flat) == 1 and not any(d.is_unknown for d in flat):
        return next(iter(flat))
    settled = [d for d in flat if isinstance(d, Expr) and _never_one(d)]
    if settled:
        return min(settled, key=lambda d: (d.const is None, d.key))
    if any(d.is_unknown for d in flat):
        return dims[0] if len(dims) == 1 else Unknown(_hull(tuple(flat)))
    sizes = cast(list[Expr], list(flat))
    covered = {b for b in sizes if any(a is not b and a in flat and fits(b, a) for a in _fitting(b))}
    if covered:
        return _broadcast(tuple(d for d in sizes if d not in covered))
    args = tuple(sorted(sizes, key=lambda e: e.key))
    return expr_of(atom("broadcast", args, _hull(args)))


def fits(b: Dim, a: Dim) -> bool:
    """b is always a or 1: they always broadcast, to a."""
    if b is a or b is ONE_EXPR:
        return True
    only = sole_atom(b) if isinstance(b, Expr) else None
    if only is None or not isinstance(a, Expr):
        return False
    if only.op == "ite":
        return all(fits(cast(Expr, side), a) for side in only.args[1:])
    return only.op in ("max", "min") and set(only.args) == {a, ONE_EXPR} and nonneg(a)


def _fitting(b: Expr) -> set[Expr]:
    """The sizes that b may fit: those that it chooses from, or is an extreme of with 1."""
    only = sole_atom(b)
    if only is None or only.op not in ("ite", "max", "min"):
        return set()
    sides = cast(tuple[Expr, ...], only.args[1:] if only.op == "ite" else only.args)
    return {*sides, *(a for side in sides if only.op == "ite" for a in _fitting(side))}


def _never_one(e: Expr) -> bool:
    lo, hi = e.bounds
    return (lo is not None and lo >= 2) or (hi is not None and hi <= 0) or nonneg(sub(e, const(2)))


def _hull(dims: tuple[Dim, ...]) -> Interval:
    """Bounds of a broadcast: it is one of the operands, as it is 1 only where all of them are."""
    return reduce(Interval.join, [d.bounds for d in dims])
