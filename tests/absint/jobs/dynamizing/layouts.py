"""Layouts of models in which a batch is merged with other axes and split again, each at any size of the batch.

An author's model is a family of static ones: the same weights, and targets that hold the size of the batch. A copy at
one size is what an exporter writes; the copies at other sizes are the truth about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
import onnx

from tests.absint.jobs.dynamizing.models import Array, ints, node, run, static

STEPS, HEADS, WIDTH = 3, 2, 8

Layout = Callable[[int], onnx.ModelProto]
_OTHERS: Final = (1, 2, 4, 5)
"""Sizes at which a copy is held against the author's model."""


def floats(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


class Drawing:
    """The nodes and the constants of a model, as they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}

    def add(self, operator: str, *inputs: str | Array, **attributes: object) -> str:
        """A node; its output is named by its place."""
        names = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(node(operator, " ".join(names), name, **attributes))
        return name

    def constant(self, array: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def reshape(self, data: str, *sizes: int) -> str:
        return self.add("Reshape", data, ints(*sizes))

    def linear(self, data: str, before: int, after: int) -> str:
        return self.add("MatMul", data, floats(before, after))

    def turned(self, data: str, *axes: int) -> str:
        return self.add("Transpose", data, perm=list(axes))

    def heads(self, data: str, batch: int, steps: int) -> str:
        split = self.reshape(self.linear(data, WIDTH, WIDTH), batch, steps, HEADS, WIDTH // HEADS)
        return self.turned(split, 0, 2, 1, 3)

    def attention(self, data: str, batch: int, steps: int) -> str:
        q, k, v = (self.heads(data, batch, steps) for _ in range(3))
        scores = self.add("Softmax", self.add("MatMul", q, self.turned(k, 0, 1, 3, 2)), axis=-1)
        mixed = self.turned(self.add("MatMul", scores, v), 0, 2, 1, 3)
        return self.reshape(mixed, batch, steps, WIDTH)

    def recurrent(self, data: str, batch: int) -> str:
        """A GRU over [steps, batch, WIDTH], with a state of zeros."""
        weights = [floats(1, 3 * WIDTH, WIDTH), floats(1, 3 * WIDTH, WIDTH + 0)]
        state = np.zeros((1, batch, WIDTH), np.float32)
        names = [data, *map(self.constant, weights), "-", "-", self.constant(state)]
        return self.add("Squeeze", self.add("GRU", *names, hidden_size=WIDTH), ints(1))

    def model(self, last: str, shape: Sequence[int], result: Sequence[int]) -> onnx.ModelProto:
        self.nodes.append(node("Identity", last, "y"))
        return static(self.nodes, {"x": shape}, {"y": result}, self.constants)


def linear_over_time(b: int) -> onnx.ModelProto:
    g = Drawing()
    rows = g.linear(g.reshape("x", b * STEPS, WIDTH), WIDTH, 5)
    return g.model(g.reshape(rows, b, STEPS, 5), [b, STEPS, WIDTH], [b, STEPS, 5])


def gru_with_a_linear(b: int) -> onnx.ModelProto:
    """Steps before the batch, in the rows of the Linear too."""
    g = Drawing()
    hidden = g.recurrent(g.turned("x", 1, 0, 2), b)
    rows = g.linear(g.reshape(hidden, STEPS * b, WIDTH), WIDTH, 5)
    return g.model(g.turned(g.reshape(rows, STEPS, b, 5), 1, 0, 2), [b, STEPS, WIDTH], [b, STEPS, 5])


def gru_batch_first(b: int) -> onnx.ModelProto:
    """An autoencoder: the last target restores a shape that an earlier value has in another order."""
    g = Drawing()
    small = g.linear(g.turned("x", 1, 0, 2), WIDTH, WIDTH)
    hidden = g.turned(g.recurrent(small, b), 1, 0, 2)
    rows = g.linear(g.reshape(hidden, b * STEPS, WIDTH), WIDTH, WIDTH)
    return g.model(g.reshape(rows, b, STEPS, WIDTH), [b, STEPS, WIDTH], [b, STEPS, WIDTH])


def time_first(b: int) -> onnx.ModelProto:
    """Rows of steps before the batch, split into the shape of x with its axes exchanged."""
    g = Drawing()
    small = g.turned(g.linear("x", WIDTH, 5), 1, 0, 2)
    rows = g.linear(g.reshape(small, STEPS * b, 5), 5, WIDTH)
    return g.model(g.reshape(rows, STEPS, b, WIDTH), [b, STEPS, WIDTH], [STEPS, b, WIDTH])


def time_distributed(b: int) -> onnx.ModelProto:
    g = Drawing()
    images = g.add("Conv", g.reshape("x", b * STEPS, 2, 4, 4), floats(3, 2, 3, 3), pads=[1] * 4)
    return g.model(g.reshape(images, b, STEPS, 3, 4, 4), [b, STEPS, 2, 4, 4], [b, STEPS, 3, 4, 4])


def video(b: int) -> onnx.ModelProto:
    g = Drawing()
    images = g.add("Conv", g.reshape("x", b * STEPS, 2, 4, 4), floats(WIDTH, 2, 3, 3))
    pooled = g.reshape(g.add("GlobalAveragePool", images), b, STEPS, WIDTH)
    return g.model(g.linear(g.add("ReduceMean", pooled, ints(1), keepdims=0), WIDTH, 5), [b, STEPS, 2, 4, 4], [b, 5])


def attention(b: int) -> onnx.ModelProto:
    g = Drawing()
    return g.model(g.linear(g.attention("x", b, STEPS), WIDTH, 5), [b, STEPS, WIDTH], [b, STEPS, 5])


def transformer(b: int) -> onnx.ModelProto:
    """Two blocks with residuals."""
    g = Drawing()
    first = g.add("Add", "x", g.attention("x", b, STEPS))
    second = g.add("Add", first, g.attention(first, b, STEPS))
    return g.model(second, [b, STEPS, WIDTH], [b, STEPS, WIDTH])


def merged_heads(b: int) -> onnx.ModelProto:
    """Attention as products of batch * heads matrices."""
    g = Drawing()
    size = WIDTH // HEADS
    q, k, v = (g.reshape(g.heads("x", b, STEPS), b * HEADS, STEPS, size) for _ in range(3))
    scores = g.add("Softmax", g.add("MatMul", q, g.turned(k, 0, 2, 1)), axis=-1)
    mixed = g.reshape(g.add("MatMul", scores, v), b, HEADS, STEPS, size)
    joined = g.reshape(g.turned(mixed, 0, 2, 1, 3), b, STEPS, WIDTH)
    return g.model(g.linear(joined, WIDTH, 5), [b, STEPS, WIDTH], [b, STEPS, 5])


def windows(b: int) -> onnx.ModelProto:
    """Attention within windows of 2 by 2, as in Swin."""
    g = Drawing()
    parts = g.turned(g.reshape("x", b, 2, 2, 2, 2, WIDTH), 0, 1, 3, 2, 4, 5)
    inside = g.attention(g.reshape(parts, b * 4, 4, WIDTH), b * 4, 4)
    back = g.turned(g.reshape(inside, b, 2, 2, 2, 2, WIDTH), 0, 1, 3, 2, 4, 5)
    return g.model(g.reshape(back, b, 4, 4, WIDTH), [b, 4, 4, WIDTH], [b, 4, 4, WIDTH])


def single_windows(b: int) -> onnx.ModelProto:
    """The windows themselves are the output."""
    g = Drawing()
    parts = g.turned(g.reshape("x", b, 2, 2, 2, 2, WIDTH), 0, 1, 3, 2, 4, 5)
    inside = g.attention(g.reshape(parts, b * 4, 4, WIDTH), b * 4, 4)
    return g.model(inside, [b, 4, 4, WIDTH], [b * 4, 4, WIDTH])


def patches(b: int) -> onnx.ModelProto:
    """Patches with a token before them, as in ViT."""
    g = Drawing()
    images = g.add("Conv", "x", floats(WIDTH, 3, 2, 2), strides=[2, 2])
    tokens = g.turned(g.reshape(images, b, WIDTH, 4), 0, 2, 1)
    first = g.add("Expand", floats(1, 1, WIDTH), ints(b, 1, WIDTH))
    whole = g.add("Add", g.add("Concat", first, tokens, axis=1), floats(1, 5, WIDTH))
    last = g.add("Gather", g.attention(whole, b, 5), np.array(0), axis=1)
    return g.model(g.linear(last, WIDTH, 3), [b, 3, 4, 4], [b, 3])


def group_norm(b: int) -> onnx.ModelProto:
    g = Drawing()
    ones, zeros = np.ones(2, np.float32), np.zeros(2, np.float32)
    normal = g.add("InstanceNormalization", g.reshape("x", b, 2, -1), ones, zeros)
    return g.model(g.reshape(normal, b, 4, 3, 3), [b, 4, 3, 3], [b, 4, 3, 3])


def channel_shuffle(b: int) -> onnx.ModelProto:
    g = Drawing()
    turned = g.turned(g.reshape("x", b, 2, 3, 4, 4), 0, 2, 1, 3, 4)
    flat = g.reshape(g.reshape(turned, b, 6, 4, 4), b, 96)
    return g.model(g.linear(flat, 96, 5), [b, 6, 4, 4], [b, 5])


LAYOUTS: Final[Mapping[str, Layout]] = {
    made.__name__: made
    for made in (
        linear_over_time, gru_with_a_linear, gru_batch_first, time_first, time_distributed, video, attention,
        transformer, merged_heads, windows, single_windows, patches, group_norm, channel_shuffle,
    )
}  # fmt: skip


Factors = list[int | str]
"""An axis as a product; `b` is the batch."""


def random_layout(seed: int, b: int) -> tuple[onnx.ModelProto, int]:
    """A model that merges, splits and turns axes, with work along those that no row shares; and the axis of x that is
    the batch.
    """
    rng = np.random.default_rng(seed)
    axes: list[Factors] = [["b"], *([int(rng.integers(1, 5))] for _ in range(rng.integers(1, 4)))]
    if rng.random() < 0.2:
        axes[:2] = axes[1::-1]
    place, shape, g, last = axes.index(["b"]), _sizes(axes, b), Drawing(), "x"
    for step in rng.integers(0, 6, rng.integers(2, 7)):
        at = int(rng.integers(0, len(axes)))
        own = [axis for axis, factors in enumerate(axes) if "b" not in factors]
        if step == 0 and at:
            axes[at - 1 : at + 1] = [axes[at - 1] + axes[at]]
            last = g.reshape(last, *_sizes(axes, b))
        elif step == 1 and len(axes[at]) > 1:
            axes[at : at + 1] = [axes[at][:1], axes[at][1:]]
            last = g.reshape(last, *_sizes(axes, b))
        elif step == 2:
            order = [int(axis) for axis in rng.permutation(len(axes))]
            axes, last = [axes[axis] for axis in order], g.turned(last, *order)
        elif step == 3 and len(axes) - 1 in own:
            last, axes[-1] = g.linear(last, _sizes(axes, b)[-1], 5), [5]
        elif step == 4 and at in own:
            last = g.add("Softmax", last, axis=at)
        elif step == 5:
            axes.insert(at, [1])
            last = g.reshape(last, *_sizes(axes, b))
    whole = next(axis for axis, factors in enumerate(axes) if "b" in factors)
    where = axes[whole].index("b")
    parts = (axes[whole][:where], ["b"], axes[whole][where + 1 :])
    axes[whole : whole + 1] = [part for part in parts if part]
    return g.model(g.reshape(last, *_sizes(axes, b)), shape, _sizes(axes, b)), place


def _sizes(axes: Sequence[Factors], b: int) -> list[int]:
    return [prod(b if factor == "b" else int(factor) for factor in factors) for factors in axes]


def check(layout: Layout, path: Path) -> None:
    """The copy gives what the author's model gives, at other sizes too."""
    copy = path.read_bytes()
    for size in _OTHERS:
        truth = layout(size)
        shape = [dim.dim_value for dim in truth.graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(size).standard_normal(shape).astype(np.float32)
        (expected,), (given,) = run(truth.SerializeToString(), {"x": x}), run(copy, {"x": x})
        assert given.shape == expected.shape, size
        np.testing.assert_allclose(given, expected, rtol=1e-3, atol=1e-4)
