"""Division in normal form, rounded down (`floordiv`, `mod`, `ceildiv`) or towards zero (`truncdiv`, `fmod`), or several
times in a row (`divided_times`).

A rewrite is a function that returns the rewritten dim, or None where it does not apply; its statement is data
(`absint.lattices.terms.evaluation`). No rewrite assumes that a dim is positive.

In the normal form of `a // m`, for a constant m >= 2, multiples of m stand outside, the coefficients that are left lie
around 0, the first of them is positive, and a quotient by a constant inside is one with the outer quotient.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import gcd
from typing import Final, cast

from absint.lattices.terms import expr
from absint.lattices.terms.atoms import Atom, Monomial, atom, divided
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.evaluation import rounded_to_zero, states
from absint.lattices.terms.expr import UNKNOWN_DIM, Expr, Unknown, add, as_dim, const, expr_of, mul, polynomial, sub
from absint.lattices.terms.extremes import maximum
from absint.lattices.terms.interval import ZERO, Interval
from absint.lattices.terms.polynomials import exact_quotient, nonneg, reduced

Rule = Callable[[Expr, Expr], Dim | None]


def _first(rules: tuple[Rule, ...], a: Expr, b: Expr) -> Dim | None:
    for rule in rules:
        result = rule(a, b)
        if result is not None:
            return result
    return None


# Rounded down


@lru_cache(maxsize=1 << 14)
@states("a // b -> 0", when="a == 0")
@states("a // b -> a", when="b == 1")
@states("a // m -> k", when="m >= 1 and m * k <= a and a <= m * k + m - 1")
def floordiv(a: Dim | int, b: Dim | int) -> Dim:
    """a divided by b, rounded towards minus infinity. Undefined at b = 0."""
    a, b = as_dim(a), as_dim(b)
    if b is const(0):
        return UNKNOWN_DIM
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        return a if a is const(0) or b is const(1) else Unknown(a.bounds.floordiv(b.bounds))
    if a.const is not None and b.const is not None:
        return const(a.const // b.const)
    result = _first(FLOORDIV_RULES, a, b)
    if result is not None:
        return result
    bounds = a.bounds.floordiv(b.bounds)
    if bounds.lo is not None and bounds.lo == bounds.hi and b.const is not None:
        return const(bounds.lo)
    return expr_of(atom("floordiv", (a, b), bounds))


@states("(b * q) // b -> q")
@states("trunc(b * q, b) -> q")
def _exact(a: Expr, b: Expr) -> Dim | None:
    return exact_quotient(a, b)


@states("a // m -> (-a) // (-m)", when="m <= -1")
def _negative_divisor(a: Expr, b: Expr) -> Dim | None:
    return floordiv(-a, -b) if b.const is not None and b.const < 0 else None


@states("a // b -> 0", when="0 <= a and a < b")
@states("a // b -> -1", when="a == -1 and b >= 0")
def _small(a: Expr, b: Expr) -> Dim | None:
    lo, hi = a.bounds
    least = b.bounds.lo
    if a is const(-1) and least is not None and least >= 0:
        return const(-1)
    if lo is not None and lo >= 0 and hi is not None and least is not None and hi < least:
        return const(0)
    m = b.const
    if m is None or m < 1 or lo == 0 or not any(atom.args for atom in a.atoms()):
        return None
    return const(0) if nonneg(sub(const(m - 1), a)) and nonneg(a) else None


@states("(m * q + r) // m -> q + r // m")
def _split_multiples(a: Expr, b: Expr) -> Dim | None:
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    if (m := b.const) is not None:
        # Residues lie around 0; of the two halves of m the positive one, but a leading minus stays for `_leading_sign`,
        # so that ceil(N / 2) becomes (N + 1) // 2.
        lead = next((mono for mono, coef in a.ordered if mono and coef % m), None)
        for mono, coef in a.terms:
            r = coef % m
            if mono and (2 * r > m or (2 * r == m and coef < 0 and mono == lead)):
                r -= m
            if coef != r:
                quotient[mono] = (coef - r) // m
            if r:
                rest[mono] = r
    elif len(b.terms) == 1:
        for mono, coef in a.terms:
            part = divided((mono, coef), b.terms[0])
            if part is None:
                rest[mono] = coef
            else:
                quotient[part[0]] = part[1]
    if not quotient:
        return None
    return add(polynomial(quotient), floordiv(polynomial(rest), b))


@states("(g * y + c) // (g * n) -> (y + c // g) // n", when="g >= 1 and n >= 1")
def _common_content(a: Expr, b: Expr) -> Dim | None:
    m = b.const
    if m is None:
        return None
    g = m
    for mono, coef in a.terms:
        if mono:
            g = gcd(g, coef)
    return None if g <= 1 else floordiv(polynomial({mono: coef // g for mono, coef in a.terms}), const(m // g))


@states("(x // k + r) // m -> (x + k * r) // (k * m)", when="k >= 1 and m >= 1")
@states("(r - x // k) // m -> -((x + k * (m - 1 - r)) // (k * m))", when="k >= 1 and m >= 1")
def _nested(a: Expr, b: Expr) -> Dim | None:
    m = b.const
    found = _single_quotient(a) if m is not None else None
    if found is None:
        return _nested_symbolic(a, b)
    (x, k), sign, rest = found
    assert m is not None
    assert k.const is not None
    if k.const * m > _MAX_NESTED:
        return None
    if sign > 0:
        return floordiv(add(x, mul(k, rest)), mul(k, b))
    return -floordiv(add(x, mul(k, sub(const(m - 1), rest))), mul(k, b))


_MAX_NESTED: Final = 1 << 63
"""Divisors are not merged beyond this: a long chain of divisions would grow without limit."""


@states("(x // y) // z -> x // (y * z)", when="z >= 0")
def _nested_symbolic(a: Expr, b: Expr) -> Dim | None:
    """z is a natural number, so at least 1 where the quotient is defined."""
    only = expr.sole_atom(a)
    if only is None or only.op != "floordiv" or b.bounds.lo is None or b.bounds.lo < 0:
        return None
    x, y = cast(tuple[Expr, Expr], only.args)
    divisor = mul(y, b)
    return floordiv(x, divisor) if isinstance(divisor, Expr) and (divisor.const or 0) <= _MAX_NESTED else None


@states("a // (g * z) -> (a // g) // z", when="g >= 1 and z >= 0")
def _settled_by_content(a: Expr, b: Expr) -> Dim | None:
    """Where a // g is a number for the content g of the divisor, as `N // (2*M)` is `1 // M` if N is 2 or 3."""
    lo, hi = a.bounds
    if b.const is not None or lo is None or hi is None or b.bounds.lo is None or b.bounds.lo < 0:
        return None
    g = gcd(*(coef for _, coef in b.terms))
    if g == 1 or lo // g != hi // g or a.const == lo // g:
        return None
    return floordiv(const(lo // g), polynomial({mono: coef // g for mono, coef in b.terms}))


def _single_quotient(a: Expr) -> tuple[tuple[Expr, Expr], int, Dim] | None:
    """a as sign * (x // k) + rest with a constant k >= 1, where exactly one such term exists."""
    hits = [
        (mono, coef) for mono, coef in a.terms if len(mono) == 1 and coef in (1, -1) and expr.constant_divisor(mono[0])
    ]
    if len(hits) != 1:
        return None
    mono, coef = hits[0]
    rest = polynomial({m: c for m, c in a.terms if m is not mono})
    return cast(tuple[Expr, Expr], mono[0].args), coef, rest


@states("a // m -> -((-a + m - 1) // m)", when="m >= 1")
def _leading_sign(a: Expr, b: Expr) -> Dim | None:
    m = b.const
    if m is None:
        return None
    mono, coef = a.ordered[0]
    if not mono or coef > 0:
        return None
    return -floordiv(add(-a, const(m - 1)), b)


@states("a % b -> a - b * (a // b)")
def mod(a: Dim | int, b: Dim | int) -> Dim:
    """a modulo b with the sign of b (Python's, and ONNX Mod with fmod=0): `a - b*(a//b)`."""
    a, b = as_dim(a), as_dim(b)
    if isinstance(a, Expr) and isinstance(b, Expr):
        return sub(a, mul(b, floordiv(a, b))) if b is not const(0) else UNKNOWN_DIM
    hi = b.bounds.hi
    positive = b.bounds.lo is not None and b.bounds.lo >= 0
    return Unknown(Interval(0, None if hi is None else max(hi - 1, 0))) if positive else UNKNOWN_DIM


@states("ceil(a, b) -> -((-a) // b)")
def ceildiv(a: Dim | int, b: Dim | int) -> Dim:
    """a divided by b, rounded towards plus infinity."""
    return -floordiv(-as_dim(a), b)


@states("(a * c) // (b * c) -> a // b")
def _floordiv_cancel(a: Expr, b: Expr) -> Dim | None:
    pair = reduced(a, b)
    return None if pair is None else floordiv(*pair)


@states("divided(a, m, n) // m -> divided(a, m, n + 1)", when="m >= 2 and n >= 0")
def _once_more(a: Expr, b: Expr) -> Dim | None:
    only = expr.sole_atom(a)
    if only is None or only.op != "divided" or only.args[1] is not b:
        return None
    whole, _, times = cast(tuple[Expr, Expr, Expr], only.args)
    return divided_times(whole, b, add(times, const(1))) if nonneg(times) else None


FLOORDIV_RULES: Final[tuple[Rule, ...]] = (
    _exact,
    _once_more,
    _negative_divisor,
    _small,
    _split_multiples,
    _common_content,
    _floordiv_cancel,
    _nested,
    _settled_by_content,
    _leading_sign,
)


@lru_cache(maxsize=1 << 14)
@states("divided(a, m, n) -> a", when="n <= 0")
@states("a // m -> a", when="m >= 2 and (a == 0 or a == -1)")
def divided_times(a: Dim | int, by: Dim | int, times: Dim | int) -> Dim:
    """a divided by a constant of 2 or more, rounded down, and this again, so many times: `a // by**times`. A negative
    number of times is none. Unknown for any other divisor.
    """
    a, by, times = as_dim(a), as_dim(by), as_dim(times)
    if not isinstance(by, Expr) or by.const is None or by.const < 2:
        return UNKNOWN_DIM
    bounds = a.bounds.join(ZERO)
    if not isinstance(a, Expr) or not isinstance(times, Expr):
        return Unknown(bounds)
    if a is const(0) or a is const(-1) or (times.bounds.hi is not None and times.bounds.hi <= 0):
        return a
    if times.const is not None and times.const <= _MOST_TIMES:
        return floordiv(a, const(by.const**times.const))
    return expr_of(atom("divided", (a, by, times), bounds))


_MOST_TIMES: Final = 62
"""Divisions that become one, by a power. After more of them no dim and no integer of a tensor is left."""


# Rounded towards zero


@lru_cache(maxsize=1 << 14)
def truncdiv(a: Dim | int, b: Dim | int) -> Dim:
    """a divided by b, rounded towards zero (C's integer division, and ONNX Div on integers). Undefined at b = 0."""
    a, b = as_dim(a), as_dim(b)
    if b is const(0):
        return UNKNOWN_DIM
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        return a if a is const(0) or b is const(1) else Unknown(a.bounds.truncdiv(b.bounds))
    if a.const is not None and b.const is not None:
        return const(rounded_to_zero(a.const, b.const))
    if b.bounds == ZERO:
        return UNKNOWN_DIM
    result = _first(TRUNCDIV_RULES, a, b)
    return expr_of(atom("truncdiv", (a, b), a.bounds.truncdiv(b.bounds))) if result is None else result


@states("trunc(a, b) -> a // b", when="a >= 0 and b >= 0")
def _both_natural(a: Expr, b: Expr) -> Dim | None:
    return floordiv(a, b) if nonneg(a) and nonneg(b) else None


@states("trunc(a, b) -> 0", when="a == 0")
@states("trunc(a, b) -> -trunc(-a, b)", when="a <= 0")
def _negative_dividend(a: Expr, b: Expr) -> Dim | None:
    if a.bounds == ZERO:
        return const(0)
    return -truncdiv(-a, b) if a.bounds.hi is not None and a.bounds.hi <= 0 else None


@states("trunc(a, b) -> -trunc(a, -b)", when="b <= 0")
def _negative_trunc_divisor(a: Expr, b: Expr) -> Dim | None:
    return -truncdiv(a, -b) if b.bounds.hi is not None and b.bounds.hi <= 0 else None


@states("trunc(a, m) -> max(a // m, 0)", when="m >= 1 and a >= 1 - m")
def _hardly_negative(a: Expr, b: Expr) -> Dim | None:
    """Between 0 and -m the quotient is 0, and the floor is -1."""
    m = b.const
    return maximum(floordiv(a, b), 0) if m is not None and m >= 1 and nonneg(add(a, const(m - 1))) else None


@states("fmod(a, b) -> a - b * trunc(a, b)")
def fmod(a: Dim | int, b: Dim | int) -> Dim:
    """a modulo b with the sign of a (C's, and ONNX Mod with fmod=1): `a - b*truncdiv(a, b)`."""
    a, b = as_dim(a), as_dim(b)
    if isinstance(a, Expr) and isinstance(b, Expr):
        return sub(a, mul(b, truncdiv(a, b))) if b is not const(0) else UNKNOWN_DIM
    return UNKNOWN_DIM


@states("trunc(a * c, b * c) -> trunc(a, b)")
def _truncdiv_cancel(a: Expr, b: Expr) -> Dim | None:
    pair = reduced(a, b)
    return None if pair is None else truncdiv(*pair)


TRUNCDIV_RULES: Final[tuple[Rule, ...]] = (
    _exact,
    _both_natural,
    _negative_dividend,
    _negative_trunc_divisor,
    _hardly_negative,
    _truncdiv_cancel,
)


def further_divisor(a: Atom, quotient: Atom) -> int | None:
    """m where the quotient is a // m for a constant m >= 2."""
    divisor, inner = expr.constant_divisor(quotient), expr.constant_divisor(a)
    if divisor < 2:
        return None
    over = quotient.args[0]
    if over is expr_of(a):
        return divisor
    is_further = 1 <= inner < divisor and divisor % inner == 0 and a.args[0] is over
    return divisor // inner if is_further else None
