"""Initialisers that are graph inputs too: a caller may replace them, so their values are used only if asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import absint
from absint.cli import run
from absint.questions.sizes.outcomes import Outcome
from tests.models import parsed


def reshaped(declared: list[int | str | None] | None = None, ir_version: int = 8) -> ModelProto:
    """x reshaped to `target`, which the file gives as [-1, 3]; `declared` are the dims of its input."""
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6]),
        helper.make_tensor_value_info("target", TensorProto.INT64, [2] if declared is None else declared),
    ]
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "target"], ["y"]), helper.make_node("Neg", ["target"], ["z"])],
        "g",
        infos,
        [helper.make_tensor_value_info(name, kind, None) for name, kind in (("y", 1), ("z", 7))],
        [numpy_helper.from_array(np.array([-1, 3]), "target")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


def messages(result: absint.Result) -> list[str]:
    return [str(d) for d in result.diagnostics]


def test_values_are_unused_and_the_user_hears_of_it() -> None:
    result = absint.analyze(reshaped())
    assert [str(result.shapes[name]) for name in ("y", "z")] == ["[_d2, _d3]", "[2]"]
    assert messages(result) == [
        "warning: 1 initialiser: it is an input too, so a caller may replace its value and no size is computed from it "
        "('target'); --defaults (defaults=True) uses the file's [overridable-initialisers]"
    ]


def test_defaults_fix_them() -> None:
    result = absint.analyze(reshaped(), defaults=True)
    assert str(result.shapes["y"]) == "[2*N, 3]"
    assert messages(result) == [
        "info: 1 initialiser: it is an input too; its value in the file counts, as if no caller fed another one "
        "[overridable-initialisers]"
    ]


def test_before_ir_version_4_every_initialiser_is_an_input_and_none_can_be_replaced() -> None:
    result = absint.analyze(reshaped(ir_version=3))
    assert str(result.shapes["y"]) == "[2*N, 3]"
    assert messages(result) == []


def test_many_are_counted_and_a_few_named() -> None:
    model = reshaped()
    for number in range(4):
        model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.int64), f"k{number}"))
        model.graph.input.append(helper.make_tensor_value_info(f"k{number}", TensorProto.INT64, [1]))
    (message,) = messages(absint.analyze(model))
    assert message.startswith("warning: 5 initialisers: they are inputs too, so a caller may replace their values")
    assert "('target', 'k0', 'k1' and 2 more)" in message


def test_weights_are_no_loss() -> None:
    model = reshaped(ir_version=8)
    del model.graph.input[1]
    model.graph.initializer.append(numpy_helper.from_array(np.ones(4096, np.float32), "w"))
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4096]))
    (message,) = messages(absint.analyze(model))
    assert message.startswith("info: 1 initialiser: it is an input too, so a caller may replace its value")
    assert "--defaults" not in message


@pytest.mark.parametrize(
    ("declared", "shape", "fed"), [(["N"], "[_d0]", 5), ([None], "[_d0]", 1), ([2], "[2]", 2), ([], "[*_s0]", 2)]
)
def test_a_replacement_has_the_declared_shape_and_not_that_of_the_file(
    declared: list[int | str | None], shape: str, fed: int
) -> None:
    model = reshaped(declared)
    if not declared:
        model.graph.input[1].type.tensor_type.ClearField("shape")
    del model.graph.node[0], model.graph.output[0]
    assert str(absint.analyze(model).shapes["z"]) == shape
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {"x": np.zeros((1, 6), np.float32), "target": np.zeros(fed, np.int64)}
    assert session.run(None, feeds)[0].shape == (fed,)


def test_uses_of_one_replaceable_vector_agree() -> None:
    model = reshaped()
    model.graph.node.append(helper.make_node("ConstantOfShape", ["target"], ["a"]))
    model.graph.node.append(helper.make_node("ConstantOfShape", ["target"], ["b"]))
    result = absint.analyze(model)
    assert str(result.shapes["a"]) == str(result.shapes["b"]) == "[_d0, _d1]"


def test_a_replaced_value_is_a_broken_premise_of_defaults() -> None:
    result = absint.analyze(reshaped(), defaults=True)
    found = result.compare({"x": (1, 6), "target": np.array([3, 2])}, {"y": (3, 2)})
    assert [row.value for row in found.wrong if row.premise] == ["target", "target"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["analyze", "m.onnx", "--require", "shapes"], 0),
        (["prove", "m.onnx", "y[0] == 2*N"], 0),
        (["check", "m.onnx", "N=3"], 0),
        (["contract", "m.onnx"], 0),
        (["contract", "m.onnx", "--role", "all"], 0),
        (["explain", "m.onnx", "y[0]"], 0),
        (["cost", "m.onnx"], 0),
        (["equal", "m.onnx"], 0),
        (["audit", "m.onnx"], 0),
        (["annotate", "m.onnx", "-o", "out.onnx"], 0),
    ],
)
def test_every_command_takes_the_option(
    command: list[str], code: int, tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(str(tmp_path))
    onnx.save(reshaped(), "m.onnx")
    assert run([*command, "--defaults"]) == code
    assert "_d2" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        "check m.onnx N=3", "prove m.onnx y[0]==2*N", "contract m.onnx", "cost m.onnx", "explain m.onnx y[0]",
        "equal m.onnx", "freeze m.onnx N=2 -o out.onnx", "ranges m.onnx", "audit m.onnx", "analyze m.onnx",
        "annotate m.onnx -o out.onnx",
    ],
)  # fmt: skip
def test_every_command_names_the_option_once(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(reshaped(), "m.onnx")
    run(command.split())
    said = capsys.readouterr()
    assert (said.out + said.err).count("--defaults (defaults=True)") == 1


def test_a_sparse_initialiser_that_is_an_input_too_has_the_sizes_that_are_fed() -> None:
    made = parsed("(float[N] x, float[N] y) => (float[M] z) { z = Add(x, y) }")
    values = numpy_helper.from_array(np.ones(1, np.float32), "x")
    indices = numpy_helper.from_array(np.zeros(1, np.int64))
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    result = absint.analyze(made)
    assert list(result.inputs) == ["y"]
    session = onnxruntime.InferenceSession(made.SerializeToString())
    for size in (3, 5):
        feeds = {name: np.ones(size, np.float32) for name in "xy"}
        assert session.run(None, feeds)[0].shape == (size,)
        assert result.check({"N": size}).outcome is not Outcome.ILLEGAL
