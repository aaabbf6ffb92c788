"""Sequences that are carried, and function calls."""

from __future__ import annotations

from onnx import TensorProto, helper

from tests.absint.flows.build import (
    TRIPS,
    Flow,
    body,
    boolean,
    const,
    floats,
    flow,
    function,
    ints,
    loop_body,
    model,
    node,
    sizes,
    untyped,
)


@flow
def loop_carries_a_sequence() -> Flow:
    seq = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    seq_next = helper.make_tensor_sequence_value_info("s_next", TensorProto.FLOAT, None)
    inner = body(
        [node("Identity", ["c"], ["cn"]), node("SequenceInsert", ["s", "x"], ["s_next"])],
        [ints("i"), boolean("c"), seq],
        [boolean("cn"), seq_next],
    )
    nodes = [
        const("m", 3),
        node("SequenceEmpty", [], ["empty"], dtype=TensorProto.FLOAT),
        node("Loop", ["m", "", "empty"], ["all"], body=inner),
        node("SequenceLength", ["all"], ["count"]),
        node("ConcatFromSequence", ["all"], ["y"], axis=0),
    ]
    return Flow(model(nodes, [floats("x", "N", 2)], ["y", "count"]), sizes("N"))


@flow
def loop_carries_a_sequence_of_growing_elements() -> Flow:
    seq = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    seq_next = helper.make_tensor_sequence_value_info("s_next", TensorProto.FLOAT, None)
    inner = body(
        [
            node("Identity", ["c"], ["cn"]),
            node("Concat", ["x", "x0"], ["x_next"], axis=0),
            node("SequenceInsert", ["s", "x"], ["s_next"]),
        ],
        [ints("i"), boolean("c"), untyped("x"), seq],
        [boolean("cn"), untyped("x_next"), seq_next],
    )
    nodes = [
        node("SequenceEmpty", [], ["empty"], dtype=TensorProto.FLOAT),
        node("SequenceInsert", ["empty", "x0"], ["one"]),
        node("Loop", ["m", "", "x0", "one"], ["last", "all"], body=inner),
        const("at", 0),
        node("SequenceAt", ["all", "at"], ["first"]),
        const("end", -1),
        node("SequenceAt", ["all", "end"], ["y"]),
    ]
    made = model(nodes, [ints("m"), floats("x0", "N", 2)], ["first", "y", "last"])
    return Flow(made, sizes("N"), TRIPS, {"last": "[N*max(_d0, 0) + N, 2]"})


@flow
def loop_keeps_elements_of_earlier_trips() -> Flow:
    """The first element of the sequence has the size of the first trip, not of this one."""
    seq = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    seq_next = helper.make_tensor_sequence_value_info("s_next", TensorProto.FLOAT, None)
    inner = body(
        [
            node("Identity", ["c"], ["cn"]),
            node("Concat", ["x", "x"], ["x_next"], axis=0),
            node("SequenceInsert", ["s", "x"], ["s_next"]),
            const("zero", 0),
            node("SequenceAt", ["s_next", "zero"], ["first"]),
            node("Size", ["first"], ["a"]),
            node("Size", ["x"], ["b"]),
            node("Sub", ["b", "a"], ["gap_next"]),
        ],
        [ints("i"), boolean("c"), untyped("x"), ints("gap"), seq],
        [boolean("cn"), untyped("x_next"), ints("gap_next"), seq_next],
    )
    nodes = [
        const("m", 3),
        const("gap0", 0),
        node("SequenceEmpty", [], ["empty"], dtype=TensorProto.FLOAT),
        node("Loop", ["m", "", "x0", "gap0", "empty"], ["x", "gap", "all"], body=inner),
    ]
    return Flow(model(nodes, [floats("x0", "N")], ["x", "gap"]), sizes("N"), expect={"x": "[8*N]", "gap": "[]"})


@flow
def function_calls() -> Flow:
    double = function("Double", ["a"], ["b"], [node("Concat", ["a", "a"], ["b"], axis=0)])
    four = function(
        "Four", ["a"], ["c"], [node("Double", ["a"], ["b"], domain="my"), node("Double", ["b"], ["c"], domain="my")]
    )
    nodes = [node("Four", ["x"], ["y"], domain="my", name="f1"), node("Four", ["y"], ["z"], domain="my", name="f2")]
    made = model(nodes, [floats("x", "N", 3)], ["z"], functions=[double, four])
    return Flow(made, sizes("N"), expect={"y": "[4*N, 3]", "z": "[16*N, 3]"})


@flow
def function_with_control_flow() -> Flow:
    inner = loop_body([node("Concat", ["x", "a"], ["x_next"], axis=0)], ["x"])
    repeat = function("Repeat", ["a", "m"], ["b"], [node("Loop", ["m", "", "a"], ["b"], body=inner)])
    nodes = [
        const("two", 2),
        node("Repeat", ["x", "two"], ["y"], domain="my"),
        node("Size", ["x"], ["n"]),
        node("Repeat", ["x", "n"], ["z"], domain="my"),
    ]
    made = model(nodes, [floats("x", "N")], ["y", "z"], functions=[repeat])
    return Flow(made, sizes("N"), expect={"y": "[3*N]", "z": "[N**2 + N]"})


@flow
def function_called_in_a_loop() -> Flow:
    grow = function("Grow", ["a", "b"], ["r"], [node("Concat", ["a", "b"], ["r"], axis=0)])
    inner = loop_body([node("Grow", ["x", "w"], ["x_next"], domain="my")], ["x"])
    nodes = [const("m", 5), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("x0", "N"), floats("w", "K")], ["y"], functions=[grow])
    return Flow(made, sizes("N", "K"), expect={"y": "[5*K + N]"})
