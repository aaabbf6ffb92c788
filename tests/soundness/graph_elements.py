"""Steps of a random model on small tensors of every type, whose elements the analysis may know: through every operator
that moves, picks, joins, compares or changes them, with parameters that are constants, computed, or data.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper

from tests.soundness.graph_drafts import DeadEndError, Draft
from tests.soundness.graph_moves import Move, data, dim, pick, sample, scalar, single, vector

MOST: Final = 48
TYPES: Final = ("int64", "int64", "int32", "int8", "uint8", "int16", "float32", "float32", "float64", "float16", "bool")
NUMBERS: Final = (-3, -2, -1, 0, 0, 1, 1, 2, 3, 5, 7, 100, 127, 200, 0.5, 2.5, -1.5, 0.1, 1 / 3)


def small(d: Draft, kinds: str = "iufb", least: int = 0, most: int = 3) -> str:
    """A small tensor whose type is of these numpy kinds."""
    return pick(d, lambda a: a.dtype.kind in kinds and least <= a.ndim <= most and a.size <= MOST)


def numbers(d: Draft, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers that the type can hold."""
    found = [d.random.choice(NUMBERS) for _ in range(int(np.prod(shape)))]
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        found = [int(np.clip(int(n), limits.min, limits.max)) for n in found]
    return np.array(found, np.float64).astype(kind).reshape(shape)


def mate(d: Draft, like: str) -> str:
    """Another tensor of the type, that broadcasts with it at most bindings: computed, or constant."""
    x = sample(d, like)
    way = d.random.random()
    if way < 0.4:
        return pick(d, lambda a: a.dtype == x.dtype and a.ndim <= 3 and a.size <= MOST)
    shape = () if way < 0.6 else (1,) if way < 0.7 else tuple(d.random.choice([1, n, n]) for n in x.shape)
    return d.constant(numbers(d, x.dtype, shape), x.dtype)


def parameter(d: Draft, low: int, high: int, count: int) -> str:
    """A vector of integers: constant, put together from dims and data, or given at run time."""
    r = d.random
    way = r.random()
    if way < 0.5 or not count:
        return d.constant([r.randrange(low, high) for _ in range(count)])
    if way < 0.6:
        return pick(d, lambda a: a.dtype == np.int64 and a.shape == (count,))
    parts = [single(d) if r.random() < 0.4 else d.constant([r.randrange(low, high)]) for _ in range(count)]
    return d.one("Concat", *parts, axis=0)


def made(d: Draft) -> str:
    """A tensor of known elements: a constant, one number in a computed shape, or counting."""
    r = d.random
    dtype = r.choice(TYPES)
    way = r.random()
    if way < 0.35:
        shape = r.choice([(), (1,), (2,), (3,), (4,), (2, 2), (1, 3), (2, 1), (0,), (2, 0)])
        return d.one("Identity", d.constant(numbers(d, dtype, shape), dtype))
    if way < 0.8:
        value = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], numbers(d, dtype, (1,)))
        return d.one("ConstantOfShape", vector(d, 3), value=value)
    if way < 0.9:
        return d.one("Range", d.constant(r.choice([0, 1, -2])), dim(d), d.constant(r.choice([1, 1, 2])))
    return d.one("Cast", small(d), to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def changed(d: Draft) -> str:
    x = small(d)
    kind = sample(d, x).dtype.kind
    names = {
        "b": ["Not", "Identity"],
        "i": ["Neg", "Abs", "Sign", "Identity", "Relu", "BitwiseNot"],
        "u": ["Identity", "Sign", "BitwiseNot", "Abs"],
        "f": [
            "Neg",
            "Abs",
            "Sign",
            "Floor",
            "Ceil",
            "Round",
            "Sqrt",
            "Reciprocal",
            "Relu",
            "Dropout",
            "IsNaN",
            "IsInf",
        ],
    }
    return d.one(d.random.choice(names[kind]), x)


def combined(d: Draft) -> str:
    a = small(d)
    b = mate(d, a)
    kind = sample(d, a).dtype.kind
    if d.random.random() < 0.3:
        a, b = b, a
    if kind == "b":
        return d.one(d.random.choice(["And", "Or", "Xor", "Equal"]), a, b)
    way = d.random.random()
    if way < 0.25:
        return d.one(d.random.choice(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), a, b)
    ops = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
    op = d.random.choice(
        [*ops, "Sum", "Mean", "Pow", "Mod"] if kind == "f" else [*ops, "Mod", "BitwiseAnd", "BitwiseOr"]
    )
    return d.one(op, a, b, **({"fmod": 1} if op == "Mod" and (kind == "f" or d.random.random() < 0.3) else {}))


def converted(d: Draft) -> str:
    x = small(d)
    dtype = np.dtype(d.random.choice(TYPES))
    if d.random.random() < 0.2:
        return d.one("CastLike", x, pick(d, lambda a: a.size <= MOST))
    return d.one("Cast", x, to=helper.np_dtype_to_tensor_dtype(dtype))


def chosen(d: Draft) -> str:
    a = small(d)
    condition = pick(d, lambda x: x.dtype == bool and x.ndim <= 3 and x.size <= MOST)
    return d.one("Where", condition, *d.random.sample([a, mate(d, a)], 2))


def clipped(d: Draft) -> str:
    x = small(d, "if")
    dtype = sample(d, x).dtype
    ends = [d.constant(numbers(d, dtype, ()), dtype) if d.random.random() < 0.7 else "" for _ in range(2)]
    return d.one("Clip", x, *ends)


def padded(d: Draft) -> str:
    x = small(d, least=1)
    rank = sample(d, x).ndim
    given = [x, parameter(d, d.random.choice([-1, 0]), 3, 2 * rank)]
    if d.random.random() < 0.5:
        given.append(d.constant(numbers(d, sample(d, x).dtype, ()), sample(d, x).dtype))
    if d.opset >= 18 and d.random.random() < 0.3:
        axes = [d.random.randrange(rank)]
        held = (
            d.constant(axes) if d.random.random() < 0.5 else pick(d, lambda a: a.dtype == np.int64 and a.shape == (1,))
        )
        given = [x, parameter(d, 0, 3, 2), *(given[2:] or [""]), held]
    return d.one("Pad", *given, mode=d.random.choice(["constant", "constant", "constant", "edge", "reflect"]))


def joined(d: Draft) -> str:
    x = small(d, least=1)
    like = sample(d, x)
    others = [pick(d, lambda a: a.dtype == like.dtype and a.ndim == like.ndim and a.size <= MOST)]
    if d.random.random() < 0.4:
        shape = tuple(d.random.choice([0, 1, n]) if i == 0 else n for i, n in enumerate(like.shape))
        others.append(d.constant(numbers(d, like.dtype, shape), like.dtype))
    parts = [x, *others]
    d.random.shuffle(parts)
    return d.one("Concat", *parts, axis=d.random.randrange(-like.ndim, like.ndim))


def picked(d: Draft) -> str:
    x = small(d, least=1)
    like = sample(d, x)
    axis = d.random.randrange(-like.ndim, like.ndim)
    way = d.random.randrange(4)
    if way == 0:
        index = pick(d, lambda a: a.dtype == np.int64 and a.ndim <= 2 and a.size <= 9)
        return d.one("Gather", x, index, axis=axis)
    if way == 1:
        shape = d.random.choice([(), (1,), (2,), (2, 1)])
        return d.one("Gather", x, d.constant(np.array(d.random.choice([0, -1, 1])) * np.ones(shape)), axis=axis)
    if way == 2:
        index = np.zeros([d.random.choice([0, 1, n]) for n in like.shape]) - d.random.choice([0, 0, 1])
        return d.one("GatherElements", x, d.constant(index), axis=axis)
    length = d.random.randrange(1, like.ndim + 1)
    index = np.array([[d.random.choice([0, 0, -1, 1]) for _ in range(length)] for _ in range(d.random.randrange(1, 3))])
    return d.one("GatherND", x, d.constant(index))


def written(d: Draft) -> str:
    x = small(d, least=1)
    like = sample(d, x)
    how = {"reduction": d.random.choice(["none", "add", "mul", "max", "min"])} if d.opset >= 18 else {}
    if d.random.random() < 0.5:
        shape = [d.random.choice([0, 1, n]) for n in like.shape]
        index = np.zeros(shape) - d.random.choice([0, 1])
        updates = d.constant(numbers(d, like.dtype, tuple(shape)), like.dtype)
        return d.one("ScatterElements", x, d.constant(index), updates, axis=d.random.randrange(like.ndim), **how)
    updates = d.constant(numbers(d, like.dtype, (1, *like.shape[1:])), like.dtype)
    return d.one("ScatterND", x, d.constant([[d.random.choice([0, -1])]]), updates, **how)


def arranged(d: Draft) -> object:
    r = d.random
    x = small(d, least=1)
    like = sample(d, x)
    rank = like.ndim
    way = r.randrange(9)
    if way == 0:
        order = list(range(rank))
        r.shuffle(order)
        return d.one("Transpose", x, perm=order)
    if way == 1:
        return d.one("Expand", x, parameter(d, 0, 3, r.choice([rank, rank + 1])))
    if way == 2:
        return d.one("Tile", x, parameter(d, 0, 3, rank))
    if way == 3:
        return d.one("Reshape", x, d.constant(r.choice([[-1], [-1, 1], [1, -1], [0, -1], [2, -1]])))
    if way == 4:
        args = [parameter(d, -3, 4, 1), parameter(d, -3, 4, 1), d.constant([r.randrange(-rank, rank)])]
        return d.one("Slice", x, *args, *([d.constant([r.choice([1, 2, -1])])] if r.random() < 0.5 else []))
    if way == 5:
        return d.one("Unsqueeze", x, d.constant([r.randrange(-rank - 1, rank + 1)]))
    if way == 6:
        return d.one("Squeeze", x, *([d.constant([r.randrange(rank)])] if r.random() < 0.6 else []))
    if way == 7:
        return d.one("Flatten", x, axis=r.randrange(-rank, rank + 1))
    axis = r.randrange(rank)
    first = parameter(d, 0, 3, 1)
    extent = d.one("Gather", d.one("Shape", x), d.constant([axis]))
    return d.node("Split", [x, d.one("Concat", first, d.one("Sub", extent, first), axis=0)], 2, axis=axis)


def counted(d: Draft) -> object:
    r = d.random
    x = small(d, least=1)
    like = sample(d, x)
    axis = r.randrange(-like.ndim, like.ndim)
    way = r.randrange(8)
    if way == 0:
        return d.node(
            "TopK", [x, parameter(d, 0, 3, 1)], 2, axis=axis, largest=r.choice([0, 1]), sorted=r.choice([0, 1])
        )
    if way == 1:
        return d.node("Unique", [x], r.randrange(1, 5), sorted=r.choice([0, 1]))
    if way == 2:
        return d.one("NonZero", x)
    if way == 3:
        condition = d.constant([r.random() < 0.5 for _ in range(r.randrange(0, 4))], bool)
        return d.one("Compress", x, condition, axis=axis)
    if way == 4:
        axis = abs(axis) % like.ndim
        return d.one(
            r.choice(["ArgMax", "ArgMin"]), x, axis=axis, keepdims=r.choice([0, 1]), select_last_index=r.choice([0, 1])
        )
    if way == 5:
        flags = {"exclusive": r.choice([0, 1]), "reverse": r.choice([0, 1])}
        return d.one("CumSum", x, d.constant(axis), **flags)
    if way == 6:
        index = pick(d, lambda a: a.dtype == np.int64 and 1 <= a.ndim <= 2 and a.size <= 9)
        dtype = r.choice(["int64", "float32", "int32"])
        return d.one(
            "OneHot", index, parameter(d, 1, 4, 1), d.constant(numbers(d, dtype, (2,)), dtype), axis=r.choice([0, -1])
        )
    matrix = small(d, least=2, most=3)
    if r.random() < 0.5:
        k = [d.constant(r.choice([-1, 0, 1]))] if r.random() < 0.6 else [scalar(d)]
        return d.one("Trilu", matrix, *k, upper=r.choice([0, 1]))
    return d.one("EyeLike", matrix, k=r.choice([-1, 0, 1, 2]), dtype=r.choice([TensorProto.INT64, TensorProto.FLOAT]))


def reduced(d: Draft) -> str:
    r = d.random
    x = small(d, "iub" if r.random() < 0.5 else "if", least=1)
    rank = sample(d, x).ndim
    op = r.choice(["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"])
    keep = r.choice([0, 1])
    axes = r.sample(range(rank), r.randrange(1, rank + 1))
    if op == "ReduceSum" or d.opset >= 18:
        held = d.constant(axes) if r.random() < 0.8 else d.constant([], np.int64)
        return d.one(op, x, held, keepdims=keep, noop_with_empty_axes=r.choice([0, 0, 1]))
    return d.one(op, x, axes=axes, keepdims=keep)


def blocks(d: Draft) -> str:
    x = small(d, least=1, most=3)
    like = sample(d, x)
    image = d.one("Expand", d.one("Reshape", x, d.constant([1, 1, 1, -1])), d.constant([1, 4, 2, 1]))
    if d.random.random() < 0.6:
        return d.one("DepthToSpace", image, blocksize=2, mode=d.random.choice(["DCR", "CRD"]))
    if like.ndim < 2:
        raise DeadEndError("a vector")
    lengths = d.one("Expand", d.constant([1]), d.one("Slice", d.one("Shape", x), d.constant([1]), d.constant([2])))
    return d.one("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)


def in_sequence(d: Draft) -> object:
    """Through a sequence, or an optional, and back."""
    r = d.random
    x = small(d)
    like = sample(d, x)
    if r.random() < 0.25 and d.opset >= 18:
        kind = helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(like.dtype), None)
        held = d.one("Optional", x, type=kind)
        d.optionals.add(held)
        return d.one(r.choice(["OptionalGetElement", "OptionalHasElement"]), held)
    others = [pick(d, lambda a: a.dtype == like.dtype and a.size <= MOST) for _ in range(r.randrange(0, 3))]
    items = d.one("SequenceConstruct", x, *others)
    if r.random() < 0.5:
        at = [d.constant(r.choice([0, -1, 1]))] if r.random() < 0.6 else []
        items = d.one("SequenceInsert", items, mate(d, x), *at)
    if r.random() < 0.3:
        items = d.one("SequenceErase", items, *([d.constant(r.choice([0, -1]))] if r.random() < 0.5 else []))
    if r.random() < 0.6:
        at = d.constant(r.choice([0, -1, 1])) if r.random() < 0.7 else scalar(d)
        return d.one("SequenceAt", items, at)
    return d.one("ConcatFromSequence", items, axis=0, new_axis=r.choice([0, 1]))


def used(d: Draft) -> str:
    """Elements as sizes: of a shape to expand to."""
    x = pick(d, lambda a: a.dtype.kind in "iu" and a.ndim <= 2 and a.size <= 3)
    wide = d.one("Cast", d.one("Reshape", x, d.constant([-1])), to=TensorProto.INT64)
    kept = d.one("Clip", wide, d.constant(0), d.constant(4))
    return d.one("Expand", data(d, 0, 2), kept) if d.random.random() < 0.5 else d.one("ConstantOfShape", kept)


ELEMENT_MOVES: Final[tuple[tuple[Move, int], ...]] = (
    (made, 6), (changed, 3), (combined, 6), (converted, 3), (chosen, 3), (clipped, 2), (padded, 4), (joined, 4),
    (picked, 4), (written, 3), (arranged, 6), (counted, 5), (reduced, 4), (blocks, 1), (in_sequence, 3), (used, 2),
)  # fmt: skip
"""Steps with their weights."""
