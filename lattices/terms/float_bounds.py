"""How far a float may lie above a multiple of the integer that it is computed from, whatever a run rounds on the way.

`int(float32(N)*0.1) <= N` and `int(sqrt(float32(N))) <= N` hold of every N. `int(float32(N)) <= N` does not: above
2**24 the nearest float may be a greater number.

A bound of a term x is `x <= k*L + d`, with rationals k and d of at least 0, and an integer L >= 0, the leaf. All terms
on the way are at least 0, by their spans. Rounding to the nearest keeps order. So if y <= b, what y is rounded to is at
most

- b*(1 + u), with u = 2**-digits: that is above what b is rounded to, where b is at least the least normal number. Else
  b is 0, and so is y, since k and d are 0 or at least 2**-100, and L is an integer;
- L, if b <= L, and L is a number of the format.

Two cases count. Up to 2**p, with p the fewest digits on the way, all integers are numbers of all formats on the way: a
leaf without a divisor is exact, and the second line may be used. Above it only the first may, but roots are small:
sqrt(k*L) <= L*sqrt(k/2**p). In both, an integer keeps order: rounded to an integer, x <= L is still at most L. A bound
holds if it does in both cases. Where a float on the way is infinite or NaN, so is the result, unless `min` or a choice
drops it; an infinite one only if its bound was above all floats. What is cast to an integer is a finite number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import Final, Protocol, cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Expr, polynomial
from absint.lattices.terms.ieee import DIGITS, Format, Span

_LEAST: Final = Fraction(1, 1 << 100)
_MOST_TERMS: Final = 16
"""Operations of a term that is looked at; `min` doubles the bounds of it at most so often."""


class Term(Protocol):
    """What a bound sees of a float; see `absint.lattices.terms.floats`."""

    @property
    def op(self) -> str: ...
    @property
    def format(self) -> Format: ...
    @property
    def floats(self) -> Sequence[Term]: ...
    @property
    def leaf(self) -> Expr: ...
    @property
    def under(self) -> int: ...
    @property
    def number(self) -> float: ...
    @property
    def span(self) -> Span: ...

    def subterms(self) -> Sequence[Term]: ...

    def __hash__(self) -> int: ...


class Multiple(NamedTuple):
    """`per` times the integer that a float is cast to is at most `most`."""

    most: Expr
    per: int


class _Bound(NamedTuple):
    """x <= k*leaf + d; the leaf is None where k is 0."""

    leaf: Expr | None
    k: Fraction
    d: Fraction

    @property
    def is_below(self) -> bool:
        """It says that x is at most the leaf."""
        return self.k <= 1 and not self.d


@lru_cache(maxsize=1 << 12)
def multiples(term: Term) -> tuple[Multiple, ...]:
    """Bounds of the integer that the term is cast to; none where nothing is known."""
    parts = term.subterms()
    if len(parts) > _MOST_TERMS or any(part.span.lo < 0 for part in parts):
        return ()
    digits = min(DIGITS[part.format] for part in parts)
    small, large = (_Case(digits, is_small).bounds(parts) for is_small in (True, False))
    pairs = zip(small, large, strict=True) if small and large else ()
    return tuple(_multiple(a.leaf, max(a.k, b.k), max(a.d, b.d)) for a, b in pairs if a.leaf is not None)


def _multiple(leaf: Expr, k: Fraction, d: Fraction) -> Multiple:
    k, d = (Fraction(ceil(number * (1 << 64)), 1 << 64) for number in (k, d))
    per = k.denominator * d.denominator
    terms = {mono: coef * int(k * per) for mono, coef in leaf.terms}
    terms[()] = terms.get((), 0) + int(d * per)
    return Multiple(cast(Expr, polynomial({mono: coef for mono, coef in terms.items() if coef})), per)


class _Case:
    """Leaves up to 2**digits, or above."""

    def __init__(self, digits: int, is_small: bool) -> None:
        self._digits, self._is_small = digits, is_small

    def bounds(self, parts: Sequence[Term]) -> list[_Bound]:
        """The bounds of the last of some terms, those that it is made of first; both cases have them in one order."""
        known: dict[Term, list[_Bound]] = {}
        for part in parts:
            known[part] = list(self._of(part, [known[inner] for inner in part.floats]))[:_MOST_TERMS]
            if not all(map(_is_plain, known[part])):
                return []
        return known[parts[-1]]

    def _of(self, term: Term, inner: list[list[_Bound]]) -> Iterator[_Bound]:
        op = term.op
        if op == "constant":
            yield _Bound(None, Fraction(0), Fraction(term.number))
        elif op == "of":
            lo = term.leaf.bounds.lo
            if lo is not None and lo >= 0:
                found = _Bound(term.leaf, Fraction(1, term.under), Fraction(0))
                yield found if self._is_small and term.under == 1 else self._rounded(term, found)
        elif op == "min":
            yield from (*inner[0], *inner[1])
        elif op in ("max", "ite", "+"):
            for a in inner[0]:
                for b in inner[1]:
                    if a.leaf is b.leaf or a.leaf is None or b.leaf is None:
                        leaf = b.leaf if a.leaf is None else a.leaf
                        if op == "+":
                            yield self._rounded(term, _Bound(leaf, a.k + b.k, a.d + b.d))
                        else:
                            yield _Bound(leaf, max(a.k, b.k), max(a.d, b.d))
        elif op in ("*", "/"):
            by = term.floats[1]
            if by.op == "constant" and by.number > 0:
                factor = Fraction(by.number) if op == "*" else 1 / Fraction(by.number)
                yield from (self._rounded(term, _Bound(a.leaf, a.k * factor, a.d * factor)) for a in inner[0])
        elif op == "sqrt":
            yield from (self._rounded(term, self._root(a)) for a in inner[0])
        elif op in ("ceil", "round"):
            more = Fraction(1, 1 if op == "ceil" else 2)
            yield from (_Bound(a.leaf, Fraction(1), a.d) if a.is_below else a._replace(d=a.d + more) for a in inner[0])
        elif op in ("floor", "abs"):
            yield from inner[0]
        elif op == "cast":
            widens = DIGITS[term.format] >= DIGITS[term.floats[0].format]
            yield from (a if widens else self._rounded(term, a) for a in inner[0])

    def _rounded(self, term: Term, a: _Bound) -> _Bound:
        """The bound after a rounding to the format of the term."""
        more = 1 + Fraction(1, 1 << DIGITS[term.format])
        k = min(a.k * more, Fraction(1)) if self._is_small and a.is_below else a.k * more
        return _Bound(a.leaf, k, a.d * more)

    def _root(self, a: _Bound) -> _Bound:
        """sqrt(k*L + d) <= sqrt(k)*sqrt(L) + sqrt(d), and sqrt(L) <= L."""
        k = _above_root(a.k if self._is_small else a.k / (1 << self._digits))
        return _Bound(a.leaf, min(k, Fraction(1)) if a.is_below else k, _above_root(a.d))


def _is_plain(a: _Bound) -> bool:
    return all(not number or number >= _LEAST for number in (a.k, a.d)) and max(a.k, a.d) < 1 << 100


def _above_root(number: Fraction) -> Fraction:
    return Fraction(sqrt(number)) * (1 + Fraction(1, 1 << 50))
