"""Reading and writing elements by index: the Gather and Scatter operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final, cast

import numpy as np

from absint.lattices.contents import OPAQUE, Contents, Element, ObjectArray, is_small, join_elements
from absint.lattices.logic.relation import (
    FALSE,
    TRUE,
    UNKNOWN_RELATION,
    Relation,
    conjunction,
    disjunction,
    divisible,
    eq,
    ge,
    ite,
    lt,
)
from absint.lattices.logic.truth import YES
from absint.lattices.ramp import Ramp, ends
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, product
from absint.lattices.terms.intern import remembered
from absint.lattices.value import Tensor
from absint.transfer.elements import arithmetic
from absint.transfer.op import Op
from absint.transfer.rule import rule

_MAX_CASES: Final = 4
"""An element at a symbolic index is a choice of at most this many, else what they have in common."""

_MAX_SYMBOLIC: Final = 64
"""More symbolic indices than this state no range each."""


# Gather


@rule("Gather", inputs="data indices", complete=True, elements=True)
def gather(op: Op) -> Tensor:
    """numpy.take: data.shape[:axis] + indices.shape + data.shape[axis+1:]."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    if data.shape.is_top:
        op.may_fail("every index lies inside the axis")
        return Tensor(dtype, contents=_fill_only(data))
    axis = op.axis(op.integer("axis", 0), len(data.shape))
    require_in_range(op, indices, data.shape[axis])
    if indices.shape.is_top:
        return Tensor(dtype, contents=_fill_only(data))
    shape = shape_of((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]))
    return Tensor(dtype, shape, _fill_only(data) or _gathered(op, shape, axis))


def _fill_only(data: Tensor) -> Contents | None:
    """The contents if all elements are alike: they survive any selection."""
    return data.contents if data.contents is not None and data.contents.is_fill else None


def _gathered(op: Op, shape: Shape, axis: int) -> Contents | None:
    """The elements of numpy.take, where those of the data are known."""
    sizes, x, known = shape.concrete, op.tensor("data"), op.tensor("indices").contents
    if x.contents is None or sizes is None:
        return None
    if len(x.shape) == 1 and not x.contents.is_fill and known is not None and not known.is_fill:
        return Contents.of(sizes, [choose(x.contents.elements, index) for index in known.elements])
    data, indices = op.elements("data"), _index_elements(op, "indices")
    if data is None or indices is None or not is_small(sizes):
        return None
    lanes = np.moveaxis(data, axis, -1)
    picked = np.empty((*lanes.shape[:-1], len(indices)), dtype=object)
    for at in np.ndindex(lanes.shape[:-1]):
        lane = lanes[at].tolist()
        for position, index in enumerate(indices):
            picked[(*at, position)] = choose(lane, index)
    at_axis = np.moveaxis(picked, -1, axis)
    return Contents.from_array(at_axis.reshape(sizes))


def _index_elements(op: Op, name: str) -> list[Element] | None:
    """The indices in row-major order, unknown ones included; None if their number is unknown or too large."""
    found = op.elements(name)
    if found is not None:
        return cast("list[Element]", found.ravel().tolist())
    sizes = op.tensor(name).shape.concrete
    return [OPAQUE] * prod(sizes) if sizes is not None and is_small(sizes) else None


def choose(lane: Sequence[Element], index: Element) -> Element:
    """The element of the lane at an index, negative or symbolic too; at an unknown one what the candidates share."""
    extent = len(lane)
    constant = _constant(index)
    if constant is not None:
        return lane[constant] if -extent <= constant < extent else OPAQUE
    bounds = index.bounds if isinstance(index, Dim) else None
    candidates = [i for i in range(extent) if bounds is None or i in bounds or i - extent in bounds]
    if not candidates:
        return OPAQUE
    result = lane[candidates[-1]]
    if isinstance(index, Expr) and len(candidates) <= _MAX_CASES and all(isinstance(lane[i], Dim) for i in candidates):
        for i in reversed(candidates[:-1]):
            here = disjunction(eq(index, i), eq(index, i - extent))
            result = ite(here, cast(Dim, lane[i]), cast(Dim, result))
        return result
    for i in candidates[:-1]:
        result = join_elements(result, lane[i])
    return result


def _constant(element: Element) -> int | None:
    return element.const if isinstance(element, Expr) else None


def require_in_range(op: Op, indices: Tensor, extent: Dim) -> None:
    """Every index lies in [-extent, extent): stated for known indices, else left to the data."""
    count = indices.shape.size
    if count is ZERO_EXPR:
        return
    reach = _reach(indices.ramps[0], indices.shape, extent) if len(indices.ramps) == 1 else UNKNOWN_RELATION
    if reach is not UNKNOWN_RELATION:
        op.require(disjunction(eq(count, 0), reach), _IN_RANGE)
        return
    known = indices.contents
    elements = dict.fromkeys(known.elements) if known is not None else {OPAQUE: None}
    always = op.decide(ge(count, 1)) is YES
    constants = [c for e in elements if (c := _constant(e)) is not None]
    symbolic = [e for e in elements if isinstance(e, Expr) and e.const is None]
    relations = [_inside(i, extent) for i in sorted({min(constants), max(constants)} if constants else ())]
    relations += [_inside(e, extent) for e in symbolic[:_MAX_SYMBOLIC]]
    if len(constants) + min(len(symbolic), _MAX_SYMBOLIC) < len(elements):
        op.may_fail("every index lies inside the axis")
        relations = [r for r in (*relations, ge(extent, 1)) if r is not UNKNOWN_RELATION]
    for relation in relations:
        stated = relation if always else disjunction(eq(count, 0), relation)
        op.require(stated, f"every index lies inside the axis of size {extent}" if stated is FALSE else _IN_RANGE)


_IN_RANGE: Final = "every index lies inside the axis"


@remembered
def _inside(index: Dim | int, extent: Dim) -> Relation:
    """-extent <= index < extent."""
    return conjunction(ge(index, -extent), lt(index, extent))


def _reach(indices: Ramp, sizes: Iterable[Dim], extent: Dim) -> Relation:
    """The least and the greatest of indices that grow along the axes lie inside the axis; unknown if they are."""
    found = ends(indices, sizes)
    return UNKNOWN_RELATION if found is None else conjunction(ge(found[0], -extent), lt(found[1], extent))


@rule("GatherElements", inputs="data indices", complete=True, elements=True)
def gather_elements(op: Op) -> Tensor:
    """numpy.take_along_axis; the result has the shape of the indices, which the data must cover on every other axis."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    shape, axis = _same_rank(op, data, indices)
    if axis is None:
        op.may_fail(_IN_RANGE)
        return Tensor(dtype, shape, _fill_only(data))
    _cover(op, data.shape, indices.shape, axis)
    require_in_range(op, indices, data.shape[axis])
    return Tensor(dtype, shape, _fill_only(data) or _gathered_elements(op, axis))


def _same_rank(op: Op, data: Tensor, indices: Tensor) -> tuple[Shape, int | None]:
    """The shape of the indices (its rank from the data if need be), and the axis where both ranks are known."""
    ranks = [s.rank for s in (data.shape, indices.shape) if s.rank is not None]
    if not ranks:
        return indices.shape, None
    axis = op.axis(op.integer("axis", 0), ranks[0])
    if len(ranks) == 2:
        op.require_rank(indices.shape, ranks[0], "indices")
        return indices.shape, axis
    return (Shape([None] * ranks[0]) if indices.shape.is_top else indices.shape), None


def _cover(op: Op, data: Shape, indices: Shape, axis: int) -> None:
    for other, (size, extent) in enumerate(zip(indices, data, strict=True)):
        if other != axis:
            op.require(ge(extent, size), f"indices do not exceed the data on axis {other}")


def _gathered_elements(op: Op, axis: int) -> Contents | None:
    data, indices = op.elements("data"), op.elements("indices")
    if data is None or indices is None:
        return None
    result = np.empty(indices.shape, dtype=object)
    for at in np.ndindex(indices.shape):
        lane = data[(*at[:axis], slice(None), *at[axis + 1 :])]
        result[at] = choose(lane.tolist(), cast(Element, indices[at]))
    return Contents.from_array(result)


@rule("GatherND", inputs="data indices", complete=True, elements=True)
def gather_nd(op: Op) -> Tensor:
    """Slices of the data at index tuples of length k: indices.shape[:-1] + data.shape[batch_dims+k:]."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    batch = op.integer("batch_dims", 0)
    indexed = _tuple_length(op, data, indices, batch)
    if indexed is None:
        op.may_fail(_IN_RANGE)
        return Tensor(dtype, contents=_fill_only(data))
    shape = shape_of((*indices.shape[:-1], *data.shape[batch + indexed :]))
    _require_batch(op, data.shape, indices.shape, batch, shape)
    known = op.elements("indices")
    reaches = _tuple_reaches(data.shape[batch : batch + indexed], indices)
    if known is None and reaches and UNKNOWN_RELATION not in reaches:
        nothing = eq(product((*indices.shape[:-1], *data.shape[batch + indexed :])), 0)
        for relation in reaches:
            op.require(disjunction(nothing, relation), _IN_RANGE)
    elif known is None:
        for axis in range(batch, batch + indexed):
            _require_nonempty(op, indices, data.shape[axis], product((*data.shape[batch + indexed :],)))
        if indexed and indices.shape.size is not ZERO_EXPR:
            op.may_fail(_IN_RANGE)
    else:
        _require_tuples(op, known, data.shape[batch:], op.decide(ge(product(data.shape[batch + indexed :]), 1)) is YES)
    return Tensor(dtype, shape, _fill_only(data) or (_gathered_tuples(op) if batch == 0 else None))


def _tuple_reaches(extents: Sequence[Dim], indices: Tensor) -> list[Relation]:
    """For each axis that is indexed where the indices lie inside it, if they grow along axes."""
    ramps, sizes = indices.ramps, indices.shape[:-1]
    if len(ramps) == 1 and len(extents) == 1:
        ramps = (Ramp(ramps[0].base, ramps[0].steps[:-1]),)
    return (
        [_reach(ramp, sizes, extent) for ramp, extent in zip(ramps, extents, strict=True)]
        if (len(ramps) == len(extents))
        else []
    )


def _tuple_length(op: Op, data: Tensor, indices: Tensor, batch: int = 0) -> int | None:
    """How many axes each index tuple of Gather/ScatterND names; None if a rank or the number is unknown."""
    if indices.shape.rank == 0:
        op.reject("indices is a scalar; index tuples need an axis")
    if indices.shape.is_top or data.shape.is_top:
        return None
    if batch < 0:
        op.may_fail(f"batch_dims is not negative, found {batch}")  # onnxruntime takes it where there are no indices
        return None
    if batch > len(data.shape):
        op.reject(f"batch_dims {batch} is not between 0 and the rank of data")
    if batch >= min(len(data.shape), len(indices.shape)):
        op.may_fail("batch_dims is below both ranks")  # onnxruntime asks for less
        if batch >= len(indices.shape):
            return None
    length = indices.shape[-1]
    op.require(ge(len(data.shape) - batch, length), "an index tuple is no longer than the rank of the data")
    return length.const if isinstance(length, Expr) else None


def _require_batch(op: Op, data: Shape, indices: Shape, batch: int, result: Shape) -> None:
    """The batches agree. onnxruntime looks at the number of tuples, which must be a multiple of the batch of the data,
    and takes anything where there is nothing to do."""
    mine, theirs = product(data[:batch]), product(indices[:-1])
    if mine is product(indices[:batch]) and isinstance(mine, Expr):
        return
    fits = conjunction(ge(mine, 1), divisible(theirs, mine)) if mine is not ZERO_EXPR else FALSE
    op.require(disjunction(eq(result.size, 0), fits), "the batch dims of indices fit those of data")


def _require_nonempty(op: Op, indices: Tensor, extent: Dim, slice_size: Dim) -> None:
    """Some index into an empty axis fails, unless there is nothing to copy."""
    relation = disjunction(eq(product(indices.shape[:-1]), 0), ge(extent, 1), eq(slice_size, 0))
    if relation is not UNKNOWN_RELATION:
        op.require(relation, "an axis that is indexed is not empty")


def _require_tuples(op: Op, indices: ObjectArray, extents: Sequence[Dim], copies: bool) -> None:
    """Each known index lies inside its axis; onnxruntime looks at none of them where a slice is empty."""
    for axis in range(indices.shape[-1]):
        for index in dict.fromkeys(indices[..., axis].ravel().tolist()):
            relation = _inside(index, extents[axis]) if isinstance(index, Expr) else UNKNOWN_RELATION
            if copies:
                op.require(relation, _IN_RANGE)
            elif relation is not TRUE:
                op.may_fail(_IN_RANGE)


def _gathered_tuples(op: Op) -> Contents | None:
    data, indices = op.elements("data"), op.elements("indices")
    if data is None or indices is None:
        return None
    found = _positions(indices, data.shape)
    rest = data.shape[indices.shape[-1] :]
    if found is None or not is_small((*indices.shape[:-1], *rest)):
        return None
    places = list(np.ndindex(rest))
    elements = [data[(*position, *place)] for position in found for place in places]
    return Contents.of((*indices.shape[:-1], *rest), elements)


def _positions(indices: ObjectArray, extents: Sequence[int]) -> list[tuple[int, ...]] | None:
    """The index tuples, counted from the front, if all are constants inside the data."""
    tuples = indices.reshape(prod(indices.shape[:-1]), indices.shape[-1])
    result = []
    for row in tuples:
        position = []
        for element, extent in zip(row.tolist(), extents, strict=False):
            index = _constant(element)
            if index is None or not -extent <= index < extent:
                return None
            position.append(index % extent)
        result.append(tuple(position))
    return result


# Scatter


@rule("ScatterElements Scatter", inputs="data indices updates", complete=True, elements=True)
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
            op.require_equal(a, b, f"indices and updates agree on axis {at}")
    if data.shape.is_top:
        op.may_fail(_IN_RANGE)
        return Tensor(dtype, Shape([None] * ranks[0]) if ranks else data.shape)
    if indices.shape.is_top or updates.shape.is_top:
        op.may_fail(_IN_RANGE)
        return Tensor(dtype, data.shape)
    _cover(op, data.shape, indices.shape, axis)
    require_in_range(op, indices, data.shape[axis])
    return Tensor(dtype, data.shape, _scattered(op, axis))


def _scattered(op: Op, axis: int) -> Contents | None:
    data, indices, updates = op.elements("data"), op.elements("indices"), op.elements("updates")
    if data is None or indices is None or updates is None or indices.shape != updates.shape:
        return None
    extent = data.shape[axis]
    writes: list[tuple[tuple[int, ...], Element]] = []
    for at in np.ndindex(indices.shape):
        index = _constant(cast(Element, indices[at]))
        if index is None or not -extent <= index < extent:
            return None
        writes.append(((*at[:axis], index % extent, *at[axis + 1 :]), cast(Element, updates[at])))
    return _written(op, data, writes)


def _written(op: Op, data: ObjectArray, writes: Sequence[tuple[tuple[int, ...], Element]]) -> Contents | None:
    """The data after the writes; without a reduction the order of two writes to one place is open."""
    reduction, dtype = op.string("reduction", "none"), op.common_dtype("data", "updates")
    combine = _REDUCTIONS.get(reduction) if dtype.is_integer else None
    result, written = data.copy(), set()
    for position, update in writes:
        old = cast(Element, result[position])
        if reduction == "none":
            result[position] = join_elements(old, update) if position in written else update
        else:
            result[position] = OPAQUE if combine is None else combine(op, dtype, old, update)
        written.add(position)
    return Contents.from_array(result)


_REDUCTIONS: Final = {
    "add": arithmetic.add,
    "mul": arithmetic.mul,
    "max": arithmetic.maximum,
    "min": arithmetic.minimum,
}


@rule("ScatterND", inputs="data indices updates", complete=True, elements=True)
def scatter_nd(op: Op) -> Tensor:
    """The data with slices written at index tuples; updates: indices.shape[:-1] + data.shape[k:]."""
    data, indices, updates = op.tensor("data"), op.tensor("indices"), op.tensor("updates")
    dtype = op.common_dtype("data", "updates")
    if data.shape.rank == 0:
        op.reject("data is a scalar; ScatterND needs rank 1 or more")
    indexed = _tuple_length(op, data, indices)
    if indexed is None:
        op.may_fail(_IN_RANGE)
        return Tensor(dtype, data.shape)
    expected = (*indices.shape[:-1], *data.shape[indexed:])
    op.require_rank(updates.shape, len(expected), "updates")
    for axis, (a, b) in enumerate(_zip(updates.shape, expected)):
        op.require_equal(a, b, f"updates have the shape of the slices on axis {axis}")
    if updates.shape.is_top:
        op.may_fail("updates have the shape of the slices")
    known = op.elements("indices")
    if known is not None:
        _require_tuples(op, known, data.shape.dims, True)
    elif indexed and indices.shape.size is not ZERO_EXPR:
        op.may_fail(_IN_RANGE)
    return Tensor(dtype, data.shape, _scattered_tuples(op, known))


def _zip(shape: Shape, dims: Sequence[Dim]) -> Iterator[tuple[Dim, Dim]]:
    return iter(()) if shape.is_top else zip(shape, dims, strict=True)


def _scattered_tuples(op: Op, indices: ObjectArray | None) -> Contents | None:
    data, updates = op.elements("data"), op.elements("updates")
    if data is None or indices is None or updates is None:
        return None
    found = _positions(indices, data.shape)
    if found is None:
        return None
    rest = data.shape[indices.shape[-1] :]
    slices = updates.reshape((len(found), *rest))
    places = list(np.ndindex(rest))
    return _written(op, data, [((*p, *r), slices[(i, *r)]) for i, p in enumerate(found) for r in places])


__all__ = ["choose", "gather", "gather_elements", "gather_nd", "require_in_range", "scatter_elements", "scatter_nd"]
