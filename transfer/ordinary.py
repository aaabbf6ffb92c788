"""Ordinary sizes: a numeric premise may be assumed only if it holds for all of them.

Symbols range independently over all values up to `ORDINARY` within their bounds; interval arithmetic, not sampling,
shows the premise. Facts may bound a symbol further. An integer that is a product of k sizes is a number of rows or
elements: there all sizes up to the k-th root of `ORDINARY_PRODUCT` are enough. Trip counts and values carried by loops
are not sizes that a user chooses: 64 iterations that double a number overflow every integer type. They keep their own
bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.logic.truth import YES
from absint.lattices.terms.atoms import Operand
from absint.lattices.terms.expr import MAX_DIM, Atom, Dim, Expr, Symbol, const, expr_of, mul, postorder, sub
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.substitution import Substitution

ORDINARY: Final = 1 << 16
"""The largest ordinary size."""

ORDINARY_PRODUCT: Final = 1 << 24
"""The largest ordinary number of rows or elements."""


@remembered
def is_ordinary(premise: Relation, facts: Facts, *, products: bool = False) -> bool:
    """The premise holds for all values of its symbols up to `ORDINARY` that the facts allow.

    With `products`, where sizes are multiplied, for all up to the root of `ORDINARY_PRODUCT`.
    """
    if _is_shown(premise, facts, ORDINARY):
        return True
    return products and (most := _root(premise)) < ORDINARY and _is_shown(premise, facts, most)


def _is_shown(premise: Relation, facts: Facts, most: int) -> bool:
    loops = any(map(_is_of_a_loop, premise.symbols))
    narrowed = premise.map(_boxed(_trips(facts, most) if loops else {}, most))
    if narrowed is TRUE or narrowed is FALSE or not facts:
        return narrowed is TRUE
    known = _ordinary_facts(facts, most)
    return not known.contradiction and known.decide(narrowed) is YES


def _root(premise: Relation) -> int:
    """Sizes up to this one make up an ordinary product, of as many as the premise multiplies."""
    counts: dict[Atom, int] = {}
    for atom in postorder(premise.atoms()):
        counts[atom] = 1 if isinstance(atom, Symbol) else max((_degree(arg, counts) for arg in atom.args), default=0)
    factors = max((_degree(part.expr, counts) for part in premise.comparisons()), default=0)
    return ORDINARY if factors < 2 else 1 << (ORDINARY_PRODUCT.bit_length() - 1) // factors


def _degree(arg: Operand, counts: Mapping[Atom, int]) -> int:
    """How many sizes are multiplied at most, by those that its atoms multiply."""
    if isinstance(arg, Relation):
        return max((_degree(part.expr, counts) for part in arg.comparisons()), default=0)
    return max((sum(counts[atom] for atom in mono) for mono, _ in arg.terms), default=0) if isinstance(arg, Expr) else 0


def limit_of(premise: Relation) -> int:
    """The premise has been shown for all sizes up to this one."""
    return ORDINARY if _is_shown(premise, NO_FACTS, ORDINARY) else _root(premise)


@remembered
def _ordinary_facts(facts: Facts, most: int) -> Facts:
    return Facts(relation.map(_boxed({}, most)) for relation in facts.relations)


@remembered
def _trips(facts: Facts, most: int) -> Mapping[Symbol, Symbol]:
    """Symbols of loops with the bounds that the facts give them, for all ordinary sizes: a trip is below the limit."""
    found: dict[Symbol, Symbol] = {}
    for relation in facts.relations:
        e = relation.map(_boxed(found, most)).expr if relation.op == ">=" else None
        for symbol in filter(_is_of_a_loop, relation.symbols):
            known = found.get(symbol, symbol)
            coef = dict(e.terms).get((known,), 0) if isinstance(e, Expr) else 0
            rest = sub(e, mul(const(coef), expr_of(known))) if isinstance(e, Expr) and coef < 0 else None
            if isinstance(rest, Expr) and known not in rest.symbols and rest.bounds.hi is not None:
                bounds = known.bounds.meet(Interval(None, rest.bounds.hi // -coef))
                found[symbol] = known if bounds.is_empty else symbol.within(*bounds)
    return found


def _boxed(known: Mapping[Symbol, Symbol], most: int) -> Callable[[Expr], Dim]:
    """Puts symbols that have ordinary values only in place of those of an expression."""

    def change(e: Expr) -> Dim:
        return Substitution({s: expr_of(known.get(s) or ordinary(s, most)) for s in e.symbols})(e)

    return change


def ordinary(symbol: Symbol, most: int = ORDINARY) -> Symbol:
    """The symbol with its ordinary values only: up to `most`."""
    lo, hi = symbol.bounds
    if _is_any_number(symbol) and not symbol.bounds.leq(Interval(0, MAX_DIM)):
        return symbol
    if _is_of_a_loop(symbol) or (lo is not None and lo > most) or (hi is not None and hi < -most):
        return symbol
    lowest = -most if lo is None else max(lo, -most)
    highest = most if hi is None else min(hi, most)
    return symbol.within(lowest, highest)


def _is_any_number(symbol: Symbol) -> bool:
    """The symbol may be any number, such as a sum that wrapped around, as large as its type allows."""
    return symbol.kind not in (SymbolKind.INPUT, SymbolKind.DATA, SymbolKind.PROBE)


def _is_of_a_loop(symbol: Symbol) -> bool:
    """The symbol is an iteration number, or a value that a loop carries."""
    return symbol.kind is SymbolKind.ITERATION


__all__ = ["ORDINARY", "ORDINARY_PRODUCT", "is_ordinary", "limit_of", "ordinary"]
