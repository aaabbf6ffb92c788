"""Expressions partitioned by proved equality: fingerprints at sample sizes first, proofs within the groups only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from absint.lattices.limits import DeadlineError, on_time
from absint.lattices.logic.relation import eq
from absint.lattices.terms.expr import Expr, Symbol
from absint.solver.candidates import drawn
from absint.solver.constraints import meets
from absint.solver.prove import Prover

_FINGERPRINTS: Final = 8
_DRAWS: Final = 400


@dataclass(frozen=True)
class Partition:
    """Classes of expressions that are equal in every run; two expressions of one class are proved equal."""

    classes: tuple[tuple[Expr, ...], ...]
    """Each with its representative first."""
    bindings: tuple[Mapping[str, int], ...]
    """Values of the symbols that separate expressions of different classes."""
    undecided: tuple[tuple[Expr, Expr], ...] = ()
    """Pairs that agree at every binding but were not proved equal."""
    reason: str = ""
    """The reason why some terms were not compared, if any; each of those forms its own class."""

    def counterexample(self, a: Expr, b: Expr) -> Mapping[str, int] | None:
        """Values that meet the constraints and make the two differ, if some binding does."""
        return next((at for at in self.bindings if _differ(a, b, at)), None)


def partition(terms: Iterable[Expr], prover: Prover) -> Partition:
    """Partition the terms by proved equality; the first term of a class represents it.

    Contradictory constraints prove nothing: each term forms its own class. At a deadline the remaining terms are not
    compared.
    """
    pending = list(dict.fromkeys(terms))
    bindings: list[Mapping[str, int]] = []
    classes: list[list[Expr]] = []
    undecided: list[tuple[Expr, Expr]] = []
    reason = ""
    try:
        if not prover.consistent.entailed:
            symbols = sorted({s for term in pending for s in term.symbols}, key=lambda s: s.key)
            bindings += legal_bindings(prover, symbols)
            drawn_bindings = tuple(bindings)
            alike: dict[tuple[int | None, ...], list[list[Expr]]] = {}
            while pending:
                on_time()
                term = pending[0]
                candidates = alike.setdefault(tuple(term.at(at) for at in drawn_bindings), [])
                members = _class_of(term, candidates, prover, bindings, len(drawn_bindings), undecided)
                if members is None:
                    candidates.append([term])
                    classes.append(candidates[-1])
                else:
                    members.append(term)
                del pending[0]
        reason = prover.lost
    except DeadlineError as error:
        reason = str(error)
    apart = [(term,) for term in pending]
    return Partition((*map(tuple, classes), *apart), tuple(bindings), tuple(undecided), reason)


def _class_of(
    term: Expr,
    candidates: Sequence[list[Expr]],
    prover: Prover,
    bindings: list[Mapping[str, int]],
    drawn_count: int,
    undecided: list[tuple[Expr, Expr]],
) -> list[Expr] | None:
    """The class that the term provably belongs to; bindings that separate it from others are added."""
    for members in candidates:
        if any(_differ(members[0], term, at) for at in bindings[drawn_count:]):
            continue
        decision = prover.decide(eq(members[0], term))
        if decision.entailed:
            return members
        if decision.entailed is None:
            undecided.append((members[0], term))
        elif decision.model:
            bindings.append({**(bindings[0] if drawn_count else {}), **decision.model})
    return None


def _differ(a: Expr, b: Expr, binding: Mapping[str, int]) -> bool:
    """Both have a value under the binding, and not the same."""
    first, second = a.at(binding), b.at(binding)
    return first is not None and second is not None and first != second


def legal_bindings(prover: Prover, symbols: Sequence[Symbol], most: int = _FINGERPRINTS) -> Iterator[Mapping[str, int]]:
    """Values that meet every constraint: that of the prover, and others drawn near it. The same in every run."""
    consistent = prover.consistent
    if consistent.entailed is not False:
        return
    names = {s.name: s for s in symbols} | {s.name: s for f in prover.constraints.distinct for s in f.symbols}
    first = {name: consistent.model.get(name, max(2, s.bounds.lo or 0)) for name, s in names.items()}
    formulas = list(prover.constraints.distinct)
    others = (at for at in drawn(first, _DRAWS) if all(at[n] in s.bounds for n, s in names.items()))
    yield from islice((at for at in chain([first], others) if meets(formulas, at)), most)
