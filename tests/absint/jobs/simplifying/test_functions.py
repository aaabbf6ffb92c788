"""Functions of a model: they stay, or their nodes come in the place of their calls."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

import absint
from absint.cli import run
from absint.errors import UsageError
from absint.jobs.simplifying.simplify import compared
from tests.absint.jobs.simplifying.simplified import operators

HEAD = '<ir_version: 10, opset_import: ["": 18, "my": 1]> g '
CALLS = HEAD + "(float[N, M] x, float[K] z) => (float[a, b] y, float[c] w) { y = my.f(x)  w = my.f(z) }"
COPIES = '<domain: "my", opset_import: ["": 18]> f (x) => (y) { s = Shape(x)  r = Reshape(x, s)  y = Relu(r) }'
NAMED = '<domain: "my", opset_import: ["": 18]> Identity (x) => (y) { y = Neg(x) }'
OF_AXIS = """<domain: "my", opset_import: ["": 18]> f <k> (x) => (y) {
    s = Shape(x)  e = Expand(x, s)  y = Softmax<axis: int = @k>(e) }"""


def same(result: absint.Result, model: onnx.ModelProto) -> None:
    """Both run alike at all small sizes."""
    copy = absint.analyze(model)
    for sizes in product((0, 1, 2, 3), repeat=len(result.symbols)):
        difference, _ = compared(result, copy, dict(zip(result.symbols, sizes, strict=True)), isolated=False)
        assert not difference, sizes


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (CALLS + COPIES, ["Relu", "Relu"]),
        (HEAD + "(float[N, M] x) => (float[a, b] y) { q = my.Identity(x)  y = Relu(q) }" + NAMED, ["Neg", "Relu"]),
        (HEAD + "(float[N, M] x) => (float[a, b] y) { q = my.f<k=1>(x)  y = my.f<k=0>(q) }" + OF_AXIS, ["Softmax"] * 2),
    ],
)
def test_functions_stay_unless_they_are_inlined(text: str, left: list[str]) -> None:
    model = parser.parse_model(text)
    result = absint.analyze(model)
    kept, inlined = result.simplify().model, result.simplify(inline=True)
    assert kept is not None
    assert kept.functions == model.functions
    assert inlined.model is not None
    assert operators(inlined.model) == left
    assert not inlined.model.functions
    assert sum(inlined.operators.values()) == len(left)
    for copy in (kept, inlined.model):
        onnx.checker.check_model(copy)
        same(result, copy)
    again = absint.analyze(inlined.model).simplify(inline=True).model
    assert again == inlined.model


def test_weights_of_functions_go_with_their_nodes(tmp_path: Path) -> None:
    model = parser.parse_model(CALLS + COPIES.replace("y = Relu(r)", "v = Relu(r)  y = Add(v, k)"))
    weights = np.arange(1 << 12, dtype=np.float32)
    constant = helper.make_node("Constant", [], ["all"], value=numpy_helper.from_array(weights))
    largest = helper.make_node("ReduceMax", ["all"], ["k"], keepdims=0)
    nodes = [constant, largest, *model.functions[0].node]
    del model.functions[0].node[:]
    model.functions[0].node.extend(nodes)
    onnx.save(model, tmp_path / "m.onnx")
    result = absint.analyze(tmp_path / "m.onnx")
    result.simplify(path=tmp_path / "out.onnx", inline=True)
    copy = onnx.load(tmp_path / "out.onnx")
    assert operators(copy).count("ReduceMax") == 1
    assert np.array_equal(
        numpy_helper.to_array(copy.graph.node[operators(copy).index("Constant")].attribute[0].t), weights
    )
    same(result, copy)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parser.parse_model(CALLS + COPIES), "m.onnx")
    assert run(["simplify", "m.onnx", "-o", "out.onnx", "--inline"]) == 0
    assert "nodes         6 -> 2, constants not counted" in capsys.readouterr().out


def test_what_onnx_does_not_inline_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parser.parse_model(CALLS + COPIES)
    monkeypatch.setattr("absint.jobs.simplifying.simplify.inline_local_functions", lambda model: model)
    with pytest.raises(UsageError, match="onnx does not inline f: simplify without inlining"):
        absint.analyze(model).simplify(inline=True)
    other = parser.parse_model(CALLS + COPIES)
    del other.functions[:]
    other.graph.node[0].op_type = other.graph.node[1].op_type = "Shape"
    other.graph.node[0].domain = other.graph.node[1].domain = ""
    monkeypatch.setattr("absint.jobs.simplifying.simplify.inline_local_functions", lambda model: other)
    with pytest.raises(UsageError, match="not proved"):
        absint.analyze(model).simplify(inline=True)
