"""Pictures with text, and inputs of other kinds."""

from __future__ import annotations

import torch
import transformers

from architectures.hugging_face import SMALL, both, floats, ids, image, model, ones, text
from architectures.record import TORCHSCRIPT, Inputs

WORDS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 40}
VIEW = {**WORDS, "image_size": 64, "patch_size": 16}
VIEW.pop("vocab_size")
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def clip() -> transformers.CLIPConfig:
    words = {**WORDS, **ENDS, "max_position_embeddings": 16}
    return transformers.CLIPConfig(text_config=words, vision_config=VIEW, projection_dim=16)


def owlvit() -> transformers.OwlViTConfig:
    return transformers.OwlViTConfig(text_config={**WORDS, **ENDS}, vision_config=VIEW, projection_dim=32)


def sam() -> transformers.SamConfig:
    return transformers.SamConfig(
        vision_config={**VIEW, "window_size": 2, "global_attn_indexes": [1], "output_channels": 256, "mlp_dim": 32},
        prompt_encoder_config={"hidden_size": 256, "image_size": 64, "patch_size": 16, "mask_input_channels": 4},
        mask_decoder_config={
            "hidden_size": 256, "num_hidden_layers": 1, "num_attention_heads": 2, "mlp_dim": 16,
            "iou_head_hidden_dim": 8, "attention_downsample_rate": 1,
        },
    )  # fmt: skip


def points() -> Inputs:
    """Points in the pictures."""
    return {
        "input_points": (torch.rand(2, 3, 2, 2) * 60, ["batch", "groups", "points", 2]),
        "input_labels": (ones(2, 3, 2), ["batch", "groups", "points"]),
    }


def boxes() -> Inputs:
    """A box for each word."""
    return {"bbox": (torch.sort(ids(2, 8, 4), dim=-1).values, ["batch", "seq", 4])}


def queries() -> Inputs:
    """Texts to look for."""
    dims = ["queries", "seq"]
    return {"input_ids": (ids(4, 5), dims), "attention_mask": (ones(4, 5), dims)}


MIXED = (
    model("clip", "CLIPModel", both(text(), image(64, 64, fixed=True)), TORCHSCRIPT, config=clip),
    model("owlvit", "OwlViTForObjectDetection", both(queries, image(64, 64, fixed=True)), TORCHSCRIPT, config=owlvit),
    model("sam", "SamModel", both(image(64, 64, fixed=True), points), TORCHSCRIPT, config=sam),
    model("layoutlmv3", "LayoutLMv3Model", both(text(2, 8, mask=False), boxes, image(32, 32, fixed=True)),
          TORCHSCRIPT, max_2d_position_embeddings=32, coordinate_size=4, shape_size=8, input_size=32, rel_pos_bins=8,
          rel_2d_pos_bins=8, **SMALL),
    model("perceiver", "PerceiverModel", floats("inputs", (2, 7, 16), ["batch", "seq", 16]), TORCHSCRIPT,
          num_latents=4, d_latents=16, d_model=16, num_blocks=1, num_self_attends_per_block=1,
          num_self_attention_heads=2, num_cross_attention_heads=2),
)  # fmt: skip

__all__ = ["MIXED"]
