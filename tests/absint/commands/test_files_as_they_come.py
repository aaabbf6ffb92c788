"""Files as they circulate: without their weights, with initialisers as inputs, with sizes fixed that outputs name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, parser

from absint.cli import run


def external(*names: str) -> ModelProto:
    """x reshaped to each of some targets, which lie in files of their own."""
    targets = []
    for name in names:
        target = TensorProto(name=name, data_type=TensorProto.INT64, dims=[2], data_location=TensorProto.EXTERNAL)
        target.external_data.add(key="location", value=f"{name}.bin")
        targets.append(target)
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", name], [f"y_{name}"]) for name in names],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])],
        [helper.make_tensor_value_info(f"y_{name}", TensorProto.FLOAT, None) for name in names],
        targets,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


SAID = "external data in 'a.bin' and 1 more file: the file does not exist, so the elements in it are unknown"


def test_missing_external_data_of_small_tensors_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(external("a", "b"), "m.onnx")
    assert run(["analyze", "m.onnx"]) == 0
    said = capsys.readouterr()
    assert said.out.endswith(f"\n1 warning\n  {SAID} [external-data]\n")
    assert said.err == ""
    run(["check", "m.onnx", "N=2"])
    assert capsys.readouterr().err == f"absint: note: {SAID}\n"
    for name in "ab":
        Path(f"{name}.bin").write_bytes(np.array([-1, 3]).tobytes())
    assert run(["analyze", "m.onnx"]) == 0
    assert "warning" not in capsys.readouterr().out


def _info(tensor: TensorProto) -> tuple[str, int, list[int]]:
    return tensor.name, tensor.data_type, list(tensor.dims)


@pytest.mark.parametrize("command", ["check m.onnx N=2", "analyze m.onnx", "contract m.onnx"])
@pytest.mark.parametrize(
    ("initialiser", "body", "hangs"),
    [
        ("float[2] b = {1, 2}", "y = Add (x, b)", False),
        ("int64 one = {1}", "z = Identity (one)  y = Relu (x)", False),
        ("int64[2] to = {-1, 4}", "y = Reshape (x, to)", True),
        ("int64 one = {1}", "y = Gather (x, one)", True),
    ],
)
def test_the_note_about_defaults_stands_where_an_answer_hangs_on_them(
    command: str,
    initialiser: str,
    body: str,
    hangs: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[N, 2] x) => (y) <{initialiser}> {{ {body} }}'
    model = parser.parse_model(text)
    model.graph.input.append(helper.make_tensor_value_info(*_info(model.graph.initializer[0])))
    onnx.save(model, "m.onnx")
    assert run(command.split()) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("--defaults") == hangs


def test_an_output_that_the_author_declares_decides_between_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for declared, code in (("batch, 3", 0), ("a, b", 1), ("1, 3", 1)):
        text = f"""<ir_version: 8, opset_import: ["": 17]> g (float[batch, 3] x) => (float[{declared}] y)
            <int64[2] to = {{1, 3}}> {{ y = Reshape (x, to) }}"""
        onnx.save(parser.parse_model(text), "m.onnx")
        assert run(["dynamize", "m.onnx", "x[0]=rows", "--fix", "-o", "out.onnx", "--force"]) == code
        assert ("more than one reading" in capsys.readouterr().out) == (code == 1)
        if code == 0:
            x = np.arange(12, dtype=np.float32).reshape(4, 3)
            (y,) = onnxruntime.InferenceSession("out.onnx").run(None, {"x": x})
            assert np.array_equal(y, x)
