"""Steps of a random model that move rows: reshapes, rightly and wrongly, row numbers as indices, and axes mixed."""

from __future__ import annotations

from typing import Final

import numpy as np
from onnx import TensorProto, helper

from tests.soundness.graph_drafts import Draft
from tests.soundness.graph_moves import Move, data, pick, sample


def size_of(d: Draft, name: str, axis: int) -> str:
    """A size as a vector of one element."""
    return d.one("Gather", d.one("Shape", name), d.constant([axis]))


def count(d: Draft) -> str:
    """The number of rows, as a vector of one element."""
    return size_of(d, "x0", next(axis for axis, dim in enumerate(d.inputs[0].dims) if dim == "N"))


def product(d: Draft, sizes: list[str]) -> str:
    found = sizes[0]
    for size in sizes[1:]:
        found = d.one("Mul", found, size)
    return found


def reshape(d: Draft) -> str:
    """Neighbours merged; at times in another order, which mixes rows."""
    source = data(d, 1)
    rank = sample(d, source).ndim
    sizes = [size_of(d, source, axis) for axis in range(rank)]
    if d.random.random() < 0.3:
        d.random.shuffle(sizes)
    groups: list[list[str]] = [[]]
    for size in sizes:
        if groups[-1] and d.random.random() < 0.5:
            groups.append([])
        groups[-1].append(size)
    target = [product(d, group) for group in groups]
    if d.random.random() < 0.4:
        target[d.random.randrange(len(target))] = d.constant([-1])
    return d.one("Reshape", source, d.one("Concat", *target, axis=0))


def divided(d: Draft) -> str:
    """An axis split in two, of which one has a fixed size, or that of all rows."""
    source = data(d, 1, 3)
    rank = sample(d, source).ndim
    axis = d.random.randrange(rank)
    part = count(d) if d.random.random() < 0.5 else d.constant([d.random.choice([1, 2, 3])])
    pair = [part, d.constant([-1])]
    if d.random.random() < 0.5:
        pair.reverse()
    sizes = [[size_of(d, source, at)] if at != axis else pair for at in range(rank)]
    return d.one("Reshape", source, d.one("Concat", *(s for each in sizes for s in each), axis=0))


def restored(d: Draft) -> str:
    """The shape of another value with as many elements, rightly or wrongly."""
    source = data(d, 1)
    size = sample(d, source).size
    other = pick(d, lambda a: a.size == size)
    return d.one("Reshape", source, d.one("Shape", other))


def numbers(d: Draft) -> str:
    """The numbers of the rows, alone or scaled and shifted, along one of some axes."""
    zero, one = d.constant(0), d.constant(1)
    found = d.one("Range", zero, d.one("Squeeze", count(d)), one)
    if d.random.random() < 0.3:
        found = d.one("Mul", found, d.constant(d.random.choice([-1, 0, 2, 3])))
    if d.random.random() < 0.3:
        found = d.one("Add", found, d.constant(d.random.choice([-1, 1, 2])))
    if d.random.random() < 0.5:
        axes = d.random.choice([[0], [1], [1, 2], [0, 2]])
        found = d.one("Unsqueeze", found, d.constant(axes))
    return found


def index(d: Draft, least: int = 0) -> str:
    """Integers, as row numbers, numbers of a row, or sums of both."""
    if d.random.random() < 0.4:
        return numbers(d)
    found = pick(d, lambda a: a.dtype == np.int64 and least <= a.ndim <= 3)
    if d.random.random() < 0.3:
        return d.one(d.random.choice(["Add", "Mul"]), found, numbers(d))
    return found


def gathered(d: Draft) -> str:
    source = data(d, 1, 4)
    return d.one("Gather", source, index(d), axis=d.random.randrange(sample(d, source).ndim))


def flat_gathered(d: Draft) -> str:
    """An element of each row, at its number times the length of a row plus an index."""
    source = pick(d, lambda a: a.dtype == np.float32 and a.ndim == 2)
    flat = d.one("Reshape", source, d.constant([-1]))
    ids = d.one("ArgMax", source, axis=d.random.choice([1, 1, 0]), keepdims=0)
    step = d.one("Mul", numbers(d), d.one("Squeeze", size_of(d, source, d.random.choice([1, 1, 0]))))
    return d.one("Gather", flat, d.one("Add", step, ids))


def pairs(d: Draft) -> str:
    """Indices of two columns, for GatherND and ScatterND."""
    columns = [d.one("Reshape", index(d), d.constant([-1, 1])) for _ in range(2)]
    return d.one("Concat", *columns, axis=1)


def gathered_nd(d: Draft) -> str:
    return d.one("GatherND", data(d, 2, 4), pairs(d))


def scattered_nd(d: Draft) -> str:
    source, places = data(d, 2, 3), pairs(d)
    return d.one("ScatterND", source, places, d.one("GatherND", source, places))


def dealt(d: Draft) -> str:
    """What is found in all rows, worked on, and put back, as experts do; at times by another column."""
    source = data(d, 2, 3)
    rank = sample(d, source).ndim
    hit = d.one("Cast", d.one("Greater", source, d.constant(0, np.float32)), to=TensorProto.INT64)
    found = d.one("NonZero", hit)
    places = d.one("Transpose", found, perm=[1, 0])
    if d.random.random() < 0.4:
        return d.one("ScatterND", source, places, d.one("Neg", d.one("GatherND", source, places)))
    axis, other = d.random.randrange(rank), d.random.randrange(rank) if d.random.random() < 0.3 else None
    column = d.one("Gather", found, d.constant(axis), axis=0)
    if d.random.random() < 0.5:
        parts = d.node("Split", [places], rank, axis=1, num_outputs=rank)
        column = d.one("Squeeze", parts[axis], d.constant([1]))
    picked = d.one("Gather", source, column, axis=axis if other is None else other)
    ends = d.random.choice([picked, d.one("Neg", picked), d.one("CumSum", picked, d.constant(axis))])
    if axis:
        return ends
    return d.one("ScatterND", source, d.one("Unsqueeze", column, d.constant([1])), ends, reduction="add")


def ordered(d: Draft) -> str:
    """Sorted by one number of each, worked on, and put back in one of several ways; some do not lead back."""
    source = data(d, 1, 3)
    axis = d.random.randrange(sample(d, source).ndim)
    size = size_of(d, source, axis)
    others = [d.constant([at]) for at in range(sample(d, source).ndim) if at != axis]
    keys = d.one("ReduceMax", source, d.one("Concat", *others, axis=0), keepdims=0) if others else source
    order = d.node("TopK", [keys, size], 2, axis=0, largest=d.random.choice([0, 1]))[1]
    picked = d.one("Gather", source, order, axis=axis)
    ends = picked if d.random.random() < 0.5 else d.one("Neg", picked)
    if d.random.random() < 0.4:
        inverse = d.node("TopK", [order, size], 2, axis=0, largest=d.random.choice([0, 0, 1]))[1]
    else:
        every = d.one("Range", d.constant(0), d.one("Squeeze", size), d.constant(1))
        inverse = d.one("Cast", d.one("ScatterElements", order, order, every), to=TensorProto.INT64)
    if d.random.random() < 0.2:
        inverse = d.one(d.random.choice(["Sub", "Mul", "Add"]), inverse, order)
        return d.one("Gather", source, d.one("Mod", inverse, d.one("Squeeze", size)), axis=axis)
    return d.one("Gather", ends, inverse, axis=axis)


def by_element(d: Draft) -> str:
    source = data(d, 1, 3)
    rank = sample(d, source).ndim
    axis = d.random.randrange(rank)
    places = d.node("TopK", [source, d.constant([1])], 2, axis=axis)[1]
    found = d.one("GatherElements", source, places, axis=axis)
    return d.one("ScatterElements", source, places, found, axis=axis) if d.random.random() < 0.5 else found


def expanded(d: Draft) -> str:
    source = data(d, 0, 3)
    rank = sample(d, source).ndim
    more = [count(d) if d.random.random() < 0.6 else d.constant([d.random.choice([1, 2])]) for _ in range(2)]
    if d.random.random() < 0.5:
        sizes = [*more[:1], *(size_of(d, source, axis) for axis in range(rank))]
    else:
        sizes = more[: d.random.randrange(1, 3)]
    return d.one("Expand", source, d.one("Concat", *sizes, axis=0))


def filled(d: Draft) -> str:
    sizes = [count(d) if d.random.random() < 0.6 else d.constant([d.random.choice([1, 2, 3])]) for _ in range(2)]
    return d.one("ConstantOfShape", d.one("Concat", *sizes, axis=0))


def sliced(d: Draft) -> str:
    """A part of an axis from a multiple of the number of rows on."""
    source = data(d, 1)
    axis = d.random.randrange(sample(d, source).ndim)
    start = d.random.choice([d.constant([0]), count(d), d.one("Mul", count(d), d.constant([2]))])
    end = d.random.choice([d.constant([1 << 40]), count(d), d.one("Add", start, count(d))])
    return d.one("Slice", source, start, end, d.constant([axis]))


def along_an_axis(d: Draft) -> object:
    source = pick(d, lambda a: a.dtype == np.float32 and a.ndim >= 1)
    rank = sample(d, source).ndim
    axis = d.random.randrange(-rank, rank)
    way = d.random.randrange(5)
    if way == 0:
        return d.one(d.random.choice(["Softmax", "LogSoftmax", "Hardmax", "LpNormalization"]), source, axis=axis)
    if way == 1:
        return d.one("CumSum", source, d.constant(axis))
    if way == 2:
        return d.node("TopK", [source, d.constant([1])], 2, axis=axis)
    if way == 3:
        size = sample(d, source).shape[axis:] if axis < 0 else sample(d, source).shape[axis - rank :]
        return d.one("LayerNormalization", source, d.constant(np.ones(size), np.float32), axis=axis)
    return d.one(d.random.choice(["ArgMax", "ArgMin"]), source, axis=axis, keepdims=d.random.choice([0, 1]))


def products(d: Draft) -> str:
    a = pick(d, lambda v: v.dtype == np.float32 and v.ndim >= 2)
    rank = sample(d, a).ndim
    order = list(range(rank))
    order[-1], order[-2] = order[-2], order[-1]
    b = d.one("Transpose", a, perm=order) if d.random.random() < 0.6 else data(d, 2)
    return d.one("MatMul", a, b)


def einsum(d: Draft) -> str:
    a, b = data(d, 2, 3), data(d, 2, 3)
    letters = "abcde"
    left = "".join(d.random.choices(letters, k=sample(d, a).ndim))
    right = "".join(d.random.choices(letters, k=sample(d, b).ndim))
    every = sorted({*left, *right})
    out = d.random.sample(every, d.random.randrange(0, len(every) + 1))
    return d.one("Einsum", a, b, equation=f"{left},{right}->{''.join(out)}")


def images(d: Draft) -> str:
    source = pick(d, lambda v: v.dtype == np.float32 and v.ndim == 4)
    way = d.random.randrange(4)
    if way == 0:
        return d.one(d.random.choice(["DepthToSpace", "SpaceToDepth"]), source, blocksize=d.random.choice([1, 2]))
    if way == 1:
        return d.one(d.random.choice(["GlobalAveragePool", "GlobalMaxPool"]), source)
    if way == 2:
        return d.node("MaxPool", [source], 2, kernel_shape=[1, 1])[d.random.randrange(2)]
    return d.one("LRN", source, size=3)


def cast(d: Draft) -> str:
    return d.one("Cast", data(d), to=d.random.choice([TensorProto.INT64, TensorProto.FLOAT, TensorProto.INT64]))


def old_square(d: Draft) -> str:
    """Two values broadcast, each along an axis of the other."""
    a = data(d, 1, 2)
    return d.one("Add", d.one("Unsqueeze", a, d.constant([0])), d.one("Unsqueeze", data(d, 1, 2), d.constant([1])))


def bounded(d: Draft) -> str:
    """Integers that are mostly not negative, or chosen by a comparison that the numbers of the rows decide."""
    found = pick(d, lambda a: a.dtype == np.int64 and a.ndim <= 2)
    way = d.random.randrange(6)
    if way == 0:
        return d.one("Clip", found, d.constant(d.random.choice([-1, 0])), d.constant(d.random.choice([-2, 0, 2])))
    if way == 1:
        return d.one("Mod", found, d.constant(d.random.choice([-2, 2, 3])), fmod=d.random.choice([0, 0, 1]))
    if way == 2:
        return d.one(d.random.choice(["Max", "Min"]), found, d.constant(d.random.choice([-1, 0, 1])))
    if way == 3:
        return d.one("Div", d.one("Abs", found), d.constant(d.random.choice([1, 2])))
    number = numbers(d)
    op = d.random.choice(["Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
    pair = [number, d.constant(d.random.choice([-1, 0, 1]))]
    if d.random.random() < 0.3:
        pair.reverse()
    values = [number, d.one("Add", number, d.one("Squeeze", count(d)))]
    if d.random.random() < 0.5:
        values.reverse()
    return d.one("Where", d.one(op, *pair), *values)


def trips(d: Draft) -> object:
    """A Scan, over rows or steps; at times it carries something, or a trip sees all rows."""
    source = pick(d, lambda a: a.dtype == np.float32 and a.ndim >= 1)
    rank = sample(d, source).ndim
    axis = d.random.randrange(rank)
    state, part, after, out, other = (d.name(at) for at in ("h", "p", "k", "o", "u"))
    is_outer = d.random.random() < 0.3
    inner: list[str | None] = [None] * (rank - 1)
    carried = d.random.choice(["Identity", "Identity", "Add"])
    nodes = [
        helper.make_node(carried, [state, part][: 1 + (carried == "Add")], [after]),
        helper.make_node("Add", [part, source if is_outer else d.random.choice([state, part])], [out]),
        helper.make_node(d.random.choice(["Relu", "Softmax", "Neg"]) if rank > 1 else "Neg", [out], [other]),
    ]
    shapes = {state: inner, part: inner, after: inner, **dict.fromkeys((out, other), inner + [None] * is_outer)}
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    ends = [infos[name] for name in (after, out, other)]
    body = helper.make_graph(nodes, d.name("g"), [infos[state], infos[part]], ends)
    start = d.one("ReduceMax", source, d.constant([axis]), keepdims=0)
    if d.random.random() < 0.5:
        start = d.one("Expand", d.constant(0.5, np.float32), d.one("Shape", start))
    ways = {"scan_output_directions": [d.random.choice([0, 1]), 0]} if d.random.random() < 0.2 else {}
    ways |= {"scan_input_directions": [1]} if d.random.random() < 0.2 else {}
    return d.node("Scan", [start, source], 3, body=body, num_scan_inputs=1, scan_input_axes=[axis], **ways)


def listed(d: Draft) -> object:
    """Through a sequence and back."""
    source = data(d, 1, 4)
    axis = d.random.randrange(-sample(d, source).ndim, sample(d, source).ndim)
    way = d.random.randrange(4)
    if way == 0:
        parts = d.node("SplitToSequence", [source], axis=axis, keepdims=d.random.choice([0, 1]))[0]
    elif way == 1:
        parts = d.node("SplitToSequence", [source, d.one("Squeeze", count(d))], axis=axis)[0]
    else:
        first = d.node("SequenceEmpty", [])[0] if way == 2 else d.node("SequenceConstruct", [source, source])[0]
        at = [d.random.choice([d.constant(0), d.one("Squeeze", count(d))])] if d.random.random() < 0.3 else []
        parts = d.node("SequenceInsert", [first, d.one("Neg", source), *at])[0]
    if d.random.random() < 0.3:
        return d.one("SequenceAt", parts, d.constant(d.random.choice([0, -1])))
    return d.one("ConcatFromSequence", parts, axis=axis, new_axis=d.random.choice([0, 1]))


ROW_MOVES: Final[tuple[tuple[Move, int], ...]] = (
    (reshape, 5), (divided, 4), (restored, 3), (numbers, 3), (gathered, 4), (flat_gathered, 3), (gathered_nd, 3),
    (scattered_nd, 3), (dealt, 3), (ordered, 3), (by_element, 3), (expanded, 3), (filled, 2), (sliced, 3),
    (along_an_axis, 4), (products, 2), (einsum, 2), (images, 2), (cast, 2), (old_square, 1), (bounded, 3), (trips, 3),
    (listed, 3),
)  # fmt: skip
