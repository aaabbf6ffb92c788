"""Grids of Einsum, normalisations, recurrent layers and sampling."""

from __future__ import annotations

import random
from string import ascii_lowercase

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import dims, near
from tests.transfer.harness import Arg, Case

F, D, I32, I64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64
FLOATS = (F, F, D, TensorProto.FLOAT16)


def einsum(rng: random.Random) -> Case:
    alphabet = ascii_lowercase[: rng.randint(1, 5)] + ("B" if rng.random() < 0.05 else "")
    size = {label: rng.choice((0, 1, 2, 2, 3)) for label in alphabet}
    extra = [rng.choice((0, 1, 2)) for _ in range(rng.randint(0, 2))] if rng.random() < 0.25 else None
    terms, shapes = [], []
    for _ in range(rng.choice((1, 2, 2, 2, 3))):
        count = rng.randint(0, min(4, len(alphabet)))
        labels = rng.sample(alphabet, count) if rng.random() < 0.85 else rng.choices(alphabet, k=count)
        shape = [1 if rng.random() < 0.05 else near(rng, size[label], 0.02) for label in labels]
        text = "".join(labels)
        if extra is not None and rng.random() < 0.8:
            at = rng.randint(0, count)
            kept = extra[rng.randint(0, len(extra)) :] if rng.random() < 0.3 else extra
            text, shape = text[:at] + "..." + text[at:], [*shape[:at], *kept, *shape[at:]]
        terms.append(text)
        shapes.append(shape)
    used = sorted({label for term in terms for label in term if label != "."})
    output = rng.sample(used, rng.randint(0, len(used)))
    if rng.random() < 0.03:
        output.append(rng.choice(alphabet))
    if any("..." in term for term in terms) and rng.random() < 0.9:
        output.insert(rng.randint(0, len(output)), "...")
    equation = ",".join(terms) + (f"->{''.join(output)}" if rng.random() < 0.85 else "")
    if rng.random() < 0.02:
        equation = equation.replace(rng.choice(alphabet), rng.choice((".", "1", " ")))
    dtype = rng.choice((F, F, D, I32, I64))
    return Case("Einsum", [Arg(shape, dtype) for shape in shapes], {"equation": equation}, opset=rng.choice((12, 20)))


def batch_normalization(rng: random.Random) -> Case:
    x = dims(rng, rng.choice((0, 1, 2, 3, 4, 4, 5)))
    channels = x[1] if len(x) > 1 else 1
    opset = rng.choice((7, 8, 9, 13, 14, 15))
    dtype = rng.choice((F, F, D))
    vectors = [Arg([near(rng, channels, 0.02)] if rng.random() < 0.98 else [], dtype) for _ in range(4)]
    attributes = subset(rng, {"epsilon": [0.0, 1e-5], "momentum": [0.5]}, 0.3)
    if opset < 9:
        attributes |= subset(rng, {"spatial": [0, 1, 1]}, 0.3)
    if opset >= 14:
        attributes |= subset(rng, {"training_mode": [0, 0, 1]}, 0.3)
    outputs = rng.choice((1, 1, 1, 1, 2, 3))
    return Case("BatchNormalization", [Arg(x, dtype), *vectors], attributes, outputs, opset=opset)


def lrn(rng: random.Random) -> Case:
    x = dims(rng, rng.choice((1, 2, 3, 4, 4, 4, 4, 5)))
    attributes = subset(rng, {"alpha": [0.0001, 1.0, -1.0, 0.0], "beta": [0.75, 0.75, 0.0, -1.0], "bias": [1.0, 0.0]})
    if rng.random() < 0.97:
        attributes["size"] = rng.choice((1, 3, 5, 3, 5, 9, 2, 0, -1))
    return Case("LRN", [Arg(x, rng.choice((F, F, F, D)))], attributes, opset=rng.choice((1, 13)))


def mean_variance(rng: random.Random) -> Case:
    rank = rng.choice((0, 1, 2, 3, 4, 4, 4, 5))
    attributes: dict[str, object] = {}
    opset = rng.choice((8, 9, 13))
    if rng.random() < 0.6 and opset >= 9:
        attributes["axes"] = rng.sample(range(-rank - 1, rank + 1), rng.randint(1, max(min(rank, 3), 1)))
    if opset < 9:
        attributes |= subset(rng, {"across_channels": [0, 1], "normalize_variance": [0, 1]})
    return Case("MeanVarianceNormalization", [Arg(dims(rng, rank), rng.choice(FLOATS))], attributes, opset=opset)


def group_normalization(rng: random.Random) -> Case:
    opset = rng.choice((18, 21))
    groups = rng.choice((1, 2, 2, 3, 0))
    x = dims(rng, rng.choice((1, 2, 3, 4, 4, 5)))
    if len(x) > 1:
        x[1] = near(rng, groups * rng.choice((0, 1, 2)))
    size = groups if opset < 21 else x[1] if len(x) > 1 else 1
    dtype = rng.choice(FLOATS)
    vectors = [Arg([near(rng, size)], dtype) for _ in range(2)]
    attributes = subset(rng, {"epsilon": [0.0, 1e-5]}, 0.2) | {"num_groups": groups}
    if opset >= 21:
        attributes |= subset(rng, {"stash_type": [1]}, 0.2)
    return Case("GroupNormalization", [Arg(x, dtype), *vectors], attributes, opset=opset)


def recurrent(rng: random.Random) -> Case:
    op = rng.choice(("LSTM", "GRU", "RNN"))
    gates, activations = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}[op]
    steps, batch, width = (rng.choice((0, 1, 1, 1, 2, 2, 3, 3)) for _ in range(3))
    hidden = rng.choice((1, 2, 3)) if rng.random() < 0.95 else 0
    opset = rng.choice((7, 14, 22))
    attributes: dict[str, object] = {"hidden_size": near(rng, hidden, 0.03)} if rng.random() < 0.97 else {}
    attributes |= subset(
        rng,
        {"direction": ["forward", "reverse", "bidirectional", "bidirectional", "odd"], "clip": [1.0, 2.0, 3.0, 0.0]}
        | ({"layout": [0, 0, 0, 1]} if opset >= 14 else {}),
        0.3,
    )
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    if rng.random() < 0.3:
        names = ["Tanh", "Sigmoid", "Relu", "tanh", "Softplus", "odd"] if rng.random() < 0.3 else ["Tanh", "Sigmoid"]
        attributes["activations"] = [rng.choice(names) for _ in range(near(rng, activations * directions))]
        if not attributes["activations"]:
            del attributes["activations"]
    if rng.random() < 0.1:
        attributes["activation_alpha"] = [0.5]
    if op == "GRU":
        attributes |= subset(rng, {"linear_before_reset": [0, 1]}, 0.3)
    if op == "LSTM":
        attributes |= subset(rng, {"input_forget": [0, 1]}, 0.3)
    dtype = rng.choice((F, F, F, F, F, D))

    def arg(*sizes: int) -> Arg:
        return Arg([near(rng, size, 0.01) for size in sizes], dtype)

    first = [batch, steps] if attributes.get("layout") else [steps, batch]
    inputs: list[Arg | None] = [
        arg(*first, width), arg(directions, gates * hidden, width), arg(directions, gates * hidden, hidden)
    ]  # fmt: skip
    state = (directions, batch, hidden) if not attributes.get("layout") else (batch, directions, hidden)
    more: list[Arg | None] = [
        arg(directions, 2 * gates * hidden),
        Arg(elements=[rng.randint(0 if rng.random() < 0.2 else 1, max(steps, 1)) for _ in range(batch)], dtype=I32),
        arg(*state),
    ]
    if op == "LSTM":
        more += [arg(*state), arg(directions, 3 * hidden)]
    inputs += [item if rng.random() < 0.35 else None for item in more]
    while inputs[-1] is None:
        inputs.pop()
    outputs = rng.choice((1, 2, 3 if op == "LSTM" else 2))
    return Case(op, inputs, attributes, outputs, opset=opset)


def grid_sample(rng: random.Random) -> Case:
    rank = rng.choice((2, 3, 4, 4, 4, 5, 5, 6))
    x = dims(rng, rank)
    grid = [near(rng, x[0]), *dims(rng, rank - 2), near(rng, rank - 2)]
    if rng.random() < 0.03:
        grid.append(2)
    opset = rng.choice((16, 20))
    modes = ["bilinear", "bicubic", "nearest"] if opset < 20 else ["linear", "cubic", "nearest"]
    choices = {
        "mode": [*modes * 3, "odd", "linear", "bilinear"],
        "padding_mode": [*["zeros", "border", "reflection"] * 3, "odd"],
        "align_corners": [0, 1, 1, 2],
    }
    return Case("GridSample", [Arg(x), Arg(grid)], subset(rng, choices), opset=opset)


GRIDS = {
    "Einsum": einsum,
    "BatchNormalization": batch_normalization,
    "LRN": lrn,
    "MeanVarianceNormalization": mean_variance,
    "GroupNormalization": group_normalization,
    "LSTM, GRU, RNN": recurrent,
    "GridSample": grid_sample,
}
