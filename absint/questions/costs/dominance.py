"""The sums that can be the largest of many, and a short bound of them all.

A sum is a polynomial by its terms. A sum is at least another if each surplus term of the other is covered by a surplus
term of its own: `batch*seq*seq` covers `batch*seq` where seq is at least 1. Covering is greedy, so some orders are
missed: the sums kept suffice, but may not be the fewest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Final, NamedTuple

from absint.lattices.terms.evaluation import values_of
from absint.lattices.terms.expr import (
    ZERO_EXPR,
    Atom,
    Dim,
    Expr,
    Monomial,
    Symbol,
    add,
    const,
    expr_of,
    mul,
    product,
    sub,
)
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.sign import nonneg
from absint.lattices.terms.substitution import substitute
from absint.solver.candidates import alone, equal, fitted

Terms = Mapping[Monomial, int]

_SIZES: Final = (1, 2, 64, 1000)
_SLACK: Final = 0.05


class Sum(NamedTuple):
    """A sum, the step at which it is reached, and its values at some sizes."""

    terms: Terms
    step: int
    values: tuple[int, ...]

    @property
    def expr(self) -> Dim:
        """The sum as an expression."""
        total: Dim = ZERO_EXPR
        for mono, coef in self.terms.items():
            total = add(total, mul(const(coef), product(map(expr_of, mono))))
        return total


class Dominance:
    """Compares sums, under what is known of symbols: `narrowed` gives a more exact term for a symbol."""

    def __init__(self, narrowed: Mapping[Symbol, Dim], symbols: Iterable[Symbol]) -> None:
        self._narrowed = narrowed
        self._least: dict[Atom, int] = {}
        self._orders: dict[tuple[Atom, Atom], bool] = {}
        self._covers: dict[tuple[Monomial, Monomial], int] = {}
        self._values: dict[Monomial, tuple[int, ...]] = {}
        self.samples = _samples([(s.name, self._bounds(s)) for s in sorted(symbols, key=lambda s: s.key)])
        """Sizes at which sums are compared before a proof is tried."""

    def sum(self, terms: Terms, step: int) -> Sum:
        """A sum with its values."""
        columns = [[coef * value for value in self._at_samples(mono)] for mono, coef in terms.items()]
        return Sum(terms, step, tuple(map(sum, zip(*columns, strict=True))) if columns else (0,) * len(self.samples))

    def undominated(self, sums: Iterable[Sum], among: Sequence[Sum] = ()) -> list[Sum]:
        """Sums of which one is the largest at any sizes, in descending order at large ones; none that `among`
        covers.
        """
        kept: list[Sum] = []
        for candidate in sorted(sums, key=lambda s: (s.values[::-1], -s.step), reverse=True):
            if not any(self.at_least(other, candidate) for other in (*among, *kept)):
                kept.append(candidate)
        return kept

    def at_least(self, a: Sum, b: Sum) -> bool:
        """a is shown to be at least b."""
        for x, y in zip(a.values, b.values, strict=True):
            if x < y:
                return False
        more = {mono: a.terms.get(mono, 0) - b.terms.get(mono, 0) for mono in (*a.terms, *b.terms)}
        spare = {mono: coef for mono, coef in more.items() if coef > 0}
        wanted = {mono: -coef for mono, coef in more.items() if coef < 0}
        if not all(self._is_natural(mono) for mono in spare):
            return False
        for mono in sorted(wanted, key=len, reverse=True):
            need = wanted[mono]
            for other in sorted(spare, key=len):
                factor = self._covered(other, mono)
                if factor and spare[other]:
                    used = min(spare[other], -(-need // factor))
                    spare[other] -= used
                    need -= used * factor
                    if need <= 0:
                        break
            if need > 0:
                return False
        return True

    def bound(self, sums: Sequence[Sum], most: int) -> list[Sum] | None:
        """At most `most` sums, of which one is at least the largest of the given ones at any sizes; None if not shown.

        Sums are merged by the larger coefficient of each term. Those that are the largest somewhere are merged until
        few enough are left; each other one is merged where it adds the least, or kept while there is room.
        """
        if not all(self._is_natural(mono) for s in sums for mono in s.terms):
            return None
        tops = [max(column) or 1 for column in zip(*(s.values for s in sums), strict=True)]
        leaders = dict.fromkeys(max(range(len(sums)), key=lambda at: sums[at].values[k]) for k in range(len(tops)))
        found = [sums[at] for at in leaders]

        def growth(pair: tuple[int, int]) -> float:
            return self._growth(found[pair[0]], found[pair[1]], tops)

        while len(found) > most:
            i, j = min(combinations(range(len(found)), 2), key=growth)
            found = [*(s for at, s in enumerate(found) if at not in (i, j)), self._merged(found[i], found[j])]
        for other in (s for at, s in enumerate(sums) if at not in leaders):
            if not any(self.at_least(s, other) for s in found):
                growths = [self._growth(s, other, tops) for s in found]
                at = growths.index(min(growths))
                if len(found) < most and growths[at] > _SLACK:
                    found.append(other)
                else:
                    found[at] = self._merged(found[at], other)
        return self.undominated(found)

    def _growth(self, a: Sum, b: Sum, tops: Sequence[int]) -> float:
        """The growth that merging adds to the larger of two, relative to the largest of all."""
        rows = zip(a.values, b.values, self._merged(a, b).values, tops, strict=True)
        return sum((merged - max(x, y)) / top for x, y, merged, top in rows)

    def _merged(self, a: Sum, b: Sum) -> Sum:
        terms = {mono: max(a.terms.get(mono, 0), b.terms.get(mono, 0)) for mono in (*a.terms, *b.terms)}
        return self.sum({mono: coef for mono, coef in terms.items() if coef}, min(a.step, b.step))

    def _at_samples(self, mono: Monomial) -> tuple[int, ...]:
        found = self._values.get(mono)
        if found is None:
            found = self._values[mono] = tuple(_value(mono, sizes) for sizes in self.samples)
        return found

    def _bounds(self, atom: Atom) -> Interval:
        return substitute(expr_of(atom), self._narrowed).bounds

    def _lowest(self, atom: Atom) -> int:
        """A lower bound; -1 for an atom that may be negative."""
        found = self._least.get(atom)
        if found is None:
            lo, _ = self._bounds(atom)
            if lo is None or lo < 0:
                lo = 0 if nonneg(substitute(expr_of(atom), self._narrowed)) else -1
            found = self._least[atom] = lo
        return found

    def _is_natural(self, mono: Monomial) -> bool:
        return all(self._lowest(atom) >= 0 for atom in mono)

    def _covered(self, large: Monomial, small: Monomial) -> int:
        """k with large >= k * small; 0 if none is shown."""
        found = self._covers.get((large, small))
        if found is None:
            found = self._covers[large, small] = self._cover(large, small)
        return found

    def _cover(self, large: Monomial, small: Monomial) -> int:
        if not self._is_natural(large) or not self._is_natural(small):
            return 0
        over = list((Counter(large) - Counter(small)).elements())
        for atom in (Counter(small) - Counter(large)).elements():
            match = next((other for other in over if self._not_below(other, atom)), None)
            if match is None:
                return 0
            over.remove(match)
        return prod(map(self._lowest, over))

    def _not_below(self, a: Atom, b: Atom) -> bool:
        found = self._orders.get((a, b))
        if found is None:
            difference = sub(substitute(expr_of(a), self._narrowed), substitute(expr_of(b), self._narrowed))
            found = self._orders[a, b] = nonneg(difference)
        return found


def _samples(symbols: Sequence[tuple[str, Interval]]) -> list[dict[str, int]]:
    """Each symbol alone large or small, and all of them small or large, within their bounds."""
    bounds = dict(symbols)
    (base,) = equal(bounds, [_SIZES[1]])
    wanted = [*alone(base, list(bounds)[: len(_SIZES)], [_SIZES[-1]]), *equal(bounds, _SIZES)]
    return [{name: fitted(size, bounds[name]) for name, size in sizes.items()} for sizes in wanted]


def _value(mono: Monomial, sizes: Mapping[str, int]) -> int:
    """The value of the product; 0 where it has none."""
    term = product(map(expr_of, mono))
    if not isinstance(term, Expr):
        return 0
    try:
        return term.value(values_of(term, sizes))
    except (ArithmeticError, ValueError):
        return 0
