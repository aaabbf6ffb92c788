"""Layouts at three old sizes, held against the author's model at other sizes: right or refused, and never wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import absint
from absint.jobs.dynamizing.dynamize import Dynamized
from tests.absint.jobs.dynamizing.layouts import LAYOUTS
from tests.absint.jobs.dynamizing.models import run

OTHERS = (1, 2, 4, 5)
UNDECIDED = {
    *((name, 1) for name in LAYOUTS.keys() - {"transformer", "channel_shuffle", "single_windows"}),
    ("video", 3),
}
"""Layouts and old sizes at which more than one reading remains if no axis of the output is named. At 1, the batch may
as well have multiplied the size of another axis. A batch of 3 videos of 3 images is averaged over one of them.
"""
SLOW = {("windows", 1), ("single_windows", 1), ("merged_heads", 1)}
"""Models of many readings: seconds each."""
CASES = [(name, old) for name in LAYOUTS for old in (1, 2, 3) if (name, old) not in SLOW]


def dynamized(name: str, old: int, path: Path, *, named: bool = False) -> Dynamized:
    axes = {"x": {0: "batch"}}
    if named:
        axes["y"] = {1 if name == "time_first" else 0: "batch"}
    return absint.dynamize(LAYOUTS[name](old), axes, path, fix=True)


def check(name: str, path: Path) -> None:
    """The copy gives what the author's model gives, at other sizes too."""
    copy = path.read_bytes()
    for size in OTHERS:
        truth = LAYOUTS[name](size)
        shape = [dim.dim_value for dim in truth.graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(size).standard_normal(shape).astype(np.float32)
        (expected,), (given,) = run(truth.SerializeToString(), {"x": x}), run(copy, {"x": x})
        assert given.shape == expected.shape, size
        np.testing.assert_allclose(given, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("name", "old"), CASES)
def test_right_or_refused(name: str, old: int, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.onnx"
    found = dynamized(name, old, path)
    if (name, old) in UNDECIDED:
        assert not path.exists()
        assert not found.fixed
        assert not found.is_free
        assert "more than one reading; the axis of an output may decide, as y[0]=batch" in found.refusal
        return
    assert found.is_free
    assert [(each.reason, each.differing) for each in found.rows.values()] == [("", ())]
    check(name, path)


@pytest.mark.parametrize(("name", "old"), [case for case in CASES if case in UNDECIDED])
def test_an_axis_of_the_output_decides(name: str, old: int, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.onnx"
    assert dynamized(name, old, path, named=True).is_free
    check(name, path)


def test_without_a_runtime_readings_that_only_runs_tell_apart_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of steps before the batch, 3 of each: shapes allow both orders."""
    monkeypatch.setattr("absint.jobs.dynamizing.stacked.is_installed", lambda _: False)
    path = tmp_path / "dynamic.onnx"
    found = dynamized("time_first", 3, path)
    assert not path.exists()
    assert [item.new for item in found.baked if item.is_open] == ["target[0] = batch or target[1] = batch"]
    assert dynamized("transformer", 2, path).is_free
    assert dynamized("transformer", 2, path).rows["batch"].reason == "onnxruntime is not installed"


def test_a_symbol_that_is_called_no_batch_gets_no_help_from_rows(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.onnx"
    found = absint.dynamize(LAYOUTS["time_first"](3), {"x": {0: "seq"}}, path, fix=True)
    assert not path.exists()
    assert found.rows == {}
    assert "more than one reading" in found.refusal
