"""Lowering: functions, their imports, attributes and overloads; order; depth; operators that have only a body."""

from __future__ import annotations

import time
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import FunctionProto, ModelProto, NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime import InferenceSession

from absint import ModelError, Result, analyze
from absint.diagnostics import Severity
from absint.engine import fixpoint
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from absint.model import schemas
from absint.transfer.families import shipped
from absint.transfer.rule import Table
from tests.absint.shapes.flows.build import sizes
from tests.models import body, branch, const, floats, function, ints, loop_body, model, node, parsed, untyped
from tests.runs import Runs


def codes(result: Result) -> list[str]:
    return [d.code for d in result.diagnostics]


def shape(result: Result, name: str) -> str:
    found = result.shapes[name]
    return "?" if found is None else str(found)


def checked(made: ModelProto, *names: str) -> Result:
    """Analysed, and held against runs at a few sizes."""
    result = analyze(made)
    Runs(made, result).check(*sizes(*names))
    return result


def without(*names: str) -> Table:
    """The shipped rules but those of some operators."""
    return Table(rule for rule in shipped() if not set(rule.names) & set(names))


# Functions


def reference(node_: NodeProto, name: str, to: str, kind: int) -> NodeProto:
    """The node with an attribute that refers to one of its function."""
    node_.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=to, type=kind))  # type: ignore[arg-type]
    return node_


def old_squeeze(value: str) -> Sequence[NodeProto]:
    return [node("Squeeze", [value], ["y"], axes=[0])]


def test_each_function_has_its_own_opset() -> None:
    """Squeeze took its axes as an attribute before opset 13."""
    old = helper.make_function("my", "Old", ["x"], ["y"], old_squeeze("x"), [helper.make_opsetid("", 11)])
    new = helper.make_function(
        "my", "New", ["x"], ["y"], [const("a", [0]), node("Squeeze", ["x", "a"], ["y"])], [helper.make_opsetid("", 18)]
    )
    nodes = [node("Old", ["x"], ["p"], domain="my"), node("New", ["x"], ["q"], domain="my")]
    made = model(nodes, [floats("x", 1, "N")], ["p", "q"], functions=[old, new])
    result = analyze(made)
    assert (shape(result, "p"), shape(result, "q")) == ("[N]", "[N]")
    # onnxruntime inlines functions into the opset of the model; the reference implementation keeps theirs.
    for size in (0, 1, 4):
        p, q = ReferenceEvaluator(made).run(None, {"x": np.zeros((1, size), np.float32)})
        assert p.shape == q.shape == (size,)


def test_equal_nodes_of_two_opsets_are_two_operators() -> None:
    """Max broadcasts since opset 8; before it all inputs have one shape."""
    largest = node("Max", ["x", "w"], ["y"])
    old = helper.make_function("my", "Old", ["x", "w"], ["y"], [largest], [helper.make_opsetid("", 7)])
    nodes = [largest, node("Old", ["x", "w"], ["z"], domain="my")]
    made = model(nodes, [floats("x", "N"), floats("w", "M")], ["y", "z"], functions=[old])
    result = analyze(made, refine=False, semantics="onnx")
    assert (shape(result, "y"), shape(result, "z")) == ("[broadcast(M, N)]", "[M]")
    required = {c.origin.path: str(c.relation) for c in result.constraints if c.origin.operator == "Max"}
    assert required == {"": "M == N or M == 1 or N == 1", "Old#1": "M == N"}
    # onnxruntime broadcasts in the function as well: it reads it as of the opset of the model.
    held = analyze(made, refine=False)
    assert (shape(held, "z"), held.check({"N": 1, "M": 2}).ok) == ("[_d0]", True)
    Runs(made, held).check({"N": 1, "M": 2}, {"N": 3, "M": 3})


def test_equal_nodes_with_more_outputs_are_another_operator() -> None:
    """Split into as many parts as there are outputs."""
    parts = [node("Split", ["x"], [f"{count}_{k}" for k in range(count)], axis=0) for count in (2, 3)]
    made = model(parts, [floats("x", "6*N")], ["2_1", "3_2"], opset=13)
    result = analyze(made)
    assert (shape(result, "2_1"), shape(result, "3_2")) == ("[3*N]", "[2*N]")
    Runs(made, result).check(*sizes("N"))


def flatten_function(**more: Any) -> FunctionProto:
    inner = reference(node("Flatten", ["x"], ["y"]), "axis", "at", onnx.AttributeProto.INT)
    return function("Flat", ["x"], ["y"], [inner], **more)


@pytest.mark.parametrize(
    ("given", "default", "want"),
    [(2, None, "[A*B, C]"), (None, 0, "[1, A*B*C]"), (3, 0, "[A*B*C, 1]"), (None, None, "[A, B*C]")],
)
def test_attribute_references(given: int | None, default: int | None, want: str) -> None:
    """The value of the call, else the function's default, else the operator's own."""
    more: dict[str, Any] = {"attributes": ["at"]}
    if default is not None:
        more = {"attribute_protos": [helper.make_attribute("at", default)]}
    attributes = {} if given is None else {"at": given}
    nodes = [node("Flat", ["x"], ["y"], domain="my", **attributes)]
    made = model(nodes, [floats("x", "A", "B", "C")], ["y"], functions=[flatten_function(**more)])
    result = analyze(made)
    assert shape(result, "y") == want
    if given is not None or default is not None:
        Runs(made, result).check(*sizes("A", "B", "C", values=(1, 2, 3)))


def test_attribute_references_through_two_functions() -> None:
    outer_node = reference(node("Flat", ["x"], ["y"], domain="my"), "at", "where", onnx.AttributeProto.INT)
    outer = function("Outer", ["x"], ["y"], [outer_node], attributes=["where"])
    nodes = [node("Outer", ["x"], ["y"], domain="my", where=2)]
    made = model(nodes, [floats("x", "A", "B", "C")], ["y"], functions=[flatten_function(attributes=["at"]), outer])
    assert shape(checked(made, "A", "B", "C"), "y") == "[A*B, C]"


def test_attribute_reference_inside_a_branch_of_a_function() -> None:
    inner = reference(node("Concat", ["x", "x"], ["a"]), "axis", "at", onnx.AttributeProto.INT)
    choose = node(
        "If", ["flag"], ["y"],
        then_branch=branch([inner], untyped("a")),
        else_branch=branch([node("Identity", ["x"], ["b"])], untyped("b")),
    )  # fmt: skip
    twice = function("Twice", ["x"], ["y"], [const("flag", True, bool), choose], attributes=["at"])
    made = model([node("Twice", ["x"], ["y"], domain="my", at=1)], [floats("x", "N", "M")], ["y"], functions=[twice])
    assert shape(analyze(made), "y") == "[N, 2*M]"


@pytest.mark.parametrize(
    ("inputs", "outputs", "what"),
    [
        (["x", "x"], ["y"], "it has 2 inputs, and function 'F' declares 1"),
        (["x"], ["y", "z"], "it has 2 outputs, and function 'F' declares 1"),
        (["x", ""], ["y"], ""),
    ],
)
def test_a_call_that_does_not_fit_its_function(inputs: list[str], outputs: list[str], what: str) -> None:
    made = model(
        [node("F", inputs, outputs, domain="my"), node("Neg", ["x"], ["w"])],
        [floats("x", "N")],
        [*outputs, "w"],
        functions=[function("F", ["x"], ["y"], [node("Relu", ["x"], ["y"])])],
    )
    result = analyze(made)
    assert [shape(result, name) for name in (*outputs, "w")] == [*(["?"] if what else ["[N]"]) * len(outputs), "[N]"]
    assert [str(d) for d in result.diagnostics if d.code == "call-arity"] == (
        [f"error: F #0: {what}; the call is left opaque [call-arity]"] if what else []
    )


def test_overloads() -> None:
    plain = function("F", ["x"], ["y"], [node("Relu", ["x"], ["y"])])
    twice = function("F", ["x"], ["y"], [node("Concat", ["x", "x"], ["y"], axis=0)], overload="twice")
    call = node("F", ["x"], ["b"], domain="my", overload="twice")
    made = model([node("F", ["x"], ["a"], domain="my"), call], [floats("x", "N")], ["a", "b"], functions=[plain, twice])
    result = analyze(made)
    assert (shape(result, "a"), shape(result, "b")) == ("[N]", "[2*N]")
    Runs(made, result).check(*sizes("N"))


def test_an_operator_of_another_domain_is_not_onnxs() -> None:
    made = model(
        [node("Shape", ["x"], ["y"], domain="my"), node("Shape", ["x"], ["z"], domain="ai.onnx")],
        [floats("x", "N")],
        ["y", "z"],
    )
    result = analyze(made)
    assert "no-rule" in codes(result)
    assert (shape(result, "y"), shape(result, "z")) == ("?", "[1]")


def test_missing_inputs_and_outputs_of_a_call() -> None:
    clip = function(
        "MaybeClip", ["x", "low"], ["y", "rest"], [node("Clip", ["x", "low"], ["y"]), node("Shape", ["x"], ["rest"])]
    )
    nodes = [node("MaybeClip", ["x"], ["p"], domain="my"), node("MaybeClip", ["x", ""], ["q", "s"], domain="my")]
    result = analyze(model(nodes, [floats("x", "N")], ["p", "q", "s"], functions=[clip]))
    assert [shape(result, name) for name in "pqs"] == ["[N]", "[N]", "[1]"]
    assert codes(result) == ["ill-formed"]  # onnxruntime wants an empty name for an output that is left out


def test_names_inside_a_function_are_its_own() -> None:
    """The body's `t` is not the caller's, and nothing of the caller is visible."""
    inner = function("G", ["x"], ["y"], [node("Concat", ["x", "x"], ["t"], axis=0), node("Relu", ["t"], ["y"])])
    leaky = function("Leaky", ["x"], ["y"], [node("Add", ["x", "t"], ["y"])])
    nodes = [node("Neg", ["x"], ["t"]), node("G", ["x"], ["y"], domain="my"), node("Leaky", ["x"], ["z"], domain="my")]
    result = analyze(model(nodes, [floats("x", "N")], ["t", "y", "z"], functions=[inner, leaky]))
    assert (shape(result, "t"), shape(result, "y")) == ("[N]", "[2*N]")
    assert codes(result) == ["undefined-input"]


def test_what_follows_an_undefined_input_is_analysed() -> None:
    """Nothing is dropped, nodes keep their numbers, and what is not sorted behind it is sorted."""
    nodes = [node("Add", ["x", "q"], ["a"]), node("Relu", ["a"], ["b"]), node("Add", ["r", "x"], ["c"])]
    nodes += [node("Neg", ["e"], ["d"]), node("Concat", ["x", "x"], ["e"], axis=0)]
    result = analyze(model(nodes, [floats("x", "N")], ["b", "c", "d"]))
    assert [(d.code, d.where) for d in result.diagnostics] == [
        ("undefined-input", "Add #0"), ("undefined-input", "Add #2"), ("unsorted", "the graph"),
    ]  # fmt: skip
    assert shape(result, "d") == "[2*N]"


def test_many_undefined_inputs_take_linear_time() -> None:
    nodes = [node("Add", [f"x{n}", f"y{n}"], [f"z{n}"]) for n in range(20_000)]
    start = process_time()
    result = analyze(model(nodes, [floats("x", "N")], ["z0"]))
    assert codes(result).count("undefined-input") == 40_000
    assert process_time() - start < 20


def nested_functions(depth: int) -> ModelProto:
    functions = [function("F0", ["x"], ["y"], [node("Relu", ["x"], ["y"])])]
    functions += [
        function(f"F{level}", ["x"], ["y"], [node(f"F{level - 1}", ["x"], ["y"], domain="my")])
        for level in range(1, depth)
    ]
    return model([node(f"F{depth - 1}", ["x"], ["y"], domain="my")], [floats("x", "N", 3)], ["y"], functions=functions)


def test_functions_nested_a_thousand_deep() -> None:
    started = time.process_time()
    result = analyze(nested_functions(1_000))
    assert shape(result, "y") == "[N, 3]"
    assert not codes(result)
    assert time.process_time() - started < 10


def test_functions_nested_too_deep_stay_opaque() -> None:
    result = analyze(nested_functions(2_500))
    assert shape(result, "y") == "?"
    assert "lowering-limit" in codes(result)


def test_calls_of_more_nodes_than_the_limit_stay_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.program.lowering.MAX_NODES", 2_000)
    long = function("Long", ["x"], ["x3000"], [node("Relu", [f"x{k or ''}"], [f"x{k + 1}"]) for k in range(3_000)])
    short = function("Short", ["x"], ["x9"], [node("Relu", [f"x{k or ''}"], [f"x{k + 1}"]) for k in range(9)])
    nodes = [node("Long", ["x"], ["y"], domain="my"), node("Short", ["x"], ["z"], domain="my")]
    result = analyze(model(nodes, [floats("x", "N")], ["y", "z"], functions=[long, short]))
    assert codes(result).count("lowering-limit") == 1
    assert (shape(result, "y"), shape(result, "z")) == ("?", "[N]")


def test_calls_that_double_at_each_level_are_folded() -> None:
    """Beyond the caller's limit, nodes stay opaque."""
    functions = [function("F0", ["x"], ["y"], [node("Relu", ["x"], ["y"])])]
    for level in range(1, 30):
        calls = [node(f"F{level - 1}", ["x"], ["t"], domain="my"), node(f"F{level - 1}", ["t"], ["y"], domain="my")]
        functions.append(function(f"F{level}", ["x"], ["y"], calls))
    made = model([node("F29", ["x"], ["y"], domain="my")], [floats("x", "N")], ["y"], functions=functions)
    result = analyze(made)
    assert (codes(result), shape(result, "y")) == (["folded-call"], "[N]")
    assert len(result.nodes) == 2
    limited = analyze(made, max_nodes=2_000)
    assert "lowering-limit" in codes(limited)
    assert shape(limited, "y") == "?"


def test_recursive_functions_are_reported() -> None:
    ping = function("Ping", ["x"], ["y"], [node("Pong", ["x"], ["y"], domain="my")])
    pong = function("Pong", ["x"], ["y"], [node("Ping", ["x"], ["y"], domain="my")])
    itself = function("Itself", ["x"], ["y"], [node("Itself", ["x"], ["y"], domain="my")])
    nodes = [
        node("Ping", ["x"], ["y"], domain="my"),
        node("Itself", ["x"], ["z"], domain="my"),
        node("Relu", ["x"], ["w"]),
    ]
    result = analyze(model(nodes, [floats("x", "N")], ["y", "z", "w"], functions=[ping, pong, itself]))
    assert codes(result).count("recursive-function") == 2
    assert [shape(result, name) for name in "yzw"] == ["?", "?", "[N]"]


# Bodies of schemas

UNARY = [
    "HardSwish",
    "Mish",
    "LeakyRelu",
    "Elu",
    "Selu",
    "Softsign",
    "Softplus",
    "ThresholdedRelu",
    "Shrink",
    "HardSigmoid",
]
REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"]


@pytest.mark.parametrize("name", [*UNARY, "MeanVarianceNormalization"])
def test_an_operator_without_a_rule_has_the_body_of_its_schema(name: str) -> None:
    version = schemas.NEWEST
    dims = ["N", "C", "H", "W"]
    made = model([node(name, ["x"], ["y"])], [floats("x", *dims)], ["y"], opset=version)
    result = analyze(made, table=without(name))
    assert result["y"] is Tensor(DType.FLOAT, Shape(dims))
    assert not codes(result)
    assert any("#0" in path for path in result.paths)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    ("attributes", "want"), [({}, "[N, 1]"), ({"keepdims": 0}, "[N]"), ({"keepdims": 1}, "[N, 1]")]
)
def test_defaults_of_the_schema_reach_its_body(name: str, attributes: dict[str, int], want: str) -> None:
    made = model([const("axes", [1]), node(name, ["x", "axes"], ["y"], **attributes)], [floats("x", "N", "M")], ["y"])
    result = analyze(made, table=without(name))
    assert shape(result, "y") == want == shape(analyze(made), "y")


def test_an_operator_without_rule_or_body_is_counted() -> None:
    made = model([node("Erf", ["x"], ["y"]), node("Relu", ["y"], ["z"])], [floats("x", "N")], ["z"])
    result = analyze(made, table=without("Erf"), schema_inference=False)
    assert str(result["y"]) == str(result["z"]) == "Tensor(FLOAT[*_s0])"
    assert dict(result.unruled) == {"Erf": 1}
    assert "no-rule" in codes(result)


# Order, names, subgraphs


def test_nodes_in_any_order() -> None:
    chain = [node("Concat", [f"v{i}", "x"], [f"v{i + 1}"], axis=0) for i in range(6)]
    made = model([*chain[::-1], node("Relu", ["x"], ["v0"])], [floats("x", "N")], ["v6"])
    result = analyze(made)
    assert shape(result, "v6") == "[7*N]"
    assert codes(result) == ["unsorted"]


def test_an_unsorted_node_that_only_a_branch_reads() -> None:
    choose = node(
        "If", ["flag"], ["y"],
        then_branch=branch([node("Relu", ["later"], ["a"])], untyped("a")),
        else_branch=branch([node("Neg", ["later"], ["b"])], untyped("b")),
    )  # fmt: skip
    made = model(
        [const("flag", True, bool), choose, node("Concat", ["x", "x"], ["later"], axis=0)], [floats("x", "N")], ["y"]
    )
    result = analyze(made)
    assert shape(result, "y") == "[2*N]"
    assert "unsorted" in codes(result)


def test_a_cycle_has_no_meaning() -> None:
    made = model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])], [floats("x", "N")], ["b"])
    with pytest.raises(ModelError, match=r"cycle through node .*acyclic"):
        analyze(made)


def test_a_cycle_inside_a_body() -> None:
    inner = loop_body(
        [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Identity", ["b"], ["x_next"])], ["x"]
    )
    made = model([const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=inner)], [floats("x0", "N")], ["y"])
    with pytest.raises(ModelError, match="cycle"):
        analyze(made)


def test_a_branch_sees_outer_names_and_may_shadow_none() -> None:
    """A name computed in one branch is not visible in the other, nor outside."""
    choose = node(
        "If", ["flag"], ["y"],
        then_branch=branch([node("Concat", ["x", "x"], ["t"], axis=0), node("Relu", ["t"], ["a"])], untyped("a")),
        else_branch=branch([node("Relu", ["t"], ["b"])], untyped("b")),
    )  # fmt: skip
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    result = analyze(model([choose], [floats("x", "N"), flag], ["y"]))
    assert "undefined-input" in codes(result)
    assert "t" not in result.values
    assert shape(result, "y") == "[*_s1]"


def test_initialisers_of_a_body() -> None:
    inner = loop_body([node("Reshape", ["x", "t"], ["x_next"])], ["x"])
    inner.initializer.append(numpy_helper.from_array(np.array([2, -1]), "t"))
    made = model([const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=inner)], [floats("x0", 2, "N")], ["y"])
    assert shape(checked(made, "N"), "y") == "[2, N]"


OWN = numpy_helper.from_array(np.ones(3, np.float32), "own")


def test_an_input_of_a_body_that_is_an_initialiser_is_not_given_by_the_node() -> None:
    grown = loop_body([node("Concat", ["x", "own"], ["x_next"], axis=0)], ["x"])
    taken = branch([node("Concat", ["a", "own"], ["t"], axis=0)], untyped("t"))
    scanned = body([node("Add", ["row", "own"], ["out"])], [floats("row")], [floats("out", 3)])
    for graph in (grown, taken, scanned):
        graph.input.append(floats("own", 3))
        graph.initializer.append(OWN)
    nodes = [
        const("m", 4),
        node("Loop", ["m", "", "x0"], ["a"], body=grown),
        node("If", ["flag"], ["b"], then_branch=taken, else_branch=branch([node("Relu", ["a"], ["e"])], untyped("e"))),
        node("Scan", ["b"], ["y"], body=scanned, num_scan_inputs=1),
    ]
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    result = checked(model(nodes, [floats("x0", "N"), flag], ["a", "b", "y"]), "N")
    assert (shape(result, "a"), shape(result, "y")) == ("[N + 12]", "[ite(flag, N + 15, N + 12), 3]")
    assert {d.code for d in result.diagnostics} == {"duplicate-initialiser"}


def test_a_loop_gives_its_value_to_an_input_that_has_one() -> None:
    """As documents have it; onnxruntime refuses the body, which then has an input less."""
    inner = loop_body([node("Relu", ["own"], ["own_next"])], ["own"])
    inner.initializer.append(OWN)
    made = model([const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=inner)], [floats("x0", "N")], ["y"])
    assert shape(analyze(made), "y") == "[N]"


def test_the_values_of_a_body_are_found_by_path() -> None:
    inner = loop_body([node("Relu", ["x"], ["s"])], scans=["s"])
    made = model([const("m", 3), node("Loop", ["m", ""], ["y"], body=inner, name="again")], [floats("x", "N")], ["y"])
    result = analyze(made)
    assert result.paths == ("again/body",)
    assert str(result.at("again/body").shapes["s"]) == "[N]"


EMPTY_BRANCHES = {"then_branch": branch([], untyped("x")), "else_branch": branch([])}
OWN_INPUT = body([], [floats("z", "N")], [untyped("z")])
MALFORMED = {
    "missing-attribute": node("If", ["m"], ["y"]),
    "loop-arity": node("Loop", ["m", "", "x"], ["y"], body=loop_body([])),
    "scan-arity": node("Scan", ["x"], ["y"], body=loop_body([]), num_scan_inputs=5),
    "branch-outputs": node("If", ["m"], ["y"], **EMPTY_BRANCHES),
    "branch-inputs": node("If", ["m"], ["y"], then_branch=OWN_INPUT, else_branch=branch([], untyped("x"))),
}


@pytest.mark.parametrize("code", MALFORMED)
def test_malformed_control_flow_is_reported(code: str) -> None:
    result = analyze(model([MALFORMED[code]], [ints("m"), floats("x", "N")], ["y"]))
    assert code in codes(result)
    assert result.shapes["y"].is_top


def nested_control(depth: int, kind: str) -> ModelProto:
    inner = [node("Relu", ["x"], ["y"])]
    for level in range(depth):
        last = "x" if kind == "If" else "v"
        if kind == "If":
            graph = branch([*inner, node("Identity", ["y"], [f"o{level}"])], untyped(f"o{level}"))
            inner = [
                node(
                    "If",
                    ["flag"],
                    ["y"],
                    then_branch=graph,
                    else_branch=branch([node("Neg", ["x"], [f"e{level}"])], untyped(f"e{level}")),
                )
            ]
        else:
            graph = loop_body([node("Concat", ["v", "w"], ["u"], axis=0) if level == 0 else inner[0]], ["v"])
            graph.node[-1].output[0] = "v_next"
            inner = [node("Loop", ["m", "", last], ["y"], body=graph)]
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    if kind == "If":
        return model(inner, [floats("x", "N"), flag], ["y"])
    inner[0].input[2] = "x"
    return model([const("m", 2), *inner], [floats("x", "N"), floats("w", 1)], ["y"])


@pytest.mark.parametrize(
    ("kind", "depth", "want"), [("If", 30, "[N]"), ("Loop", 3, "[N + 8]"), ("Loop", 25, "[N + 33554432]")]
)
def test_control_flow_nested_deep(kind: str, depth: int, want: str) -> None:
    started = time.process_time()
    result = analyze(nested_control(depth, kind))
    assert shape(result, "y") == want
    assert time.process_time() - started < 20
    result.verify()


def test_the_graph_is_a_networkx_graph_that_the_engine_can_run_again() -> None:
    made = nested_control(3, "Loop")
    result = analyze(made)
    again = fixpoint(result.graph, analyze(made).analysis)
    assert again.states == result.states
    assert all(u < len(result.nodes) and v < len(result.nodes) for u, v in result.graph.edges)


@pytest.mark.parametrize("order", [("", "other"), ("other", "")])
def test_an_overload_that_is_not_defined_is_an_operator_without_a_rule(order: tuple[str, str]) -> None:
    calls = [helper.make_node("F", ["x"], [f"y_{overload}"], domain="local", overload=overload) for overload in order]
    double = helper.make_function(
        "local",
        "F",
        ["a"],
        ["b"],
        [helper.make_node("Concat", ["a", "a"], ["b"], axis=0)],
        [helper.make_opsetid("", 20)],
    )
    x = helper.make_tensor_value_info("x", 1, ["N"])
    outputs = [helper.make_tensor_value_info(f"y_{overload}", 1, None) for overload in order]
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
    graph = helper.make_graph(calls, "g", [x], outputs)
    result = analyze(helper.make_model(graph, functions=[double], opset_imports=imports))
    assert str(result.shapes["y_"]) == "[2*N]"
    assert result.shapes["y_other"].is_top
    assert result.unruled == {"local::F": 1}


def test_of_constants_of_one_name_the_last_counts_for_all_readers() -> None:
    made = parsed(
        """(float[N] x) => (y, z) {
            s = Constant <value_ints = [2, 3]> ()
            y = Reshape(x, s)
            s = Constant <value_ints = [3, 2]> ()
            z = Reshape(x, s)
        }"""
    )
    result = analyze(made)
    ran = InferenceSession(made.SerializeToString()).run(None, {"x": np.zeros(6, np.float32)})
    assert [value.shape for value in ran] == [(3, 2), (3, 2)]
    assert [shape(result, name) for name in "yz"] == ["[3, 2]", "[3, 2]"]
    assert result.check({"N": 6}).outcome.value == "legal"
    assert codes(result) == ["duplicate-output"]


def test_constants_of_another_domain_are_no_constants() -> None:
    made = parsed("(float[N] x) => (float[N] y) { s = my.Constant() s = my.Constant() y = Relu(x) }")
    assert ("duplicate-output", Severity.ERROR) in [(d.code, d.severity) for d in analyze(made).diagnostics]
