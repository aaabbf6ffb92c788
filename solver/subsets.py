"""Some of several relations: those connected by shared symbols, a spanning forest of equal ones, a minimal set.

Relations are the edges of a hypergraph over their symbols. A proof needs only the component of its goal, contracts
shorten each component alone, and cores, clauses and numeric premises are minimal sets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from absint.lattices.limits import on_time
from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.expr import Symbol
from absint.lattices.terms.interval import Interval

T = TypeVar("T", bound=Hashable)


def connected(formulas: Iterable[Relation], names: Iterable[str]) -> list[Relation]:
    """The formulas that are connected to the names through shared symbols, in their order, each once."""
    formulas = list(dict.fromkeys(formulas))
    reached = set(names)
    chosen: set[Relation] = set()
    others = formulas
    while True:
        on_time()
        near = [formula for formula in others if not reached.isdisjoint(formula.free_symbols)]
        if not near:
            return [formula for formula in formulas if formula in chosen]
        chosen.update(near)
        others = [formula for formula in others if formula not in chosen]
        reached.update(*(formula.free_symbols for formula in near))


class Classes:
    """Disjoint sets of names, united one pair after another."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The name that stands for the set of this one."""
        above = self._above
        while (top := above.setdefault(name, name)) != name:
            above[name] = name = above[top]
        return name

    def unite(self, a: str, b: str) -> bool:
        """Make both sets one; False if they are."""
        a, b = self.of(a), self.of(b)
        self._above[a] = b
        return a != b


def components(relations: Iterable[Relation]) -> list[list[Relation]]:
    """Groups that share no symbol, each in the order of the relations; all without symbols are one group."""
    relations = list(dict.fromkeys(relations))
    classes = Classes()
    for relation in relations:
        first, *others = relation.free_symbols or ("",)
        for name in others:
            classes.unite(first, name)
    groups: dict[str, list[Relation]] = {}
    for relation in relations:
        groups.setdefault(classes.of(next(iter(relation.free_symbols), "")), []).append(relation)
    return list(groups.values())


def spanning(clauses: Sequence[Relation]) -> list[Relation] | None:
    """The fewest clauses that say the same, short ones first, if all equate symbols of the same bounds; else None.

    The symbols are the nodes of a graph and the clauses its edges: a spanning forest is equivalent to all of them, and
    without one of its edges two symbols may differ.
    """
    bounds: dict[Interval, None] = {}
    pairs = []
    for clause in clauses:
        pair = _equated(clause)
        if pair is None:
            return None
        pairs.append((clause, pair))
        bounds |= dict.fromkeys(symbol.bounds for symbol in pair)
    (first, *others) = bounds or (Interval(0, 0),)
    if others or first.is_empty or (first.lo is not None and first.lo == first.hi):
        return None
    classes = Classes()
    pairs.sort(key=lambda pair: (pair[0].size, pair[0].key))
    return [clause for clause, (a, b) in pairs if classes.unite(a.name, b.name)]


def _equated(relation: Relation) -> tuple[Symbol, Symbol] | None:
    """The two symbols that the relation says are equal, if it says no more."""
    if not isinstance(relation, Comparison) or relation.op != "==":
        return None
    terms = [(mono[0], coef) for mono, coef in relation.expr.terms if len(mono) == 1]
    if len(terms) != 2 or len(relation.expr.terms) != 2:
        return None
    (a, p), (b, q) = terms
    return (a, b) if isinstance(a, Symbol) and isinstance(b, Symbol) and {p, q} == {1, -1} else None


def minimal(
    items: Sequence[T],
    redundant: Callable[[list[T], list[T]], bool],
    *,
    order: Sequence[T] | None = None,
    chunk: int = 1,
) -> list[T]:
    """The items that remain when no more can be dropped, in their order.

    `redundant(rest, dropped)` is True if the rest is enough without the dropped ones. Items are tried in `order` (their
    own if there is none), `chunk` of them at a time at first, then half as many, and singly in the end.

    >>> minimal([2, 3, 4, 6], lambda rest, dropped: all(any(n % r == 0 for r in rest) for n in dropped))
    [2, 3]
    """
    kept = list(items)
    pending = list(kept if order is None else order)
    step = max(chunk, 1)
    while True:
        at = 0
        while at < len(pending):
            dropped = pending[at : at + step]
            gone = set(dropped)
            rest = [item for item in kept if item not in gone]
            if redundant(rest, dropped):
                kept = rest
                del pending[at : at + step]
            else:
                at += step
        if step == 1:
            return kept
        step //= 2
