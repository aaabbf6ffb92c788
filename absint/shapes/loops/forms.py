"""Forms of a number that a loop carries: its value at the start of trip i, from the one before the first trip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import factorial
from typing import Final

from absint.lattices.logic.relation import eq, ge, ite
from absint.lattices.terms.expr import ZERO_EXPR, Atom, Dim, Expr, Symbol, add, const, expr_of, mul, sole_atom, sub
from absint.lattices.terms.normal import Substitution, divided_times, floordiv, maximum, minimum, mod, substitute
from absint.lattices.terms.polynomials import nonneg

# Equality of terms with quotients that always go up exactly, such as i*(i + 1)//2: they are polynomials.

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
    # Group the terms of the difference by what is beside the number; each group is a polynomial in it, and must be 0.
    parts: dict[tuple[Atom, ...], Polynomial] = {}
    for mono, factor in gap.terms:
        total: Polynomial = (Fraction(factor),)
        other_atoms = []
        for item in mono:
            factors = _polynomial(item, number)
            if factors is None:
                other_atoms.append(item)
            else:
                total = _product(total, factors)
        key = tuple(other_atoms)
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
    # The rest of the division repeats after `by` numbers. If it is one and the same, the quotient is exact without it.
    rests = {dividend.evaluate({number.name: k}) % by for k in range(by)}
    if len(rests) > 1:
        return None
    exact = sub(dividend, const(rests.pop()))
    assert isinstance(exact, Expr)
    coefficients: dict[int, Fraction] = {len(mono): Fraction(factor, by) for mono, factor in exact.terms}
    return tuple(coefficients.get(k, Fraction(0)) for k in range(max(coefficients) + 1))


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    result = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return tuple(result)


def _total(a: Polynomial, b: Polynomial) -> Polynomial:
    size = max(len(a), len(b))
    return tuple(sum(p[k] for p in (a, b) if k < len(p)) + Fraction(0) for k in range(size))


class Form(ABC):
    """The value of a carried number at the start of iteration i."""

    @abstractmethod
    def at(self, start: Dim, i: Dim) -> Dim:
        """The number, from the one before the first trip."""

    def cases(self, number: Symbol) -> Iterator[Expr]:
        """Terms that together give every natural number, in each of which the induction is shown."""
        yield expr_of(number)

    def proves(self, start: Dim, back: Dim, number: Symbol) -> bool:
        """The body, given the form, gives it back one trip later."""
        i = expr_of(number)
        after = self.at(start, i + 1)
        if self.at(start, ZERO_EXPR) is not start or not isinstance(back, Expr) or not isinstance(after, Expr):
            return False
        mappings = self.mappings(number)
        return all(_is_same(number, substitute(back, case), substitute(after, case)) for case in mappings)

    def mappings(self, number: Symbol) -> Iterator[Mapping[Symbol, Dim]]:
        """The cases as substitutions."""
        yield from ({number: case} for case in self.cases(number))


@dataclass(frozen=True)
class Sum(Form):
    """A step that is a polynomial in i, by its differences at 0: the step, its growth, and so on."""

    differences: tuple[Dim, ...]

    def at(self, start: Dim, i: Dim) -> Dim:
        # Constant differences are added up over one denominator, so that equal sums get equal terms.
        plain = [(k, c.const) for k, c in enumerate(self.differences, 1) if isinstance(c, Expr) and c.const is not None]
        others = [(k, c) for k, c in enumerate(self.differences, 1) if not isinstance(c, Expr) or c.const is None]
        whole = factorial(len(self.differences))
        over = reduce(add, (mul(_falling(i, k), const(c * whole // factorial(k))) for k, c in plain), _ZERO)
        terms = (mul(floordiv(_falling(i, k), factorial(k)), c) for k, c in others)
        return reduce(add, terms, add(start, floordiv(over, whole)))


@dataclass(frozen=True)
class Periodic(Form):
    """Steps that repeat in the same order."""

    steps: tuple[Dim, ...]

    def at(self, start: Dim, i: Dim) -> Dim:
        period = len(self.steps)
        often = (floordiv(i + (period - 1 - k), period) for k in range(period))
        return reduce(add, (mul(count, step) for count, step in zip(often, self.steps, strict=True)), start)

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _rounds(number, len(self.steps))


@dataclass(frozen=True)
class Turns(Form):
    """Numbers that take turns, the start first; each has grown by its next turn."""

    others: tuple[Dim, ...]
    growth: Dim

    def at(self, start: Dim, i: Dim) -> Dim:
        period = len(self.others) + 1
        turn = mod(i, period)
        found = start
        for k, number in enumerate(self.others, 1):
            found = ite(eq(turn, k), number, found)
        return add(found, mul(floordiv(i, period), self.growth))

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _rounds(number, len(self.others) + 1)


@dataclass(frozen=True)
class Mirror(Form):
    """The start and its complement, in turns."""

    whole: Dim

    def at(self, start: Dim, i: Dim) -> Dim:
        return Turns((self.whole - start,), _ZERO).at(start, i)

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _rounds(number, 2)


class _SplitAtZero(Form):
    """A form that says one thing before the first trip and another after it."""

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from (ZERO_EXPR, following(expr_of(number)))


@dataclass(frozen=True)
class Later(_SplitAtZero):
    """A term of the previous trip, whatever the number was then."""

    term: Expr
    number: Symbol

    def at(self, start: Dim, i: Dim) -> Dim:
        return ite(ge(i, 1), substitute(self.term, {self.number: i - 1}), start)


@dataclass(frozen=True)
class Once(_SplitAtZero):
    """A value that the first iteration computes from the start, and no further one changes."""

    term: Expr
    symbol: Symbol
    """The number before the trip, in the term."""

    def at(self, start: Dim, i: Dim) -> Dim:
        return ite(ge(i, 1), substitute(self.term, {self.symbol: start}), start)


@dataclass(frozen=True)
class Delayed(Form):
    """Another first step, and then a form that begins after it."""

    first: Dim
    rest: Form

    def at(self, start: Dim, i: Dim) -> Dim:
        return ite(ge(i, 1), self.rest.at(start + self.first, i - 1), start)

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield ZERO_EXPR
        for case in self.rest.cases(number):
            yield following(case)


@dataclass(frozen=True)
class Remainder(_SplitAtZero):
    """(s + step) % divisor, again and again."""

    step: Dim
    divisor: Expr

    def at(self, start: Dim, i: Dim) -> Dim:
        reached = mod(start + mul(i, self.step), self.divisor)
        return reached if mod(start, self.divisor) is start else ite(ge(i, 1), reached, start)


@dataclass(frozen=True)
class Divided(Form):
    """(s + step) // divisor, again and again, for a constant divisor.

    With `x = (divisor - 1)*start - step` that is `(x // divisor**i + step) // (divisor - 1)`: what is added grows to
    `step*(divisor**i - 1) // (divisor - 1)` over the whole of the divisions.
    """

    step: Dim
    divisor: int

    def at(self, start: Dim, i: Dim) -> Dim:
        if self.step is ZERO_EXPR:
            return divided_times(start, self.divisor, i)
        return floordiv(add(self._divided(start, i), self.step), self.divisor - 1)

    def _divided(self, start: Dim, i: Dim) -> Dim:
        return divided_times(sub(mul(start, const(self.divisor - 1)), self.step), self.divisor, i)

    def proves(self, start: Dim, back: Dim, number: Symbol) -> bool:
        """A number that is divided is the divisor times its quotient, and a remainder: one case for each."""
        if super().proves(start, back, number):
            return True
        i = expr_of(number)
        before, next_one = (self._divided(start, at) for at in (i, i + 1))
        after = self.at(start, i + 1)
        atoms = [atom for e in (before, next_one) if isinstance(e, Expr) and (atom := sole_atom(e)) is not None]
        if len(atoms) < 2 or not isinstance(back, Expr) or not isinstance(after, Expr):
            return False
        if self.at(start, ZERO_EXPR) is not start:
            return False
        quotient = expr_of(Symbol.placeholder("quotient", None, None))
        wholes = (quotient * self.divisor + rest for rest in range(self.divisor))
        changes = (Substitution({atoms[0]: whole, atoms[1]: quotient}) for whole in wholes)
        return all(_is_same(number, *(e.rebuild(change.values(e)) for e in (back, after))) for change in changes)


@dataclass(frozen=True)
class Extreme(_SplitAtZero):
    """max(s + step, limit) or the min of them, again and again."""

    extreme: Callable[..., Dim]
    step: Dim
    limit: Dim

    def at(self, start: Dim, i: Dim) -> Dim:
        reached = self._ends(start, i)
        return reached if self._ends(start, ZERO_EXPR) is start else ite(ge(i, 1), reached, start)

    def _ends(self, start: Dim, i: Dim) -> Dim:
        """The limit of one trip moves on by a step in each later one: the first and the last are the extremes."""
        grown = mul(i, self.step)
        upwards = self.step if self.extreme is maximum else const(0) - self.step
        lo, hi = upwards.bounds
        if lo is not None and lo >= 0:
            return self.extreme(start, self.limit - self.step) + grown
        limits = [] if hi is not None and hi <= 0 else [self.limit - self.step + grown]
        return self.extreme(start + grown, self.limit, *limits)


@dataclass(frozen=True)
class Running(_SplitAtZero):
    """max(s + step, f(i)) or the min of them, where the trips' terms, less the steps, go one way: one end decides."""

    extreme: Callable[..., Dim]
    step: Dim
    term: Expr
    number: Symbol
    last: bool
    """The term of the last trip decides, and not that of the first."""

    def at(self, start: Dim, i: Dim) -> Dim:
        trip: Dim = i - 1 if self.last else ZERO_EXPR
        grown = ZERO_EXPR if self.last else mul(i - 1, self.step)
        term = add(substitute(self.term, {self.number: trip}), grown)
        return ite(ge(i, 1), self.extreme(add(start, mul(i, self.step)), term), start)


@dataclass(frozen=True)
class Switched(Form):
    """A step that is a polynomial in i before trip `size`, and another one from it on."""

    before: Sum
    after: Sum
    size: Symbol

    def at(self, start: Dim, i: Dim) -> Dim:
        turned = minimum(i, expr_of(self.size))
        grown = sub(self.after.at(ZERO_EXPR, i), self.after.at(ZERO_EXPR, turned))
        return add(add(start, self.before.at(ZERO_EXPR, turned)), grown)

    def mappings(self, number: Symbol) -> Iterator[Mapping[Symbol, Dim]]:
        more = expr_of(Symbol.placeholder("more"))
        yield {self.size: expr_of(number) + more + 1}
        yield {number: expr_of(self.size) + more}


def _rounds(number: Symbol, period: int) -> Iterator[Expr]:
    for k in range(period):
        case = expr_of(number) * period + k
        assert isinstance(case, Expr)
        yield case


def following(e: Expr) -> Expr:
    """The term plus 1."""
    after = e + 1
    assert isinstance(after, Expr)
    return after


def _is_same(number: Symbol, a: Dim, b: Dim) -> bool:
    """The terms are equal for every natural number: by normal form, or since neither is less."""
    if is_equal_in(number, a, b) or (nonneg(sub(a, b)) and nonneg(sub(b, a))):
        return True
    return isinstance(a, Expr) and isinstance(b, Expr) and _spread(a) is _spread(b)


def _spread(e: Expr) -> Dim:
    """`min(K, N) - N` as `min(K - N, 0)`: what is added to an extreme is added to its operands."""
    extremes = [mono[0] for mono, factor in e.terms if factor == 1 and len(mono) == 1 and mono[0].op in ("max", "min")]
    if len(extremes) != 1:
        return e
    rest, operands = sub(e, expr_of(extremes[0])), [arg for arg in extremes[0].args if isinstance(arg, Expr)]
    return (maximum if extremes[0].op == "max" else minimum)(*(add(arg, rest) for arg in operands))


def _falling(i: Dim, k: int) -> Dim:
    """i * (i - 1) * ..., k factors."""
    return reduce(mul, (i - j for j in range(k)), _ONE)


_ZERO: Final[Dim] = ZERO_EXPR
_ONE: Final[Dim] = const(1)
