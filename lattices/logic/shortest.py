"""The shortest known form of a size, where choices are told apart by their conditions and a size of 0 by itself.

A result has the value of the original wherever that has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, cast

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import cases, choices, settled
from absint.lattices.logic.relation import Relation, eq, ite, negation
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, expr_of, postorder, rebuild
from absint.lattices.terms.rewriting import states
from absint.lattices.terms.shortening import FEW, length, shortened
from absint.lattices.terms.substitution import rebuilt

_MANY: Final = 150
"""Atoms of an expression that is not told apart."""


def shortest(dim: Dim) -> Dim:
    """The dim, or a shorter one that equals it."""
    return _shortest(dim) if isinstance(dim, Expr) and dim.size >= FEW else dim


@lru_cache(maxsize=1 << 12)
def _shortest(e: Expr) -> Dim:
    best = shortened(e)
    while isinstance(best, Expr) and best.size <= _MANY:
        shorter = next((form for form in _forms(best) if length(form) < length(best)), None)
        if shorter is None:
            break
        best = shorter
    return best


@states("A -> ite(x >= 0, B, C)", when="(x < 0 or extends(B, A)) and (x >= 0 or extends(C, A))")
@states("ite(X >= 0, A, B) -> ite(X >= 0, C, B)", when="not holds(X >= 0) or extends(C, A)")
def _forms(e: Expr) -> Iterator[Expr]:
    """Forms that equal e: its choices with sides for their conditions alone, then e as one choice."""
    told = dict.fromkeys((*cases(e), *_empty(e)))
    if not told and not choices(e):
        return
    values: dict[Atom, Dim] = {}
    for node in postorder(e.atoms()):
        if node.op == "ite":
            condition, a, b = cast("tuple[Relation, Expr, Expr]", node.args)
            condition = condition.rebuild(values)
            values[node] = ite(condition, _under(condition, a.rebuild(values)), _under(~condition, b.rebuild(values)))
        else:
            values[node] = rebuilt(node, values)
    forms = [settled(e), rebuild(e, values)]
    forms += [ite(condition, _under(condition, e), _under(negation(condition), e)) for condition in told]
    yield from (form for form in map(shortened, forms) if isinstance(form, Expr))


def _empty(e: Expr) -> Iterator[Relation]:
    """That a symbol is 0, where a maximum keeps that apart: in `max(2*N, 1)//max(N, 1)`.

    Beside other symbols alone it does not, unless the symbol stands somewhere else too.
    """
    atoms = postorder(e.atoms())
    uses = Counter(chain(e.atoms(), *(node.children for node in atoms)))
    for node in atoms:
        if node.op == "max":
            operands = cast("tuple[Expr, ...]", node.args)
            told = any(arg.const is not None for arg in operands)
            beside = Counter(chain.from_iterable(arg.symbols for arg in operands))
            for arg in operands:
                only = arg.ordered[0][0] if len(arg.ordered) == 1 else ()
                if len(only) != 1 or not isinstance(only[0], Symbol) or only[0].bounds.lo != 0:
                    continue
                if told or uses[only[0]] > 1 or beside[only[0]] > 1:
                    yield eq(expr_of(only[0]), 0)


def _under(condition: Relation, dim: Dim) -> Dim:
    """The dim in its form where the condition holds, over the symbols that it has."""
    if not isinstance(dim, Expr):
        return dim
    facts = _facts(condition)
    inside = facts.simplify(dim)
    found = facts.restored(inside) if isinstance(inside, Expr) else dim
    return found if isinstance(found, Expr) and found.symbols <= dim.symbols else dim


@lru_cache(maxsize=1 << 10)
def _facts(condition: Relation) -> Facts:
    return Facts((condition,))
