"""Clauses in groups that share no symbol: each group is shortened alone, and one of equal sizes without a proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.expr import Symbol
from absint.lattices.terms.interval import Interval


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
    pairs.sort(key=lambda found: (found[0].size, found[0].key))
    return [clause for clause, (a, b) in pairs if classes.unite(a.name, b.name)]


def _equated(relation: Relation) -> tuple[Symbol, Symbol] | None:
    """The two symbols that the relation says are equal, if it says no more."""
    if not isinstance(relation, Comparison) or relation.op != "==":
        return None
    found = [(mono[0], coef) for mono, coef in relation.expr.terms if len(mono) == 1]
    if len(found) != 2 or len(relation.expr.terms) != 2:
        return None
    (a, p), (b, q) = found
    return (a, b) if isinstance(a, Symbol) and isinstance(b, Symbol) and {p, q} == {1, -1} else None
