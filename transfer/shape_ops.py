"""Operators that read a shape, or add and remove axes without moving elements."""

from __future__ import annotations

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO, UNKNOWN, disjunction, eq
from absint.lattices.shape import MAX_RANK, SCALAR, TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import with_axes, without
from absint.lattices.terms.expr import MAX_DIM, ONE_EXPR, UNKNOWN_SIZE, Dim, Unknown, product
from absint.lattices.terms.interval import Interval
from absint.lattices.value import Tensor
from absint.transfer.conditions import vector
from absint.transfer.elements.folding import fill_of, laid_out, moved, unmoved
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("Shape", "data -> shape", complete=True, elements=True, starred=True)
def shape(op: Op) -> Tensor:
    """The dims from `start` to `end`: `x.shape[start:end]` in numpy."""
    x = op.tensor("data")
    start, end = op.integer("start", 0), op.integer("end")
    if x.shape.is_top:
        part = _part(x.shape, start, end)
        if part is None:
            least = len(x.shape.known) if (start, end) == (0, None) else 0
            return Tensor(DType.INT64, shape_of((_part_length(start, end, least),)))
        return Tensor(DType.INT64, shape_of((Dim(len(part)),)), Contents.vector(part))
    dims = x.shape[start:end]
    return Tensor(DType.INT64, shape_of((Dim(len(dims)),)), Contents.vector(dims))


def _part(shape: Shape, start: int, end: int | None) -> tuple[Dim, ...] | None:
    """A part of a shape of unknown rank that lies in its head or its tail."""
    if start >= 0 and end is not None and 0 <= end <= len(shape.head):
        return shape.head[start:end]
    if -len(shape.tail) <= start < 0 and (end is None or -len(shape.tail) <= end < 0):
        return shape.tail[start:end]
    return None


def _part_length(start: int, end: int | None, least: int) -> Dim:
    """The length of a part of a shape of unknown rank, which is at least this."""
    if end is None:
        longest = -start if start < 0 else MAX_DIM
    else:
        longest = max(end - start, 0) if (start < 0) == (end < 0) else end if end > 0 else MAX_DIM
    if longest == MAX_DIM:
        return Unknown(Interval(least, MAX_DIM)) if least else UNKNOWN_SIZE
    return Unknown(Interval(0, longest)) if longest else Dim(0)


@rule("Size", "data -> size", complete=True, elements=True, starred=True)
def size(op: Op) -> Tensor:
    """The number of elements."""
    x = op.tensor("data")
    count = Unknown(Interval(0, None)) if x.shape.is_top else x.shape.size
    return Tensor(DType.INT64, SCALAR, Contents.scalar(count))


@rule("Flatten", "input -> Y", complete=True, elements=True, starred=True)
def flatten(op: Op) -> Tensor:
    """A matrix: the axes before `axis` merge into rows, the others into columns."""
    x = op.tensor("input")
    axis = op.integer("axis", 1)
    if axis < 0 and op.version < 11:
        reason = f"axis must not be negative before opset 11, found {axis}"
        op.may_fail(reason)
        op.may_fail(reason, at_load=True)
    if x.shape.is_top:
        return moved(x, _flat(op, x.shape, axis), unmoved)
    rank = len(x.shape)
    op.reject(f"axis {axis} is out of range for rank {rank}", unless=-rank <= axis <= rank)
    at = axis + rank if axis < 0 else axis
    return laid_out(x, shape_of((product(x.shape[:at]), product(x.shape[at:]))))


def _flat(op: Op, shape: Shape, axis: int) -> Shape:
    """The matrix that a tensor of unknown rank becomes."""
    if axis < 0 and -axis <= len(shape.tail):
        return shape_of((UNKNOWN_SIZE, product(shape.tail[axis:])))
    if 0 < axis <= len(shape.head):
        return shape_of((product(shape.head[:axis]), UNKNOWN_SIZE))
    op.may_fail(f"axis {axis} must not exceed the rank of the input, which is unknown")
    return shape_of((ONE_EXPR if axis == 0 else UNKNOWN_SIZE, UNKNOWN_SIZE))


@rule("Squeeze", "data -> Y", until=12, complete=True, elements=True, starred=True)
def squeeze_attribute(op: Op) -> Tensor:
    """numpy.squeeze with the axes in an attribute."""
    return _squeeze(op, op.ints("axes"))


@rule("Squeeze", "data axes -> Y", since=13, complete=True, elements=True, starred=True)
def squeeze(op: Op) -> Tensor:
    """numpy.squeeze; without axes every dim of size 1 goes."""
    if not op.has("axes"):
        op.not_empty("axes")
        return _squeeze(op, None)
    vector(op, "axes")
    axes = op.constants("axes")
    if axes is not None:
        return _squeeze(op, axes)
    op.may_fail("the dims of the axes, which are unknown, must be 1")
    shape = op.tensor("data").shape
    if op.integers("axes") and not shape.is_top:
        op.require(disjunction(*(eq(size, 1) for size in shape)), "a squeezed dim must be 1")
    return _squeeze_somewhere(op)


def _squeeze(op: Op, axes: list[int] | None) -> Tensor:
    """An empty list squeezes every 1 in onnxruntime, and none by the documents; a repeated axis counts once."""
    x = op.tensor("data")
    if axes == [] and op.semantics == "onnx":
        return x
    if not axes:
        ones = [UNKNOWN] if x.shape.is_top else [op.is_equal(d, 1) for d in x.shape]
        if UNKNOWN in ones:
            return Tensor(x.dtype, TOP_SHAPE, fill_of(x))
        return laid_out(x, without(x.shape, [at for at, one in enumerate(ones) if one is not NO]))
    chosen = {op.place(x.shape, axis, "axes") for axis in axes}
    at = sorted(place for place in chosen if place is not None)
    if len(at) < len(chosen):
        op.may_fail(f"axes {axes} must exist and have size 1, and the rank is unknown")
        return Tensor(x.dtype, TOP_SHAPE, fill_of(x))
    for axis in at:
        what = "the squeezed dims" if x.shape.is_top else f"the squeezed dim of axis {axis}"
        op.require_equal(x.shape.known[axis], 1, f"{what} must be 1")
    return laid_out(x, without(x.shape, at))


def _squeeze_somewhere(op: Op) -> Tensor:
    """Squeeze unknown axes: a single one leaves the rank known, and one of two axes the dim too."""
    x = op.tensor("data")
    axes = op.integers("axes")
    if x.shape.is_top or axes is None or len(axes) != 1 or len(x.shape) == 0:
        return Tensor(x.dtype, TOP_SHAPE, fill_of(x))
    if len(x.shape) == 2:
        return Tensor(x.dtype, shape_of((x.shape.size,)), fill_of(x))
    ones = [i for i, d in enumerate(x.shape) if op.is_equal(d, 1) is not NO]
    if len(ones) == 1:
        return laid_out(x, without(x.shape, ones))
    return Tensor(x.dtype, shape_of((UNKNOWN_SIZE,) * (len(x.shape) - 1)), fill_of(x))


@rule("Unsqueeze", "data -> Y", until=12, complete=True, elements=True, starred=True)
def unsqueeze_attribute(op: Op) -> Tensor:
    """numpy.expand_dims with the axes in an attribute."""
    axes = op.ints("axes")
    if axes is None:
        op.reject("attribute axes is missing")
    return _unsqueeze(op, axes)


@rule("Unsqueeze", "data axes -> Y", since=13, complete=True, elements=True, starred=True)
def unsqueeze(op: Op) -> Tensor:
    """numpy.expand_dims: axes refer to the result."""
    if (op.tensor("axes").shape.rank or 0) > 1:
        op.reject("onnxruntime needs axes as a vector or a scalar", by="undocumented")
    axes = op.constants("axes")
    if axes is not None:
        return _unsqueeze(op, axes)
    x, count = op.tensor("data"), op.integers("axes")
    op.may_fail("the axes, which are unknown, must be in range and differ")
    if x.shape.is_top or count is None:
        return Tensor(x.dtype, TOP_SHAPE, fill_of(x))
    dim = UNKNOWN_SIZE if len(x.shape) and count else ONE_EXPR
    dims = (dim,) * (len(x.shape) + len(count)) if count else x.shape.dims
    return laid_out(x, shape_of(dims))


def _unsqueeze(op: Op, axes: list[int]) -> Tensor:
    x = op.tensor("data")
    rank = None if x.shape.is_top else len(x.shape) + len(axes)
    inserted = axes if rank is None else [op.axis(axis, rank, "axes") for axis in axes]
    op.reject("axes must not repeat an axis", unless=len(set(inserted)) == len(inserted), found=axes)
    grown = with_axes(x.shape, inserted, ONE_EXPR)
    if grown is None:
        op.may_fail(f"axes {axes} must be in range, and the rank is unknown", unless=not axes)
        return Tensor(x.dtype, TOP_SHAPE, fill_of(x))
    if x.shape.is_top:
        op.may_fail(f"a tensor has {MAX_RANK} axes at most, and the rank is unknown")
    return laid_out(x, grown)
