"""Random models whose nodes demand something of sizes.

A node is kept if it runs at some of many bindings, so most models run at a few of them and fail at others: what a
proof, a contract or a check says of sizes can then be wrong in both directions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper

from tests.soundness import graph_operators as operators
from tests.soundness.graph_drafts import DeadEndError, Draft, Input, needed
from tests.soundness.graph_moves import SHAPE_MOVES, Move, data, pick, sample

SYMBOLS: Final = ("N", "M", "K", "H")
DIMS: Final[tuple[str | int | None, ...]] = (
    *("N", "M", "K", "H") * 4, "N", "M", 1, 2, 3, 4, None, "N + 1", "2*M", "N*M", "N + M", "N//2", "max(N, M)", "K - 1",
)  # fmt: skip
SIZES: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16)
BINDINGS: Final = 14


class Demanding(Draft):
    """A draft that keeps a node as soon as it runs at one binding, and seldom one that never runs."""

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        names = [self.name() for _ in range(outputs)]
        node = helper.make_node(op, list(inputs), names, **attributes)
        node.name = f"{op}_{names[0]}"
        found = self.executed(node)
        lived = sum(all(name in run for name in needed(node)) for run in self.values)
        ran = sum(values is not None for values in found)
        if (ran == 0 and self.random.random() < 0.99) or (ran < 0.3 * lived and self.random.random() < 0.5):
            raise DeadEndError(op)
        self.nodes.append(node)
        for run, values in zip(self.values, found, strict=True):
            run.update(values or {})
        return names


# Steps that demand something of sizes


def elementwise(d: Draft) -> str:
    return d.one(d.random.choice(["Add", "Mul", "Sub", "Max"]), data(d, 1), data(d, 1))


def biased(d: Draft) -> str:
    return d.one("Add", data(d, 1), d.constant(np.ones(d.random.choice([1, 2, 3, 4, 8])), np.float32))


def weighted(d: Draft) -> str:
    return d.one("MatMul", data(d, 1), d.constant(np.ones((d.random.choice([1, 2, 3, 4, 8]), 3)), np.float32))


def multiplied(d: Draft) -> str:
    return d.one("MatMul", data(d, 1), data(d, 1))


def joined(d: Draft) -> str:
    first = data(d, 1)
    rank = sample(d, first).ndim
    rest = [data(d, rank, rank) for _ in range(d.random.randrange(1, 3))]
    return d.one("Concat", first, *rest, axis=d.random.randrange(-rank, rank))


def reshaped(d: Draft) -> str:
    source = data(d, 1)
    rank = sample(d, source).ndim
    target = [d.random.choice([1, 2, 2, 3, 4, 4, 8, 6]) for _ in range(d.random.randrange(0, 3))]
    target = [*[0] * d.random.randrange(0, rank), *target]
    if d.random.random() < 0.8:
        target.insert(d.random.randrange(len(target) + 1), -1)
    return d.one("Reshape", source, d.constant(target))


def parted(d: Draft) -> list[str]:
    source = data(d, 1)
    axis = d.random.randrange(sample(d, source).ndim)
    if d.random.random() < 0.6:
        sizes = [d.random.randrange(0, 5) for _ in range(d.random.randrange(1, 4))]
        return d.node("Split", [source, d.constant(sizes)], len(sizes), axis=axis)
    count = d.random.randrange(2, 5)
    return d.node("Split", [source], count, axis=axis, **({"num_outputs": count} if d.opset >= 18 else {}))


def indexed(d: Draft) -> str:
    source = data(d, 1)
    at = d.random.choice([0, 1, 2, 3, -1, -2, -3, [0, 2], [1, -1], [[0]], []])
    return d.one("Gather", source, d.constant(at), axis=d.random.randrange(sample(d, source).ndim))


def expanded(d: Draft) -> str:
    target = [d.random.choice([1, 1, 2, 3, 4]) for _ in range(d.random.randrange(1, 4))]
    return d.one("Expand", data(d, 1), d.constant(target))


def cut(d: Draft) -> str:
    source = data(d, 1)
    axis = d.random.randrange(sample(d, source).ndim)
    ends = [d.constant([d.random.choice(choice)]) for choice in ([0, 1, 2, -1, -3], [1, 2, 5, -1, -2, 99])]
    return d.one("Slice", source, *ends, d.constant([axis]), d.constant([d.random.choice([1, 1, 2, -1])]))


def normalised(d: Draft) -> str:
    source = data(d, 2)
    size = d.random.choice([1, 2, 3, 4, 8])
    ones = d.constant(np.ones(size), np.float32)
    if d.opset >= 17 and d.random.random() < 0.5:
        return d.one("LayerNormalization", source, ones, axis=-1)
    if d.random.random() < 0.5:
        return d.one("BatchNormalization", source, ones, ones, ones, ones)
    return d.one("InstanceNormalization", source, ones, ones)


def blocks(d: Draft) -> str:
    way = d.random.randrange(3)
    if way == 0:
        return d.one("DepthToSpace", data(d, 4, 4), blocksize=2)
    if way == 1:
        return d.one("SpaceToDepth", data(d, 4, 4), blocksize=2)
    return d.one("Squeeze", data(d, 1), d.constant([d.random.choice([0, -1])]))


def convolved(d: Draft) -> str:
    source = data(d, 3, 4)
    attributes = operators.window(d, sample(d, source).ndim - 2)
    inner = d.random.choice([1, 2, 3, 4])
    group = d.random.choice([1, 1, 1, 2])
    weight = d.constant(np.ones((2 * group, inner, *attributes["kernel_shape"])), np.float32)
    return d.one("Conv", source, weight, group=group, **attributes)


def picked(d: Draft) -> object:
    """Data-dependent sizes, or the few largest elements."""
    source = data(d, 1)
    axis = d.random.randrange(sample(d, source).ndim)
    if d.random.random() < 0.6:
        return d.node("TopK", [source, d.constant([d.random.choice([0, 1, 2, 3, 5])])], 2, axis=axis)
    if d.random.random() < 0.5:
        return d.one("NonZero", source)
    return d.one("Compress", source, pick(d, lambda a: a.dtype == bool and a.ndim == 1), axis=axis)


def flagged(d: Draft) -> str:
    return d.one("Greater", data(d, 1, 1), d.constant(0.0, np.float32))


def computed(d: Draft) -> str:
    """A reshape whose target is made of dims and constants."""
    source, other = data(d, 1), data(d, 1)
    rank = sample(d, other).ndim
    kept = d.one("Gather", d.one("Shape", other), d.constant([d.random.randrange(rank)]))
    if d.random.random() < 0.5:
        step = d.constant([d.random.choice([2, 2, 3, 4])])
        kept = d.one(d.random.choice(["Div", "Mul", "Add", "Sub"]), kept, step)
    parts = [kept, d.constant([d.random.choice([-1, -1, 2, 4, 1])])]
    d.random.shuffle(parts)
    return d.one("Reshape", source, d.one("Concat", *parts, axis=0))


def branched(d: Draft) -> str:
    """An If on a size or on data, one branch of which demands something."""
    return operators.conditional(d)


DEMANDS: Final[tuple[tuple[Move, int], ...]] = (
    (elementwise, 8), (biased, 4), (weighted, 4), (multiplied, 4), (joined, 5), (reshaped, 8), (parted, 4),
    (indexed, 5), (expanded, 3), (cut, 4), (normalised, 3), (blocks, 2), (convolved, 4), (picked, 3), (flagged, 1),
    (computed, 6), (branched, 4), (operators.pool, 3), (operators.transpose, 3), (operators.reduction, 2),
    (operators.pad, 2), (operators.tile, 2), (operators.layout, 2), (operators.resize, 1), (operators.loop, 3),
    (operators.unary, 1),
)  # fmt: skip
"""Steps with their weights."""


FLOWS: Final[tuple[tuple[Move, int], ...]] = (
    (operators.conditional, 6), (operators.loop, 6), (operators.scan, 1), (operators.by_data, 2),
    (operators.slice_data, 2), (operators.tile, 1), (reshaped, 2), (weighted, 2), (biased, 2),
)  # fmt: skip
"""More of what depends on conditions, trips and data."""


def draft(seed: int) -> Draft:
    """The random model of this seed."""
    rng = random.Random(f"proofs {seed}")
    inputs = []
    for number in range(rng.randrange(1, 4)):
        dims = tuple(rng.choice(DIMS) for _ in range(rng.choice([1, 2, 2, 2, 3, 3, 4])))
        inputs.append(Input(f"x{number}", TensorProto.FLOAT, dims))
    flows = rng.random() < 0.25
    if flows or rng.random() < 0.15:
        inputs.append(Input("k", TensorProto.INT64, rng.choice([(), (1,), (2,), ("K",)]), rng.choice([-2, 0]), 4))
    if flows or rng.random() < 0.15:
        inputs.append(Input("flag", TensorProto.BOOL, ()))
    result = Demanding(seed, rng.choice((13, 17, 18, 20, 21)), inputs, bindings(rng, names_of(inputs)))
    wanted = rng.randrange(1, 9)
    shapes = rng.choice([0.0, 0.1, 0.3, 0.5])
    for _ in range(4 * wanted):
        if len(result.nodes) >= wanted or not result.values:
            break
        moves = SHAPE_MOVES if rng.random() < shapes else operators.DATA_MOVES if rng.random() < 0.15 else DEMANDS
        moves = FLOWS if flows and rng.random() < 0.5 else moves
        try:
            rng.choices([move for move, _ in moves], [weight for _, weight in moves])[0](result)
        except DeadEndError:
            continue
    return result


def names_of(inputs: Sequence[Input]) -> list[str]:
    """The symbols of the inputs."""
    anonymous = [str(text) for i in inputs for dim, text in zip(i.dims, i.dim_texts(), strict=True) if dim is None]
    return [*SYMBOLS, *anonymous]


def bindings(rng: random.Random, names: Sequence[str]) -> list[dict[str, int]]:
    """Sizes 1, equal ones, some equal to others, coprime ones, sizes 0, random ones."""
    count = len(names)
    chosen = [[size] * count for size in (1, 2, 4, rng.choice(SIZES))]
    chosen.append(rng.sample([2, 3, 5, 7, 11, 13, 4, 9], count) if count <= 8 else [3] * count)
    while len(chosen) < BINDINGS:
        palette = rng.choice([SIZES, (1, 2), (2, 4), (3, 6), (1, 4, 8), (0, 3, 4), (1, rng.choice(SIZES))])
        chosen.append([rng.choice(palette) for _ in names])
    return [dict(zip(names, sizes, strict=True)) for sizes in chosen]
