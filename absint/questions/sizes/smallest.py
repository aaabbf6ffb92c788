"""Small sizes that are legal and make a relation false: all small ones in order, else what Z3 found, made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, product, repeat
from typing import Final

from absint.lattices.deadline import on_time
from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Expr
from absint.solver.constraints import meets
from absint.solver.prove import connected

Sizes = Mapping[str, int]
Parameters = Mapping[str, Expr]

_TRIED: Final = 2500
"""Sizes that are tried one by one, and again for those with a 0."""


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
    return (sizes for sizes in _growing(parameters) if meets(premises, sizes))


def _merged(parts: Sequence[Sizes], parameters: Parameters) -> Sizes:
    found = {name: size for part in parts for name, size in part.items()}
    return {name: found[name] for name in parameters}


def _false_at(relation: Relation, near: Sequence[Relation], parameters: Parameters, model: Sizes) -> Iterator[Sizes]:
    def fits(sizes: Sizes) -> bool:
        return relation.at(sizes) is NO and meets(near, sizes)

    start = {name: model.get(name, 1) for name in parameters}
    if not fits(start):
        yield from filter(fits, _growing(parameters))
        return
    small = _shrunk(start, fits, parameters)
    if max(small.values(), default=0) <= 1:
        yield small
    yield from filter(fits, _growing(parameters))
    yield small
    yield start


def _growing(parameters: Parameters) -> Iterator[Sizes]:
    """Sizes by the largest of them: from 1, then those with a 0."""
    names = list(parameters)
    for least in (1, 0):
        every = chain.from_iterable(_with_largest(most, least, len(names)) for most in range(least, _TRIED))
        for sizes in islice(every, _TRIED):
            on_time()
            if (least or 0 in sizes) and all(s in parameters[n].bounds for n, s in zip(names, sizes, strict=True)):
                yield dict(zip(names, sizes, strict=True))
    if not names:
        yield {}


def _with_largest(most: int, least: int, count: int) -> Iterator[tuple[int, ...]]:
    """Sizes of which the largest is `most`, none below `least`; those of a small sum first."""
    layer = (
        product(*repeat(range(least, most + 1), place), (most,), *repeat(range(least, most), count - place - 1))
        for place in reversed(range(count))
    )
    yield from sorted(islice(chain.from_iterable(layer), _TRIED), key=sum)


def _shrunk(sizes: Sizes, fits: Callable[[Sizes], bool], parameters: Parameters) -> Sizes:
    """The sizes with one symbol after another as small as it can be, the largest first."""
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        tried = (*range(1, min(sizes[name] or _TRIED, _TRIED)), *_halved(sizes[name]))
        found = ({**sizes, name: size} for size in tried if size in parameters[name].bounds)
        sizes = next(filter(fits, found), sizes)
    return sizes


def _halved(size: int) -> Iterator[int]:
    """Sizes between that and those that were tried one by one."""
    return (size - (size >> shift) for shift in range(1, 32) if _TRIED <= size - (size >> shift) < size)


__all__ = ["Parameters", "Sizes", "legal_sizes", "small_sizes"]
