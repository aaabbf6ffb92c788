"""Steps that add a node to a model over inputs of unknown rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper

from tests.soundness.rank_drafts import Draft

Move = Callable[[Draft], object]

UNARY: Final = [
    "Relu",
    "Neg",
    "Abs",
    "Sigmoid",
    "Identity",
    "Sign",
    "Floor",
    "Dropout",
    "Erf",
    "Softplus",
    "Round",
    "IsNaN",
    "RandomNormalLike",
    "Bernoulli",
]
BINARY: Final = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Sum",
    "Mean",
    "Pow",
    "PRelu",
    "Less",
    "Equal",
    "GreaterOrEqual",
]
REDUCE: Final = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd", "ReduceLogSumExp"]
AXES: Final = ([-1], [0], [-2], [1], [-1, -2], [0, -1], [], [0, 1], [2], [-3])
SHAPES: Final = ((), (1,), (3,), (2,), (1, 1), (2, 3), (3, 2), (5,), (1, 3), (2, 1, 3), (0,))


def weight(d: Draft, *shape: int) -> str:
    """A constant of this shape, or of one of the usual ones."""
    return d.constant(np.ones(shape or d.rng.choice(SHAPES), np.float32))


def operand(d: Draft) -> str:
    return weight(d) if d.rng.random() < 0.35 else d.any()


def unary(d: Draft) -> None:
    name = d.rng.choice(UNARY)
    d.node(name, [d.any()], 2 if name == "Dropout" else 1)


def binary(d: Draft) -> None:
    operands = [d.any(), operand(d)]
    d.rng.shuffle(operands)
    name = d.rng.choice(BINARY)
    d.node(name, operands + ([operand(d)] if name in ("Max", "Sum") and d.rng.random() < 0.4 else []))


def cast(d: Draft) -> None:
    if d.rng.random() < 0.7 and d.node("Cast", [d.any()], to=TensorProto.BOOL):
        d.node("Where", [d.nodes[-1].output[0], d.any(), operand(d)])
    else:
        d.node("Clip", [d.any(), d.constant(np.array(0, np.float32)), ""])


def reduce(d: Draft) -> None:
    axes = [d.constant(d.rng.choice(AXES))] if d.rng.random() < 0.9 else []
    d.node(d.rng.choice(REDUCE), [d.any(), *axes], keepdims=d.rng.randrange(2), noop_with_empty_axes=d.rng.randrange(2))


def normalise(d: Draft) -> None:
    axis = d.rng.choice([-1, -1, 0, 1, -2])
    kind = d.rng.randrange(5)
    if kind < 2:
        d.node(d.rng.choice(["Softmax", "LogSoftmax", "Hardmax"]), [d.any()], axis=axis)
    elif kind == 2:
        d.node("LayerNormalization", [d.any(), weight(d)], d.rng.choice([1, 3]), axis=axis)
    elif kind == 3:
        size = d.rng.choice([1, 2, 3])
        d.node("BatchNormalization", [d.any(), *(weight(d, size) for _ in range(4))])
    else:
        d.node("InstanceNormalization", [d.any(), weight(d, 3), weight(d, 3)])


def multiply(d: Draft) -> None:
    k = d.rng.choice([1, 2, 3])
    other = d.rng.choice([(k, 4), (k,), (2, k, 4), (4, k), (1, k, 2), (2, 2, k, 1)])
    operands = [d.any(), weight(d, *other) if d.rng.random() < 0.7 else d.any()]
    if d.rng.random() < 0.3:
        operands.reverse()
    d.node(d.rng.choice(["MatMul", "MatMul", "MatMul", "Gemm"]), operands)


def axes(d: Draft) -> None:
    name = d.rng.choice(["Squeeze", "Unsqueeze", "Unsqueeze"])
    if name == "Squeeze" and d.rng.random() < 0.2:
        d.node(name, [d.any()])
    else:
        d.node(name, [d.any(), d.constant(d.rng.choice(AXES))])


def move(d: Draft) -> None:
    kind = d.rng.randrange(7)
    if kind == 0:
        perm = d.rng.choice([None, [1, 0], [0, 2, 1], [0], [2, 0, 1], [0, 1, 3, 2]])
        d.node("Transpose", [d.any()], **({} if perm is None else {"perm": perm}))
    elif kind == 1:
        d.node("Expand", [d.any(), d.constant(d.rng.choice([[1], [3], [2, 1], [], [1, 1], [0], [2, 3]]))])
    elif kind == 2:
        d.node("Flatten", [d.any()], axis=d.rng.choice([0, 1, -1, 2, -2]))
    elif kind == 3:
        target = d.rng.choice([[-1], [0, -1], [-1, 3], [0, 0, -1], [1, -1], [0, 0], [-1, 1]])
        d.node("Reshape", [d.any(), d.constant(target)])
    elif kind == 4:
        d.node("Tile", [d.any(), d.constant(d.rng.choice([[2], [1, 2], [2, 1, 0]]))])
    elif kind == 5:
        d.node("Trilu", [d.any()])
    else:
        d.node("CumSum", [d.any(), d.constant(np.array(d.rng.choice([0, -1, 1]), np.int64))])


def sizes(d: Draft) -> None:
    part = d.rng.choice([{}, {}, {"start": -1}, {"start": -2}, {"start": 1}, {"end": 1}, {"start": -2, "end": -1}])
    if not d.node("Shape", [d.any()], **part):
        return
    found, kind = d.nodes[-1].output[0], d.rng.randrange(6)
    if kind == 0:
        d.node("ConstantOfShape", [found])
    elif kind == 1:
        d.node("Reshape", [d.any(), found])
    elif kind == 2:
        d.node("Expand", [operand(d), found])
    elif kind == 3 and d.node("Gather", [found, d.constant(np.array(d.rng.choice([0, -1]), np.int64))]):
        d.node("Add", [d.nodes[-1].output[0], d.any(np.int64)])
    elif kind == 4:
        d.node("Size", [d.any()])


def gather(d: Draft) -> None:
    index = "i" if d.rng.random() < 0.4 else d.constant(np.zeros(d.rng.choice([(), (1,), (2,), (1, 2)]), np.int64))
    data = d.any() if d.rng.random() < 0.7 else weight(d, 3, 4)
    d.node(d.rng.choice(["Gather", "Gather", "GatherElements"]), [data, index], axis=d.rng.choice([0, -1, 1, -2]))


def cut(d: Draft) -> None:
    axis, kind = d.rng.choice([-1, 0, -2, 1]), d.rng.randrange(6)
    if kind == 0:
        start, end, step = d.rng.choice([(0, 1, 1), (1, 9, 1), (-1, -9, -1), (0, -1, 2)])
        d.node("Slice", [d.any(), *(d.constant([v]) for v in (start, end, axis, step))])
    elif kind == 1:
        d.node("Split", [d.any()], 2, axis=axis, num_outputs=2)
    elif kind == 2:
        d.node("TopK", [d.any(), d.constant([1])], 2, axis=axis)
    elif kind == 3:
        d.node("ArgMax", [d.any()], axis=axis, keepdims=d.rng.randrange(2))
    elif kind == 4:
        d.node("OneHot", ["i", d.constant([4]), d.constant(np.array([0, 1], np.float32))], axis=axis)
    else:
        d.node("NonZero", [d.any()])


def concat(d: Draft) -> None:
    first = d.any()
    others = [operand(d) if d.rng.random() < 0.4 else first for _ in range(d.rng.choice([1, 1, 2]))]
    d.node("Concat", [first, *others], axis=d.rng.choice([-1, 0, 1]))


def call(d: Draft) -> None:
    d.node("Twice", [d.any()], domain="local")


# Control flow


def step(d: Draft, source: str, target: str) -> list[NodeProto]:
    """A few nodes of a branch or a body."""
    other = operand(d)
    drafts = [
        [helper.make_node("Relu", [source], [target])],
        [helper.make_node("Neg", [source], [target])],
        [helper.make_node("Identity", [source], [target])],
        [helper.make_node("Add", [source, other], [target])],
        [helper.make_node("Unsqueeze", [source, d.constant([0])], [target])],
        [helper.make_node("Concat", [source, source], [target], axis=-1)],
        [helper.make_node("MatMul", [source, weight(d, 3, 3)], [target])],
        [helper.make_node("ReduceSum", [source, d.constant([-1])], [target])],
        [helper.make_node("Identity", [other], [target])],
        [helper.make_node("Add", [source, source], [f"{target}t"]), helper.make_node("Relu", [f"{target}t"], [target])],
    ]
    return d.rng.choice(drafts)


def info(name: str, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, None)


def branch(d: Draft) -> None:
    name, source = f"b{len(d.nodes)}", d.any()
    graphs = {}
    for way in ("then_branch", "else_branch"):
        target = f"{name}{way[0]}"
        start = source if d.rng.random() < 0.7 else d.any()
        graphs[way] = helper.make_graph(step(d, start, target), target, [], [info(target)])
    d.node("If", ["c"], **graphs)


def loop(d: Draft) -> None:
    name = f"l{len(d.nodes)}"
    carried, slices = f"{name}c", f"{name}s"
    nodes = [
        *step(d, carried, f"{name}o"),
        *step(d, d.rng.choice([carried, f"{name}o", d.any()]), slices),
        helper.make_node("Identity", [f"{name}g"], [f"{name}h"]),
    ]
    inputs = [info(f"{name}i", TensorProto.INT64), info(f"{name}g", TensorProto.BOOL), info(carried)]
    for value in inputs[:2]:
        value.type.tensor_type.shape.SetInParent()
    outputs = [info(f"{name}h", TensorProto.BOOL), info(f"{name}o"), info(slices)]
    trips = d.rng.choice(["n", "n", d.constant(np.array(d.rng.randrange(4), np.int64))])
    d.node("Loop", [trips, "", d.any()], 2, body=helper.make_graph(nodes, name, inputs, outputs))


def scan(d: Draft) -> None:
    name = f"s{len(d.nodes)}"
    state, part = f"{name}a", f"{name}p"
    nodes = [*step(d, state, f"{name}o"), *step(d, d.rng.choice([part, part, state, d.any()]), f"{name}q")]
    body = helper.make_graph(nodes, name, [info(state), info(part)], [info(f"{name}o"), info(f"{name}q")])
    d.node(
        "Scan",
        [d.any(), d.any()],
        2,
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[d.rng.choice([0, -1])],
        scan_output_axes=[d.rng.choice([0, 0, -1])],
    )


MOVES: Final[tuple[Move, ...]] = (
    *(unary,) * 3, *(binary,) * 4, cast, *(reduce,) * 3, *(normalise,) * 2, *(multiply,) * 2, *(axes,) * 2,
    *(move,) * 3, *(sizes,) * 3, *(gather,) * 2, *(cut,) * 2, concat, call, *(branch,) * 2, *(loop,) * 2, scan,
)  # fmt: skip
