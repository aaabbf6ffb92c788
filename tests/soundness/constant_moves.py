"""Nodes of constants, operator by operator, with the attributes and inputs of their opset."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from onnx import helper, numpy_helper

from tests.soundness.constant_values import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    Array,
    array,
    integers,
    number,
    shape,
)


class Node(NamedTuple):
    """One node with what it is given."""

    op: str
    inputs: Sequence[Array | None]
    attributes: dict[str, Any]
    outputs: int = 1


Move = Callable[[str, int, random.Random], Node]


def unary(*dtypes: str) -> Move:
    def move(op: str, opset: int, rng: random.Random) -> Node:
        return Node(op, [array(rng, rng.choice(dtypes), shape(rng))], {})

    return move


def binary(*dtypes: str) -> Move:
    def move(op: str, opset: int, rng: random.Random) -> Node:
        dtype, sizes = rng.choice(dtypes), shape(rng)
        other = rng.choice([sizes, (), (1,), tuple(rng.choice([1, n]) for n in sizes)])
        pair = [array(rng, dtype, sizes), array(rng, dtype, other)]
        if rng.random() < 0.3:
            pair.reverse()
        attributes: dict[str, Any] = {}
        if op == "Mod":
            attributes["fmod"] = int(dtype in FLOATS or rng.random() < 0.4)
        if op in ("Mod", "Div") and dtype in INTEGERS:  # a division by 0, or of the smallest by -1, ends the process
            pair[1] = np.where((pair[1] == 0) | (pair[1].astype(object) == -1), 3, pair[1]).astype(dtype)
        if op == "BitShift":
            attributes["direction"] = rng.choice(["LEFT", "RIGHT"])
            pair[1] = pair[1] % np.array(np.iinfo(dtype).bits, dtype)
        return Node(op, pair, attributes)

    return move


def power(op: str, opset: int, rng: random.Random) -> Node:
    dtypes = ("int32", "int64", "float32", "float64")
    base, sizes = rng.choice(dtypes), shape(rng)
    exponent = base if opset < 12 else rng.choice(dtypes)
    plain = None if exponent.startswith("float") else True
    return Node(op, [array(rng, base, sizes), array(rng, exponent, rng.choice([sizes, ()]), plain=plain)], {})


def variadic(op: str, opset: int, rng: random.Random) -> Node:
    dtype, sizes = rng.choice(NUMBERS), shape(rng)
    return Node(op, [array(rng, dtype, rng.choice([sizes, ()])) for _ in range(rng.randrange(1, 4))], {})


def where(op: str, opset: int, rng: random.Random) -> Node:
    dtype, sizes = rng.choice(ALL), shape(rng)
    a, b = (array(rng, dtype, rng.choice([sizes, ()])) for _ in range(2))
    return Node(op, [array(rng, "bool", sizes), a, b], {})


def clip(op: str, opset: int, rng: random.Random) -> Node:
    dtype = rng.choice(NUMBERS)
    x = array(rng, dtype, shape(rng))
    if opset < 11:
        ends = {name: float(number(rng, "float32")) for name in ("min", "max") if rng.random() < 0.7}
        return Node(op, [x], {k: v for k, v in ends.items() if abs(v) < 1e38})
    return Node(op, [x, *(array(rng, dtype, ()) if rng.random() < 0.7 else None for _ in range(2))], {})


def cast(op: str, opset: int, rng: random.Random) -> Node:
    source, target = rng.choice(ALL), rng.choice(ALL)
    x = array(rng, source, shape(rng))
    if op == "CastLike":
        return Node(op, [x, array(rng, target, ())], {})
    return Node(op, [x], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(target))})


def arange(op: str, opset: int, rng: random.Random) -> Node:
    dtype = rng.choice(["int16", "int32", "int64", "float32", "float64"])
    start, limit, delta = (number(rng, dtype, plain=True) for _ in range(3))
    scale = rng.choice([1, 1, 0.5, 0.1, 1 / 3, 3]) if dtype.startswith("float") else rng.choice([1, 1, 3, 7])
    offset = rng.choice([0, 0, 2**24 if dtype == "float32" else 2**31 - 8 if dtype == "int32" else 0])
    other = rng.choice([scale, scale, 0.1, 0.3, 0.7]) if dtype.startswith("float") else scale
    numbers = [start * scale + offset, limit * scale * 2 + offset, (delta or 1) * other]
    if dtype in SIGNED:
        numbers = [int(np.clip(n, np.iinfo(dtype).min, np.iinfo(dtype).max)) for n in numbers]
    return Node(op, [np.array(n, dtype) for n in numbers], {})


def constant_of_shape(op: str, opset: int, rng: random.Random) -> Node:
    sizes = shape(rng)
    attributes: dict[str, Any] = {}
    if rng.random() < 0.8:
        attributes["value"] = numpy_helper.from_array(array(rng, rng.choice(ALL), (1,)))
    return Node(op, [np.array(sizes, np.int64)], attributes)


def eye_like(op: str, opset: int, rng: random.Random) -> Node:
    attributes: dict[str, Any] = {"k": rng.choice([-5, -1, 0, 1, 2, 9])} if rng.random() < 0.7 else {}
    if rng.random() < 0.5:
        attributes["dtype"] = helper.np_dtype_to_tensor_dtype(np.dtype(rng.choice(ALL)))
    return Node(op, [array(rng, rng.choice(ALL), shape(rng, 2, 2))], attributes)


def one_hot(op: str, opset: int, rng: random.Random) -> Node:
    sizes, depth = shape(rng, 1), rng.choice([1, 2, 3, 4])
    indices = np.array([rng.randrange(-depth - 2, depth + 2) for _ in range(int(np.prod(sizes)))], np.int64)
    kind = rng.choice(["int64", "int32", "float32"])
    values = array(rng, rng.choice(["int64", "int32", "float32", "bool", "uint8", "float64", "int8"]), (2,))
    held = np.array(depth, rng.choice(["int64", "float32"])).reshape(rng.choice([(), (1,)]))
    axis = {"axis": rng.randrange(-len(sizes) - 1, len(sizes) + 1)} if rng.random() < 0.7 else {}
    return Node(op, [indices.reshape(sizes).astype(kind), held, values], axis)


def filled(rng: random.Random, least: int = 1, most: int = 3) -> Array:
    return array(rng, rng.choice(ALL), shape(rng, least, most))


def axis_of(rng: random.Random, x: Array) -> int:
    return rng.randrange(-x.ndim, x.ndim) if x.ndim else 0


def positions(rng: random.Random, extent: int, sizes: Sequence[int]) -> Array:
    extent = max(extent, 1)
    count = int(np.prod(sizes))
    return np.array([rng.randrange(-extent, extent) for _ in range(count)], np.int64).reshape(tuple(sizes))


def gather(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    axis = axis_of(rng, x)
    if op == "Gather":
        return Node(op, [x, positions(rng, x.shape[axis], shape(rng, 0, 2))], {"axis": axis})
    at = axis % x.ndim
    sizes = [rng.randrange(0, 4) if i == at else rng.randrange(0, n + 1) for i, n in enumerate(x.shape)]
    return Node(op, [x, positions(rng, x.shape[axis], sizes)], {"axis": axis})


def gather_nd(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    batch = rng.randrange(0, x.ndim) if opset >= 12 and rng.random() < 0.4 else 0
    length = rng.randrange(1, x.ndim - batch + 1)
    sizes = [*x.shape[:batch], *shape(rng, 0, 1)]
    columns = [positions(rng, x.shape[batch + i], sizes) for i in range(length)]
    return Node(op, [x, np.stack(columns, -1)], {"batch_dims": batch} if batch else {})


def scatter(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    how = ["none", *(["add", "mul"] if opset >= 16 else []), *(["max", "min"] if opset >= 18 else [])]
    attributes: dict[str, Any] = {"reduction": rng.choice(how)} if opset >= 16 and rng.random() < 0.7 else {}
    dtype = x.dtype.name
    if op == "ScatterND":
        length = rng.randrange(1, x.ndim + 1)
        count = rng.randrange(0, 4)
        index = np.stack([positions(rng, x.shape[i], [count]) for i in range(length)], -1)
        return Node(op, [x, index, array(rng, dtype, (count, *x.shape[length:]))], attributes)
    axis = axis_of(rng, x)
    at = axis % x.ndim
    sizes = [rng.randrange(0, 4) if i == at else rng.randrange(0, n + 1) for i, n in enumerate(x.shape)]
    return Node(op, [x, positions(rng, x.shape[axis], sizes), array(rng, dtype, sizes)], {"axis": axis, **attributes})


def transpose(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 0)
    order = list(range(x.ndim))
    rng.shuffle(order)
    return Node(op, [x], {"perm": order} if rng.random() < 0.7 and order else {})


def concat(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    axis = axis_of(rng, x)
    parts = [x]
    for _ in range(rng.randrange(0, 3)):
        sizes = list(x.shape)
        sizes[axis] = rng.randrange(0, 3)
        parts.append(array(rng, x.dtype.name, sizes))
    return Node(op, parts, {"axis": axis})


def split(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    axis = axis_of(rng, x)
    count = rng.randrange(1, 4)
    size = x.shape[axis]
    ends = sorted(rng.randrange(0, size + 1) for _ in range(count - 1))
    sizes = [b - a for a, b in zip([0, *ends], [*ends, size], strict=True)]
    if rng.random() < 0.6:
        if opset >= 13:
            return Node(op, [x, integers(*sizes)], {"axis": axis}, count)
        return Node(op, [x], {"axis": axis, "split": sizes}, count)
    return Node(op, [x], {"axis": axis, **({"num_outputs": count} if opset >= 18 else {})}, count)


def split_to_sequence(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    axis = axis_of(rng, x)
    attributes: dict[str, Any] = {"axis": axis}
    if rng.random() < 0.6:
        attributes["keepdims"] = rng.choice([0, 1])
    size = x.shape[axis]
    ends = sorted(rng.randrange(0, size + 1) for _ in range(rng.randrange(0, 3)))
    listed = [b - a for a, b in zip([0, *ends], [*ends, size], strict=True)]
    kind = rng.choice(["int32", "int64"])
    one = np.array(rng.randrange(1, 5), kind)
    return Node(op, rng.choice([[x], [x, one], [x, np.array(listed, kind)]]), attributes)


def expand(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 0)
    target = [rng.choice([1, n, 3 if n == 1 else n]) for n in x.shape]
    return Node(op, [x, integers(*([2] if rng.random() < 0.3 else []), *target)], {})


def tile(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 1)
    return Node(op, [x, integers(*(rng.randrange(0, 3) for _ in x.shape))], {})


def pad(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    least = rng.choice([0, -1])
    pads = [rng.randrange(least, 3) for _ in range(2 * x.ndim)]
    mode = rng.choice(["constant", "constant", "edge", "reflect", *(["wrap"] if opset >= 19 else [])])
    if opset < 11:
        return Node(op, [x], {"pads": pads, "mode": mode, "value": rng.choice([0.0, 1.0, 0.1])})
    given: list[Array | None] = [x, integers(*pads)]
    if rng.random() < 0.6:
        given.append(array(rng, x.dtype.name, ()))
    return Node(op, given, {"mode": mode})


def reshape(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 0)
    targets = [[-1], [x.size], [1, x.size], [*x.shape, 1], [0] * x.ndim, [x.size, 1, -1]]
    return Node(op, [x, integers(*rng.choice(targets))], {})


def flatten(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 0)
    return Node(op, [x], {"axis": rng.randrange(-x.ndim if opset >= 11 else 0, x.ndim + 1)})


def squeeze(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 0)
    rank = x.ndim + (op == "Unsqueeze")
    axes = [i for i in range(rank) if op == "Unsqueeze" or x.shape[i] == 1][:1]
    if opset >= 13:
        return Node(op, [x, integers(*axes)] if axes or op == "Unsqueeze" else [x], {})
    return Node(op, [x], {"axes": axes} if axes else {})


def slice_(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    far = [-(2**63), -(2**31), 2**31 - 1, 2**63 - 1, -9, 9]
    count = rng.randrange(1, x.ndim + 1)
    axes = rng.sample(range(x.ndim), count)
    starts, ends = ([rng.choice([*range(-3, 4), rng.choice(far)]) for _ in axes] for _ in range(2))
    if opset < 10:
        return Node(op, [x], {"starts": starts, "ends": ends, "axes": axes})
    steps = [rng.choice([1, 1, 2, -1, -2, 3]) for _ in axes]
    return Node(op, [x, *(integers(*values) for values in (starts, ends, axes, steps))], {})


def arg_extreme(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng, 0)
    attributes = {"axis": axis_of(rng, x) if opset >= 11 else abs(axis_of(rng, x)) % max(x.ndim, 1)}
    attributes["keepdims"] = rng.choice([0, 1])
    if opset >= 12:
        attributes["select_last_index"] = rng.choice([0, 1])
    return Node(op, [x], attributes)


def non_zero(op: str, opset: int, rng: random.Random) -> Node:
    return Node(op, [filled(rng, 0)], {})


def compress(op: str, opset: int, rng: random.Random) -> Node:
    x = filled(rng)
    axis = {"axis": axis_of(rng, x)} if rng.random() < 0.7 else {}
    return Node(op, [x, array(rng, "bool", (rng.randrange(0, 5),))], axis)


def shape_of(op: str, opset: int, rng: random.Random) -> Node:
    ends = {
        name: rng.randrange(-4, 5) for name in ("start", "end") if op == "Shape" and opset >= 15 and rng.random() < 0.6
    }
    return Node(op, [filled(rng, 0)], ends)


def blocks(op: str, opset: int, rng: random.Random) -> Node:
    sizes = (1, 8, 1, 2) if op == "DepthToSpace" else (1, 2, 2, 4)
    mode = {"mode": rng.choice(["DCR", "CRD"])} if op == "DepthToSpace" and opset >= 11 else {}
    return Node(op, [array(rng, rng.choice(ALL), sizes)], {"blocksize": 2, **mode})


def reverse_sequence(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(ALL), rng.choice([(3, 2), (2, 3), (2, 2, 2)]))
    time = rng.choice([0, 1])
    lengths = [rng.randrange(1, x.shape[time] + 1) for _ in range(x.shape[1 - time])]
    return Node(op, [x, integers(*lengths)], {"time_axis": time, "batch_axis": 1 - time})


def trilu(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(ALL), shape(rng, 2))
    k = [np.array(rng.choice([-9, -1, 0, 1, 2]), np.int64)] if rng.random() < 0.7 else []
    return Node(op, [x, *k], {"upper": rng.choice([0, 1])})


def cumulate(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(["int32", "int64", "float32", "uint32", "uint64", "float64"]), shape(rng, 1))
    flags = {name: rng.choice([0, 1]) for name in ("exclusive", "reverse")}
    return Node(op, [x, np.array(axis_of(rng, x), np.int64)], flags)


def reduce(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(ALL), shape(rng))
    axes = rng.sample(range(x.ndim), rng.randrange(0, x.ndim + 1)) if x.ndim else []
    attributes: dict[str, Any] = {"keepdims": rng.choice([0, 1])}
    by_input = opset >= (13 if op == "ReduceSum" else 18)
    if by_input:
        attributes["noop_with_empty_axes"] = rng.choice([0, 0, 1])
        return Node(op, [x, integers(*axes)] if rng.random() < 0.8 else [x], attributes)
    return Node(op, [x], {**attributes, **({"axes": axes} if axes else {})})


def top_k(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(NUMBERS), shape(rng, 1), plain=rng.random() < 0.7)
    attributes: dict[str, Any] = {"axis": axis_of(rng, x)}
    k = rng.randrange(0, x.shape[attributes["axis"]] + 1)
    if opset < 10:
        return Node(op, [x], {"axis": attributes["axis"] % x.ndim, "k": max(k, 1)}, 2)
    if opset >= 11:
        attributes |= {"largest": rng.choice([0, 1]), "sorted": rng.choice([0, 1])}
    return Node(op, [x, integers(k)], attributes, 2)


def unique(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(NUMBERS), rng.choice([(3,), (4,), (2, 3), (1,), (0,), (3, 1), (2, 2, 2)]))
    axis = {"axis": axis_of(rng, x)} if rng.random() < 0.4 and x.size else {}
    return Node(op, [x], {"sorted": rng.choice([0, 1]), **axis}, rng.choice([1, 2, 3, 4]))


def bit_cast(op: str, opset: int, rng: random.Random) -> Node:
    width = rng.choice([8, 16, 32, 64])
    kinds = [name for name in (*INTEGERS, *FLOATS) if np.dtype(name).itemsize * 8 == width]
    return Node(
        op,
        [array(rng, rng.choice(kinds), shape(rng))],
        {"to": helper.np_dtype_to_tensor_dtype(np.dtype(rng.choice(kinds)))},
    )


def max_pool(op: str, opset: int, rng: random.Random) -> Node:
    axes = rng.choice([1, 2])
    dtype = rng.choice(["int8", "uint8", "float32"] if opset >= 12 else ["float32"])
    x = array(rng, dtype, (1, rng.choice([1, 2]), *(rng.randrange(1, 6) for _ in range(axes))))
    kernel = [rng.randrange(1, 4) for _ in range(axes)]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    if rng.random() < 0.7:
        attributes["strides"] = [rng.randrange(1, 4) for _ in range(axes)]
    way = rng.random()
    if way < 0.5:
        attributes["pads"] = [rng.randrange(0, max(1, k)) for _ in range(2) for k in kernel]
    elif way < 0.8:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if opset >= 10:
        attributes["ceil_mode"] = rng.choice([0, 1])
        if rng.random() < 0.3:
            attributes["dilations"] = [rng.randrange(1, 3) for _ in range(axes)]
    if opset >= 8 and rng.random() < 0.3:
        attributes["storage_order"] = rng.choice([0, 1])
    return Node(op, [x], attributes, 2 if opset >= 8 and rng.random() < 0.5 else 1)


def dropout(op: str, opset: int, rng: random.Random) -> Node:
    x = array(rng, rng.choice(FLOATS), shape(rng))
    if opset < 12:
        return Node(op, [x], {"ratio": rng.choice([0.0, 0.5])}, rng.choice([1, 2]))
    ratio = np.array(rng.choice([0.0, 0.5]), np.float32) if rng.random() < 0.6 else None
    mode = [np.array(rng.random() < 0.5)] if rng.random() < 0.5 else []
    return Node(op, [x, ratio, *mode], {"seed": 1}, rng.choice([1, 2]))


def constant(op: str, opset: int, rng: random.Random) -> Node:
    choices: list[dict[str, Any]] = [{"value": numpy_helper.from_array(filled(rng, 0))}]
    if opset >= 12:
        choices += [
            {"value_int": number(rng, "int64")},
            {"value_ints": [number(rng, "int64") for _ in range(rng.randrange(1, 4))]},
            {"value_float": float(np.float32(number(rng, "float32")))},
            {"value_floats": [0.1, 1.0]},
        ]
    return Node(op, [], rng.choice(choices))


MOVES: Final[dict[str, Move]] = {
    **dict.fromkeys(["Relu", "Neg", "Abs", "Sign"], unary(*NUMBERS)),
    **dict.fromkeys(["Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "IsNaN", "IsInf"], unary(*FLOATS)),
    "BitwiseNot": unary(*INTEGERS),
    "Not": unary("bool"),
    "Identity": unary(*ALL),
    **dict.fromkeys(["Add", "Sub", "Mul", "Div", "Mod"], binary(*NUMBERS)),
    **dict.fromkeys(["Less", "Greater", "LessOrEqual", "GreaterOrEqual"], binary(*NUMBERS)),
    "Equal": binary(*ALL),
    **dict.fromkeys(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], binary(*INTEGERS)),
    **dict.fromkeys(["And", "Or", "Xor"], binary("bool")),
    "BitShift": binary("uint8", "uint16", "uint32", "uint64"),
    "Pow": power,
    **dict.fromkeys(["Max", "Min", "Sum", "Mean"], variadic),
    "Where": where,
    "Clip": clip,
    **dict.fromkeys(["Cast", "CastLike"], cast),
    "Dropout": dropout,
    "Range": arange,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "EyeLike": eye_like,
    "OneHot": one_hot,
    **dict.fromkeys(["Gather", "GatherElements"], gather),
    "GatherND": gather_nd,
    **dict.fromkeys(["ScatterElements", "ScatterND"], scatter),
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "SplitToSequence": split_to_sequence,
    "Expand": expand,
    "Tile": tile,
    "Pad": pad,
    "Reshape": reshape,
    "Flatten": flatten,
    **dict.fromkeys(["Squeeze", "Unsqueeze"], squeeze),
    "Slice": slice_,
    **dict.fromkeys(["ArgMax", "ArgMin"], arg_extreme),
    "NonZero": non_zero,
    "Compress": compress,
    **dict.fromkeys(["Shape", "Size"], shape_of),
    **dict.fromkeys(["DepthToSpace", "SpaceToDepth"], blocks),
    "ReverseSequence": reverse_sequence,
    "Trilu": trilu,
    **dict.fromkeys(["CumSum", "CumProd"], cumulate),
    **dict.fromkeys(["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"], reduce),
    "TopK": top_k,
    "Unique": unique,
    "BitCast": bit_cast,
    "MaxPool": max_pool,
}
"""Every operator whose elements are followed, by its rule or by evaluation."""
