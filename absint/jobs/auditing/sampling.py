"""Sizes to run a model at: legal ones that make as many claims false as they can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, negation
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Expr, Symbol
from absint.lattices.terms.normal import sole_atom
from absint.lattices.value import Tensor
from absint.solver.candidates import coprime, equal
from absint.solver.equivalence import legal_bindings
from absint.solver.prove import Decision, Prover, meets

if TYPE_CHECKING:
    from absint.jobs.auditing.runs import Runs
    from absint.result import Result

Sizes = Mapping[str, int]

POOL: Final = 60
"""Legal sizes that are drawn."""

CHOSEN: Final = 4
"""Of these, the number that is run at a time."""

MOST: Final = 500
"""Relations that sizes are chosen for."""


class Sampler:
    """Draws legal sizes of the inputs of a model."""

    def __init__(self, result: Result, prover: Prover) -> None:
        self._result = result
        self._prover = prover

    @cached_property
    def _pool(self) -> list[Sizes]:
        """Values of all symbols that meet the constraints, the ones with the most distinct sizes first."""
        symbols = [s for name in self._result.symbols for s in (Symbol(name, 0),)]
        found = list(islice(legal_bindings(self._prover, symbols, POOL), POOL))
        spread = self._spread(found[0] if found else {})
        formulas = list(self._prover.constraints.distinct)
        found += [at for at in spread if meets(formulas, at)]
        unneeded = [c.formula for c in self._result.recorded.base if not c.needed]
        if unneeded:  # a run executes these nodes too
            at_once = self._prover.decide(negation(conjunction(TRUE, *unneeded))).model
            running = {**(found[0] if found else {}), **at_once}
            found = [at for at in [*found, running] if meets([*formulas, *unneeded], at)] or found
        names = self._result.symbols
        return sorted(found, key=lambda at: -len({at.get(name, 1) for name in names} - {0, 1}))

    def _spread(self, base: Sizes) -> Iterator[Sizes]:
        """Sizes that differ from each other and share no factor, and those where ranks and dims may vanish."""
        names = self._result.symbols
        for sizes in (coprime(names), *equal(names, (1, 0))):
            yield {**base, **sizes}

    def own(self, values: Sizes) -> Sizes:
        """The sizes of the inputs among values of all symbols, and those elements of inputs that have values."""
        elements = self._result.declared_inputs.elements
        chosen = {name: values[name] for name in elements if name in values}
        return {name: values.get(name, 1) for name in self._result.symbols} | chosen

    def sizes_of(self, decision: Decision) -> Sizes:
        """The sizes of the inputs at which a decision says that a relation is false."""
        return self.own({**(self._pool[0] if self._pool else {}), **decision.model})

    def decide(self, relation: Relation) -> Decision:
        """Decide whether the constraints entail a relation. One that is false at all sizes is so at any of them."""
        if relation is FALSE:
            return Decision(False, "normal form", model=self._prover.consistent.model)
        known = next((at for at in self._pool if _is_false(relation, at)), None)
        return Decision(False, "evaluation", model=known) if known is not None else self._prover.decide(relation)

    def telling(self, relations: Iterable[Relation], runs: Runs) -> list[Sizes]:
        """A few legal sizes that have not been run, each with relations that are false there.

        If input sizes do not decide some relation, also distinct sizes, and the smallest.
        """
        rest = list(islice(relations, MOST))
        inputs = self._result.parameters.keys()
        decidable = [r for r in rest if r not in (FALSE, UNKNOWN_RELATION) and r.free_symbols <= inputs]
        blind = len(decidable) < len(rest)
        pool = {_key(own): own for at in self._pool if not runs.tried(own := self.own(at))}
        false_at = {key: {r for r in decidable if _is_false(r, at)} for key, at in pool.items()}
        chosen = (
            [next(iter(pool)), min(pool, key=lambda key: (0 in key, sum(key))), min(pool, key=sum)]
            if blind and pool
            else []
        )
        while len(chosen) < CHOSEN and false_at:
            best = max(false_at, key=lambda key: len(false_at[key]))
            told = false_at.pop(best)
            if not told:
                break
            chosen.append(best)
            false_at = {key: rest - told for key, rest in false_at.items()}
        return [pool[key] for key in dict.fromkeys(chosen)]


def _key(sizes: Sizes) -> tuple[int, ...]:
    return tuple(sizes.values())


def _is_false(relation: Relation, values: Sizes) -> bool:
    return relation is not UNKNOWN_RELATION and relation.at(values) is NO


def is_legal(result: Result, sizes: Sizes) -> bool:
    """Sizes are given for all input symbols, and meet the declarations and assumptions."""
    assumed = (relation for relation in result.assumptions if relation.free_symbols <= sizes.keys())
    return sizes.keys() == set(result.symbols) and meets([*result.declared_premises, *assumed], sizes)


def input_sizes(result: Result, feeds: Mapping[str, object]) -> Sizes | None:
    """The sizes of the symbols of the inputs that feeds show; None if they do not show all, or are not as declared."""
    found: dict[str, int] = {}
    shown = [(dim, size) for dim, size in _shown(result, feeds) if isinstance(dim, Expr)]
    for dim, size in shown:
        if isinstance(atom := sole_atom(dim), Symbol):
            found.setdefault(atom.name, size)
    if not is_legal(result, found) or any(dim.evaluate(found) != size for dim, size in shown):
        return None
    return found


def _shown(result: Result, feeds: Mapping[str, Any]) -> Iterator[tuple[object, int]]:
    for name, array in feeds.items():
        value = result.values.get(name)
        shape: Sequence[int] = getattr(array, "shape", ())
        if isinstance(value, Tensor) and value.shape.rank == len(shape):
            yield from zip(value.shape.dims, shape, strict=True)
