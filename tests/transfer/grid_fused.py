"""Grids of the fused operators that onnxruntime's optimiser writes."""

from __future__ import annotations

import random

import numpy as np
from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import near
from tests.transfer.harness import Arg, Case

I32 = TensorProto.INT32


def attention(rng: random.Random) -> Case:
    heads, head = rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
    batch, length, features = (rng.choice((0, 1, 2, 3)) if rng.random() < 0.2 else rng.choice((1, 2, 3)) for _ in "bsf")
    hidden = near(rng, heads * head, 0.1)
    inputs: list[Arg | None] = [
        Arg([batch, length, features]), Arg([near(rng, features, 0.03), 3 * hidden]), Arg([near(rng, 3 * hidden, 0.03)])
    ]  # fmt: skip
    masks = (
        [batch],
        [batch, length],
        [near(rng, batch, 0.5)],
        [batch, near(rng, length, 0.5)],
        [2 * batch],
        [batch, 1],
    )
    if rng.random() < 0.6:
        inputs.append(Arg(rng.choice(masks), I32, low=0, high=max(length, 1) + 1))
    attributes = subset(rng, {"unidirectional": [0, 1], "scale": [0.5], "mask_filter_value": [-1000.0]}, 0.2)
    return Case("Attention", inputs, attributes | {"num_heads": heads}, domain="com.microsoft", opset=1)


def embed_layer_normalization(rng: random.Random) -> Case:
    batch, length = (rng.choice((0, 1, 2, 3)) for _ in "bs")
    words, positions, segments, width = 5, rng.choice((2, 3, 4)), 2, rng.choice((1, 4))

    def ids(last: int) -> Arg:
        low, high = (-1, last + 1) if rng.random() < 0.1 else (0, last)
        rows = [[rng.randint(low, high - 1) for _ in range(length)] for _ in range(batch)]
        return Arg(elements=rows, dtype=I32) if batch and length else Arg([batch, length], I32)

    segmented = rng.random() < 0.6
    vector = [near(rng, width, 0.03)]

    def table(*shape: int) -> Arg:
        return Arg(elements=np.full(shape, 0.5).tolist())

    inputs: list[Arg | None] = [
        ids(words), ids(segments) if segmented else None,
        table(words, width), table(positions, near(rng, width, 0.03)), table(segments, width) if segmented else None,
        table(*vector), table(width),
    ]  # fmt: skip
    if rng.random() < 0.4:
        inputs.append(Arg([near(rng, batch, 0.03), length], I32, low=0, high=2))
    return Case("EmbedLayerNormalization", inputs, {}, 2, domain="com.microsoft", opset=1)


GRIDS = {"Attention": attention, "EmbedLayerNormalization": embed_layer_normalization}
