"""Local functions that bear the name of an operator, or lie in a domain of ONNX: which of the two runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, parser

import absint
from absint.questions.sizes.checking import Outcome

TWICE = "(a) => (b) { b = Concat<axis = 0>(a, a) }"


def model(
    domain: str, op: str, version: int = 18, body: str = TWICE, overloads: tuple[str, str] = ("", "")
) -> ModelProto:
    """A call of the operator, and a function of its name that returns its input twice."""
    imports = f'["": {version}' + (f', "{domain}": 1]' if domain else "]")
    name = f"{domain}.{op}" if domain else op
    text = f"<ir_version: 10, opset_import: {imports}> g (float[N] x) => (float[M] y) {{ y = {name}(x) }}"
    made = parser.parse_model(f'{text} <domain: "{domain}", opset_import: ["": {version}]> {op} {body}')
    made.graph.node[0].overload, made.functions[0].overload = overloads
    return made


def inside(of_model: int, of_function: int, op: str) -> ModelProto:
    """The same call in a function that imports another version than the model."""
    text = f'<ir_version: 10, opset_import: ["": {of_model}, "my": 1]> g (float[N] x) => (float[M] y) {{ y = my.F(x) }}'
    text += f' <domain: "my", opset_import: ["": {of_function}]> F (a) => (b) {{ b = {op}(a) }}'
    return parser.parse_model(f'{text} <domain: "", opset_import: ["": {of_function}]> {op} {TWICE}')


OPERATOR, FUNCTION, REFUSED = 3, 6, None
MODELS = {
    "an operator of ONNX": (model("", "Relu"), OPERATOR),
    "an operator that a function defines": (model("", "Gelu", 20), OPERATOR),
    "an operator without a kernel": (model("", "Swish", 24), OPERATOR),
    "an operator of ONNX for ML": (model("ai.onnx.ml", "Binarizer"), OPERATOR),
    "an operator of onnxruntime": (model("com.microsoft", "QuickGelu"), OPERATOR),
    "with other inputs": (model("com.microsoft", "FusedMatMul"), REFUSED),
    "a control operator": (model("", "If"), REFUSED),
    "a deprecated operator": (model("", "Scatter"), REFUSED),
    "an operator of a later version": (model("", "Gelu", 18), REFUSED),
    "no operator, in the domain of ONNX": (model("", "Foo"), REFUSED),
    "no operator, in the domain for ML": (model("ai.onnx.ml", "Foo"), REFUSED),
    "no operator, in onnxruntime's domain": (model("com.microsoft", "Foo"), FUNCTION),
    "a preview, which onnxruntime lacks": (model("ai.onnx.preview", "FlexAttention"), FUNCTION),
    "in a domain of its own": (model("my", "Relu"), FUNCTION),
    "an overload": (model("", "Relu", overloads=("a", "a")), OPERATOR),
    "an overload in another domain": (model("my", "Foo", overloads=("a", "a")), FUNCTION),
    "another overload": (model("", "Relu", overloads=("", "a")), OPERATOR),
    "in a function": (inside(18, 18, "Relu"), OPERATOR),
    "in a function that imports a version before it": (inside(20, 18, "Gelu"), OPERATOR),
    "in a function that imports a version since it": (inside(18, 20, "Gelu"), REFUSED),
    "that calls the operator": (
        model("", "Relu", body="(a) => (b) { c = Relu(a) b = Concat<axis = 0>(c, c) }"), REFUSED
    ),
}  # fmt: skip


def size_of_run(made: ModelProto) -> int | None:
    """The length of the output in onnxruntime, for three elements; None if it refuses the model."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return int(session.run(None, {"x": np.ones(3, np.float32)})[0].shape[0])
    except Exception:
        return None


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_runs_what_is_written_here(name: str) -> None:
    made, length = MODELS[name]
    assert size_of_run(made) == length


@pytest.mark.parametrize("semantics", ["either", "onnxruntime"])
@pytest.mark.parametrize("name", MODELS)
def test_claims_are_those_of_the_run(name: str, semantics: Any) -> None:
    made, length = MODELS[name]
    result = absint.analyze(made, semantics=semantics)
    check = result.check({"N": 3})
    if length is REFUSED:
        assert check.outcome is not Outcome.RUNS
        return
    assert check.outcome is not Outcome.ILLEGAL
    shape = check.shapes["y"]
    is_sure = semantics == "onnxruntime" or (length == FUNCTION and "preview" not in name) or name == "another overload"
    assert shape == (length,) if is_sure else shape is None


def test_by_the_documents_runtimes_choose() -> None:
    for name in ("an operator of ONNX", "an operator of onnxruntime", "in a function"):
        result = absint.analyze(MODELS[name][0], semantics="onnx")
        assert result.shapes["y"].is_top
        assert "bears the name of this operator" in str(result.diagnostics[0])
        assert result.check({"N": 3}).outcome is Outcome.LEGAL
    for name in ("an operator of a later version", "no operator, in the domain of ONNX"):
        result = absint.analyze(MODELS[name][0], semantics="onnx")
        assert str(result.shapes["y"]) == "[2*N]"


def test_the_inputs_of_the_operator_count() -> None:
    """The function takes one input, the operator any number."""
    text = '<ir_version: 10, opset_import: ["": 18]> g (float[N] x) => (float[M] y) { y = Sum(x, x) }'
    made = parser.parse_model(f'{text} <domain: "", opset_import: ["": 18]> Sum {TWICE}')
    assert size_of_run(made) == OPERATOR
    assert str(absint.analyze(made, semantics="onnxruntime").shapes["y"]) == "[N]"
    assert not [d for d in absint.analyze(made).diagnostics if d.severity is absint.Severity.ERROR]


def test_a_function_that_calls_itself_is_refused_where_nobody_calls_it() -> None:
    text = '<ir_version: 10, opset_import: ["": 18, "my": 1]> g (float[N] x) => (float[M] y) { y = Neg(x) }'
    for body, is_legal in (("b = my.F(a)", False), ("b = my.G(a)", True)):
        made = parser.parse_model(f'{text} <domain: "my", opset_import: ["": 18, "my": 1]> F (a) => (b) {{ {body} }}')
        assert (size_of_run(made) is not None) == is_legal
        assert (absint.analyze(made).check({"N": 3}).outcome is Outcome.RUNS) == is_legal
