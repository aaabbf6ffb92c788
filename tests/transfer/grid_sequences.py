"""A grid of SplitToSequence. The other operators of sequences are held to their promises in chains: test_sequences."""

from __future__ import annotations

import random

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import dims, near
from tests.transfer.harness import Arg, Case

I64, I32 = TensorProto.INT64, TensorProto.INT32


def split_to_sequence(rng: random.Random) -> Case:
    x = dims(rng, rng.choice((0, 1, 2, 2, 3)))
    axis = rng.randint(-len(x) - 1, len(x)) if rng.random() < 0.4 else 0
    attributes: dict[str, object] = {"axis": axis} if axis or rng.random() < 0.3 else {}
    attributes |= subset(rng, {"keepdims": [0, 1]}, 0.3)
    extent = x[axis] if -len(x) <= axis < len(x) else 1
    inputs = [Arg(x, rng.choice((TensorProto.FLOAT, I64)))]
    kind = rng.choice(("none", "scalar", "list", "list"))
    if kind == "scalar":
        inputs.append(Arg(elements=rng.choice((-1, 0, 1, 2, 3)), dtype=rng.choice((I64, I32))))
    elif kind == "list":
        first = rng.randint(0, extent)
        sizes = [first, near(rng, extent - first, 0.1)] if rng.random() < 0.9 else [extent + 1, -1]
        inputs.append(Arg(elements=sizes if rng.random() < 0.95 else [], dtype=rng.choice((I64, I32))))
    return Case("SplitToSequence", inputs, attributes, opset=rng.choice((11, 24)))


GRIDS = {"SplitToSequence": split_to_sequence}
