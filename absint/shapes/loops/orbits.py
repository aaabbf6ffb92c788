"""Numbers of a loop that are carried together: the first trips by substitution, and forms that fit what they give.

A system of numbers is run on its starts, term by term, for a few trips. A number that from some trip on takes turns,
each a polynomial of degree 3 at most in the number of the round, gets this as a form. As every form it is a guess: the
body, run on all of them, has to give them back (see `closed_forms`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm
from typing import Final

from absint.lattices.logic.relation import eq, ge, ite
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol, add, const, expr_of, sub
from absint.lattices.terms.normal import floordiv, mod
from absint.lattices.terms.substitution import substitute
from absint.shapes.loops.closed_forms import MAX_PERIOD
from absint.shapes.loops.forms import Form, Sum

TRIPS: Final = 24
"""Trips that are run: three rounds of six, and a few before them."""

_BEFORE: Final = 3
"""Most trips before the turns begin."""

_CASES: Final = 12
_DEGREE: Final = 3
_LONGEST: Final = 80
"""Size of the largest term of a trip; a system whose terms grow beyond it has no form."""


@dataclass(frozen=True)
class Orbit(Form):
    """A few numbers of the first trips, then turns: each a polynomial in the round, by its differences."""

    before: tuple[Dim, ...]
    turns: tuple[tuple[Dim, ...], ...]
    split: tuple[int, int] = (0, 1)
    """Of the system: the most numbers before turns, and a common multiple of their periods. Each case has one trip."""

    def at(self, start: Dim, i: Dim) -> Dim:
        first, period = len(self.before), len(self.turns)
        later = i - first
        found = self._turn(later if period == 1 else floordiv(later, period), mod(later, period))
        for trip in range(first - 1, -1, -1):
            found = ite(ge(i, trip + 1), found, self.before[trip])
        return found

    def _turn(self, n: Dim, turn: Dim) -> Dim:
        """The common part of the turns, and a choice of the rest."""
        grown = self.turns[0][1:]
        if all(differences[1:] == grown for differences in self.turns):
            return add(
                _chosen(turn, [differences[0] for differences in self.turns]), _polynomial((ZERO_EXPR, *grown), n)
            )
        return _chosen(turn, [_polynomial(differences, n) for differences in self.turns])

    def cases(self, number: Symbol) -> Iterator[Expr]:
        first, period = self.split
        yield from map(const, range(first))
        for k in range(period):
            case = expr_of(number) * period + (first + k)
            assert isinstance(case, Expr)
            yield case


def _polynomial(differences: Sequence[Dim], n: Dim) -> Dim:
    first, *others = differences
    return Sum(tuple(others)).at(first, n) if others else first


def _chosen(turn: Dim, numbers: Sequence[Dim]) -> Dim:
    found = numbers[0]
    for k, number in enumerate(numbers[1:], 1):
        found = ite(eq(turn, k), number, found)
    return found


def trips_of(
    starts: Mapping[str, Expr], backs: Mapping[str, Expr], others: Mapping[str, Callable[[int], Dim]], number: Symbol
) -> dict[str, list[Dim]] | None:
    """The numbers of the first trips by name, from their starts and the terms of the next trip over these names.

    `others` are numbers whose forms are known. None if a term grows too large.
    """
    found: dict[str, list[Dim]] = {name: [start] for name, start in starts.items()}
    now: Mapping[str, Dim] = starts
    for trip in range(TRIPS):
        known = {**now, **{name: form(trip) for name, form in others.items()}, number.name: const(trip)}
        after: dict[str, Dim] = {}
        for name, back in backs.items():
            term = substitute(back, {s: known[s.name] for s in back.symbols if s.name in known})
            if not isinstance(term, Expr) or term.size > _LONGEST:
                return None
            after[name] = term
            found[name].append(term)
        now = after
    return found


def orbits(numbers: Mapping[str, Sequence[Dim]]) -> dict[str, Orbit]:
    """Forms for the numbers of a system that have one. Their induction goes by the cases of all of them."""
    found = {name: form for name, trips in numbers.items() if (form := _orbit(trips)) is not None}
    first = max((len(form.before) for form in found.values()), default=0)
    period = lcm(*(len(form.turns) for form in found.values()))
    if period > _CASES:
        return {}
    return {name: replace(form, split=(first, period)) for name, form in found.items()}


def _orbit(numbers: Sequence[Dim]) -> Orbit | None:
    """The form with the fewest numbers before it, and then with the shortest period, that fits all these trips."""
    for first in range(_BEFORE + 1):
        for period in range(1, MAX_PERIOD + 1):
            turns = [_differences(numbers[first + k :: period]) for k in range(period)]
            if None not in turns:
                return Orbit(tuple(numbers[:first]), tuple(turn for turn in turns if turn is not None))
    return None


def _differences(numbers: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """The differences at the first of the numbers, if they are those of a polynomial of low degree."""
    found: list[Dim] = []
    row = list(numbers)
    for _ in range(min(_DEGREE + 1, len(row) - 1)):
        found.append(row[0])
        row = [sub(b, a) for a, b in pairwise(row)]
        if all(number is ZERO_EXPR for number in row):
            return tuple(found)
    return None
