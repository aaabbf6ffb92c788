"""Loops: what is carried from trip to trip, and what scan outputs are."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, TensorProto

from tests.absint.shapes.flows.build import TRIPS, Flow, carry, flow, size_is, sizes
from tests.models import body, boolean, branch, const, floats, ints, loop_body, model, node, untyped


@flow
def loop_grows_by_a_symbol() -> Flow:
    step = [node("Concat", ["x", "w"], ["x_next"], axis=1)]
    return carry(step, "[2, K*max(m, 0) + N]", [floats("x0", 2, "N"), floats("w", 2, "K")], ["N", "K"])


@flow
def loop_grows_by_one_a_dim_many_times() -> Flow:
    """Exact trips: d0 + T*c."""
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0)], ["x"])
    nodes = [node("Size", ["n"], ["m"]), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1)], ["y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[N + T]"})


@flow
def loop_shrinks() -> Flow:
    step = [
        const("one", [1]),
        const("end", [2**31]),
        const("axes", [0]),
        node("Slice", ["x", "one", "end", "axes"], ["x_next"]),
    ]
    return carry(step, "[max(N - max(m, 0), 0)]", [floats("x0", "N")], ["N"])


@flow
def loop_doubles() -> Flow:
    return carry([node("Concat", ["x", "x"], ["x_next"], axis=0)], "[_d0]", [floats("x0", "N")], ["N"])


@flow
def loop_transposes() -> Flow:
    step = [node("Transpose", ["x"], ["x_next"], perm=[1, 0])]
    odd = "m == 2*(max(m, 0)//2) + 1"
    return carry(step, f"[ite({odd}, M, N), ite({odd}, N, M)]", [floats("x0", "N", "M")], ["N", "M"])


@flow
def loop_changes_rank() -> Flow:
    step = [const("axes", [0]), node("Unsqueeze", ["x", "axes"], ["x_next"])]
    return carry(step, "[*_s1]", [floats("x0", "N")], ["N"])


@flow
def loop_settles_on_a_size() -> Flow:
    step = [const("t", [3]), const("f", 0.0, np.float32), node("Expand", ["f", "t"], ["x_next"])]
    return carry(step, "[ite(m >= 1, 3, N)]", [floats("x0", "N")], ["N"])


@flow
def loop_keeps_the_size_through_arithmetic() -> Flow:
    step = [node("Concat", ["x", "x"], ["d"], axis=0), const("s", [1, -1]), const("ax", 0),
            node("Shape", ["x"], ["n"]), const("zero", [0]), node("Slice", ["d", "zero", "n"], ["x_next"])]  # fmt: skip
    return carry(step, "[N]", [floats("x0", "N")], ["N"])


@flow
def loop_swaps() -> Flow:
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Identity", ["b"], ["a_next"])], ["a", "b"])
    nodes = [node("Loop", ["m", "", "a0", "b0"], ["p", "q"], body=inner), node("Concat", ["p", "q"], ["z"], axis=0)]
    made = model(nodes, [ints("m"), floats("a0", "N"), floats("b0", "M")], ["z"])
    odd = "m == 2*(max(m, 0)//2) + 1"
    return Flow(made, sizes("N", "M"), TRIPS, {"p": f"[ite({odd}, M, N)]", "q": f"[ite({odd}, N, M)]"})


@flow
def loop_rotates_three() -> Flow:
    names = ["a", "b", "c3"]
    inner = loop_body([node("Identity", [names[k]], [f"{names[(k + 1) % 3]}_next"]) for k in range(3)], names)
    nodes = [node("Loop", ["m", "", "a0", "b0", "c0"], ["p", "q", "r"], body=inner)]
    made = model(nodes, [ints("m"), floats("a0", "N"), floats("b0", "M"), floats("c0", 3)], ["p", "q", "r"])
    one, two = (f"m == 3*(max(m, 0)//3) + {rest}" for rest in (1, 2))
    expect = {
        "p": f"[ite({two}, M, ite({one}, 3, N))]",
        "q": f"[ite({two}, 3, ite({one}, N, M))]",
        "r": f"[ite({two}, N, ite({one}, M, 3))]",
    }
    return Flow(made, sizes("N", "M", values=(0, 2, 3)), [{"m": m} for m in range(7)], expect)


@flow
def loop_one_follows_another() -> Flow:
    """b takes a's old value while a grows: b's first value is another."""
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Concat", ["a", "w"], ["a_next"], axis=0)], ["a", "b"])
    nodes = [node("Loop", ["m", "", "a0", "b0"], ["p", "q"], body=inner)]
    made = model(nodes, [ints("m"), floats("a0", "N"), floats("b0", "M"), floats("w", 2)], ["p", "q"])
    return Flow(made, sizes("N", "M"), TRIPS, {"p": "[N + 2*max(m, 0)]"})


@flow
def loop_growing_scan() -> Flow:
    """The size of a scan output's slices is that of something outside; the carried value grows."""
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0), node("Neg", ["w"], ["s"])], ["x"], ["s"])
    nodes = [const("m", 3), node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [floats("x0", "N"), floats("w", "K")], ["last", "all"])
    return Flow(made, sizes("N", "K"), expect={"last": "[3*K + N]", "all": "[3, K]"})


@flow
def loop_carries_a_shape() -> Flow:
    """A carried shape vector is the target of a Reshape afterwards."""
    step = [const("inc", [0, 2]), node("Add", ["x", "inc"], ["x_next"])]
    nodes = [
        const("start", [2, 1]),
        const("m", 3),
        node("Loop", ["m", "", "start"], ["t"], body=loop_body(step, ["x"], dtype=TensorProto.INT64)),
        node("Reshape", ["v", "t"], ["y"]),
    ]
    return Flow(model(nodes, [floats("v", 14)], ["y"]), [{}], expect={"y": "[2, 7]"})


@flow
def loop_carries_a_count() -> Flow:
    """i += K in each trip, then a tensor of that size."""
    step = [node("Add", ["x", "k"], ["x_next"])]
    nodes = [
        node("Size", ["w"], ["k"]),
        node("Size", ["n"], ["m"]),
        const("start", 5),
        node("Loop", ["m", "", "start"], ["total"], body=loop_body(step, ["x"], dtype=TensorProto.INT64)),
        const("flat", [-1]),
        node("Reshape", ["total", "flat"], ["t"]),
        node("ConstantOfShape", ["t"], ["y"]),
    ]
    made = model(nodes, [floats("w", "K"), floats("n", "T")], ["y"])
    return Flow(made, sizes("K", "T"), expect={"y": "[K*T + 5]"})


@flow
def loop_multiplies_a_count() -> Flow:
    step = [const("two", [2]), node("Mul", ["x", "two"], ["x_next"])]
    after = [node("ConstantOfShape", ["y"], ["z"])]
    nodes = [
        node("Shape", ["v"], ["x0"]),
        node("Loop", ["m", "", "x0"], ["y"], body=loop_body(step, ["x"], dtype=TensorProto.INT64)),
        *after,
    ]
    return Flow(model(nodes, [ints("m"), floats("v", "N")], ["z"]), sizes("N"), TRIPS, {"z": "[_d0]"})


@flow
def loop_uses_the_iteration_number() -> Flow:
    """Slices of growing size x[0:i]: each trip another size, so nothing of it survives but the rank."""
    nodes_in = [
        const("zero", [0]),
        node("Reshape", ["i", "flat"], ["end"]),
        node("Slice", ["v", "zero", "end"], ["part"]),
        node("ReduceSum", ["part"], ["s"], keepdims=1),
    ]
    nodes = [const("flat", [-1]), const("m", 4), node("Loop", ["m", ""], ["y"], body=loop_body(nodes_in, scans=["s"]))]
    return Flow(model(nodes, [floats("v", "N")], ["y"]), sizes("N"), expect={"y": "[4, 1]"})


@flow
def loop_carries_what_the_iteration_sizes() -> Flow:
    step = [node("Reshape", ["i", "flat"], ["t"]), node("ConstantOfShape", ["t"], ["x_next"])]
    nodes = [const("flat", [-1]), node("Loop", ["m", "", "x0"], ["y"], body=loop_body(step, ["x"]))]
    return Flow(
        model(nodes, [ints("m"), floats("x0", "N")], ["y"]), sizes("N"), TRIPS, {"y": "[ite(m >= 1, max(m, 0) - 1, N)]"}
    )


@flow
def loop_scan_of_an_undeclared_rank() -> Flow:
    """Type inference finds no rank for the body's output, so after zero trips onnxruntime prints [0]."""
    inner = loop_body([node("Expand", ["x", "t"], ["s"])], scans=["s"])
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x", "N", 3), ints("t", 2)], ["y"])
    return Flow(made, [{"N": 2}], [{**m, "t": lambda *_: [2, 3]} for m in TRIPS], {"y": "[*_s0]"})


@flow
def loop_scan_of_a_reshape() -> Flow:
    """A target of two numbers gives two axes, whatever they are."""
    inner = loop_body([node("Reshape", ["x", "t"], ["s"])], scans=["s"])
    return scanned_by_data(inner)


@flow
def loop_scan_of_a_declared_rank() -> Flow:
    inner = loop_body([node("Reshape", ["x", "t"], ["s"])], scans=["s"])
    inner.output[-1].CopyFrom(floats("s", None, None))
    return scanned_by_data(inner)


def scanned_by_data(inner: GraphProto) -> Flow:
    """The body as it is, with a target that is data."""
    cast = node("Cast", ["numbers"], ["t"], to=TensorProto.INT64)
    nodes = [cast, node("Loop", ["m", ""], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x", "N", 3), floats("numbers", 2)], ["y"])
    data = [{**m, "numbers": lambda *_: [3, 2]} for m in TRIPS]
    return Flow(made, [{"N": 2}], data, {"y": "[max(m, 0), _d0, _d1]"})


@flow
def loop_scan_of_what_grows() -> Flow:
    """The size in the only trip is not the size after it."""
    inner = loop_body([node("Concat", ["x", "x"], ["x_next"], axis=0), node("Neg", ["x"], ["s"])], ["x"], ["s"])
    inner.input[-1].CopyFrom(floats("x", None))
    nodes = [node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [ints("m"), floats("x0", "N")], ["last", "all"])
    return Flow(made, sizes("N"), [{"m": 0}, {"m": 1}], {"last": "[_d0]", "all": "[max(m, 0), _d1]"})


@flow
def loop_scan_of_what_is_carried() -> Flow:
    """Type inference hands no shape from trip to trip: with no trip and no declared rank, onnxruntime prints [0]."""
    inner = loop_body([node("Relu", ["x"], ["x_next"]), node("Neg", ["x"], ["s"])], ["x"], ["s"])
    nodes = [node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [ints("m"), floats("x0", "N")], ["last", "all"])
    return Flow(made, sizes("N"), TRIPS, {"last": "[N]", "all": "[*_s0]"})


@flow
def loop_fibonacci() -> Flow:
    """A step that is constant at first sight only: 1, 2, 3, 5, 8; exact because there are few trips."""
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Concat", ["a", "b"], ["a_next"], axis=0)], ["a", "b"])
    nodes = [const("m", 4), node("Loop", ["m", "", "a0", "b0"], ["p", "q"], body=inner)]
    return Flow(model(nodes, [floats("a0", 1), floats("b0", 1)], ["p", "q"]), [{}], expect={"p": "[8]", "q": "[5]"})


@flow
def loop_whose_condition_is_forgotten() -> Flow:
    """In the first trip the branch is only taken where N == 1; in the second it is taken elsewhere."""
    cut = [const("zero", [0]), const("one", [1]), node("Slice", ["x0", "zero", "one"], ["a"])]
    pick = node(
        "If", ["flag"], ["x_next"],
        then_branch=branch(cut, untyped("a")),
        else_branch=branch([node("Identity", ["w"], ["b"])], untyped("b")),
    )  # fmt: skip
    inner = body(
        [node("Identity", ["c"], ["c_next"]), node("Not", ["flag"], ["flag_next"]), pick],
        [ints("i"), boolean("c"), boolean("flag"), untyped("x")],
        [boolean("c_next"), boolean("flag_next"), untyped("x_next")],
    )
    nodes = [*size_is("x0", 0, 1), node("Loop", ["m", "", "is", "w"], ["flag_last", "y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x0", "N"), floats("w", 1)], ["flag_last", "y"])
    return Flow(made, sizes("N"), [{"m": m} for m in range(4)])


@flow
def loop_counts_in_int32() -> Flow:
    """The number of a trip is below the number of trips, so one more is no overflow, whatever ends the loop."""
    step = body(
        [
            const("one", 1, np.int32),
            node("Add", ["c", "one"], ["c_next"]),
            node("Cast", ["c_next"], ["wide"], to=TensorProto.INT64),
            node("Less", ["wide", "m"], ["go_next"]),
        ],
        [ints("i"), boolean("go"), untyped("c", TensorProto.INT32)],
        [boolean("go_next"), untyped("c_next", TensorProto.INT32)],
    )
    nodes = [
        node("Size", ["n"], ["m"]),
        const("zero", 0, np.int32),
        const("zeros", 0),
        node("Less", ["zeros", "m"], ["any"]),
        node("Loop", ["", "any", "zero"], ["count"], body=step),
        node("Cast", ["count"], ["long"], to=TensorProto.INT64),
        const("axis", [0]),
        node("Unsqueeze", ["long", "axis"], ["target"]),
        node("ConstantOfShape", ["target"], ["y"]),
    ]
    return Flow(model(nodes, [floats("n", "T")], ["y"]), sizes("T"), expect={"y": "[T]"})
