"""Operators that join, cut, permute and repeat tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

import numpy as np

from absint.lattices.contents import OPAQUE, Contents, Element, ObjectArray, is_small
from absint.lattices.logic.relation import FALSE, Relation, disjunction, divisible, eq, ge
from absint.lattices.logic.truth import YES
from absint.lattices.ramp import NO_RAMPS, ramp, side_by_side, spread
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.terms.normal import ceildiv
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor
from absint.transfer.elements.cases import choose, greatest, is_positive, least
from absint.transfer.elements.rearrange import moved
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("Transpose", inputs="data", complete=True, elements=True)
def transpose(op: Op) -> Tensor:
    """numpy.transpose: output axis i is input axis perm[i]; all axes reversed by default."""
    x, perm = op.tensor("data"), op.ints("perm")
    if x.shape.is_top:
        if perm is not None:
            op.may_fail(f"perm {perm} must permute the axes, and the rank is unknown")
        return moved(x, TOP_SHAPE if perm is None else shape_of((UNKNOWN_SIZE,) * len(perm)), np.transpose)
    rank = len(x.shape)
    axes = list(range(rank))[::-1] if perm is None else perm
    if any(axis < 0 for axis in axes):
        op.may_fail("onnxruntime wants the axes of perm counted from the front")
    axes = [op.axis(axis, rank, "perm") for axis in axes]
    if sorted(axes) != list(range(rank)):
        op.reject(f"perm {perm} is no permutation of the {rank} axes of {x.shape}")
    turned = ramp(x.ramps[0].base, [x.ramps[0].steps[axis] for axis in axes]) if len(x.ramps) == 1 else NO_RAMPS
    return moved(x, shape_of(tuple(x.shape[axis] for axis in axes)), lambda array: array.transpose(axes), turned)


# Concat


@rule("Concat", inputs="inputs*", outputs="concat_result", complete=True, elements=True)
def concat(op: Op) -> Tensor:
    """numpy.concatenate along `axis`.

    onnxruntime (not ONNX) lets an input without elements differ on the other axes: the first input that has
    elements gives them.
    """
    return joined(op, op.variadic(), op.integer("axis", 1 if op.version < 4 else 0))


def joined(op: Op, inputs: Sequence[Tensor], axis: int) -> Tensor:
    """The inputs along an axis; what must agree stated."""
    dtype = op.same_dtype(*(x.dtype for x in inputs))
    shapes = [x.shape for x in inputs if not x.shape.is_top]
    if len(shapes) < len(inputs):
        op.may_fail("the ranks and the other axes of all inputs must agree, and one of unknown rank is among them")
    if not shapes:
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))
    if len({len(s) for s in shapes}) > 1:
        if all(is_positive(op, d) for s in shapes for d in s):
            op.reject(f"inputs of different rank: {', '.join(map(str, shapes))}")
        op.may_fail("the inputs have different ranks")
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))
    known = len(shapes) == len(inputs)
    if not known and not any(all(is_positive(op, d) for d in s) for s in shapes):
        return Tensor(dtype, TOP_SHAPE, _joined_fill(op, inputs, None))  # one without elements may have another rank
    at = op.axis(axis, len(shapes[0]))
    total: Dim = ZERO_EXPR if known else UNKNOWN_SIZE
    for s in shapes if known else ():
        total = total + s[at]
    dims = [_common_dim(op, shapes, i, known) if i != at else total for i in range(len(shapes[0]))]
    result = shape_of(tuple(dims))
    ramps = NO_RAMPS
    if at == len(dims) - 1 and all(x.ramps for x in inputs):
        ramps = side_by_side([x.ramps for x in inputs], [x.shape for x in inputs])
    return Tensor(dtype, result, _joined_fill(op, inputs, at) or _joined(inputs, at, result), ramps)


_MAX_PAIRED: Final = 12
"""Of more inputs that may be empty and differ, not every two are compared."""


def _common_dim(op: Op, shapes: Sequence[Shape], axis: int, known: bool) -> Dim:
    """The dim of another axis; what must agree stated. Any input that has elements gives it, else the first."""
    first = shapes[0][axis]
    distinct = sorted(dict.fromkeys(shapes), key=lambda s: _simplicity(s, axis))
    filled = [s[axis] for s in distinct if all(is_positive(op, d) for d in s)]
    if all(op.is_equal(s[axis], first) is YES for s in distinct):
        return distinct[-1][axis] if known or filled else UNKNOWN_SIZE
    many = len(distinct) > _MAX_PAIRED
    full = [s for s in distinct if all(is_positive(op, d) for d in s)] if many else []
    for i, s in enumerate(distinct):
        for other in distinct[:i] if not many else (full or distinct)[-1:]:  # all agree with one that has elements
            if op.is_equal(s[axis], other[axis]) is not YES:
                agree = disjunction(eq(s[axis], other[axis]), _is_empty(op, s), _is_empty(op, other))
                found = f"{other[axis]} and {s[axis]}" if agree is FALSE else ""
                if s[axis].is_concrete and other[axis].is_concrete:
                    op.load_risk(f"the inputs must agree on axis {axis}, found {other[axis]} and {s[axis]}")
                op.require(agree, f"the inputs agree on axis {axis}", found=found)
    if many and not full:
        op.may_fail(f"more than {_MAX_PAIRED} inputs must agree on axis {axis}, but for empty ones")
    if known and op.policy.equal is not None:
        return op.unified(*(s[axis] for s in shapes))
    if filled or not known:
        return filled[-1] if filled else UNKNOWN_SIZE
    if many:
        return UNKNOWN_SIZE
    result = first
    for s in distinct:
        result = choose(op, _is_empty(op, s), result, s[axis])
    return result


def _simplicity(shape: Shape, axis: int) -> tuple[bool, int]:
    """Orders shapes so that the one whose dim and emptiness are easiest to say comes last."""
    return shape[axis].is_concrete, -sum(d.size for d in shape if isinstance(d, Expr))


def _is_empty(op: Op, shape: Shape) -> Relation:
    return disjunction(*(eq(d, 0) for d in shape if not is_positive(op, d)))


def _joined_fill(op: Op, inputs: Sequence[Tensor], axis: int | None) -> Contents | None:
    """The one element that all are, where those of all inputs are the same.

    Inputs without elements that differ on another axis give one with elements in onnxruntime, which nobody has written.
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
    parts = [_elements(x) for x in inputs]
    if any(part is None for part in parts):
        return None
    filled = [part for part in parts if part is not None and part.size]  # one without elements may differ elsewhere
    if not filled:
        return Contents.of(shape.concrete, ()) if 0 in shape.concrete else None
    joined = np.concatenate(filled, axis)
    return Contents.from_array(joined) if joined.shape == shape.concrete else None


def _elements(x: Tensor) -> ObjectArray | None:
    sizes = x.shape.concrete
    if x.contents is not None:
        return x.contents.array(sizes)
    if sizes is None or not is_small(sizes):
        return None
    unknown = np.empty(sizes, dtype=object)
    unknown.fill(OPAQUE)
    return unknown


# Split


@rule("Split", inputs="input split", outputs="outputs*", until=1, elements=True)
def split_1(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an attribute or, as floats, in an input; the axis has no default."""
    if op.integer("axis") is None:
        x = op.tensor("input")
        op.may_fail("the specification gives no default axis")
        return [Tensor(x.dtype, Shape([None] * x.shape.rank) if x.shape.rank is not None else TOP_SHAPE)] * op.outputs
    if op.has("split"):
        return _split(op, whole_numbers(op, "split") or [UNKNOWN_SIZE] * op.outputs)
    return _split_by_attribute(op)


def whole_numbers(op: Op, name: str) -> list[Dim] | None:
    """The elements of a vector, of floats that are integers too: version 1 of some operators has no others."""
    found = op.elements(name)
    return op.integers(name) if found is None else [_whole(element) for element in found.ravel().tolist()]


def _whole(element: Element) -> Dim:
    if isinstance(element, Real):
        value = element.fraction
        return UNKNOWN_DIM if value is None or value.denominator != 1 else Dim(value.numerator)
    return element if isinstance(element, Dim) else UNKNOWN_DIM


@rule("Split", inputs="input", outputs="outputs*", since=2, until=12, complete=True, elements=True)
def split_attribute(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an attribute; equal parts without it."""
    return _split_by_attribute(op)


def _split_by_attribute(op: Op) -> list[Tensor]:
    sizes = op.ints("split")
    if sizes == []:  # kernels take it for one that is left out
        op.load_risk("split must have a size for each output, found none")
    return _split(op, [Dim(size) for size in sizes] if sizes else None)


@rule("Split", inputs="input split", outputs="outputs*", since=13, complete=True, elements=True)
def split(op: Op) -> list[Tensor]:
    """numpy.split with the sizes in an input; without it equal parts, or `num_outputs` of which the last is smaller."""
    if not op.has("split"):
        if op.version >= 18 and op.integer("num_outputs") is None:
            op.load_risk("one of split and num_outputs must be given, found none")
        return _split(op, None)
    if op.integer("num_outputs") is not None:
        op.reject("both split and num_outputs are given")
    op.require_rank(op.tensor("split").shape, 1, "split")
    sizes = op.integers("split")
    if sizes is None:
        op.may_fail("the split sizes, which are unknown, must be as many as the outputs and add up")
        sizes = [UNKNOWN_SIZE] * op.outputs
    if not sizes:
        op.may_fail("split has sizes: onnxruntime takes an empty list for one that is left out")
    return _split(op, sizes or None)


def _split(op: Op, sizes: Sequence[Dim] | None) -> list[Tensor]:
    x, count = op.tensor("input"), op.outputs
    if sizes is not None and len(sizes) != count:
        op.reject(f"{len(sizes)} split sizes for {count} outputs")
    if x.shape.is_top:
        op.may_fail("the split sizes must fit the axis, and the rank is unknown")
        return [moved(x, TOP_SHAPE, lambda array: array)] * count
    axis = op.axis(op.integer("axis", 0), len(x.shape))
    total = x.shape[axis]
    if sizes is not None:
        parts = _given_parts(op, total, sizes)
    elif op.integer("num_outputs", -1) == -1:
        if op.integer("num_outputs") is not None:
            op.may_fail("num_outputs is -1, which onnxruntime takes for one that is left out")
        found = f"size {total}" if total.is_concrete else ""
        op.require(divisible(total, count), f"the split axis divides into {count} equal parts", found=found)
        parts = [total // count] * count
    else:
        parts = _rounded_parts(op, total, count)
    if x.contents is None or x.contents.is_fill:
        starts: list[Dim] = [ZERO_EXPR] * count  # where a part begins matters to elements alone
    else:
        starts = list(accumulate(parts[:-1], initial=ZERO_EXPR))
    return [_part(x, axis, part, start) for part, start in zip(parts, starts, strict=True)]


_MAX_PARTS: Final = 256
"""Of more parts the sizes over symbols are not said."""


def _given_parts(op: Op, total: Dim, sizes: Sequence[Dim]) -> list[Dim]:
    """The sizes as given; a single unknown one is what the others leave."""
    for part in sizes:
        if isinstance(part, Expr):
            op.require(ge(part, 0), "split sizes are not negative")
    unknown = [i for i, part in enumerate(sizes) if not isinstance(part, Expr)]
    parts = list(sizes)
    if len(unknown) == 1 and isinstance(total, Expr):
        op.may_fail("the split sizes must add up to the size of the axis")
        parts[unknown[0]] = total - sum_of(part for part in parts if isinstance(part, Expr))
        return parts
    if len(unknown) > _MAX_PARTS:
        op.may_fail("the split sizes must add up to the size of the axis")
        return [part if isinstance(part, Expr) else UNKNOWN_SIZE for part in parts]
    for i in unknown:
        parts[i] = op.fresh(f"part{i}")
    if unknown:
        op.may_fail("the split sizes must add up to the size of the axis")
        op.define(eq(sum_of(parts), total), "the parts add up to the size of the axis")
    else:
        op.require_equal(sum_of(parts), total, "the split sizes add up to the size of the axis")
    return parts


def _rounded_parts(op: Op, total: Dim, count: int) -> list[Dim]:
    """Parts of ceil(total / count) while they last; onnxruntime (not ONNX) refuses to leave an end part empty."""
    if op.integer("num_outputs") != count:
        op.may_fail(f"num_outputs is {op.integer('num_outputs')} with {count} outputs, which ONNX rejects")
    size = ceildiv(total, count)
    if not is_positive(op, total - size * (count - 1)):
        op.may_fail(f"onnxruntime refuses {count} parts of which the last is empty")
    if count == 2:
        return [size, total // 2]
    if count > _MAX_PARTS and not total.is_concrete:
        return [size, *[UNKNOWN_SIZE] * (count - 1)]
    return [size, *(greatest(op, 0, least(op, size, total - size * i)) for i in range(1, count))]


def sum_of(dims: Iterable[Dim]) -> Dim:
    """The sum of the dims."""
    total: Dim = ZERO_EXPR
    for dim in dims:
        total = total + dim
    return total


def _part(x: Tensor, axis: int, size: Dim, start: Dim) -> Tensor:
    result = shape_of((*x.shape[:axis], size, *x.shape[axis + 1 :]))

    def cut(array: ObjectArray) -> ObjectArray:
        at = int(start)
        return np.take(array, range(at, at + int(size)), axis)

    return moved(x, result, cut) if start.is_concrete else moved(x, result, lambda array: array[:0])


# Expand and Tile


@rule("Expand", inputs="input shape", complete=True, elements=True)
def expand(op: Op) -> Tensor:
    """numpy.broadcast_to, but both ways: input * ones(shape)."""
    x = op.tensor("input")
    target = op.integers("shape")
    if op.tensor("shape").shape.rank not in (None, 1):
        op.load_risk(f"shape must have rank 1, found shape {op.tensor('shape').shape}")
    if target is None:
        op.may_fail("the target, which is unknown, must broadcast with the input")
        return moved(x, TOP_SHAPE, lambda array: array)
    for e in target:
        op.require(ge(e, 0), "the dims of the target are not negative")
    sizes = shape_of(tuple(e if isinstance(e, Expr) else UNKNOWN_SIZE for e in target))
    result = op.broadcast(x.shape, sizes)
    ramps = spread(x.ramps, x.shape, result)
    return moved(x, result, lambda array: np.broadcast_to(array, result.concrete or ()), ramps)


@rule("Tile", inputs="input tiles axis", until=5, complete=True, elements=True)
def tile_axis(op: Op) -> Tensor:
    """numpy.repeat of the whole along one axis."""
    x, tiles, axis = op.tensor("input"), whole_numbers(op, "tiles"), whole_numbers(op, "axis")
    if x.shape.is_top or tiles is None or axis is None or len(axis) != 1 or len(tiles) != 1 or not axis[0].is_concrete:
        op.may_fail("tiles and axis must be known")
        return moved(x, shape_of((UNKNOWN_SIZE,) * len(x.shape)) if x.shape.rank is not None else TOP_SHAPE, np.copy)
    at = op.axis(int(axis[0]), len(x.shape))
    return _tiled(op, x, [tiles[0] if i == at else ONE_EXPR for i in range(len(x.shape))])


@rule("Tile", inputs="input repeats", since=6, complete=True, elements=True)
def tile(op: Op) -> Tensor:
    """numpy.tile, with one repeat for each axis."""
    x, repeats = op.tensor("input"), op.integers("repeats")
    lengths = op.tensor("repeats").shape
    if repeats is None and lengths.rank == 1:
        repeats = [UNKNOWN_SIZE] * x.shape.rank if x.shape.rank is not None else None
    if repeats is None:
        op.may_fail("the repeats, which are unknown, must be one for each axis")
        return moved(x, shape_of((UNKNOWN_SIZE,) * len(x.shape)) if x.shape.rank is not None else TOP_SHAPE, np.copy)
    if lengths.rank != 1:
        op.may_fail("onnxruntime wants the repeats as a vector")
    if x.shape.is_top:
        op.may_fail("the repeats must be one for each axis, and the rank is unknown")
        return moved(x, shape_of((UNKNOWN_SIZE,) * len(repeats)), np.copy)
    if len(repeats) != len(x.shape):
        op.reject(f"{len(repeats)} repeats for a tensor of rank {len(x.shape)}")
    return _tiled(op, x, repeats)


def _tiled(op: Op, x: Tensor, repeats: Sequence[Dim]) -> Tensor:
    dims = []
    for dim, repeat in zip(x.shape, repeats, strict=True):
        if isinstance(repeat, Expr):
            op.require(ge(repeat, 0), "repeats are not negative")
            dims.append(dim * repeat)
        else:
            op.may_fail("repeats are not negative")
            dims.append(ZERO_EXPR if dim is ZERO_EXPR else UNKNOWN_SIZE)
    return moved(
        x, shape_of(tuple(dims)), lambda array: np.tile(array, [int(r) if r.is_concrete else 0 for r in repeats])
    )
