"""Writing elements by index: the Scatter operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Contents, Element, join_elements
from absint.lattices.logic.relation import UNKNOWN_RELATION, conjunction, disjunction, eq, ge
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ZERO_EXPR, Dim
from absint.lattices.value import Tensor
from absint.transfer.elements import arithmetic
from absint.transfer.indexing import (
    IN_RANGE,
    constant_of,
    positions_of,
    require_cover,
    require_in_range,
    require_tuples,
    tuple_length,
    within_axis,
)
from absint.transfer.op import Op
from absint.transfer.rule import rule


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
        op.may_fail(IN_RANGE)
        return Tensor(dtype, Shape([None] * ranks[0]) if ranks else data.shape)
    if indices.shape.is_top or updates.shape.is_top:
        op.may_fail(IN_RANGE)
        return Tensor(dtype, data.shape)
    require_cover(op, data.shape, indices.shape, axis)
    require_in_range(op, indices, data.shape[axis])
    return Tensor(dtype, data.shape, _scattered(op, axis))


def _scattered(op: Op, axis: int) -> Contents | None:
    data, indices, updates = op.block("data"), op.block("indices"), op.block("updates")
    if data is None or indices is None or updates is None or indices.shape != updates.shape:
        return None
    extent = data.shape[axis]
    writes: list[tuple[tuple[int, ...], Element]] = []
    for at in indices.places():
        index = constant_of(indices[at])
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
    if data.shape.rank == 0:
        op.reject("data must have rank 1 or more, found a scalar")
    indexed = tuple_length(op, data, indices)
    if indexed is None and not (data.shape.is_top or indices.shape.is_top or updates.shape.is_top):
        # The ranks leave one length of an index tuple.
        indexed = len(indices.shape) - 1 + len(data.shape) - len(updates.shape)
        reason = f"an index tuple must leave slices of the rank that updates have, {len(updates.shape)}"
        if not 0 <= indexed <= len(data.shape):
            op.reject(reason)
        op.require(eq(indices.shape[-1], indexed), reason)
    if indexed is None:
        op.may_fail(IN_RANGE)
        return Tensor(dtype, data.shape)
    expected = (*indices.shape[:-1], *data.shape[indexed:])
    op.require_rank(updates.shape, len(expected), "updates")
    for axis, (a, b) in enumerate(_zip(updates.shape, expected)):
        op.require_equal(a, b, f"updates must have the shape of the slices on axis {axis}")
    if updates.shape.is_top:
        op.may_fail("updates must have the shape of the slices")
    known = op.block("indices")
    if known is not None:
        require_tuples(op, known, data.shape.dims)
    elif indexed and indices.shape.size is not ZERO_EXPR:
        for extent in dict.fromkeys(data.shape[:indexed]):
            relation = disjunction(eq(indices.shape.size, 0), ge(extent, 1))
            if relation is not UNKNOWN_RELATION:
                op.require(relation, "an indexed axis must not be empty")
        op.may_fail(IN_RANGE, unless=conjunction(*(within_axis(op, extent) for extent in data.shape[:indexed])))
    return Tensor(dtype, data.shape, _scattered_tuples(op, known))


def _zip(shape: Shape, dims: Sequence[Dim]) -> Iterator[tuple[Dim, Dim]]:
    return iter(()) if shape.is_top else zip(shape, dims, strict=True)


def _scattered_tuples(op: Op, indices: Block[Element] | None) -> Contents | None:
    data, updates = op.block("data"), op.block("updates")
    if data is None or indices is None or updates is None:
        return None
    found = positions_of(indices, data.shape)
    if found is None:
        return None
    rest = data.shape[indices.shape[-1] :]
    places = [(*position, *place) for position in found for place in product(*map(range, rest))]
    return _written(op, data, list(zip(places, updates.elements, strict=True)))
