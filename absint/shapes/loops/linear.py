"""Linear invariants of the numbers that a loop carries: `N <= a <= N + trips`, `a + b == N + M + trips`.

A trip is taken apart: in each case, one for each way through its choices, it adds something to every number. If what it
adds to a sum of them lies between two bounds in all cases, these bounds times the number of trips hold after the loop.
The sums that are tried are the numbers, their sums and differences in pairs, and those to which two cases add alike.

A number may also stay below a size that a condition compares it with: it does if it did before, in every case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, combinations
from math import gcd
from typing import Final

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import restrict
from absint.lattices.logic.relation import FALSE, TRUE, YES, Relation, disjunction, eq, ge, le, negation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ZERO_EXPR, Atom, Dim, Expr, Symbol, add, const, expr_of, mul, postorder, sub
from absint.lattices.terms.interval import EMPTY, Interval
from absint.lattices.terms.normal import maximum, minimum
from absint.shapes.loops.body import LAST

Side = Callable[[Dim | int, Dim | int], Relation]
"""A comparison of two numbers."""

MOST: Final = 6
"""Numbers that are related with each other."""

_CASES: Final = 16
_CHOICES: Final = 5
_RELATIONS: Final = 64
_LARGEST: Final = 1 << 20
"""No bound of a symbol that stands for any size or integer counts as one of what a trip adds."""


class Number(NamedTuple):
    """A number that a loop carries: before the loop, before a trip, and after this trip."""

    start: Expr
    inside: Symbol
    back: Expr


class Invariant(NamedTuple):
    """What holds after the loop of a sum of numbers, by their places: it is its start and what the trips `added`, or
    lies on one side of that. With a `limit` it is one number, which stays on this side of it.
    """

    weights: tuple[tuple[int, int], ...]
    side: Side
    """`eq`, `le` or `ge`."""
    added: Dim
    limit: Dim | None = None

    def of(self, numbers: Sequence[Dim], starts: Sequence[Dim], trips: Dim) -> Relation:
        """The relation of the numbers after the loop."""
        bound = add(_sum(starts, self.weights), mul(self.added, trips)) if self.limit is None else self.limit
        return self.side(_sum(numbers, self.weights), bound)


class Case(NamedTuple):
    """One way through a trip: what is known there, and what the trip adds to each number."""

    facts: Facts
    steps: tuple[Dim, ...]


def invariants(
    numbers: Sequence[Number], facts: Facts, stated: Sequence[Relation], is_inside: Callable[[Symbol], bool]
) -> Iterator[Invariant]:
    """Invariants of some numbers. `facts` hold in the body, as `stated` does for each trip that succeeds; `is_inside`
    tells the symbols that change from trip to trip.
    """
    names = [s.name for n in numbers for s in (*n.start.symbols, n.inside)]
    about = _about([s for n in numbers for s in (n.inside, *n.back.symbols)], stated)
    known = Facts((*facts.relations, *about), [*dict.fromkeys(names)])
    steps = tuple([sub(n.back, expr_of(n.inside)) for n in numbers])
    cases = list(_cases(known, steps))
    single: dict[int, dict[Side, Dim]] = {}
    # Bounds of each sum; those of pairs only where they say more than the bounds of their numbers.
    for weights in _weights(len(numbers), cases):
        found = _sides(weights, cases, is_inside)
        if len(weights) == 1:
            single[weights[0][0]] = found
        lower, upper = found.get(ge), found.get(le)
        if lower is not None and lower is upper:
            yield Invariant(weights, eq, lower)
            continue
        for side, bound in found.items():
            if len(weights) == 1 or bound is not _of_the_parts(weights, side, single):
                yield Invariant(weights, side, bound)
    # Limits of single numbers. One that no trip moves to this side stays within its start, and needs none.
    for k, number in enumerate(numbers):
        for side in (le, ge):
            if single[k].get(side) is not ZERO_EXPR:
                yield from _limits(k, number, side, known, is_inside)


def added_to(number: Symbol, back: Dim, facts: Facts, stated: Sequence[Relation]) -> Interval:
    """Bounds of what a trip adds to one number, whatever it is before."""
    known = Facts(
        (*facts.relations, *_about([number, *(back.symbols if isinstance(back, Expr) else ())], stated)), [number.name]
    )
    steps = [(case.facts, case.steps[0]) for case in _cases(known, (sub(back, expr_of(number)),))]
    return reduce(Interval.join, [facts.simplify(step).bounds for facts, step in steps], EMPTY)


def with_room(start: Interval, growth: Interval, full: Interval) -> Interval:
    """Bounds that no number of trips leaves, each of which adds that much to the start."""
    (first, last), (least, most) = start, growth
    if first is None or last is None or least is None or most is None:
        return full
    wide = Interval(first + min(least, 0) * LAST, last + max(most, 0) * LAST)
    return wide if wide.leq(full) else full


def _about(symbols: Iterable[Symbol], stated: Sequence[Relation]) -> Iterable[Relation]:
    """What is stated of these symbols, and of others that this relates them to; nothing if it is much."""
    known, found = {*symbols}, dict[Relation, None]()
    while new := [r for r in stated if r not in found and not known.isdisjoint(r.symbols)]:
        found.update(dict.fromkeys(new))
        known.update(s for r in new for s in r.symbols if s.kind is not SymbolKind.INPUT)
    return found if len(found) <= _RELATIONS else ()


# Cases


def _cases(known: Facts, steps: tuple[Dim, ...]) -> list[Case]:
    """Every way through the choices on which the steps depend; the trip as a whole if there are many."""
    found: list[Case] = []
    pending = [(known, steps, _CHOICES)]
    while pending:
        facts, now, left = pending.pop()
        if facts.contradiction:
            continue
        now = tuple([facts.simplify(step) for step in now])
        choice = _choice(facts, now)
        if choice is None:
            found.append(Case(facts, tuple([facts.restored(s) if isinstance(s, Expr) else s for s in now])))
            continue
        # Too many ways: a single case without any choice taken is sound, and says less.
        if not left or len(found) + len(pending) > _CASES:
            return [Case(known, steps)]
        for side in (choice, negation(choice)):
            relations = [_where(relation, side) for relation in facts.relations]
            inside = Facts([*relations, side], facts.order)
            pending.append((inside, tuple([restrict(step, side) for step in now]), left - 1))
    return found


def _choice(facts: Facts, steps: Sequence[Dim]) -> Relation | None:
    """A condition on which one of the steps depends, by a choice in it or by what is known of a symbol in it."""
    symbols = {s for step in steps if isinstance(step, Expr) for s in step.symbols}
    for relation in facts.relations:
        if relation.op == "or" and not symbols.isdisjoint(relation.symbols):
            parts = [part for part in relation.parts if part.map(facts.replaced) not in (TRUE, FALSE)]
            if len(parts) > 1:
                return min(parts, key=lambda part: (not symbols.isdisjoint(part.symbols), part.size))
    for step in steps:
        for atom in postorder(step.atoms()) if isinstance(step, Expr) else ():
            if atom.op == "ite" and isinstance(atom.args[0], Relation):
                return atom.args[0]
    return None


def _where(relation: Relation, side: Relation) -> Relation:
    """The relation where the side holds."""
    if relation.op != "or":
        return relation
    if side in relation.parts:
        return TRUE
    return disjunction(*(part for part in relation.parts if part is not negation(side)))


# Sums


def _sum(numbers: Sequence[Dim], weights: Sequence[tuple[int, int]]) -> Dim:
    total: Dim = ZERO_EXPR
    for place, weight in weights:
        total = add(total, mul(numbers[place], const(weight)))
    return total


def _weights(count: int, cases: Sequence[Case]) -> list[tuple[tuple[int, int], ...]]:
    """The sums that are tried, each by the weights of its numbers; single numbers first."""
    found: dict[tuple[tuple[int, int], ...], None] = {((k, 1),): None for k in range(count)}
    for a, b in combinations(range(count), 2):
        tried = [(1, 1), (1, -1)]
        # The weights under which two cases add the same to the sum of the pair.
        for one, other in combinations(cases, 2):
            gaps = [sub(one.steps[k], other.steps[k]) for k in (a, b)]
            x, y = (gap.const if isinstance(gap, Expr) else None for gap in gaps)
            if x and y:
                shared = gcd(x, y) if y > 0 else -gcd(x, y)
                tried.append((y // shared, -x // shared))
        found.update({((a, x), (b, y)): None for x, y in tried})
    if count > len(_PAIR):
        found[tuple((k, 1) for k in range(count))] = None
    return list(found)


_PAIR: Final = (0, 1)


def _sides(
    weights: Sequence[tuple[int, int]], cases: Sequence[Case], is_inside: Callable[[Symbol], bool]
) -> dict[Side, Dim]:
    """The nearest bounds of what a trip adds to the sum."""
    steps = [(case.facts, _sum(case.steps, weights)) for case in cases]
    tried: dict[Dim, None] = {}
    for facts, step in steps:
        if not isinstance(step, Expr):
            return {}
        tried.update(dict.fromkeys(_bounds(facts, step, is_inside)))
    tried[ZERO_EXPR] = None
    found: dict[Side, Dim] = {}
    for side in (le, ge):
        held = [bound for bound in tried if all(_holds(facts, side(step, bound)) for facts, step in steps)]
        numbers = [bound.const for bound in held if isinstance(bound, Expr) and bound.const is not None]
        if numbers:
            found[side] = const(min(numbers) if side is le else max(numbers))
        elif held:
            found[side] = held[0]
    return found


def _bounds(facts: Facts, step: Expr, is_inside: Callable[[Symbol], bool]) -> Iterator[Dim]:
    """Bounds of a step, over symbols of the outside, that are worth a try."""
    if not any(map(is_inside, step.symbols)):
        yield step
        return
    narrowed = facts.simplify(step)
    yield from (const(end) for end in narrowed.bounds if end is not None and abs(end) < _LARGEST)
    linear = {mono[0]: factor for mono, factor in step.terms if len(mono) == 1}
    for symbol in step.symbols:
        factor = linear.get(symbol) if is_inside(symbol) else None
        for rest in _compared(facts.relations, symbol) if factor is not None else ():
            bound = add(sub(step, mul(expr_of(symbol), const(factor or 0))), mul(rest, const(factor or 0)))
            if isinstance(bound, Expr) and not any(map(is_inside, bound.symbols)):
                yield bound


def _compared(relations: Sequence[Relation], symbol: Symbol) -> Iterator[Expr]:
    """What a symbol is at most or at least, by single relations."""
    for relation in relations:
        for part in relation.comparisons():
            if part.op == ">=":
                yield from _bound_by(part.expr, symbol)


def _bound_by(e: Expr, symbol: Symbol) -> Iterator[Expr]:
    factors: dict[Atom, int] = {mono[0]: factor for mono, factor in e.terms if len(mono) == 1}
    factor = factors.get(symbol)
    if factor in (1, -1):
        rest = sub(e, mul(expr_of(symbol), const(factor or 0)))
        if isinstance(rest, Expr) and symbol not in rest.symbols:
            bound = mul(rest, const(-(factor or 0)))
            if isinstance(bound, Expr):
                yield bound


def _of_the_parts(weights: Sequence[tuple[int, int]], side: Side, single: dict[int, dict[Side, Dim]]) -> Dim | None:
    """The bound of the sum that follows from those of its numbers."""
    total: Dim = ZERO_EXPR
    for place, weight in weights:
        bound = single[place].get(side if weight > 0 else ge if side is le else le)
        if bound is None:
            return None
        total = add(total, mul(bound, const(weight)))
    return total


def _holds(facts: Facts, relation: Relation) -> bool:
    return facts.contradiction or facts.decide(relation) is YES


# Limits


def _limits(
    k: int, number: Number, side: Side, known: Facts, is_inside: Callable[[Symbol], bool]
) -> Iterator[Invariant]:
    """A limit on this side that no trip leaves: a size that the number is compared with, or its start beyond that."""
    here, extreme = expr_of(number.inside), maximum if side is le else minimum
    near = (0, 1) if side is le else (0, -1)
    compared = [*known.relations, *_conditions([number.back, *known.relations])]
    sizes = [rest for rest in _compared(compared, number.inside) if not any(map(is_inside, rest.symbols))]
    for size in dict.fromkeys(sizes):
        for more in near:
            limit = extreme(number.start, add(size, const(more)))
            if not isinstance(limit, Expr):
                continue
            assumed = Facts([*known.relations, side(here, limit)], known.order)
            cases = _cases(assumed, (sub(number.back, here),))
            if all(_holds(case.facts, side(add(here, case.steps[0]), limit)) for case in cases):
                yield Invariant(((k, 1),), side, ZERO_EXPR, limit)
                return


def _conditions(roots: Sequence[Expr | Relation]) -> Iterator[Relation]:
    """The conditions of all choices, and their negations."""
    for atom in postorder(chain.from_iterable(root.atoms() for root in roots)):
        if atom.op == "ite" and isinstance(atom.args[0], Relation):
            yield from (atom.args[0], negation(atom.args[0]))
