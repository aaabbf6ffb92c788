"""Sizes to try: every search for sizes that meet or break relations takes its candidates here.

equal, combined   the same size for all symbols; all combinations of a few
coprime           sizes that differ and share no factor
alone             given sizes with another one for a single symbol
corners           the ends of ranges
growing           all sizes, the smallest first
drawn, around     sizes drawn near given ones, or near the numbers that relations mention; the same in every run
repaired          given sizes, changed as long as fewer relations are broken

A candidate is a guess: nothing here says that a size is legal. `nearest` alone orders candidates by distance and proves
that it passed over none, so it has a search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product, repeat
from math import log2
from random import Random
from typing import Final

from absint.lattices.limits import on_time
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import MAX_DIM, Expr, postorder
from absint.lattices.terms.interval import Interval

Sizes = Mapping[str, int]

PRIMES: Final = (5, 3, 7, 2, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
SMALL: Final = (1, 0, 2, 3, 4, 5, 7, 8)
"""The corners of rules, the most ordinary first."""

USUAL: Final = (1, 2, 3, 4, 5, 7, 8, 9, 14, 16, 17, 28, 31, 32, 33, 48, 56, 64, 65, 96, 100, 128, 224, 256, 512, 1024)
"""Sizes that models meet: small ones, powers of two, pictures, and one more or less."""

POWERS: Final = tuple(1 << exponent for exponent in range(13))

_FREQUENT: Final = (2, 3, 4, 5, 7, 1, 8, 0, 11, 13, 16, 24, 32, 64, 96, 128, 224, 256, 512)
"""Sizes that are drawn, the first more often."""

_LAYER: Final = 2500
"""Most sizes of one layer of `growing`, and of those that have a 0."""

_NUMBERS: Final = 40
"""Most numbers of relations that sizes are drawn around."""

_LARGEST: Final = 1 << 20
"""The largest of these."""


def equal(names: Iterable[str], sizes: Iterable[int]) -> Iterator[dict[str, int]]:
    """The same size for all symbols, in the order of the sizes."""
    names = tuple(names)
    return (dict.fromkeys(names, size) for size in sizes)


def combined(sizes: Mapping[str, Iterable[int]]) -> Iterator[dict[str, int]]:
    """Every combination of these sizes of each symbol, the last symbol varying first."""
    return (dict(zip(sizes, found, strict=True)) for found in product(*sizes.values()))


def coprime(names: Iterable[str], shift: int = 0) -> dict[str, int]:
    """A prime for each symbol, from the one at `shift` on; beyond the last of them they repeat."""
    return {name: PRIMES[(place + shift) % len(PRIMES)] for place, name in enumerate(names)}


def alone(sizes: Sizes, names: Iterable[str], others: Iterable[int]) -> Iterator[dict[str, int]]:
    """The sizes with another one for one of the symbols, one symbol after another."""
    others = tuple(others)
    return ({**sizes, name: size} for name in names for size in others)


def corners(ends: Mapping[str, tuple[int, int]]) -> Iterator[dict[str, int]]:
    """Every combination of the ends of ranges."""
    return combined({name: sorted(set(pair)) for name, pair in ends.items()})


def fitted(size: int, bounds: Interval) -> int:
    """The size, or the end of the bounds next to it; at least 0."""
    lo, hi = bounds
    return max(lo or 0, min(size, MAX_DIM if hi is None else hi))


def by_nearness(size: int, others: Iterable[int]) -> list[int]:
    """Sizes in ascending order of the ratio to one of them."""
    return sorted(others, key=lambda other: abs(log2(other + 1) - log2(size + 1)))


def growing(bounds: Mapping[str, Interval]) -> Iterator[dict[str, int]]:
    """Sizes within the bounds in ascending order of the largest of them: from 1 on, then those with a 0.

    Raises DeadlineError past the deadline that is set.
    """
    if not bounds:
        yield {}
        return
    for least in (1, 0):
        every = chain.from_iterable(_with_largest(most, least, len(bounds)) for most in range(least, _LAYER))
        for sizes in islice(every, _LAYER):
            on_time()
            if (least or 0 in sizes) and all(map(Interval.__contains__, bounds.values(), sizes)):
                yield dict(zip(bounds, sizes, strict=True))


def _with_largest(most: int, least: int, count: int) -> Iterator[tuple[int, ...]]:
    """Sizes of which the largest is `most`, none below `least`; those of a small sum first."""
    layer = (
        product(*repeat(range(least, most + 1), place), (most,), *repeat(range(least, most), count - place - 1))
        for place in reversed(range(count))
    )
    yield from sorted(islice(chain.from_iterable(layer), _LAYER), key=sum)


def shrunk(sizes: Sizes, fits: Callable[[Sizes], bool], bounds: Mapping[str, Interval]) -> Sizes:
    """The sizes with one symbol after another as small as it can be and still fit, the largest first."""
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        tried = (*range(1, min(sizes[name] or _LAYER, _LAYER)), *_halved(sizes[name]))
        smaller = ({**sizes, name: size} for size in tried if size in bounds[name])
        sizes = next(filter(fits, smaller), sizes)
    return sizes


def _halved(size: int) -> Iterator[int]:
    """Sizes between that and those that are tried one by one."""
    return (size - (size >> shift) for shift in range(1, 32) if _LAYER <= size - (size >> shift) < size)


def drawn(sizes: Sizes, most: int) -> Iterator[dict[str, int]]:
    """The sizes with about half of them drawn anew, small ones more often."""
    draw, names = Random(0), sorted(sizes)
    for _ in range(most if names else 0):
        on_time()
        chosen = {name for name in names if draw.random() < 0.6} or {draw.choice(names)}
        yield {name: _frequent(draw) if name in chosen else sizes[name] for name in names}


def _frequent(draw: Random) -> int:
    return _FREQUENT[min(draw.randrange(len(_FREQUENT)), draw.randrange(len(_FREQUENT)))]


def around(relations: Iterable[Relation], names: Sequence[str], most: int) -> tuple[list[Sizes], list[Sizes]]:
    """Equal sizes, and sizes that are drawn, around the constants and the multiples of divisors of the relations.

    Among those drawn some are equal to each other, and some the sum of two others.
    """
    values = numbers_near(relations)
    draw = Random(0)
    same: list[Sizes] = list(equal(names, values if names else values[:1]))
    combinations = dict.fromkeys((size,) * len(names) for size in values)
    for _ in range(most):
        sizes: list[int] = []
        for _ in names:
            kind = draw.random()
            if sizes and kind < 0.2:
                sizes.append(draw.choice(sizes))
            elif len(sizes) > 1 and kind < 0.35:
                sizes.append(sum(draw.sample(sizes, 2)))
            else:
                sizes.append(draw.choice(values))
        order = draw.sample(range(len(sizes)), len(sizes))
        combinations[tuple(sizes[place] for place in order)] = None
    return same, [dict(zip(names, sizes, strict=True)) for sizes in list(combinations)[len(same) :]]


def numbers_near(relations: Iterable[Relation]) -> list[int]:
    """A few small sizes, and those around the numbers in the relations."""
    numbers: dict[int, None] = {}
    for relation in relations:
        for part in relation.comparisons():
            inner = (arg for node in postorder(part.expr.atoms()) for arg in node.args if isinstance(arg, Expr))
            for e in (part.expr, *inner):
                numbers |= {abs(coef): None for _, coef in e.terms}
    close = {size for n in numbers for size in (n - 1, n, n + 1, 2 * n) if 0 <= size <= _LARGEST}
    return sorted({0, 1, 2, 3, 4, 5, 7, 8, 64, *sorted(close)[:_NUMBERS]})


def repaired(
    sizes: Sizes,
    broken: Callable[[Sizes], Sequence[Relation]],
    changed: Callable[[Sizes, Relation], Iterable[Sizes]],
    most: int,
) -> Sizes:
    """The sizes after at most so many changes, each of which leaves fewer relations broken."""
    left = broken(sizes)
    for _ in range(most):
        if not left:
            break
        best = min(changed(sizes, left[0]), key=lambda other: len(broken(other)), default=sizes)
        if len(broken(best)) >= len(left):
            break
        sizes, left = best, broken(best)
    return sizes
