"""Concat and others that join tensors along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from absint.lattices import block
from absint.lattices.contents import Contents
from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, eq, ge
from absint.lattices.logic.truth import YES
from absint.lattices.ramp import NO_RAMPS, side_by_side
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import place, with_size
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.terms.shortening import length
from absint.lattices.value import Tensor
from absint.transfer.elements.cases import choose, is_positive
from absint.transfer.elements.rearrange import elements_of
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX, RUNTIME


@rule("Concat", "inputs* -> concat_result", complete=True, elements=True, starred=True)
def concat(op: Op) -> Tensor:
    """numpy.concatenate along `axis`.

    onnxruntime (not ONNX) lets an empty input differ on the other axes; the first input that has elements gives their
    sizes.
    """
    return joined(op, op.variadic(), op.integer("axis", 1 if op.version < 4 else 0))


def joined(op: Op, inputs: Sequence[Tensor], axis: int) -> Tensor:
    """The inputs joined along an axis; agreement is required."""
    dtype = op.same_dtype(*(x.dtype for x in inputs))
    shapes = [x.shape for x in inputs if not x.shape.is_top]
    if not shapes and inputs and (found := _of_any_rank([x.shape for x in inputs], axis)) is not None:
        return Tensor(dtype, found)
    if len(shapes) < len(inputs):
        op.may_fail("all inputs must agree on their ranks and other axes, and one has an unknown rank")
    if not shapes:
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))
    if len({len(s) for s in shapes}) > 1:
        if op.semantics == ONNX or all(is_positive(op, d) for s in shapes for d in s):
            op.reject(f"inputs must have the same rank, found shapes {', '.join(map(str, shapes))}")
        if op.semantics == RUNTIME and len(shapes) == len(inputs):
            return Tensor(dtype, _of_other_ranks(op, shapes, axis))
        op.may_fail("inputs must have the same rank")
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))
    known = len(shapes) == len(inputs)
    if not known and not any(all(is_positive(op, d) for d in s) for s in shapes):
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))  # an empty one may have another rank
    at = op.axis(axis, len(shapes[0]))
    total = _total(s[at] for s in shapes) if known else UNKNOWN_SIZE
    dims = [_common_dim(op, shapes, i, known) if i != at else total for i in range(len(shapes[0]))]
    result = shape_of(tuple(dims))
    ramps = NO_RAMPS
    if at == len(dims) - 1 and all(x.ramps for x in inputs):
        ramps = side_by_side([x.ramps for x in inputs], [x.shape for x in inputs])
    return Tensor(dtype, result, _joined_fill(op, inputs, at) or _joined(inputs, at, result), ramps)


def _of_other_ranks(op: Op, shapes: Sequence[Shape], axis: int) -> Shape:
    """The shapes joined as onnxruntime does it: the first that has elements, else the first, must have the least rank.

    Those of a higher rank are empty; they too add to the axis.
    """
    op.load_risk("inputs must have the same rank")
    rank = min(map(len, shapes))
    lowest = [s for s in shapes if len(s) == rank]
    at = op.axis(axis, rank)
    for s in dict.fromkeys(shapes):
        if len(s) > rank:
            op.require(_is_empty(op, s), f"an input of a higher rank than {rank} must be empty, found shape {s}")
    if len(shapes[0]) > rank:
        filled = disjunction(*(conjunction(*(ge(d, 1) for d in s)) for s in dict.fromkeys(lowest)))
        op.require(filled, f"an input of rank {rank} must have elements")
    total = _total(s[at] for s in shapes)
    return shape_of(tuple(_common_dim(op, lowest, i, True) if i != at else total for i in range(rank)))


def _of_any_rank(shapes: Sequence[Shape], axis: int) -> Shape | None:
    """The shapes joined along one of their known dims, where they agree on all others."""
    first, at = shapes[0], place(shapes[0], axis)
    if at is None or first.variable is None or any(s.form != first.form for s in shapes):
        return None
    total = _total(s.known[at] for s in shapes)
    for s in shapes:
        others = [(a, b) for i, (a, b) in enumerate(zip(first.known, s.known, strict=True)) if i != at]
        if any(a is not b or a.is_unknown for a, b in others):
            return None
    return with_size(first, at, total)


_MAX_PAIRED: Final = 12
"""With more inputs that may be empty and differ, not every pair is compared."""


def _common_dim(op: Op, shapes: Sequence[Shape], axis: int, known: bool) -> Dim:
    """The dim of another axis, from any input that has elements, else the first; agreement is required."""
    first = shapes[0][axis]
    if known and isinstance(first, Expr) and all(s[axis] is first for s in shapes):
        return first
    distinct = sorted(dict.fromkeys(shapes), key=lambda s: _simplicity(s, axis))
    filled = [s[axis] for s in dict.fromkeys(shapes) if all(is_positive(op, d) for d in s)]
    if all(op.is_equal(s[axis], first) is YES for s in distinct):
        return distinct[-1][axis] if known or filled else UNKNOWN_SIZE
    many = len(distinct) > _MAX_PAIRED
    full = [s for s in distinct if all(is_positive(op, d) for d in s)] if many else []
    for i, s in enumerate(distinct):
        for other in distinct[:i] if not many else (full or distinct)[-1:]:  # all agree with one that has elements
            if op.is_equal(s[axis], other[axis]) is not YES:
                agree = disjunction(eq(s[axis], other[axis]), _is_empty(op, s), _is_empty(op, other))
                if op.semantics == ONNX:
                    agree = eq(s[axis], other[axis])
                found = f"{other[axis]} and {s[axis]}" if agree is FALSE else ""
                if s[axis].is_concrete and other[axis].is_concrete:
                    op.load_risk(f"the inputs must agree on axis {axis}, found {other[axis]} and {s[axis]}")
                op.require(agree, f"the inputs must agree on axis {axis}", found=found)
    if many and not full:
        op.may_fail(f"more than {_MAX_PAIRED} inputs must agree on axis {axis}, except empty ones")
    if known and op.policy.equal is not None:
        return op.unified(*(s[axis] for s in shapes))
    if op.semantics == ONNX:
        return min((s[axis] for s in distinct), key=_length) if known else UNKNOWN_SIZE
    if filled or not known:
        return min(filled, key=_length) if filled else UNKNOWN_SIZE
    if many:
        return UNKNOWN_SIZE
    empty = {s: _is_empty(op, s) for s in distinct}
    if len(set(empty.values())) == 1:  # all are empty, or none is and they agree
        simplest = min((s[axis] for s in dict.fromkeys(shapes)), key=_length)
        return first if _length(first) <= _length(simplest) else choose(op.facts, empty[distinct[0]], first, simplest)
    result = first
    for s in distinct:
        result = choose(op.facts, empty[s], result, s[axis])
    return result


def _total(lengths: Iterable[Dim]) -> Dim:
    total: Dim = ZERO_EXPR
    for part in lengths:
        total = total + part
    return total


def _simplicity(shape: Shape, axis: int) -> tuple[bool, int]:
    """A key that sorts the shape with the simplest dim and emptiness last."""
    return shape[axis].is_concrete, -sum(d.size for d in shape if isinstance(d, Expr))


def _length(dim: Dim) -> int:
    return length(dim) if isinstance(dim, Expr) else 1 << 30


def _is_empty(op: Op, shape: Shape) -> Relation:
    return disjunction(*(eq(d, 0) for d in shape if not is_positive(op, d)))


def _joined_fill(op: Op, inputs: Sequence[Tensor], axis: int | None) -> Contents | None:
    """The one element of the result, if all inputs are filled with it.

    In onnxruntime, empty inputs that differ on another axis give an output with uninitialised elements.
    """
    first = inputs[0].contents if inputs else None
    if first is None or not first.is_fill or any(x.contents is not first for x in inputs):
        return None
    if len(inputs) == 1 or any(all(is_positive(op, d) for d in x.shape) for x in inputs if not x.shape.is_top):
        return first
    shapes = [x.shape for x in inputs]
    agree = axis is not None and all(
        op.is_equal(a, b) is YES
        for s in shapes[1:]
        for i, (a, b) in enumerate(zip(shapes[0], s, strict=True))
        if i != axis
    )
    return first if agree else None


def _joined(inputs: Sequence[Tensor], axis: int, shape: Shape) -> Contents | None:
    """The elements one after another; those of an input of unknown contents and known size are opaque."""
    if shape.concrete is None or all(x.contents is None for x in inputs):
        return None
    if len(shape) == 1 and all(x.contents is not None and not x.contents.is_fill for x in inputs):
        elements = [e for x in inputs if x.contents is not None for e in x.contents.elements]
        return Contents.of(shape.concrete, elements) if shape.concrete == (len(elements),) else None
    parts = [elements_of(x) for x in inputs]
    if any(part is None for part in parts):
        return None
    filled = [part for part in parts if part is not None and part.elements]  # an empty one may differ elsewhere
    if not filled:
        return Contents.of(shape.concrete, ()) if 0 in shape.concrete else None
    whole = block.joined(filled, axis)
    return Contents.from_block(whole) if whole is not None and whole.shape == shape.concrete else None
