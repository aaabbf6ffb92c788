"""Expressions in classes of proved equality: by fingerprints first, and by proof inside the groups only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from lattices.expr import Expr, Symbol, UndefinedError
from lattices.relation import eq
from solver.prove import Prover, meets

_FINGERPRINTS: Final = 8
_DRAWS: Final = 400
_SIZES: Final = (2, 3, 4, 5, 7, 1, 8, 0, 11, 13, 16, 24, 32, 64, 96, 128, 224, 256, 512)
"""Sizes that are drawn, the first more often."""


@dataclass(frozen=True)
class Classes:
    """Classes of expressions that are equal in every run; two expressions of one class are proved equal."""

    classes: tuple[tuple[Expr, ...], ...]
    """Each with its representative first."""
    bindings: tuple[Mapping[str, int], ...]
    """Values of the symbols at which expressions of different classes were told apart."""
    undecided: tuple[tuple[Expr, Expr], ...] = ()
    """Pairs that agree at every binding and are neither proved equal nor told apart."""

    def counterexample(self, a: Expr, b: Expr) -> Mapping[str, int] | None:
        """Values that meet the constraints and make the two differ, if some binding does."""
        return next((at for at in self.bindings if _differ(a, b, at)), None)


def classes(terms: Iterable[Expr], prover: Prover) -> Classes:
    """Group the terms. The first of equal terms represents its class; constraints that contradict each other prove
    nothing, and leave every term in a class of its own."""
    distinct = list(dict.fromkeys(terms))
    if prover.consistent.entailed:
        return Classes(tuple((term,) for term in distinct), ())
    symbols = sorted({s for term in distinct for s in term.symbols}, key=lambda s: s.key)
    bindings = list(legal_bindings(prover, symbols))
    found: list[Mapping[str, int]] = []
    groups: dict[tuple[int | None, ...], list[list[Expr]]] = {}
    undecided: list[tuple[Expr, Expr]] = []
    for term in distinct:
        group = groups.setdefault(tuple(value(term, at) for at in bindings), [])
        for members in group:
            if any(_differ(members[0], term, at) for at in found):
                continue
            decision = prover.decide(eq(members[0], term))
            if decision.entailed:
                members.append(term)
                break
            if decision.entailed is None:
                undecided.append((members[0], term))
            elif decision.model:
                found.append({**(bindings[0] if bindings else {}), **decision.model})
        else:
            group.append([term])
    ordered = sorted((m for group in groups.values() for m in group), key=lambda m: distinct.index(m[0]))
    return Classes(tuple(map(tuple, ordered)), (*bindings, *found), tuple(undecided))


def _differ(a: Expr, b: Expr, binding: Mapping[str, int]) -> bool:
    """Both have a value under the binding, and not the same."""
    first, second = value(a, binding), value(b, binding)
    return first is not None and second is not None and first != second


def legal_bindings(prover: Prover, symbols: Sequence[Symbol], most: int = _FINGERPRINTS) -> Iterator[Mapping[str, int]]:
    """Values that meet every constraint: that of the prover, and others drawn near it. The same in every run."""
    consistent = prover.consistent
    if consistent.entailed is not False:
        return
    names = {s.name: s for s in symbols} | {s.name: s for f in prover.constraints.distinct for s in f.symbols}
    first = {name: consistent.model.get(name, max(2, s.bounds.lo or 0)) for name, s in names.items()}
    formulas = list(prover.constraints.distinct)
    draw = Random(0)
    found = 0
    if meets(formulas, first):
        found += 1
        yield first
    for _ in range(_DRAWS if names else 0):
        if found >= most:
            return
        chosen = {n for n in names if draw.random() < 0.6} or {draw.choice(sorted(names))}
        at = {n: drawn(draw) if n in chosen else first[n] for n in sorted(names)}
        if all(at[n] in s.bounds for n, s in names.items()) and meets(formulas, at):
            found += 1
            yield at


def drawn(draw: Random) -> int:
    """A size, a small one more often."""
    return _SIZES[min(draw.randrange(len(_SIZES)), draw.randrange(len(_SIZES)))]


def value(term: Expr, binding: Mapping[str, int]) -> int | None:
    """The value of a term; None where it divides by zero, or a symbol has no value."""
    try:
        return term.evaluate(binding)
    except (UndefinedError, KeyError, ValueError):
        return None


__all__ = ["Classes", "classes", "legal_bindings", "value"]
