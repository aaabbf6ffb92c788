"""Nodes that are not of the form that the schema of their operator gives them: one line each, and it may fail."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

import absint
from absint.lattices.value import Tensor
from absint.program import instances
from absint.questions.sizes.outcomes import Outcome
from absint.transfer.op import Op
from absint.transfer.rule import rule
from tests.absint.model.typing.runtime import refusal

node = helper.make_node


def model(nodes: list[NodeProto], opset: int = 20) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, "N"]) for name in "xyz"]
    inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [1, 2, "N"]))
    outputs = [onnx.ValueInfoProto(name="out")]
    graph = helper.make_graph(nodes, "forms", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


NO_AXIS = "required attribute axis of Concat-13 is missing [ill-formed]"

ERRORS = {
    "required attribute": (
        lambda: model([node("Concat", ["x", "y"], ["out"], name="cat")]),
        [f'error: Concat cat (output "out"): {NO_AXIS}'],
    ),
    "required attribute, of each node": (
        lambda: model([node("Concat", ["x", "y"], ["a"], name="cat"), node("Concat", ["x", "a"], ["out"])]),
        [f'error: Concat cat (output "a"): {NO_AXIS}', f'error: Concat #1 (output "out"): {NO_AXIS}'],
    ),
    "too many inputs": (
        lambda: model([node("Relu", ["x", "y"], ["out"], name="relu")]),
        ['error: Relu relu (output "out"): Relu-14 must have 1 input, found 2 [ill-formed]'],
    ),
    "too many outputs": (
        lambda: model([node("Relu", ["x"], ["out", "more"], name="relu")]),
        ['error: Relu relu (output "out"): Relu-14 must have 1 output, found 2 [ill-formed]'],
    ),
    "more outputs than in another version": (
        lambda: model([node("MaxPool", ["w"], ["out", "more"], name="pool", kernel_shape=[1])], opset=7),
        ['error: MaxPool pool (output "out"): MaxPool-1 must have 1 output, found 2 [ill-formed]'],
    ),
    "required input that the newest version does not need": (
        lambda: model([node("Gemm", ["x", "y"], ["out"], name="gemm", transA=1)], opset=9),
        ['error: Gemm gemm (output "out"): Gemm-9 must have 3 inputs, found 2 [ill-formed]'],
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    build, expect = ERRORS[name]
    assert [str(d) for d in absint.analyze(build()).diagnostics] == expect


REFUSED = {
    "required input": (
        lambda: model([node("Add", ["x", ""], ["out"], name="add")]),
        'error: Add add (output "out"): required input B of Add-14 is missing [ill-formed]',
    ),
    "an operator of a later opset": (
        lambda: model([node("Gelu", ["x"], ["out"], name="gelu")], opset=19),
        'error: Gelu gelu (output "out"): opset 19 of ai.onnx has no Gelu [ill-formed]',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_runtimes_refuse(name: str) -> None:
    build, expect = REFUSED[name]
    result = absint.analyze(build())
    assert [str(d) for d in result.diagnostics] == [expect]
    assert result.check({"N": 2}).outcome is Outcome.ILLEGAL


NOTED: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "unknown attribute": (
        lambda: model([node("Relu", ["x"], ["out"], name="relu", alpha=1.0)]),
        "info: Relu relu: Relu-14 has no attribute alpha [node-form]",
    ),
    "attribute of another version": (
        lambda: model([node("Add", ["x", "y"], ["out"], name="add", broadcast=1)]),
        "info: Add add: Add-14 has no attribute broadcast [node-form]",
    ),
    "deprecated": (
        lambda: model([node("Scatter", ["x", "y", "z"], ["out"], name="scatter")], opset=12),
        "info: Scatter scatter: Scatter is deprecated in opset 12 of ai.onnx [node-form]",
    ),
}


OWN = {"LayerNormalization": (1, 9, 13, 16), "ThresholdedRelu": (1, 7, 9), "MeanVarianceNormalization": (1, 8)}
"""Operators that onnxruntime has in ONNX's domain at opsets before ONNX's own; its optimiser writes the first."""


@pytest.mark.parametrize(("op", "opset"), [(op, opset) for op, opsets in OWN.items() for opset in opsets])
def test_operators_that_onnxruntime_has_before_onnx(op: str, opset: int) -> None:
    def made(outputs: int) -> onnx.ModelProto:
        inputs = ["i", "v", "v"] if op == "LayerNormalization" else ["i"]
        built = model([node(op, inputs, ["out", *(f"o{at}" for at in range(1, outputs))])], opset=opset)
        del built.graph.input[:]
        sizes = {"i": ["N", 3, 4, 5], "v": [5]}
        built.graph.input.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, sizes[n]) for n in {*inputs})
        return built

    result = absint.analyze(made(1))
    assert not result.diagnostics
    assert str(result.shapes["out"]) == "[N, 3, 4, 5]"
    assert not refusal(made(1))
    (too_many,) = absint.analyze(made(4)).diagnostics
    assert str(too_many).endswith("found 4 [ill-formed]")
    assert refusal(made(4))


@pytest.mark.parametrize("name", NOTED)
def test_what_is_only_noted(name: str) -> None:
    build, expect = NOTED[name]
    assert expect in [str(d) for d in absint.analyze(build()).diagnostics]


def test_a_node_of_its_form_is_not_mentioned() -> None:
    nodes = [node("Concat", ["x", "y"], ["a"], axis=1), node("Clip", ["a", "", ""], ["out"])]
    assert not absint.analyze(model(nodes)).diagnostics


def test_a_rule_of_the_user_says_what_its_operator_takes() -> None:
    @rule("Relu", inputs="X Y")
    def relu(op: Op) -> Tensor:
        """X itself."""
        return op.tensor("X")

    made = model([node("Relu", ["x", "y"], ["out"], alpha=1.0)])
    found = absint.analyze(made, table=absint.TABLE.extended([relu])).diagnostics
    assert [d.code for d in found] == ["rule-replaced"]


def test_an_operator_that_is_newer_than_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    absint.purge()
    monkeypatch.setattr("absint.program.rules.lookup.NEWEST", {"": 12})
    monkeypatch.setattr("absint.program.instances._standard", instances._standard.__wrapped__)  # without its memory
    result = absint.analyze(model([node("Relu", ["x"], ["out"])]))
    assert [str(item) for item in result.diagnostics if item.code == "newer-operator"][:1] == [
        "warning: Relu: its meaning may have changed in opset 14, which is newer than its rule; it is not used "
        "[newer-operator]"
    ]
    assert "rule" not in str(result["out"])
