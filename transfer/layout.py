"""Elements in another place: Transpose, Expand, Tile, DepthToSpace and SpaceToDepth, ReverseSequence, Trilu; CumSum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import add, mul
from typing import Final

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE, divisible, eq, ge
from absint.lattices.ramp import NO_RAMPS, ramp, spread
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import dims_of_rank
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, product
from absint.lattices.value import Tensor
from absint.transfer.conditions import documents_exclude, is_empty, one_value, vector
from absint.transfer.elements.arithmetic import zero
from absint.transfer.elements.conversion import whole_numbers
from absint.transfer.elements.folding import fill_of, moved, unmoved
from absint.transfer.elements.premises import fit, integer
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule("Transpose", "data -> Y", complete=True, elements=True, starred=True)
def transpose(op: Op) -> Tensor:
    """numpy.transpose: output axis i is input axis perm[i]; all axes reversed by default."""
    x, perm = op.tensor("data"), op.ints("perm")
    if x.shape.is_top:
        op.may_fail(f"perm {perm} must permute the axes, whose number is unknown", unless=perm is None)
        return moved(x, _permuted(op, x.shape, perm), unmoved)
    rank = len(x.shape)
    axes = list(range(rank))[::-1] if perm is None else perm
    if any(axis < 0 for axis in axes):
        op.reject("onnxruntime needs the axes of perm counted from the front", by="onnxruntime")
    axes = [op.axis(axis, rank, "perm") for axis in axes]
    op.reject("perm must permute the axes", unless=sorted(axes) == list(range(rank)), found=perm)
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
        op.may_fail(f"shape must have rank 1, found shape {op.tensor('shape').shape}", at_load=True)
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


@rule("DepthToSpace", "input -> Y", complete=True, elements=True)
def depth_to_space(op: Op) -> Tensor:
    """(N, C, H, W) to (N, C / b^2, H * b, W * b)."""
    x = op.tensor("input")
    n, c, h, w = _image(op, x)
    b = op.positive("blocksize")
    op.reject("mode must be DCR or CRD", unless=op.string("mode", "DCR") in ("DCR", "CRD"), found=op.string("mode"))
    _require_blocks(op, x, c, b * b, f"the channels must be a multiple of {b * b}, the square of the block size")
    return Tensor(x.dtype, shape_of((n, c // (b * b), h * b, w * b)), fill_of(x))


@rule("SpaceToDepth", "input -> Y", complete=True, elements=True)
def space_to_depth(op: Op) -> Tensor:
    """(N, C, H, W) to (N, C * b^2, H / b, W / b)."""
    x = op.tensor("input")
    n, c, h, w = _image(op, x)
    b = op.positive("blocksize")
    _require_blocks(op, x, h, b, f"the height must be a multiple of the block size {b}")
    _require_blocks(op, x, w, b, f"the width must be a multiple of the block size {b}")
    return Tensor(x.dtype, shape_of((n, c * (b * b), h // b, w // b)), fill_of(x))


def _require_blocks(op: Op, x: Tensor, size: Dim, block: int, reason: str) -> None:
    """Require whole blocks. Since 28 the function that defines the operator reshapes what is empty in any case.

    onnxruntime runs it for types without a kernel.
    """
    blocks = divisible(size, block)
    if not _may_run_as_function(op, x) or x.shape.is_top:
        op.require(blocks, reason)
    elif blocks is not TRUE:
        op.require(blocks, reason, by="onnx")
        op.require(blocks | is_empty(x.shape), f"{reason} unless the input is empty")


def _may_run_as_function(op: Op, x: Tensor) -> bool:
    return op.version >= 28 and op.semantics != "onnx" and x.dtype not in _WITH_KERNEL


_WITH_KERNEL: Final = frozenset({DType.FLOAT, DType.DOUBLE, DType.UINT8, DType.INT8})


def _image(op: Op, x: Tensor) -> tuple[Dim, Dim, Dim, Dim]:
    if x.shape.is_top:
        op.may_fail("the input, of unknown rank, must have rank 4")
        return UNKNOWN_SIZE, UNKNOWN_SIZE, UNKNOWN_SIZE, UNKNOWN_SIZE
    if len(x.shape) != 4 and _may_run_as_function(op, x):
        reason = f"the input must have rank 4, found shape {x.shape}"
        documents_exclude(op, reason)
        is_image = eq(product(x.shape[4:]), 1) if len(x.shape) > 4 else FALSE  # further axes of 1 do no harm
        op.require(is_empty(x.shape) | is_image, reason)
        return UNKNOWN_SIZE, UNKNOWN_SIZE, UNKNOWN_SIZE, UNKNOWN_SIZE
    op.require_rank(x.shape, 4, "the input")
    n, c, h, w = x.shape
    return n, c, h, w


@rule("ReverseSequence", "input sequence_lens -> Y", complete=True, elements=True, starred=True)
def reverse_sequence(op: Op) -> Tensor:
    """The first sequence_lens[b] steps of batch entry b in reverse order."""
    x, lengths = op.tensor("input"), op.tensor("sequence_lens")
    op.require_rank(lengths.shape, 1, "sequence_lens")
    op.may_fail("every sequence length must lie within the time axis")
    if x.shape.is_top:
        return Tensor(x.dtype, x.shape, fill_of(x))
    rank = len(x.shape)
    op.reject("the input must have rank 2 or more", unless=rank >= 2, found=x.shape)
    time, batch = op.integer("time_axis", 0), op.integer("batch_axis", 1)
    if time == batch or max(time, batch) > 1:
        op.reject(f"time_axis and batch_axis must be 0 and 1, found {time} and {batch}")
    if min(time, batch) < 0:
        op.may_fail("onnxruntime reads beyond the shape where time_axis or batch_axis is negative")
        return Tensor(x.dtype, x.shape, fill_of(x))
    if lengths.shape.rank is not None:
        op.require_equal(lengths.shape[0], x.shape[batch], "sequence_lens must have one length for each batch entry")
    return Tensor(x.dtype, x.shape, fill_of(x))


@rule("Trilu", "input k -> Y", complete=True, elements=True, starred=True)
def trilu(op: Op) -> Tensor:
    """numpy.triu, or numpy.tril if `upper` is 0, at diagonal k."""
    x, diagonal = op.tensor("input"), op.optional("k")
    if diagonal is not None and diagonal.shape != ():
        op.require(one_value(diagonal.shape), "k must be a single number", by="undocumented")
    op.ranked("input", 2)
    return Tensor(x.dtype, x.shape, _trilu_contents(op, x))


def _trilu_contents(op: Op, x: Tensor) -> Contents | None:
    nothing = zero(x.dtype)
    if x.contents is None or nothing is OPAQUE:
        return None
    if x.contents.is_fill and x.contents.elements[0] == nothing:
        return x.contents
    k = op.constants("k") if op.has("k") else [0]
    block = op.block("input")
    if block is None or k is None or len(k) != 1:
        return None
    upper, diagonal = op.integer("upper", 1), k[0]
    dropped = [at for at in block.places() if (at[-1] - at[-2] - diagonal) * (1 if upper else -1) < 0]
    return Contents.from_block(block.with_elements(dict.fromkeys(dropped, nothing)))


@rule("CumSum CumProd", "x axis -> y", complete=True, elements=True, starred=True)
def cumulate(op: Op) -> Tensor:
    """numpy.cumsum or numpy.cumprod; `exclusive` omits the element itself, `reverse` starts at the end."""
    x, axes = op.tensor("x"), op.constants("axis")
    backwards, exclusive = op.flag("reverse"), op.flag("exclusive")
    op.reject("onnxruntime accumulates no scalar", unless=x.shape.rank != 0, by="onnxruntime")
    if op.tensor("axis").shape != ():
        reason = "the axis must be a single number, and ONNX needs a scalar"
        if op.semantics == "onnxruntime" and not x.shape.is_top:
            # onnxruntime returns an empty tensor before it looks at the axis
            op.require(one_value(op.tensor("axis").shape, is_empty(x.shape)), reason)
            op.may_fail(reason, at_load=True)
        else:
            op.may_fail(reason)
    if x.shape.is_top or axes is None or len(axes) != 1:
        op.may_fail("the axis must be in range")
        return Tensor(x.dtype, x.shape)
    rank = len(x.shape)
    if not -rank <= axes[0] < rank:
        # onnxruntime returns an empty tensor before it looks at the axis
        empty = FALSE if op.semantics == "onnx" else is_empty(x.shape)
        op.require(empty, f"axis {axes[0]} must be in range unless x is empty")
        return Tensor(x.dtype, x.shape)
    axis = op.axis(axes[0], rank)
    return Tensor(x.dtype, x.shape, _cumulated(op, x, axis, backwards, exclusive))


_LONGEST_SUM = 64


def _cumulated(op: Op, x: Tensor, axis: int, backwards: bool, exclusive: bool) -> Contents | None:
    block = op.block("x")
    if block is None or not x.dtype.is_integer or block.shape[axis] > _LONGEST_SUM:
        return None
    product = op.name == "CumProd"

    def cumulated(lane: tuple[Element, ...]) -> list[Element]:
        numbers = [integer(e) for e in (reversed(lane) if backwards else lane)]
        if exclusive:
            numbers = [Dim(int(product)), *numbers][:-1]
        result = list(accumulate(numbers, mul if product else add))
        return [*(reversed(result) if backwards else result)]

    if not all(isinstance(e, Dim) for e in block.elements):
        return None
    contents = Contents.from_block(block.along(axis, block.shape[axis], cumulated))
    return None if contents is None else contents.map(lambda e: fit(op, x.dtype, integer(e)))
