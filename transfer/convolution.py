"""Convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import YES, divisible, eq, ge, le
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, product
from absint.lattices.terms.intern import remembered
from absint.lattices.terms.normal import exact_quotient, floordiv, maximum
from absint.lattices.terms.polynomials import nonneg
from absint.lattices.value import Tensor
from absint.transfer.conditions import filled, not_empty, one_value, require_one_value
from absint.transfer.op import Op, as_size
from absint.transfer.rule import rule
from absint.transfer.window import CONVOLUTIONS, Window, kernel_of, pooled, slides, values_of, windows


@rule("Conv", "X W B -> Y", complete=True)
def conv(op: Op) -> Tensor:
    """N, M and the positions of the window: X (N, C, ...) with W (M, C/group, kernel...)."""
    shape = conv_shape(op, op.tensor("X").shape, op.tensor("W").shape)
    return Tensor(op.common_dtype("X", "W", "B"), shape)


@rule("ConvInteger", "x w x_zero_point w_zero_point -> y", complete=True)
def conv_integer(op: Op) -> Tensor:
    """Conv of 8-bit integers, accumulated in int32."""
    w = op.tensor("w").shape
    require_one_value(op, "x_zero_point")
    require_one_value(op, "w_zero_point", each=_filters(w), what="output channel")
    if op.has("w_zero_point"):
        op.require(one_value(op.tensor("w_zero_point").shape), "onnxruntime needs one w_zero_point", by="onnxruntime")
    return Tensor(DType.INT32, conv_shape(op, op.tensor("x").shape, w))


@rule("QLinearConv", "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B -> y", complete=True)
def qlinear_conv(op: Op) -> Tensor:
    """Conv of quantised tensors, quantised again to the type of y_zero_point."""
    require_one_value(op, "x_scale", "x_zero_point", "y_scale", "y_zero_point")
    w = op.tensor("w").shape
    require_one_value(op, "w_scale", "w_zero_point", each=_filters(w), what="output channel")
    not_empty(op, "onnxruntime may crash on zero points of no channels", op.tensor("w_zero_point").shape)
    return Tensor(op.dtype("y_zero_point"), conv_shape(op, op.tensor("x").shape, w))


def _filters(w: Shape) -> Dim:
    return w[0] if w.rank else UNKNOWN_SIZE


@rule("DeformConv", "X W offset B mask -> Y", complete=True)
def deform_conv(op: Op) -> Tensor:
    """Conv whose window samples at learned offsets: the shape is that of Conv."""
    x, w, groups = op.tensor("X").shape, op.tensor("W").shape, op.integer("offset_group", 1)
    op.reject("group and offset_group must be positive", unless=min(groups, op.integer("group", 1)) > 0)
    op.reject("pads must not be negative", unless=min(op.ints("pads") or [0]) >= 0, found=op.ints("pads"))
    # onnxruntime divides towards zero, as in a pool.
    shape = conv_shape(op, x, w, counts=pooled)
    dtype = op.common_dtype("X", "W", "offset")
    if shape.is_top:
        op.may_fail("offset and mask must fit the window")
        return Tensor(dtype, shape)
    rank = len(shape)
    op.reject("X must have a spatial axis", unless=rank >= 3, found=x)
    op.reject("onnxruntime needs two spatial axes", unless=rank == 4, by="onnxruntime")
    _, channels, *spatial = (UNKNOWN_SIZE,) * rank if x.is_top else x.dims
    op.require(divisible(channels, groups), "channels of X must be a multiple of offset_group")
    kernel = kernel_of(op, None if w.is_top else w[2:]) or ()
    taps = groups * product(kernel)
    _require_places(op, "offset", shape, taps * (rank - 2))
    if op.has("mask"):
        _require_places(op, "mask", shape, taps if rank == 4 else UNKNOWN_SIZE)
    for size in (channels, shape[1], *kernel):
        op.require(ge(size, 1), "onnxruntime needs channels, and a kernel that is not empty", by="onnxruntime")
    sampled = eq(shape.size, 0) | filled(spatial)
    op.require(sampled, "onnxruntime samples no empty image", by="onnxruntime")
    area = (spatial[0] + 1) * product(spatial[1:])
    op.require(le(area, 2**31 - 1), "onnxruntime needs an image of less than 2**31 places", by="onnxruntime")
    return Tensor(dtype, shape)


def _require_places(op: Op, name: str, output: Shape, channels: Dim) -> None:
    """Require so many channels of an input, and its other sizes as those of the output."""
    batch, _, *spatial = output
    for axis, (given, size) in enumerate(zip(op.sizes(name, len(output)), (batch, channels, *spatial), strict=True)):
        op.require_equal(given, size, f"axis {axis} of {name} must fit the window")


def _parts(op: Op, x: Shape, w: Shape) -> tuple[Sequence[Dim], Sequence[Dim], Sequence[Dim]] | None:
    """The dims of x and of w, and the kernel; None if their number is unknown."""
    group = op.integer("group", 1)
    op.reject("group must be positive, found 0", unless=group != 0)
    # A negative one fits no channels; onnxruntime does not check it further.
    op.reject("group must be positive", unless=group > 0, found=group, by="onnx")
    kernel = kernel_of(op, None if w.is_top else w[2:])
    rank = _rank(op, x, w, kernel)
    if rank is None or kernel is None:
        op.may_fail("X, W and the window must agree")
        return None
    unknown = (UNKNOWN_SIZE,) * rank
    return unknown if x.is_top else x.dims, unknown if w.is_top else w.dims, kernel


def conv_shape(op: Op, x: Shape, w: Shape, *, counts: Callable[[Op, Dim, Window, int], Dim] = slides) -> Shape:
    """The output shape of a convolution of x with the weights w, requirements stated. `counts` gives the number of the
    window's positions on an axis.
    """
    group, parts = op.integer("group", 1), _parts(op, x, w)
    if parts is None:
        return TOP_SHAPE
    (batch, channels, *spatial), (outputs, inputs, *_), kernel = parts
    _require_channels(op, channels, inputs, outputs, group)
    outputs = _with_bias(op, outputs)
    sizes = [counts(op, spatial[axis], window, axis) for axis, window in enumerate(_windows(op, kernel))]
    return shape_of((batch, outputs, *sizes))


def _rank(op: Op, x: Shape, w: Shape, kernel: Sequence[Dim] | None) -> int | None:
    """The rank of X, from X, W or the kernel."""
    found = {x.rank, w.rank, None if kernel is None else len(kernel) + 2}
    found.discard(None)
    if not found:
        return None
    if len(found) > 1:
        sizes = f"shapes {x} and {w}, {len(kernel or ())} kernel sizes"
        op.reject(f"X and W must have 2 axes more than the window, found {sizes}")
    rank = found.pop()
    assert rank is not None
    if rank < 2:
        op.reject(f"X must have rank 3 or more, found {x}")
    op.reject("X must have a spatial axis", unless=rank != 2, by="undocumented")
    return rank


def _windows(op: Op, kernel: Sequence[Dim]) -> list[Window]:
    for size in kernel:
        if op.name == "ConvTranspose":
            op.require(ge(size, 1), "the kernel must not be empty", by="undocumented")
        else:
            reason = "onnxruntime hangs on a kernel of size 0, unless there is nothing to convolve"
            op.may_fail(reason, unless=ge(size, 1))
    found = windows(op, kernel)
    automatic = op.string("auto_pad", "NOTSET") or "NOTSET"
    if automatic != "NOTSET" and op.ints("pads"):
        op.reject(f"pads must be left out if auto_pad is {automatic}", "ill-formed")
    for window in found:
        if window.before < 0 or window.after < 0:
            op.may_fail(f"pads must not be negative, found {op.ints('pads')}", at_load=True)
        if window.same and window.dilation != 1 and op.name in CONVOLUTIONS:
            op.reject("onnxruntime needs dilations of 1 with SAME padding", by="onnxruntime")
    return found


def _require_channels(op: Op, channels: Dim, inputs: Dim, outputs: Dim, group: int) -> None:
    taken = inputs if group == 1 else inputs * group
    op.require_equal(channels, taken, "channels of X must equal those of W times group")
    if not op.never_empty(inputs):
        op.may_fail("onnxruntime may hang on a convolution of no channels", unless=ge(inputs, 1), by="onnxruntime")
    if group != 1 or outputs.is_unknown:
        op.require(divisible(outputs, group), "output channels must be a multiple of group")


def _with_bias(op: Op, outputs: Dim) -> Dim:
    """The output channels, from the bias if only it has them."""
    if "B" not in op.rule.places or not op.has("B"):
        return outputs
    (count,) = op.sizes("B", 1)
    op.require_equal(count, outputs, "B must have one value for each output channel")
    return count if outputs.is_unknown else outputs


@rule("ConvTranspose", "X W B -> Y", complete=True)
def conv_transpose(op: Op) -> Tensor:
    """The gradient of Conv: stride*(N-1) + output_padding + span - pads, or output_shape if given."""
    x, w = op.tensor("X").shape, op.tensor("W").shape
    dtype = op.common_dtype("X", "W", "B")
    group, parts = op.integer("group", 1), _parts(op, x, w)
    if parts is None:
        return Tensor(dtype)
    (batch, channels, *spatial), (inputs, outputs, *_), kernel = parts
    op.require_equal(channels, inputs, "channels of X must equal those of W")
    op.require(divisible(channels, group), "channels must be a multiple of group")
    outputs = _with_bias(op, outputs * group)
    return Tensor(dtype, shape_of((batch, outputs, *_transposed(op, spatial, _windows(op, kernel)))))


def _transposed(op: Op, spatial: Sequence[Dim], found: Sequence[Window]) -> list[Dim]:
    extra = _output_padding(op, found)
    given = values_of(op, "output_shape")
    if given and len(given) not in (len(spatial), len(spatial) + 2):
        op.reject(f"output_shape must have {len(spatial)} values, found {len(given)}")
    if given and len(given) != len(spatial):
        op.may_fail(f"output_shape must have {len(spatial)} values, found {len(given)}", at_load=True)
    stated = given[len(given) - len(spatial) :] if given else [-1] * len(spatial)
    if any(size == 0 or size < -1 for size in stated):
        op.reject(f"output_shape must be positive, found {given}")
    if given and -1 in stated:  # kernels compute that size
        op.may_fail(f"output_shape must not be negative, found {given}", at_load=True)
    sizes = []
    for axis, (size, window) in enumerate(zip(spatial, found, strict=True)):
        _require_some(op, size, axis, explicit=stated[axis] > 0 or extra[axis] > 0, count=len(spatial))
        if stated[axis] > 0:
            _require_reachable(op, stated[axis], size, window, extra[axis])
            sizes.append(Dim(stated[axis]))
            continue
        result = _grown(size, window, extra[axis])
        if window.same and op.semantics == "onnx" and not nonneg(window.span + (extra[axis] - window.stride)):
            result = UNKNOWN_SIZE  # the documents, and onnx's own inference, differ on a window below the stride
        op.require(ge(result, 1), f"the output of spatial axis {axis} must not be empty")
        sizes.append(result)
    return sizes


def _require_some(op: Op, size: Dim, axis: int, *, explicit: bool, count: int) -> None:
    """onnxruntime spreads an empty axis only where neither the output's size nor its padding is `explicit`.

    With a `count` of three axes or more the process may end.
    """
    reason = f"spatial axis {axis} must not be empty"
    if explicit:
        op.require(ge(size, 1), reason, by="undocumented")
    else:
        op.may_fail(reason, unless=ge(size, 1), by="either" if count > 2 else "onnx")


def _require_reachable(op: Op, output: int, size: Dim, window: Window, extra: int) -> None:
    """onnxruntime cuts to the output size by pads, and enlarges by less than a stride."""
    full = _spread(size, window, extra)
    most = full if op.semantics == "onnx" else full + (window.stride - 1 - extra)
    op.require(ge(most, output), "output_shape must be possible for the input and the window", by="undocumented")


def _spread(size: Dim, window: Window, extra: int) -> Dim:
    return window.stride * (size - 1) + extra + window.span


@remembered
def _grown(size: Dim, window: Window, extra: int) -> Dim:
    """The size of an axis that the window spreads out, with this output padding."""
    full = _spread(size, window, extra)
    # SAME cuts the output to stride*N and never enlarges it (onnxruntime).
    cut = maximum(full - window.stride * size, 0) if window.same else Dim(window.before + window.after)
    return as_size(full - cut)


def _output_padding(op: Op, found: Sequence[Window]) -> list[int]:
    extra = values_of(op, "output_padding") or [0] * len(found)
    op.reject(f"output_padding must have {len(found)} values", unless=len(extra) == len(found), found=len(extra))
    for value, window in zip(extra, found, strict=True):
        if not 0 <= value < max(window.stride, window.dilation):
            op.reject(f"output_padding must be from 0 to below stride or dilation, found {value}")
        if value >= window.stride:
            op.reject("onnxruntime needs an output_padding below the stride", by="onnxruntime")
    return extra


@rule("Col2Im", "input image_shape block_shape -> output", complete=True)
def col2im(op: Op) -> Tensor:
    """Columns (N, C * prod(block), L) summed back into an image (N, C, image...)."""
    batch, rows, length = op.sizes("input", 3)
    dtype = op.dtype("input")
    for name in ("image_shape", "block_shape"):
        op.require_rank(op.tensor(name).shape, 1, name)
    image, block = op.integers("image_shape"), op.integers("block_shape")
    if image is None and block is None:
        op.may_fail("the block must fit the image")
        return Tensor(dtype)
    rank = len(image if image is not None else block or ())
    image = image if image is not None else [UNKNOWN_SIZE] * rank
    block = block if block is not None else [UNKNOWN_SIZE] * rank
    if len(image) != len(block):
        op.reject(f"image_shape and block_shape must have the same length, found {len(image)} and {len(block)}")
    if not rank:
        op.reject("onnxruntime needs an axis of the image", by="onnxruntime")
    sizes = [as_size(d) for d in image]
    for size in image:
        op.require(ge(size, 0), "image sizes must not be negative")
    for size in (rows, *sizes):
        op.require(ge(size, 1), "onnxruntime needs rows, and an image that is not empty", by="onnxruntime")
    for size in block:
        op.require(ge(size, 1), "block sizes must be positive")
    if not all(op.never_empty(size) for size in block if isinstance(size, Expr)):
        op.may_fail("the block must fit the image")
        return Tensor(dtype, shape_of((batch, UNKNOWN_SIZE, *sizes)))
    _require_columns(op, rows, length, sizes, block)
    return Tensor(dtype, shape_of((batch, _channels(op, rows, product(block)), *sizes)))


def _require_columns(op: Op, rows: Dim, length: Dim, image: Sequence[Dim], block: Sequence[Dim]) -> None:
    op.require(divisible(rows, product(block)), "rows of the input must be a multiple of the block size")
    positions = []
    for size, window in zip(image, windows(op, block), strict=True):
        slack = size + (window.before + window.after) - window.span
        op.require(ge(slack, 0), "the block must fit the padded image", by="undocumented")
        positions.append(floordiv(slack, window.stride) + 1)
    op.require_equal(length, product(positions), "columns of the input must equal the positions of the block")


def _channels(op: Op, rows: Dim, block: Dim) -> Dim:
    if isinstance(rows, Expr) and isinstance(block, Expr):
        exact = exact_quotient(rows, block)
        if exact is not None and op.decide(eq(block, 0).negated) is YES:
            return exact
        return floordiv(rows, block)
    return UNKNOWN_SIZE
