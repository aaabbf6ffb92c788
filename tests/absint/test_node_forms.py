"""Nodes that are not of the form that the schema of their operator gives them: one line each, and doubt."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

import absint
from lattices.tensor import Tensor
from transfer.op import Op
from transfer.rule import transfer

node = helper.make_node


def model(nodes: list[NodeProto], opset: int = 20) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, "N"]) for name in "xyz"]
    inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [1, 2, "N"]))
    outputs = [onnx.ValueInfoProto(name="out")]
    graph = helper.make_graph(nodes, "forms", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


NO_AXIS = "warning: Concat cat: required attribute axis of Concat-13 is missing; runtimes refuse it [malformed-node]"

REFUSED = {
    "required attribute": (
        lambda: model([node("Concat", ["x", "y"], ["out"], name="cat")]),
        NO_AXIS,
    ),
    "required attribute, once for all nodes": (
        lambda: model([node("Concat", ["x", "y"], ["a"], name="cat"), node("Concat", ["x", "a"], ["out"])]),
        NO_AXIS,
    ),
    "too many inputs": (
        lambda: model([node("Relu", ["x", "y"], ["out"], name="relu")]),
        "warning: Relu relu: Relu-14 takes at most 1 input, found 2 [node]",
    ),
    "too many outputs": (
        lambda: model([node("Relu", ["x"], ["out", "more"], name="relu")]),
        "warning: Relu relu: it has 2 outputs and its rule names Y: the others are unknown [node]",
    ),
    "more outputs than in another version": (
        lambda: model([node("MaxPool", ["w"], ["out", "more"], name="pool", kernel_shape=[1])], opset=7),
        "warning: MaxPool pool: MaxPool-1 has at most 1 output, found 2 [node]",
    ),
    "required input": (
        lambda: model([node("Add", ["x", ""], ["out"], name="add")]),
        "warning: Add add: required input B is missing [node]",
    ),
    "an operator of a later opset": (
        lambda: model([node("Gelu", ["x"], ["out"], name="gelu")], opset=19),
        "warning: Gelu gelu: opset 19 of ai.onnx has no Gelu; runtimes refuse it [malformed-node]",
    ),
    "required input that the newest version does not need": (
        lambda: model([node("Gemm", ["x", "y"], ["out"], name="gemm", transA=1)], opset=9),
        "warning: Gemm gemm: required input C of Gemm-9 is missing [node]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_runtimes_refuse(name: str) -> None:
    build, expect = REFUSED[name]
    result = absint.analyze(build())
    assert [str(d) for d in result.diagnostics] == [expect]
    assert result.constraints.doubts


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


@pytest.mark.parametrize("name", NOTED)
def test_what_is_only_noted(name: str) -> None:
    build, expect = NOTED[name]
    assert expect in [str(d) for d in absint.analyze(build()).diagnostics]


def test_a_node_of_its_form_is_not_mentioned() -> None:
    nodes = [node("Concat", ["x", "y"], ["a"], axis=1), node("Clip", ["a", "", ""], ["out"])]
    assert not absint.analyze(model(nodes)).diagnostics


def test_a_rule_of_the_user_says_what_its_operator_takes() -> None:
    @transfer("Relu", inputs="X Y")
    def relu(op: Op) -> Tensor:
        """X itself."""
        return op.tensor("X")

    made = model([node("Relu", ["x", "y"], ["out"], alpha=1.0)])
    found = absint.analyze(made, table=absint.TABLE.extended([relu])).diagnostics
    assert [d.code for d in found] == ["rule-replaced"]


def test_an_operator_that_is_newer_than_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    absint.purge()
    monkeypatch.setattr("absint.lookup.NEWEST", {"": 12})
    result = absint.analyze(model([node("Relu", ["x"], ["out"])]))
    assert [str(item) for item in result.diagnostics if item.code == "newer-operator"][:1] == [
        "warning: Relu: its meaning may have changed in opset 14, which is newer than its rule; it is not used "
        "[newer-operator]"
    ]
    assert "rule" not in str(result["out"])
