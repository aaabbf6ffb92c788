"""Operators that onnxruntime keeps in ONNX's domain, which never had them or lost them before version 10.

Plugins of TensorRT are among them: types, and the shapes that onnxruntime infers.
"""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import ge
from absint.lattices.records import changed
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims
from absint.transfer.elementwise import identity
from absint.transfer.op import Op
from absint.transfer.rule import Outputs, rule, shaped
from absint.transfer.slicing import slice_input

LAST = 9
"""The last version of ONNX's domain that has them."""

MAPPED = shaped(
    """
    # The shape and type of the input.
    Affine Scale: X[...] -> Y[...]
    """,
    until=LAST,
    complete=True,
) + shaped(
    """
    # The hidden state after one more step of a GRU: the type of the state before.
    GRUUnit: hidden_prev gates seq_lengths t -> hidden:hidden_prev
    ! the gates must fit the state
    """,
    until=LAST,
)


@rule("ParametricSoftplus ScaledTanh", "X -> Y", until=LAST, complete=True)
def parametric(op: Op) -> Tensor:
    """A function of each element with the parameters alpha and beta: the shape of X."""
    for name in ("alpha", "beta"):
        if name not in op.attributes:
            op.reject(f"attribute {name} must be given")
    return Tensor(op.dtype("X"), op.tensor("X").shape)


copied = rule("MemcpyFromHost MemcpyToHost", "X -> Y", complete=True, elements=True)(identity.function)


@rule("DynamicSlice", "data starts ends axes steps -> output", until=LAST, complete=True, elements=True)
def dynamic_slice(op: Op) -> Outputs:
    """Slice, whose bounds no schema requires."""
    op.require_given("data", "starts", "ends")
    return slice_input.function(op)


@rule("ImageScaler", "input -> output", until=LAST, complete=True)
def image_scaler(op: Op) -> Tensor:
    """Images (N, C, H, W), scaled, with a bias for each channel: their shape."""
    op.require_given("input")
    bias = op.attributes.get("bias")
    shape = op.tensor("input").shape
    if not isinstance(bias, list):
        op.reject("attribute bias must be given")
    if not shape.is_top and len(shape) > 4:
        op.may_fail("the input must have rank 4: onnxruntime ignores further axes")
        if op.dtype("input") is not DType.FLOAT:
            return Tensor(op.dtype("input"))  # no kernel of theirs tells
        dims = shape.dims[:4]
    else:
        dims = tuple(op.sizes("input", 4))
    op.require_equal(dims[1], len(bias), "each channel must have a bias")
    return of_dims(op.dtype("input"), *dims)


@rule("Crop", "input -> output", until=LAST, complete=True)
def crop(op: Op) -> Tensor:
    """Images (N, C, H, W) without their borders, or with `scale`, that size from the top left border on."""
    op.require_given("input")
    border, scale = op.ints("border") or [], op.ints("scale")
    if len(border) != 4 or min(border) < 0:
        op.reject(f"border must be four sizes, found {border}")
    if scale is not None and (len(scale) != 2 or min(scale) < 0):
        op.reject(f"scale must be two sizes, found {scale}")
    *lead, height, width = op.sizes("input", 4)
    left, top, right, bottom = border
    cut = [_cut(op, height, top, scale[0] if scale else None, bottom, "height")]
    cut.append(_cut(op, width, left, scale[1] if scale else None, right, "width"))
    return of_dims(op.dtype("input"), *lead, *cut)


def _cut(op: Op, size: Dim, before: int, kept: int | None, after: int, what: str) -> Dim | int:
    """The rest of an axis."""
    op.require(ge(size, before + (after if kept is None else kept)), f"the {what} must have room for the border")
    return size - (before + after) if kept is None else kept


@rule("GivenTensorFill", "shape -> X", until=LAST)
def given_tensor_fill(op: Op) -> Tensor:
    """A tensor of the shape of the attribute; else of the input's shape with `extra_shape` after it."""
    shape, dims, dtype = op.tensor("shape").shape if op.has("shape") else TOP_SHAPE, op.ints("shape"), op.dtype("shape")
    op.may_fail("the values must fill the tensor")
    if dims is not None:
        return of_dims(dtype, *dims)
    if shape.is_top or op.integer("input_as_shape", 0):
        return Tensor(dtype)
    return of_dims(dtype, *shape, *(op.ints("extra_shape") or []))


PLUGINS = shaped(
    """
    # Attention of contents and positions: the shape of the attention of contents.
    DisentangledAttention_TRT: c2c_attention[...] c2p_attention p2c_attention
        -> disentangled_attention:c2c_attention&c2p_attention&p2c_attention[...]
    ! TensorRT must run the node
    # A patch of each of R boxes of each image (B, R, 4): (B, R, channels, pooled_size, pooled_size).
    MultilevelCropAndResize_TRT PyramidROIAlign_TRT:
        boxes[B, R, ?] feature_map_0[?, C, ?, ?] feature_map_1 feature_map_2 feature_map_3
        -> patches[B, R, C, pooled_size, pooled_size]
    ! TensorRT must run the node
    """
)


@rule("EfficientNMS_TRT", "boxes scores anchors -> num_detections detection_boxes detection_scores detection_classes")
def efficient_nms(op: Op) -> Sequence[Tensor]:
    """At most max_output_boxes boxes of each image (B): counts (B, 1), boxes (B, n, 4), scores and classes (B, n)."""
    op.may_fail("TensorRT must run the node")
    boxes, count = op.tensor("boxes").shape, op.positive("max_output_boxes")
    batch = boxes[0] if boxes.rank else op.sizes("scores", 3)[0]
    dtype = op.common_dtype("boxes", "scores")
    return (
        of_dims(DType.INT32, batch, 1),
        of_dims(dtype, batch, count, 4),
        of_dims(dtype, batch, count),
        of_dims(DType.INT32, batch, count),
    )


efficient_nms_trt = changed(efficient_nms, domain="TRT")
"""As some exporters write it."""
