"""Images in other layouts than (N, C, spatial...).

com.ms.internal.nhwc, and operators of com.microsoft that allow it: channels are the last axis. Source: onnxruntime's
schemas. Its layout optimiser moves the first input and the first output to (N, spatial..., C) and leaves everything
else as in ONNX. An operator here is a view of the rule of ONNX's operator.

com.microsoft.nchwc: channels in blocks, as onnxruntime's optimiser makes them for a CPU. An image has the shape (N, C,
H, W), with C padded to a multiple of the block size, that of the processor's vectors: 8 or 16. A model optimised on one
processor may not run on another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.lattices.logic.relation import FALSE, YES, Relation, conjunction, divisible, eq, ge, le
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Unknown, const, product
from absint.lattices.terms.interval import Congruence, Interval
from absint.lattices.terms.normal import ceildiv
from absint.lattices.value import Tensor, Value
from absint.transfer import convolution, layout, normalisation, pooling, resize
from absint.transfer.application import NEWEST, channels_last, of_rank, restate, retyped
from absint.transfer.conditions import filled, not_empty, positive, require_one_value
from absint.transfer.contrib.products import check_activation, require_sum
from absint.transfer.contrib.quantised_layers import may_refuse_vectors, only_number, require_names
from absint.transfer.op import Op
from absint.transfer.rule import ONNX, Rule, Table, device, kernel, rule
from absint.transfer.stating import AttributeValue

NHWC = "com.ms.internal.nhwc"

IMAGES = Table.of((convolution, normalisation, pooling, resize, layout))
"""ONNX's operators on images."""


def onnx_rule(op: Op, version: int) -> Rule:
    """The rule of ONNX's operator of the same name."""
    rule = IMAGES.lookup(ONNX, op.name, version)
    assert rule is not None, f"no rule for {op.name}-{version} in ONNX's domain"
    return rule


@rule(
    "AveragePool BatchNormalization Conv ConvTranspose DepthToSpace GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool GridSample InstanceNormalization LRN LpPool MaxPool SpaceToDepth QLinearConv",
    "X rest* -> Y rest*",
    domain=NHWC,
)
def image(op: Op) -> Sequence[Value]:
    """The rule of ONNX's operator of that name and version, for X and Y with the channels as the last axis.

    From version 28 on DepthToSpace and SpaceToDepth have no kernel: ONNX's function runs, for any rank, with the
    channels second.
    """
    if op.version >= 28 and op.name in ("DepthToSpace", "SpaceToDepth"):
        op.may_fail("onnxruntime runs ONNX's function, whose channels are the second axis")
        return [Tensor(op.dtype("X"))]
    return channels_last(op, onnx_rule(op, op.version), op.inputs, version=op.version)


@rule("MaxUnpool", "X I output_shape -> output", domain=NHWC)
def max_unpool(op: Op) -> Sequence[Value]:
    """MaxUnpool with the channels of X and of the output as the last axis; those of I are the second."""
    outputs = channels_last(op, onnx_rule(op, op.version), op.inputs, version=op.version)
    x, indices = (value.shape if isinstance(value, Tensor) else TOP_SHAPE for value in map(op.value, "XI"))
    fits = not x.is_top and len(x) > 2 and not indices.is_top and indices.dims == (x[0], x[-1], *x[1:-1])
    # The order of the sizes is undocumented.
    return outputs if fits and not op.has("output_shape") else [of_rank(value) for value in outputs]


@rule("Resize", "X roi scales sizes -> Y", domain=NHWC)
def resize_image(op: Op) -> Sequence[Value]:
    """Resize: constant scales and sizes are in the order of X's axes; others may not be."""
    outputs = restate(op, onnx_rule(op, op.version), op.inputs, version=op.version)
    constants = all(op.block(name) is not None for name in ("scales", "sizes") if op.has(name))
    return outputs if constants else [of_rank(value) for value in outputs]


# Quantised images. The scale and the zero point of a tensor follow it in the inputs.


_POOLED = "X x_scale x_zero_point y_scale y_zero_point"


@rule("QLinearAveragePool", f"{_POOLED} -> Y", domain=NHWC)
def q_linear_average_pool_nhwc(op: Op) -> Sequence[Value]:
    """AveragePool of a quantised image with the channels as the last axis."""
    outputs = channels_last(op, pooling.average_pool, op.inputs[:1])
    # With the attribute of com.microsoft's operator, inference moves the channels twice.
    return [of_rank(value) for value in outputs] if op.integer("channels_last", 0) else outputs


_CONVOLVED = "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B"


@rule("QLinearConvTranspose", f"{_CONVOLVED} -> y", domain=NHWC)
def q_linear_conv_transpose(op: Op) -> Value:
    """ConvTranspose of a quantised image with the channels as the last axis, in the type of y_zero_point."""
    op.may_fail("scales and zero points must fit")
    inputs = [retyped(op.value(name), op.dtype("y_zero_point")) for name in ("x", "w", "B")]
    return channels_last(op, convolution.conv_transpose, inputs)[0]


def _laid_out(op: Op, rule: Rule, inputs: Sequence[Value | None]) -> Sequence[Value]:
    """The outputs of a rule in the layout of the attribute channels_last."""
    return channels_last(op, rule, inputs) if op.integer("channels_last", 0) else restate(op, rule, inputs)


@kernel("QLinearConv", f"{_CONVOLVED} -> y")
def q_linear_conv(op: Op) -> Sequence[Value]:
    """QLinearConv; with the attribute channels_last the channels of x and y are the last axis."""
    require_one_value(op, "x_scale", "x_zero_point", "y_scale", "y_zero_point")
    weight = op.tensor("w").shape
    require_one_value(op, "w_scale", "w_zero_point", each=weight[0] if weight.rank else UNKNOWN_SIZE)
    return _laid_out(op, convolution.qlinear_conv, op.inputs)


@kernel("QLinearAveragePool", f"{_POOLED} -> Y")
def q_linear_average_pool(op: Op) -> Sequence[Value]:
    """AveragePool of a quantised image; with the attribute channels_last the channels are the last axis."""
    parameters = _POOLED.split()[1:]
    require_one_value(op, *parameters)
    may_refuse_vectors(op, *parameters)
    require_names(op, "x_zero_point", "y_zero_point")
    outputs = _laid_out(op, pooling.average_pool, op.inputs[:1])
    x, y = (value.shape if isinstance(value, Tensor) else TOP_SHAPE for value in (op.tensor("X"), *outputs))
    not_empty(op, "onnxruntime may crash if there is nothing to compute", x, y)
    _may_leave_the_range(op, x, ge(_image_size(op, y), 2))  # a window as large as the image is a global pool
    return outputs


@kernel("QLinearGlobalAveragePool", f"{_POOLED} -> Y")
def q_linear_global_average_pool(op: Op) -> Tensor:
    """GlobalAveragePool of a quantised image; with the attribute channels_last the channels are the last axis."""
    require_one_value(op, *_POOLED.split()[1:])
    x = op.tensor("X")
    _may_leave_the_range(op, x.shape)
    if op.ranked("X", 3).is_top:
        return Tensor(x.dtype)
    spatial = range(1, len(x.shape) - 1) if op.integer("channels_last", 0) else range(2, len(x.shape))
    for axis in spatial:
        op.require(ge(x.shape[axis], 1), f"axis {axis} must not be empty")
    return Tensor(x.dtype, shape_of(tuple(Dim(1) if axis in spatial else size for axis, size in enumerate(x.shape))))


def _image_size(op: Op, shape: Shape) -> Dim:
    if shape.is_top or len(shape) < 3:
        return UNKNOWN_SIZE
    return product(shape[1:-1] if op.integer("channels_last", 0) else shape[2:])


def _may_leave_the_range(op: Op, shape: Shape, unless: Relation = FALSE) -> None:
    """onnxruntime multiplies by x_scale / (y_scale * elements of an image), which must be in [2**-32, 256)."""
    size, scales = _image_size(op, shape), [only_number(op, name) for name in ("x_scale", "y_scale")]
    fits = FALSE
    if all(scale > 0 for scale in scales):
        ratio = scales[0] / scales[1]
        # A factor of 2 covers the rounding of float32.
        fits = ge(size, int(ratio / 128) + 1) & ge(int(ratio * 2**31), size)
    op.may_fail("the scales must be in the range that onnxruntime supports", unless=unless | fits)


@kernel("NhwcMaxPool", "x -> y")
def nhwc_max_pool(op: Op) -> Sequence[Value]:
    """MaxPool of an image with the channels as the last axis."""
    op.tensor("x")
    return channels_last(op, pooling.max_pool, op.inputs)[:1]


def nhwc_conv(op: Op) -> Sequence[Value]:
    """Conv of X (N, spatial..., C) with W (M, C/group, kernel...): N, positions, M; fused, plus Z, and activated."""
    if "Z" in op.rule.places:
        check_activation(op)
        op.may_fail("Z must have the shape of the output", unless=not op.has("Z"))
    return channels_last(op, convolution.conv, op.inputs[:3])


plain_conv = device("NhwcConv", "X W B -> Y")(nhwc_conv)
fused_conv = device("NhwcFusedConv", "X W B Z -> Y")(nhwc_conv)


# Windows that other inputs change


@kernel("MaxpoolWithMask", "X M -> Y")
def maxpool_with_mask(op: Op) -> Sequence[Value]:
    """MaxPool of the elements of X that the mask M keeps. Batch and channels of M are repeated."""
    x, mask = op.tensor("X").shape, op.tensor("M").shape
    if x.is_top or mask.is_top:
        op.may_fail("the mask must fit X")
    elif len(x) != len(mask):
        op.reject(f"the mask must have the rank of X, found shapes {x} and {mask}")
    else:
        for axis in range(2, len(x)):
            op.require_equal(mask[axis], x[axis], f"the mask must have the size of X on axis {axis}")
        op.require(eq(product(x[:2]), 0) | filled(mask[:2]), "the mask must not be empty")
    return restate(op, pooling.max_pool, op.inputs[:1])[:1]


@kernel("ConvTransposeWithDynamicPads", "X W Pads B -> Y")
def conv_transpose_with_dynamic_pads(op: Op) -> Value:
    """ConvTranspose with the pads in an input."""
    op.reject("onnxruntime needs the pads", unless=op.has("Pads"))
    for pad in op.integers("Pads") or ():
        op.require(ge(pad, 0), "pads must not be negative")
    pads, shape = op.constants("Pads"), op.tensor("Pads").shape
    rank = next((s.rank for s in (op.tensor("X").shape, op.tensor("W").shape) if s.rank is not None), None)
    if rank is None:
        op.may_fail("each spatial axis must have two pads")
        return Tensor(op.common_dtype("X", "W", "B"))
    op.require_equal(shape.size, 2 * (rank - 2), "each spatial axis must have two pads")
    if pads is not None:
        chosen = (op.string("auto_pad", "NOTSET") or "NOTSET") != "NOTSET"
        return _transposed(op, {} if chosen else {"pads": pads})
    # As if the output sizes were given: they depend on the pads.
    op.may_fail("the output must not be empty")
    result = _transposed(op, {"output_shape": [1] * (rank - 2)})
    if result.shape.is_top:
        return result
    return Tensor(result.dtype, Shape([*result.shape[:2], *[UNKNOWN_SIZE] * (rank - 2)]))


def _transposed(op: Op, attributes: Mapping[str, AttributeValue]) -> Tensor:
    inputs = [op.value(name) for name in ("X", "W", "B")]
    result, *_ = restate(op, convolution.conv_transpose, inputs, attributes={**op.attributes, **attributes})
    assert isinstance(result, Tensor)
    return result


# Channels in blocks


NCHWC = "com.microsoft.nchwc"

LEAST_BLOCK, LARGEST_BLOCK = 8, 16


def _require_blocks(op: Op, channels: Dim) -> None:
    op.require(divisible(channels, LEAST_BLOCK), "channels of X must be a multiple of the block size")
    op.may_fail("the block size must be the processor's", unless=divisible(channels, LARGEST_BLOCK))


@rule("ReorderInput", "X -> Y", domain=NCHWC, complete=True)
def reorder_input(op: Op) -> Tensor:
    """(N, C, H, W), or (N, H, W, C) with the attribute channels_last, to blocks: C is padded to whole blocks."""
    batch, *sizes = op.sizes("X", 4)
    channels = sizes.pop(-1 if op.integer("channels_last", 0) else 0)
    op.require(divisible(channels, 4), "channels of X must be a multiple of 4")
    return Tensor(op.dtype("X"), shape_of((batch, _padded(op, channels), *sizes)))


def _padded(op: Op, channels: Dim) -> Dim:
    least, largest = (ceildiv(channels, block) * block for block in (LEAST_BLOCK, LARGEST_BLOCK))
    if op.is_equal(least, largest) is YES:
        return least
    if least.is_concrete and largest.is_concrete:
        return Unknown(Interval(int(least), int(largest)), Congruence.of(LEAST_BLOCK, 0))
    padded = op.fresh("padded")
    bounds = conjunction(ge(padded, least), le(padded, largest), divisible(padded, LEAST_BLOCK))
    op.define(bounds, "channels fill whole blocks")
    return padded


@rule("ReorderOutput", "X -> Y", domain=NCHWC, complete=True)
def reorder_output(op: Op) -> Tensor:
    """Blocks back to (N, C, H, W), or (N, H, W, C) with the attribute channels_last, with C as the attributes say."""
    batch, padded, *sizes = op.sizes("X", 4)
    channels = op.integer("channels", 0)
    op.reject("channels must be positive", unless=channels > 0, found=channels)
    _require_blocks(op, padded)
    op.require(ge(padded, channels), "the blocks must hold all channels")
    op.require(le(padded, channels + LARGEST_BLOCK - 1), "blocks must not be empty")
    op.may_fail("the block size must be the processor's", unless=le(padded, channels + LEAST_BLOCK - 1))
    sizes.insert(len(sizes) if op.integer("channels_last", 0) else 0, const(channels))
    return Tensor(op.dtype("X"), shape_of((batch, *sizes)))


@rule("AveragePool GlobalAveragePool GlobalMaxPool MaxPool", "X -> Y", domain=NCHWC, complete=True)
def pool(op: Op) -> Value:
    """The rule of ONNX's operator of that name, for channels in blocks."""
    _, channels, *sizes = op.sizes("X", 4)
    _require_blocks(op, channels)
    result = restate(op, onnx_rule(op, NEWEST), op.inputs)[0]
    pooled = result.shape[2:] if isinstance(result, Tensor) and result.shape.rank is not None else (UNKNOWN_SIZE,)
    positive(op, "onnxruntime may crash on an empty image", (*sizes, *pooled))
    return result


@rule("Conv", "X W B Sum -> Y", domain=NCHWC, complete=True)
def conv(op: Op) -> Value:
    """Conv; X of fewer channels than a block is not blocked, and Sum of the output's shape is added."""
    channels = op.sizes("X", 4)[1]
    check_activation(op)
    fewer = le(channels, LARGEST_BLOCK - 1)
    op.require(fewer | divisible(channels, LEAST_BLOCK), "channels of X must be fewer than a block or fill blocks")
    result = restate(op, onnx_rule(op, NEWEST), op.inputs[:3])[0]
    require_sum(op, "Sum", result)
    outputs = result.shape[1] if isinstance(result, Tensor) and result.shape.rank == 4 else UNKNOWN_SIZE
    op.require(ge(channels, 1) & ge(outputs, 1), "X and W must have channels")
    op.require(divisible(outputs, LEAST_BLOCK), "the weights must fill blocks")
    either = le(channels, LEAST_BLOCK - 1) | divisible(channels, LARGEST_BLOCK)
    fits = FALSE if op.integer("group", 1) != 1 else either & divisible(outputs, LARGEST_BLOCK)
    op.may_fail("the block size must be the processor's, and groups must fill blocks", unless=fits)
    return result


_MODES = ("align_corners", "half_pixel", "asymmetric")


@rule("Upsample", "X -> Y", domain=NCHWC, complete=True)
def upsample(op: Op) -> Tensor:
    """Height and width times the integers of the attribute scales."""
    batch, channels, *sizes = op.sizes("X", 4)
    scales = op.ints("scales")
    _require_blocks(op, channels)
    mode, moved = op.string("mode", "nearest"), op.string("coordinate_transformation_mode", "asymmetric")
    if mode not in ("nearest", "linear") or moved not in _MODES[2 if mode == "nearest" else 0 :]:
        op.reject(f"mode must be nearest of asymmetric coordinates, or linear, found {mode} and {moved}")
    if scales is None or len(scales) != 4:
        op.reject(f"scales must have 4 values, found {len(scales or ())}")
    if scales[:2] != [1, 1] or any(scale < 1 for scale in scales):
        op.reject(f"scales must be positive, and 1 for batch and channels, found {scales}")
    scaled = [size * scale for size, scale in zip(sizes, scales[2:], strict=True)]
    return Tensor(op.dtype("X"), shape_of((batch, channels, *scaled)))
