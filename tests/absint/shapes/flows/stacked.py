"""Loops as Keras and TensorFlow write them: counters that are compared in floats, and outputs that a trip adds to."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper

from tests.absint.shapes.flows.build import TRIPS, Flow, flow, sizes
from tests.models import boolean, const, floats, ints, loop_body, model, node

INT32 = TensorProto.INT32
ONE = const("one", 1, np.int32)


def counter(value: str, start: int = 0) -> list[NodeProto]:
    """`limit`: an axis of a value as a number of 32 bits; `begun`: it is above the start, in float32."""
    return [
        node("Shape", [value], ["sizes"]),
        const("axis", 1),
        node("Gather", ["sizes", "axis"], ["long"]),
        node("Cast", ["long"], ["limit"], to=INT32),
        const("start", start, np.int32),
        *below("start", "limit", "begun"),
    ]


def below(a: str, b: str, out: str) -> list[NodeProto]:
    """a < b, as tf2onnx compares integers."""
    casts = [node("Cast", [name], [f"{out}_{name}"], to=TensorProto.FLOAT) for name in (a, b)]
    return [*casts, node("Less", [f"{out}_{a}", f"{out}_{b}"], [out])]


def carried(name: str, *dims: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def number(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, INT32, [])


def recurrent(value: str, features: int, units: int, out: str) -> list[NodeProto]:
    """A recurrent layer over axis 1 of [batch, time, features]: one state for each time."""
    p = f"{out}_"
    body = helper.make_graph(
        [
            ONE,
            node("Add", ["k", "one"], ["next"]),
            node("Gather", [f"{p}times", "k"], ["slice"]),
            node("MatMul", ["slice", f"{p}w"], ["a"]),
            node("MatMul", ["h", f"{p}u"], ["b"]),
            node("Add", ["a", "b"], ["sum"]),
            node("Tanh", ["sum"], ["state"]),
            node("Identity", ["state"], ["slot"]),
            *below("next", f"{p}limit", "more"),
        ],
        "body",
        [ints("i"), boolean("c"), number("k"), carried("h", "unk1", units)],
        [boolean("more"), number("next"), carried("state", "unk2", units), carried("slot", "unk3", units)],
    )
    made = [
        const("w", np.zeros((features, units)), np.float32),
        const("u", np.zeros((units, units)), np.float32),
        node("Transpose", [value], ["times"], perm=[1, 0, 2]),
        *counter(value),
        const("zero", 0),
        node("Gather", ["sizes", "zero"], ["batch"]),
        const("first", [0]),
        node("Unsqueeze", ["batch", "first"], ["rows"]),
        const("units", [units]),
        node("Concat", ["rows", "units"], ["initial_sizes"], axis=0),
        const("nothing", 0.0, np.float32),
        node("Expand", ["nothing", "initial_sizes"], ["initial"]),
        node("Cast", ["limit"], ["most"], to=TensorProto.INT64),
        node("Loop", ["most", "begun", "start", "initial"], ["steps", "last", "all"], body=body),
        node("Transpose", ["all"], ["done"], perm=[1, 0, 2]),
    ]
    for item in made:
        item.input[:] = [name if name == value else p + name for name in item.input]
        item.output[:] = [out if name == "done" else p + name for name in item.output]
    return made


@flow
def loop_by_a_condition_in_floats() -> Flow:
    """Nothing bounds the number but the condition itself, which float32 holds exactly up to 2**24."""
    inner = loop_body(
        [ONE, node("Add", ["k", "one"], ["k_next"]), *below("k_next", "limit", "more"), node("Relu", ["x"], ["s"])],
        ["k"],
        ["s"],
        "more",
        INT32,
    )
    inner.output[-1].type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [*counter("x"), node("Loop", ["", "begun", "start"], ["k", "y"], body=inner)]
    made = model(nodes, [floats("x", "N", "T")], ["k", "y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[T, ite(T >= 1, N, 0), T]"})


@flow
def loop_by_a_condition_in_floats_from_another_start() -> Flow:
    """The loop begins whatever the limit is: the condition of the body says nothing of the first trip."""
    inner = loop_body(
        [ONE, node("Add", ["k", "one"], ["k_next"]), *below("k_next", "limit", "more"), node("Relu", ["x"], ["s"])],
        ["k"],
        ["s"],
        "more",
        INT32,
    )
    inner.output[-1].type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [*counter("x"), const("go", True, bool), node("Loop", ["", "go", "start"], ["k", "y"], body=inner)]
    made = model(nodes, [floats("x", "N", "T")], ["k", "y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[_d0, N, T]"})


@flow
def loop_by_a_condition_in_floats_in_twos() -> Flow:
    """No limit bounds the trips, so twice their number may leave 32 bits."""
    inner = loop_body(
        [
            const("two", 2, np.int32),
            node("Add", ["k", "two"], ["k_next"]),
            *below("k_next", "limit", "more"),
            node("Relu", ["x"], ["s"]),
        ],
        ["k"],
        ["s"],
        "more",
        INT32,
    )
    inner.output[-1].type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [*counter("x"), node("Loop", ["", "begun", "start"], ["k", "y"], body=inner)]
    made = model(nodes, [floats("x", "N", "T")], ["k", "y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[_d0, ite(_d0 >= 1, N, 0), ite(_d0 >= 1, T, 0)]"})


@flow
def loop_by_a_condition_in_floats_from_one() -> Flow:
    """A counter of 32 bits that begins later."""
    inner = loop_body(
        [ONE, node("Add", ["k", "one"], ["k_next"]), *below("k_next", "limit", "more"), node("Relu", ["x"], ["s"])],
        ["k"],
        ["s"],
        "more",
        INT32,
    )
    inner.output[-1].type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [*counter("x", 1), node("Loop", ["", "begun", "start"], ["k", "y"], body=inner)]
    made = model(nodes, [floats("x", "N", "T")], ["k", "y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[max(T - 1, 0), ite(T >= 2, N, 0), ite(T >= 2, T, 0)]"})


@flow
def loop_by_a_condition_in_floats_that_data_change() -> Flow:
    """The number that is compared is not the trip's: what the body gives back is data."""
    inner = loop_body(
        [node("Cast", ["w"], ["more"], to=TensorProto.BOOL), node("Relu", ["x"], ["s"])], scans=["s"], cond="more"
    )
    nodes = [const("most", 2), const("go", True, bool), node("Loop", ["most", "go"], ["y"], body=inner)]
    made = model(nodes, [floats("x", "N"), floats("w")], ["y"])
    data = [{"w": np.array(0.0, np.float32)}, {"w": np.array(1.0, np.float32)}]
    return Flow(made, sizes("N"), data, {"y": "[_d0, N]"})


@flow
def loop_of_keras() -> Flow:
    """Without a trip a declared size is kept, and one that varies is 0."""
    made = model(recurrent("x", 8, 6, "y"), [floats("x", "batch", "time", 8)], ["y"])
    expect = {"y": "[ite(time >= 1, batch, 0), time, 6]"}
    return Flow(made, sizes("batch", "time"), expect=expect)


@flow
def loops_of_keras_in_a_row() -> Flow:
    """The second layer sees what the runtime makes of the first one without a trip."""
    nodes = [*recurrent("x", 8, 6, "y"), *recurrent("y", 6, 5, "z")]
    made = model(nodes, [floats("x", "batch", "time", 8)], ["z"])
    return Flow(made, sizes("batch", "time"), expect={"z": "[ite(time >= 1, batch, 0), time, 5]"})


@flow
def loop_of_keras_that_surely_runs() -> Flow:
    """A later node takes an element of the time axis: without a trip it fails."""
    last = [const("end", [-1]), node("Gather", ["y", "end"], ["picked"], axis=1)]
    made = model([*recurrent("x", 8, 6, "y"), *last], [floats("x", "batch", "time", 8)], ["y", "picked"])
    expect = {"y": "[batch, time, 6]", "picked": "[batch, 1, 6]"}
    return Flow(made, [b for b in sizes("batch", "time") if b["time"]], expect=expect)


@flow
def loop_over_listed_parts() -> Flow:
    """Type inference takes listed sizes over only where it knows the size of the axis."""
    inner = loop_body([node("Split", ["x", "parts"], ["s", "rest"], axis=0)], scans=["s"])
    nodes = [const("parts", [2, 3]), node("Loop", ["m", ""], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x", "N")], ["y"])
    return Flow(made, sizes("N", values=[5]), TRIPS, {"y": "[max(m, 0), ite(m >= 1, 2, 0)]"})


@flow
def loop_over_bags() -> Flow:
    """TorchScript's EmbeddingBag: the body's output is not declared, type inference finds the columns of the weight."""
    inner = loop_body(
        [
            node("Gather", ["offsets", "i"], ["from"]),
            node("Gather", ["ends", "i"], ["to"]),
            node("Unsqueeze", ["from", "first"], ["starts"]),
            node("Unsqueeze", ["to", "first"], ["stops"]),
            node("Slice", ["index", "starts", "stops", "first"], ["bag"]),
            node("Gather", ["weight", "bag"], ["rows"]),
            node("ReduceSum", ["rows", "first"], ["s"], keepdims=0),
        ],
        scans=["s"],
    )
    nodes = [
        const("first", [0]),
        const("weight", np.zeros((50, 8)), np.float32),
        node("Identity", ["offsets"], ["ends"]),
        node("Size", ["offsets"], ["m"]),
        node("Loop", ["m", ""], ["y"], body=inner),
    ]
    made = model(nodes, [ints("index", "total"), ints("offsets", "bags")], ["y"])
    zeros = {name: lambda shape, _: np.zeros(shape, np.int64) for name in ("index", "offsets")}
    return Flow(made, sizes("total", "bags"), [zeros], {"y": "[bags, 8]"})
