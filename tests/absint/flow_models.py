"""Small models with control flow: each with sizes to run it at, and the answer where the truth has a closed form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

node = helper.make_node
Bindings = Sequence[Mapping[str, int]]


@dataclass(frozen=True)
class Flow:
    """A model, runs of it (bindings, each with every choice of data), and expected shapes by value."""

    model: ModelProto
    bindings: Bindings
    data: Sequence[Mapping[str, Any]] = ({},)
    expect: Mapping[str, str] = field(default_factory=dict)


FLOWS: dict[str, Callable[[], Flow]] = {}


def flow(build: Callable[[], Flow]) -> Callable[[], Flow]:
    """Register a model."""
    FLOWS[build.__name__] = build
    return build


def floats(name: str, *dims: int | str | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def ints(name: str, *dims: int | str | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, dims)


def boolean(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


def untyped(name: str, dtype: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, None)


def const(name: str, value: Any, dtype: Any = np.int64) -> NodeProto:
    return node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array(value, dtype=dtype)))


def body(nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> GraphProto:
    return helper.make_graph(list(nodes), "body", list(inputs), list(outputs))


def branch(nodes: Sequence[NodeProto], *outputs: ValueInfoProto) -> GraphProto:
    return body(nodes, [], outputs)


def loop_body(
    nodes: Sequence[NodeProto],
    carried: Sequence[str] = (),
    scans: Sequence[str] = (),
    cond: str = "",
    dtype: int = TensorProto.FLOAT,
) -> GraphProto:
    """A body over `i`, `c` and carried values x -> x_next, whose condition stays as it is unless one is named."""
    keep = [] if cond else [node("Identity", ["c"], ["c_next"])]
    outs = [*(f"{name}_next" for name in carried), *scans]
    return body(
        [*keep, *nodes],
        [ints("i"), boolean("c"), *(untyped(name, dtype) for name in carried)],
        [boolean(cond or "c_next"), *(untyped(name, dtype) for name in outs)],
    )


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    opset: int = 18,
    functions: Sequence[onnx.FunctionProto] = (),
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "graph", list(inputs), [ValueInfoProto(name=name) for name in outputs])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(f.domain, 1) for f in functions)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def sizes(*names: str, values: Sequence[int] = (0, 1, 2, 5)) -> list[dict[str, int]]:
    """Every combination, for few names."""
    result: list[dict[str, int]] = [{}]
    for name in names:
        result = [{**b, name: v} for b in result for v in values]
    return result


TRIPS = [{"m": m} for m in (0, 1, 3, -2)]


# If


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


def size_is(value: str, axis: int, number: int, out: str = "is") -> list[NodeProto]:
    """out: size of an axis == number."""
    return [
        node("Shape", [value], [f"{out}_shape"]),
        const(f"{out}_axis", axis),
        node("Gather", [f"{out}_shape", f"{out}_axis"], [f"{out}_size"], axis=0),
        const(f"{out}_number", number),
        node("Equal", [f"{out}_size", f"{out}_number"], [out]),
    ]


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


# Loop: trip counts


@flow
def loop_constant_trips() -> Flow:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [const("m", 4), node("Loop", ["m", ""], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x", "N")], ["y"]), sizes("N"), expect={"y": "[4, N]"})


@flow
def loop_trips_from_an_input() -> Flow:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    return Flow(model(nodes, [ints("m"), floats("x", "N")], ["y"]), sizes("N"), TRIPS, {"y": "[_d0, _d1]"})


@flow
def loop_trips_from_a_dim() -> Flow:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    nodes = [node("Size", ["w"], ["m"]), node("Loop", ["m", ""], ["y"], body=inner)]
    return Flow(model(nodes, [floats("w", "T"), floats("x", "N")], ["y"]), sizes("N", "T"), expect={"y": "[T, _d0]"})


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
    nodes = [const("m", 3), node("Loop", ["m", "go", "x0"], ["y"], body=inner)]
    flags = [{"go": True}, {"go": False}]
    made = model(nodes, [boolean("go"), floats("x0", "N"), floats("w", "K")], ["y"])
    return Flow(made, sizes("N", "K"), flags, {"y": "[K*_d0 + N]"})


@flow
def loop_leaves_early() -> Flow:
    """The scan length is smaller than M."""
    inner = loop_body(
        [const("two", 2), node("Less", ["i", "two"], ["more"]), node("Relu", ["x"], ["s"])], scans=["s"], cond="more"
    )
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    data = [{"m": m} for m in (0, 1, 2, 3, 9, -1)]
    return Flow(model(nodes, [ints("m"), floats("x", "N")], ["y"]), sizes("N"), data, {"y": "[_d0, _d1]"})


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
    return Flow(model(nodes, [boolean("go"), floats("x0", "N")], ["y"]), sizes("N"), flags, {"y": "[N*_d0 + N]"})


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


# Loop: what is carried


def carry(
    step: Sequence[NodeProto],
    expect: str,
    inputs: Sequence[ValueInfoProto],
    names: Sequence[str],
    after: Sequence[NodeProto] = (),
    data: Sequence[Mapping[str, Any]] = TRIPS,
    values: Sequence[int] = (0, 1, 2, 5),
) -> Flow:
    """A loop over M that carries x from x0."""
    nodes = [node("Loop", ["m", "", "x0"], ["y"], body=loop_body(step, ["x"])), *after]
    out = "z" if after else "y"
    made = model(nodes, [ints("m"), *inputs], [out])
    return Flow(made, sizes(*names, values=values), data, {"y": expect})


@flow
def loop_grows_by_a_symbol() -> Flow:
    step = [node("Concat", ["x", "w"], ["x_next"], axis=1)]
    return carry(step, "[2, K*_d0 + N]", [floats("x0", 2, "N"), floats("w", 2, "K")], ["N", "K"])


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
    return carry(step, "[_d0]", [floats("x0", "N")], ["N"])


@flow
def loop_doubles() -> Flow:
    return carry([node("Concat", ["x", "x"], ["x_next"], axis=0)], "[_d0]", [floats("x0", "N")], ["N"])


@flow
def loop_transposes() -> Flow:
    step = [node("Transpose", ["x"], ["x_next"], perm=[1, 0])]
    return carry(step, "[_d0, _d1]", [floats("x0", "N", "M")], ["N", "M"])


@flow
def loop_changes_rank() -> Flow:
    step = [const("axes", [0]), node("Unsqueeze", ["x", "axes"], ["x_next"])]
    return carry(step, "?", [floats("x0", "N")], ["N"])


@flow
def loop_settles_on_a_size() -> Flow:
    step = [const("t", [3]), const("f", 0.0, np.float32), node("Expand", ["f", "t"], ["x_next"])]
    return carry(step, "[_d0]", [floats("x0", "N")], ["N"])


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
    return Flow(made, sizes("N", "M"), TRIPS, {"p": "[_d0]", "q": "[_d1]"})


@flow
def loop_rotates_three() -> Flow:
    names = ["a", "b", "c3"]
    inner = loop_body([node("Identity", [names[k]], [f"{names[(k + 1) % 3]}_next"]) for k in range(3)], names)
    nodes = [node("Loop", ["m", "", "a0", "b0", "c0"], ["p", "q", "r"], body=inner)]
    made = model(nodes, [ints("m"), floats("a0", "N"), floats("b0", "M"), floats("c0", 3)], ["p", "q", "r"])
    return Flow(
        made,
        sizes("N", "M", values=(0, 2, 3)),
        [{"m": m} for m in range(4)],
        {"p": "[_d0]", "q": "[_d1]", "r": "[_d2]"},
    )


@flow
def loop_one_follows_another() -> Flow:
    """b takes a's old value while a grows: b's first value is another."""
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Concat", ["a", "w"], ["a_next"], axis=0)], ["a", "b"])
    nodes = [node("Loop", ["m", "", "a0", "b0"], ["p", "q"], body=inner)]
    made = model(nodes, [ints("m"), floats("a0", "N"), floats("b0", "M"), floats("w", 2)], ["p", "q"])
    return Flow(made, sizes("N", "M"), TRIPS, {"p": "[N + 2*_d0]"})


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
    return Flow(model(nodes, [ints("m"), floats("x0", "N")], ["y"]), sizes("N"), TRIPS, {"y": "[_d0]"})


@flow
def loop_scan_of_an_undeclared_rank() -> Flow:
    """The body's output gets its rank from data, so after zero trips onnxruntime prints [0]."""
    inner = loop_body([node("Reshape", ["x", "t"], ["s"])], scans=["s"])
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x", "N", 3), ints("t", 2)], ["y"])
    return Flow(made, [{"N": 2}], [{**m, "t": lambda *_: [3, 2]} for m in TRIPS], {"y": "?"})


@flow
def loop_scan_of_a_declared_rank() -> Flow:
    inner = loop_body([node("Reshape", ["x", "t"], ["s"])], scans=["s"])
    inner.output[-1].CopyFrom(floats("s", None, None))
    nodes = [node("Loop", ["m", ""], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("x", "N", 3), ints("t", 2)], ["y"])
    return Flow(made, [{"N": 2}], [{**m, "t": lambda *_: [3, 2]} for m in TRIPS], {"y": "[_d0, _d1, _d2]"})


@flow
def loop_scan_of_what_grows() -> Flow:
    """The size in the only trip is not the size after it."""
    inner = loop_body([node("Concat", ["x", "x"], ["x_next"], axis=0), node("Neg", ["x"], ["s"])], ["x"], ["s"])
    inner.input[-1].CopyFrom(floats("x", None))
    nodes = [node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [ints("m"), floats("x0", "N")], ["last", "all"])
    return Flow(made, sizes("N"), [{"m": 0}, {"m": 1}], {"last": "[_d0]", "all": "[_d1, _d2]"})


@flow
def loop_scan_of_what_is_carried() -> Flow:
    """Type inference hands no shape from trip to trip: with no trip and no declared rank, onnxruntime prints [0]."""
    inner = loop_body([node("Relu", ["x"], ["x_next"]), node("Neg", ["x"], ["s"])], ["x"], ["s"])
    nodes = [node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [ints("m"), floats("x0", "N")], ["last", "all"])
    return Flow(made, sizes("N"), TRIPS, {"last": "[N]", "all": "?"})


@flow
def loop_fibonacci() -> Flow:
    """A step that is constant at first sight only: 1, 2, 3, 5, 8."""
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Concat", ["a", "b"], ["a_next"], axis=0)], ["a", "b"])
    nodes = [const("m", 4), node("Loop", ["m", "", "a0", "b0"], ["p", "q"], body=inner)]
    return Flow(model(nodes, [floats("a0", 1), floats("b0", 1)], ["p", "q"]), [{}], expect={"p": "[_d0]", "q": "[_d1]"})


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


# Nesting


@flow
def loop_in_a_loop() -> Flow:
    """T * 3 trips in all: the inner loop adds 3 rows for each outer trip."""
    inner = body(
        [node("Identity", ["c2"], ["c2n"]), node("Concat", ["z", "w"], ["zn"], axis=0)],
        [ints("j"), boolean("c2"), untyped("z")],
        [boolean("c2n"), untyped("zn")],
    )
    outer = loop_body([const("three", 3), node("Loop", ["three", "", "x"], ["x_next"], body=inner)], ["x"])
    nodes = [node("Size", ["n"], ["m"]), node("Loop", ["m", "", "x0"], ["y"], body=outer)]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1)], ["y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[N + 3*T]"})


@flow
def loop_in_a_loop_by_the_outer_number() -> Flow:
    """The inner loop runs i times: a triangular number of rows."""
    inner = body(
        [node("Identity", ["c2"], ["c2n"]), node("Concat", ["z", "w"], ["zn"], axis=0)],
        [ints("j"), boolean("c2"), untyped("z")],
        [boolean("c2n"), untyped("zn")],
    )
    outer = loop_body([node("Loop", ["i", "", "x"], ["x_next"], body=inner)], ["x"])
    nodes = [node("Loop", ["m", "", "x0"], ["y"], body=outer)]
    made = model(nodes, [ints("m"), floats("x0", "N"), floats("w", 1)], ["y"])
    return Flow(made, sizes("N"), [{"m": m} for m in (0, 1, 2, 4)], {"y": "[_d0]"})


@flow
def if_in_a_loop() -> Flow:
    choose = node(
        "If", ["even"], ["x_next"],
        then_branch=branch([node("Concat", ["x", "w"], ["a"], axis=0)], untyped("a")),
        else_branch=branch([node("Identity", ["x"], ["b"])], untyped("b")),
    )  # fmt: skip
    step = [
        const("two", 2),
        node("Mod", ["i", "two"], ["odd"]),
        const("zero", 0),
        node("Equal", ["odd", "zero"], ["even"]),
        choose,
    ]
    return carry(step, "[_d0]", [floats("x0", "N"), floats("w", 2)], ["N"])


@flow
def if_in_a_loop_that_changes_its_mind() -> Flow:
    """The condition holds in the first trip only: what the branch assumes must not stick."""
    choose = node(
        "If", ["small"], ["x_next"],
        then_branch=branch(
            [const("t", [3]), const("f", 0.0, np.float32), node("Expand", ["f", "t"], ["a"])], untyped("a")
        ),
        else_branch=branch([node("Concat", ["x", "x"], ["b"], axis=0)], untyped("b")),
    )  # fmt: skip
    step = [*size_is("x", 0, 1, "small"), choose]
    return carry(step, "[_d0]", [floats("x0", 1)], [], values=(1,))


@flow
def loop_in_a_branch() -> Flow:
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0)], ["x"])
    then = branch([const("m", 2), node("Loop", ["m", "", "x0"], ["a"], body=inner)], untyped("a"))
    other = branch([node("Identity", ["x0"], ["b"])], untyped("b"))
    nodes = [*size_is("x0", 0, 2), node("If", ["is"], ["y"], then_branch=then, else_branch=other)]
    made = model(nodes, [floats("x0", "N"), floats("w", "K")], ["y"])
    return Flow(made, sizes("N", "K"), expect={"y": "[ite(N == 2, 2*K + N, N)]"})


@flow
def captured_value_is_broadcast_in_a_loop() -> Flow:
    """The body requires w to fit x: only if there is a trip."""
    step = [node("MatMul", ["x", "w"], ["x_next"])]
    return carry(step, "[N, K]", [floats("x0", "N", "K"), floats("w", "K", "K")], ["N", "K"])


# Scan


@flow
def scan_sums() -> Flow:
    inner = body(
        [node("Add", ["s", "x"], ["sn"]), node("Concat", ["x", "x"], ["y"], axis=0)],
        [untyped("s"), untyped("x")],
        [untyped("sn"), untyped("y")],
    )
    nodes = [node("Scan", ["s0", "xs"], ["last", "ys"], body=inner, num_scan_inputs=1)]
    made = model(nodes, [floats("s0", "N"), floats("xs", "T", "N")], ["last", "ys"])
    return Flow(made, sizes("N", "T", values=(1, 2, 5)), expect={"last": "[N]", "ys": "[T, 2*N]"})


@flow
def scan_along_other_axes() -> Flow:
    inner = body(
        [node("Add", ["s", "x"], ["sn"]), node("Identity", ["sn"], ["y"])],
        [untyped("s"), untyped("x")],
        [untyped("sn"), untyped("y")],
    )
    nodes = [
        node(
            "Scan",
            ["s0", "xs"],
            ["last", "ys"],
            body=inner,
            num_scan_inputs=1,
            scan_input_axes=[-1],
            scan_output_axes=[-1],
            scan_input_directions=[1],
        )
    ]
    made = model(nodes, [floats("s0", "N", "K"), floats("xs", "N", "K", "T")], ["last", "ys"])
    return Flow(made, sizes("N", "K", "T", values=(1, 3)), expect={"last": "[N, K]", "ys": "[N, K, T]"})


@flow
def scan_of_two_inputs() -> Flow:
    inner = body([node("Mul", ["a", "b"], ["y"])], [untyped("a"), untyped("b")], [untyped("y")])
    nodes = [node("Scan", ["p", "q"], ["ys"], body=inner, num_scan_inputs=2, scan_input_axes=[0, 1])]
    made = model(nodes, [floats("p", 4, "N"), floats("q", "N", "T")], ["ys"])
    return Flow(made, [{"N": n, "T": 4} for n in (1, 2, 5)], expect={"ys": "[4, N]"})


# Sequences


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
    return Flow(made, sizes("N"), TRIPS, {"last": "[N*_d0 + N, 2]"})


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
    return Flow(model(nodes, [floats("x0", "N")], ["x", "gap"]), sizes("N"), expect={"x": "[_d0]", "gap": "[]"})


# Functions


def function(
    name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[NodeProto], **more: Any
) -> onnx.FunctionProto:
    return helper.make_function(
        "my",
        name,
        list(inputs),
        list(outputs),
        list(nodes),
        [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)],
        **more,
    )


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
