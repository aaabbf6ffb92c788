"""Loops: how many trips there are."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.absint.shapes.flows.build import TRIPS, Flow, flow, size_is, sizes
from tests.models import boolean, const, floats, ints, loop_body, model, node


@flow
def loop_constant_trips() -> Flow:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [const("m", 4), node("Loop", ["m", ""], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x", "N")], ["y"]), sizes("N"), expect={"y": "[4, N]"})


@flow
def loop_trips_from_an_input() -> Flow:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x", "N")], ["y"])
    return Flow(made, sizes("N"), TRIPS, {"y": "[max(m, 0), ite(m >= 1, N, 0)]"})


@flow
def loop_trips_from_a_dim() -> Flow:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", ""], ["y"], body=inner)]
    return Flow(
        model(nodes, [floats("w", "T"), floats("x", "N")], ["y"]),
        sizes("N", "T"),
        expect={"y": "[T, ite(T >= 1, N, 0)]"},
    )


@flow
def loop_no_trip_by_condition() -> Flow:
    inner = loop_body([node("Concat", ["x", "x"], ["x_next"], axis=0)], ["x"])
    nodes = [const("no", False, bool), node("Loop", ["m", "no", "x0"], ["y"], body=inner)]
    return Flow(model(nodes, [ints("m"), floats("x0", "N")], ["y"]), sizes("N"), TRIPS, {"y": "[N]"})


@flow
def loop_no_trip_by_count() -> Flow:
    inner = loop_body([node("Concat", ["x", "x"], ["x_next"], axis=0)], ["x"])
    nodes = [const("m", -3), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x0", "N")], ["y"]), sizes("N"), expect={"y": "[N]"})


@flow
def loop_initial_condition_by_data() -> Flow:
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0)], ["x"], [])
    go = node("Cast", ["f"], ["go"], to=TensorProto.BOOL)
    nodes = [go, const("m", 3), node("Loop", ["m", "go", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("f"), floats("x0", "N"), floats("w", "K")], ["y"])
    return Flow(made, sizes("N", "K"), [{"f": 1.0}, {"f": 0.0}], {"y": "[K*_d0 + N]"})


@flow
def loop_initial_condition_by_an_input() -> Flow:
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0)], ["x"], [])
    nodes = [const("m", 3), node("Loop", ["m", "go", "x0"], ["y"], body=inner)]
    made = model(nodes, [boolean("go"), floats("x0", "N"), floats("w", "K")], ["y"])
    return Flow(made, sizes("N", "K"), [{"go": True}, {"go": False}], {"y": "[K*ite(go, 3, 0) + N]"})


@flow
def loop_leaves_early() -> Flow:
    """The scan length is smaller than M."""
    inner = loop_body(
        [const("two", 2), node("Less", ["i", "two"], ["more"]), node("Relu", ["x"], ["s"])], scans=["s"], cond="more"
    )
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    data = [{"m": m} for m in (0, 1, 2, 3, 9, -1)]
    made = model(nodes, [ints("m"), floats("x", "N")], ["y"])
    return Flow(made, sizes("N"), data, {"y": "[min(max(m, 0), 3), ite(m >= 1, N, 0)]"})


@flow
def loop_without_a_count() -> Flow:
    inner = loop_body(
        [const("two", 2), node("Less", ["i", "two"], ["more"]), node("Concat", ["x", "x0"], ["x_next"], axis=0)],
        ["x"],
        [],
        "more",
    )
    nodes = [node("Loop", ["", "go", "x0"], ["y"], body=inner)]
    flags = [{"go": True}, {"go": False}]
    return Flow(
        model(nodes, [boolean("go"), floats("x0", "N")], ["y"]), sizes("N"), flags, {"y": "[N*ite(go, 3, 0) + N]"}
    )


@flow
def loop_data_dependent_exit() -> Flow:
    nodes_in = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        const("limit", 3.0, np.float32),
        node("Less", ["sum", "limit"], ["more"]),
        const("one", 1.0, np.float32),
        node("Add", ["x", "one"], ["x_next"]),
        node("Identity", ["x"], ["s"]),
    ]
    inner = loop_body(nodes_in, ["x"], ["s"], "more")
    nodes = [const("m", 6), const("go", True, bool), node("Loop", ["m", "go", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [floats("x0", "N")], ["last", "all"])
    return Flow(made, sizes("N"), expect={"last": "[N]", "all": "[_d0, N]"})


@flow
def loop_body_condition_is_a_relation_over_dims() -> Flow:
    inner = loop_body([*size_is("x", 0, 2, "more"), node("Identity", ["x"], ["x_next"])], ["x"], [], "more")
    nodes = [const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x0", "N")], ["y"]), sizes("N"), expect={"y": "[N]"})
