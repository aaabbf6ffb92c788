"""Operators that pick or place by index: rows by their numbers among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from absint.analyses.independence.claims import NO_SHIFT, Along, Growth, Shift
from absint.analyses.independence.layout import first_alone
from absint.analyses.independence.seen import Rule, Seen
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Expr
from absint.lattices.terms.polynomials import nonneg


def gathered(seen: Seen) -> Iterator[Along]:
    axis, rank, more = seen.axis_of(0, seen.attribute("axis", 0)), seen.rank(0), seen.rank(1)
    if axis is None or rank is None or more is None:
        return
    for at in range(more):
        yield from seen.pointwise(axis + at, [None, at])
    for at in range(rank):
        if at != axis:
            place = at if at < axis else at - 1 + more
            yield from (c.uniform for c in seen.pointwise(place, [at, None], first_alone))
    for claim in seen.along(0, axis):
        for index in seen.along(1) if claim.outer is ONE_EXPR else ():
            if is_inside(index.shift, claim.inner):
                yield Along(axis + index.axis, index.outer, index.inner, claim.uniform.shift)


def gathered_blocks(seen: Seen) -> Iterator[Along]:
    """Rows of a quantised table."""
    axis, more = seen.axis_of(0, seen.attribute("gather_axis", 0)), seen.rank(1)
    if axis is not None:
        for at in range(more or 0):
            yield from seen.pointwise(axis + at, [None, at, *[None] * (len(seen.inputs) - 2)])


def regions(seen: Seen) -> Iterator[Along]:
    """Regions of images, each of the image that the third input numbers."""
    yield from seen.pointwise(0, [None, 0, 0])
    for claim in seen.along(0, 0):
        for index in seen.along(2) if claim.outer is claim.inner is ONE_EXPR else ():
            for region in seen.along(1, 0):
                if is_inside(index.shift, ONE_EXPR) and region[1:3] == index[1:3]:
                    is_free = claim.is_free and region.is_free
                    yield Along(0, index.outer, index.inner, NO_SHIFT if is_free else None)


def is_inside(shift: Shift, size: Expr) -> bool:
    """All numbers are places of the block of this size that belongs to the row, counted from the front.

    In run B there is no other block, and it succeeds: so none is too large.
    """
    return shift is not None and len(shift) == 1 and shift[0].step is size and _is_natural(shift[0])


def _is_natural(growth: Growth) -> bool:
    return growth.least is not None and nonneg(growth.least)


def by_element(seen: Seen) -> Iterator[Along]:
    """GatherElements, and ScatterElements, which has updates too."""
    axis, rank = seen.axis_of(0, seen.attribute("axis", 0)), seen.rank(0)
    for at in range(rank or 0):
        if at != axis and axis is not None:
            yield from seen.pointwise(at, [at] * len(seen.inputs), strict=True)


def gathered_nd(seen: Seen) -> Iterator[Along]:
    data, index = seen.shape(0), seen.shape(1)
    batch = seen.attribute("batch_dims", 0)
    if data.rank is None or index.rank is None or not index.rank or batch < 0:
        return
    width = index[-1].const if isinstance(index[-1], Expr) else None
    if width is None or batch + width > data.rank:
        return
    for at in range(batch):
        yield from seen.pointwise(at, [at, at], strict=True)
    for at in range(batch, index.rank - 1):
        yield from seen.pointwise(at, [None, at])
    for at in range(batch + width, data.rank):
        yield from seen.pointwise(at - batch - width + index.rank - 1, [at, None])
    for at in range(batch, batch + width):
        yield from _by_row_number(seen, at - batch, at, index.rank - 1, width)


def _by_row_number(seen: Seen, column: int, axis: int, rank: int, width: int) -> Iterator[Along]:
    """Rows of the first input, each picked by its number in a column of the second."""
    for claim in seen.along(0, axis):
        if claim.outer is not ONE_EXPR or claim.inner is not ONE_EXPR:
            continue
        for index in seen.along(1):
            if index.axis < rank and is_row_number(index.shift, column, width):
                yield Along(index.axis, index.outer, index.inner, claim.uniform.shift)


def is_row_number(shift: Shift, column: int, width: int) -> bool:
    """One column is the number of the row, and the others do not depend on it."""
    if shift is None or len(shift) not in (1, width):
        return False
    growths = shift * width if len(shift) == 1 else shift
    return is_inside(growths[column : column + 1], ONE_EXPR) and all(
        growth.step is ZERO_EXPR for at, growth in enumerate(growths) if at != column
    )


def scattered_nd(seen: Seen) -> Iterator[Along]:
    data, index = seen.shape(0), seen.shape(1)
    if data.rank is None or index.rank is None or not index.rank:
        return
    width = index[-1].const if isinstance(index[-1], Expr) else None
    if width is None or width > data.rank:
        return
    for at in range(width, data.rank):  # axes that are written whole
        yield from seen.pointwise(at, [at, None, at - width + index.rank - 1], strict=True)
    for at in range(width):
        for claim in seen.along(0, at):
            for place in seen.along(1):
                if (
                    claim.outer is claim.inner is ONE_EXPR
                    and place.axis < index.rank - 1
                    and is_row_number(place.shift, at, width)
                ):
                    for update in seen.along(2, place.axis):
                        if update[1:3] == place[1:3]:
                            is_free = claim.is_free and update.is_free
                            yield Along(at, shift=NO_SHIFT if is_free else None)


def one_hot(seen: Seen) -> Iterator[Along]:
    rank, axis = seen.rank(0), seen.attribute("axis", -1)
    if rank is not None and -rank - 1 <= axis <= rank:
        for at in range(rank):
            yield from seen.pointwise(at + (at >= axis % (rank + 1)), [at, None, None])


def compressed(seen: Seen) -> Iterator[Along]:
    axis = seen.axis_of(0, seen.attribute("axis", -(1 << 40)))
    for at in range(seen.rank(0) or 0) if axis is not None else ():
        if at != axis:
            yield from seen.pointwise(at, [at, None])


INDEXING: Final[Mapping[str, Rule]] = {
    "Gather": gathered, "GatherElements": by_element, "GatherND": gathered_nd, "RoiAlign": regions,
    "com.microsoft::GatherBlockQuantized": gathered_blocks, "com.microsoft::GatherND": gathered_nd,
    "ScatterElements": by_element, "Scatter": by_element, "ScatterND": scattered_nd, "OneHot": one_hot,
    "Compress": compressed,
}  # fmt: skip
