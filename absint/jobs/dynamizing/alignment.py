"""Targets of Reshape: which numbers of a target a changed size belongs to.

Row-major order keeps axes together: the axes of the input and the numbers of the target fall into groups of equal
products, and a changed size stays in its group. In a group with one number there is no choice. In another one each
factor of the changed sizes may belong to any number that it divides, and a 1 may be what another number leaves of a
size. A size that was 1 belongs to no group: any number may carry it. All these readings are listed, the likeliest
first; which of them is meant, a target alone cannot tell.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product as combinations
from math import gcd, prod
from typing import Final, NamedTuple

from absint.lattices.terms.expr import ONE_EXPR, Dim, Expr, const, expr_of, mul, product
from absint.lattices.terms.normal import floordiv, sole_atom
from absint.lattices.terms.polynomials import exact_quotient

MAX_READINGS: Final = 64
"""Readings of one target."""
_MAX_ASSIGNMENTS: Final = 256
_AT_ANOTHER_NUMBER, _A_QUOTIENT = 20, 30
"""Costs of readings that only the sizes allow: a size that was 1 beside another number, and a 1 that is a quotient."""

Old = Callable[[Dim], Dim]


class Reading(NamedTuple):
    """Sizes for a target, and how far they are from the likeliest ones."""

    sizes: tuple[Dim, ...]
    cost: int = 0


class ManyReadingsError(Exception):
    """A target has more readings than are listed."""


class Group(NamedTuple):
    """Axes of the input, and numbers of the target that hold the same elements."""

    source: tuple[Expr, ...]
    target: tuple[Expr, ...]


def readings(source: Sequence[Expr], target: Sequence[Expr], old: Old) -> list[Reading]:
    """All sizes that a target may mean, the likeliest first. At the old sizes each is the target; empty if there is
    none. Raises ManyReadingsError if there are too many.
    """
    found: dict[tuple[Dim, ...], int] = {}
    rest, ones = _without_ones(source, old)
    for reading in (*_grouped(source, target, old), *_placed(ones, _grouped(rest, target, old))):
        found[reading.sizes] = min(reading.cost, found.get(reading.sizes, reading.cost))
        if len(found) > MAX_READINGS:
            raise ManyReadingsError
    return sorted((Reading(*item) for item in found.items()), key=lambda reading: reading.cost)


def _grouped(source: Sequence[Expr], target: Sequence[Expr], old: Old) -> Iterator[Reading]:
    """Readings in which each size stays in its group."""
    for groups in _groupings(source, target, old):
        for chosen in combinations(*[_of_group(group, old) for group in groups]):
            sizes = tuple(size for part in chosen for size in part.sizes)
            yield Reading(sizes, sum(part.cost for part in chosen))


def _without_ones(source: Sequence[Expr], old: Old) -> tuple[list[Expr], list[Expr]]:
    """The sizes without the factors that were 1, and these."""
    rest: list[Expr] = []
    ones: list[Expr] = []
    for dim in source:
        for factor in _factors(dim):
            divided = exact_quotient(dim, factor) if old(factor) is ONE_EXPR else None
            if isinstance(divided, Expr):
                dim = divided
                ones.append(factor)
        rest.append(dim)
    return rest, ones


def _placed(ones: Sequence[Expr], found: Iterator[Reading]) -> Iterator[Reading]:
    """The readings with each factor that was 1 at every number."""
    if not ones:
        return
    for sizes, cost in found:
        for places in combinations(range(len(sizes)), repeat=len(ones)):
            new = list(sizes)
            for place, factor in zip(places, ones, strict=True):
                new[place] = mul(new[place], factor)
            yield Reading(tuple(new), cost + _AT_ANOTHER_NUMBER)


def _groupings(source: Sequence[Expr], target: Sequence[Expr], old: Old) -> Iterator[list[Group]]:
    """The finest groups; more than one grouping where an axis of size 1 may belong to either neighbour."""
    before, after = _prefixes([old(dim) for dim in source]), _prefixes(target)
    if before is None or after is None or before[-1] is not after[-1]:
        return
    groups: list[Group] = []
    i = j = 0
    while i < len(source) or j < len(target):
        ends = [(a, b) for a in range(i, len(source) + 1) for b in range(j, len(target) + 1) if before[a] is after[b]]
        ones_i = _ones(before, i)
        ones_j = _ones(after, j)
        if ones_i == i and ones_j == j:
            a, b = next(end for end in ends if end[0] > i and end[1] > j)
        elif ones_i - i == ones_j - j:
            a, b = i + 1, j + 1
        else:
            a, b = ones_i, ones_j
        groups.append(Group(tuple(source[i:a]), tuple(target[j:b])))
        i, j = a, b
    yield from _merged(groups)


def _ones(prefixes: Sequence[Dim], at: int) -> int:
    """The end of the run of ones that begins here."""
    end = at
    while end + 1 < len(prefixes) and prefixes[end + 1] is prefixes[at]:
        end += 1
    return end


def _prefixes(dims: Sequence[Dim]) -> list[Dim] | None:
    """The products of the first dims; None if one may be 0, or is unknown."""
    found: list[Dim] = [ONE_EXPR]
    for dim in dims:
        if not isinstance(dim, Expr) or dim.const == 0:
            return None
        found.append(mul(found[-1], dim))
    return found


def _merged(groups: list[Group]) -> Iterator[list[Group]]:
    """The groups; one of ones on one side only joins the next one or the one before."""
    lonely = [at for at, group in enumerate(groups) if _is_lonely(group, groups, at)]
    if not lonely or len(groups) == 1:
        yield groups
        return
    at = lonely[0]
    seen: list[list[Group]] = []
    for other in (at + 1, at - 1):
        if 0 <= other < len(groups):
            first, last = min(at, other), max(at, other)
            joined = Group(groups[first].source + groups[last].source, groups[first].target + groups[last].target)
            seen.append([*groups[:first], joined, *groups[last + 1 :]])
    for merged in seen:
        yield from _merged(merged)


def _is_lonely(group: Group, groups: Sequence[Group], at: int) -> bool:
    """It has symbols on one side and nothing on the other, or ones that a symbol of a neighbour may belong to."""
    if not group.target:
        return any(dim.const is None for dim in group.source)
    if group.source:
        return False
    near = [groups[other] for other in (at - 1, at + 1) if 0 <= other < len(groups)]
    return any(dim.const is None for other in near for dim in other.source)


def _of_group(group: Group, old: Old) -> list[Reading]:
    source, target = group
    if all(dim.const is not None or old(dim) is dim for dim in source):
        return [Reading(tuple(target))]
    whole = product(source)
    if not isinstance(whole, Expr):
        return []
    if len(target) == 1:
        return [Reading((whole,))]
    found = [reading for reading in _assigned(source, target, old) if product(reading.sizes) is whole]
    if not found:
        return list(_divided(whole, target))
    return [*found, *_quotients(whole, target, old)]


def _assigned(source: Sequence[Expr], target: Sequence[Expr], old: Old) -> Iterator[Reading]:
    """Every factor of the sizes at one number of the target that it divides."""
    factors = [factor for dim in source for factor in _factors(dim)]
    if len(target) ** len(factors) > _MAX_ASSIGNMENTS:
        raise ManyReadingsError
    was = [old(factor) for factor in factors]
    for places in combinations(range(len(target)), repeat=len(factors)):
        sizes: list[Dim] = []
        cost = sum(a > b for a, b in pairwise(places))
        for at, number in enumerate(target):
            mine = [factor for factor, place in zip(factors, places, strict=True) if place == at]
            if not mine:
                sizes.append(number)
                continue
            part = product(f for f, place in zip(was, places, strict=True) if place == at)
            rest = exact_quotient(number, part) if isinstance(part, Expr) and part.const != 0 else None
            if not isinstance(rest, Expr):
                break
            cost += 2 * (rest is not ONE_EXPR)
            sizes.append(mul(rest, product(mine)))
        else:
            yield Reading(tuple(sizes), cost)


def _quotients(whole: Expr, target: Sequence[Expr], old: Old) -> Iterator[Reading]:
    """A 1 of the target that is the quotient of the size by another number, which stays."""
    if sole_atom(whole) is None or old(whole) is ONE_EXPR or old(whole) not in target:
        return
    size = old(whole)
    for at, number in enumerate(target):
        share = floordiv(whole, size) if number is ONE_EXPR and isinstance(size, Expr) else None
        if isinstance(share, Expr):
            yield Reading((*target[:at], share, *target[at + 1 :]), _A_QUOTIENT)


def _factors(dim: Expr) -> list[Expr]:
    """Factors of a size whose product, times a constant, it is."""
    if dim.const is not None:
        return []
    if len(dim.terms) == 1:
        return [expr_of(atom) for atom in dim.terms[0][0]]
    whole = exact_quotient(dim, const(gcd(*(coef for _, coef in dim.terms))))
    return [whole if isinstance(whole, Expr) else dim]


def _divided(whole: Expr, target: Sequence[Expr]) -> Iterator[Reading]:
    """One number of the target takes what the others leave."""
    numbers = [number.const for number in target]
    for at, number in enumerate(target):
        others = [n for place, n in enumerate(numbers) if place != at]
        if None in others:
            continue
        rest = prod(n for n in others if n is not None)
        share = floordiv(whole, rest)
        if rest and isinstance(share, Expr) and number.const != 1:
            yield Reading((*target[:at], share, *target[at + 1 :]), 10 + at)
