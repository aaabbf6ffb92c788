"""Gather and Scatter: elements and slices at indices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as product_of
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Contents, Element, is_small, join_elements
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation, conjunction, disjunction, divisible, eq, ge
from absint.lattices.ramp import Ramp
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import dims_of_rank, spliced, with_size
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, product
from absint.lattices.value import Tensor
from absint.transfer import indexing
from absint.transfer.elements import arithmetic
from absint.transfer.elements.folding import elements_of, fill_of
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("Gather", "data indices -> Y", complete=True, elements=True, starred=True)
def gather(op: Op) -> Tensor:
    """numpy.take: data.shape[:axis] + indices.shape + data.shape[axis+1:]."""
    data, indices = op.tensor("data"), op.tensor("indices")
    at = op.place(data.shape, op.integer("axis", 0))
    if at is None or (data.shape.is_top and indices.shape.is_top):
        op.may_fail(indexing.IN_RANGE)
        return Tensor(data.dtype, TOP_SHAPE, fill_of(data))
    indexing.require_in_range(op, indices, data.shape.known[at])
    if indices.shape.is_top:
        shape = spliced(data.shape[:at], indices.shape, data.shape[at + 1 :])
    else:
        shape = with_size(data.shape, at, *indices.shape.dims)
    return Tensor(data.dtype, shape, fill_of(data) or _gathered(op, shape, at))


def _gathered(op: Op, shape: Shape, axis: int) -> Contents | None:
    """The elements of numpy.take, if those of the data are known."""
    sizes, x, known = shape.concrete, op.tensor("data"), op.tensor("indices").contents
    if x.contents is None or sizes is None:
        return None
    if len(x.shape) == 1 and not x.contents.is_fill and known is not None and not known.is_fill:
        return Contents.of(sizes, [indexing.choose(x.contents.elements, index) for index in known.elements])
    data, indices = op.block("data"), elements_of(op.tensor("indices"))
    if data is None or indices is None or not is_small(sizes):
        return None
    rows = data.lanes(axis)
    return Contents.of(
        sizes, [indexing.choose(lane, index) for row in rows for index in indices.elements for lane in row]
    )


@rule("GatherElements", "data indices -> Y", complete=True, elements=True, starred=True)
def gather_elements(op: Op) -> Tensor:
    """numpy.take_along_axis; the result has the shape of the indices, which the data must cover on every other axis."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    shape, axis = _same_rank(op, data, indices)
    if axis is None:
        op.may_fail(indexing.IN_RANGE)
        return Tensor(dtype, shape, fill_of(data))
    indexing.require_cover(op, data.shape, indices.shape, axis)
    indexing.require_in_range(op, indices, data.shape[axis])
    return Tensor(dtype, shape, fill_of(data) or _gathered_elements(op, axis))


def _same_rank(op: Op, data: Tensor, indices: Tensor) -> tuple[Shape, int | None]:
    """The shape of the indices (its rank from the data if needed), and the axis if both ranks are known."""
    ranks = [s.rank for s in (data.shape, indices.shape) if s.rank is not None]
    if not ranks:
        return indices.shape, None
    axis = op.axis(op.integer("axis", 0), ranks[0])
    if len(ranks) == 2:
        op.require_rank(indices.shape, ranks[0], "indices")
        return indices.shape, axis
    if not indices.shape.is_top:
        return indices.shape, None
    dims = dims_of_rank(indices.shape, ranks[0])
    if dims is None:
        op.reject(f"indices must have rank {ranks[0]}, found shape {indices.shape}")
    return shape_of(dims), None


def _gathered_elements(op: Op, axis: int) -> Contents | None:
    data, indices = op.block("data"), op.block("indices")
    if data is None or indices is None:
        return None
    return Contents.of(indices.shape, [indexing.choose(data.lane(at, axis), indices[at]) for at in indices.places()])


@rule("GatherND", "data indices -> Y", complete=True, elements=True)
def gather_nd(op: Op) -> Tensor:
    """Slices of the data at index tuples of length k: indices.shape[:-1] + data.shape[batch_dims+k:]."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    batch = op.integer("batch_dims", 0)
    indexed = indexing.tuple_length(op, data, indices, batch)
    if indexed is None:
        op.may_fail(indexing.IN_RANGE)
        return Tensor(dtype, contents=fill_of(data))
    shape = shape_of((*indices.shape[:-1], *data.shape[batch + indexed :]))
    _require_batch(op, data.shape, indices.shape, batch, shape)
    known = op.block("indices")
    reaches = _tuple_reaches(data.shape[batch : batch + indexed], indices)
    if known is None and reaches and UNKNOWN_RELATION not in reaches:
        nothing = eq(product((*indices.shape[:-1], *data.shape[batch + indexed :])), 0)
        for relation in reaches:
            op.require(nothing | relation, indexing.IN_RANGE)
    elif known is None:
        for axis in range(batch, batch + indexed):
            _require_nonempty(op, indices, data.shape[axis], product((*data.shape[batch + indexed :],)))
        if indexed and indices.shape.size is not ZERO_EXPR:
            inside = [indexing.within_axis(op, extent) for extent in data.shape[batch : batch + indexed]]
            op.may_fail(indexing.IN_RANGE, unless=conjunction(*inside))
    else:
        indexing.require_tuples(op, known, data.shape[batch:], eq(product(data.shape[batch + indexed :]), 0))
    return Tensor(dtype, shape, fill_of(data) or (_gathered_tuples(op) if batch == 0 else None))


def _tuple_reaches(extents: Sequence[Dim], indices: Tensor) -> list[Relation]:
    """For each indexed axis, the condition that the indices lie within it, if they grow along axes."""
    ramps, sizes = indices.ramps, indices.shape[:-1]
    if len(ramps) == 1 and len(extents) == 1:
        ramps = (Ramp(ramps[0].base, ramps[0].steps[:-1]),)
    if len(ramps) != len(extents):
        return []
    return [indexing.reach(ramp, sizes, extent) for ramp, extent in zip(ramps, extents, strict=True)]


def _require_batch(op: Op, data: Shape, indices: Shape, batch: int, result: Shape) -> None:
    """Require batches that agree. onnxruntime needs a number of tuples that is a multiple of the batch of the data,
    and accepts anything if the result is empty."""
    mine, theirs = product(data[:batch]), product(indices[:-1])
    if mine is product(indices[:batch]) and isinstance(mine, Expr):
        return
    fits = ge(mine, 1) if mine is ZERO_EXPR else ge(mine, 1) & divisible(theirs, mine)
    op.require(eq(result.size, 0) | fits, "the batch dims of indices must fit those of data")


def _require_nonempty(op: Op, indices: Tensor, extent: Dim, slice_size: Dim) -> None:
    """An index into an empty axis fails, unless there is nothing to copy."""
    relation = disjunction(eq(product(indices.shape[:-1]), 0), ge(extent, 1), eq(slice_size, 0))
    if relation is not UNKNOWN_RELATION:
        op.require(relation, "an indexed axis must not be empty")


def _gathered_tuples(op: Op) -> Contents | None:
    data, indices = op.block("data"), op.block("indices")
    if data is None or indices is None:
        return None
    found = indexing.positions_of(indices, data.shape)
    rest = data.shape[indices.shape[-1] :]
    if found is None or not is_small((*indices.shape[:-1], *rest)):
        return None
    places = list(product_of(*map(range, rest)))
    elements = [data[*position, *place] for position in found for place in places]
    return Contents.of((*indices.shape[:-1], *rest), elements)


@rule("ScatterElements Scatter", "data indices updates -> Y", complete=True, elements=True, starred=True)
def scatter_elements(op: Op) -> Tensor:
    """The data with updates written along an axis; indices and updates share one shape."""
    data, indices, updates = op.tensor("data"), op.tensor("indices"), op.tensor("updates")
    dtype = op.common_dtype("data", "updates")
    ranks = [t.shape.rank for t in (data, indices, updates) if t.shape.rank is not None]
    if ranks:
        axis = op.axis(op.integer("axis", 0), ranks[0])
        for tensor, name in ((indices, "indices"), (updates, "updates")):
            op.require_rank(tensor.shape, ranks[0], name)
    if not (indices.shape.is_top or updates.shape.is_top):
        for at, (a, b) in enumerate(zip(indices.shape, updates.shape, strict=True)):
            op.require_equal(a, b, f"indices and updates must agree on axis {at}")
    if data.shape.is_top:
        op.may_fail(indexing.IN_RANGE)
        return Tensor(dtype, Shape([None] * ranks[0]) if ranks else data.shape)
    if indices.shape.is_top or updates.shape.is_top:
        op.may_fail(indexing.IN_RANGE)
        return Tensor(dtype, data.shape)
    indexing.require_cover(op, data.shape, indices.shape, axis)
    indexing.require_in_range(op, indices, data.shape[axis])
    return Tensor(dtype, data.shape, _scattered(op, axis))


def _scattered(op: Op, axis: int) -> Contents | None:
    data, indices, updates = op.block("data"), op.block("indices"), op.block("updates")
    if data is None or indices is None or updates is None or indices.shape != updates.shape:
        return None
    extent = data.shape[axis]
    writes: list[tuple[tuple[int, ...], Element]] = []
    for at in indices.places():
        index = indexing.constant_of(indices[at])
        if index is None or not -extent <= index < extent:
            return None
        writes.append(((*at[:axis], index % extent, *at[axis + 1 :]), updates[at]))
    return _written(op, data, writes)


def _written(op: Op, data: Block[Element], writes: Sequence[tuple[tuple[int, ...], Element]]) -> Contents | None:
    """The data after the writes; without a reduction, two writes to one place happen in either order."""
    reduction, dtype = op.string("reduction", "none"), op.common_dtype("data", "updates")
    combine = _REDUCTIONS.get(reduction) if dtype.is_integer else None
    written: dict[tuple[int, ...], Element] = {}
    for position, update in writes:
        if reduction == "none":
            written[position] = join_elements(written[position], update) if position in written else update
        else:
            old = written[position] if position in written else data[position]
            written[position] = OPAQUE if combine is None else combine(op, dtype, old, update)
    return Contents.from_block(data.with_elements(written))


_REDUCTIONS: Final = {
    "add": arithmetic.add,
    "mul": arithmetic.mul,
    "max": arithmetic.maximum,
    "min": arithmetic.minimum,
}


@rule("ScatterND", "data indices updates -> Y", complete=True, elements=True, starred=True)
def scatter_nd(op: Op) -> Tensor:
    """The data with slices written at index tuples; updates: indices.shape[:-1] + data.shape[k:]."""
    data, indices, updates = op.tensor("data"), op.tensor("indices"), op.tensor("updates")
    dtype = op.common_dtype("data", "updates")
    op.reject("data must have rank 1 or more, found a scalar", unless=data.shape.rank != 0)
    indexed = indexing.tuple_length(op, data, indices)
    if indexed is None and not (data.shape.is_top or indices.shape.is_top or updates.shape.is_top):
        # The ranks leave one length of an index tuple.
        indexed = len(indices.shape) - 1 + len(data.shape) - len(updates.shape)
        reason = f"an index tuple must leave slices of the rank that updates have, {len(updates.shape)}"
        op.reject(reason, unless=0 <= indexed <= len(data.shape))
        op.require(eq(indices.shape[-1], indexed), reason)
    if indexed is None:
        op.may_fail(indexing.IN_RANGE)
        return Tensor(dtype, data.shape)
    expected = (*indices.shape[:-1], *data.shape[indexed:])
    op.require_rank(updates.shape, len(expected), "updates")
    if updates.shape.is_top:
        op.may_fail("updates must have the shape of the slices")
    else:
        for axis, (a, b) in enumerate(zip(updates.shape, expected, strict=True)):
            op.require_equal(a, b, f"updates must have the shape of the slices on axis {axis}")
    known = op.block("indices")
    if known is not None:
        indexing.require_tuples(op, known, data.shape.dims)
    elif indexed and indices.shape.size is not ZERO_EXPR:
        for extent in dict.fromkeys(data.shape[:indexed]):
            relation = eq(indices.shape.size, 0) | ge(extent, 1)
            if relation is not UNKNOWN_RELATION:
                op.require(relation, "an indexed axis must not be empty")
        op.may_fail(
            indexing.IN_RANGE,
            unless=conjunction(*(indexing.within_axis(op, extent) for extent in data.shape[:indexed])),
        )
    return Tensor(dtype, data.shape, _scattered_tuples(op, known))


def _scattered_tuples(op: Op, indices: Block[Element] | None) -> Contents | None:
    data, updates = op.block("data"), op.block("updates")
    if data is None or indices is None or updates is None:
        return None
    found = indexing.positions_of(indices, data.shape)
    if found is None:
        return None
    rest = data.shape[indices.shape[-1] :]
    places = [(*position, *place) for position in found for place in product_of(*map(range, rest))]
    return _written(op, data, list(zip(places, updates.elements, strict=True)))
