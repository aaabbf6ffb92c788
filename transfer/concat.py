"""Concat and Split.

onnxruntime (not ONNX) lets an input without elements differ on the other axes, and often no fact tells which inputs are
empty. So each pair must agree or have an empty one, and the first input that has elements gives the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from absint.lattices import block
from absint.lattices.block import Block
from absint.lattices.contents import Contents, Element
from absint.lattices.logic.relation import FALSE, YES, Relation, disjunction, divisible, eq, ge
from absint.lattices.ramp import NO_RAMPS, side_by_side
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import place, with_size
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.terms.normal import ceildiv
from absint.lattices.terms.shortening import length
from absint.lattices.value import Tensor
from absint.transfer.conditions import documents_exclude, filled
from absint.transfer.elements.conversion import whole_numbers
from absint.transfer.elements.folding import elements_of, moved, nothing, ramps_of, unmoved
from absint.transfer.elements.logic import choose, greatest, is_positive, least
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("Concat", "inputs* -> concat_result", complete=True, elements=True, starred=True)
def concat(op: Op) -> Tensor:
    """numpy.concatenate along `axis`."""
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
        if op.semantics == "onnx" or all(is_positive(op, d) for s in shapes for d in s):
            op.reject(f"inputs must have the same rank, found shapes {', '.join(map(str, shapes))}")
        if op.semantics == "onnxruntime" and len(shapes) == len(inputs):
            return Tensor(dtype, _of_other_ranks(op, shapes, axis))
        op.may_fail("inputs must have the same rank")
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))
    known = len(shapes) == len(inputs)
    if not known and not any(all(is_positive(op, d) for d in s) for s in shapes):
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))  # an empty one may have another rank
    at = op.axis(axis, len(shapes[0]))
    total = sum((s[at] for s in shapes), ZERO_EXPR) if known else UNKNOWN_SIZE
    dims = [_common_dim(op, shapes, i, known) if i != at else total for i in range(len(shapes[0]))]
    result = shape_of(tuple(dims))
    ramps = NO_RAMPS
    if at == len(dims) - 1 and any(x.ramps for x in inputs) and all(parts := list(map(ramps_of, inputs))):
        ramps = side_by_side(parts, [x.shape for x in inputs])
    return Tensor(dtype, result, _joined_fill(op, inputs, at) or _joined(inputs, at, result), ramps)


def _of_other_ranks(op: Op, shapes: Sequence[Shape], axis: int) -> Shape:
    """The shapes joined as onnxruntime does it: the first that has elements, else the first, must have the least rank.

    Those of a higher rank are empty; they too add to the axis.
    """
    op.may_fail("inputs must have the same rank", at_load=True)
    rank = min(map(len, shapes))
    lowest = [s for s in shapes if len(s) == rank]
    at = op.axis(axis, rank)
    for s in dict.fromkeys(shapes):
        if len(s) > rank:
            op.require(_is_empty(op, s), f"an input of a higher rank than {rank} must be empty, found shape {s}")
    if len(shapes[0]) > rank:
        op.require(disjunction(*map(filled, dict.fromkeys(lowest))), f"an input of rank {rank} must have elements")
    total = sum((s[at] for s in shapes), ZERO_EXPR)
    return shape_of(tuple(_common_dim(op, lowest, i, True) if i != at else total for i in range(rank)))


def _of_any_rank(shapes: Sequence[Shape], axis: int) -> Shape | None:
    """The shapes joined along one of their known dims, where they agree on all others."""
    first, at = shapes[0], place(shapes[0], axis)
    if at is None or first.variable is None or any(s.form != first.form for s in shapes):
        return None
    total = sum((s.known[at] for s in shapes), ZERO_EXPR)
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
    # The shape with the simplest dim and emptiness comes last.
    sizes = {s: -sum(d.size for d in s if isinstance(d, Expr)) for s in shapes}
    distinct = sorted(sizes, key=lambda s: (s[axis].is_concrete, sizes[s]))
    filled = [s[axis] for s in dict.fromkeys(shapes) if all(is_positive(op, d) for d in s)]
    if all(op.is_equal(s[axis], first) is YES for s in distinct):
        return distinct[-1][axis] if known or filled else UNKNOWN_SIZE
    many, reason = len(distinct) > _MAX_PAIRED, f"the inputs must agree on axis {axis}"
    full = [s for s in distinct if all(is_positive(op, d) for d in s)] if many else []
    for i, s in enumerate(distinct):
        for other in distinct[:i] if not many else (full or distinct)[-1:]:  # all agree with one that has elements
            if op.is_equal(s[axis], other[axis]) is not YES:
                agree = disjunction(eq(s[axis], other[axis]), _is_empty(op, s), _is_empty(op, other))
                if op.semantics == "onnx":
                    agree = eq(s[axis], other[axis])
                found = f"{other[axis]} and {s[axis]}" if agree is FALSE else ""
                if s[axis].is_concrete and other[axis].is_concrete:
                    op.may_fail(f"{reason}, found {other[axis]} and {s[axis]}", at_load=True)
                op.require(agree, reason, found=found)
    if many and not full:
        op.may_fail(f"more than {_MAX_PAIRED} inputs must agree on axis {axis}, except empty ones")
    if known and op.policy.equal is not None:
        return op.unified(*(s[axis] for s in shapes))
    if op.semantics == "onnx":
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
    pairs = [enumerate(zip(shapes[0], s, strict=True)) for s in shapes[1:] if axis is not None]
    agree = axis is not None and all(op.is_equal(a, b) is YES for each in pairs for i, (a, b) in each if i != axis)
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


@rule("Split", "input split -> outputs*", until=1, elements=True)
def split_1(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an attribute or, as floats, in an input; the axis has no default."""
    if op.integer("axis") is None:
        x = op.tensor("input")
        op.may_fail("the specification gives no default axis")
        return [Tensor(x.dtype, Shape([None] * x.shape.rank) if x.shape.rank is not None else TOP_SHAPE)] * op.outputs
    if op.has("split"):
        return _split(op, whole_numbers(op, "split") or [UNKNOWN_SIZE] * op.outputs)
    return _split_by_attribute(op)


@rule("Split", "input -> outputs*", since=2, until=12, complete=True, elements=True, starred=True)
def split_attribute(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an attribute; equal parts without it."""
    return _split_by_attribute(op)


def _split_by_attribute(op: Op) -> list[Tensor]:
    sizes = op.ints("split")
    if sizes == []:  # kernels take it as left out
        op.may_fail("split must have a size for each output, found none", at_load=True)
    return _split(op, [Dim(size) for size in sizes] if sizes else None)


@rule("Split", "input split -> outputs*", since=13, complete=True, elements=True, starred=True)
def split(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an input; without it equal parts, or `num_outputs` with a smaller last one."""
    if not op.has("split"):
        if op.version >= 18 and op.integer("num_outputs") is None:
            documents_exclude(op, "one of split and num_outputs must be given, found none")
        return _split(op, None)
    both = "one of split and num_outputs must be given, found both"
    op.reject(both, unless=op.integer("num_outputs", -1) == -1)
    op.may_fail(both, unless=op.integer("num_outputs") is None)  # onnxruntime takes -1 as left out
    op.require_rank(op.tensor("split").shape, 1, "split")
    sizes = op.integers("split")
    if sizes is None:
        op.may_fail("the split sizes, which are unknown, must be as many as the outputs and add up")
        sizes = [UNKNOWN_SIZE] * op.outputs
    if not sizes:
        op.reject("split must have sizes; onnxruntime takes an empty list as left out", by="onnx")
    return _split(op, sizes or None)


def _split(op: Op, sizes: Sequence[Dim] | None) -> list[Tensor]:
    x, count = op.tensor("input"), op.outputs
    op.reject("onnxruntime needs a name for each output", unless=not op.absent, by="onnxruntime")
    if sizes is not None and len(sizes) != count:
        op.reject(f"split must have {count} sizes, found {len(sizes)}")
    axis = op.place(x.shape, op.integer("axis", 0))
    if axis is None:
        op.may_fail("the split sizes must fit the axis, and the rank is unknown")
        return [moved(x, TOP_SHAPE, unmoved)] * count
    total = x.shape.known[axis]
    if sizes is not None:
        parts = _given_parts(op, total, sizes)
    elif op.integer("num_outputs", -1) == -1:
        op.may_fail("num_outputs is -1, which onnxruntime takes as left out", unless=op.integer("num_outputs") is None)
        found = f"size {total}" if total.is_concrete else ""
        op.require(divisible(total, count), f"the split axis must divide into {count} equal parts", found=found)
        parts = [total // count] * count
    else:
        parts = _rounded_parts(op, total, count)
    if x.contents is None or x.contents.is_fill:
        starts: list[Dim] = [ZERO_EXPR] * count  # the start of a part matters to elements alone
    else:
        starts = list(accumulate(parts[:-1], initial=ZERO_EXPR))
    return [part_of(x, axis, part, start) for part, start in zip(parts, starts, strict=True)]


_MAX_PARTS: Final = 256
"""The most parts whose symbolic sizes are given."""


def _given_parts(op: Op, total: Dim, sizes: Sequence[Dim]) -> list[Dim]:
    """The given sizes; a single unknown one is the rest."""
    for part in sizes:
        if isinstance(part, Expr):
            op.require(ge(part, 0), "split sizes must not be negative")
    unknown = [i for i, part in enumerate(sizes) if not isinstance(part, Expr)]
    parts = list(sizes)
    if len(unknown) == 1 and isinstance(total, Expr):
        op.may_fail("the split sizes must add up to the size of the axis")
        parts[unknown[0]] = total - sum((part for part in parts if isinstance(part, Expr)), ZERO_EXPR)
        return parts
    if len(unknown) > _MAX_PARTS:
        op.may_fail("the split sizes must add up to the size of the axis")
        return [part if isinstance(part, Expr) else UNKNOWN_SIZE for part in parts]
    for i in unknown:
        parts[i] = op.fresh(f"part{i}")
    if unknown:
        op.may_fail("the split sizes must add up to the size of the axis")
        op.define(eq(sum(parts, ZERO_EXPR), total), "the parts add up to the size of the axis")
    else:
        op.require_equal(sum(parts, ZERO_EXPR), total, "the split sizes must add up to the size of the axis")
    return parts


def _rounded_parts(op: Op, total: Dim, count: int) -> list[Dim]:
    """Parts of ceil(total / count), the last one smaller."""
    if op.integer("num_outputs") != count:
        reason = f"num_outputs must be {count}, the number of outputs, found {op.integer('num_outputs')}"
        op.reject(reason, unless=op.semantics == "either")
        op.may_fail(reason)  # some runtimes run it, with parts of other sizes
        return [UNKNOWN_SIZE] * count
    size = ceildiv(total, count)
    whole = ge(total, size * (count - 1))
    op.require(whole, "the last part must not be negative", by="undocumented")
    if whole is FALSE:  # inference gives a loop without a trip other sizes
        return [UNKNOWN_SIZE] * count
    if count == 2:
        return [size, total // 2]
    if count > _MAX_PARTS and not total.is_concrete:
        return [size, *[UNKNOWN_SIZE] * (count - 1)]
    return [size, *(greatest(op.facts, 0, least(op.facts, size, total - size * i)) for i in range(1, count))]


def part_of(x: Tensor, axis: int, size: Dim, start: Dim) -> Tensor:
    """So many slices along an axis, from the one at `start` on."""

    def cut(block: Block[Element]) -> Block[Element]:
        at = int(start)
        return block.taken(range(at, min(at + int(size), block.shape[axis])), axis)

    return moved(x, with_size(x.shape, axis, size), cut if start.is_concrete else nothing)
