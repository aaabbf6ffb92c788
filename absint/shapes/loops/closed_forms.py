"""Closed forms of recurrences: a carried number at the start of trip i, as a guess that an induction has to prove.

The number after a trip that begins with `s`, and the form that is tried:

    s + c(i), c a polynomial of degree 3 at most    start + the sum of the binomials of i times differences of c
    s + c(i), c of a period of 6 at most            start + a quotient of i for each place in the period
    the number after s in a circle, plus c          each in its turn, grown by a round of c
    c - s                                           start and c - start in turns
    s + c(i), one of these from the second trip on  the same, begun one trip later
    f(i), whatever s was                            f(i - 1), from the second trip on
    f(s), where f(f(s)) is f(s)                     f(start), from the second trip on
    (s + c) % m                                     (start + i*c) % m
    max(s + c, e), min(s + c, e)                    the extreme of start + i*c and of what e has become

The induction is `proves`: the form is the start at i = 0, and the body maps the form at i to the form at i + 1. Normal
forms show this, in a few cases that cover all i, so a wrong guess is never a wrong claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from math import factorial
from typing import Final

from absint.lattices.logic.relation import Relation, eq, ge, ite
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol, add, const, expr_of, mul, sub
from absint.lattices.terms.normal import floordiv, maximum, minimum, mod
from absint.lattices.terms.substitution import substitute
from absint.shapes.loops.polynomials import is_equal_in

_DEGREE: Final = 3
"""Highest degree of the steps that are summed."""

MAX_PERIOD: Final = 6
"""Longest period of steps."""


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
        mappings = ({number: case} for case in self.cases(number))
        return all(is_equal_in(number, substitute(back, case), substitute(after, case)) for case in mappings)


@dataclass(frozen=True)
class Sum(Form):
    """A step that is a polynomial in i, by its differences at 0: the step, its growth, and so on."""

    differences: tuple[Dim, ...]

    def at(self, start: Dim, i: Dim) -> Dim:
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


@dataclass(frozen=True)
class Later(Form):
    """A term of the previous trip, whatever the number was then."""

    term: Expr
    number: Symbol

    def at(self, start: Dim, i: Dim) -> Dim:
        return ite(ge(i, 1), substitute(self.term, {self.number: i - 1}), start)

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _first_and_later(number)


@dataclass(frozen=True)
class Once(Form):
    """A value that the first iteration computes from the start, and no further one changes."""

    term: Expr
    symbol: Symbol
    """The number before the trip, in the term."""

    def at(self, start: Dim, i: Dim) -> Dim:
        return ite(ge(i, 1), substitute(self.term, {self.symbol: start}), start)

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _first_and_later(number)


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
            yield _next(case)


@dataclass(frozen=True)
class Remainder(Form):
    """(s + step) % divisor, again and again."""

    step: Dim
    divisor: Expr

    def at(self, start: Dim, i: Dim) -> Dim:
        reached = mod(start + mul(i, self.step), self.divisor)
        return reached if mod(start, self.divisor) is start else ite(ge(i, 1), reached, start)

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _first_and_later(number)


@dataclass(frozen=True)
class Extreme(Form):
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

    def cases(self, number: Symbol) -> Iterator[Expr]:
        yield from _first_and_later(number)


def candidates(symbol: Symbol, number: Symbol, back: Expr, is_inside: Callable[[Symbol], bool]) -> Iterator[Form]:
    """Forms to try for a number that the body turned from `symbol` into `back` in trip `number`."""

    def is_free(e: Dim) -> bool:
        return isinstance(e, Expr) and not any(map(is_inside, e.symbols))

    def is_of_trip(e: Dim) -> bool:
        return isinstance(e, Expr) and all(s is number or not is_inside(s) for s in e.symbols)

    step = _step(symbol, back)
    if is_free(step):
        yield Sum((step,))
    elif isinstance(step, Expr) and is_of_trip(step):
        yield from _sums(step, number)
    elif is_of_trip(back):
        yield Later(back, number)
    elif is_free(whole := back + expr_of(symbol)):
        yield Mirror(whole)
    else:
        yield from (form for form in _extremes(symbol, back) if is_free(form.step) and is_free(form.limit))
        yield from (form for form in _remainders(symbol, back) if is_free(form.step) and is_free(form.divisor))
        if all(s is symbol or not is_inside(s) for s in back.symbols):
            yield Once(back, symbol)


def going_round(starts: Sequence[Dim], added: Sequence[Dim]) -> Form:
    """The form of the first of some numbers that rotate: each becomes the next one, the last the first, plus
    `added`.
    """
    grown = list(accumulate(added, add, initial=_ZERO))
    values = [start + more for start, more in zip(starts, grown, strict=False)]
    gaps = [sub(value, starts[0]) for value in values]
    if all(isinstance(gap, Expr) and gap.const is not None for gap in gaps):
        return Periodic(tuple(sub(b, a) for a, b in pairwise((*gaps, grown[-1]))))
    return Turns(tuple(values[1:]), grown[-1])


def _step(symbol: Symbol, back: Expr) -> Dim:
    """The increment of `symbol` in the body; one for each case if it is a choice."""
    step = sub(back, expr_of(symbol))
    for mono, factor in back.terms:
        if factor == 1 and len(mono) == 1 and mono[0].op == "ite":
            condition, a, b = mono[0].args
            if isinstance(condition, Relation) and isinstance(a, Expr) and isinstance(b, Expr):
                arms = (sub(arm, expr_of(symbol)) for arm in (a, b))
                split = sub(back, expr_of(mono[0])) + ite(condition, *arms)
                step = split if isinstance(split, Expr) and symbol not in split.symbols else step
    return step


def _sums(step: Expr, number: Symbol) -> Iterator[Form]:
    """Forms for a step that depends on the trip."""
    yield from _whole_sums(step, number)
    after = substitute(step, {number: _next(expr_of(number))})
    if isinstance(after, Expr):
        yield from (Delayed(substitute(step, {number: ZERO_EXPR}), form) for form in _whole_sums(after, number))


def _whole_sums(step: Expr, number: Symbol) -> Iterator[Form]:
    """Forms for a step that is the same polynomial, or has the same period, in all trips."""
    values = [substitute(step, {number: const(k)}) for k in range(max(_DEGREE + 1, MAX_PERIOD))]
    differences, row = [], values[: _DEGREE + 1]
    while row:
        differences.append(row[0])
        row = [b - a for a, b in pairwise(row)]
    while len(differences) > 1 and differences[-1] is ZERO_EXPR:
        differences.pop()
    yield Sum(tuple(differences))
    for period in range(2, MAX_PERIOD + 1):
        if substitute(step, {number: expr_of(number) + period}) is step:
            yield Periodic(tuple(values[:period]))
            return


def _extremes(symbol: Symbol, back: Expr) -> Iterator[Extreme]:
    """The readings of a term as an extreme of `symbol` plus something, and of something else."""
    for mono, factor in back.terms:
        found = mono[0] if len(mono) == 1 else None
        if found is None or factor != 1 or found.op not in _EXTREMES:
            continue
        extreme, args = _EXTREMES[found.op], [a for a in found.args if isinstance(a, Expr)]
        rest = sub(back, expr_of(found))
        for k, arg in enumerate(args):
            step = arg - expr_of(symbol)
            if symbol in arg.symbols and isinstance(step, Expr):
                yield Extreme(extreme, step + rest, extreme(*args[:k], *args[k + 1 :]) + rest)


def _remainders(symbol: Symbol, back: Expr) -> Iterator[Remainder]:
    """The readings of a term as a remainder of `symbol` plus something."""
    for item in back.atoms():
        if item.op == "floordiv":
            dividend, divisor = (arg for arg in item.args if isinstance(arg, Expr))
            step = sub(dividend, expr_of(symbol))
            if symbol in dividend.symbols and mod(dividend, divisor) is back:
                yield Remainder(step, divisor)


def _rounds(number: Symbol, period: int) -> Iterator[Expr]:
    for k in range(period):
        case = expr_of(number) * period + k
        assert isinstance(case, Expr)
        yield case


def _first_and_later(number: Symbol) -> Iterator[Expr]:
    yield from (ZERO_EXPR, _next(expr_of(number)))


def _next(e: Expr) -> Expr:
    after = e + 1
    assert isinstance(after, Expr)
    return after


def _falling(i: Dim, k: int) -> Dim:
    """i * (i - 1) * ..., k factors."""
    return reduce(mul, (i - j for j in range(k)), _ONE)


_ZERO: Final[Dim] = ZERO_EXPR
_ONE: Final[Dim] = ONE_EXPR
_EXTREMES: Final[dict[str, Callable[..., Dim]]] = {"max": maximum, "min": minimum}

__all__ = [
    "MAX_PERIOD",
    "Delayed",
    "Extreme",
    "Form",
    "Later",
    "Mirror",
    "Periodic",
    "Remainder",
    "Sum",
    "candidates",
    "going_round",
]
