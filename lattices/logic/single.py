"""Facts about a single symbol that follow from a comparison: bounds, a congruence, that it is positive."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, lcm
from typing import Final, cast

from absint.lattices.terms.expr import Atom, Expr, Symbol, const, expr_of, mul, sub
from absint.lattices.terms.interval import ANY, Congruence

_LONGEST: Final = 256
"""Most remainders that are tried."""


def of_one_symbol(e: Expr) -> tuple[Symbol, int, int] | None:
    """Symbol, coefficient and constant of a*s + c."""
    linear = [(mono, coef) for mono, coef in e.terms if mono]
    if len(linear) != 1 or len(linear[0][0]) != 1 or not isinstance(symbol := linear[0][0][0], Symbol):
        return None
    return symbol, linear[0][1], sum(c for m, c in e.terms if not m)


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
    if atom.op != "floordiv":
        return None
    over, by = cast("tuple[Expr, Expr]", atom.args)
    line = of_one_symbol(over)
    return None if line is None or by.const is None or by.const < 1 else (line[1], line[2], by.const)


def _of_a_quotient(e: Expr) -> tuple[Symbol, Congruence] | None:
    """From s - m*(a // b) - r == 0 that s % m == r, whatever a is."""
    for mono, coef in e.terms:
        if len(mono) == 1 and mono[0].op == "floordiv":
            b = cast(Expr, mono[0].args[1])
            rest = sub(e, mul(const(coef), expr_of(mono[0])))
            if b.const is None or not isinstance(rest, Expr):
                continue
            # e = coef*(a//b) + rest == 0, so rest is a multiple of coef.
            if any(m and (len(m) != 1 or not isinstance(m[0], Symbol)) for m, _ in rest.terms):
                continue
            linear = [(m[0], c) for m, c in rest.terms if m]
            if len(linear) != 1:
                continue
            symbol, factor = cast(Symbol, linear[0][0]), linear[0][1]
            modulus = abs(coef)
            if gcd(factor, modulus) != 1 or modulus < 2:
                continue
            constant = sum(c for m, c in rest.terms if not m)
            return symbol, Congruence.of(modulus, -constant * pow(factor, -1, modulus))
    return None
