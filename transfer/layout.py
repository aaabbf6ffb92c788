"""Operators that permute and repeat tensors: Transpose, Expand, Tile."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.logic.relation import FALSE, ge
from absint.lattices.ramp import NO_RAMPS, ramp, spread
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import dims_of_rank
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.value import Tensor
from absint.transfer.caveats import vector
from absint.transfer.elements.conversion import whole_numbers
from absint.transfer.elements.rearrange import moved, unmoved
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("Transpose", "data -> Y", complete=True, elements=True, starred=True)
def transpose(op: Op) -> Tensor:
    """numpy.transpose: output axis i is input axis perm[i]; all axes reversed by default."""
    x, perm = op.tensor("data"), op.ints("perm")
    if x.shape.is_top:
        if perm is not None:
            op.may_fail(f"perm {perm} must permute the axes, whose number is unknown")
        return moved(x, _permuted(op, x.shape, perm), unmoved)
    rank = len(x.shape)
    axes = list(range(rank))[::-1] if perm is None else perm
    if any(axis < 0 for axis in axes):
        op.runtime_requires(FALSE, "onnxruntime needs the axes of perm counted from the front")
    axes = [op.axis(axis, rank, "perm") for axis in axes]
    if sorted(axes) != list(range(rank)):
        op.reject(f"perm must permute the {rank} axes of {x.shape}, found {perm}")
    turned = ramp(x.ramps[0].base, [x.ramps[0].steps[axis] for axis in axes]) if len(x.ramps) == 1 else NO_RAMPS
    return moved(x, shape_of(tuple(x.shape[axis] for axis in axes)), lambda block: block.transposed(axes), turned)


def _permuted(op: Op, shape: Shape, perm: Sequence[int] | None) -> Shape:
    """A shape of unknown rank with its axes permuted: the permutation tells the rank."""
    if perm is None:
        named = shape.variable is not None and not any(dim.is_unknown for dim in shape.known)
        return op.fresh_shape("reversed*", shape.tail[::-1], shape.head[::-1]) if named else TOP_SHAPE
    dims = dims_of_rank(shape, len(perm))
    if dims is None:
        op.reject(f"perm must permute the axes of {shape}, found {list(perm)}")
    sorts = sorted(perm) == list(range(len(perm)))
    return shape_of(tuple([dims[axis] if sorts else UNKNOWN_SIZE for axis in perm]))


@rule("Expand", "input shape -> Y", complete=True, elements=True, starred=True)
def expand(op: Op) -> Tensor:
    """numpy.broadcast_to, but both ways: input * ones(shape)."""
    x = op.tensor("input")
    target = op.integers("shape")
    if op.tensor("shape").shape.rank not in (None, 1):
        op.load_risk(f"shape must have rank 1, found shape {op.tensor('shape').shape}")
        op.may_fail("shape must have rank 1, as onnxruntime's kernels need")
    if target is None:
        op.may_fail("the target, which is unknown, must broadcast with the input")
        return moved(x, TOP_SHAPE, unmoved)
    for e in target:
        op.require(ge(e, 0), "the dims of the target must not be negative")
    sizes = shape_of(tuple(e if isinstance(e, Expr) else UNKNOWN_SIZE for e in target))
    result = op.broadcast(x.shape, sizes)
    ramps = spread(x.ramps, x.shape, result)
    return moved(x, result, lambda block: block.spread(result.concrete or ()), ramps)


@rule("Tile", "input tiles axis -> Y", until=5, complete=True, elements=True)
def tile_axis(op: Op) -> Tensor:
    """numpy.tile along one axis."""
    x, tiles, axis = op.tensor("input"), whole_numbers(op, "tiles"), whole_numbers(op, "axis")
    if x.shape.is_top or tiles is None or axis is None or len(axis) != 1 or len(tiles) != 1 or not axis[0].is_concrete:
        op.may_fail("tiles and axis must be known")
        return moved(x, shape_of((UNKNOWN_SIZE,) * len(x.shape)) if x.shape.rank is not None else TOP_SHAPE, unmoved)
    at = op.axis(int(axis[0]), len(x.shape))
    return _tiled(op, x, [tiles[0] if i == at else ONE_EXPR for i in range(len(x.shape))])


@rule("Tile", "input repeats -> Y", since=6, complete=True, elements=True)
def tile(op: Op) -> Tensor:
    """numpy.tile, with one repeat for each axis."""
    vector(op, "repeats")
    x, repeats = op.tensor("input"), op.integers("repeats")
    lengths = op.tensor("repeats").shape
    if repeats is None and lengths.rank == 1:
        repeats = [UNKNOWN_SIZE] * x.shape.rank if x.shape.rank is not None else None
    if repeats is None:
        op.may_fail("the repeats, which are unknown, must be one for each axis")
        return moved(x, shape_of((UNKNOWN_SIZE,) * len(x.shape)) if x.shape.rank is not None else TOP_SHAPE, unmoved)
    if x.shape.is_top:
        op.may_fail("the repeats must be one for each axis, and the rank is unknown")
        return moved(x, shape_of((UNKNOWN_SIZE,) * len(repeats)), unmoved)
    if len(repeats) != len(x.shape):
        op.reject(f"repeats must have a value for each of {len(x.shape)} axes, found {len(repeats)}")
    return _tiled(op, x, repeats)


def _tiled(op: Op, x: Tensor, repeats: Sequence[Dim]) -> Tensor:
    dims = []
    for dim, repeat in zip(x.shape, repeats, strict=True):
        if isinstance(repeat, Expr):
            op.require(ge(repeat, 0), "repeats must not be negative")
            dims.append(dim * repeat)
        else:
            op.may_fail("repeats must not be negative")
            dims.append(ZERO_EXPR if dim is ZERO_EXPR else UNKNOWN_SIZE)
    return moved(x, shape_of(tuple(dims)), lambda block: block.tiled([int(r) if r.is_concrete else 0 for r in repeats]))
