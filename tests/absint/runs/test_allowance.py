"""Runs of foreign models hold no more memory than they may, and say so when it is not enough."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.cli import run
from absint.runs.allowance import DEFAULT, VARIABLE, allowed, allowing, amount
from absint.runs.run import RunError, run as run_model


def greedy(gigabytes: float) -> onnx.ModelProto:
    """A model of a few hundred bytes whose run fills that much memory."""
    count = int(gigabytes * (1 << 30)) // 4
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["many"]),
        helper.make_node("ReduceSum", ["many"], ["sum"], keepdims=0),
        helper.make_node("Add", ["X", "sum"], ["Y"]),
    ]
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N"])
    y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["N"])
    size = helper.make_tensor("size", TensorProto.INT64, [1], [count])
    graph = helper.make_graph(nodes, "g", [x], [y], [size])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def test_a_run_that_needs_more_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "600MB")
    result = absint.analyze(greedy(0.7))
    with pytest.raises(RunError, match=r"^it needs more than 600 MB of memory \(--memory or ABSINT_RUN_MEMORY allows"):
        run_model(result, {"X": np.ones(2, np.float32)}, isolated=True)


def test_a_run_that_needs_less_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1 GB")
    found = run_model(absint.analyze(greedy(0.1)), {"X": np.ones(2, np.float32)}, isolated=True)
    assert found["Y"].tolist() == [1, 1]  # type: ignore[union-attr]


def test_more_than_the_usual_limit() -> None:
    """300 bytes that take 4.9 GB."""
    model = greedy(4.9)
    assert model.ByteSize() < 300
    with pytest.raises(RunError, match=r"^it needs more than 4 GB of memory"):
        run_model(absint.analyze(model), {"X": np.ones(2, np.float32)}, isolated=True)


@pytest.mark.parametrize(
    "command", [["check", "N=1", "--run"], ["audit"], ["prove", "Y[0] != 1", "--confirm"]], ids=lambda c: c[0]
)
def test_commands_limit_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    path = tmp_path / "m.onnx"
    proto = greedy(0.7)
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 5
    path.write_bytes(proto.SerializeToString())
    name, *rest = command
    if "--run" in rest:
        np.savez(tmp_path / "feeds.npz", X=np.ones(1, np.float32))
        rest = ["--feeds", str(tmp_path / "feeds.npz"), "--run"]
    code = run([name, str(path), *rest, "--run-memory", "600MB"])
    said = capsys.readouterr()
    assert code in (0, 1, 2, 3)
    assert "it needs more than 600 MB of memory" in said.out + said.err
    assert VARIABLE not in os.environ


def test_amounts() -> None:
    assert [amount(text, "x") for text in ("8GB", "8 gib", "0.5G", "512M", "1073741824")] == [
        8 << 30, 8 << 30, 1 << 29, 1 << 29, 1 << 30,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "8 apples", "-1GB", "1KB", "nan", "1e99GB", "GB"])
def test_what_is_no_amount(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(absint.UsageError, match=r"expected an amount of memory, 256 MB or more, as 8GB$"),
        allowing(text),
    ):
        pass
    monkeypatch.setenv(VARIABLE, text)
    if text:
        with pytest.raises(absint.UsageError, match=f"^{VARIABLE} "):
            allowed()
    else:
        assert allowed() == DEFAULT
