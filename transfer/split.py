"""Split: a tensor cut into parts along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from absint.lattices.block import Block
from absint.lattices.contents import Element
from absint.lattices.logic.relation import FALSE, divisible, eq, ge
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import place, with_size
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor
from absint.transfer.caveats import runtime_needs
from absint.transfer.elements.cases import greatest, least
from absint.transfer.elements.conversion import whole_numbers
from absint.transfer.elements.rearrange import moved, nothing, unmoved
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import EITHER


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
        op.load_risk("split must have a size for each output, found none")
    return _split(op, [Dim(size) for size in sizes] if sizes else None)


@rule("Split", "input split -> outputs*", since=13, complete=True, elements=True, starred=True)
def split(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an input; without it equal parts, or `num_outputs` with a smaller last one."""
    if not op.has("split"):
        if op.version >= 18 and op.integer("num_outputs") is None:
            op.load_risk("one of split and num_outputs must be given, found none")
        return _split(op, None)
    if op.integer("num_outputs") is not None:
        op.reject("one of split and num_outputs must be given, found both")
    op.require_rank(op.tensor("split").shape, 1, "split")
    sizes = op.integers("split")
    if sizes is None:
        op.may_fail("the split sizes, which are unknown, must be as many as the outputs and add up")
        sizes = [UNKNOWN_SIZE] * op.outputs
    if not sizes:
        op.documents_require(FALSE, "split must have sizes; onnxruntime takes an empty list as left out")
    return _split(op, sizes or None)


def _split(op: Op, sizes: Sequence[Dim] | None) -> list[Tensor]:
    x, count = op.tensor("input"), op.outputs
    if sizes is not None and len(sizes) != count:
        op.reject(f"split must have {count} sizes, found {len(sizes)}")
    known = place(x.shape, op.integer("axis", 0)) if x.shape.is_top else op.axis(op.integer("axis", 0), len(x.shape))
    if known is None:
        op.may_fail("the split sizes must fit the axis, and the rank is unknown")
        return [moved(x, TOP_SHAPE, unmoved)] * count
    axis, total = known, x.shape.known[known]
    if sizes is not None:
        parts = _given_parts(op, total, sizes)
    elif op.integer("num_outputs", -1) == -1:
        if op.integer("num_outputs") is not None:
            op.may_fail("num_outputs is -1, which onnxruntime takes as left out")
        found = f"size {total}" if total.is_concrete else ""
        op.require(divisible(total, count), f"the split axis must divide into {count} equal parts", found=found)
        parts = [total // count] * count
    else:
        parts = _rounded_parts(op, total, count)
    if x.shape.is_top:
        return [moved(x, with_size(x.shape, axis, part), nothing) for part in parts]
    if x.contents is None or x.contents.is_fill:
        starts: list[Dim] = [ZERO_EXPR] * count  # the start of a part matters to elements alone
    else:
        starts = list(accumulate(parts[:-1], initial=ZERO_EXPR))
    return [_part(x, axis, part, start) for part, start in zip(parts, starts, strict=True)]


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
        parts[unknown[0]] = total - _sum_of(part for part in parts if isinstance(part, Expr))
        return parts
    if len(unknown) > _MAX_PARTS:
        op.may_fail("the split sizes must add up to the size of the axis")
        return [part if isinstance(part, Expr) else UNKNOWN_SIZE for part in parts]
    for i in unknown:
        parts[i] = op.fresh(f"part{i}")
    if unknown:
        op.may_fail("the split sizes must add up to the size of the axis")
        op.define(eq(_sum_of(parts), total), "the parts add up to the size of the axis")
    else:
        op.require_equal(_sum_of(parts), total, "the split sizes must add up to the size of the axis")
    return parts


def _rounded_parts(op: Op, total: Dim, count: int) -> list[Dim]:
    """Parts of ceil(total / count), the last one smaller."""
    if op.integer("num_outputs") != count:
        reason = f"num_outputs must be {count}, the number of outputs, found {op.integer('num_outputs')}"
        if op.semantics != EITHER:
            op.reject(reason)
        op.may_fail(reason)  # onnxruntime 1.31 runs it
    size = ceildiv(total, count)
    runtime_needs(op, ge(total, size * (count - 1)), "the last part must not be negative")
    if count == 2:
        return [size, total // 2]
    if count > _MAX_PARTS and not total.is_concrete:
        return [size, *[UNKNOWN_SIZE] * (count - 1)]
    return [size, *(greatest(op.facts, 0, least(op.facts, size, total - size * i)) for i in range(1, count))]


def _sum_of(dims: Iterable[Dim]) -> Dim:
    """The sum of the dims."""
    total: Dim = ZERO_EXPR
    for dim in dims:
        total = total + dim
    return total


def _part(x: Tensor, axis: int, size: Dim, start: Dim) -> Tensor:
    result = shape_of((*x.shape[:axis], size, *x.shape[axis + 1 :]))

    def cut(block: Block[Element]) -> Block[Element]:
        at = int(start)
        return block.taken(range(at, min(at + int(size), block.shape[axis])), axis)

    return moved(x, result, cut if start.is_concrete else nothing)
