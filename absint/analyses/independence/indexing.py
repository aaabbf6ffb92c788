"""Operators that pick or place by index: rows by their numbers among them."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from absint.analyses.independence.claims import NO_SHIFT, ROW_NUMBER, Along, Growth, Shift, of_rows, owned_by, united
from absint.analyses.independence.layout import first_alone
from absint.analyses.independence.seen import Found, Rule, Seen
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Expr, expr_of
from absint.lattices.terms.polynomials import nonneg


def gathered(seen: Seen) -> Iterator[Along]:
    axis, rank, more = seen.axis_of(0, seen.attribute("axis", 0)), seen.rank(0), seen.rank(1)
    if axis is None or rank is None or more is None:
        return
    numbers = seen.integers(1)
    picked = numbers[0] if numbers and len(numbers) == 1 else None
    for at in range(more):
        yield from seen.pointwise(axis + at, [None, at])
    for at in range(rank):
        if at != axis:
            place = at if at < axis else at - 1 + more
            kept = seen.pointwise(place, [at, None], first_alone)
            yield from (c.cut(rank, axis, picked)._replace(axis=place) for c in (k._replace(axis=at) for k in kept))
    for claim in seen.along(0, axis):
        for index in seen.along(1) if claim.outer is ONE_EXPR else ():
            if is_inside(index.shift, claim.inner):
                yield of_rows(index)._replace(axis=axis + index.axis, shift=claim.uniform.shift)


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
    least = shift[0].least if shift is not None and len(shift) == 1 and shift[0].step is size else None
    return least is not None and nonneg(least)


def gathered_elements(seen: Seen) -> Iterator[Along]:
    yield from _by_element(seen)
    for claim, index in _by_own_number(seen):
        yield index._replace(shift=claim.uniform.shift)


def scattered_elements(seen: Seen) -> Iterator[Along]:
    yield from _by_element(seen)
    for claim, index in _by_own_number(seen):
        for update in seen.along(2, claim.axis):
            if update[1:3] == index[1:3]:
                yield Along(claim.axis, inner=claim.inner, shift=NO_SHIFT if claim.is_free and update.is_free else None)
    if seen.rank(0) != 1 or "reduction" in seen.operation.attributes:
        return
    numbered = any(c == Along(0, shift=(ROW_NUMBER,)) for c in seen.along(2))  # places, each put where its row is
    if numbered and seen.output().dims == (expr_of(seen.sizes.rows),):
        yield from (claim.places for claim in seen.along(1) if claim.places is not None)


def _by_own_number(seen: Seen) -> Iterator[tuple[Along, Along]]:
    """Rows of the first input along the axis, and of the second, whose elements are numbers of places in them."""
    axis = seen.axis_of(0, seen.attribute("axis", 0))
    for claim in seen.along(0, axis) if axis is not None else ():
        for index in seen.along(1, axis) if claim.outer is ONE_EXPR else ():
            if is_inside(index.shift, claim.inner) and not index.is_place:
                yield claim, index


def _by_element(seen: Seen) -> Iterator[Along]:
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
        if claim.outer is not ONE_EXPR:
            continue
        for index in seen.along(1):
            if index.axis < rank and is_row_number(index.shift, column, width, claim.inner):
                yield Along(index.axis, index.outer, index.inner, claim.uniform.shift)


def is_row_number(shift: Shift, column: int, width: int, inner: Expr = ONE_EXPR) -> bool:
    """One column has places of the row, and the others do not depend on it."""
    if shift is None or len(shift) not in (1, width):
        return False
    growths = shift * width if len(shift) == 1 else shift
    others = [growth.step for at, growth in enumerate(growths) if at != column]
    return is_inside(growths[column : column + 1], inner) and all(step is ZERO_EXPR for step in others)


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
                numbered = is_row_number(place.shift, at, width, claim.inner) and not place.is_place
                if claim.outer is ONE_EXPR and place.axis < index.rank - 1 and numbered:
                    for update in seen.along(2, place.axis):
                        if update[1:3] == place[1:3]:
                            is_free = claim.is_free and update.is_free
                            yield Along(at, inner=claim.inner, shift=NO_SHIFT if is_free else None)


def one_hot(seen: Seen) -> Iterator[Along]:
    rank, axis = seen.rank(0), seen.attribute("axis", -1)
    if rank is not None and -rank - 1 <= axis <= rank:
        for at in range(rank):
            yield from seen.pointwise(at + (at >= axis % (rank + 1)), [at, None, None])


def compressed(seen: Seen) -> Found:
    axis = seen.axis_of(0, seen.attribute("axis", -(1 << 40)))
    return () if axis is None else seen.each([axis])


def nonzero(seen: Seen) -> Iterator[Along]:
    """The places of what is not zero, in order: each belongs to the row that it is in."""
    shape, inner = seen.shape(0), owned_by(seen.node)
    rank = shape.rank or 0
    for claim in islice(seen.along(0), 1) if rank else ():
        sizes = [claim.inner if axis == claim.axis else dim for axis, dim in enumerate(shape)]
        ends = [dim - 1 if isinstance(dim, Expr) and seen.is_kept([dim], claim) else None for dim in sizes]
        most = [end if isinstance(end, Expr) else None for end in ends]
        steps = [claim.inner if axis == claim.axis else ZERO_EXPR for axis in range(rank)]
        is_known = claim.is_free and claim.outer is ONE_EXPR and not claim.is_owned
        shift = united(Growth(step, ZERO_EXPR, end) for step, end in zip(steps, most, strict=True))
        yield Along(1, inner=inner, shift=shift if is_known else None)


INDEXING: Final[Mapping[str, Rule]] = {
    "Gather": gathered, "GatherElements": gathered_elements, "GatherND": gathered_nd, "RoiAlign": regions,
    "com.microsoft::GatherBlockQuantized": gathered_blocks, "com.microsoft::GatherND": gathered_nd,
    "ScatterElements": scattered_elements, "Scatter": scattered_elements, "ScatterND": scattered_nd,
    "NonZero": nonzero, "OneHot": one_hot, "Compress": compressed,
}  # fmt: skip
