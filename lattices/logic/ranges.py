"""Comparisons of one term with constants as sets of integers, and what makes some of them redundant in a formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.deadline import on_time
from absint.lattices.terms.interval import FULL, Interval

if TYPE_CHECKING:
    from absint.lattices.logic.relation import Relation

Range = tuple[Interval, ...]
"""Disjoint intervals in ascending order, no two of them adjacent."""

_EVERYTHING: Final[Range] = (FULL,)


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


def redundant(op: str, parts: Sequence[Relation]) -> tuple[set[Relation], bool | None]:
    """Operands of an `and` or `or` that the others make redundant, and the truth of the whole where that is settled.

    Compares only operands that hold the same term against constants: in `N == 1 or N <= 64` the first says nothing.
    """
    groups: dict[object, list[Relation]] = {}
    for part in parts:
        if part.line is not None:
            groups.setdefault(part.line.term, []).append(part)
    dropped: set[Relation] = set()
    for group in groups.values():
        if len(group) < 2:
            continue
        line = group[0].line
        assert line is not None
        possible: Range = (line.term.bounds,)
        ranges = {part: intersection(part.line.range, possible) for part in group if part.line is not None}
        join = union if op == "or" else intersection
        ordered = sorted(group, key=lambda p: p.op == ">=")
        kept: Range = () if op == "or" else possible
        later = [kept]  # what the parts from a place on say together, the last place first
        for part in reversed(ordered):
            on_time()
            later.append(join(later[-1], ranges[part]))
        whole = later.pop()
        if op == "or" and contains(whole, possible):
            return dropped, True
        if op == "and" and not whole:
            return dropped, False
        for part in ordered:
            on_time()
            rest = join(kept, later.pop())
            if contains(rest, ranges[part]) if op == "or" else contains(ranges[part], rest):
                dropped.add(part)
            else:
                kept = join(kept, ranges[part])
    return dropped, None


__all__ = ["Range", "contains", "intersection", "points", "redundant", "union", "without"]
