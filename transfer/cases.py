"""Reasoning by cases over dims: choices that collapse, extremes under facts, when a product vanishes.

Everything here is exact: a simplification is made only where the value is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterable

from lattices.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, const, expr_of, product, substitute
from lattices.facts import Facts, solve
from lattices.normal import exact_quotient, maximum, minimum
from lattices.relation import Relation, conjunction, eq, ge, gt, ite, le, ne
from lattices.truth import NO, YES
from transfer.op import Op


def under(condition: Relation, dim: Dim) -> Dim:
    """The same value wherever the condition holds, simpler if the condition fixes a symbol."""
    if not isinstance(dim, Expr) or dim.const is not None:
        return dim
    if condition.op == "==":
        solved = solve(condition.expr)
        return dim if solved is None else substitute(dim, {solved[0]: solved[1]})
    # Facts narrow the bounds of symbols, so only a constant may leave this scope.
    narrowed = Facts([condition]).simplify(dim)
    return narrowed if narrowed.is_concrete else dim


def choose(op: Op, condition: Relation, a: Dim, b: Dim) -> Dim:
    """a where the condition holds, else b; one of them alone where that is the same."""
    truth = op.decide(condition)
    if truth is not (YES and NO) and truth in (YES, NO):
        return a if truth is YES else b
    narrowed = under(condition, a)
    return b if isinstance(narrowed, Expr) and narrowed is under(condition, b) else ite(condition, narrowed, b)


def least(op: Op, *dims: Dim | int) -> Dim:
    """The smallest of the dims, those dropped that the facts show not to be needed."""
    return minimum(*_undominated(op, dims, lambda a, b: le(a, b)))


def greatest(op: Op, *dims: Dim | int) -> Dim:
    """The largest of the dims, those dropped that the facts show not to be needed."""
    return maximum(*_undominated(op, dims, lambda a, b: ge(a, b)))
