"""The models that ship with the examples: a decoder with a cache, as Llama has it, and a detector, as CenterNet is."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from architectures.record import TORCHSCRIPT, Architecture, Inputs

VOCAB, HIDDEN, MLP, LAYERS = 64, 32, 48, 2
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 8
CLASSES = 4


# A Llama-style decoder: RMSNorm, rotary positions, grouped-query attention with a KV cache, SwiGLU.


class RMSNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotary(positions: Tensor) -> tuple[Tensor, Tensor]:
    frequencies = 10000.0 ** (-torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM)
    angles = positions[:, None, :, None].float() * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * cos + torch.cat((-right, left), dim=-1) * sin


def repeat_heads(x: Tensor) -> Tensor:
    """(batch, kv_heads, length, head_dim) -> (batch, heads, length, head_dim)."""
    batch, heads, length, dim = x.shape
    times = HEADS // KV_HEADS
    return x[:, :, None].expand(batch, heads, times, length, dim).reshape(batch, heads * times, length, dim)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HEADS * HEAD_DIM, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD_DIM, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD_DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD_DIM, HIDDEN, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, bias: Tensor, past: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, seq, _ = x.shape
        query = self.q_proj(x).view(batch, seq, HEADS, HEAD_DIM).transpose(1, 2)
        key = self.k_proj(x).view(batch, seq, KV_HEADS, HEAD_DIM).transpose(1, 2)
        value = self.v_proj(x).view(batch, seq, KV_HEADS, HEAD_DIM).transpose(1, 2)
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
        scores = query @ repeat_heads(key).transpose(2, 3) / HEAD_DIM**0.5 + bias
        mixed = scores.softmax(-1) @ repeat_heads(value)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, seq, HEADS * HEAD_DIM)), (key, value)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_norm, self.post_norm = RMSNorm(), RMSNorm()
        self.attention = Attention()
        self.gate_proj = nn.Linear(HIDDEN, MLP, bias=False)
        self.up_proj = nn.Linear(HIDDEN, MLP, bias=False)
        self.down_proj = nn.Linear(MLP, HIDDEN, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, bias: Tensor, past: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        attended, present = self.attention(self.input_norm(x), cos, sin, bias, past)
        x = x + attended
        y = self.post_norm(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y)), present


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = RMSNorm()
        self.lm_head = nn.Linear(HIDDEN, VOCAB, bias=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        past = caches[0].shape[2]
        seq = input_ids.shape[1]
        positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)[:, past:]
        cos, sin = rotary(positions)
        visible = torch.arange(past + seq)[None, :] <= torch.arange(past, past + seq)[:, None]
        visible = visible[None, None] & attention_mask[:, None, None, :].bool()
        bias = torch.where(visible, 0.0, -1e9)

        x = self.embed(input_ids)
        present: list[Tensor] = []
        for i, layer in enumerate(self.layers):
            x, cache = layer(x, cos, sin, bias, (caches[2 * i], caches[2 * i + 1]))
            present.extend(cache)
        return self.lm_head(self.norm(x)), *present


def cache_names(prefix: str) -> list[str]:
    return [f"{prefix}.{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]


# A CenterNet-style detector: strided backbone, feature pyramid, a peak is a local maximum of the heat map.


class ConvBlock(nn.Sequential):
    def __init__(self, channels_in: int, channels_out: int, kernel: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(channels_in, channels_out, kernel, stride, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(),
        )


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(ConvBlock(3, 8, kernel=7, stride=2), nn.MaxPool2d(3, stride=2, padding=1))
        self.stage2 = ConvBlock(8, 16, stride=2)
        self.stage3 = ConvBlock(16, 16, stride=2)
        self.merge2 = ConvBlock(16 + 16, 16)
        self.merge1 = ConvBlock(16 + 8, 16)
        self.heat = nn.Conv2d(16, CLASSES, 1)
        self.size = nn.Conv2d(16, 4, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        level1 = self.stem(image)
        level2 = self.stage2(level1)
        level3 = self.stage3(level2)
        level2 = self.merge2(torch.cat((upsample_like(level3, level2), level2), dim=1))
        level1 = self.merge1(torch.cat((upsample_like(level2, level1), level1), dim=1))

        heat = self.heat(level1).sigmoid()
        peaks = (heat == F.max_pool2d(heat, 3, stride=1, padding=1)) & (heat > 0.5)
        image_index, label, row, column = peaks.nonzero().unbind(1)
        scores = heat[image_index, label, row, column]
        left, top, right, bottom = self.size(level1).relu().permute(0, 2, 3, 1)[image_index, row, column].unbind(1)
        boxes = torch.stack((column - left, row - top, column + right, row + bottom), dim=1) * 4.0
        return boxes, scores, label, image_index


def upsample_like(x: Tensor, target: Tensor) -> Tensor:
    return F.interpolate(x, size=target.shape[-2:], mode="nearest")


# With the inputs that they are exported with


def decoder_inputs(batch: int = 2, seq: int = 3, past: int = 5) -> Inputs:
    cache = torch.randn(batch, KV_HEADS, past, HEAD_DIM)
    return {
        "input_ids": (torch.randint(0, VOCAB, (batch, seq)), ["batch", "seq"]),
        "attention_mask": (torch.ones(batch, past + seq, dtype=torch.int64), ["batch", "past + seq"]),
        **{name: (cache, ["batch", KV_HEADS, "past", HEAD_DIM]) for name in cache_names("past_key_values")},
    }


def detector_inputs(batch: int = 2, height: int = 64, width: int = 96) -> Inputs:
    return {"image": (torch.rand(batch, 3, height, width), ["batch", 3, "height", "width"])}


PRESENT = cache_names("present")
FOUND = ["boxes", "scores", "labels", "image_index"]

DECODER = Architecture(
    "tiny_decoder", lambda _: Decoder(), decoder_inputs, TORCHSCRIPT, 17, ["logits", *PRESENT],
    {name: {0: "batch", 2: "past + seq"} for name in PRESENT},
)  # fmt: skip
DETECTOR = Architecture(
    "tiny_detector", lambda _: Detector(), detector_inputs, TORCHSCRIPT, 17, FOUND,
    {name: {0: "detections"} for name in FOUND},
)  # fmt: skip

__all__ = ["DECODER", "DETECTOR"]
