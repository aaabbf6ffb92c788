"""Plugins of TensorRT that onnxruntime registers in ONNX's domain: types, and the shapes that it infers for them."""

from __future__ import annotations

from collections.abc import Sequence

from absint.lattices.dtype import DType
from absint.lattices.records import changed
from absint.lattices.value import Tensor
from absint.transfer.contrib.agreement import of_dims, sizes
from absint.transfer.op import Op
from absint.transfer.rule import rule, shaped

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
