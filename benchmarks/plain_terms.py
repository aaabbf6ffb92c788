"""Terms without their normal form, to measure what it is worth; absint itself has no such setting.

`without_rewrites` keeps polynomials, and leaves every other operation as it was written. `structural` leaves sums and
products too: only equal writings are one object. Numbers are always computed, neutral operands dropped, and ranges
used. Values are those of the normal form, so an analysis stays sound. Both change a process for good: give them one of
its own, before its first analysis.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, cast

from absint.jobs.auditing import judging
from absint.lattices.logic import comparisons, formula, piecewise, relation, solving
from absint.lattices.logic.formula import FALSE, TRUE, UNKNOWN_RELATION, Relation, relation_of
from absint.lattices.terms import division, evaluation, expr, extremes, normal, periodic, polynomials, shortening
from absint.lattices.terms.atoms import atom
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import MINUS_ONE, ONE_EXPR, ZERO_EXPR, Atom, Expr, Unknown, const, expr_of
from absint.solver.translate import Translator

assert judging  # it imports every room that builds terms

_KEPT = 1 << 14


def without_rewrites() -> None:
    """Sums and products are polynomials; other operations, comparisons and choices stay as they were written."""
    _replace(division.FLOORDIV_RULES, (_neutral,))
    _replace(division.TRUNCDIV_RULES, (_neutral,))
    _replace(extremes._extreme, _extreme)
    _replace(extremes._broadcast, _broadcast)
    _replace(polynomials.nonneg, _nonneg)
    _replace(polynomials.nonneg_of, _nonneg_of)
    _replace(comparisons.canonical, _canonical)
    _replace(formula._redundant, lambda *_: (set(), None))
    _replace(relation._ite, _ite)
    _replace(periodic.univariate, lambda _: None)
    _replace(solving.solved, lambda *_: None)
    _replace(piecewise.settled, lambda dim: dim)
    _replace(shortening.shortened, lambda dim: dim)


def structural() -> None:
    """No operation is rewritten."""
    without_rewrites()
    _extend(normal.CONSTRUCTORS, {"sum": _add, "product": _mul})
    _extend(evaluation.EVALUATE, {
        "sum": lambda values, args: sum(arg.value(values) for arg in args),
        "product": lambda values, args: prod(arg.value(values) for arg in args),
    })  # fmt: skip
    Translator._composite = _written  # type: ignore[method-assign]
    _replace(expr.add, _add)
    _replace(expr.sub, _sub)
    _replace(expr.mul, _mul)


def _replace(old: object, new: object) -> None:
    """Every module of the package uses the new one."""
    places = [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.partition(".")[0] == "absint"
        for name, value in vars(module).items()
        if value is old
    ]
    assert places, old
    for module, name in places:
        setattr(module, name, new)


def _extend(table: object, more: dict[str, Callable[..., Any]]) -> None:
    cast("dict[str, Callable[..., Any]]", table).update(more)


def _neutral(a: Expr, b: Expr) -> Dim | None:
    return a if b is ONE_EXPR or a is ZERO_EXPR else None


@lru_cache(maxsize=_KEPT)
def _extreme(op: str, dims: tuple[Dim, ...]) -> Dim:
    bounds = extremes._extreme_bounds(op, dims)
    if not all(isinstance(dim, Expr) for dim in dims):
        return Unknown(bounds)
    operands = cast("tuple[Expr, ...]", tuple(dict.fromkeys(dims)))
    if len(operands) == 1:
        return operands[0]
    if bounds.lo is not None and bounds.lo == bounds.hi:
        return const(bounds.lo)
    return expr_of(atom(op, operands, bounds))


@lru_cache(maxsize=_KEPT)
def _broadcast(dims: tuple[Dim, ...]) -> Dim:
    operands = tuple(dict.fromkeys(dim for dim in dims if dim is not ONE_EXPR))
    if not operands:
        return ONE_EXPR
    if len(operands) == 1 and isinstance(operands[0], Expr):
        return operands[0]
    for dim in operands:
        if isinstance(dim, Expr) and extremes._never_one(dim):
            return dim
    bounds = extremes._hull(operands)
    if not all(isinstance(dim, Expr) for dim in operands):
        return Unknown(bounds)
    return expr_of(atom("broadcast", cast("tuple[Expr, ...]", operands), bounds))


def _nonneg(e: Dim) -> bool:
    return e.bounds.lo is not None and e.bounds.lo >= 0


def _nonneg_of(e: Expr, sign: int, shift: int) -> bool:
    lo = e.bounds.scale(sign).lo
    return lo is not None and lo + shift >= 0


def _canonical(op: str, e: Expr) -> Relation:
    if op == ">=":
        return TRUE if _nonneg(e) else FALSE if _nonneg_of(e, -1, -1) else relation_of(op, e)
    if e is ZERO_EXPR:
        return TRUE if op == "==" else FALSE
    apart = _nonneg_of(e, 1, -1) or _nonneg_of(e, -1, -1)
    return relation_of(op, e) if not apart else TRUE if op == "!=" else FALSE


@lru_cache(maxsize=_KEPT)
def _ite(condition: Relation, a: Dim, b: Dim) -> Dim:
    if condition is TRUE or (a is b and isinstance(a, Expr)):
        return a
    if condition is FALSE:
        return b
    if condition is UNKNOWN_RELATION or not (isinstance(a, Expr) and isinstance(b, Expr)):
        return Unknown(a.bounds.join(b.bounds), a.congruence.join(b.congruence))
    return expr_of(atom("ite", (condition, a, b), a.bounds.join(b.bounds)))


@lru_cache(maxsize=_KEPT)
def _add(a: Dim, b: Dim) -> Dim:
    if a is ZERO_EXPR or b is ZERO_EXPR:
        return b if a is ZERO_EXPR else a
    bounds = a.bounds + b.bounds
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        return Unknown(bounds, a.congruence + b.congruence)
    if a.const is not None and b.const is not None:
        return const(a.const + b.const)
    return expr_of(atom("sum", (a, b), bounds))


def _sub(a: Dim, b: Dim) -> Dim:
    return ZERO_EXPR if a is b and isinstance(a, Expr) else _add(a, _mul(b, MINUS_ONE))


@lru_cache(maxsize=_KEPT)
def _mul(a: Dim, b: Dim) -> Dim:
    if a is ZERO_EXPR or b is ZERO_EXPR:
        return ZERO_EXPR
    if a is ONE_EXPR or b is ONE_EXPR:
        return b if a is ONE_EXPR else a
    bounds = a.bounds.times(b.bounds)
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        return Unknown(bounds, a.congruence.times(b.congruence))
    if a.const is not None and b.const is not None:
        return const(a.const * b.const)
    return expr_of(atom("product", (a, b), bounds))


_composite = Translator._composite


def _written(self: Translator, atom: Atom) -> str:
    """The term of SMT-LIB."""
    if atom.op not in ("sum", "product"):
        return _composite(self, atom)
    a, b = cast("tuple[Expr, Expr]", atom.args)
    self.is_linear = self.is_linear and (atom.op == "sum" or a.const is not None or b.const is not None)
    return f"({'+' if atom.op == 'sum' else '*'} {self.dim(a)} {self.dim(b)})"


__all__ = ["structural", "without_rewrites"]
