"""The corpus that anyone can rebuild: what is recorded of it, and the digest of structures."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper

EXAMPLES = Path(__file__).parents[1] / "examples"
RECORDED = json.loads((EXAMPLES / "architectures" / "digests.json").read_text("utf-8"))

TEXT = """
<ir_version: 10, opset_import: ["": 18]>
graph (float[N, 4] x, bool c) => (float[N, M] y)
<float[2, 2] w = {0, 0, 0, 0}, int64[1] three = {3}, float[1] scale = {1}>
{
    h = MatMul (x, w)
    y = If (c) <
        then_branch = g () => (float[N, M] a) { a = Relu(h) },
        else_branch = g () => (float[N, M] b) {
            k = Constant <value = int64[1] {1}> ()
            b = Softmax <axis = 1> (h)
        }
    >
}
"""


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModelProto], str]:
    monkeypatch.syspath_prepend(EXAMPLES / "architectures")
    import structure

    monkeypatch.delitem(sys.modules, "structure")
    return structure.digest


def test_weights_names_and_places_do_not_count(digest: Callable[[ModelProto], str], tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TEXT)
    before = digest(model)
    weight = np.random.default_rng(0).random((2, 2), np.float32)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "w"))
    model.graph.node[0].name, model.graph.name, model.doc_string = "a node", "a graph", "a text"
    model.producer_name, model.ir_version = "somebody", 9
    model.metadata_props.add(key="where", value="here")
    assert digest(model) == before
    for name in ("one", "two"):
        onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
        model = onnx.load(tmp_path / "m.onnx")
        assert digest(model) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("MatMul (x, w)", "MatMul (x, x)"),
        ("MatMul", "Gemm"),
        ("axis = 1", "axis = 0"),
        ("three = {3}", "three = {4}"),
        ("Relu(h)", "Tanh(h)"),
        ("Constant <value = int64[1] {1}>", "Constant <value = int64[1] {2}>"),
        ("float[N, 4] x", "float[N, K] x"),
        ("float[N, M] y", "float[N, 6] y"),
        ('"": 18', '"": 17'),
        ("float[1] scale = {1}", "float[2] scale = {1, 1}"),
        ("float[1] scale", "double[1] scale"),
    ],
)
def test_the_structure_counts(digest: Callable[[ModelProto], str], old: str, new: str) -> None:
    assert old in TEXT
    assert digest(onnx.parser.parse_model(TEXT.replace(old, new, 1))) != digest(onnx.parser.parse_model(TEXT))


def test_what_is_recorded() -> None:
    models = RECORDED["models"]
    assert len(models) >= 60
    assert {name.rpartition(".")[2] for name in models} == {"torchscript", "dynamo"}
    assert all(re.fullmatch("[0-9a-f]{64}", found["sha256"]) and found["nodes"] for found in models.values())
    assert len({found["sha256"] for found in models.values()}) == len(models)
    pinned = (EXAMPLES / "architectures" / "requirements.txt").read_text("utf-8").split()
    versions = dict(line.split("==") for line in pinned)
    assert RECORDED["versions"].items() <= versions.items()


def test_every_architecture_is_recorded() -> None:
    """Names in the source are those of the record, without exporters."""
    written = set()
    for path in (EXAMPLES / "architectures").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                first = call.args[0]
                if call.func.id in ("model", "causal", "pair", "Architecture") and isinstance(first, ast.Constant):
                    written.add(first.value)
    assert written == {name.rpartition(".")[0] for name in RECORDED["models"]}
