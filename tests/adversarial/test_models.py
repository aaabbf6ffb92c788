"""The adversarial set: every claim of the analysis against runs at the recorded sizes."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from absint import analyze
from tests.adversarial import MODELS
from tests.adversarial.__main__ import main
from tests.adversarial.case import sizes
from tests.runs import Runs


@pytest.mark.parametrize("name", MODELS)
def test_claims_hold_in_every_run(name: str) -> None:
    model = MODELS[name]
    result = analyze(model.model)
    assert set(result.symbols) == set(model.bindings[0])
    for data in model.data:
        Runs(model.model, result, data).check(*model.bindings)


def test_the_set_is_large_and_small_at_once() -> None:
    assert len({model.text for model in MODELS.values()}) >= 150
    assert all(len(model.model.SerializeToString()) < 1500 for model in MODELS.values())


def test_written_to_a_folder(tmp_path: Path) -> None:
    assert main([str(tmp_path / "set")]) == 0
    recorded = json.loads((tmp_path / "set" / "sizes.json").read_text("utf-8"))
    files = {file.stem for file in (tmp_path / "set").glob("*.onnx")}
    assert files == set(recorded)
    assert set(MODELS) < files
    for name in MODELS:
        assert onnx.load(tmp_path / "set" / f"{name}.onnx") == MODELS[name].model
        assert recorded[name]["theme"] == name.partition("-")[0]
        assert recorded[name]["sizes"] == list(MODELS[name].bindings)
    assert recorded["loops-shrinks"]["data"] == [{"m": 0}, {"m": 1}, {"m": 3}, {"m": -2}]


def test_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_table_of_sizes() -> None:
    assert sizes("N M: 0 1, 5 5") == [{"N": 0, "M": 1}, {"N": 5, "M": 5}]
    assert sizes(":") == [{}]
