"""Plugins of TensorRT that onnxruntime registers in ONNX's domain: types, and the shapes that it infers for them."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.records import changed
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims, positive, sizes
from absint.transfer.op import Op
from absint.transfer.rule import rule


@rule(
    "DisentangledAttention_TRT",
    inputs="c2c_attention c2p_attention p2c_attention",
    outputs="disentangled_attention",
)
def disentangled_attention(op: Op) -> Tensor:
    """Attention of contents and positions: the shape of the attention of contents."""
    op.may_fail("TensorRT must run the node")
    content = op.tensor("c2c_attention")
    return Tensor(op.common_dtype("c2c_attention", "c2p_attention", "p2c_attention"), content.shape)


@rule(
    "EfficientNMS_TRT",
    inputs="boxes scores anchors",
    outputs="num_detections detection_boxes detection_scores detection_classes",
)
def efficient_nms(op: Op) -> Sequence[Tensor]:
    """At most max_output_boxes boxes of each image (B): counts (B, 1), boxes (B, n, 4), scores and classes (B, n)."""
    op.may_fail("TensorRT must run the node")
    boxes, count = op.tensor("boxes").shape, positive(op, "max_output_boxes")
    batch = boxes[0] if boxes.rank else sizes(op, "scores", 3)[0]
    dtype = op.common_dtype("boxes", "scores")
    return (
        of_dims(DType.INT32, batch, 1),
        of_dims(dtype, batch, count, 4),
        of_dims(dtype, batch, count),
        of_dims(DType.INT32, batch, count),
    )


efficient_nms_trt = changed(efficient_nms, domain="TRT")
"""As some exporters write it."""


@rule(
    "MultilevelCropAndResize_TRT PyramidROIAlign_TRT",
    inputs="boxes feature_map_0 feature_map_1 feature_map_2 feature_map_3",
    outputs="patches",
)
def region_of_pyramid(op: Op) -> Tensor:
    """A patch of each of R boxes of each image (B, R, 4): (B, R, channels, pooled_size, pooled_size)."""
    op.may_fail("TensorRT must run the node")
    batch, regions, _ = sizes(op, "boxes", 3)
    channels, pooled = sizes(op, "feature_map_0", 4)[1], positive(op, "pooled_size")
    return of_dims(op.dtype("boxes"), batch, regions, channels, pooled, pooled)
