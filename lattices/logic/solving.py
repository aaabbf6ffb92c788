"""What one comparison says of one symbol: bounds, a congruence, all its solutions, or the term that it equals.

The solutions are those of a comparison over one symbol: `x//4 == x//8` is `x <= 3`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import gcd, lcm
from typing import Final, cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ONE_EXPR, Atom, Dim, Expr, Symbol, const, constant_divisor, expr_of, mul, sub
from absint.lattices.terms.interval import ANY, Congruence, Interval
from absint.lattices.terms.periodic import MANY, Univariate, compared, univariate
from absint.lattices.terms.polynomials import nonneg

_LONGEST: Final = 256
"""Most remainders that are tried."""


class Linear(NamedTuple):
    """scale * symbol + shift."""

    symbol: Symbol
    scale: int
    shift: int

    @staticmethod
    def of(e: Expr) -> Linear | None:
        """The expression, if it is of this form."""
        linear = [(mono, coef) for mono, coef in e.terms if mono]
        if len(linear) != 1 or len(linear[0][0]) != 1 or not isinstance(symbol := linear[0][0][0], Symbol):
            return None
        return Linear(symbol, linear[0][1], sum(c for m, c in e.terms if not m))


def positive_factors(e: Expr) -> list[Symbol]:
    """Symbols that are at least 1 wherever e >= 0: factors of every term but a negative constant, all natural."""
    shared: set[Atom] | None = None
    negative = False
    for mono, coef in e.terms:
        if not mono:
            negative = coef < 0
        elif coef > 0 and all(atom.bounds.lo is not None and atom.bounds.lo >= 0 for atom in mono):
            shared = set(mono) if shared is None else shared & set(mono)
        else:
            return []
    found = [atom for atom in shared or () if isinstance(atom, Symbol) and atom.bounds.lo == 0] if negative else []
    return sorted(found, key=lambda s: s.key)


def congruence_of(e: Expr, known: Mapping[Symbol, Congruence]) -> tuple[Symbol, Congruence] | None:
    """A congruence of a symbol that follows from e == 0, as s % m == r does from s - m*(s // m) - r == 0. `known` are
    congruences of symbols.
    """
    return _of_remainders(e, known) or _of_a_quotient(e)


def _of_remainders(e: Expr, known: Mapping[Symbol, Congruence]) -> tuple[Symbol, Congruence] | None:
    """Where e is periodic in its only symbol: the hull of the remainders for which it is 0."""
    if len(e.symbols) != 1:
        return None
    (symbol,) = e.symbols
    quotients: list[tuple[int, int, int, int]] = []
    slope = constant = 0
    for mono, coef in e.terms:
        if not mono:
            constant = coef
        elif mono == (symbol,):
            slope = coef
        elif len(mono) == 1 and (quotient := _quotient(mono[0])) is not None:
            quotients.append((coef, *quotient))
        else:
            return None
    period = lcm(*(divisor for *_, divisor in quotients))
    grows = slope * period + sum(coef * factor * (period // divisor) for coef, factor, _, divisor in quotients)
    if grows or not 1 < period <= _LONGEST:
        return None
    found: Congruence | None = None
    for at in range(period):
        at_zero = slope * at + constant + sum(c * ((f * at + shift) // d) for c, f, shift, d in quotients) == 0
        remainder = Congruence.of(period, at).meet(known.get(symbol, ANY)) if at_zero else None
        if remainder is not None:
            found = remainder if found is None else found.join(remainder)
    return None if found is None or found.modulus == 1 else (symbol, found)


def _quotient(atom: Atom) -> tuple[int, int, int] | None:
    """Factor, shift and divisor of (factor*s + shift) // divisor, for a divisor of at least 1."""
    divisor = constant_divisor(atom)
    line = Linear.of(cast(Expr, atom.args[0])) if divisor >= 1 else None
    return None if line is None else (line.scale, line.shift, divisor)


def _of_a_quotient(e: Expr) -> tuple[Symbol, Congruence] | None:
    """From s - m*(a // b) - r == 0 that s % m == r, whatever a is."""
    for mono, coef in e.terms:
        if len(mono) == 1 and constant_divisor(mono[0]):
            # e = coef*(a//b) + rest == 0, so rest is a multiple of coef.
            rest = sub(e, mul(const(coef), expr_of(mono[0])))
            line = Linear.of(rest) if isinstance(rest, Expr) else None
            modulus = abs(coef)
            if line is not None and gcd(line.scale, modulus) == 1 and modulus >= 2:
                return line.symbol, Congruence.of(modulus, -line.shift * pow(line.scale, -1, modulus))
    return None


class Order(tuple[str, ...]):
    """Names by priority, with the place of each."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Order:
        """The names as they are given, if they have their places already."""
        return names if isinstance(names, Order) else cls(names)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self)}


def solve(e: Expr, order: Sequence[str] = ()) -> tuple[Symbol, Dim] | None:
    """e == 0 as symbol == term, where a symbol occurs once, linearly and with coefficient 1 or -1.

    Invented symbols are solved first, then the symbol that stands last in `order` or, without a place there, by key, so
    that earlier names survive. A solution that could leave the bounds of the symbol is rejected.
    """
    places = Order.of(order).places
    linear = [(mono[0], c) for mono, c in e.terms if len(mono) == 1 and c in (1, -1) and isinstance(mono[0], Symbol)]

    def last(term: tuple[Symbol, int]) -> tuple[bool, int, str]:
        symbol = term[0]
        return symbol.kind is not SymbolKind.INPUT, places.get(symbol.name, len(places)), symbol.key

    for symbol, coef in sorted(linear, key=last, reverse=True):
        value = mul(const(-coef), sub(e, mul(const(coef), expr_of(symbol))))
        if isinstance(value, Expr) and symbol not in value.symbols and _within(value, symbol.bounds):
            return symbol, value
    return None


def _within(value: Expr, bounds: Interval) -> bool:
    """The value respects the lower bound; the upper one is the premise that all dims share."""
    return bounds.lo is None or nonneg(sub(value, const(bounds.lo)))


def originals(mapping: Mapping[Symbol, Dim]) -> Mapping[Symbol, Dim]:
    """The symbols of the replacements, each as the first replaced symbol of its name."""
    first: dict[str, Symbol] = {}
    for symbol in mapping:
        first.setdefault(symbol.name, symbol)
    back: dict[Symbol, Dim] = {}
    for symbol, value in mapping.items():
        for found in (symbol, *(value.symbols if isinstance(value, Expr) else ())):
            if found is not first.get(found.name, found):
                back[found] = expr_of(first[found.name])
    return back


_LEAST: Final = 4
"""Atoms of `x//4`."""


def solved(op: str, e: Expr) -> tuple[str, Dim] | None:
    """The one comparison of the symbol of e that says what `e op 0` does, if there is one."""
    if not _LEAST <= e.size <= MANY or not any(atom.args for atom in e.atoms()):
        return None
    found = univariate(e)
    truth = None if found is None else compared(op, found.function)
    where = None if found is None or truth is None else Univariate(found.symbol, truth).where()
    if found is None or where is None or len(where) > 2:
        return None
    x = expr_of(found.symbol)
    if not where:
        return "==", ONE_EXPR
    (lo, hi), least = where[0], found.symbol.bounds.lo
    if len(where) == 2:
        missing = None if hi is None else hi + 1
        single = missing is not None and lo == least and where[1] == (missing + 1, None)
        return ("!=", sub(x, const(missing))) if single and missing is not None else None
    assert lo is not None
    if hi is None:
        return ">=", sub(x, const(lo))
    if lo == least:
        return ">=", sub(const(hi), x)
    return ("==", sub(x, const(lo))) if lo == hi else None
