"""Ordinary sizes: a numeric premise may be assumed only if it holds for all of them.

Symbols range independently over all values up to `ORDINARY` within their bounds; interval arithmetic, not sampling,
shows the premise. Facts may bound a symbol further. Trip counts and values carried by loops are not sizes that a user
chooses: 64 iterations that double a number overflow every integer type. They keep their own bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, const, expr_of, mul, sub
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.substitution import Substitution

ORDINARY: Final = 1 << 16
"""The largest ordinary size."""


@remembered
def is_ordinary(premise: Relation, facts: Facts) -> bool:
    """The premise holds for all values of its symbols up to `ORDINARY` that the facts allow."""
    loops = any(map(_is_of_a_loop, premise.symbols))
    narrowed = premise.map(_boxed(_trips(facts)) if loops else _boxed({}))
    if narrowed is TRUE or narrowed is FALSE or not facts:
        return narrowed is TRUE
    known = _ordinary_facts(facts)
    return not known.contradiction and known.decide(narrowed) is YES


@remembered
def _ordinary_facts(facts: Facts) -> Facts:
    return Facts(relation.map(_boxed({})) for relation in facts.relations)


@remembered
def _trips(facts: Facts) -> Mapping[Symbol, Symbol]:
    """Loop symbols with the bounds that facts give them at all ordinary sizes: an iteration is below its limit."""
    found: dict[Symbol, Symbol] = {}
    for relation in facts.relations:
        e = relation.map(_boxed(found)).expr if relation.op == ">=" else None
        for symbol in filter(_is_of_a_loop, relation.symbols):
            known = found.get(symbol, symbol)
            coef = dict(e.terms).get((known,), 0) if isinstance(e, Expr) else 0
            rest = sub(e, mul(const(coef), expr_of(known))) if isinstance(e, Expr) and coef < 0 else None
            if isinstance(rest, Expr) and known not in rest.symbols and rest.bounds.hi is not None:
                bounds = known.bounds.meet(Interval(None, rest.bounds.hi // -coef))
                found[symbol] = known if bounds.is_empty else symbol.within(*bounds)
    return found


def _boxed(known: Mapping[Symbol, Symbol]) -> Callable[[Expr], Dim]:
    """A substitution that restricts every symbol of an expression to ordinary values."""

    def change(e: Expr) -> Dim:
        return Substitution({s: expr_of(known.get(s) or ordinary(s)) for s in e.symbols})(e)

    return change


def ordinary(symbol: Symbol) -> Symbol:
    """The symbol, restricted to ordinary values."""
    lo, hi = symbol.bounds
    if _is_any_number(symbol) and not symbol.bounds.leq(Interval(0, MAX_DIM)):
        return symbol
    if _is_of_a_loop(symbol) or (lo is not None and lo > ORDINARY) or (hi is not None and hi < -ORDINARY):
        return symbol
    lowest = -ORDINARY if lo is None else max(lo, -ORDINARY)
    highest = ORDINARY if hi is None else min(hi, ORDINARY)
    return symbol.within(lowest, highest)


def _is_any_number(symbol: Symbol) -> bool:
    """The symbol may be any number, such as a sum that wrapped around, as large as its type allows."""
    return symbol.kind not in (SymbolKind.INPUT, SymbolKind.DATA, SymbolKind.PROBE)


def _is_of_a_loop(symbol: Symbol) -> bool:
    """The symbol is an iteration number, or a value that a loop carries."""
    return symbol.kind is SymbolKind.ITERATION


__all__ = ["ORDINARY", "is_ordinary", "ordinary"]
