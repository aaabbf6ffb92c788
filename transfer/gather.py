"""Gather and Scatter: elements and slices at indices; the valid range of indices, and the elements that they pick."""

from collections.abc import Iterable, Sequence
from itertools import product as product_of
from math import prod
from typing import Final, cast

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Contents, Element, is_small, join_elements
from absint.lattices.dtype import DType
from absint.lattices.logic.formula import FALSE, UNKNOWN_RELATION, YES, Relation, conjunction
from absint.lattices.logic.relation import divisible, eq, ge, ite, lt
from absint.lattices.ramp import Ramp, ends
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import dims_of_rank, spliced, with_size
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, product
from absint.lattices.terms.intern import remembered
from absint.lattices.value import Tensor
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.folding import elements_of, fill_of
from absint.transfer.op import Op
from absint.transfer.rule import rule

_MAX_CASES: Final = 4
"""An element at a symbolic index is a choice of at most this many, else their join."""

_MAX_SYMBOLIC: Final = 64
"""Ranges are stated for at most this many symbolic indices."""


def choose(lane: Sequence[Element], index: Element) -> Element:
    """The element of the lane at a constant or symbolic index; at an unknown one the candidates' join."""
    extent = len(lane)
    constant = constant_of(index)
    if constant is not None:
        return lane[constant] if -extent <= constant < extent else OPAQUE
    bounds = index.bounds if isinstance(index, Dim) else None
    candidates = [i for i in range(extent) if bounds is None or i in bounds or i - extent in bounds]
    if not candidates:
        return OPAQUE
    result = lane[candidates[-1]]
    if isinstance(index, Expr) and len(candidates) <= _MAX_CASES and all(isinstance(lane[i], Dim) for i in candidates):
        for i in reversed(candidates[:-1]):
            here = eq(index, i) | eq(index, i - extent)
            result = ite(here, cast(Dim, lane[i]), cast(Dim, result))
        return result
    for i in candidates[:-1]:
        result = join_elements(result, lane[i])
    return result


def constant_of(element: Element) -> int | None:
    return element.const if isinstance(element, Expr) else None


def require_in_range(op: Op, indices: Tensor, extent: Dim) -> None:
    """Require every index in [-extent, extent): stated for known indices, else a possible failure."""
    count = indices.shape.size
    if count is ZERO_EXPR:
        return
    reached = reach(indices.ramps[0], indices.shape, extent) if len(indices.ramps) == 1 else UNKNOWN_RELATION
    if reached is not UNKNOWN_RELATION:
        op.require(eq(count, 0) | reached, IN_RANGE)
        return
    inside = within_axis(op, extent)
    if inside is not UNKNOWN_RELATION and op.decide(eq(count, 0) | inside) is YES:
        return
    known = indices.contents
    elements = dict.fromkeys(known.elements) if known is not None else {OPAQUE: None}
    always = op.decide(ge(count, 1)) is YES
    constants = [c for e in elements if (c := constant_of(e)) is not None]
    symbolic = [e for e in elements if isinstance(e, Expr) and e.const is None]
    relations = [_inside(i, extent) for i in sorted({min(constants), max(constants)} if constants else ())]
    relations += [_inside(e, extent) for e in symbolic[:_MAX_SYMBOLIC]]
    if len(constants) + min(len(symbolic), _MAX_SYMBOLIC) < len(elements):
        op.may_fail(IN_RANGE, unless=inside)
        relations = [r for r in (*relations, ge(extent, 1)) if r is not UNKNOWN_RELATION]
    for relation in relations:
        stated = relation if always else eq(count, 0) | relation
        op.require(stated, f"every index must lie within the axis of size {extent}" if stated is FALSE else IN_RANGE)


def within_axis(op: Op, extent: Dim) -> Relation:
    """The condition that the bounds which another analysis found keep all indices inside the axis; else unknown."""
    found = op.within("indices")
    if found is None or found.least is None or found.most is None:
        return UNKNOWN_RELATION
    return ge(found.least, -extent) & lt(found.most, extent)


IN_RANGE: Final = "every index must lie within the axis"


@remembered
def _inside(index: Dim | int, extent: Dim) -> Relation:
    """-extent <= index < extent."""
    return ge(index, -extent) & lt(index, extent)


def reach(indices: Ramp, sizes: Iterable[Dim], extent: Dim) -> Relation:
    """The condition that indices that grow along the axes lie within this axis; unknown if their ends are."""
    found = ends(indices, sizes)
    return UNKNOWN_RELATION if found is None else ge(found[0], -extent) & lt(found[1], extent)


def require_cover(op: Op, data: Shape, indices: Shape, axis: int) -> None:
    for other, (size, extent) in enumerate(zip(indices, data, strict=True)):
        if other != axis:
            op.require(ge(extent, size), f"indices must not exceed the data on axis {other}")


def tuple_length(op: Op, data: Tensor, indices: Tensor, batch: int = 0) -> int | None:
    """The length of an index tuple of GatherND or ScatterND; None if it or a rank is unknown."""
    op.reject("indices must have rank 1 or more, found a scalar", unless=indices.shape.rank != 0)
    if indices.shape.is_top or data.shape.is_top:
        return None
    if batch < 0:
        op.may_fail(f"batch_dims must not be negative, found {batch}")  # onnxruntime accepts it without indices
        return None
    op.reject("batch_dims must be between 0 and the rank of data", unless=batch <= len(data.shape), found=batch)
    if batch >= min(len(data.shape), len(indices.shape)):
        op.may_fail("batch_dims must be below both ranks")  # onnxruntime asks for less
        if batch >= len(indices.shape):
            return None
    length = indices.shape[-1]
    op.require(ge(len(data.shape) - batch, length), "an index tuple must be no longer than the rank of the data")
    return length.const if isinstance(length, Expr) else None


def require_tuples(op: Op, indices: Block[Element], extents: Sequence[Dim], nothing: Relation = FALSE) -> None:
    """Require each known index within its axis, unless there is `nothing` to read, where onnxruntime checks none."""
    length = indices.shape[-1]
    for axis in range(length):
        for index in dict.fromkeys(indices.elements[axis::length]):
            relation = _inside(index, extents[axis]) if isinstance(index, Expr) else UNKNOWN_RELATION
            if op.decide(within_axis(op, extents[axis])) is YES:
                continue
            op.require(nothing | relation, IN_RANGE)
            if op.semantics != "onnxruntime":
                op.require(relation, IN_RANGE, by="onnx")


def positions_of(indices: Block[Element], extents: Sequence[int]) -> list[tuple[int, ...]] | None:
    """The index tuples, counted from the front, if all are constants within the data."""
    length = indices.shape[-1]
    result = []
    for at in range(prod(indices.shape[:-1])):
        position = []
        for element, extent in zip(indices.elements[at * length : (at + 1) * length], extents, strict=False):
            index = constant_of(element)
            if index is None or not -extent <= index < extent:
                return None
            position.append(index % extent)
        result.append(tuple(position))
    return result


@rule("Gather", "data indices -> Y", complete=True, elements=True, starred=True)
def gather(op: Op) -> Tensor:
    """numpy.take: data.shape[:axis] + indices.shape + data.shape[axis+1:]."""
    data, indices = op.tensor("data"), op.tensor("indices")
    at = op.place(data.shape, op.integer("axis", 0))
    if at is None or (data.shape.is_top and indices.shape.is_top):
        op.may_fail(IN_RANGE)
        return Tensor(data.dtype, TOP_SHAPE, fill_of(data))
    require_in_range(op, indices, data.shape.known[at])
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
        return Contents.of(sizes, [choose(x.contents.elements, index) for index in known.elements])
    data, indices = op.block("data"), elements_of(op.tensor("indices"))
    if data is None or indices is None or not is_small(sizes):
        return None
    rows = data.lanes(axis)
    return Contents.of(sizes, [choose(lane, index) for row in rows for index in indices.elements for lane in row])


@rule("GatherElements", "data indices -> Y", complete=True, elements=True, starred=True)
def gather_elements(op: Op) -> Tensor:
    """numpy.take_along_axis; the result has the shape of the indices, which the data must cover on every other axis."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    shape, axis = _same_rank(op, data, indices)
    if axis is None:
        op.may_fail(IN_RANGE)
        return Tensor(dtype, shape, fill_of(data))
    require_cover(op, data.shape, indices.shape, axis)
    require_in_range(op, indices, data.shape[axis])
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
    return Contents.of(indices.shape, [choose(data.lane(at, axis), indices[at]) for at in indices.places()])


@rule("GatherND", "data indices -> Y", complete=True, elements=True)
def gather_nd(op: Op) -> Tensor:
    """Slices of the data at index tuples of length k: indices.shape[:-1] + data.shape[batch_dims+k:]."""
    data, indices, dtype = op.tensor("data"), op.tensor("indices"), op.dtype("data")
    batch = op.integer("batch_dims", 0)
    indexed = tuple_length(op, data, indices, batch)
    if indexed is None:
        op.may_fail(IN_RANGE)
        return Tensor(dtype, contents=fill_of(data))
    shape = shape_of((*indices.shape[:-1], *data.shape[batch + indexed :]))
    _require_batch(op, data.shape, indices.shape, batch, shape)
    known = op.block("indices")
    reaches = _tuple_reaches(data.shape[batch : batch + indexed], indices)
    if known is None and reaches and UNKNOWN_RELATION not in reaches:
        nothing = eq(product((*indices.shape[:-1], *data.shape[batch + indexed :])), 0)
        for relation in reaches:
            op.require(nothing | relation, IN_RANGE)
    elif known is None:
        for axis in range(batch, batch + indexed):
            nothing = eq(product(indices.shape[:-1]), 0) | eq(product(data.shape[batch + indexed :]), 0)
            _require_nonempty(op, data.shape[axis], nothing)
        if indexed and indices.shape.size is not ZERO_EXPR:
            inside = [within_axis(op, extent) for extent in data.shape[batch : batch + indexed]]
            op.may_fail(IN_RANGE, unless=conjunction(*inside))
    else:
        require_tuples(op, known, data.shape[batch:], eq(product(data.shape[batch + indexed :]), 0))
    return Tensor(dtype, shape, fill_of(data) or (_gathered_tuples(op) if batch == 0 else None))


def _tuple_reaches(extents: Sequence[Dim], indices: Tensor) -> list[Relation]:
    """For each indexed axis, the condition that the indices lie within it, if they grow along axes."""
    ramps, sizes = indices.ramps, indices.shape[:-1]
    if len(ramps) == 1 and len(extents) == 1:
        ramps = (Ramp(ramps[0].base, ramps[0].steps[:-1]),)
    if len(ramps) != len(extents):
        return []
    return [reach(ramp, sizes, extent) for ramp, extent in zip(ramps, extents, strict=True)]


def _require_batch(op: Op, data: Shape, indices: Shape, batch: int, result: Shape) -> None:
    """Require batches that agree. onnxruntime needs a number of tuples that is a multiple of the batch of the data,
    and accepts anything if the result is empty."""
    mine, theirs = product(data[:batch]), product(indices[:-1])
    if mine is product(indices[:batch]) and isinstance(mine, Expr):
        return
    fits = ge(mine, 1) if mine is ZERO_EXPR else ge(mine, 1) & divisible(theirs, mine)
    op.require(eq(result.size, 0) | fits, "the batch dims of indices must fit those of data")


def _require_nonempty(op: Op, extent: Dim, nothing: Relation) -> None:
    """An index into an empty axis fails, unless there is nothing to copy."""
    relation = nothing | ge(extent, 1)
    if relation is not UNKNOWN_RELATION:
        op.require(relation, "an indexed axis must not be empty")


def _gathered_tuples(op: Op) -> Contents | None:
    data, indices = op.block("data"), op.block("indices")
    if data is None or indices is None:
        return None
    found = positions_of(indices, data.shape)
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
    _reduces(op)
    ranks = [t.shape.rank for t in (data, indices, updates) if t.shape.rank is not None]
    if ranks:
        axis = op.axis(op.integer("axis", 0), ranks[0])
        for tensor, name in ((indices, "indices"), (updates, "updates")):
            op.require_rank(tensor.shape, ranks[0], name)
    if not (indices.shape.is_top or updates.shape.is_top):
        for at, (a, b) in enumerate(zip(indices.shape, updates.shape, strict=True)):
            op.require_equal(a, b, f"indices and updates must agree on axis {at}")
    if data.shape.is_top or indices.shape.is_top or updates.shape.is_top:
        op.may_fail(IN_RANGE)
        return Tensor(dtype, Shape([None] * ranks[0]) if data.shape.is_top and ranks else data.shape)
    require_cover(op, data.shape, indices.shape, axis)
    require_in_range(op, indices, data.shape[axis])
    return Tensor(dtype, data.shape, _scattered(op, axis))


def _reduces(op: Op) -> None:
    """onnxruntime combines an update with what is there for some types of elements only."""
    found, dtype = op.string("reduction", "none"), op.common_dtype("data", "updates")
    halves = "none max min" if op.name == "ScatterElements" else "none"
    by_type = {DType.UNDEFINED: "none", DType.STRING: "none add", DType.BOOL: "none add mul", DType.FLOAT16: halves}
    op.may_fail(f"onnxruntime has no {found} of {dtype}", unless=found in by_type.get(dtype, found))


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


_REDUCTIONS: Final = {"add": ar.add, "mul": ar.mul, "max": ar.maximum, "min": ar.minimum}


@rule("ScatterND", "data indices updates -> Y", complete=True, elements=True, starred=True)
def scatter_nd(op: Op) -> Tensor:
    """The data with slices written at index tuples; updates: indices.shape[:-1] + data.shape[k:]."""
    data, indices, updates = op.tensor("data"), op.tensor("indices"), op.tensor("updates")
    dtype = op.common_dtype("data", "updates")
    _reduces(op)
    op.reject("data must have rank 1 or more, found a scalar", unless=data.shape.rank != 0)
    indexed = tuple_length(op, data, indices)
    if indexed is None and not (data.shape.is_top or indices.shape.is_top or updates.shape.is_top):
        # The ranks leave one length of an index tuple.
        indexed = len(indices.shape) - 1 + len(data.shape) - len(updates.shape)
        reason = f"an index tuple must leave slices of the rank that updates have, {len(updates.shape)}"
        op.reject(reason, unless=0 <= indexed <= len(data.shape))
        op.require(eq(indices.shape[-1], indexed), reason)
    if indexed is None:
        op.may_fail(IN_RANGE)
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
        require_tuples(op, known, data.shape.dims)
    elif indexed and indices.shape.size is not ZERO_EXPR:
        for extent in dict.fromkeys(data.shape[:indexed]):
            _require_nonempty(op, extent, eq(indices.shape.size, 0))
        op.may_fail(IN_RANGE, unless=conjunction(*(within_axis(op, extent) for extent in data.shape[:indexed])))
    return Tensor(dtype, data.shape, _scattered_tuples(op, known))


def _scattered_tuples(op: Op, indices: Block[Element] | None) -> Contents | None:
    data, updates = op.block("data"), op.block("updates")
    if data is None or indices is None or updates is None:
        return None
    found = positions_of(indices, data.shape)
    if found is None:
        return None
    rest = data.shape[indices.shape[-1] :]
    places = [(*position, *place) for position in found for place in product_of(*map(range, rest))]
    return _written(op, data, list(zip(places, updates.elements, strict=True)))
