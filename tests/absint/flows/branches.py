"""Ifs: by data, by a relation over dims, by a constant."""

from __future__ import annotations

from onnx import TensorProto

from tests.absint.flows.build import Flow, boolean, branch, const, floats, flow, model, node, size_is, sizes, untyped


@flow
def if_by_data() -> Flow:
    then = branch([node("Concat", ["x", "x"], ["a"], axis=0)], untyped("a"))
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], then_branch=then, else_branch=other), node("Relu", ["y"], ["z"])]
    flags = [{"flag": True}, {"flag": False}]
    return Flow(model(nodes, [floats("x", "N", 3), boolean("flag")], ["z"]), sizes("N"), flags, {"z": "[_d0, 3]"})


@flow
def if_with_one_size_in_both_branches() -> Flow:
    then = branch([node("Relu", ["x"], ["a"])], untyped("a"))
    other = branch([node("Neg", ["x"], ["b"])], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], then_branch=then, else_branch=other)]
    flags = [{"flag": True}, {"flag": False}]
    return Flow(model(nodes, [floats("x", "N", "M"), boolean("flag")], ["y"]), sizes("N", "M"), flags, {"y": "[N, M]"})


@flow
def if_shapes_agree_between_outputs() -> Flow:
    then = branch([node("Relu", ["x"], ["a"]), node("Neg", ["x"], ["a2"])], untyped("a"), untyped("a2"))
    other = branch([node("Relu", ["w"], ["b"]), node("Neg", ["w"], ["b2"])], untyped("b"), untyped("b2"))
    nodes = [
        node("If", ["flag"], ["y", "y2"], then_branch=then, else_branch=other),
        node("Add", ["y", "y2"], ["z"]),
    ]
    flags = [{"flag": True}, {"flag": False}]
    made = model(nodes, [floats("x", "N"), floats("w", "M"), boolean("flag")], ["z"])
    return Flow(made, sizes("N", "M"), flags, {"y": "[_d0]", "y2": "[_d0]", "z": "[_d0]"})


@flow
def if_by_a_relation_over_dims() -> Flow:
    then = branch([node("Concat", ["x", "x"], ["a"], axis=0)], untyped("a"))
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    nodes = [*size_is("x", 0, 2), node("If", ["is"], ["y"], then_branch=then, else_branch=other)]
    return Flow(model(nodes, [floats("x", "N", 3)], ["y"]), sizes("N"), expect={"y": "[ite(N == 2, 2*N, N), 3]"})


@flow
def if_squeeze_pattern() -> Flow:
    """torch.squeeze(x, 1): the rank depends on the size."""
    then = branch([const("axes", [1]), node("Squeeze", ["x", "axes"], ["a"])], untyped("a"))
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    nodes = [
        *size_is("x", 1, 1),
        node("If", ["is"], ["y"], then_branch=then, else_branch=other),
        node("Relu", ["y"], ["z"]),
    ]
    return Flow(model(nodes, [floats("x", "N", "M")], ["z"]), sizes("N", "M"), expect={"z": "?"})


@flow
def if_squeeze_pattern_of_known_size() -> Flow:
    then = branch([const("axes", [1]), node("Squeeze", ["x", "axes"], ["a"])], untyped("a"))
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    nodes = [*size_is("x", 1, 1), node("If", ["is"], ["y"], then_branch=then, else_branch=other)]
    # No runs: onnxruntime checks the Squeeze of the branch that is never taken.
    return Flow(model(nodes, [floats("x", "N", 7)], ["y"]), [], expect={"y": "[N, 7]"})


@flow
def if_constant_condition() -> Flow:
    then = branch([node("Transpose", ["x"], ["a"])], untyped("a"))
    other = branch([node("MatMul", ["x", "x"], ["b"])], untyped("b"))
    nodes = [const("yes", True, bool), node("If", ["yes"], ["y"], then_branch=then, else_branch=other)]
    return Flow(model(nodes, [floats("x", "N", "M")], ["y"]), sizes("N", "M"), expect={"y": "[M, N]"})


@flow
def if_squeezes_where_the_size_is_one() -> Flow:
    """Below N == 1 the axis may be squeezed without naming it, and the result is used by a Reshape."""
    then = branch(
        [const("axes", [0]), node("Squeeze", ["x", "axes"], ["s"]), node("Unsqueeze", ["s", "axes"], ["a"])],
        untyped("a"),
    )
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    nodes = [*size_is("x", 0, 1), node("If", ["is"], ["y"], then_branch=then, else_branch=other)]
    return Flow(model(nodes, [floats("x", "N", 4)], ["y"]), sizes("N"), expect={"y": "[N, 4]"})


@flow
def if_with_sizes_born_in_a_branch() -> Flow:
    then = branch([node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["a"], to=1)], untyped("a"))
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], then_branch=then, else_branch=other)]
    flags = [{"flag": True}, {"flag": False}]
    return Flow(model(nodes, [floats("x", 2, "N"), boolean("flag")], ["y"]), sizes("N"), flags, {"y": "[2, _d0]"})


@flow
def if_gives_a_target_shape() -> Flow:
    then = branch([node("Shape", ["x"], ["a"])], untyped("a", TensorProto.INT64))
    other = branch([node("Shape", ["w"], ["b"])], untyped("b", TensorProto.INT64))
    nodes = [
        *size_is("x", 0, 2),
        node("If", ["is"], ["t"], then_branch=then, else_branch=other),
        node("ConstantOfShape", ["t"], ["y"]),
    ]
    made = model(nodes, [floats("x", "N", 3), floats("w", "M", 3)], ["y"])
    return Flow(made, sizes("N", "M"), expect={"y": "[ite(N == 2, N, M), 3]"})


@flow
def if_nested() -> Flow:
    inner = node(
        "If", ["g"], ["q"],
        then_branch=branch([node("Concat", ["x", "w"], ["a"], axis=0)], untyped("a")),
        else_branch=branch([node("Identity", ["w"], ["b"])], untyped("b")),
    )  # fmt: skip
    nodes = [
        node(
            "If",
            ["f"],
            ["y"],
            then_branch=branch([inner, node("Relu", ["q"], ["r"])], untyped("r")),
            else_branch=branch([node("Identity", ["x"], ["e"])], untyped("e")),
        )
    ]
    flags = [{"f": f, "g": g} for f in (True, False) for g in (True, False)]
    made = model(nodes, [floats("x", "N"), floats("w", "M"), boolean("f"), boolean("g")], ["y"])
    return Flow(made, sizes("N", "M"), flags, {"y": "[_d0]"})
