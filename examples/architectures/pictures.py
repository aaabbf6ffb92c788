"""Classifiers, backbones, detectors, segmentation and depth."""

from __future__ import annotations

import transformers

from architectures.hugging_face import STAGES, VISION, both, image, model, ones
from architectures.record import DYNAMO, TORCHSCRIPT, Inputs

SQUARE = {**VISION, "image_size": 64, "patch_size": 16}


def resnet(*stages: str) -> transformers.ResNetConfig:
    """A backbone."""
    return transformers.ResNetConfig(embedding_size=8, **STAGES, layer_type="basic", out_features=list(stages))


def convnext() -> transformers.UperNetConfig:
    """A decoder over four stages of a backbone."""
    backbone = transformers.ConvNextConfig(**STAGES, out_features=["stage1", "stage2", "stage3", "stage4"])
    return transformers.UperNetConfig(
        backbone_config=backbone, hidden_size=16, auxiliary_channels=8, auxiliary_in_channels=16, num_labels=4
    )


def conditional_detr() -> transformers.ConditionalDetrConfig:
    return transformers.ConditionalDetrConfig(
        backbone_config=resnet("stage4"), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        d_model=32,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, num_queries=5,
    )  # fmt: skip


def detr() -> transformers.DetrConfig:
    return transformers.DetrConfig(
        backbone_config=resnet("stage4"), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        d_model=32,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, num_queries=5,
    )  # fmt: skip


def deformable_detr() -> transformers.DeformableDetrConfig:
    return transformers.DeformableDetrConfig(
        backbone_config=resnet("stage2", "stage3", "stage4"), use_timm_backbone=False, use_pretrained_backbone=False,
        backbone=None, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=5, two_stage=True,
        two_stage_num_proposals=5, with_box_refine=True,
    )  # fmt: skip


def rt_detr() -> transformers.RTDetrConfig:
    backbone = transformers.RTDetrResNetConfig(
        embedding_size=8, **STAGES, out_features=["stage2", "stage3", "stage4"], layer_type="basic"
    )
    return transformers.RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=16, encoder_in_channels=[8, 16, 16], d_model=16, encoder_layers=1,
        encoder_ffn_dim=16, encoder_attention_heads=2, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=16,
        decoder_in_channels=[16, 16, 16], num_queries=5, num_denoising=0, num_labels=3, decoder_n_points=2,
    )  # fmt: skip


def mask() -> Inputs:
    return {"pixel_mask": (ones(2, 64, 96), ["batch", "height", "width"])}


PICTURES = (
    model("resnet", "ResNetModel", image(), embedding_size=8, layer_type="basic", **STAGES),
    model("regnet", "RegNetModel", image(), embedding_size=8, groups_width=8, **STAGES),
    model("mobilenet_v1", "MobileNetV1Model", image(), depth_multiplier=0.25),
    model("mobilenet_v2", "MobileNetV2ForSemanticSegmentation", image(), TORCHSCRIPT, depth_multiplier=0.25),
    model("convnext", "ConvNextModel", image(), **STAGES),
    model("convnextv2", "ConvNextV2Model", image(), **STAGES),
    model("poolformer", "PoolFormerModel", image(), TORCHSCRIPT, **STAGES),
    model("pvt_v2", "PvtV2Model", image(), TORCHSCRIPT, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1],
          num_attention_heads=[1, 1, 2, 2]),
    model("vit", "ViTModel", image(64, 64, fixed=True), **SQUARE),
    model("deit", "DeiTModel", image(64, 64, fixed=True), TORCHSCRIPT, **SQUARE),
    model("beit", "BeitModel", image(64, 64, fixed=True), TORCHSCRIPT, **SQUARE),
    model("dinov2", "Dinov2Backbone", image(70, 84), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
          image_size=56, patch_size=14, out_features=["stage1", "stage2"]),
    model("swin", "SwinBackbone", image(), TORCHSCRIPT, image_size=64, patch_size=4, embed_dim=8, depths=[2, 2],
          num_heads=[1, 2], window_size=3, out_features=["stage1", "stage2"]),
    model("swinv2", "Swinv2Model", image(), TORCHSCRIPT, image_size=64, patch_size=4, embed_dim=8, depths=[2, 2],
          num_heads=[1, 2], window_size=3),
    model("mobilevit", "MobileViTModel", image(), TORCHSCRIPT, hidden_sizes=[16, 16, 24], neck_hidden_sizes=[8, 8, 16,
          16, 16, 16, 32], num_attention_heads=2),
    model("segformer", "SegformerForSemanticSegmentation", image(), hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1],
          num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16),
    model("glpn", "GLPNForDepthEstimation", image(), hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1],
          num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16),
    model("dpt", "DPTForDepthEstimation", image(64, 64, fixed=True), TORCHSCRIPT, hidden_size=32, num_hidden_layers=4,
          num_attention_heads=2, intermediate_size=32, image_size=64, patch_size=16, backbone_out_indices=[0, 1, 2,
          3], neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16),
    model("upernet", "UperNetForSemanticSegmentation", image(), DYNAMO, config=convnext),
    model("yolos", "YolosForObjectDetection", image(), TORCHSCRIPT, image_size=[64, 96], num_detection_tokens=5,
          **VISION),
    model("vitdet", "VitDetModel", image(), TORCHSCRIPT, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
          image_size=64, pretrain_image_size=64, window_size=3, window_block_indices=[0]),
    model("detr", "DetrForObjectDetection", image(), config=detr),
    model("conditional_detr", "ConditionalDetrForObjectDetection", image(), TORCHSCRIPT, config=conditional_detr),
    model("deformable_detr", "DeformableDetrForObjectDetection", both(image(), mask), TORCHSCRIPT,
          config=deformable_detr),
    model("rt_detr", "RTDetrModel", image(), TORCHSCRIPT, config=rt_detr),
    model("swin2sr", "Swin2SRForImageSuperResolution", image(24, 36), TORCHSCRIPT, image_size=24, embed_dim=8,
          depths=[2], num_heads=[2], window_size=4, upscale=2),
)  # fmt: skip

__all__ = ["PICTURES"]
