"""Freeze with elements of inputs: the input becomes a constant, or stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, parser

import absint
from absint.cli import run
from absint.errors import UsageError
from absint.jobs.freezing.sizes import IllegalSizesError
from tests.absint.questions.answers.test_one_answer import WINDOWS
from tests.soundness.runs import ENGINE

BOTH = WINDOWS.replace("(float[1, 1, M] y)", "(float[1, 1, M] y, int64 sr, float f)").replace(
    "is16 = Equal", "f = Cast<to = 1>(sr) is16 = Equal"
)
TARGET = """<ir_version: 8, opset_import: ["": 18]> g (float[N, M] x, int64[2] to) => (float[] y) {
    y = Reshape(x, to) }"""
DECIDED = """<ir_version: 8, opset_import: ["": 18]> g (float[N] x, bool use) => (float[] y) {
    y = If(use) <then_branch = t () => (float[] a) { a = Neg(x) },
                 else_branch = e () => (float[] b) { b = Abs(x) }> }"""


def outputs(model: ModelProto, **feeds: object) -> list[object]:
    ok, found = ENGINE.run(model.SerializeToString(), {name: np.asarray(value) for name, value in feeds.items()})
    assert ok, found
    return list(found)


@pytest.mark.parametrize("version", [3, 8])
@pytest.mark.parametrize("text", [WINDOWS, BOTH])
def test_the_copy_gives_the_same_without_the_input(text: str, version: int) -> None:
    model = parser.parse_model(text)
    model.ir_version = version
    if version == 3:
        model.graph.input.extend(
            onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in model.graph.initializer
        )
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 20)
    for sr in (16000, 8000):
        frozen = absint.analyze(model).freeze({"N": 20, "sr": sr})
        assert frozen.removed == ("sr",)
        assert frozen.model is not None
        assert "sr" not in [info.name for info in frozen.model.graph.input]
        before, after = outputs(model, x=x, sr=sr), outputs(frozen.model, x=x)
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_the_input_stays_if_it_shall() -> None:
    frozen = absint.analyze(parser.parse_model(WINDOWS)).freeze({"N": 20, "sr": 16000}, keep_inputs=True)
    assert frozen.model is not None
    assert [info.name for info in frozen.model.graph.input] == ["x", "sr"]
    assert [node.op_type for node in frozen.model.graph.node] == ["Conv"]
    assert frozen.removed == ()


def test_truths_and_vectors() -> None:
    frozen = absint.analyze(parser.parse_model(DECIDED)).freeze({"use": 1})
    assert frozen.model is not None
    assert [node.op_type for node in frozen.model.graph.node] == ["Neg"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    frozen = absint.analyze(parser.parse_model(TARGET)).freeze({"N": 2, "M": 3, "to_0": 3, "to_1": -1})
    assert frozen.model is not None
    assert np.array_equal(outputs(frozen.model, x=x)[0], x.reshape(3, 2))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no value for 'to_1': give all elements of 'to', or none"):
        absint.analyze(parser.parse_model(TARGET)).freeze({"N": 2, "M": 3, "to_0": 3})


def test_illegal_values_name_the_nearest() -> None:
    with pytest.raises(IllegalSizesError, match="N >= 8 or sr != 16000"):
        absint.analyze(parser.parse_model(WINDOWS)).freeze({"N": 5, "sr": 16000})


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "o.onnx"
    onnx.save(parser.parse_model(TARGET), source)
    assert run(["freeze", str(source), "N=2", "M=3", "to=3,-1", "-o", str(target)]) == 0
    assert "  inputs        to is a constant" in capsys.readouterr().out
    assert [info.name for info in onnx.load(target).graph.input] == ["x"]
    assert run(["freeze", str(source), "N=2", "M=3", "to=3,-1", "--keep-inputs", "-o", str(target)]) == 0
    assert [info.name for info in onnx.load(target).graph.input] == ["x", "to"]
    assert run(["freeze", str(source), "N=2", "M=3", "to=4,2", "-o", str(target)]) == 1
    capsys.readouterr()
