"""Symbols of one model as expressions over those of another, read off the axes of their inputs.

A caller chooses sizes of axes, not of symbols: `batch` in one model is `N` in the other if they stand at one axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from absint.jobs.diffing.pairing import Pair, both, form_of
from absint.lattices.logic.relation import TRUE, Relation, eq
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol, expr_of, sole_atom, sub
from absint.lattices.terms.substitution import substitute
from absint.lattices.value import Value
from absint.solution.analysed import Analysed

_APART: Final = "'"
"""Ends the names of symbols of the other model that no axis gives."""


class Axis(NamedTuple):
    """An axis of an input that both models have, with its size in each."""

    place: str
    """As the model whose symbols are expressed names it: `ids[1]`."""
    source: Dim
    target: Dim


class Placed(NamedTuple):
    """A relation that the shape of an input demands: its size must be what the target declares."""

    place: str
    target: Dim
    relation: Relation
    """Over symbols of the source."""


@dataclass(frozen=True)
class Correspondence:
    """Symbols of the target, sizes and elements of inputs, as expressions over those of the source."""

    symbols: Mapping[str, Expr]
    demands: tuple[Placed, ...] = ()
    """Relations over symbols of the source that the declared shapes of the target demand."""
    taken: frozenset[str] = frozenset()
    """Names of the source, which no symbol of the target gets."""

    def dim(self, dim: Dim) -> Dim:
        """A dim of the target over symbols of the source; others get names of their own."""
        return substitute(dim, self._mapping(dim.symbols)) if isinstance(dim, Expr) else dim

    def relation(self, relation: Relation) -> Relation:
        """A relation of the target over symbols of the source."""
        return relation.substitute(self._mapping(relation.symbols))

    def covers(self, relation: Relation) -> bool:
        """Axes give all symbols of a relation of the target."""
        return relation.free_symbols <= self.symbols.keys()

    def _mapping(self, symbols: frozenset[Symbol]) -> dict[Symbol, Dim]:
        return {s: self.symbols[s.name] if s.name in self.symbols else expr_of(self.apart(s)) for s in symbols}

    def apart(self, symbol: Symbol) -> Symbol:
        """A symbol of the target that no axis gives, under a name that the source does not have."""
        name = symbol.name + _APART
        while name in self.taken:
            name += _APART
        return Symbol(name, *symbol.bounds)


def correspondence(source: Analysed, target: Analysed, pairs: Sequence[Pair]) -> Correspondence:
    """The symbols of the target over those of the source, whose inputs are the first ones of the pairs."""
    axes = list(_axes(source, target, pairs))
    taken = frozenset(source.taken).union(*(shown.free_symbols for shown in source.names.values()))
    found = Correspondence({**_solved(axes, taken), **dict(_elements(source, target, pairs))}, (), taken)
    demands = dict.fromkeys(Placed(axis.place, axis.target, eq(found.dim(axis.target), axis.source)) for axis in axes)
    return Correspondence(found.symbols, tuple(d for d in demands if d.relation is not TRUE), taken)


def _axes(source: Analysed, target: Analysed, pairs: Sequence[Pair]) -> Iterator[Axis]:
    for first, second in both(pairs):
        before, after = form_of(_input(source, first)), form_of(_input(target, second))
        if not before.differs(after) and before.rank == after.rank:
            for (place, a), (_, b) in zip(before.sizes, after.sizes, strict=False):
                if place != "length" and isinstance(a, Expr) and isinstance(b, Expr):
                    yield Axis(f"{second}{place}", plain(source, a), b)


def _input(analysed: Analysed, name: str) -> Value:
    return analysed.declared_inputs.values[analysed.input_nodes[name]]


def plain(analysed: Analysed, dim: Dim) -> Dim:
    """A dim over the symbols of the inputs as they are declared: rounds of an analysis narrow their bounds."""
    if not isinstance(dim, Expr):
        return dim
    known = analysed.parameters
    return substitute(dim, {s: known[s.name] for s in dim.symbols if s.name in known})


def plain_relation(analysed: Analysed, relation: Relation) -> Relation:
    """As `plain`, a relation."""
    known = analysed.parameters
    return relation.substitute({s: known[s.name] for s in relation.symbols if s.name in known})


def _solved(axes: Sequence[Axis], taken: frozenset[str]) -> dict[str, Expr]:
    """Symbols of the target from the axes: those that stand alone first, then from sums in which one is left."""
    found: dict[str, Expr] = {}
    for axis in axes:
        only = sole_atom(axis.target) if isinstance(axis.target, Expr) else None
        if isinstance(only, Symbol) and isinstance(axis.source, Expr):
            found.setdefault(only.name, axis.source)
    while (more := next(_next_solved(axes, Correspondence(found, (), taken)), None)) is not None:
        name, value = more
        found[name] = value
    return found


def _next_solved(axes: Sequence[Axis], found: Correspondence) -> Iterator[tuple[str, Expr]]:
    """A symbol that an axis `c*symbol + rest` determines. What is left over breaks the demand of that axis."""
    for axis in axes:
        known = found.dim(axis.target)
        open_ = [s for s in axis.target.symbols if s.name not in found.symbols] if isinstance(axis.target, Expr) else []
        if len(open_) != 1 or not isinstance(known, Expr):
            continue
        apart = found.apart(open_[0])
        factor = dict(known.terms).get((apart,), 0)
        rest = substitute(known, {apart: ZERO_EXPR})
        value = sub(axis.source, rest) // factor if factor else rest
        if factor and isinstance(value, Expr) and known is expr_of(apart) * factor + rest:
            yield open_[0].name, value


def _elements(source: Analysed, target: Analysed, pairs: Sequence[Pair]) -> Iterator[tuple[str, Expr]]:
    """Elements of small inputs that stand at the same place of the same input."""
    names = {b: a for a, b in both(pairs)}
    known = {(e.input, e.place, e.dtype): e.expr for e in source.declared_inputs.elements.values()}
    for element in target.declared_inputs.elements.values():
        found = known.get((names.get(element.input, ""), element.place, element.dtype))
        if found is not None:
            yield element.name, found
