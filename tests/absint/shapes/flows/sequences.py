"""Sequences: built element by element, split, mapped, chosen by an If, grown in a loop."""

from __future__ import annotations

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from tests.absint.shapes.flows.build import TRIPS, Flow, flow, size_is, sizes
from tests.models import body, boolean, branch, const, floats, ints, loop_body, model, node, untyped


def sequence(name: str) -> ValueInfoProto:
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)


def mapped(nodes: list[NodeProto], inputs: list[str], outputs: list[str]) -> GraphProto:
    return body(nodes, [untyped(name) for name in inputs], [untyped(name) for name in outputs])


PAIR = node("SequenceConstruct", ["a", "b"], ["s"])
AB = [floats("a", "N", 3), floats("b", "M", 3)]


@flow
def sequence_elements_by_position() -> Flow:
    nodes = [
        PAIR,
        node("SequenceInsert", ["s", "c", "first"], ["t"]),
        node("SequenceAt", ["t", "last"], ["x"]),
        node("SequenceErase", ["t", "last"], ["u"]),
        node("ConcatFromSequence", ["u"], ["y"], axis=0),
        node("ConcatFromSequence", ["t"], ["z"], axis=0),
    ]
    made = model([const("first", 0), const("last", -1), *nodes], [*AB, floats("c", "K", 3)], ["x", "y", "z"])
    return Flow(
        made, sizes("N", "M", "K", values=(0, 1, 3)), expect={"x": "[M, 3]", "y": "[K + N, 3]", "z": "[K + M + N, 3]"}
    )


@flow
def sequence_of_a_split() -> Flow:
    nodes = [
        const("parts", [2, 3]),
        const("one", 1),
        node("SplitToSequence", ["x", "parts"], ["s"], axis=1),
        node("SequenceAt", ["s", "one"], ["y"]),
        node("ConcatFromSequence", ["s"], ["z"], axis=1),
    ]
    return Flow(model(nodes, [floats("x", "N", 5)], ["y", "z"]), sizes("N"), expect={"y": "[N, 3]", "z": "[N, 5]"})


def parts(*more: NodeProto) -> list[NodeProto]:
    """s: the rows of x in parts of 4, the last of which may be smaller; m: their number."""
    return [
        const("k", 4),
        node("SplitToSequence", ["x", "k"], ["s"], axis=0),
        node("SequenceLength", ["s"], ["m"]),
        *more,
    ]


@flow
def parts_of_one_size_by_position() -> Flow:
    """The second and the last part."""
    nodes = parts(
        const("second", 1),
        const("last", -1),
        node("SequenceAt", ["s", "second"], ["a"]),
        node("SequenceAt", ["s", "last"], ["b"]),
        node("SequenceLength", ["s"], ["n"]),
    )
    made = model(nodes, [floats("x", "L", 3)], ["a", "b"])
    expect = {"a": "[min(L - 4, 4), 3]", "b": "[(L + 3) % 4 + 1, 3]"}
    return Flow(made, sizes("L", values=(5, 7, 8, 9, 13)), expect=expect)


@flow
def parts_of_one_size_are_joined() -> Flow:
    nodes = parts(node("ConcatFromSequence", ["s"], ["y"], axis=-2))
    return Flow(model(nodes, [floats("x", "L", 3)], ["y"]), sizes("L", values=(1, 4, 5, 11)), expect={"y": "[L, 3]"})


@flow
def sequence_of_parts_side_by_side() -> Flow:
    """They fit where all of them are alike."""
    nodes = parts(node("ConcatFromSequence", ["s"], ["y"], axis=1))
    made = model(nodes, [floats("x", "L", 3)], ["y"])
    return Flow(made, sizes("L", values=(1, 3, 4, 8, 12)), expect={"y": "[_d0, 3*((L + 3)//4)]"})


@flow
def parts_of_a_size_by_data() -> Flow:
    nodes = [
        node("SplitToSequence", ["x", "k"], ["s"], axis=1),
        node("SequenceAt", ["s", "p"], ["a"]),
        node("ConcatFromSequence", ["s"], ["y"], axis=1),
    ]
    made = model(nodes, [floats("x", "N", "L"), ints("k"), ints("p")], ["a", "y"])
    data = [{"k": k, "p": p} for k in (1, 2) for p in (0, 1, -1, -2)]
    return Flow(made, sizes("N", "L", values=(3, 4, 5)), data, {"y": "[N, L]"})


@flow
def sequence_of_inserted_parts() -> Flow:
    """Another tensor among the parts: nothing is known of their sum."""
    nodes = parts(node("SequenceInsert", ["s", "z"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0))
    made = model(nodes, [floats("x", "L", 3), floats("z", "K", 3)], ["y"])
    return Flow(made, sizes("L", "K", values=(0, 1, 5)), expect={"y": "[_d0, 3]"})


@flow
def last_part_of_a_loop_over_a_sequence() -> Flow:
    inner = loop_body([node("SequenceAt", ["s", "i"], ["w_next"])], ["w"])
    nodes = parts(node("Loop", ["m", "", "c"], ["y"], body=inner))
    made = model(nodes, [floats("x", "L", 3), floats("c", "K", 3)], ["y"])
    expect = {"y": "[ite(L >= 1, (L + 3) % 4 + 1, K), 3]"}
    return Flow(made, sizes("L", "K", values=(0, 1, 4, 5, 7)), expect=expect)


@flow
def if_between_parts() -> Flow:
    """Parts of two tensors, or in two sizes: the sequence that is taken is neither for sure."""
    then = branch([node("SplitToSequence", ["x", "k"], ["p"], axis=0)], sequence("p"))
    other = branch([node("SplitToSequence", ["z", "k"], ["q"], axis=0)], sequence("q"))
    nodes = [
        const("k", 2),
        node("If", ["flag"], ["s"], then_branch=then, else_branch=other),
        node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    made = model(nodes, [floats("x", "L", 3), floats("z", "K", 3), boolean("flag")], ["y"])
    return Flow(made, sizes("L", "K", values=(1, 3, 4)), [{"flag": True}, {"flag": False}], {"y": "[_d0, 3]"})


@flow
def sequence_position_by_data() -> Flow:
    nodes = [PAIR, node("SequenceAt", ["s", "p"], ["y"])]
    made = model(nodes, [*AB, ints("p")], ["y"])
    return Flow(made, sizes("N", "M"), [{"p": p} for p in (0, 1, -1, -2)], {"y": "[_d0, 3]"})


@flow
def map_doubles_each() -> Flow:
    inner = mapped([node("Concat", ["x", "x"], ["y"], axis=0)], ["x"], ["y"])
    nodes = [
        PAIR,
        node("SequenceMap", ["s"], ["t"], body=inner),
        const("one", 1),
        node("SequenceAt", ["t", "one"], ["y"]),
        node("ConcatFromSequence", ["t"], ["z"], axis=0),
    ]
    made = model(nodes, AB, ["y", "z"])
    return Flow(made, sizes("N", "M"), expect={"y": "[2*M, 3]", "z": "[2*M + 2*N, 3]"})


@flow
def map_over_a_sequence_of_unknown_length() -> Flow:
    """Rows of x: each becomes a row of 2*K, and there are N."""
    inner = mapped([node("Concat", ["r", "w"], ["y"], axis=1)], ["r"], ["y"])
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0),
        node("SequenceMap", ["s"], ["t"], body=inner),
        node("SequenceLength", ["t"], ["n"]),
        node("ConcatFromSequence", ["t"], ["z"], axis=0),
    ]
    made = model(nodes, [floats("x", "N", "K"), floats("w", 1, 2)], ["n", "z"])
    return Flow(made, sizes("N", "K", values=(1, 2, 4)), expect={"z": "[N, K + 2]"})


@flow
def map_with_another_sequence_and_a_tensor() -> Flow:
    inner = mapped(
        [node("Concat", ["p", "q", "w"], ["y"], axis=0), node("Relu", ["p"], ["z"])], ["p", "q", "w"], ["y", "z"]
    )
    nodes = [
        PAIR,
        node("SequenceConstruct", ["b", "a"], ["r"]),
        node("SequenceMap", ["s", "r", "c"], ["t", "u"], body=inner),
        const("zero", 0),
        node("SequenceAt", ["t", "zero"], ["y"]),
        node("SequenceAt", ["u", "zero"], ["z"]),
    ]
    made = model(nodes, [*AB, floats("c", "K", 3)], ["y", "z"])
    return Flow(made, sizes("N", "M", "K", values=(0, 1, 3)), expect={"y": "[K + M + N, 3]", "z": "[N, 3]"})


@flow
def map_of_sizes_from_data() -> Flow:
    """Each element has another number of non-zeros."""
    inner = mapped([node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["y"], to=1)], ["x"], ["y"])
    nodes = [
        PAIR,
        node("SequenceMap", ["s"], ["t"], body=inner),
        const("one", 1),
        node("SequenceAt", ["t", "one"], ["y"]),
    ]
    return Flow(model(nodes, AB, ["y"]), sizes("N", "M"), expect={"y": "[2, _d0]"})


@flow
def if_between_sequences() -> Flow:
    then = branch([node("SequenceConstruct", ["a", "b"], ["p"])], sequence("p"))
    other = branch([node("SequenceConstruct", ["b", "a"], ["q"])], sequence("q"))
    nodes = [
        *size_is("a", 0, 2),
        node("If", ["is"], ["s"], then_branch=then, else_branch=other),
        const("zero", 0),
        node("SequenceAt", ["s", "zero"], ["y"]),
        node("ConcatFromSequence", ["s"], ["z"], axis=0),
    ]
    made = model(nodes, AB, ["y", "z"])
    return Flow(made, sizes("N", "M"), expect={"y": "[ite(N == 2, N, M), 3]", "z": "[M + N, 3]"})


@flow
def if_between_sequences_by_data() -> Flow:
    then = branch([node("SequenceConstruct", ["a", "b"], ["p"])], sequence("p"))
    other = branch([node("SequenceConstruct", ["b"], ["q"])], sequence("q"))
    nodes = [
        node("If", ["flag"], ["s"], then_branch=then, else_branch=other),
        node("SequenceLength", ["s"], ["n"]),
        node("ConcatFromSequence", ["s"], ["z"], axis=0),
    ]
    made = model(nodes, [*AB, boolean("flag")], ["n", "z"])
    return Flow(made, sizes("N", "M"), [{"flag": True}, {"flag": False}], {"z": "[_d0, 3]"})


def collected(nodes: list[NodeProto], limit: list[NodeProto], after: list[NodeProto]) -> list[NodeProto]:
    """A loop that appends `e` to a sequence in each trip."""
    inner = body(
        [node("Identity", ["c"], ["cn"]), *nodes, node("SequenceInsert", ["s", "e"], ["s_next"])],
        [ints("i"), boolean("c"), sequence("s")],
        [boolean("cn"), sequence("s_next")],
    )
    return [
        *limit,
        node("SequenceEmpty", [], ["empty"], dtype=TensorProto.FLOAT),
        node("Loop", ["m", "", "empty"], ["all"], body=inner),
        *after,
    ]


@flow
def sequence_grown_in_a_loop_is_joined() -> Flow:
    """T elements of one shape: T*N rows."""
    after = [node("ConcatFromSequence", ["all"], ["y"], axis=0), node("SequenceLength", ["all"], ["count"])]
    nodes = collected([node("Relu", ["x"], ["e"])], [node("Size", ["n"], ["m"])], after)
    made = model(nodes, [floats("n", "T"), floats("x", "N", 2)], ["y", "count"])
    return Flow(made, sizes("N", "T", values=(1, 2, 4)), expect={"y": "[N*T, 2]"})


@flow
def sequence_grown_in_a_loop_is_stacked() -> Flow:
    after = [node("ConcatFromSequence", ["all"], ["y"], axis=1, new_axis=1)]
    nodes = collected([node("Relu", ["x"], ["e"])], [node("Size", ["n"], ["m"])], after)
    made = model(nodes, [floats("n", "T"), floats("x", "N", 2)], ["y"])
    return Flow(made, sizes("N", "T", values=(1, 2, 4)), expect={"y": "[N, T, 2]"})


@flow
def sequence_of_few_growing_elements_is_joined() -> Flow:
    """Elements of N, 2*N and 3*N rows."""
    inner = body(
        [
            node("Identity", ["c"], ["cn"]),
            node("Concat", ["x", "x0"], ["x_next"], axis=0),
            node("SequenceInsert", ["s", "x"], ["s_next"]),
        ],
        [ints("i"), boolean("c"), untyped("x"), sequence("s")],
        [boolean("cn"), untyped("x_next"), sequence("s_next")],
    )
    nodes = [
        const("m", 3),
        node("SequenceEmpty", [], ["empty"], dtype=TensorProto.FLOAT),
        node("Loop", ["m", "", "x0", "empty"], ["last", "all"], body=inner),
        node("ConcatFromSequence", ["all"], ["y"], axis=0),
    ]
    return Flow(model(nodes, [floats("x0", "N", 2)], ["y"]), sizes("N"), expect={"y": "[6*N, 2]"})


@flow
def sequence_by_an_unknown_number_of_trips() -> Flow:
    after = [node("SequenceInsert", ["all", "x"], ["more"]), node("ConcatFromSequence", ["more"], ["y"], axis=0)]
    nodes = collected([node("Relu", ["x"], ["e"])], [], after)
    made = model(nodes, [ints("m"), floats("x", "N", 2)], ["y"])
    return Flow(made, sizes("N"), TRIPS, {"y": "[N*max(m, 0) + N, 2]"})


@flow
def sequence_is_captured_by_a_loop() -> Flow:
    """The element of this trip: sizes differ, so only few trips tell."""
    inner = loop_body([node("SequenceAt", ["s", "i"], ["e"]), node("Concat", ["x", "e"], ["x_next"], axis=0)], ["x"])
    nodes = [PAIR, const("m", 2), node("Loop", ["m", "", "c"], ["y"], body=inner)]
    made = model(nodes, [*AB, floats("c", "K", 3)], ["y"])
    return Flow(made, sizes("N", "M", "K", values=(0, 1, 3)), expect={"y": "[K + M + N, 3]"})


@flow
def optional_through_an_if() -> Flow:
    then = branch([node("Optional", ["a"], ["p"])], untyped("p"))
    other = branch([node("Optional", ["b"], ["q"])], untyped("q"))
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    for graph, name in ((then, "p"), (other, "q")):
        graph.output[0].CopyFrom(helper.make_value_info(name, kind))
    nodes = [
        node("If", ["flag"], ["o"], then_branch=then, else_branch=other),
        node("OptionalHasElement", ["o"], ["has"]),
        node("OptionalGetElement", ["o"], ["y"]),
    ]
    made = model(nodes, [*AB, boolean("flag")], ["has", "y"])
    return Flow(made, sizes("N", "M"), [{"flag": True}, {"flag": False}], {"y": "[ite(flag, N, M), 3]"})


def optional(name: str) -> ValueInfoProto:
    held = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    return helper.make_value_info(name, helper.make_optional_type_proto(held))


def present_or_absent(condition: str) -> list[NodeProto]:
    """An optional that holds `a` or nothing, and y: what it holds, else `b`."""
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    holds = branch([node("Optional", ["a"], ["p"])], optional("p"))
    empty = branch([node("Optional", [], ["q"], type=kind)], optional("q"))
    taken = branch([node("OptionalGetElement", ["o"], ["g"])], untyped("g"))
    other = branch([node("Identity", ["b"], ["h"])], untyped("h"))
    return [
        node("If", [condition], ["o"], then_branch=holds, else_branch=empty),
        node("OptionalHasElement", ["o"], ["has"]),
        node("If", ["has"], ["y"], then_branch=taken, else_branch=other),
    ]


@flow
def optional_present_in_one_branch() -> Flow:
    made = model(present_or_absent("flag"), [*AB, boolean("flag")], ["has", "y"])
    return Flow(made, sizes("N", "M"), [{"flag": True}, {"flag": False}], {"y": "[_d0, 3]"})


@flow
def optional_present_by_a_size() -> Flow:
    made = model([*size_is("a", 0, 2), *present_or_absent("is")], AB, ["has", "y"])
    return Flow(made, sizes("N", "M"), expect={"y": "[_d0, 3]"})


@flow
def if_between_sequences_of_two_lengths() -> Flow:
    then = branch([node("SequenceConstruct", ["a", "b"], ["p"])], sequence("p"))
    other = branch([node("SequenceConstruct", ["b"], ["q"])], sequence("q"))
    nodes = [
        *size_is("a", 0, 2),
        node("If", ["is"], ["s"], then_branch=then, else_branch=other),
        node("SequenceLength", ["s"], ["n"]),
        const("one", [1]),
        node("Reshape", ["n", "one"], ["target"]),
        node("ConstantOfShape", ["target"], ["y"]),
        node("ConcatFromSequence", ["s"], ["z"], axis=0),
    ]
    made = model(nodes, AB, ["y", "z"])
    return Flow(made, sizes("N", "M"), expect={"y": "[ite(N == 2, 2, 1)]", "z": "[_d0, 3]"})
