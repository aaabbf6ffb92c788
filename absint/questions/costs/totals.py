"""Sums over all runs of all nodes: as expressions, and in numbers.

A node in a loop counts once for each trip. For an If whose condition is a relation over input symbols, the branch that
is taken counts; else the larger one, for each quantity by itself. Amounts are numbers and expressions as text.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

from absint.analyses.liveness import Region, Regions
from absint.errors import UsageError
from absint.lattices.logic.relation import Relation, ge, ite
from absint.lattices.terms.atoms import Monomial, Symbol
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, const, expr_of, mul, product, sub
from absint.lattices.terms.normal import exact_quotient, floordiv, maximum, substitute
from absint.lattices.terms.polynomials import nonneg
from absint.lattices.text.naming import Names
from absint.questions.costs.bindings import Environment, symbols_of

# The sum and the maximum, over all iterations of a loop, of a term over the iteration number.
#
# The iteration number counts from 0 to trips - 1. Sums of polynomials have a closed form (Faulhaber); a term that
# never falls, never rises, or curves upwards is largest in the first trip or the last.

_DENOMINATORS: Final = (1, 2, 6, 4)
_COMMON: Final = 12


def sum_over(term: Dim, number: Symbol, trips: Dim) -> Dim:
    """The sum of the term over all trips; unknown if it has no closed form here.

    >>> from absint.lattices.terms.expr import symbol
    >>> i = Symbol("i")
    >>> print(sum_over(expr_of(i) * 2 + symbol("N"), i, symbol("T")))
    N*T + T**2 - T
    """
    if not isinstance(term, Expr) or not isinstance(trips, Expr):
        return ZERO_EXPR if term is ZERO_EXPR or trips is ZERO_EXPR else UNKNOWN_DIM
    if number not in term.symbols:
        return mul(term, trips)
    factors = _coefficients(term, number)
    if factors is not None:
        return _power_sums(factors, trips)
    # In all trips but the first, `i >= 1` decides the choices that carried values begin with.
    first, later = substitute(term, {number: ZERO_EXPR}), substitute(term, {number: expr_of(number) + 1})
    factors = _coefficients(later, number) if isinstance(later, Expr) else None
    if factors is None:
        return UNKNOWN_DIM
    return at_least_once(trips, first + _power_sums(factors, trips - 1))


def largest_over(term: Dim, number: Symbol, trips: Dim) -> list[Dim] | None:
    """Terms one of which is the largest value over all trips, if there is a trip; None if unknown."""
    if not isinstance(term, Expr) or number not in term.symbols:
        return [term]
    first = substitute(term, {number: ZERO_EXPR})
    later = substitute(term, {number: expr_of(number) + 1})
    last = substitute(term, {number: trips - 1}) if isinstance(trips, Expr) else UNKNOWN_DIM
    if _never_falls(term, number):
        return [last]
    if nonneg(sub(ZERO_EXPR, _difference(term, number))):
        return [first]
    if _never_falls(later, number) or nonneg(_difference(_difference(term, number), number)):  # it curves upwards
        return [first, last]
    return None


def at_least_once(trips: Dim, total: Dim) -> Dim:
    """The total if there is a trip, else 0."""
    lo = trips.bounds.lo
    return total if lo is not None and lo >= 1 else ite(ge(trips, 1), total, 0)


def _coefficients(term: Expr, number: Symbol) -> list[Dim] | None:
    """Of a polynomial in the iteration number, the factors of its powers from the zeroth on."""
    factors: list[Dim] = []
    for mono, coef in term.terms:
        rest: Monomial = tuple(atom for atom in mono if atom is not number)
        degree = len(mono) - len(rest)
        if degree >= len(_DENOMINATORS) or any(number in expr_of(atom).symbols for atom in rest):
            return None
        factors += [ZERO_EXPR] * (degree + 1 - len(factors))
        factors[degree] = factors[degree] + mul(const(coef), product(map(expr_of, rest)))
    return factors


def _power_sums(factors: Sequence[Dim], trips: Dim) -> Dim:
    """The sum over i < trips of the sum of factors[d] * i**d."""
    n, m = trips, trips - 1
    sums = (n, n * m, n * m * (n + m), n * n * m * m)
    whole: Dim = ZERO_EXPR
    for factor, total, divisor in zip(factors, sums, _DENOMINATORS, strict=False):
        whole = whole + factor * total * (_COMMON // divisor)
    if not isinstance(whole, Expr):
        return UNKNOWN_DIM
    exact = exact_quotient(whole, const(_COMMON))
    return exact if exact is not None else floordiv(whole, _COMMON)


def _never_falls(term: Dim, number: Symbol) -> bool:
    return nonneg(_difference(term, number))


def _difference(term: Dim, number: Symbol) -> Dim:
    """The growth of the term from one trip to the next."""
    return sub(substitute(term, {number: expr_of(number) + ONE_EXPR}), term) if isinstance(term, Expr) else UNKNOWN_DIM


class Amounts(NamedTuple):
    """Multiply-accumulates, FLOPs (two for each MAC, and other arithmetic), and bytes moved."""

    macs: Dim
    flops: Dim
    bytes: Dim


class Totals(NamedTuple):
    """The same in numbers."""

    macs: int
    flops: int
    bytes: int


NOTHING: Final = Amounts(ZERO_EXPR, ZERO_EXPR, ZERO_EXPR)


class Bill:
    """Costs of one run of each node, and their sums."""

    def __init__(self, regions: Regions, amounts: Mapping[int, Amounts]) -> None:
        self._regions = regions
        self._own: dict[int, Counter[Amounts]] = {gate: Counter() for gate in regions.by_gate}
        for number, amount in amounts.items():
            self._own[regions.of(number).gate][amount] += 1
        self.numbers = regions.numbers
        used = symbols_of(term for amount in set(amounts.values()) for term in amount) | symbols_of(regions.terms)
        self._varying = {gate for gate, region in regions.by_gate.items() if region.number in used}
        self._frames: dict[int, list[Region]] = {}
        for gate in sorted(regions.by_gate, reverse=True):
            self._frames.setdefault(self._frame(gate), []).append(regions.by_gate[gate])

    def _frame(self, gate: int) -> int:
        """The innermost loop around a body, or itself, in which amounts differ from trip to trip; -1 for none."""
        region: Region | None = self._regions.by_gate[gate]
        while region is not None and region.gate not in self._varying:
            region = region.parent
        return -1 if region is None else region.gate

    # As expressions

    def total(self) -> Amounts:
        """Over a run of the model; a sum is unknown where it is too large to write, or has no closed form."""
        return self._visits[-1]

    @cached_property
    def _visits(self) -> Mapping[int, Amounts]:
        """Over one visit of each body."""
        found: dict[int, Amounts] = {}
        for gate in sorted(self._regions.by_gate, reverse=True):
            region = self._regions.by_gate[gate]
            parts = [(amount, count) for amount, count in self._own[gate].items()]
            parts += [(self._inside(bodies, found), 1) for bodies in region.inner.values()]
            found[gate] = Amounts(*(_sum(parts, k) for k in range(len(NOTHING))))
        return found

    def _inside(self, bodies: list[Region], found: Mapping[int, Amounts]) -> Amounts:
        first = bodies[0]
        if first.trips is not None:
            assert first.number is not None
            return Amounts(*(sum_over(term, first.number, first.trips) for term in found[first.gate]))
        condition = self._condition(first)
        if condition is None:
            return Amounts(*(maximum(*terms) for terms in zip(*(found[body.gate] for body in bodies), strict=True)))
        other = found[bodies[1].gate] if len(bodies) > 1 else NOTHING
        return Amounts(*(ite(condition, a, b) for a, b in zip(found[first.gate], other, strict=True)))

    def over_visits(self, amount: Dim, region: Region | None) -> Dim:
        """An amount for each visit of a body, over all visits of it."""
        while region is not None:
            amount = self._over(region, amount)
            region = region.parent
        return amount

    def _over(self, region: Region, amount: Dim) -> Dim:
        """An amount for each visit of a body, over one of the region around it; a data-dependent If enters each."""
        if region.number is not None and region.trips is not None:
            return sum_over(amount, region.number, region.trips)
        condition = self._condition(region)
        return amount if condition is None else ite(condition, amount, 0)

    def _condition(self, branch: Region) -> Relation | None:
        """The condition of a branch; None where data, or the number of a trip, decide."""
        condition = branch.condition
        return condition if condition is not None and self.numbers.isdisjoint(condition.symbols) else None

    # In numbers

    def evaluate(self, environment: Environment) -> Totals:
        """Over a run of the model. Raises UsageError where the environment lacks a size."""
        return self._evaluate(environment, self._regions.main)

    def _evaluate(self, environment: Environment, frame: Region) -> Totals:
        """Over one visit of the main graph, or one trip of a loop whose trips differ."""
        found: dict[int, Totals] = {}
        for region in self._frames[frame.gate]:
            if environment.runs(region, "the total"):
                own = [
                    _scaled(_numbers(environment, amount), count) for amount, count in self._own[region.gate].items()
                ]
                inner = [self._run(environment, bodies, found) for bodies in region.inner.values()]
                found[region.gate] = _added([*own, *inner])
        return found[frame.gate]

    def _run(self, environment: Environment, bodies: list[Region], found: Mapping[int, Totals]) -> Totals:
        running = [body for body in bodies if environment.runs(body, "the total")]
        if not running:
            return Totals(0, 0, 0)
        loop = running[0]
        if loop.trips is None:
            return Totals(*map(max, zip(*(found[body.gate] for body in running), strict=True)))
        label = self._regions.label(loop)
        if loop.gate not in self._varying:
            return _scaled(found[loop.gate], environment.value(loop.trips, f"the number of trips of {label}"))
        closed = self._inside([loop], self._visits)
        is_exact = _has_loops_alone(loop) and all(isinstance(term, Expr) for term in closed)
        every = [self._evaluate(environment, loop) for _ in environment.turns(loop, label, ends=is_exact)]
        return _numbers(environment, closed) if is_exact else _added(every)


def _has_loops_alone(loop: Region) -> bool:
    """No branch inside: what a trip costs is one term over its number."""
    inner = [body for bodies in loop.inner.values() for body in bodies]
    return all(body.trips is not None and _has_loops_alone(body) for body in inner)


def _sum(parts: Iterable[tuple[Amounts, int]], k: int) -> Dim:
    """The sum of one quantity; unknown if a part is, since bounds of such a sum are of no use."""
    total: Dim = ZERO_EXPR
    for amount, count in parts:
        total = total + mul(amount[k], const(count))
    return total if isinstance(total, Expr) else UNKNOWN_DIM


def _numbers(environment: Environment, amount: Amounts) -> Totals:
    found = Totals(*(environment.value(term, "the cost of a node") for term in amount))
    if min(found) < 0:
        raise UsageError("a node would have a negative cost: no run has these sizes")
    return found


def _scaled(totals: Totals, count: int) -> Totals:
    return Totals(*(count * amount for amount in totals))


def _added(parts: Iterable[Totals]) -> Totals:
    return Totals(*map(sum, zip((0, 0, 0), *parts, strict=True)))


Found = TypeVar("Found")

SHOWN: Final = 5
"""Names that stand in one line."""

_LONGEST: Final = 600
"""Characters of the longest expression that a text shows."""

_SCALES: Final = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))


def tried(evaluate: Callable[[], Found]) -> tuple[Found | None, str]:
    """The numbers at some sizes; None and the reason if no run has these, or a trip count is unknown."""
    try:
        return evaluate(), ""
    except UsageError as error:
        return None, str(error)


def amount(found: Dim, texts: Names, why: str = "") -> str:
    """A number with its scale, or an expression; else the reason why there is no number either."""
    if not isinstance(found, Expr) and why:
        return f"not known: {why}"
    if not isinstance(found, Expr) or found.const is None:
        return short(found, texts)
    return scaled(found.const)


def scaled(found: int) -> str:
    """`6,290,000 (6.29 M)`."""
    scale, letter = next(((scale, letter) for scale, letter in _SCALES if found >= scale), (1, ""))
    return f"{found:,}" + (f" ({found / scale:.3g} {letter})" if letter else "")


def short(found: Dim, texts: Names) -> str:
    """A number or an expression; of a long one its size."""
    if not isinstance(found, Expr):
        return "no expression: too large to write, or different from trip to trip"
    if found.const is not None:
        return f"{found.const:,}"
    text = texts.naming.amount(found)
    if len(text.text) <= _LONGEST:
        return texts.noted(text)
    symbols = ", ".join(sorted(found.free_symbols)[:4])
    return f"<{len(text.text):,} characters over {symbols}> (whole: --format json)"


def first(items: Iterable[str]) -> str:
    """The first of some names, and the number of the others."""
    names = list(items)
    return ", ".join(names[:SHOWN]) + (f", and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")
