"""Sizes to show numbers at where the user gives none: near 64, and legal; small sizes that make a relation false."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from absint.errors import UsageError
from absint.lattices.limits import DeadlineError, Limits, within
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import NO, Relation
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.interval import Interval
from absint.questions.sizes.checking import Judge, broken_requirement, may_refuse
from absint.questions.sizes.falsifying import drawn
from absint.solution.analysed import Analysed
from absint.solution.constraints import constraints
from absint.solver.candidates import POWERS, alone, by_nearness, fitted, growing, repaired, shrunk
from absint.solver.constraints import meets
from absint.solver.subsets import connected

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


# Small sizes that are legal and make a relation false: all small ones in order, else what Z3 found, made smaller.


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
