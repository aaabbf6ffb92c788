"""The constraints behind a clause, the one that states it before those that only follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Final

from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import NO
from absint.solver.constraints import Constraint

ORDINARY: Final = (64, 65, 97, 224, 1000)
"""Sizes that no window is too large for; none is special."""

_TRIED: Final = 125
_SMALL: Final = 34
"""The sizes of one symbol that are tried."""

_BROKEN: Final = 6
_FORMULAS: Final = 24
"""Most sizes that a clause excludes, and requirements, that are held against each other."""


def by_cause(relation: Relation, because: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints in another order: those that state the clause itself, then those that exclude the most of some
    sizes that it excludes, each in execution order."""
    formulas = list(dict.fromkeys(c.formula for c in because))
    if len(formulas) < 2:
        return tuple(because)
    if relation in formulas:
        return tuple(sorted(because, key=lambda c: c.formula is not relation))
    broken = [sizes for sizes in _tried(relation) if relation.at(sizes) is NO]
    few = broken[:: max(1, len(broken) // _BROKEN)][:_BROKEN]
    excluded = {formula: sum(_breaks(sizes, formula) for sizes in few) for formula in formulas[-_FORMULAS:]}
    return tuple(sorted(because, key=lambda c: -excluded.get(c.formula, 0)))


def ordinary(names: Iterable[str]) -> Iterator[Mapping[str, int]]:
    """Combinations of sizes that nobody would think special."""
    names = sorted(names)
    for sizes in islice(product(ORDINARY, repeat=len(names)), _TRIED):
        yield dict(zip(names, sizes, strict=True))


def _tried(relation: Relation) -> Iterator[Mapping[str, int]]:
    names = sorted(relation.free_symbols)
    one = ({**dict.fromkeys(names, ORDINARY[0]), name: n} for name in names for n in range(1, _SMALL))
    return chain(one, ordinary(names))


def _breaks(sizes: Mapping[str, int], formula: Relation) -> bool:
    """The sizes break a requirement, with an ordinary size for every other symbol."""
    return formula.at({**dict.fromkeys(formula.free_symbols, ORDINARY[0]), **sizes}) is NO
