"""Small sizes that are legal and make a relation false: all small ones in order, else what Z3 found, made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, product
from typing import Final

from absint.lattices.deadline import on_time
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr
from absint.solver.constraints import holds, meets
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
    names = [name for name in parameters if name in mentioned]
    others = [name for name in parameters if name not in mentioned]
    apart = [premise for premise in premises if premise not in near]
    rest = next(legal_sizes(apart, {n: parameters[n] for n in others}), {n: model.get(n, 1) for n in others})
    seen: list[Sizes] = []
    for sizes in _false_at(relation, near, {n: parameters[n] for n in names}, model):
        if sizes not in seen:
            seen.append(sizes)
            yield {name: rest[name] if name in rest else sizes[name] for name in parameters}


def legal_sizes(premises: Sequence[Relation], parameters: Parameters) -> Iterator[Sizes]:
    """Sizes that meet the premises, the smallest first."""
    return (sizes for sizes in _growing(parameters) if meets(premises, sizes))


def _false_at(relation: Relation, near: Sequence[Relation], parameters: Parameters, model: Sizes) -> Iterator[Sizes]:
    def fits(sizes: Sizes) -> bool:
        return holds(relation, sizes) is False and meets(near, sizes)

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
        tried = 0
        for most in count(least) if names else (least,):
            for sizes in product(range(least, most + 1), repeat=len(names)):
                if max(sizes, default=most) < most or (not least and 0 not in sizes):
                    continue
                on_time()
                tried += 1
                if all(size in parameters[name].bounds for name, size in zip(names, sizes, strict=True)):
                    yield dict(zip(names, sizes, strict=True))
                if tried >= _TRIED:
                    break
            if tried >= _TRIED or most >= _TRIED:
                break


def _shrunk(sizes: Sizes, fits: Callable[[Sizes], bool], parameters: Parameters) -> Sizes:
    """The sizes with one symbol after another as small as it can be, the largest first."""
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        tried = (*range(1, min(sizes[name], _TRIED)), *_halved(sizes[name]))
        found = ({**sizes, name: size} for size in tried if size in parameters[name].bounds)
        sizes = next(filter(fits, found), sizes)
    return sizes


def _halved(size: int) -> Iterator[int]:
    """Sizes between that and those that were tried one by one."""
    return (size - (size >> shift) for shift in range(1, 32) if _TRIED <= size - (size >> shift) < size)


__all__ = ["Parameters", "Sizes", "legal_sizes", "small_sizes"]
