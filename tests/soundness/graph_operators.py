"""Steps of a random model: operators on data, sequences, branches and loops."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from tests.soundness.graph_drafts import Draft
from tests.soundness.graph_moves import HUGE, Move, data, literal, pick, sample, scalar, single, vector

WORDS: Final = [TensorProto.INT64, TensorProto.FLOAT]


def elementwise(d: Draft) -> str:
    return d.one(d.random.choice(["Add", "Mul", "Sub", "Add", "Max"]), data(d), data(d))


def unary(d: Draft) -> str:
    return d.one(d.random.choice(["Relu", "Sigmoid", "Identity", "Softmax", "Exp"]), data(d, 1))


def matmul(d: Draft) -> str:
    a = data(d, 1)
    if d.random.random() < 0.6:
        b = d.one("Transpose", a) if d.random.random() < 0.5 and sample(d, a).ndim == 2 else data(d, 1)
        return d.one("MatMul", a, b)
    return d.one("MatMul", a, d.constant(np.ones((sample(d, a).shape[-1], 3)), np.float32))


def transpose(d: Draft) -> str:
    source = data(d, 2)
    order = list(range(sample(d, source).ndim))
    d.random.shuffle(order)
    return d.one("Transpose", source, perm=order)


def concat(d: Draft) -> str:
    first = data(d, 1)
    rank = sample(d, first).ndim
    rest = [first if d.random.random() < 0.5 else data(d, rank, rank) for _ in range(d.random.randrange(1, 3))]
    return d.one("Concat", first, *rest, axis=d.random.randrange(-rank, rank))


def window(d: Draft, rank: int) -> dict[str, Any]:
    """Attributes of a window over this many axes."""
    r = d.random
    found: dict[str, Any] = {"kernel_shape": [r.randrange(1, 4) for _ in range(rank)]}
    if r.random() < 0.7:
        found["strides"] = [r.randrange(1, 4) for _ in range(rank)]
    way = r.random()
    if way < 0.4:
        found["pads"] = [r.randrange(0, 1 + k // 2) for _ in range(2) for k in found["kernel_shape"]]
    elif way < 0.6:
        found["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if r.random() < 0.2 and found.get("auto_pad", "").startswith("SAME") is False:
        found["dilations"] = [r.randrange(1, 3) for _ in range(rank)]
    return found


def pool(d: Draft) -> str:
    source = data(d, 3, 4)
    attributes = window(d, sample(d, source).ndim - 2)
    if d.random.random() < 0.4:
        attributes["ceil_mode"] = 1
    if (d.random.random() < 0.5 and d.opset >= 19) or "dilations" not in attributes:
        op = d.random.choice(["MaxPool", "AveragePool"])
    else:
        op = "MaxPool"
    return d.one(op, source, **attributes)


def conv(d: Draft) -> str:
    source = data(d, 3, 4)
    attributes = window(d, sample(d, source).ndim - 2)
    channels = sample(d, source).shape[1]
    weight = d.constant(np.ones((2, channels, *attributes["kernel_shape"])), np.float32)
    if d.random.random() < 0.25:
        weight = d.constant(np.ones((channels, 2, *attributes["kernel_shape"])), np.float32)
        return d.one("ConvTranspose", source, weight, **attributes)
    return d.one("Conv", source, weight, **attributes)


def resize(d: Draft) -> str:
    source = data(d, 1, 4)
    rank = sample(d, source).ndim
    if d.random.random() < 0.5:
        scales = d.constant([d.random.choice([1.0, 2.0, 0.5, 1.5, 3.0]) for _ in range(rank)], np.float32)
        return d.one("Resize", source, "", scales, mode="nearest")
    kept = d.random.randrange(rank)
    sizes = d.one("Shape", source)
    head = d.one("Slice", sizes, d.constant([0]), d.constant([kept]))
    tail = d.constant([d.random.randrange(1, 5)] * (rank - kept))
    return d.one("Resize", source, "", "", d.one("Concat", head, tail, axis=0), mode="nearest")


def reduction(d: Draft) -> str:
    source = data(d, 1)
    rank = sample(d, source).ndim
    axes = d.random.sample(range(rank), d.random.randrange(1, rank + 1))
    op = d.random.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"])
    keep = d.random.choice([0, 1])
    if d.random.random() < 0.25:
        return d.one(d.random.choice(["ArgMax", "ArgMin"]), source, axis=axes[0], keepdims=keep)
    if op == "ReduceSum" or d.opset >= 18:
        return d.one(op, source, d.constant(axes), keepdims=keep)
    return d.one(op, source, axes=axes, keepdims=keep)


def by_data(d: Draft) -> object:
    """Sizes that the data decide."""
    source = data(d, 1)
    rank = sample(d, source).ndim
    way = d.random.randrange(4)
    if way == 0:
        return d.one("Transpose", d.one("NonZero", source))
    if way == 1:
        axis = d.random.randrange(rank)
        return d.node("TopK", [source, single(d)], 2, axis=axis)
    if way == 2:
        mask = d.one("Greater", d.one("Reshape", source, d.constant([-1])), d.constant(0.0, np.float32))
        return d.one("Compress", source, mask)
    positions = d.one("NonZero", source)
    return d.one("GatherND", source, d.one("Transpose", positions))


def gather(d: Draft) -> str:
    source = data(d, 1)
    index = vector(d) if d.random.random() < 0.5 else pick(d, lambda a: a.dtype == np.int64 and a.ndim <= 2)
    return d.one("Gather", source, index, axis=d.random.randrange(sample(d, source).ndim))


def slice_data(d: Draft) -> str:
    r = d.random
    source = data(d, 1)
    rank = sample(d, source).ndim

    def end() -> str:
        return single(d) if r.random() < 0.55 else d.constant([r.choice([-HUGE - 1, -5, -2, -1, 0, 1, 2, 3, HUGE])])

    args = [end(), end()]
    if r.random() < 0.8:
        args.append(d.constant([r.randrange(-rank, rank)]))
        if r.random() < 0.6:
            args.append(d.constant([r.choice([1, -1, 2, -2, 3])]))
    return d.one("Slice", source, *args)


def pad(d: Draft) -> str:
    source = data(d, 1, 3)
    rank = sample(d, source).ndim
    parts = [single(d) if d.random.random() < 0.3 else d.constant([d.random.randrange(-1, 3)]) for _ in range(2 * rank)]
    mode = d.random.choice(["constant", "constant", "edge", "reflect"])
    return d.one("Pad", source, d.one("Concat", *parts, axis=0), mode=mode)


def tile(d: Draft) -> str:
    source = data(d, 1, 3)
    rank = sample(d, source).ndim
    parts = [single(d) if d.random.random() < 0.5 else d.constant([d.random.randrange(0, 3)]) for _ in range(rank)]
    return d.one("Tile", source, d.one("Concat", *parts, axis=0))


def split(d: Draft) -> list[str]:
    source = data(d, 1)
    axis = d.random.randrange(sample(d, source).ndim)
    count = d.random.randrange(2, 4)
    if d.random.random() < 0.5:
        extent = d.one("Gather", d.one("Shape", source), d.constant([axis]))
        first = single(d) if d.random.random() < 0.5 else d.constant([1])
        sizes = d.one("Concat", first, d.one("Sub", extent, first), axis=0)
        return d.node("Split", [source, sizes], 2, axis=axis)
    return d.node("Split", [source], count, axis=axis, **({"num_outputs": count} if d.opset >= 18 else {}))


def layout(d: Draft) -> str:
    r = d.random
    way = r.randrange(5)
    source = data(d, 1 if way == 3 else 0)
    rank = sample(d, source).ndim
    if way == 0:
        return d.one("Unsqueeze", source, d.constant([r.randrange(-rank - 1, rank + 1)]))
    if way == 1:
        return d.one("Squeeze", source, *([d.constant([r.randrange(rank)])] if rank and r.random() < 0.7 else []))
    if way == 2:
        return d.one("Flatten", source, axis=r.randrange(-rank, rank + 1))
    if way == 3:
        return d.one("CumSum", source, d.constant(r.randrange(-rank, rank)))
    return d.one(
        "Einsum", source, r.choice([source, data(d)]), equation=r.choice(["ij,ij->j", "bij,bjk->bik", "i,j->ij"])
    )


def where_data(d: Draft) -> str:
    a = data(d)
    return d.one("Where", d.one("Greater", a, d.constant(0.0, np.float32)), a, data(d))


def sequence(d: Draft) -> str:
    source = data(d, 1)
    axis = d.random.randrange(sample(d, source).ndim)
    way = d.random.random()
    if way < 0.5:
        items = d.one("SplitToSequence", source, *([single(d)] if d.random.random() < 0.6 else []), axis=axis)
    else:
        items = d.one("SequenceConstruct", source, data(d))
    if d.random.random() < 0.4:
        items = d.one("SequenceInsert", items, data(d), *([d.constant(0)] if d.random.random() < 0.5 else []))
    if d.random.random() < 0.3:
        items = mapped(d, items, axis)
    elif d.random.random() < 0.2:
        items = grown(d, items)
    if d.random.random() < 0.2:
        items = d.one(
            "SequenceErase", items, *([d.constant(d.random.choice([0, -1]))] if d.random.random() < 0.5 else [])
        )
    d.one("SequenceLength", items)
    if d.random.random() < 0.5:
        d.one("SequenceAt", items, d.constant(d.random.choice([0, -1])))
    return d.one("ConcatFromSequence", items, axis=axis, new_axis=d.random.choice([0, 0, 1]))


def mapped(d: Draft, items: str, axis: int) -> str:
    """A body run on each element."""
    x, y = d.name("l"), d.name("l")
    step = d.random.choice(
        [
            helper.make_node("Relu", [x], [y]),
            helper.make_node("Concat", [x, x], [y], axis=axis),
            helper.make_node("Concat", [x, data(d, 1)], [y], axis=0),
            helper.make_node("Transpose", [x], [y]),
        ]
    )
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, None)] for name in (x, y)]
    return d.one("SequenceMap", items, body=helper.make_graph([step], d.name("g"), *ends))


def grown(d: Draft, items: str) -> str:
    """A loop that appends one element in each trip, of one size or of growing sizes."""
    r = d.random
    i, c, v, w, s, t, k = (d.name("l") for _ in range(7))
    start = data(d, 1)
    step = r.choice([helper.make_node("Identity", [v], [w]), helper.make_node("Concat", [v, start], [w], axis=0)])
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    body = helper.make_graph(
        [helper.make_node("Identity", [c], [k]), step, helper.make_node("SequenceInsert", [s, v], [t])],
        d.name("g"),
        [
            helper.make_tensor_value_info(i, TensorProto.INT64, []),
            helper.make_tensor_value_info(c, TensorProto.BOOL, []),
            helper.make_tensor_value_info(v, TensorProto.FLOAT, None),
            helper.make_value_info(s, kind),
        ],
        [
            ValueInfoProto(name=k),
            helper.make_tensor_value_info(w, TensorProto.FLOAT, None),
            helper.make_value_info(t, kind),
        ],
    )
    trips = d.constant(r.randrange(0, 4)) if r.random() < 0.6 else d.one("Min", scalar(d), d.constant(4))
    return d.node("Loop", [trips, "", start, items], 2, body=body)[1]


def condition(d: Draft) -> str:
    """A single boolean: a comparison of a dim, or data."""
    if d.random.random() < 0.25:
        return pick(d, lambda a: a.dtype == bool and a.shape == ())
    a = scalar(d)
    b = scalar(d) if d.random.random() < 0.3 else literal(d, sample(d, a).reshape(()))
    return d.one(d.random.choice(["Equal", "Greater", "Less"]), a, d.one("Reshape", b, d.constant([], np.int64)))


def branch(d: Draft, kind: int) -> Any:
    """A branch that reads values around it."""
    r = d.random
    out, mid = d.name("b"), d.name("b")
    if kind == TensorProto.FLOAT:
        source, other = data(d), data(d)
        choices = [
            [helper.make_node("Identity", [source], [out])],
            [helper.make_node("Concat", [source, source], [out], axis=0)],
            [helper.make_node("Add", [source, other], [out])],
            [helper.make_node("Expand", [source, vector(d, 5)], [out])],
            [helper.make_node("Shape", [source], [mid]), helper.make_node("Expand", [other, mid], [out])],
            [
                helper.make_node("NonZero", [source], [mid]),
                helper.make_node("Cast", [mid], [out], to=TensorProto.FLOAT),
            ],
            [nested(d, condition(d), kind, [source, other], out)],
            [nested(d, condition(d), kind, [source, source], out)],
        ]
    else:
        source = vector(d)
        choices = [
            [helper.make_node("Identity", [source], [out])],
            [helper.make_node("Add", [source, single(d)], [out])],
            [helper.make_node("Shape", [data(d)], [out])],
            [helper.make_node("NonZero", [data(d, 1, 1)], [mid]), helper.make_node("Shape", [mid], [out])],
            [nested(d, condition(d), kind, [source, vector(d)], out)],
        ]
    nodes = r.choice(choices)
    return helper.make_graph(nodes, d.name("g"), [], [ValueInfoProto(name=out)])


def nested(d: Draft, test: str, kind: int, sources: list[str], out: str) -> Any:
    """An If of two values."""
    graphs = []
    for source in sources:
        name = d.name("b")
        inner = [helper.make_node("Identity", [source], [name])]
        graphs.append(helper.make_graph(inner, d.name("g"), [], [helper.make_tensor_value_info(name, kind, None)]))
    return helper.make_node("If", [test], [out], then_branch=graphs[0], else_branch=graphs[1])


def conditional(d: Draft) -> str:
    kind = d.random.choice(WORDS)
    test = condition(d)
    return d.one("If", test, then_branch=branch(d, kind), else_branch=branch(d, kind))


def loop(d: Draft) -> list[str]:
    """A loop that carries a value on which each trip does something, and scans."""
    r = d.random
    i, c, v, w, s, k, m = (d.name("l") for _ in range(7))
    start = data(d, 1, 3) if r.random() < 0.6 else vector(d)
    kind = TensorProto.FLOAT if sample(d, start).dtype == np.float32 else TensorProto.INT64
    other = data(d, 1, 3) if kind == TensorProto.FLOAT else vector(d)
    one = d.constant([1])
    mask = pick(d, lambda a: a.dtype == bool and a.ndim == 1) if r.random() < 0.3 else d.constant([True, False], bool)
    step = r.choice(
        [
            helper.make_node("Concat", [v, other], [w], axis=0),
            helper.make_node("Concat", [v, v], [w], axis=0),
            helper.make_node("Add", [v, other], [w]),
            helper.make_node("Identity", [v], [w]),
            helper.make_node("Slice", [v, one, d.constant([HUGE]), d.constant([0])], [w]),
            helper.make_node("Transpose", [v], [w]),
            helper.make_node("Unsqueeze", [v, d.constant([0])], [w]),
            helper.make_node("Slice", [other, d.constant([0]), m, d.constant([0])], [w]),
            helper.make_node("Slice", [v, m, d.constant([HUGE])], [w]),
            helper.make_node("Expand", [v, m], [w]),
            helper.make_node("Tile", [v, m], [w]),
            nested(d, c, kind, [v, start], w),
            nested(d, condition(d), kind, [v, other], w),
            helper.make_node("Compress", [v, mask], [w]),
        ]
    )
    count = helper.make_node("Add", [i, one], [m])
    scanned = [
        r.choice(
            [
                helper.make_node("Identity", [v], [s]),
                helper.make_node("Shape", [v], [s]),
                helper.make_node("Identity", [m], [s]),
            ]
        )
    ]
    keep = [helper.make_node("Identity", [c], [k])]
    if r.random() < 0.3:
        keep = [helper.make_node("Less", [i, d.constant(r.randrange(0, 4))], [k])]
    elif r.random() < 0.4:
        other_side = d.one("Reshape", scalar(d), d.constant([], np.int64))
        keep = [helper.make_node(r.choice(["Less", "Greater", "LessOrEqual"]), [i, other_side], [k])]
    body = helper.make_graph(
        [count, step, *scanned, *keep],
        d.name("g"),
        [
            helper.make_tensor_value_info(i, TensorProto.INT64, []),
            helper.make_tensor_value_info(c, TensorProto.BOOL, []),
            helper.make_tensor_value_info(v, kind, None),
        ],
        [ValueInfoProto(name=k), helper.make_tensor_value_info(w, kind, None), ValueInfoProto(name=s)],
    )
    trips = scalar(d) if r.random() < 0.7 else d.constant(r.randrange(0, 4))
    if any(int(run[trips].ravel()[0]) > 6 for run in d.values if trips in run and run[trips].size):
        trips = d.one("Min", trips, d.constant(4))
    first = d.constant(True, bool) if r.random() < 0.7 else condition(d) if r.random() < 0.5 else ""
    return d.node("Loop", [trips, first, start], 2, body=body)


def scan(d: Draft) -> list[str]:
    a, b, c, e = (d.name("l") for _ in range(4))
    source = data(d, 1, 3)
    axis = d.random.randrange(sample(d, source).ndim)
    inner: list[str | int | None] = [None] * (sample(d, source).ndim - 1)
    op = d.random.choice(["Identity", "Relu"])
    nodes = [helper.make_node("Add", [a, b], [c]), helper.make_node(op, [c], [e])]
    body = helper.make_graph(
        nodes,
        d.name("g"),
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, inner) for n in (a, b)],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, inner) for n in (c, e)],
    )
    start = d.one("ReduceSum", source, d.constant([axis]), keepdims=0)
    flags = {"scan_output_directions": [1], "scan_output_axes": [len(inner)]} if d.random.random() < 0.3 else {}
    return d.node("Scan", [start, source], 2, body=body, num_scan_inputs=1, scan_input_axes=[axis], **flags)


def misc(d: Draft) -> object:
    r = d.random
    source = data(d, 1)
    way = r.randrange(6)
    if way == 0:
        depth = single(d)
        return d.one("OneHot", vector(d), depth, d.constant([0.0, 1.0], np.float32), axis=r.choice([-1, 0]))
    if way == 1:
        rank4 = data(d, 4, 4)
        return d.one(r.choice(["DepthToSpace", "SpaceToDepth"]), rank4, blocksize=2)
    if way == 2:
        return d.one("Trilu", data(d, 2), *([scalar(d)] if r.random() < 0.5 else []), upper=r.choice([0, 1]))
    if way == 3:
        return d.one("GlobalAveragePool", data(d, 3, 4))
    if way == 4:
        index = pick(d, lambda x: x.dtype == np.int64 and x.ndim >= 1)
        return d.one("GatherElements", source, index, axis=r.choice([0, -1]))
    return d.one("Gemm", data(d, 2, 2), data(d, 2, 2), transB=r.choice([0, 1]), transA=r.choice([0, 1]))


DATA_MOVES: Final[tuple[tuple[Move, int], ...]] = (
    (elementwise, 5), (unary, 1), (matmul, 4), (transpose, 3), (concat, 3), (pool, 4), (conv, 3), (resize, 3),
    (reduction, 3), (by_data, 4), (gather, 3), (slice_data, 6), (pad, 3), (tile, 3), (split, 3), (layout, 4),
    (where_data, 2), (sequence, 4), (conditional, 4), (loop, 5), (scan, 1), (misc, 4),
)  # fmt: skip
"""Steps with their weights."""
