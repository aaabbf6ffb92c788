"""Shapes on the values of onnx_ir models, written by `Result.annotate_ir` and as a pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx_ir
import pytest
from onnx import ModelProto, parser
from onnx_ir.passes.common import CommonSubexpressionEliminationPass

import absint
import absint.ir
from tests.absint.model.test_onnx_ir import made_lazy
from tests.adversarial import MODELS
from tests.models import parsed
from tests.real_models import PATHS


def graphs(graph: onnx_ir.Graph) -> Iterator[onnx_ir.Graph]:
    yield graph
    for node in graph:
        for attribute in node.attributes.values():
            if attribute.type == onnx_ir.AttributeType.GRAPH:
                yield from graphs(attribute.as_graph())


def typed(graph: onnx_ir.Graph) -> dict[str, tuple[object, object]]:
    """The types and shapes of named values that nodes compute."""
    values = (value for node in graph for value in node.outputs)
    return {value.name: (value.type, value.shape) for value in values if value.name}


def agrees(model: ModelProto) -> None:
    """The pass gives values the types that `annotate` writes into the file."""
    ir = made_lazy(model)
    done = absint.ir.ShapeInferencePass()(ir)
    expected = onnx_ir.from_proto(absint.analyze(model).annotate(dialect="onnx-shape-inference"))
    for found, wanted in zip(graphs(ir.graph), graphs(expected.graph), strict=True):
        assert typed(found) == typed(wanted)
    assert ir.metadata_props == expected.metadata_props
    assert not absint.ir.ShapeInferencePass()(ir).modified
    assert done.model is ir


@pytest.mark.parametrize("name", MODELS)
def test_adversarial_models(name: str) -> None:
    agrees(MODELS[name].model)


@pytest.mark.parametrize("path", PATHS[:12], ids=lambda path: path.stem)
def test_real_models(path: Path) -> None:
    agrees(onnx.load(path))


def small() -> onnx_ir.Model:
    return onnx_ir.from_proto(
        parsed("""(float[N, 4] x) => (float[unk, 8] out) { y = Concat<axis = 1>(x, x) out = Relu(y) }""")
    )


def test_shapes_are_expressions_that_onnx_ir_computes_with() -> None:
    model = small()
    node = model.graph[0]
    double = onnx_ir.node("Concat", [node.outputs[0], node.outputs[0]], {"axis": 0}, name="double")
    model.graph.append(double)
    double.outputs[0].name = "double"

    done = absint.ir.ShapeInferencePass()(model)

    assert done.modified
    shape = double.outputs[0].shape
    assert shape is not None
    assert shape == onnx_ir.Shape(["2*N", 8])
    assert isinstance(shape[0], onnx_ir.SymbolicDim)
    assert shape[0].evaluate({"N": 5}) == 10
    assert model.graph.outputs[0].shape == onnx_ir.Shape(["N", 8])


def test_the_model_must_be_the_analysed_one() -> None:
    model = small()
    result = absint.analyze(model)
    model.graph.remove(model.graph[1], safe=False)
    with pytest.raises(absint.UsageError, match="not the one that was analysed: analyze it again"):
        result.annotate_ir(model)


def test_a_strict_pass_refuses_a_model_that_cannot_run() -> None:
    model = onnx_ir.from_proto(parsed("""(float[3] x, float[4] y) => (float[K] out) { out = Add(x, y) }"""))
    with pytest.raises(absint.UsageError, match="can never run"):
        absint.ir.ShapeInferencePass(strict=True)(model)


def test_it_stands_in_a_sequence_of_passes() -> None:
    model = small()
    passes = onnx_ir.passes.Sequential(CommonSubexpressionEliminationPass(), absint.ir.ShapeInferencePass())
    assert passes(model).modified
    assert model.graph.outputs[0].shape == onnx_ir.Shape(["N", 8])


def test_a_pass_that_simplifies() -> None:
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[N, M] x) => (float[N, M] y) {
        shape = Shape(x)  z = Expand(x, shape)  y = Relu(z) }"""
    given = onnx_ir.from_proto(parser.parse_model(text))
    done = absint.ir.SimplifyPass()(given)
    assert done.modified
    assert [node.op_type for node in done.model.graph] == ["Relu"]
    assert [node.op_type for node in given.graph] == ["Shape", "Expand", "Relu"]
    assert not absint.ir.SimplifyPass()(done.model).modified
