"""Functions of one symbol that repeat, but for a slope, from some point on: `x//4 - x//8`, `max(x % 6, x - 9)`.

Sums, quotients by constants, extremes and choices of such functions are again of this kind, so a claim about all values
of the symbol is settled by the first few: those before the point and one period after it.
Source: quasi-polynomials of degree 1, the functions that Presburger arithmetic defines; Presburger (1929).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from itertools import starmap
from math import gcd, lcm
from operator import mul
from typing import Final, cast

from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import Atom, Monomial, Operand, Symbol, sum_bounds
from absint.lattices.terms.dim import Condition
from absint.lattices.terms.evaluation import rounded_to_zero, states
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.interval import Interval

_LONGEST: Final = 1024
"""Of the values that settle a claim."""

FEW: Final = 9
"""Atoms of `x//4 - x//8`: of smaller expressions linear bounds say as much, and none has a shorter form."""
MANY: Final = 200
"""Atoms of the largest expression that is looked at."""

Points = Callable[[int, int], Sequence[int]]


class Function:
    """f(i) for i = 0, 1, ..., where f(i + period) == f(i) + step for all i >= start."""

    __slots__ = ("_known", "_points", "period", "start", "step")

    def __init__(self, points: Points, start: int, period: int, step: int) -> None:
        """`points` computes the values from one place up to another."""
        self._points = points
        self._known: list[int] = []
        self.start, self.period, self.step = start, period, step

    @property
    def telling(self) -> int:
        """The number of first values that tell all others."""
        return self.start + self.period

    def values(self, start: int, stop: int) -> list[int]:
        """The values at these places."""
        known = self._known
        if len(known) < stop:
            known.extend(self._points(len(known), stop))
        return known[start:stop]

    def beyond(self, bound: int) -> int:
        """A place from which on the values keep to the side of the bound (itself included) to which the step leads."""
        cycle = self.values(self.start, self.telling)
        short = bound - min(cycle) if self.step > 0 else max(cycle) - bound
        return self.start + max(-(-short // abs(self.step)), 0) * self.period

    def steps(self, period: int) -> int:
        """The step of a multiple of the period."""
        return self.step * (period // self.period)


def _function(points: Points, start: int, period: int, step: int) -> Function | None:
    return Function(points, start, period, step) if start + period <= _LONGEST else None


def constant(value: int) -> Function:
    return Function(lambda start, stop: [value] * (stop - start), 0, 1, 0)


def total(parts: Sequence[tuple[int, Function]]) -> Function | None:
    """The sum of functions, each times its coefficient."""

    def points(start: int, stop: int) -> Sequence[int]:
        columns = [[coef * value for value in f.values(start, stop)] for coef, f in parts]
        return list(map(sum, zip(*columns, strict=True)))

    period = lcm(*(f.period for _, f in parts))
    start = max(f.start for _, f in parts)
    return _function(points, start, period, sum(coef * f.steps(period) for coef, f in parts))


@states("(a + g) * b -> a * b + g * b")
def times(f: Function, g: Function) -> Function | None:
    """The product, where both only repeat, or one of them stays the same in the end."""

    def points(start: int, stop: int) -> Sequence[int]:
        return list(starmap(mul, zip(f.values(start, stop), g.values(start, stop), strict=True)))

    start = max(f.start, g.start)
    if f.step == g.step == 0:
        return _function(points, start, lcm(f.period, g.period), 0)
    flat, other = (f, g) if f.step == 0 else (g, f)
    last = set(flat.values(flat.start, flat.telling))
    return (
        _function(points, start, other.period, last.pop() * other.step) if flat.step == 0 and len(last) == 1 else None
    )


@states("(a + m * q) // m -> a // m + q", when="m >= 1")
@states("trunc(a + m * q, m) -> trunc(a, m) + q", when="m >= 1 and a >= 0 and q >= 0")
@states("trunc(a + m * q, m) -> trunc(a, m) + q", when="m >= 1 and a <= 0 and q <= 0")
def quotient(f: Function, by: int, towards_zero: bool = False) -> Function | None:
    """f divided by a positive constant."""

    def points(start: int, stop: int) -> Sequence[int]:
        values = f.values(start, stop)
        return [rounded_to_zero(v, by) for v in values] if towards_zero else [v // by for v in values]

    period = f.period * (by // gcd(f.step, by))
    start = f.beyond(0) if towards_zero and f.step else f.start
    return _function(points, start, period, f.steps(period) // by)


def compared(op: str, f: Function) -> Function | None:
    """1 where f compares so with 0, and 0 elsewhere."""

    def points(start: int, stop: int) -> Sequence[int]:
        values = f.values(start, stop)
        if op == ">=":
            return [v >= 0 for v in values]
        return [(v == 0) == (op == "==") for v in values]

    if f.step == 0:
        return _function(points, f.start, f.period, 0)
    return _function(points, f.beyond(1 if f.step > 0 else -1), 1, 0)


def connected(op: str, parts: Sequence[Function]) -> Function | None:
    """1 where all of the parts hold (`and`), or some (`or`)."""

    def points(start: int, stop: int) -> Sequence[int]:
        return list(map(min if op == "and" else max, zip(*(f.values(start, stop) for f in parts), strict=True)))

    return _function(points, max(f.start for f in parts), lcm(*(f.period for f in parts)), 0)


def choice(condition: Function, f: Function, g: Function) -> Function | None:
    """f where the condition is 1, else g."""

    def points(start: int, stop: int) -> Sequence[int]:
        rows = zip(condition.values(start, stop), f.values(start, stop), g.values(start, stop), strict=True)
        return [a if holds else b for holds, a, b in rows]

    last = set(condition.values(condition.start, condition.telling))
    if len(last) == 1:
        taken = f if last.pop() else g
        return _function(points, max(condition.start, taken.start), taken.period, taken.step)
    period = lcm(condition.period, f.period, g.period)
    if f.steps(period) != g.steps(period):
        return None
    return _function(points, max(condition.start, f.start, g.start), period, f.steps(period))


@states("max(a + c, b + c) -> max(a, b) + c")
@states("min(a + c, b + c) -> min(a, b) + c")
@states("max(a, b) -> a", when="a - b >= 0")
@states("min(a, b) -> b", when="a - b >= 0")
def extreme(op: str, f: Function, g: Function) -> Function | None:
    """The larger or the smaller of two."""
    pick = max if op == "max" else min

    def points(start: int, stop: int) -> Sequence[int]:
        return list(map(pick, f.values(start, stop), g.values(start, stop)))

    period = lcm(f.period, g.period)
    start = max(f.start, g.start)
    if f.steps(period) == g.steps(period):
        return _function(points, start, period, f.steps(period))
    apart = total([(1, f), (-1, g)])
    if apart is None:
        return None
    taken = f if (apart.step > 0) == (op == "max") else g
    return _function(points, max(apart.beyond(0), taken.start), taken.period, taken.step)


def same(f: Function, g: Function) -> bool:
    """Both have the same values everywhere."""
    period = lcm(f.period, g.period)
    count = max(f.start, g.start) + period
    return f.steps(period) == g.steps(period) and count <= 2 * _LONGEST and f.values(0, count) == g.values(0, count)


class Univariate(NamedTuple):
    """An expression or a condition of one symbol, as a function of what the symbol exceeds its lower bound by."""

    symbol: Symbol
    function: Function

    @property
    def places(self) -> int | None:
        """The number of values that the symbol may have."""
        lo, hi = self.symbol.bounds
        assert lo is not None
        return None if hi is None else hi - lo + 1

    @property
    def extent(self) -> Interval:
        """The least and the largest value; open on a side where there is none or the symbol's upper bound sets it."""
        f, count = self.function, self.places
        if count is not None and count <= f.telling:
            values = f.values(0, count)
            return Interval(min(values), max(values))
        values = f.values(0, f.telling)
        return Interval(min(values) if f.step >= 0 else None, max(values) if f.step <= 0 else None)

    def where(self) -> tuple[Interval, ...] | None:
        """The values of the symbol at which a condition holds, as disjoint intervals; None if they go on for ever."""
        lo = cast(int, self.symbol.bounds.lo)
        f, count = self.function, self.places
        seen = f.telling if count is None else min(count, f.telling)
        truths = f.values(0, seen)
        endless = count is None or count > f.telling
        if endless and len(set(truths[f.start :])) > 1:
            return None
        found: list[Interval] = []
        begin: int | None = None
        for place, truth in enumerate(truths):
            if truth and begin is None:
                begin = place
            elif not truth and begin is not None:
                found.append(Interval(lo + begin, lo + place - 1))
                begin = None
        if begin is not None:
            found.append(Interval(lo + begin, None))
        return tuple(found)


@lru_cache(maxsize=1 << 10)
def univariate(root: Operand) -> Univariate | None:
    """An expression or a condition of one symbol as a function; None if it has more, or is not of this kind."""
    if root.size > MANY:
        return None
    symbol = next(iter(root.symbols), None)
    if symbol is None or len(root.symbols) != 1 or symbol.bounds.lo is None:
        return None
    function = of_operand(root)
    return None if function is None else Univariate(symbol, function)


@lru_cache(maxsize=1 << 10)
def of_operand(root: Operand) -> Function | None:
    """The function of an expression or a condition without symbols or with one."""
    if isinstance(root, Condition):
        return _of_condition(root)
    return _of_terms(root.terms) if isinstance(root, Expr) else None


def _of_terms(terms: Iterable[tuple[Monomial, int]]) -> Function | None:
    parts: list[tuple[int, Function]] = []
    for mono, coef in terms:
        found = constant(1) if not mono else _of_product(mono)
        if found is None:
            return None
        parts.append((coef, found))
    return total(parts) if parts else constant(0)


def _of_product(mono: Iterable[Atom]) -> Function | None:
    result: Function | None = None
    for atom in mono:
        factor = _of_atom(atom)
        if factor is None:
            return None
        result = factor if result is None else times(result, factor)
        if result is None:
            return None
    return result


def _of_condition(condition: Condition) -> Function | None:
    if condition.op in ("true", "false"):
        return constant(condition.op == "true")
    if condition.op in ("==", "!=", ">="):
        found = of_operand(condition.args[0])
        return None if found is None else compared(condition.op, found)
    parts = list(map(of_operand, condition.args))
    known = [f for f in parts if f is not None]
    return connected(condition.op, known) if known and len(known) == len(parts) else None


_UNDERSTOOD: Final = frozenset({"floordiv", "truncdiv", "max", "min", "broadcast", "ite"})


@lru_cache(maxsize=1 << 10)
def _of_atom(atom: Atom) -> Function | None:
    if isinstance(atom, Symbol):
        lo = cast(int, atom.bounds.lo)
        return Function(lambda start, stop: range(lo + start, lo + stop), 0, 1, 1)
    if atom.op not in _UNDERSTOOD:
        return None
    operands = [of_operand(arg) for arg in atom.args]
    known = [f for f in operands if f is not None]
    if len(known) < len(operands):
        return None
    if atom.op in ("floordiv", "truncdiv"):
        by = cast(Expr, atom.args[1]).const
        return quotient(known[0], by, atom.op == "truncdiv") if by is not None and by >= 1 else None
    if atom.op == "ite":
        return choice(*known)
    result: Function | None = known[-1]
    for f in reversed(known[:-1]):
        if result is None:
            return None
        result = extreme(atom.op, f, result) if atom.op in ("max", "min") else _broadcast(f, result)
    return result


def _broadcast(f: Function, g: Function) -> Function | None:
    less = total([(1, f), (-1, constant(1))])
    is_one = None if less is None else compared("==", less)
    return None if is_one is None else choice(is_one, g, f)


@lru_cache(maxsize=1 << 12)
def extent(e: Expr) -> Interval:
    """Bounds of the expression: the least and the largest value of what each symbol decides alone, put together."""
    groups: dict[Symbol, list[tuple[Monomial, int]]] = {}
    result = Interval(0, 0)
    for mono, coef in e.terms:
        if not mono:
            result += Interval(coef, coef)
            continue
        by_symbol: dict[Symbol | None, list[Atom]] = {}
        for atom in mono:
            by_symbol.setdefault(sole_symbol(atom), []).append(atom)
        symbol = next(iter(by_symbol))
        if len(by_symbol) == 1 and symbol is not None:
            groups.setdefault(symbol, []).append((mono, coef))
        else:
            factors = [_extent_of(symbol, ((tuple(atoms), 1),)) for symbol, atoms in by_symbol.items()]
            result += reduce(Interval.times, factors, Interval(coef, coef))
    for symbol, terms in groups.items():
        result += _extent_of(symbol, tuple(terms))
    return result


@lru_cache(maxsize=1 << 12)
def _extent_of(symbol: Symbol | None, terms: tuple[tuple[Monomial, int], ...]) -> Interval:
    """Bounds of terms over one symbol; those of the terms alone without a function."""
    function = None if symbol is None or symbol.bounds.lo is None else _of_terms(terms)
    return sum_bounds(terms) if symbol is None or function is None else Univariate(symbol, function).extent


def sole_symbol(atom: Atom) -> Symbol | None:
    """The symbol that alone decides the atom."""
    symbols = {atom} if isinstance(atom, Symbol) else atom.inner
    return next(iter(symbols)) if len(symbols) == 1 else None
