"""Sequences that are carried, and function calls."""

from __future__ import annotations

from onnx import AttributeProto, NodeProto, TensorProto, helper

from tests.absint.shapes.flows.build import TRIPS, Flow, flow, sizes
from tests.models import body, boolean, const, floats, function, ints, loop_body, model, node, untyped


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
    return Flow(made, sizes("N"), TRIPS, {"last": "[N*max(m, 0) + N, 2]"})


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


def refers(made: NodeProto, name: str, to: str, kind: int) -> NodeProto:
    """The node with an attribute that refers to one of its function."""
    made.attribute.append(AttributeProto(name=name, ref_attr_name=to, type=kind))  # type: ignore[arg-type]
    return made


@flow
def function_attributes_and_their_defaults() -> Flow:
    """Three functions deep: what the call gives, else the outer default, else the inner one."""
    int_kind = AttributeProto.INT
    inner = function(
        "Inner", ["x"], ["y"], [refers(node("Flatten", ["x"], ["y"]), "axis", "at", int_kind)],
        attribute_protos=[helper.make_attribute("at", 2)],
    )  # fmt: skip
    call = refers(node("Inner", ["x"], ["y"], domain="my"), "at", "where", int_kind)
    zero = function("Zero", ["x"], ["y"], [call], attribute_protos=[helper.make_attribute("where", 0)])
    none = function("None", ["x"], ["y"], [call], attributes=["where"])
    nodes = [
        node("Zero", ["x"], ["by_outer"], domain="my"),
        node("None", ["x"], ["by_inner"], domain="my"),
        node("None", ["x"], ["given"], domain="my", where=1),
    ]
    made = model(nodes, [floats("x", "A", "B", "C")], ["by_outer", "by_inner", "given"], functions=[inner, zero, none])
    expect = {"by_outer": "[1, A*B*C]", "by_inner": "[A*B, C]", "given": "[A, B*C]"}
    return Flow(made, sizes("A", "B", "C", values=(1, 2, 3)), expect=expect)


@flow
def function_attribute_is_a_target_shape() -> Flow:
    target = refers(node("Constant", [], ["t"]), "value_ints", "shape", AttributeProto.INTS)
    shaped = function("Shaped", ["x"], ["y"], [target, node("Reshape", ["x", "t"], ["y"])], attributes=["shape"])
    nodes = [node("Shaped", ["x"], ["y"], domain="my", shape=[-1, 2])]
    return Flow(model(nodes, [floats("x", "N", 4)], ["y"], functions=[shaped]), sizes("N"), expect={"y": "[2*N, 2]"})


@flow
def function_attribute_inside_a_loop() -> Flow:
    """A loop in a function, whose body refers to an attribute of the call; called in a loop."""
    step = refers(node("Concat", ["x", "a"], ["x_next"]), "axis", "at", AttributeProto.INT)
    repeat = function(
        "Repeat", ["a", "m"], ["b"], [node("Loop", ["m", "", "a"], ["b"], body=loop_body([step], ["x"]))],
        attributes=["at"],
    )  # fmt: skip
    outer = loop_body(
        [node("Repeat", ["w", "k"], ["r"], domain="my", at=1), node("Concat", ["z", "r"], ["z_next"], axis=1)], ["z"]
    )
    nodes = [const("k", 2), node("Size", ["n"], ["t"]), node("Loop", ["t", "", "z0"], ["y"], body=outer)]
    made = model(nodes, [floats("n", "T"), floats("z0", "A", "B"), floats("w", "A", "C")], ["y"], functions=[repeat])
    return Flow(made, sizes("A", "B", "C", "T", values=(0, 1, 3)), expect={"y": "[A, 3*C*T + B]"})


@flow
def function_with_an_input_left_out() -> Flow:
    clip = function("ClipTo", ["x", "low", "high"], ["y"], [node("Clip", ["x", "low", "high"], ["y"])])
    nodes = [node("ClipTo", ["x", "", "high"], ["y"], domain="my"), node("ClipTo", ["x"], ["z"], domain="my")]
    made = model(nodes, [floats("x", "N"), floats("high")], ["y", "z"], functions=[clip])
    return Flow(made, sizes("N"), expect={"y": "[N]", "z": "[N]"})


@flow
def function_named_like_an_operator() -> Flow:
    mine = function("Relu", ["x"], ["y"], [node("Concat", ["x", "x"], ["y"], axis=0)])
    nodes = [node("Relu", ["x"], ["y"], domain="my"), node("Relu", ["x"], ["z"])]
    return Flow(
        model(nodes, [floats("x", "N")], ["y", "z"], functions=[mine]), sizes("N"), expect={"y": "[2*N]", "z": "[N]"}
    )


@flow
def function_calls_one_that_comes_later() -> Flow:
    """The names in the bodies and in the caller clash."""
    outer = function(
        "Outer", ["x"], ["y"], [node("Inner", ["x"], ["t"], domain="my"), node("Concat", ["t", "x"], ["y"], axis=0)]
    )
    inner = function("Inner", ["t"], ["y"], [node("Concat", ["t", "t"], ["y"], axis=0)])
    nodes = [node("Outer", ["x"], ["t"], domain="my"), node("Outer", ["t"], ["y"], domain="my")]
    made = model(nodes, [floats("x", "N")], ["t", "y"], functions=[outer, inner])
    return Flow(made, sizes("N"), expect={"t": "[3*N]", "y": "[9*N]"})
