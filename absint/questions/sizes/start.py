"""Sizes to show numbers at where the user gives none: near 64, and legal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from absint.errors import UsageError
from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.terms.interval import Interval
from absint.questions.sizes.checking import Judge, broken_requirement, may_refuse
from absint.questions.sizes.falsifying import drawn
from absint.solution.analysed import Analysed
from absint.solution.constraints import constraints
from absint.solver.candidates import POWERS, alone, by_nearness, fitted, repaired

DEFAULT_SIZES: Final = (64, 256, 1024, 4096)
"""Default sizes of a symbol: the first one that is possible is used."""

_REPAIRS: Final = 8

_LIMITS: Final = Limits(1.0, 300_000)
"""Of the search for legal sizes."""

Sizes = Mapping[str, int]


class Starts:
    """Legal sizes near wanted ones. `Analysed.once(Starts)` finds them once for all questions."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._found: dict[tuple[tuple[str, int], ...], Sizes | None] = {}

    @property
    def without(self) -> bool:
        """No legal sizes were found near some of the sizes that were asked for."""
        return any(sizes is None for sizes in self._found.values())

    def near(self, wanted: Sizes) -> Sizes | None:
        """The wanted sizes of inputs if they are legal, else the nearest that are; None if none are found."""
        key = tuple(wanted.items())
        if key not in self._found:
            self._found[key] = self._near(wanted)
        return self._found[key]

    def _near(self, wanted: Sizes) -> Sizes | None:
        if not self._analysed.policy.sound or self._is_legal(wanted):
            return wanted
        from absint.questions.sizes.nearest import LegalSizes

        legal = LegalSizes(self._analysed, wanted, _LIMITS)
        found = None
        with suppress(DeadlineError), within(_LIMITS.seconds):
            found = next((sizes for sizes, _ in legal.near(wanted, legal.not_empty(wanted))), None)
        if found is None and wanted.keys() == set(self._analysed.symbols):
            found = next(filter(self._is_legal, drawn(self._analysed)), None)
        if found is None and (solved := legal.solved(legal.not_empty(wanted))) and self._is_legal(solved):
            found = solved
        return found

    def _is_legal(self, sizes: Sizes) -> bool:
        """A check confirms them, or the requirements do where they are all that sizes decide."""
        given = (*self._analysed.declared_premises, *self._analysed.assumptions)
        if any(r.at(sizes) is NO for r in given) or broken_requirement(self._analysed, sizes) is not None:
            return False
        return not may_refuse(self._analysed, sizes) or self._analysed.once(Judge).is_legal(sizes)


def default_sizes(
    analysed: Analysed,
    symbols: Iterable[Symbol],
    names: Mapping[Symbol, Dim],
    facts: Facts,
    evaluate: Callable[[Sizes], object],
) -> Sizes:
    """Each symbol, under its printed name, at 64 or as near to it as is legal, if legal sizes are found.

    Larger where `evaluate` refuses that.
    """
    inputs = {Symbol(name, 0): None for name in analysed.symbols}
    bounds = {str(names.get(s, s.name)): facts.mapping.get(s, expr_of(s)).bounds for s in (*inputs, *symbols)}
    order = [*analysed.symbols, *sorted(bounds.keys() - set(analysed.symbols), key=lambda name: (len(name), name))]
    wanted = {str(names.get(symbol, symbol.name)) for symbol in symbols}
    required = _requirements(analysed, frozenset(bounds))
    found: Sizes = {}
    for size in DEFAULT_SIZES:
        whole = _repaired({name: fitted(size, bounds[name]) for name in order}, bounds, required)
        legal = analysed.once(Starts).near({name: whole[name] for name in analysed.parameters if name in whole})
        whole = {**whole, **(legal or {})}
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
    others = by_nearness(DEFAULT_SIZES[0], POWERS)

    def broken(at: Sizes) -> Sequence[Relation]:
        return [relation for relation in required if relation.at(at) is NO]

    def changed(at: Sizes, relation: Relation) -> Iterator[Sizes]:
        for size in others:
            names = (name for name in at if name in relation.free_symbols and size in bounds[name])
            yield from alone(at, names, [size])

    return repaired(sizes, broken, changed, _REPAIRS)
