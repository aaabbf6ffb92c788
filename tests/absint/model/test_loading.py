"""Models that a loader refuses, for what no run has to meet: by semantics, as onnx's checker and onnxruntime do."""

from __future__ import annotations

from typing import Final

import onnx
import pytest
from onnx import ModelProto, parser

import absint
from absint.questions.sizes.outcomes import Outcome
from absint.solution.loading import load_errors
from tests.jobs.load_hunt import drafted, errors, refusal

HEAD: Final = '<ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[N] x, bool c, int64 m) => (float[P] y)'


def main(nodes: str) -> str:
    return f"{HEAD} {{ {nodes} }}"


def branch(nodes: str, *, before: str = "", condition: str = "c", output: str = "r") -> str:
    """A branch that is taken if `condition` holds."""
    then = f"then_branch = t () => (float[A] {output}) {{ {nodes} }}"
    return main(f"{before} y = If({condition})<{then}, else_branch = e () => (float[B] w) {{ w = Neg(x) }}>")


def dead(nodes: str) -> str:
    """A branch that no run takes."""
    return branch(nodes, before="f = Constant<value = bool {0}>()", condition="f")


def loop(nodes: str, inputs: str = "float[A] q", given: str = "m, c, x", outputs: str = "float[B] r") -> str:
    body = f"body = t (int64 i, bool k, {inputs}) => (bool k, {outputs}) {{ {nodes} }}"
    return main(f"z = Neg(x) y = Loop({given})<{body}>")


def function(body: str, call: str = "y = l.f(x)", imports: str = '"": 21', formals: str = "(a) => (b)") -> str:
    return f'{main(call)} <opset_import: [{imports}], domain: "l"> f {formals} {{ {body} }}'


def version(number: int) -> str:
    return f'<ir_version: {number}, opset_import: ["": 7]> g (float[N] x) => (float[N] y) {{ y = Neg(x) }}'


BOTH: Final = {
    "a branch computes an outer value": branch("z = Relu(x) r = Neg(z)", before="z = Neg(x)"),
    "a branch computes an input": branch("x = Relu(x)", output="x"),
    "a loop computes an outer value": loop("z = Relu(q)", outputs="float[B] z"),
    "a scan computes an outer value": main(
        "z = Neg(x) y = Scan<num_scan_inputs = 1, body = t (float q) => (float z) { z = Relu(q) }>(x)"
    ),
    "inputs of a body": loop("r = Relu(q)", "float[A] q, float[A] q", "m, c, x, x")
    .replace("y = Loop", "y, v = Loop")
    .replace("(bool k, float[B] r)", "(bool k, float[B] r, float[B] r)"),
    "initialisers of a branch": branch("r = Add(x, z)").replace(
        "(float[A] r) {", "(float[A] r) <float[1] z = {1}, float[1] z = {2}> {"
    ),
    "inputs of the graph": main("y = Neg(x)").replace("bool c", "bool x"),
    "an inner branch computes a value around it": branch(
        "z = Neg(x) r = If(c)<then_branch = u () => (float[A] p) { z = Relu(x) p = Neg(z) }, "
        "else_branch = v () => (float[A] o) { o = Neg(z) }>"
    ),
    "outputs of a function": function("b = Neg(a)", "y, v = l.f(x)", formals="(a) => (b, b)"),
    "a function's branch computes a value around it": function(
        "z = Neg(a) k = Constant<value = bool {1}>() b = If(k)<then_branch = t () => (float[A] z) { z = Relu(a) }, "
        "else_branch = e () => (float[B] w) { w = Neg(a) }>"
    ),
    "an attribute twice": main("y = Elu<alpha = 1.0, alpha = 2.0>(x)"),
    "an attribute twice in a branch": dead("r = Elu<alpha = 1.0, alpha = 2.0>(x)"),
    "an attribute of a call twice": function("b = Elu(a)", "y = l.f<al = 1.0, al = 2.0>(x)"),
    "an unknown attribute": dead("r = Neg<foo = 1>(x)"),
    "a function lacks an import": function("b = Neg(a)", imports='"l": 1'),
    "a function that is not called lacks an import": function("b = com.microsoft.Gelu(a)", "y = Neg(x)"),
    "an input is missing": dead('r = Add(x, "")'),
    "the condition is missing": branch("r = Neg(x)", condition='""'),
    "an output has no name": main('y = Neg(x) "" = Relu(x)'),
    "an optional output alone has a name": main('y = Neg(x) "", v = Dropout(x)'),
    "too few outputs": dead("k = Constant<value = int64[1] {1}>() r = TopK(x, k)"),
    "IR version 15": version(15),
    "IR version 99": version(99),
}

RUNTIME: Final = {
    "two nodes of one name": main("[n] z = Neg(x) [n] y = Neg(z)"),
    "two nodes of one name in a branch": branch("[n] z = Neg(x) [n] r = Neg(z)"),
    "two calls of one name": function("b = Neg(a)", "[n] z = l.f(x) [n] y = l.f(z)"),
    "too few outputs of a loop": loop("r = Relu(q) s = Neg(q)", outputs="float[B] r, float[B] s"),
    "an output of a loop has no name": loop("r = Relu(q) s = Neg(q)", outputs="float[B] r, float[B] s").replace(
        "y = Loop", 'y, "" = Loop'
    ),
    "a carried value is missing": loop("r = Relu(q)", given='m, c, ""'),
}

DOCUMENTS: Final = {
    "a function that is not called": function("b = Neg(a) b = Relu(a)", "y = Neg(x)"),
    "an attribute twice in a function": function("b = Elu<alpha = 1.0, alpha = 2.0>(a)"),
    "no import of ai.onnx.ml": main("v = ai.onnx.ml.Binarizer(x) y = Neg(x)"),
    "IR version 2": version(2),
}

STATIC: Final = {
    "in a branch": dead("r = Softmax<axis = 5>(x)"),
    "in a branch that some run takes": branch("r = Softmax<axis = 5>(x)"),
    "in a branch in a branch": dead(
        "r = If(c)<then_branch = u () => (float[A] p) { p = Softmax<axis = 5>(x) }, "
        "else_branch = v () => (float[A] o) { o = Neg(x) }>"
    ),
    "in a loop without a trip": main(
        'n = Constant<value = int64 {0}>() y = Loop(n, "", x)<body = t (int64 i, bool k, float[A] q) => '
        "(bool k, float[A] r) { r = Softmax<axis = 5>(x) }>"
    ),
    "in a map over nothing": main(
        "y = Neg(x) s = SequenceEmpty<dtype = 1>() "
        "u = SequenceMap<body = t (float[3] q) => (float[3] r) { r = Softmax<axis = 5>(q) }>(s)"
    ),
    "in a function": function(
        "b = Softmax<axis = 5>(a)",
        "f = Constant<value = bool {0}>() y = If(f)<then_branch = t () => (float[A] r) { r = l.f(x) }, "
        "else_branch = e () => (float[B] w) { w = Neg(x) }>",
    ),
    "sizes": dead(
        "a = Constant<value = float[2, 3] {1, 2, 3, 4, 5, 6}>() b = Constant<value = float[2] {1, 2}>() r = Add(a, b)"
    ),
    "an axis that is a constant outside": branch(
        "r = Unsqueeze(x, k)",
        before="f = Constant<value = bool {0}>() k = Constant<value = int64[1] {7}>()",
        condition="f",
    ),
    "an operator whose kernel runs": dead("a = Constant<value = float[2, 2] {1, 2, 3, 4}>() r = Conv(a, a)"),
}

LOADED: Final = {
    "a branch computes what stands below": main(
        "y = If(c)<then_branch = t () => (float[A] z) { z = Relu(x) }, "
        "else_branch = e () => (float[B] w) { w = Neg(x) }> z = Neg(x)"
    ),
    "both branches compute a name": branch("w = Relu(x)", output="w"),
    "a body has an input of an outer name": loop("r = Relu(z)", "float[A] z"),
    "one name in a graph and its branch": branch("[n] q = Neg(x) r = Neg(q)", before="[n] z = Neg(x)"),
    "a constant of the name of a node": main("[n] k = Constant<value = float {1}>() [n] y = Add(x, k)"),
    "elements that do not fit a Reshape": dead(
        "a = Constant<value = float[2, 3] {1, 2, 3, 4, 5, 6}>() k = Constant<value = int64[1] {5}>() r = Reshape(a, k)"
    ),
    "a size that no file tells": dead("r = MatMul(x, x)"),
    "a function that is not called": function("b = Softmax<axis = 5>(a)", "y = Neg(x)"),
    "an axis that a caller may replace": dead("r = Squeeze(x, k)")
    .replace("int64 m)", "int64 m, int64[1] k)")
    .replace("(float[P] y)", "(float[P] y) <int64[1] k = {5}>"),
    "IR version 14": version(14),
    "nodes in any order": main(
        "p = Max(k, k) v = Reshape(x, p) k = Constant<value = int64[1] {-1}>() u = Identity(x) "
        "y = Concat<axis = 0>(v, u)"
    ),
}


def is_refused_by_checker(model: ModelProto) -> bool:
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return True
    return False


def outcome(model: ModelProto, semantics: absint.Semantics) -> Outcome:
    result = absint.analyze(model, semantics=semantics)
    found = result.check(dict.fromkeys(result.symbols, 3)).outcome
    assert (
        bool(load_errors(result))
        is (found is Outcome.ILLEGAL)
        is any(d.severity is absint.Severity.ERROR for d in result.diagnostics)
    )
    return found


@pytest.mark.parametrize("name", BOTH)
def test_what_every_loader_refuses(name: str) -> None:
    model = parser.parse_model(BOTH[name])
    assert is_refused_by_checker(model)
    assert refusal(model)
    for semantics in ("onnx", "onnxruntime", "either"):
        assert outcome(model, semantics) is Outcome.ILLEGAL, semantics


@pytest.mark.parametrize("name", RUNTIME)
def test_what_onnxruntime_alone_refuses(name: str) -> None:
    model = parser.parse_model(RUNTIME[name])
    assert not is_refused_by_checker(model)
    assert refusal(model)
    assert outcome(model, "onnxruntime") is Outcome.ILLEGAL
    assert outcome(model, "either") is Outcome.LEGAL
    assert outcome(model, "onnx") is Outcome.RUNS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_the_checker_alone_refuses(name: str) -> None:
    model = parser.parse_model(DOCUMENTS[name])
    assert is_refused_by_checker(model)
    assert not refusal(model)
    assert outcome(model, "onnx") is Outcome.ILLEGAL
    assert outcome(model, "either") is Outcome.LEGAL
    assert outcome(model, "onnxruntime") is Outcome.RUNS


@pytest.mark.parametrize("name", STATIC)
def test_what_type_inference_refuses(name: str) -> None:
    model = parser.parse_model(STATIC[name])
    assert "Error]" in refusal(model)
    assert outcome(model, "onnxruntime") is Outcome.ILLEGAL
    assert outcome(model, "either") is Outcome.ILLEGAL


@pytest.mark.parametrize("name", LOADED)
def test_what_loads(name: str) -> None:
    model = parser.parse_model(LOADED[name])
    assert not refusal(model)
    for semantics in ("onnx", "onnxruntime", "either"):
        assert outcome(model, semantics) is not Outcome.ILLEGAL


def test_a_function_may_read_a_value_of_its_caller_in_onnxruntime_alone() -> None:
    model = parser.parse_model(function("b = Add(a, z)", "z = Neg(x) y = l.f(x)"))
    assert is_refused_by_checker(model)
    assert not refusal(model)
    assert outcome(model, "onnx") is Outcome.ILLEGAL
    assert outcome(model, "either") is outcome(model, "onnxruntime") is Outcome.LEGAL


@pytest.mark.parametrize("first", [0, 30, 60])
def test_no_random_node_is_refused_that_onnxruntime_loads(first: int) -> None:
    refused = 0
    for found in filter(None, map(drafted, range(first, first + 30))):
        name, model = found
        said = errors(model)
        refused += bool(said)
        assert not said or refusal(model), f"{name}: {said[0].reason}"
    assert refused


def test_a_constant_with_several_values_loads_in_onnxruntime() -> None:
    """It makes an initialiser of the first one."""
    model = parser.parse_model(dead("k = Constant<value_float = 1.0, value_int = 3>() r = Neg(x)"))
    for node in model.graph.node[1].attribute[0].g.node[:1]:
        assert [attribute.name for attribute in node.attribute] == ["value_float", "value_int"]
    assert not refusal(model)
    assert [bool(errors(model, semantics)) for semantics in ("onnx", "onnxruntime", "either")] == [True, False, False]
