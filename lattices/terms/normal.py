"""Constructors of the composite atoms, each with the rewrites that bring it to normal form.

A rewrite is a function that returns the rewritten dim, or None where it does not apply; what it states is data
(`absint.lattices.terms.rewriting`). No rewrite assumes that a dim is positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import gcd
from typing import Any, Final, cast

from absint.lattices.terms import expr as ex
from absint.lattices.terms import sign
from absint.lattices.terms.expr import Atom, Dim, Expr, Monomial, Unknown, add, const, expr_of, mul, sub
from absint.lattices.terms.interval import ZERO, Interval
from absint.lattices.terms.rewriting import states

Rule = Callable[[Expr, Expr], Dim | None]


def _first(rules: tuple[Rule, ...], a: Expr, b: Expr) -> Dim | None:
    for rule in rules:
        result = rule(a, b)
        if result is not None:
            return result
    return None


# Floor division


@lru_cache(maxsize=1 << 14)
@states("a // b -> 0", when="a == 0")
@states("a // b -> a", when="b == 1")
def floordiv(a: Dim | int, b: Dim | int) -> Dim:
    """a divided by b, rounded towards minus infinity. Undefined at b = 0."""
    a, b = ex.as_dim(a), ex.as_dim(b)
    if b is ex.ZERO_EXPR:
        return ex.UNKNOWN_DIM
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        return _unknown_quotient(a, b)
    if a.const is not None and b.const is not None:
        return const(a.const // b.const)
    result = _first(FLOORDIV_RULES, a, b)
    return expr_of(ex.atom("floordiv", (a, b), a.bounds.floordiv(b.bounds))) if result is None else result


def _unknown_quotient(a: Dim, b: Dim) -> Dim:
    if a is ex.ZERO_EXPR or b is ex.ONE_EXPR:
        return a
    return Unknown(a.bounds.floordiv(b.bounds))


@states("(b * q) // b -> q")
@states("trunc(b * q, b) -> q")
def _exact(a: Expr, b: Expr) -> Dim | None:
    return exact_quotient(a, b)


@states("a // m -> (-a) // (-m)", when="m <= -1")
def _negative_divisor(a: Expr, b: Expr) -> Dim | None:
    return floordiv(-a, -b) if b.const is not None and b.const < 0 else None


@states("a // m -> 0", when="0 <= a and a < m")
def _small(a: Expr, b: Expr) -> Dim | None:
    lo, hi = a.bounds
    least = b.bounds.lo
    return ex.ZERO_EXPR if lo is not None and lo >= 0 and hi is not None and least is not None and hi < least else None


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
            part = _divide_term((mono, coef), b.terms[0])
            if part is None:
                rest[mono] = coef
            else:
                quotient[part[0]] = part[1]
    if not quotient:
        return None
    return add(ex._make(quotient), floordiv(ex._make(rest), b))


@states("(g * y + c) // (g * n) -> (y + c // g) // n", when="g >= 1 and n >= 1")
def _common_content(a: Expr, b: Expr) -> Dim | None:
    m = b.const
    if m is None:
        return None
    g = m
    for mono, coef in a.terms:
        if mono:
            g = gcd(g, coef)
    return None if g <= 1 else floordiv(ex._make({mono: coef // g for mono, coef in a.terms}), const(m // g))


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
    only = sole_atom(a)
    if only is None or only.op != "floordiv" or b.bounds.lo is None or b.bounds.lo < 0:
        return None
    x, y = cast(tuple[Expr, Expr], only.args)
    divisor = mul(y, b)
    return floordiv(x, divisor) if isinstance(divisor, Expr) and _moderate(divisor) else None


def _moderate(divisor: Expr) -> bool:
    return divisor.const is None or divisor.const <= _MAX_NESTED


def _single_quotient(a: Expr) -> tuple[tuple[Expr, Expr], int, Dim] | None:
    """a as sign * (x // k) + rest with a constant k >= 1, where exactly one such term exists."""
    hits = [
        (mono, coef)
        for mono, coef in a.terms
        if len(mono) == 1 and coef in (1, -1) and mono[0].op == "floordiv" and cast(Expr, mono[0].args[1]).is_concrete
    ]
    if len(hits) != 1:
        return None
    mono, coef = hits[0]
    rest = ex._make({m: c for m, c in a.terms if m is not mono})
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
    a, b = ex.as_dim(a), ex.as_dim(b)
    if isinstance(a, Expr) and isinstance(b, Expr):
        return sub(a, mul(b, floordiv(a, b))) if b is not ex.ZERO_EXPR else ex.UNKNOWN_DIM
    hi = b.bounds.hi
    positive = b.bounds.lo is not None and b.bounds.lo >= 0
    return Unknown(Interval(0, None if hi is None else max(hi - 1, 0))) if positive else ex.UNKNOWN_DIM


@states("ceil(a, b) -> -((-a) // b)")
def ceildiv(a: Dim | int, b: Dim | int) -> Dim:
    """a divided by b, rounded towards plus infinity."""
    return -floordiv(-ex.as_dim(a), b)


# Division rounded towards zero


@lru_cache(maxsize=1 << 14)
def truncdiv(a: Dim | int, b: Dim | int) -> Dim:
    """a divided by b, rounded towards zero (C's integer division, and ONNX Div on integers). Undefined at b = 0."""
    a, b = ex.as_dim(a), ex.as_dim(b)
    if b is ex.ZERO_EXPR:
        return ex.UNKNOWN_DIM
    if not (isinstance(a, Expr) and isinstance(b, Expr)):
        return a if a is ex.ZERO_EXPR or b is ex.ONE_EXPR else Unknown(a.bounds.truncdiv(b.bounds))
    if a.const is not None and b.const is not None:
        return const(_trunc(a.const, b.const))
    if b.bounds == ZERO:
        return ex.UNKNOWN_DIM
    result = _first(TRUNCDIV_RULES, a, b)
    return expr_of(ex.atom("truncdiv", (a, b), a.bounds.truncdiv(b.bounds))) if result is None else result


def _trunc(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


@states("trunc(a, b) -> a // b", when="a >= 0 and b >= 0")
def _both_natural(a: Expr, b: Expr) -> Dim | None:
    return floordiv(a, b) if sign.nonneg(a) and sign.nonneg(b) else None


@states("trunc(a, b) -> 0", when="a == 0")
@states("trunc(a, b) -> -trunc(-a, b)", when="a <= 0")
def _negative_dividend(a: Expr, b: Expr) -> Dim | None:
    if a.bounds == ZERO:
        return ex.ZERO_EXPR
    return -truncdiv(-a, b) if a.bounds.hi is not None and a.bounds.hi <= 0 else None


@states("trunc(a, b) -> -trunc(a, -b)", when="b <= 0")
def _negative_trunc_divisor(a: Expr, b: Expr) -> Dim | None:
    return -truncdiv(a, -b) if b.bounds.hi is not None and b.bounds.hi <= 0 else None


@states("trunc(a, m) -> max(a // m, 0)", when="m >= 1 and a >= 1 - m")
def _hardly_negative(a: Expr, b: Expr) -> Dim | None:
    """Between 0 and -m the quotient is 0, and the floor is -1."""
    m = b.const
    return maximum(floordiv(a, b), 0) if m is not None and m >= 1 and sign.nonneg(add(a, const(m - 1))) else None


@states("fmod(a, b) -> a - b * trunc(a, b)")
def fmod(a: Dim | int, b: Dim | int) -> Dim:
    """a modulo b with the sign of a (C's, and ONNX Mod with fmod=1): `a - b*truncdiv(a, b)`."""
    a, b = ex.as_dim(a), ex.as_dim(b)
    if isinstance(a, Expr) and isinstance(b, Expr):
        return sub(a, mul(b, truncdiv(a, b))) if b is not ex.ZERO_EXPR else ex.UNKNOWN_DIM
    return ex.UNKNOWN_DIM


# Polynomial division


def _divide_term(a: tuple[Monomial, int], b: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    """The exact quotient of two terms, if there is one."""
    if a[1] % b[1]:
        return None
    left = list(a[0])
    for factor in b[0]:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left), a[1] // b[1]


def exact_quotient(a: Expr, b: Expr) -> Dim | None:
    """q with a == q * b as polynomials, if there is one (multivariate division by the leading term)."""
    if a is b:
        return ex.ONE_EXPR
    if b.const is not None:
        m = b.const
        if any(coef % m for _, coef in a.terms):
            return None
        return ex._make({mono: coef // m for mono, coef in a.terms})
    if a.const == 0:
        return a
    lead = b.ordered[0]
    quotient: dict[Monomial, int] = {}
    rest: Dim = a
    while isinstance(rest, Expr) and rest.terms:
        part = _divide_term(rest.ordered[0], lead)
        if part is None or len(quotient) > ex.MAX_TERMS:
            return None
        quotient[part[0]] = part[1]
        rest = sub(rest, mul(ex._make(dict([part])), b))
    return ex._make(quotient) if isinstance(rest, Expr) else None


def common_factor(*exprs: Expr) -> Expr:
    """The largest single term (positive coefficient) that divides every term of every expression."""
    g = 0
    mono: list[Atom] | None = None
    for e in exprs:
        for factors, coef in e.terms:
            g = gcd(g, coef)
            if mono is None:
                mono = list(factors)
            elif mono:
                left = list(factors)
                kept = []
                for factor in mono:
                    if factor in left:
                        left.remove(factor)
                        kept.append(factor)
                mono = kept
    return cast(Expr, ex._make({tuple(mono or ()): g or 1}))


def _reduced(a: Expr, b: Expr) -> tuple[Expr, Expr] | None:
    """Both without their common factor, if they have one."""
    factor = common_factor(a, b)
    if factor is ex.ONE_EXPR:
        return None
    return cast(Expr, exact_quotient(a, factor)), cast(Expr, exact_quotient(b, factor))


@states("(a * c) // (b * c) -> a // b")
def _floordiv_cancel(a: Expr, b: Expr) -> Dim | None:
    pair = _reduced(a, b)
    return None if pair is None else floordiv(*pair)


@states("trunc(a * c, b * c) -> trunc(a, b)")
def _truncdiv_cancel(a: Expr, b: Expr) -> Dim | None:
    pair = _reduced(a, b)
    return None if pair is None else truncdiv(*pair)


FLOORDIV_RULES: Final[tuple[Rule, ...]] = (
    _exact,
    _negative_divisor,
    _small,
    _split_multiples,
    _common_content,
    _floordiv_cancel,
    _nested,
    _leading_sign,
)
TRUNCDIV_RULES: Final[tuple[Rule, ...]] = (
    _exact,
    _both_natural,
    _negative_dividend,
    _negative_trunc_divisor,
    _hardly_negative,
    _truncdiv_cancel,
)


# Maximum and minimum


def maximum(*dims: Dim | int) -> Dim:
    """The largest of the dims (at least one)."""
    return _extreme("max", tuple(ex.as_dim(d) for d in dims))


def minimum(*dims: Dim | int) -> Dim:
    """The smallest of the dims (at least one)."""
    return _extreme("min", tuple(ex.as_dim(d) for d in dims))


_MAX_OPERANDS: Final = 64
"""Of max and min, whose operands are compared pairwise."""


@lru_cache(maxsize=1 << 14)
def _extreme(op: str, dims: tuple[Dim, ...]) -> Dim:
    if any(not isinstance(d, Expr) for d in dims) or len(dims) > _MAX_OPERANDS:
        return Unknown(_extreme_bounds(op, dims))
    flat = _flatten(op, cast(tuple[Expr, ...], dims))
    if len(flat) > _MAX_OPERANDS:
        return Unknown(_extreme_bounds(op, flat))
    kept = _undominated(op, flat)
    if len(kept) == 1:
        return kept[0]
    shared = _shared_part(kept)
    rests = [cast(Expr, sub(e, shared)) for e in kept]
    if not all(isinstance(e, Expr) for e in rests):
        return Unknown(_extreme_bounds(op, kept))
    scale = gcd(*(coef for e in rests for _, coef in e.terms)) or 1
    if scale > 1:
        rests = [cast(Expr, exact_quotient(e, const(scale))) for e in rests]
    if shared is not ex.ZERO_EXPR or scale > 1 or _flatten(op, tuple(rests)) != rests:
        return add(shared, mul(const(scale), _extreme(op, tuple(rests))))  # a rest may be a nested extreme by now
    rests.sort(key=lambda e: (e.const is not None, e.key))
    return expr_of(ex.atom(op, tuple(rests), _extreme_bounds(op, rests)))


def _extreme_bounds(op: str, dims: Iterable[Dim]) -> Interval:
    los = [d.bounds.lo for d in dims]
    his = [d.bounds.hi for d in dims]
    known_los = [lo for lo in los if lo is not None]
    known_his = [hi for hi in his if hi is not None]
    if op == "max":
        return Interval(max(known_los, default=None), None if None in his else max(known_his))
    return Interval(None if None in los else min(known_los), min(known_his, default=None))


@states("max(max(a, b) + c, d) -> max(a + c, b + c, d)")
@states("min(min(a, b) + c, d) -> min(a + c, b + c, d)")
def _flatten(op: str, exprs: tuple[Expr, ...]) -> list[Expr]:
    """Nested max(..., max(x, y) + c) as max(..., x + c, y + c); duplicates dropped."""
    flat: dict[Expr, None] = {}
    for e in exprs:
        inner = [mono for mono, coef in e.terms if len(mono) == 1 and mono[0].op == op and coef == 1]
        if len(inner) == 1 and len(e.terms) <= 2:
            rest = sub(e, expr_of(inner[0][0]))
            parts = [add(rest, cast(Expr, x)) for x in inner[0][0].args]
            if all(isinstance(p, Expr) for p in parts):
                flat.update(dict.fromkeys(cast(list[Expr], parts)))
                continue
        flat[e] = None
    return list(flat)


@states("max(a, b) -> a", when="a >= b")
@states("min(a, b) -> a", when="a <= b")
def _undominated(op: str, exprs: list[Expr]) -> list[Expr]:
    """Drop every operand that another one is known to dominate."""
    kept: list[Expr] = []
    for e in exprs:
        if any(_dominates(op, k, e) for k in kept):
            continue
        kept = [k for k in kept if not _dominates(op, e, k)]
        kept.append(e)
    return kept


def _dominates(op: str, a: Expr, b: Expr) -> bool:
    difference = sub(a, b) if op == "max" else sub(b, a)
    return isinstance(difference, Expr) and sign.nonneg(difference)


@states("max(a + c, b + c) -> c + max(a, b)")
@states("min(a + c, b + c) -> c + min(a, b)")
@states("max(g * a, g * b) -> g * max(a, b)", when="g >= 0")
@states("min(g * a, g * b) -> g * min(a, b)", when="g >= 0")
def _shared_part(exprs: list[Expr]) -> Dim:
    """The terms that occur in every operand with the same coefficient, the constant aside."""
    shared = set(exprs[0].terms)
    for e in exprs[1:]:
        shared &= set(e.terms)
    return ex._make({mono: coef for mono, coef in exprs[0].terms if mono and (mono, coef) in shared})


# Broadcast


def broadcast(*dims: Dim | int) -> Dim:
    """The size of an axis after numpy broadcasting: the first operand that is not 1, else 1.

    Symmetric and associative under the requirement that goes with it: the operands are pairwise equal or 1.
    """
    return _broadcast(tuple(ex.as_dim(d) for d in dims))


@lru_cache(maxsize=1 << 14)
@states("broadcast(a, 1) -> a")
@states("broadcast(a, a) -> a")
@states("broadcast(broadcast(a, b), c) -> broadcast(a, b, c)")
@states("broadcast(a, b) -> a", when="a != 1 and (a == b or b == 1)")
@states("broadcast(a, b) -> broadcast(b, a)", when="a == b or a == 1 or b == 1")
def _broadcast(dims: tuple[Dim, ...]) -> Dim:
    flat: dict[Dim, None] = {}
    for d in dims:
        only = sole_atom(d) if isinstance(d, Expr) else None
        if only is not None and only.op == "broadcast":
            flat.update(dict.fromkeys(cast(tuple[Expr, ...], only.args)))
        elif d is not ex.ONE_EXPR:
            flat[d] = None
    if not flat:
        return ex.ONE_EXPR
    if len(flat) == 1 and not any(d.is_unknown for d in flat):
        return next(iter(flat))
    settled = [d for d in flat if isinstance(d, Expr) and _never_one(d)]
    if settled:
        return min(settled, key=lambda d: (d.const is None, d.key))
    if any(d.is_unknown for d in flat):
        return dims[0] if len(dims) == 1 else Unknown(_hull(tuple(flat)))
    args = tuple(sorted(cast(Iterable[Expr], flat), key=lambda e: e.key))
    return expr_of(ex.atom("broadcast", args, _hull(args)))


def _never_one(e: Expr) -> bool:
    lo, hi = e.bounds
    return (lo is not None and lo >= 2) or (hi is not None and hi <= 0) or sign.nonneg(sub(e, const(2)))


def _hull(dims: tuple[Dim, ...]) -> Interval:
    """Bounds of a broadcast: it is one of the operands, as it is 1 only where all of them are."""
    bounds = dims[0].bounds
    for d in dims[1:]:
        bounds = bounds.join(d.bounds)
    return bounds


def sole_atom(e: Expr) -> Atom | None:
    """The atom that the expression is, if it is one."""
    if len(e.terms) == 1:
        mono, coef = e.terms[0]
        if coef == 1 and len(mono) == 1:
            return mono[0]
    return None


def _value_floordiv(values: ex.Values, args: tuple[Any, ...]) -> int:
    divisor = args[1].value(values)
    if divisor == 0:
        raise ex.UndefinedError("division by zero")
    return int(args[0].value(values) // divisor)


def _value_truncdiv(values: ex.Values, args: tuple[Any, ...]) -> int:
    divisor = args[1].value(values)
    if divisor == 0:
        raise ex.UndefinedError("division by zero")
    return _trunc(args[0].value(values), divisor)


def _value_broadcast(values: ex.Values, args: tuple[Any, ...]) -> int:
    return next((size for arg in args if (size := arg.value(values)) != 1), 1)


ex.EVALUATE.update(
    floordiv=_value_floordiv,
    truncdiv=_value_truncdiv,
    max=lambda values, args: max(arg.value(values) for arg in args),
    min=lambda values, args: min(arg.value(values) for arg in args),
    broadcast=_value_broadcast,
)
ex.REBUILD.update(floordiv=floordiv, truncdiv=truncdiv, max=maximum, min=minimum, broadcast=broadcast)
