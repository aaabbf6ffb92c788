"""Facts about a single symbol that follow from a comparison: bounds, a congruence, that it is positive."""

from __future__ import annotations

from math import gcd
from typing import cast

from absint.lattices.terms.expr import Atom, Expr, Symbol, const, expr_of, mul, sub
from absint.lattices.terms.interval import Congruence


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


def congruence_of(e: Expr) -> tuple[Symbol, Congruence] | None:
    """s - m*(s // m) - r == 0 (that is, s % m == r) as a congruence of s; sums over one symbol only."""
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


__all__ = ["congruence_of", "of_one_symbol", "positive_factors"]
