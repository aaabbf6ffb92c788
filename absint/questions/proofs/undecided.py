"""Choices in sizes that no sizes within reach take both ways: legal sizes may decide them, and Z3 is asked.

Most choices that are left are real: some legal sizes take one side, others the other. A few samples show that without
Z3, which starts only for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.logic.truth import NO, UNKNOWN, YES, Truth
from absint.lattices.records import NamedTuple
from absint.lattices.terms.evaluation import casts_floats
from absint.lattices.terms.expr import NATURAL, Dim, Symbol
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.kept import Kept
from absint.lattices.terms.kinds import SymbolKind
from absint.solver.candidates import numbers_near

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

MAX_CHOICES: Final = 8
"""Conditions that are examined."""

_MAX_SYMBOLS: Final = 4
"""Of one condition."""

_MAX_TRIES: Final = 512
"""Samples that are held against the requirements, for each side of a condition."""

_EQUAL: Final = (8, 1, 2, 3, 4, 16, 32, 64, 224, 256)
"""The common value of all symbols but one or two."""

_ROOMY: Final = (8, 1)
"""Common values at which one symbol is also tried four times as large, as a mask with room for a past."""

_MAX_NAMES: Final = 8

_VALUES: Final = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 500, 1000)
"""Values tried for each symbol of the condition, with those around the numbers in it."""


_one_sided: Final[Kept[tuple[object, ...], frozenset[Relation]]] = Kept(1 << 14)
"""Conditions of which samples showed one side, by the legal sizes and the conditions; counted in premises."""


def undecided(analysed: Analysed) -> frozenset[Relation]:
    """Conditions of choices in sizes of which samples show one side at most."""
    found = [c for c in analysed.rounds.choices if _is_over_sizes(c) and len(c.symbols) <= _MAX_SYMBOLS][:MAX_CHOICES]
    if not found:
        return frozenset()
    legal = _Legal.of(analysed, found)
    known = _one_sided.get((legal, *found))
    if known is None:
        known = frozenset(c for c in found if not legal.both_ways(c))
        _one_sided.add((legal, *found), 1 + len(legal.premises), known)
    return known


def _is_over_sizes(relation: Relation) -> bool:
    """A relation over sizes of inputs, without floats: Z3 knows no more of these than their bounds."""
    return all(symbol.kind is SymbolKind.INPUT for symbol in relation.symbols) and not casts_floats(relation)


class _Legal(NamedTuple):
    """Sizes that meet the requirements of the nodes that every run executes, as far as these are about sizes alone."""

    premises: tuple[Relation, ...]
    solved: tuple[tuple[str, Dim], ...]
    """Symbols that the facts solve."""
    bounds: tuple[tuple[str, Interval], ...]

    @staticmethod
    def of(analysed: Analysed, conditions: Iterable[Relation]) -> _Legal:
        """The legal sizes for an analysis, with bounds of the symbols of the conditions too."""
        premises = tuple(dict.fromkeys(_premises(analysed)))
        facts = analysed.last.analysis.facts
        solved = tuple((s.name, dim) for s, dim in facts.mapping.items() if _is_solved(s, dim))
        known = {s.name: s.bounds for premise in (*conditions, *premises) for s in premise.symbols}
        return _Legal(premises, solved, tuple((dict.fromkeys(analysed.symbols, NATURAL) | known).items()))

    def both_ways(self, condition: Relation) -> bool:
        """Some legal sizes meet the condition, and others do not."""
        seen: set[Truth] = set()
        tries = {YES: _MAX_TRIES, NO: _MAX_TRIES}
        premises = list(self.premises)
        values = sorted({*_VALUES, *numbers_near([condition])})
        for binding in self._samples(sorted(condition.free_symbols), values):
            truth = condition.at(binding)
            if truth is UNKNOWN or truth in seen or not tries[truth]:
                continue
            tries[truth] -= 1
            broken = next((premise for premise in premises if premise.at(binding) is NO), None)
            if broken is not None:  # it is asked first from now on: the next sizes are much the same
                premises.remove(broken)
                premises.insert(0, broken)
                continue
            seen.add(truth)
            if len(seen) == 2:
                return True
        return False

    def _samples(self, varied: Sequence[str], values: Sequence[int]) -> Iterator[Mapping[str, int]]:
        """Sizes that are equal but for one that may be larger, each with others where one of the varied is changed."""
        bounds = dict(self.bounds)
        for base in _EQUAL:
            equal = {name: _within(base, both) for name, both in self.bounds}
            larger = ({**equal, name: _within(4 * base, both)} for name, both in self.bounds)
            for sizes in (equal, *(larger if base in _ROOMY and len(self.bounds) <= _MAX_NAMES else ())):
                others = ({**sizes, name: v} for name in varied for v in values if v in bounds[name])
                for binding in (sizes, *others):
                    if self._solve(binding):
                        yield binding

    def _solve(self, binding: dict[str, int]) -> bool:
        """Give the solved symbols their values; False if they have none here."""
        for name, dim in self.solved:
            if (size := dim.at(binding)) is None:
                return False
            binding[name] = size
        return True


def _premises(analysed: Analysed) -> Iterator[Relation]:
    base, needed = analysed.base.analysis, analysed.lowered.needed
    done: set[int] = set()
    for node, summary in base.applied.items():
        if not summary.statements or id(summary) in done or base.nodes[node].gate >= 0 or not needed[node]:
            continue
        done.add(id(summary))
        for statement in summary.statements:
            relation = statement.relation
            if statement.role != "assumed" and relation is not UNKNOWN_RELATION and _is_over_sizes(relation):
                yield relation
    yield from filter(_is_over_sizes, base.facts.relations)


def _is_solved(symbol: Symbol, dim: Dim) -> bool:
    return symbol.kind is SymbolKind.INPUT and symbol.name not in dim.free_symbols


def _within(value: int, bounds: Interval) -> int:
    lo, hi = bounds
    least = value if lo is None else max(value, lo)
    return least if hi is None else min(least, hi)
