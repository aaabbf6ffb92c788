"""Sizes to show numbers at where the user gives none: near 64, and such that the model runs, as far as sizes decide
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import MAX_DIM, Dim, Symbol, expr_of
from absint.lattices.terms.interval import Interval
from absint.solution.constraints import constraints

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

DEFAULT_SIZES: Final = (64, 256, 1024, 4096)
"""Default sizes of a symbol: the first one that is possible is used."""

_OTHERS: Final = (64, 32, 128, 16, 256, 8, 512, 1024, 4, 2048, 2, 4096, 1)
"""Sizes of one symbol to try where a requirement is not met, the most likely first."""

_REPAIRS: Final = 8

Sizes = Mapping[str, int]


def default_sizes(
    analysed: Analysed,
    symbols: Iterable[Symbol],
    names: Mapping[Symbol, Dim],
    facts: Facts,
    evaluate: Callable[[Sizes], object],
) -> Sizes:
    """Each symbol, under its printed name, at 64 or as near to it as its bounds and the requirements allow.

    Larger where `evaluate` refuses that. Requirements that sizes do not decide, or that no size near by meets, are
    ignored.
    """
    inputs = {Symbol(name, 0): None for name in analysed.symbols}
    bounds = {str(names.get(s, s.name)): facts.mapping.get(s, expr_of(s)).bounds for s in (*inputs, *symbols)}
    order = [*analysed.symbols, *sorted(bounds.keys() - set(analysed.symbols), key=_natural)]
    wanted = {str(names.get(symbol, symbol.name)) for symbol in symbols}
    required = _requirements(analysed, frozenset(bounds))
    found: Sizes = {}
    for size in DEFAULT_SIZES:
        whole = _repaired({name: _within(size, bounds[name]) for name in order}, bounds, required)
        found = {name: size for name, size in whole.items() if name in wanted}
        with suppress(UsageError):
            evaluate(found)
            break
    return found


def _requirements(analysed: Analysed, known: frozenset[str]) -> Sequence[Relation]:
    """Requirements of a run over these symbols alone."""
    stated = (c.formula for c in constraints(analysed) if c.role != "defined")
    return [formula for formula in dict.fromkeys(stated) if formula.free_symbols <= known]


def _repaired(sizes: Sizes, bounds: Mapping[str, Interval], required: Sequence[Relation]) -> Sizes:
    """The sizes, with one symbol after another changed so that fewer requirements are broken."""
    broken = _broken(sizes, required)
    for _ in range(_REPAIRS):
        if not broken:
            break
        best = min(_changed(sizes, bounds, broken[0]), key=lambda other: len(_broken(other, required)), default=sizes)
        left = _broken(best, required)
        if len(left) >= len(broken):
            break
        sizes, broken = best, left
    return sizes


def _changed(sizes: Sizes, bounds: Mapping[str, Interval], relation: Relation) -> Iterator[Sizes]:
    """The sizes with another one for a symbol of the relation."""
    for size in _OTHERS:
        for name in sizes:
            if name in relation.free_symbols and size in bounds[name]:
                yield {**sizes, name: size}


def _broken(sizes: Sizes, required: Sequence[Relation]) -> list[Relation]:

    return [relation for relation in required if relation.at(sizes) is NO]


def _within(size: int, bounds: Interval) -> int:
    return max(bounds.lo or 0, min(size, MAX_DIM if bounds.hi is None else bounds.hi))


def _natural(name: str) -> tuple[int, str]:
    """`_d2` stands before `_d10`."""
    return len(name), name


__all__ = ["DEFAULT_SIZES", "default_sizes"]
