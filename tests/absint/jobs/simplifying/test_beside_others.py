"""What other tools leave, and what they find in a simplified model."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import absint
from absint.jobs.simplifying.simplify import operators, shape_nodes
from tests.real_models import EXAMPLES

Counts = tuple[int, int]


def counts(model: onnx.ModelProto) -> Counts:
    """Nodes, and those that compute sizes."""
    return sum(operators(model).values()), len(shape_nodes(model))


def simplified(model: onnx.ModelProto | Path) -> onnx.ModelProto:
    found = absint.analyze(model).simplify().model
    assert found is not None
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_optimiser_of_onnxscript_finds_nothing_about_shapes_and_leaves_much(path: Path) -> None:
    optimizer = pytest.importorskip("onnxscript.optimizer")
    ours = simplified(path)
    assert counts(optimizer.optimize(ours)) == counts(ours)
    theirs = optimizer.optimize(onnx.load(path))
    assert counts(simplified(theirs)) == counts(ours)
    assert counts(theirs) > counts(ours)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_the_basic_level_of_onnxruntime_leaves_is_found(path: Path, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(tmp_path / "theirs.onnx")
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    theirs = onnx.load(tmp_path / "theirs.onnx")
    nodes, shapes = counts(simplified(theirs))
    assert shapes == counts(simplified(path))[1] <= counts(theirs)[1] / 4
    assert nodes < counts(theirs)[0] * 3 / 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_second_run_changes_no_byte(path: Path, tmp_path: Path) -> None:
    for source, target in ((path, "once.onnx"), (tmp_path / "once.onnx", "twice.onnx")):
        absint.analyze(source).simplify(path=tmp_path / target)
    assert (tmp_path / "once.onnx").read_bytes() == (tmp_path / "twice.onnx").read_bytes()
