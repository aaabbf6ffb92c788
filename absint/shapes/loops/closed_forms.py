"""Closed forms of recurrences: a carried number at the start of trip i, as a guess that an induction has to prove.

The number after a trip that begins with `s`, and the form that is tried:

    s + c(i), c a polynomial of degree 3 at most    start + the sum of the binomials of i times differences of c
    s + c(i), c of a period of 6 at most            start + a quotient of i for each place in the period
    the number after s in a circle, plus c          each in its turn, grown by a round of c
    c - s                                           start and c - start in turns
    s + c(i), one of two polynomials by i < K       the sum of the one up to K, and of the other from K on
    s + c(i), one of these from the second trip on  the same, begun one trip later
    f(i), whatever s was                            f(i - 1), from the second trip on
    f(s), where f(f(s)) is f(s)                     f(start), from the second trip on
    (s + c) % m                                     (start + i*c) % m
    (s + c) // m                                    (((m - 1)*start - c) // m**i + c) // (m - 1)
    max(s + c, e), min(s + c, e)                    the extreme of start + i*c and of what e has become
    max(s + c, f(i)), min(s + c, f(i))              the same, with f of the first trip or of the last one

The induction is `proves`: the form is the start at i = 0, and the body maps the form at i to the form at i + 1. Normal
forms show this, in a few cases that cover all i, so a wrong guess is never a wrong claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import lcm
from typing import Final

from absint.lattices.logic.relation import Relation, eq, ge, ite
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol, add, const, expr_of, sub
from absint.lattices.terms.normal import floordiv, maximum, minimum, mod, substitute
from absint.shapes.loops import forms

_DEGREE: Final = 3
"""Highest degree of the steps that are summed."""

MAX_PERIOD: Final = 6
"""Longest period of steps."""


def candidates(symbol: Symbol, number: Symbol, back: Expr, is_inside: Callable[[Symbol], bool]) -> Iterator[forms.Form]:
    """Forms to try for a number that the body turned from `symbol` into `back` in trip `number`."""

    def is_free(e: Dim) -> bool:
        return isinstance(e, Expr) and not any(map(is_inside, e.symbols))

    def is_of_trip(e: Dim) -> bool:
        return isinstance(e, Expr) and all(s is number or not is_inside(s) for s in e.symbols)

    step = _step(symbol, back)
    if is_free(step):
        yield forms.Sum((step,))
    elif isinstance(step, Expr) and is_of_trip(step):
        yield from _sums(step, number)
    elif is_of_trip(back):
        yield forms.Later(back, number)
    elif is_free(whole := back + expr_of(symbol)):
        yield forms.Mirror(whole)
    else:
        extremes = [form for form in _extremes(symbol, back) if is_free(form.step)]
        yield from (form for form in extremes if is_free(form.limit))
        for form in extremes:
            if isinstance(form.limit, Expr) and is_of_trip(form.limit) and number in form.limit.symbols:
                yield forms.Running(form.extreme, form.step, form.limit, number, last=True)
                yield forms.Running(form.extreme, form.step, form.limit, number, last=False)
        yield from (form for form in _remainders(symbol, back) if is_free(form.step) and is_free(form.divisor))
        yield from (form for form in _quotients(symbol, back) if is_free(form.step))
        if all(s is symbol or not is_inside(s) for s in back.symbols):
            yield forms.Once(back, symbol)


def going_round(starts: Sequence[Dim], added: Sequence[Dim]) -> forms.Form:
    """The form of the first of some numbers that rotate: each becomes the next one, the last the first, plus
    `added`.
    """
    grown = list(accumulate(added, add, initial=_ZERO))
    values = [start + more for start, more in zip(starts, grown, strict=False)]
    # Constant distances are steps that repeat, and need no choice between the starts.
    gaps = [sub(value, starts[0]) for value in values]
    if all(isinstance(gap, Expr) and gap.const is not None for gap in gaps):
        return forms.Periodic(tuple(sub(b, a) for a, b in pairwise((*gaps, grown[-1]))))
    return forms.Turns(tuple(values[1:]), grown[-1])


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


def _sums(step: Expr, number: Symbol) -> Iterator[forms.Form]:
    """Forms for a step that depends on the trip."""
    yield from _whole_sums(step, number)
    yield from _switched(step, number)
    after = substitute(step, {number: forms.following(expr_of(number))})
    if isinstance(after, Expr):
        yield from (forms.Delayed(substitute(step, {number: ZERO_EXPR}), form) for form in _whole_sums(after, number))


def _switched(step: Expr, number: Symbol) -> Iterator[forms.Form]:
    """The form of a step that is one thing before the trip whose number is a size, and another one from it on."""
    choices = [mono[0] for mono, factor in step.terms if factor == 1 and len(mono) == 1 and mono[0].op == "ite"]
    for choice in choices if len(choices) == 1 else ():
        condition, a, b = choice.args
        if not isinstance(condition, Relation) or condition.op != ">=" or not isinstance(a, Expr):
            continue
        fixed, i = sub(step, expr_of(choice)), expr_of(number)
        sizes = [s for s in condition.symbols if s is not number]
        later = None if len(sizes) != 1 else ge(i, expr_of(sizes[0]))
        if later is None or later not in (condition, condition.negated) or not isinstance(b, Expr):
            continue
        first, second = (b, a) if condition is later else (a, b)
        before, after = (_sum(add(fixed, part), number) for part in (first, second))
        if before is not None and after is not None:
            yield forms.Switched(before, after, sizes[0])


def _sum(step: Dim, number: Symbol) -> forms.Sum | None:
    """The sum of steps that may be one polynomial."""
    found = next(_whole_sums(step, number)) if isinstance(step, Expr) else None
    return found if isinstance(found, forms.Sum) else None


def _whole_sums(step: Expr, number: Symbol) -> Iterator[forms.Form]:
    """Forms for a step that is the same polynomial, or has the same period, in all trips."""
    values = [substitute(step, {number: const(k)}) for k in range(max(_DEGREE + 1, MAX_PERIOD))]
    # Newton's forward differences at 0; those of a polynomial end in zeros.
    differences, row = [], values[: _DEGREE + 1]
    while row:
        differences.append(row[0])
        row = [b - a for a, b in pairwise(row)]
    while len(differences) > 1 and differences[-1] is ZERO_EXPR:
        differences.pop()
    yield forms.Sum(tuple(differences))
    for period in range(2, MAX_PERIOD + 1):
        if substitute(step, {number: expr_of(number) + period}) is step:
            yield forms.Periodic(tuple(values[:period]))
            return


def _extremes(symbol: Symbol, back: Expr) -> Iterator[forms.Extreme]:
    """The readings of a term as an extreme of `symbol` plus something, and of something else."""
    for mono, factor in back.terms:
        atom = mono[0] if len(mono) == 1 else None
        if atom is None or factor != 1 or atom.op not in _EXTREMES:
            continue
        extreme, args = _EXTREMES[atom.op], [a for a in atom.args if isinstance(a, Expr)]
        others = sub(back, expr_of(atom))
        for k, arg in enumerate(args):
            step = arg - expr_of(symbol)
            if symbol in arg.symbols and isinstance(step, Expr):
                yield forms.Extreme(extreme, step + others, extreme(*args[:k], *args[k + 1 :]) + others)


def _remainders(symbol: Symbol, back: Expr) -> Iterator[forms.Remainder]:
    """The readings of a term as a remainder of `symbol` plus something."""
    for item in back.atoms():
        if item.op == "floordiv":
            dividend, divisor = (arg for arg in item.args if isinstance(arg, Expr))
            step = sub(dividend, expr_of(symbol))
            if symbol in dividend.symbols and mod(dividend, divisor) is back:
                yield forms.Remainder(step, divisor)


_ZERO: Final[Dim] = ZERO_EXPR
_EXTREMES: Final[dict[str, Callable[..., Dim]]] = {"max": maximum, "min": minimum}


def _quotients(symbol: Symbol, back: Expr) -> Iterator[forms.Divided]:
    """The readings as a quotient of `symbol` plus something: `s - s//2` is `(s + 1)//2` too."""
    s = expr_of(symbol)
    for item in back.atoms():
        by = item.args[1] if item.op in ("floordiv", "truncdiv") else None
        whole = item.args[0] if by is not None else None
        if isinstance(by, Expr) and by.const is not None and by.const >= _HALF and isinstance(whole, Expr):
            step = sub(whole, s)
            if back is expr_of(item):
                yield forms.Divided(step, by.const)
            elif by.const == _HALF and step is ZERO_EXPR and back is sub(s, expr_of(item)):
                yield forms.Divided(ONE_EXPR, _HALF)


_HALF: Final = 2


# Numbers of a loop that are carried together: the first trips by substitution, and forms that fit what they give.
#
# A system of numbers is run on its starts, term by term, for a few trips. A number that from some trip on takes turns,
# each a polynomial of degree 3 at most in the number of the round, gets this as a form. As every form it is a guess:
# the body, run on all of them, has to give them back (see `closed_forms`).

TRIPS: Final = 24
"""Trips that are run: three rounds of six, and a few before them."""

_BEFORE: Final = 3
"""Most trips before the turns begin."""

_CASES: Final = 12
_LONGEST: Final = 80
"""Size of the largest term of a trip; a system whose terms grow beyond it has no form."""


@dataclass(frozen=True)
class Interleaved(forms.Form):
    """A few numbers of the first trips, then turns: each a polynomial in the round, by its differences."""

    before: tuple[Dim, ...]
    turns: tuple[tuple[Dim, ...], ...]
    split: tuple[int, int] = (0, 1)
    """Of the system: the most numbers before turns, and a common multiple of their periods. Each case has one trip."""

    def at(self, start: Dim, i: Dim) -> Dim:
        first, period = len(self.before), len(self.turns)
        later = i - first
        found = self._turn(later if period == 1 else floordiv(later, period), mod(later, period))
        for trip in range(first - 1, -1, -1):
            found = ite(ge(i, trip + 1), found, self.before[trip])
        return found

    def _turn(self, n: Dim, turn: Dim) -> Dim:
        """The common part of the turns, and a choice of the rest."""
        grown = self.turns[0][1:]
        if all(differences[1:] == grown for differences in self.turns):
            return add(
                _chosen(turn, [differences[0] for differences in self.turns]), _polynomial((ZERO_EXPR, *grown), n)
            )
        return _chosen(turn, [_polynomial(differences, n) for differences in self.turns])

    def cases(self, number: Symbol) -> Iterator[Expr]:
        first, period = self.split
        yield from map(const, range(first))
        for k in range(period):
            case = expr_of(number) * period + (first + k)
            assert isinstance(case, Expr)
            yield case


def _polynomial(differences: Sequence[Dim], n: Dim) -> Dim:
    first, *others = differences
    return forms.Sum(tuple(others)).at(first, n) if others else first


def _chosen(turn: Dim, numbers: Sequence[Dim]) -> Dim:
    found = numbers[0]
    for k, number in enumerate(numbers[1:], 1):
        found = ite(eq(turn, k), number, found)
    return found


def trips_of(
    starts: Mapping[str, Expr], backs: Mapping[str, Expr], others: Mapping[str, Callable[[int], Dim]], number: Symbol
) -> dict[str, list[Dim]] | None:
    """The numbers of the first trips by name, from their starts and the terms of the next trip over these names.

    `others` are numbers whose forms are known. None if a term grows too large.
    """
    trips: dict[str, list[Dim]] = {name: [start] for name, start in starts.items()}
    now: Mapping[str, Dim] = starts
    for trip in range(TRIPS):
        values = {**now, **{name: form(trip) for name, form in others.items()}, number.name: const(trip)}
        after: dict[str, Dim] = {}
        for name, back in backs.items():
            term = substitute(back, {s: values[s.name] for s in back.symbols if s.name in values})
            if not isinstance(term, Expr) or term.size > _LONGEST:
                return None
            after[name] = term
            trips[name].append(term)
        now = after
    return trips


def interleaved(numbers: Mapping[str, Sequence[Dim]]) -> dict[str, Interleaved]:
    """Forms for the numbers of a system that have one. Their induction goes by the cases of all of them."""
    found = {name: form for name, trips in numbers.items() if (form := _interleaved(trips)) is not None}
    first = max((len(form.before) for form in found.values()), default=0)
    period = lcm(*(len(form.turns) for form in found.values()))
    if period > _CASES:
        return {}
    return {name: replace(form, split=(first, period)) for name, form in found.items()}


def _interleaved(numbers: Sequence[Dim]) -> Interleaved | None:
    """The form with the fewest numbers before it, and then with the shortest period, that fits all these trips."""
    for first in range(_BEFORE + 1):
        for period in range(1, MAX_PERIOD + 1):
            turns = [_differences(numbers[first + k :: period]) for k in range(period)]
            if None not in turns:
                return Interleaved(tuple(numbers[:first]), tuple(turn for turn in turns if turn is not None))
    return None


def _differences(numbers: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """The differences at the first of the numbers, if they are those of a polynomial of low degree."""
    found: list[Dim] = []
    row = list(numbers)
    for _ in range(min(_DEGREE + 2, len(row) - 1)):
        found.append(row[0])
        row = [sub(b, a) for a, b in pairwise(row)]
        if all(number is ZERO_EXPR for number in row):
            return tuple(found)
    return None
