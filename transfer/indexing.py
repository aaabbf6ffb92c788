"""Indices into the axes of a tensor: their valid range, and the elements they pick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final, cast

from absint.lattices.block import Block
from absint.lattices.contents import OPAQUE, Element, join_elements
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, YES, Relation, eq, ge, ite, lt
from absint.lattices.ramp import Ramp, ends
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr
from absint.lattices.terms.intern import remembered
from absint.lattices.value import Tensor
from absint.transfer.op import Op

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
