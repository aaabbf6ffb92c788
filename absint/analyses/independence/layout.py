"""Operators that move elements: each says where the rows are afterwards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from absint.analyses.independence.claims import COUNTED, SHARED, Along, Growth, Shift, is_steady, united
from absint.analyses.independence.seen import Found, Rule, Seen, quotient
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, const, expr_of, product
from absint.lattices.terms.normal import sole_atom


def along_last(shift: Shift, before: Shape, after: Shape) -> Shift:
    """A shift after elements moved; one number for each place of the last axis needs an axis of the same size."""
    if shift is None or len(shift) == 1:
        return shift
    is_same = after.rank and before.rank and after[-1] is before[-1] and isinstance(after[-1], Expr)
    return shift if is_same else None


def reshaped(seen: Seen) -> Iterator[Along]:
    """Elements keep their order: rows are blocks of it, before and after."""
    before, after = seen.shape(0), seen.output()
    if before.rank is None or after.rank is None:
        return
    for claim in seen.along(0):
        if claim.is_owned:
            yield from _kept_whole(seen, claim, before, after)
            continue
        outer = product([*before.dims[: claim.axis], claim.outer])
        inner = product([claim.inner, *before.dims[claim.axis + 1 :]])
        for axis in range(after.rank):
            found = _within(seen, claim, after, axis, outer, inner)
            if found is not None:
                yield found


def _kept_whole(seen: Seen, claim: Along, before: Shape, after: Shape) -> Iterator[Along]:
    """The axis has as many places as before, with equally many elements before and behind it."""
    for axis, dim in enumerate(after):
        if isinstance(dim, Expr) and dim is before[claim.axis]:
            sides = [[shape.dims[:at], shape.dims[at + 1 :]] for shape, at in ((before, claim.axis), (after, axis))]
            counts = [(product(one), product(two)) for one, two in zip(*sides, strict=True)]
            is_like = all(one is two and isinstance(one, Expr) for one, two in counts)
            if is_like and seen.is_kept([*sides[1][0], *sides[1][1]], claim):
                yield claim.uniform._replace(axis=axis)


def _within(seen: Seen, claim: Along, after: Shape, axis: int, outer: Dim, inner: Dim) -> Along | None:
    """Rows along an axis of the new shape, of which there are so many elements outside and inside."""
    each = seen.sizes.per_row(after[axis])
    if each is None:
        return None
    # There are as many elements as before, so one of the two sides is enough: the other is equal, or all are empty.
    rest = quotient(outer, product(after.dims[:axis]))
    kept = None if rest is None else quotient(each, rest)
    if kept is None:
        kept = quotient(inner, product(after.dims[axis + 1 :]))
        rest = None if kept is None else quotient(each, kept)
    others = [dim for at, dim in enumerate(after) if at != axis]
    if rest is None or kept is None:
        return None
    is_kept = seen.is_kept([*others, rest, kept], claim)
    if is_kept is False:
        return None
    shift = along_last(claim.shift, seen.shape(0), after) if is_kept else None
    return Along(axis, rest, kept, shift)


def renumbered(seen: Seen, places: Sequence[int | None]) -> Iterator[Along]:
    """Axes of the first input in a new order: for each axis of the output the one that it was."""
    rank = seen.rank(0)
    for axis, place in enumerate(places):
        for claim in seen.along(0, place) if place is not None else ():
            assert rank is not None
            is_kept = {*places[-2:]} == {rank - 1, rank - 2} if place == rank - 1 else places[-1] == rank - 1
            yield (claim if is_kept else claim.uniform)._replace(axis=axis)


def transposed(seen: Seen) -> Iterable[Along]:
    every = list(range(seen.rank(0) or 0))
    order = seen.listed("perm") or every[::-1]
    return renumbered(seen, order) if sorted(order) == every else ()


def _axes(seen: Seen, rank: int) -> list[int] | None:
    found = seen.listed("axes") if seen.version < 13 else seen.integers(1)
    return None if found is None or any(not -rank <= axis < rank for axis in found) else [a % rank for a in found]


def squeezed(seen: Seen) -> Iterator[Along]:
    before, after = seen.rank(0), seen.output().rank
    axes = None if before is None else _axes(seen, before)
    if before is None or axes is None or after != before - len({*axes}):
        return reshaped(seen)
    return renumbered(seen, [at for at in range(before) if at not in axes])


def unsqueezed(seen: Seen) -> Iterator[Along]:
    before, after = seen.rank(0), seen.output().rank
    axes = None if after is None else _axes(seen, after)
    if before is None or after is None or axes is None or after != before + len({*axes}):
        return reshaped(seen)
    kept = iter(range(before))
    return renumbered(seen, [None if at in axes else next(kept) for at in range(after)])


# Parts and stacks


def blocks(seen: Seen, claim: Along, start: Dim, length: Dim) -> Along | None:
    """The part of an axis from a place on, if it is made of whole blocks of all rows."""
    block = product([expr_of(seen.sizes.rows), claim.inner])
    first, count = quotient(start, block) if start is not ZERO_EXPR else ZERO_EXPR, quotient(length, block)
    if first is None or count is None or not seen.is_kept([first, count], claim):
        return None
    return claim._replace(outer=count)


def sliced(seen: Seen) -> Iterator[Along]:
    before, after = seen.shape(0), seen.output()
    cut = _cuts(seen, before.rank)
    if before.rank is None or after.rank != before.rank or cut is None:
        return
    values = [seen.claims(index) for index in range(1, len(seen.inputs))]
    for claim in seen.along(0):
        start, step = cut.get(claim.axis, (ZERO_EXPR, 1))
        found: Along | None = None
        dim = after[claim.axis]
        if claim.axis not in cut or (step == 1 and isinstance(dim, Expr) and dim is before[claim.axis]):
            found = claim
        elif step == 1 and start is not None and start.bounds.lo is not None and start.bounds.lo >= 0:
            found = blocks(seen, claim, start, after[claim.axis])
        if found is None:
            continue
        others = [(cut[at], after[at]) for at in cut if at != claim.axis]
        is_fixed = all(SHARED in one for one in values) or all(
            from_ is not None and by is not None and seen.sizes.is_fixed(from_) and seen.is_kept([size], claim)
            for (from_, by), size in others
        )
        if is_fixed or all(COUNTED in one for one in values):
            for at, (from_, _) in cut.items():
                is_one = after[at] is ONE_EXPR and from_ is not None
                found = found.cut(before.rank, at, from_.const if is_one and from_ is not None else None)
            yield found if is_fixed else found._replace(shift=None)


def _cuts(seen: Seen, rank: int | None) -> dict[int, tuple[Expr | None, int | None]] | None:
    """The axes that a Slice cuts, with starts and steps; None for those that are not known."""
    starts: Sequence[Expr | int | None] | None
    axes: Sequence[int] | None
    steps: Sequence[int | None] | None
    if seen.version < 10:
        starts = seen.listed("starts")
        axes = seen.listed("axes") or (None if starts is None else list(range(len(starts))))
        steps = None if starts is None else [1] * len(starts)
    else:
        size = seen.shape(1)[0] if seen.rank(1) == 1 else None
        count = size.const if isinstance(size, Expr) else None
        axes = seen.integers(3) if seen.has(3) else None if count is None else list(range(count))
        starts = seen.elements(1) or [None] * (count or 0)
        steps = (seen.integers(4) or [None] * (count or 0)) if seen.has(4) else [1] * (count or 0)
    if rank is None or starts is None or axes is None or steps is None or len(starts) != len(axes):
        return None
    if len(steps) != len(axes) or any(not -rank <= axis < rank for axis in axes):
        return None
    numbers = [const(start) if isinstance(start, int) else start for start in starts]
    return {axis % rank: cut for axis, *cut in zip(axes, numbers, steps, strict=True)}  # type: ignore[misc]


def split(seen: Seen) -> Mapping[int, Iterable[Along]]:
    axis = seen.axis_of(0, seen.attribute("axis", 0))
    if axis is None:
        return {}
    found: dict[int, list[Along]] = {at: [] for at in range(len(seen.outputs))}
    start: Dim = ZERO_EXPR
    for at in found:
        shape = seen.output(at)
        for claim in seen.along(0) if shape.rank is not None else ():
            if claim.axis != axis:
                place = start.const if shape[axis] is ONE_EXPR and isinstance(start, Expr) else None
                kept = seen.pointwise(claim.axis, [claim.axis, None], first_alone)
                found[at] += [one.cut(shape.rank or 0, axis, place) for one in kept]
            else:
                part = blocks(seen, claim, start, shape[axis])
                found[at] += [part.uniform] if part is not None else []
        start = start + shape[axis] if shape.rank is not None else start + Dim(None)
    return found


def first_alone(shifts: Sequence[Shift]) -> Shift:
    return shifts[0] if all(map(is_steady, shifts[1:])) else None


def concatenated(seen: Seen) -> Iterator[Along]:
    """Inputs side by side along an axis."""
    count, rank = len(seen.inputs), seen.rank(0)
    axis = seen.axis_of(0, seen.attribute("axis", 1 if seen.version < 4 else 0))
    if rank is None or axis is None:
        return
    for at in range(rank):
        if at != axis:
            beside = partial(_side_by_side, seen, is_last=axis == rank - 1)
            yield from seen.pointwise(at, [at] * count, beside, strict=True)
    for first in seen.along(0, axis):
        parts = [next((c for c in seen.along(k, axis) if c.inner is first.inner), None) for k in range(count)]
        outer: Dim = ZERO_EXPR
        for part in parts:
            outer = Dim(None) if part is None else outer + part.outer
        if isinstance(outer, Expr) and _is_even(seen, axis):
            shifts = {part.shift for part in parts if part is not None}
            yield first._replace(outer=outer, shift=first.shift if len(shifts) == 1 else None)


def _is_even(seen: Seen, axis: int) -> bool:
    """All parts have the same other sizes. onnxruntime takes one without elements that has not, and leaves its place in
    the output unwritten."""
    others = [[dim for at, dim in enumerate(seen.shape(k)) if at != axis] for k in range(len(seen.inputs))]
    return all(one == others[0] for one in others) and all(isinstance(dim, Expr) for dim in others[0])


def _side_by_side(seen: Seen, shifts: Sequence[Shift], is_last: bool) -> Shift:
    """The shift of parts joined along an axis; if it is the last, each part has numbers of its own."""
    if all(shift == shifts[0] for shift in shifts) and (shifts[0] is None or len(shifts[0]) == 1):
        return shifts[0]
    listed: list[Growth] = []
    for index, shift in enumerate(shifts):
        shape = seen.shape(index)
        size = shape[-1] if shape.rank else None
        count = size.const if isinstance(size, Expr) else None
        if shift is None or not is_last or count is None or count > 64:
            return None
        listed += shift * count if len(shift) == 1 else shift
    return united(listed)


def tiled(seen: Seen) -> Iterator[Along]:
    before, after, repeats = seen.shape(0), seen.output(), seen.elements(1)
    if before.rank is None or repeats is None or len(repeats) != before.rank or after.rank != before.rank:
        return
    for claim in seen.along(0):
        others = [count for at, count in enumerate(repeats) if at != claim.axis]
        is_kept = seen.is_kept([*others, repeats[claim.axis]], claim)
        outer = product([repeats[claim.axis], claim.outer])
        if is_kept is not False and isinstance(outer, Expr) and seen.sizes.rows not in outer.symbols:
            yield claim._replace(outer=outer, shift=claim.uniform.shift if is_kept else None)
    yield from _repeated(seen, before, after)


def _repeated(seen: Seen, before: Shape, after: Shape) -> Iterator[Along]:
    """Copies of something that is the same for all rows, as many as there are rows."""
    if SHARED not in seen.claims(0) or before.rank is None or after.rank is None:
        return
    missing = after.rank - before.rank
    for axis, dim in enumerate(after):
        each = seen.sizes.per_row(dim)
        if each is None or not all(map(seen.sizes.is_fixed, [d for at, d in enumerate(after) if at != axis])):
            continue
        if not seen.sizes.is_fixed(each):
            continue
        old = before[axis - missing] if axis >= missing else ONE_EXPR
        rest = quotient(each, old)
        if rest is not None and isinstance(old, Expr):
            yield Along(axis, ONE_EXPR, each)
            yield Along(axis, rest, old)


def expanded(seen: Seen) -> Iterator[Along]:
    before, after = seen.shape(0), seen.output()
    if before.rank is None or after.rank is None:
        return
    missing = after.rank - before.rank
    for claim in seen.along(0):
        axis = claim.axis + missing
        is_same = isinstance(after[axis], Expr) and after[axis] is before[claim.axis]
        if not is_same and not (claim.is_owned and _is_beside_one(seen, after[axis], before[claim.axis])):
            continue
        is_kept = seen.is_kept([dim for at, dim in enumerate(after) if at != axis], claim)
        if is_kept is not False:
            shift = along_last(claim.shift, before, after) if is_kept else None
            yield claim._replace(axis=axis, shift=shift)
    if all(dim is ONE_EXPR or dim is after[missing + at] for at, dim in enumerate(before)):
        copies = ((c, c.axis - missing) for c in _repeated(seen, before, after))
        yield from (c for c, at in copies if at < 0 or before[at] is ONE_EXPR)


def _is_beside_one(seen: Seen, after: Dim, before: Dim) -> bool:
    """The size is broadcast with 1, or with a 0 that is 0 for one row too."""
    beside = [one for one in _pair(after, "broadcast") if one is not before]
    cut = [one for one in _pair(beside[0], "min") if one is not ONE_EXPR] if len(beside) == 1 else []
    each = seen.sizes.per_row(cut[0]) if len(cut) == 1 else None
    return each is not None and seen.sizes.is_fixed(each)


def _pair(dim: Dim, operator: str) -> list[Expr]:
    """Both operands of a size that is nothing but this operator of two."""
    atom = sole_atom(dim) if isinstance(dim, Expr) else None
    found = [one for one in atom.args if isinstance(one, Expr)] if atom is not None and atom.op == operator else []
    return found if len(found) == 2 else []


def padded(seen: Seen) -> Found:
    rank = seen.rank(0)
    pads = seen.listed("pads") if seen.version < 11 else seen.elements(1)
    axes = seen.integers(3) if seen.has(3) else list(range(rank or 0))
    if rank is None or pads is None or axes is None or len(pads) != 2 * len(axes):
        return ()
    return seen.each({axis % rank for at, axis in enumerate(axes) if not pads[at] == 0 == pads[at + len(axes)]})


LAYOUT: Final[Mapping[str, Rule]] = {
    "Reshape": reshaped, "Flatten": reshaped, "Transpose": transposed, "Squeeze": squeezed, "Unsqueeze": unsqueezed,
    "Slice": sliced, "Split": split, "Concat": concatenated, "Tile": tiled, "Expand": expanded, "Pad": padded,
}  # fmt: skip
