"""Grids of the fused operators that onnxruntime's optimiser writes."""

from __future__ import annotations

import random

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


GRIDS = {"Attention": attention}
