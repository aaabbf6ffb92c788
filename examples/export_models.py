"""The making of tiny_decoder.onnx and tiny_detector.onnx: PyTorch's TorchScript exporter, random weights.

    pip install torch==2.13.0 onnx onnxruntime numpy
    python examples/export_models.py [FOLDER]

PyTorch is needed only to make the files again. Each model is run at several sizes in onnxruntime before it is kept.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from torch import Tensor, nn

Feed = dict[str, np.ndarray]

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


def decoder_feed(batch: int, seq: int, past: int) -> Feed:
    rng = np.random.default_rng(0)
    feed = {
        "input_ids": rng.integers(0, VOCAB, (batch, seq), dtype=np.int64),
        "attention_mask": np.ones((batch, past + seq), np.int64),
    }
    for name in cache_names("past_key_values"):
        feed[name] = rng.standard_normal((batch, KV_HEADS, past, HEAD_DIM)).astype(np.float32)
    return feed


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


def detector_feed(batch: int, height: int, width: int) -> Feed:
    return {"image": np.random.default_rng(0).random((batch, 3, height, width), dtype=np.float32)}


# Export


def export(model: nn.Module, feed: Feed, outputs: list[str], axes: dict[str, dict[int, str]]) -> onnx.ModelProto:
    buffer = io.BytesIO()
    torch.onnx.export(
        model.eval(),
        tuple(torch.from_numpy(array) for array in feed.values()),
        buffer,
        input_names=list(feed),
        output_names=outputs,
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    proto = onnx.load_from_string(buffer.getvalue())
    forget_where_it_was_made(proto)
    onnx.checker.check_model(proto)
    return proto


def forget_where_it_was_made(proto: onnx.ModelProto) -> None:
    """Drop texts that name source files; the models are otherwise as the exporter wrote them."""
    del proto.metadata_props[:]
    for node in proto.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]


def keep(proto: onnx.ModelProto, path: Path, feeds: list[Feed], limit: int) -> None:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for feed in feeds:
        results = session.run(None, feed)
        print({name: array.shape for name, array in feed.items()}, "->")
        print("   ", {name: array.shape for name, array in zip(names, results, strict=True)})
    data = proto.SerializeToString()
    assert len(data) <= limit, f"{path.name} has {len(data)} bytes"
    path.write_bytes(data)
    print(f"{path.name}: {len(data)} bytes, {len(proto.graph.node)} nodes\n")


def export_decoder() -> onnx.ModelProto:
    past, present = cache_names("past_key_values"), cache_names("present")
    axes = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "past + seq"}}
    axes |= {name: {0: "batch", 2: "past"} for name in past}
    axes |= {name: {0: "batch", 2: "past + seq"} for name in present}
    return export(Decoder(), decoder_feed(2, 3, 5), ["logits", *present], axes)


def export_detector() -> onnx.ModelProto:
    outputs = ["boxes", "scores", "labels", "image_index"]
    axes = {"image": {0: "batch", 2: "height", 3: "width"}} | {name: {0: "detections"} for name in outputs}
    return export(Detector(), detector_feed(2, 64, 96), outputs, axes)


def main(folder: Path) -> None:
    sizes: list[tuple[Callable[[], onnx.ModelProto], str, list[Feed], int]] = [
        (
            export_decoder,
            "tiny_decoder.onnx",
            [decoder_feed(*size) for size in ((1, 1, 0), (1, 7, 0), (3, 1, 9), (2, 4, 6))],
            150_000,
        ),
        (
            export_detector,
            "tiny_detector.onnx",
            [detector_feed(*size) for size in ((1, 64, 64), (2, 33, 70), (1, 1, 1), (4, 15, 9))],
            100_000,
        ),
    ]
    for make, name, feeds, limit in sizes:
        torch.manual_seed(0)
        keep(make(), folder / name, feeds, limit)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
