"""Steps of a random model: shape arithmetic as exporters write it. Each step adds a few nodes to a draft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from tests.soundness.graph_drafts import DeadEndError, Draft

Move = Callable[[Draft], object]
HUGE: Final = (1 << 63) - 1


def sample(d: Draft, name: str) -> np.ndarray:
    """A value at the first binding that has it."""
    found = next((run[name] for run in d.values if name in run), None)
    if not isinstance(found, np.ndarray):
        raise DeadEndError(name)
    return found


def pick(d: Draft, fits: Callable[[np.ndarray], bool]) -> str:
    """A tensor that fits, recent ones first; DeadEndError if there is none."""
    names = list(dict.fromkeys(n for run in d.values for n, v in run.items() if isinstance(v, np.ndarray)))
    fitting = [n for n in names if n not in d.constants and n not in d.optionals and fits(sample(d, n))]
    if not fitting:
        raise DeadEndError("nothing fits")
    recent = fitting[-5:] if d.random.random() < 0.5 else fitting
    return d.random.choice(recent)


def data(d: Draft, least: int = 0, most: int = 5) -> str:
    """Mostly floats; at times integers, whose elements the analysis may know."""
    kinds = (np.float32,) if d.random.random() < 0.85 else (np.float32, np.int64)
    return pick(d, lambda a: a.dtype in kinds and least <= a.ndim <= most)


def vector(d: Draft, most: int = 8) -> str:
    """An integer vector; the shape of something if there is none."""
    try:
        return pick(d, lambda a: a.dtype == np.int64 and a.ndim == 1 and a.size <= most)
    except DeadEndError:
        return shape(d)


def integers(d: Draft) -> str:
    return pick(d, lambda a: a.dtype == np.int64 and a.ndim <= 2 and a.size <= 16)


def scalar(d: Draft) -> str:
    """An integer scalar; some dim if there is none."""
    try:
        return pick(d, lambda a: a.dtype == np.int64 and a.ndim == 0)
    except DeadEndError:
        return dim(d)


def single(d: Draft) -> str:
    """A vector of one element: an existing one, or one made from a scalar or a longer vector."""
    way = d.random.random()
    if way < 0.4:
        return pick(d, lambda a: a.dtype == np.int64 and a.shape == (1,))
    if way < 0.7:
        return d.one("Unsqueeze", scalar(d), d.constant([0]))
    if way < 0.8:
        return d.one("Reshape", scalar(d), d.constant([-1]))
    return entry(d, vector(d))


def entry(d: Draft, source: str) -> str:
    """One element of a vector, as a vector."""
    size = sample(d, source).size
    at = d.random.randrange(-size, size) if size else 0
    if d.random.random() < 0.5:
        return d.one("Gather", source, d.constant([at]))
    end = at + 1 if at != -1 else HUGE
    return d.one("Slice", source, d.constant([at]), d.constant([end]), d.constant([0]))


def shape(d: Draft) -> str:
    source = data(d)
    if d.opset >= 15 and d.random.random() < 0.2:
        return d.one("Shape", source, start=d.random.randrange(-3, 3), end=d.random.randrange(-2, 5))
    return d.one("Shape", source)


def dim(d: Draft) -> str:
    source = data(d, 1)
    sizes = d.one("Shape", source)
    rank = sample(d, source).ndim
    at = d.constant(d.random.randrange(-rank, rank))
    return d.one("Gather", sizes, at)


def size(d: Draft) -> str:
    return d.one("Size", pick(d, lambda a: True))


def slice_vector(d: Draft) -> str:
    r = d.random
    limits = [-HUGE - 1, -9, -3, -2, -1, 0, 1, 2, 3, HUGE]
    args = [d.constant([r.choice(limits)]), d.constant([r.choice(limits)])]
    if r.random() < 0.7:
        args += [d.constant([r.choice([0, -1, 0])])]
        if r.random() < 0.6:
            args += [d.constant([r.choice([1, -1, 2, -2, 3])])]
    return d.one("Slice", vector(d), *args)


def concat_vector(d: Draft) -> str:
    parts = []
    for _ in range(d.random.randrange(1, 5)):
        way = d.random.random()
        if way < 0.3:
            parts.append(d.constant([d.random.choice([-1, 0, 1, 1, 2, 3])]))
        elif way < 0.75:
            parts.append(single(d))
        else:
            parts.append(vector(d))
    return d.one("Concat", *parts, axis=0)


def literal(d: Draft, like: np.ndarray) -> str:
    values: Any = d.random.choice([-3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 8, 16])
    way = d.random.random()
    if way < 0.5:
        return d.constant(values, like.dtype)
    if way < 0.8 or like.ndim != 1:
        return d.constant([values], like.dtype)
    return d.constant([d.random.randrange(-2, 5) for _ in range(like.size)], like.dtype)


def arithmetic(d: Draft) -> str:
    a = integers(d)
    b = integers(d) if d.random.random() < 0.45 else literal(d, sample(d, a))
    if d.random.random() < 0.3:
        a, b = b, a
    op = d.random.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Add", "Sub", "Mul", "Div", "Div", "Mod"])
    if op == "Mod" and d.random.random() < 0.3:
        return d.one(op, a, b, fmod=1)
    return d.one(op, a, b)


def unary(d: Draft) -> str:
    source = integers(d)
    way = d.random.randrange(8)
    if way == 0:
        return d.one("Clip", source, d.constant(d.random.choice([-1, 0, 2])), d.constant(d.random.choice([2, 3, 5])))
    if way == 1:
        return d.one("Pow", source, d.constant(2))
    if way == 2:
        flags = {"exclusive": d.random.choice([0, 1]), "reverse": d.random.choice([0, 1])}
        return d.one("CumSum", vector(d), d.constant(0), **flags)
    if way == 3:
        return d.one("Reshape", d.one("NonZero", source), d.constant([-1]))
    return d.one(d.random.choice(["Neg", "Abs", "Sign", "Identity"]), source)


def cast(d: Draft) -> str:
    kinds = [TensorProto.INT32, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.UINT8]
    kinds += [TensorProto.INT8, TensorProto.INT32, TensorProto.FLOAT16]
    there = d.one("Cast", integers(d), to=d.random.choice(kinds))
    return d.one("Cast", there, to=TensorProto.INT64)


def rounding(d: Draft) -> str:
    """Cast, divide or scale in floats, round, cast back."""
    r = d.random
    kind, dtype = r.choice([(TensorProto.FLOAT, np.float32), (TensorProto.FLOAT, np.float32), (11, np.float64)])
    value = d.one("Cast", integers(d), to=kind)
    for _ in range(r.randrange(1, 3)):
        op = r.choice(["Mul", "Div", "Add", "Sub", "Div", "Mul"])
        other = d.constant(r.choice([2.0, 0.5, 4.0, 3.0, 0.25, 1.5, -2.0, 1.0, 0.1]), dtype)
        if r.random() < 0.2:
            other = d.one("Cast", integers(d), to=kind)
        value = d.one(op, value, other)
    if r.random() < 0.8:
        value = d.one(r.choice(["Floor", "Ceil", "Floor", "Ceil", "Round"]), value)
    if r.random() < 0.15:
        value = d.one("Clip", value, d.constant(0, dtype), d.constant(r.choice([3, 5]), dtype))
    return d.one("Cast", value, to=TensorProto.INT64)


def where(d: Draft) -> str:
    a = integers(d)
    op = d.random.choice(["Equal", "Equal", "Less", "Greater", "GreaterOrEqual", "LessOrEqual"])
    b = integers(d) if d.random.random() < 0.5 else literal(d, sample(d, a))
    condition = d.one(op, a, b)
    if d.random.random() < 0.2:
        condition = d.one("Not", condition)
    if d.random.random() < 0.2:
        condition = d.one(d.random.choice(["And", "Or", "Xor"]), condition, pick(d, lambda x: x.dtype == bool))
    other = integers(d) if d.random.random() < 0.5 else literal(d, sample(d, a))
    branches = [a, other] if d.random.random() < 0.5 else [other, b]
    return d.one("Where", condition, *branches)


def counting(d: Draft) -> str:
    """Range with computed ends."""
    start = d.constant(d.random.choice([0, 0, 0, 1, -2])) if d.random.random() < 0.7 else scalar(d)
    step = d.constant(d.random.choice([1, 1, 2, -1, 3])) if d.random.random() < 0.85 else scalar(d)
    return d.one("Range", start, scalar(d), step)


def filled(d: Draft) -> str:
    from onnx import helper

    kind, value = d.random.choice([(TensorProto.FLOAT, 0.0), (TensorProto.INT64, 1), (TensorProto.INT64, -1)])
    return d.one("ConstantOfShape", vector(d, 5), value=helper.make_tensor("value", kind, [1], [value]))


def reduced_vector(d: Draft) -> str:
    op = d.random.choice(["ReduceProd", "ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"])
    keep = d.random.choice([0, 0, 1])
    source = integers(d)
    if sample(d, source).ndim == 0 or d.random.random() < 0.5:
        return d.one(op, source, keepdims=keep)
    if op == "ReduceSum" or d.opset >= 18:
        return d.one(op, source, d.constant([0]), keepdims=keep)
    return d.one(op, source, axes=[0], keepdims=keep)


def expand(d: Draft) -> str:
    source = data(d)
    if d.random.random() < 0.5:
        return d.one("Expand", source, vector(d, 5))
    return d.one("Expand", source, d.one("Shape", data(d)))


def reshape(d: Draft) -> str:
    """To a target made of the dims of the data, 0s, a -1, and products of neighbours."""
    r = d.random
    source = data(d, 1)
    rank = sample(d, source).ndim
    sizes = d.one("Shape", source)
    way = r.random()
    if way < 0.15:
        return d.one("Reshape", source, vector(d, 5))
    if way < 0.25:
        return d.one("Reshape", source, d.constant([0] * r.randrange(rank + 1) + [-1]))
    parts: list[str] = []
    axis, open_ = 0, True
    while axis < rank:
        kind = r.random()
        if kind < 0.2 and len(parts) == axis:
            parts.append(d.constant([0]))
            axis += 1
        elif kind < 0.45 and open_:
            parts.append(d.constant([-1]))
            axis += r.randrange(1, 3)
            open_ = False
        elif kind < 0.8 or axis == rank - 1:
            parts.append(d.one("Gather", sizes, d.constant([axis])))
            axis += 1
        else:
            pair = [d.one("Gather", sizes, d.constant([axis + i])) for i in range(2)]
            parts.append(d.one("Mul", *pair))
            axis += 2
    if r.random() < 0.2:
        parts.insert(r.randrange(len(parts) + 1), d.constant([1]))
    if r.random() < 0.15:
        factor = d.constant([2])
        at = r.randrange(len(parts))
        if parts[at] not in d.constants:
            parts[at : at + 1] = [d.one("Div", parts[at], factor), factor]
    target = d.one("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
    return d.one("Reshape", source, target, **({"allowzero": 1} if d.opset >= 14 and r.random() < 0.1 else {}))


def split_vector(d: Draft) -> list[str]:
    source = vector(d)
    count = sample(d, source).size
    if count < 2:
        raise DeadEndError("short")
    if d.random.random() < 0.5:
        first = d.random.randrange(0, count)
        return d.node("Split", [source, d.constant([first, count - first])], 2, axis=0)
    if d.opset >= 18:
        return d.node("Split", [source], 2, axis=0, num_outputs=2)
    return d.node("Split", [source], 2, axis=0)


def to_scalar(d: Draft) -> str:
    source = single(d)
    if d.random.random() < 0.5:
        return d.one("Squeeze", source, *([d.constant([0])] if d.random.random() < 0.7 else []))
    return d.one("Gather", vector(d), d.constant(d.random.choice([0, -1, 1])))


def scatter_vector(d: Draft) -> str:
    source, value = vector(d), single(d)
    if d.random.random() < 0.5:
        return d.one("ScatterElements", source, d.constant([d.random.choice([0, 1, -1])]), value)
    return d.one("ScatterND", source, d.constant([[d.random.choice([0, 1, -1])]]), value)


def rearranged(d: Draft) -> str:
    """A vector as a matrix, and an operator that knows the layout."""
    source = vector(d, 8)
    matrix = d.one("Reshape", source, d.constant(d.random.choice([[-1, 2], [2, -1], [-1, 1], [1, -1]])))
    way = d.random.randrange(5)
    if way == 0:
        matrix = d.one("Transpose", matrix)
    elif way == 1:
        matrix = d.one("Gather", matrix, d.constant(d.random.choice([0, [0, -1], [[0], [0]]])), axis=0)
    elif way == 2:
        matrix = d.one("Slice", matrix, d.constant([-1]), d.constant([-9]), d.constant([0]), d.constant([-1]))
    elif way == 3:
        matrix = d.one("CumSum", matrix, d.constant(d.random.choice([0, 1])))
    else:
        matrix = d.one("Tile", matrix, d.constant([1, 2]))
    return d.one("Reshape", matrix, d.constant([-1]))


SHAPE_MOVES: Final[tuple[tuple[Move, int], ...]] = (
    (shape, 5), (dim, 5), (size, 1), (slice_vector, 3), (concat_vector, 4), (arithmetic, 10), (unary, 1), (cast, 2),
    (rounding, 4), (where, 4), (counting, 3), (filled, 3), (reduced_vector, 3), (expand, 4), (reshape, 7),
    (split_vector, 1), (to_scalar, 3), (scatter_vector, 1), (rearranged, 2),
)  # fmt: skip
"""Steps with their weights."""
