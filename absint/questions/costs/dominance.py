"""The sums that can be the largest of many, and a short bound of them all.

A sum is a polynomial by its terms, of which those that all sums share are held once. A sum is at least another if each
surplus term of the other is covered by a surplus term of its own: `batch*seq*seq` covers `batch*seq` where seq is at
least 1. Covering is greedy, so some orders are missed: the sums kept suffice, but may not be the fewest. Of many sums
few pairs need a proof: values at a few sizes rule out most, and so does a term that no other one covers. Sets are bits
of an integer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, groupby, islice, repeat
from math import prod
from operator import add, ge, itemgetter, mul
from typing import Final, NamedTuple

from absint.lattices.terms.evaluation import values_of
from absint.lattices.terms.expr import Atom, Dim, Expr, Monomial, Symbol, expr_of, polynomial, product, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import substitute
from absint.lattices.terms.polynomials import nonneg
from absint.questions.costs.bindings import symbols_of
from absint.solver.candidates import alone, drawn, equal, fitted

Terms = Mapping[Monomial, int]

_SIZES: Final = (1, 2, 64, 1000)
_DRAWN: Final = 16
_SLACK: Final = 0.05


class Sum(NamedTuple):
    """The terms that all sums share, and its own; the step at which it is reached, and its values at some sizes."""

    base: Terms
    terms: Terms
    step: int
    values: tuple[int, ...]

    @property
    def expr(self) -> Dim:
        """The sum as an expression."""
        return polynomial(
            {mono: self.base.get(mono, 0) + self.terms.get(mono, 0) for mono in (*self.base, *self.terms)}
        )


class Dominance:
    """Compares sums of one base, under what is known of symbols: `narrowed` gives a more exact term for a symbol."""

    def __init__(self, narrowed: Mapping[Symbol, Dim], symbols: Iterable[Symbol], base: Terms) -> None:
        self._narrowed = narrowed
        self._base = base
        self._least: dict[Atom, int] = {}
        self._orders: dict[tuple[Atom, Atom], bool] = {}
        self._covers: dict[tuple[Monomial, Monomial], int] = {}
        self._values: dict[Monomial, tuple[int, ...]] = {}
        ordered = sorted(symbols, key=lambda s: s.key)
        self._samples = _samples([(s.name, self._bounds(s)) for s in ordered])
        """Sizes at which sums are compared before a proof is tried."""
        exact = symbols_of(self._exact(expr_of(s)) for s in ordered)
        some = drawn({s.name: _SIZES[2] for s in exact}, _DRAWN)
        self._drawn = [{s.name: fitted(sizes[s.name], s.bounds) for s in exact} for sizes in some]
        """Sizes at which terms are compared."""
        self._shared = self.values(base)

    def sum(self, terms: Terms, step: int) -> Sum:
        """A sum of the base and these terms, with its values."""
        return Sum(self._base, terms, step, tuple(map(add, self._shared, self.values(terms))))

    def undominated(self, sums: Iterable[Sum], among: Sequence[Sum] = ()) -> list[Sum]:
        """Sums of which one is the largest at any sizes, in descending order at large ones; none that `among`
        covers.
        """
        every = [*among, *sorted(sums, key=lambda s: (s.values[::-1], -s.step), reverse=True)]
        rivals = self._rivals(every)
        kept = (1 << len(among)) - 1
        for at in range(len(among), len(every)):
            if not any(self._covers_all(every[other], every[at]) for other in _members(rivals[at] & kept)):
                kept |= 1 << at
        return [every[at] for at in _members(kept) if at >= len(among)]

    def _rivals(self, sums: Sequence[Sum]) -> list[int]:
        """For each sum the set of those that may be shown to be at least it."""
        found = _not_below([s.values for s in sums])
        monos = list(dict.fromkeys(chain.from_iterable(each.terms for each in sums)))
        for at, larger in enumerate(_not_below([self._at(mono) for mono in monos])):
            mono = monos[at]
            if not any(self._covered(monos[other], mono) for other in _members(larger & ~(1 << at))):
                _narrow(found, [(coef, n) for n, each in enumerate(sums) if (coef := each.terms.get(mono, 0)) > 0])
        return found

    def at_least(self, a: Sum, b: Sum) -> bool:
        """a is shown to be at least b."""
        return all(map(ge, a.values, b.values)) and self._covers_all(a, b)

    def _covers_all(self, a: Sum, b: Sum) -> bool:
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
        if not all(map(self._is_natural, {*self._base, *(mono for s in sums for mono in s.terms)})):
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
        terms = {mono: most for mono, coef in a.terms.items() if (most := max(coef, b.terms.get(mono, 0)))}
        terms |= {mono: coef for mono, coef in b.terms.items() if coef > 0 and mono not in terms}
        return self.sum(terms, min(a.step, b.step))

    def values(self, terms: Terms) -> tuple[int, ...]:
        """The values of a sum of terms at the sizes at which sums are compared."""
        columns = zip(*map(self._at, terms), strict=True) if terms else repeat(())
        return tuple(sum(map(mul, terms.values(), column)) for column in islice(columns, len(self._samples)))

    def _at(self, mono: Monomial) -> tuple[int, ...]:
        """The values of a term at the samples, and at the sizes drawn."""
        found = self._values.get(mono)
        if found is None:
            term = product(map(expr_of, mono))
            exact = self._exact(term)
            at = [*((term, sizes) for sizes in self._samples), *((exact, sizes) for sizes in self._drawn)]
            found = self._values[mono] = tuple(_value(*pair) for pair in at)
        return found

    def _exact(self, term: Dim) -> Dim:
        return substitute(term, self._narrowed) if isinstance(term, Expr) else term

    def _bounds(self, atom: Atom) -> Interval:
        return self._exact(expr_of(atom)).bounds

    def _lowest(self, atom: Atom) -> int:
        """A lower bound; -1 for an atom that may be negative."""
        found = self._least.get(atom)
        if found is None:
            lo, _ = self._bounds(atom)
            if lo is None or lo < 0:
                lo = 0 if nonneg(self._exact(expr_of(atom))) else -1
            found = self._least[atom] = lo
        return found

    def _is_natural(self, mono: Monomial) -> bool:
        return all(self._lowest(atom) >= 0 for atom in mono)

    def _covered(self, large: Monomial, small: Monomial) -> int:
        """k with large >= k * small; 0 if none is shown."""
        if not all(map(ge, self._at(large), self._at(small))):
            return 0
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
            difference = sub(self._exact(expr_of(a)), self._exact(expr_of(b)))
            found = self._orders[a, b] = nonneg(difference)
        return found


def _samples(symbols: Sequence[tuple[str, Interval]]) -> list[dict[str, int]]:
    """Each symbol alone large or small, and all of them small or large, within their bounds."""
    bounds = dict(symbols)
    (base,) = equal(bounds, [_SIZES[1]])
    wanted = [*alone(base, list(bounds)[: len(_SIZES)], [_SIZES[-1]]), *equal(bounds, _SIZES)]
    return [{name: fitted(size, bounds[name]) for name, size in sizes.items()} for sizes in wanted]


def _not_below(rows: Sequence[tuple[int, ...]]) -> list[int]:
    """For each row the set of those that are below it in no column."""
    found = [-1] * len(rows)
    for column in zip(*rows, strict=True):
        _narrow(found, zip(column, range(len(rows)), strict=True))
    return found


def _narrow(found: list[int], column: Iterable[tuple[int, int]]) -> None:
    """For each member of a column of values drop those that are lower, or not in the column."""
    seen = 0
    for _, level in groupby(sorted(column, reverse=True), key=itemgetter(0)):
        members = [at for _, at in level]
        for at in members:
            seen |= 1 << at
        for at in members:
            found[at] &= seen


def _members(bits: int) -> Iterator[int]:
    """The elements of a set in bits, in ascending order."""
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _value(term: Dim, sizes: Mapping[str, int]) -> int:
    """The value of the term; 0 where it has none."""
    if not isinstance(term, Expr):
        return 0
    try:
        return term.value(values_of(term, sizes))
    except (ArithmeticError, ValueError):
        return 0
