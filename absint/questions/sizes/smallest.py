"""Small sizes that are legal and make a relation false: all small ones in order, else what Z3 found, made smaller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.interval import Interval
from absint.solver.candidates import growing, shrunk
from absint.solver.constraints import meets
from absint.solver.prove import connected

Sizes = Mapping[str, int]
Parameters = Mapping[str, Expr]


def small_sizes(
    relation: Relation, premises: Sequence[Relation], parameters: Parameters, model: Sizes
) -> Iterator[Sizes]:
    """Sizes that meet the premises and make the relation false, the smallest first; `model` is one such.

    Sizes of 0 come last. Symbols that have nothing to do with the relation have the smallest legal sizes.
    """
    near = connected(premises, relation.free_symbols)
    mentioned = relation.free_symbols.union(*(premise.free_symbols for premise in near))
    others = {name: expr for name, expr in parameters.items() if name not in mentioned}
    apart = [premise for premise in premises if premise not in near]
    rest = next(legal_sizes(apart, others), {name: model.get(name, 1) for name in others})
    seen: list[Sizes] = []
    for sizes in _false_at(relation, near, {n: e for n, e in parameters.items() if n in mentioned}, model):
        if sizes not in seen:
            seen.append(sizes)
            yield {name: rest[name] if name in rest else sizes[name] for name in parameters}


def legal_sizes(premises: Sequence[Relation], parameters: Parameters) -> Iterator[Sizes]:
    """Sizes that meet the premises, the smallest first: groups of symbols that premises connect, one after another."""
    groups = list(_groups(premises, parameters))
    small = [next(_legal(near, names), None) for near, names in groups]
    if any(sizes is None for sizes in small):
        return
    chosen = [sizes for sizes in small if sizes is not None]
    yield _merged(chosen, parameters)
    for number, (near, names) in enumerate(groups):
        for sizes in islice(_legal(near, names), 1, None):
            yield _merged([*chosen[:number], sizes, *chosen[number + 1 :]], parameters)


def _groups(premises: Sequence[Relation], parameters: Parameters) -> Iterator[tuple[list[Relation], Parameters]]:
    """The symbols in groups that no premise connects, each with its premises."""
    done: set[str] = set()
    for name in parameters:
        if name not in done:
            near = connected(premises, [name])
            names = {name}.union(*(premise.free_symbols for premise in near))
            done |= names
            yield near, {n: e for n, e in parameters.items() if n in names}


def _legal(premises: Sequence[Relation], parameters: Parameters) -> Iterator[Sizes]:
    return (sizes for sizes in growing(_bounds(parameters)) if meets(premises, sizes))


def _merged(parts: Sequence[Sizes], parameters: Parameters) -> Sizes:
    found = {name: size for part in parts for name, size in part.items()}
    return {name: found[name] for name in parameters}


def _false_at(relation: Relation, near: Sequence[Relation], parameters: Parameters, model: Sizes) -> Iterator[Sizes]:
    def fits(sizes: Sizes) -> bool:
        return relation.at(sizes) is NO and meets(near, sizes)

    start = {name: model.get(name, 1) for name in parameters}
    if not fits(start):
        yield from filter(fits, growing(_bounds(parameters)))
        return
    small = shrunk(start, fits, _bounds(parameters))
    if max(small.values(), default=0) <= 1:
        yield small
    yield from filter(fits, growing(_bounds(parameters)))
    yield small
    yield start


def _bounds(parameters: Parameters) -> dict[str, Interval]:
    return {name: parameter.bounds for name, parameter in parameters.items()}
