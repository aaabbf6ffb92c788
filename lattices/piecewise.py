"""Expressions with choices in them: what they are where a condition holds, and choices that make no difference.

Nothing here guesses: a result has the value of the original in every run (that meets the premise).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, cast

from lattices.expr import REBUILD, Atom, Dim, Expr, Symbol, expr_of, postorder, rebuild
from lattices.facts import Facts
from lattices.relation import OPEN, TRUE, Relation, ite, negation
from lattices.truth import NO, YES

_MAX_CHOICES: Final = 6
"""More choices than this in one expression are left as they are."""

_LARGE: Final = 400


@lru_cache(maxsize=1 << 14)
def choices(root: Dim | Relation) -> tuple[Relation, ...]:
    """The conditions of the choices in an expression or a relation, operands first, each once; none if many."""
    if not isinstance(root, (Expr, Relation)) or root.size > _LARGE or not any(atom.args for atom in root.atoms()):
        return ()
    found = (cast(Relation, node.args[0]) for node in postorder(root.atoms()) if node.op == "ite")
    conditions = tuple(dict.fromkeys(found))
    return conditions if len(conditions) <= _MAX_CHOICES else ()


@lru_cache(maxsize=1 << 13)
def restrict(dim: Dim, condition: Relation) -> Dim:
    """The same value wherever the condition holds: choices made, and symbols replaced that the condition fixes."""
    if not isinstance(dim, Expr) or dim.const is not None or condition in (TRUE, OPEN):
        return dim
    facts = Facts([condition])
    chosen = rebuild(dim, _values(dim.atoms(), facts)) if choices(dim) else dim
    # Facts also narrow the bounds of symbols, and such symbols must not leave this scope.
    fixed = facts.simplify(chosen)
    return fixed if isinstance(fixed, Expr) and isinstance(chosen, Expr) and fixed.symbols <= chosen.symbols else chosen


def excludes(condition: Relation, relation: Relation) -> bool:
    """The relation cannot hold where the condition does."""
    facts = Facts([condition])
    return facts.decide(relation.rebuild(_values(relation.atoms(), facts))) is NO


def _values(roots: Iterable[Atom], facts: Facts) -> dict[Atom, Dim]:
    """Each atom with the choices made that the facts decide."""
    values: dict[Atom, Dim] = {}
    for node in postorder(roots):
        values[node] = expr_of(node)
        if isinstance(node, Symbol):
            continue
        if node.op == "ite":
            truth = facts.decide(cast(Relation, node.args[0]))
            if truth in (YES, NO):
                values[node] = node.args[1 if truth is YES else 2].rebuild(values)  # type: ignore[assignment]
                continue
        if any(values[child] is not expr_of(child) for child in node.children()):
            values[node] = REBUILD[node.op](*(arg.rebuild(values) for arg in node.args))
    return values


@lru_cache(maxsize=1 << 13)
def settled(dim: Dim) -> Dim:
    """The dim without the choices that make no difference: one side has the value of the other where that is taken."""
    for condition in choices(dim):
        otherwise = negation(condition)
        here, there = restrict(dim, condition), restrict(dim, otherwise)
        if not (isinstance(here, Expr) and isinstance(there, Expr)):
            continue
        if restrict(there, condition) is here:
            return settled(there)
        if restrict(here, otherwise) is there:
            return settled(here)
        apart = ite(condition, here, there)
        if isinstance(apart, Expr) and apart.size < cast(Expr, dim).size:
            return settled(apart)
    return dim


def given(premise: Relation, dim: Dim) -> Dim:
    """The dim in the runs that meet the premise, without the choices that the premise decides."""
    for condition in choices(dim):
        if excludes(negation(condition), premise):
            return given(premise, restrict(dim, condition))
        if excludes(condition, premise):
            return given(premise, restrict(dim, negation(condition)))
    return settled(dim)
