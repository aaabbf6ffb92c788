"""Ifs: by data, by a relation over dims, by a constant."""

from __future__ import annotations

from onnx import NodeProto, TensorProto

from tests.absint.shapes.flows.build import Flow, flow, size_is, sizes
from tests.models import boolean, branch, const, floats, ints, model, node, untyped

FLAGS = [{"flag": True}, {"flag": False}]


def by_data(truth: str) -> NodeProto:
    """A truth that a float decides, of which no analysis knows anything."""
    return node("Cast", [f"{truth}_data"], [truth], to=TensorProto.BOOL)


def doubled(*before: NodeProto) -> list[NodeProto]:
    then = branch([node("Concat", ["x", "x"], ["a"], axis=0)], untyped("a"))
    other = branch([node("Identity", ["x"], ["b"])], untyped("b"))
    return [*before, node("If", ["flag"], ["y"], then_branch=then, else_branch=other), node("Relu", ["y"], ["z"])]


@flow
def if_by_data() -> Flow:
    made = model(doubled(by_data("flag")), [floats("x", "N", 3), floats("flag_data")], ["z"])
    return Flow(made, sizes("N"), [{"flag_data": 1.0}, {"flag_data": 0.0}], {"z": "[_d0, 3]"})


@flow
def if_by_an_input() -> Flow:
    made = model(doubled(), [floats("x", "N", 3), boolean("flag")], ["z"])
    return Flow(made, sizes("N"), FLAGS, {"z": "[ite(flag, 2*N, N), 3]"})


@flow
def if_with_one_size_in_both_branches() -> Flow:
    then = branch([node("Relu", ["x"], ["a"])], untyped("a"))
    other = branch([node("Neg", ["x"], ["b"])], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], then_branch=then, else_branch=other)]
    flags = [{"flag": True}, {"flag": False}]
    return Flow(model(nodes, [floats("x", "N", "M"), boolean("flag")], ["y"]), sizes("N", "M"), flags, {"y": "[N, M]"})


def two_outputs(*before: NodeProto) -> list[NodeProto]:
    then = branch([node("Relu", ["x"], ["a"]), node("Neg", ["x"], ["a2"])], untyped("a"), untyped("a2"))
    other = branch([node("Relu", ["w"], ["b"]), node("Neg", ["w"], ["b2"])], untyped("b"), untyped("b2"))
    chosen = node("If", ["flag"], ["y", "y2"], then_branch=then, else_branch=other)
    return [*before, chosen, node("Add", ["y", "y2"], ["z"])]


@flow
def if_shapes_agree_between_outputs() -> Flow:
    made = model(two_outputs(by_data("flag")), [floats("x", "N"), floats("w", "M"), floats("flag_data")], ["z"])
    data = [{"flag_data": 1.0}, {"flag_data": 0.0}]
    return Flow(made, sizes("N", "M"), data, dict.fromkeys(("y", "y2", "z"), "[_d0]"))


@flow
def if_of_two_outputs_by_an_input() -> Flow:
    made = model(two_outputs(), [floats("x", "N"), floats("w", "M"), boolean("flag")], ["z"])
    return Flow(made, sizes("N", "M"), FLAGS, dict.fromkeys(("y", "y2", "z"), "[ite(flag, N, M)]"))


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
    return Flow(
        model(nodes, [floats("x", "N", "M")], ["z"]), sizes("N", "M"), expect={"z": "[N] if M == 1, else [N, M]"}
    )


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
def if_broadcasts_where_the_size_is_known() -> Flow:
    """Below N == 2 the sum has the size N; where that is not so, and after the If, it may have that of w."""
    then = branch([node("Add", ["x", "w"], ["a"])], untyped("a"))
    other = branch([node("Add", ["x", "w"], ["b"])], untyped("b"))
    nodes = [
        *size_is("x", 0, 2),
        node("If", ["is"], ["y"], then_branch=then, else_branch=other),
        node("Add", ["x", "w"], ["z"]),
    ]
    made = model(nodes, [floats("x", "N"), floats("w", "M")], ["y", "z"])
    together = [at for at in sizes("N", "M") if at["N"] == at["M"] or 1 in at.values()]
    return Flow(made, together, expect={"z": "[broadcast(M, N)]"})


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


def nested(*before: NodeProto) -> list[NodeProto]:
    inner = node(
        "If", ["g"], ["q"],
        then_branch=branch([node("Concat", ["x", "w"], ["a"], axis=0)], untyped("a")),
        else_branch=branch([node("Identity", ["w"], ["b"])], untyped("b")),
    )  # fmt: skip
    then = branch([inner, node("Relu", ["q"], ["r"])], untyped("r"))
    other = branch([node("Identity", ["x"], ["e"])], untyped("e"))
    return [*before, node("If", ["f"], ["y"], then_branch=then, else_branch=other)]


@flow
def if_nested() -> Flow:
    inputs = [floats("x", "N"), floats("w", "M"), floats("f_data"), floats("g_data")]
    data = [{"f_data": f, "g_data": g} for f in (1.0, 0.0) for g in (1.0, 0.0)]
    made = model(nested(by_data("f"), by_data("g")), inputs, ["y"])
    return Flow(made, sizes("N", "M"), data, {"y": "[_d0]"})


@flow
def if_nested_by_inputs() -> Flow:
    made = model(nested(), [floats("x", "N"), floats("w", "M"), boolean("f"), boolean("g")], ["y"])
    data = [{"f": f, "g": g} for f in (True, False) for g in (True, False)]
    return Flow(made, sizes("N", "M"), data, {"y": "[ite(f, ite(g, M + N, M), N)]"})


def either(
    condition: str, then: NodeProto | list[NodeProto], other: NodeProto | list[NodeProto], out: str
) -> NodeProto:
    """An If whose branches end in nodes of one output."""
    nodes = [part if isinstance(part, list) else [part] for part in (then, other)]
    branches = [branch(part, untyped(part[-1].output[0])) for part in nodes]
    return node("If", [condition], [out], then_branch=branches[0], else_branch=branches[1])


@flow
def if_of_two_ranks() -> Flow:
    """By data: a matrix, or it under a new axis."""
    lifted = [const("axis", [0]), node("Unsqueeze", ["x", "axis"], ["b"])]
    nodes = [either("flag", node("Relu", ["x"], ["a"]), lifted, "y"), node("Shape", ["y"], ["s"])]
    made = model(nodes, [floats("x", "N", 3), boolean("flag")], ["y", "s"])
    return Flow(made, sizes("N"), FLAGS, {"y": "[N, 3] if flag, else [1, N, 3]", "s": "[ite(flag, 2, 3)]"})


@flow
def if_of_an_unknown_rank() -> Flow:
    """One branch has its rank from data."""
    nodes = [
        either("flag", node("Reshape", ["x", "t"], ["a"]), node("Relu", ["x"], ["b"]), "y"),
        node("Neg", ["y"], ["z"]),
    ]
    made = model(nodes, [floats("x", "N", 3), ints("t", "R"), boolean("flag")], ["z"])
    data = [{**flag, "t": lambda *_: [-1]} for flag in FLAGS]
    return Flow(made, [{"N": n, "R": 1} for n in (1, 2, 4)], data, {"y": "[*_s1]", "z": "[*_s1]"})


@flow
def if_by_a_number_of_the_data() -> Flow:
    """m > 3, twice: both Ifs make the same choice."""
    nodes = [
        const("three", 3),
        node("Greater", ["m", "three"], ["big"]),
        either("big", node("Concat", ["x", "x"], ["a"], axis=0), node("Identity", ["x"], ["b"]), "y"),
        either("big", node("Concat", ["w", "w"], ["p"], axis=0), node("Identity", ["w"], ["q"]), "z"),
        node("Add", ["y", "z"], ["sum"]),
    ]
    made = model(nodes, [floats("x", "N"), floats("w", "N"), ints("m")], ["y", "z", "sum"])
    expect = dict.fromkeys(("y", "z", "sum"), "[ite(m >= 4, 2*N, N)]")
    return Flow(made, sizes("N"), [{"m": m} for m in (-1, 3, 4, 9)], expect)


@flow
def if_by_two_sizes() -> Flow:
    nodes = [
        *size_is("x", 0, 2),
        *size_is("w", 0, 3, "other"),
        node("And", ["is", "other"], ["both"]),
        either("both", node("Concat", ["x", "w"], ["a"], axis=0), node("Identity", ["x"], ["b"]), "y"),
    ]
    made = model(nodes, [floats("x", "N"), floats("w", "K")], ["y"])
    return Flow(made, sizes("N", "K", values=(0, 2, 3)), expect={"y": "[ite(K == 3 and N == 2, K + N, N)]"})


@flow
def if_decided_by_a_requirement() -> Flow:
    """The MatMul runs only where K == 4, so the other branch is never taken."""
    nodes = [
        node("MatMul", ["x", "w"], ["q"]),
        *size_is("x", 1, 4),
        either("is", node("Concat", ["x", "x"], ["a"], axis=0), node("Identity", ["x"], ["b"]), "y"),
    ]
    made = model(nodes, [floats("x", "N", "K"), floats("w", 4, 2)], ["q", "y"])
    return Flow(made, [{"N": n, "K": 4} for n in (0, 1, 3)], expect={"q": "[N, 2]", "y": "[2*N, 4]"})


@flow
def if_squeeze_pattern_is_flattened() -> Flow:
    """Whatever the rank, the Reshape makes it a vector."""
    squeezed = [const("axes", [1]), node("Squeeze", ["x", "axes"], ["a"])]
    nodes = [
        *size_is("x", 1, 1),
        either("is", squeezed, node("Identity", ["x"], ["b"]), "y"),
        const("flat", [-1]),
        node("Reshape", ["y", "flat"], ["z"]),
    ]
    made = model(nodes, [floats("x", "N", "M")], ["z"])
    return Flow(made, sizes("N", "M", values=(1, 2, 5)), expect={"y": "[N] if M == 1, else [N, M]", "z": "[M*N]"})
