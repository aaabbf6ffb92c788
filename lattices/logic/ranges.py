"""Sets of integers as unions of intervals: the values that comparisons with constants allow a term."""

from __future__ import annotations

from absint.lattices.terms.interval import Interval

Range = tuple[Interval, ...]
"""Disjoint intervals in ascending order, no two of them adjacent."""


def points(*intervals: Interval) -> Range:
    """The union of the intervals."""
    result: list[Interval] = []
    for interval in sorted((i for i in intervals if not i.is_empty), key=lambda i: (i.lo is not None, i.lo or 0)):
        if result and (result[-1].hi is None or interval.lo is None or interval.lo <= result[-1].hi + 1):
            result[-1] = result[-1].join(interval)
        else:
            result.append(interval)
    return tuple(result)


def union(a: Range, b: Range) -> Range:
    return points(*a, *b)


def intersection(a: Range, b: Range) -> Range:
    """The meet of both, in one pass over their intervals."""
    result: list[Interval] = []
    i = j = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        both = x.meet(y)
        if not both.is_empty:
            result.append(both)
        if y.hi is None or (x.hi is not None and x.hi <= y.hi):
            i += 1
        else:
            j += 1
    return tuple(result)


def without(value: int) -> Range:
    """All integers but one."""
    return (Interval(None, value - 1), Interval(value + 1, None))


def contains(a: Range, b: Range) -> bool:
    """Every member of b is a member of a."""
    return all(any(x.leq(y) for y in a) for x in b)
