"""Equality of terms with quotients that always go up exactly, such as i*(i + 1)//2: they are polynomials."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, sub

Polynomial = tuple[Fraction, ...]
"""Coefficients by ascending degree."""

_MAX_DIVISOR: Final = 24


def is_equal_in(number: Symbol, a: Dim, b: Dim) -> bool:
    """The terms are equal for every natural number, by normal form; False means "not shown".

    >>> from absint.lattices.terms.expr import expr_of
    >>> from absint.lattices.terms.normal import floordiv
    >>> i = Symbol("i")
    >>> above, below = (floordiv(expr_of(i) * (expr_of(i) + k), 2) for k in (1, -1))
    >>> is_equal_in(i, above, below + expr_of(i)), is_equal_in(i, above, below)
    (True, False)
    """
    if a is b:
        return True
    gap = sub(a, b)
    if not isinstance(gap, Expr):
        return False
    parts: dict[tuple[Atom, ...], Polynomial] = {}
    for mono, factor in gap.terms:
        total: Polynomial = (Fraction(factor),)
        rest = []
        for item in mono:
            known = _polynomial(item, number)
            if known is None:
                rest.append(item)
            else:
                total = _product(total, known)
        key = tuple(rest)
        parts[key] = _total(parts.get(key, ()), total)
    return not any(map(any, parts.values()))


def _polynomial(item: Atom, number: Symbol) -> Polynomial | None:
    """The atom as a polynomial with rational coefficients in the number."""
    if item is number:
        return Fraction(0), Fraction(1)
    if item.op != "floordiv":
        return None
    dividend, divisor = item.args
    by = divisor.const if isinstance(divisor, Expr) else None
    if not isinstance(dividend, Expr) or by is None or not 1 < by <= _MAX_DIVISOR:
        return None
    if set(dividend.symbols) != {number} or any(s is not number for mono, _ in dividend.terms for s in mono):
        return None
    if any(dividend.evaluate({number.name: k}) % by for k in range(by)):
        return None
    found: dict[int, Fraction] = {len(mono): Fraction(factor, by) for mono, factor in dividend.terms}
    return tuple(found.get(k, Fraction(0)) for k in range(max(found) + 1))


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return tuple(result)


def _total(a: Polynomial, b: Polynomial) -> Polynomial:
    size = max(len(a), len(b))
    return tuple(sum(p[k] for p in (a, b) if k < len(p)) + Fraction(0) for k in range(size))
