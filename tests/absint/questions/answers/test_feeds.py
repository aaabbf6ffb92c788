"""`check --feeds FILE --run`: arrays of the file for computed values are compared with the run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from absint.cli import run

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N] X, int64[N] I) => (float[N] Z, int64[N] J) { Y = Neg(X) Z = Relu(Y) J = Abs(I) }"""
X = np.array([1, -2, -3], np.float32)
INDICES = np.array([1, -2, 3])
RIGHT = {"Y": -X, "Z": np.maximum(-X, 0), "J": abs(INDICES)}
NAN = np.array([0, np.nan, 3], np.float32)


def checked(tmp_path: Path, *options: str, **arrays: object) -> int:
    onnx.save(parser.parse_model(MODEL), tmp_path / "m.onnx")
    np.savez(tmp_path / "f.npz", X=X, I=INDICES, **arrays)  # type: ignore[arg-type]
    return run(["check", str(tmp_path / "m.onnx"), "--feeds", str(tmp_path / "f.npz"), "--run", *options])


@pytest.mark.parametrize("names", [["Z"], ["Y"], ["J"], ["Y", "Z", "J"]])
def test_what_the_run_computes_too_is_right(tmp_path: Path, names: list[str]) -> None:
    assert checked(tmp_path, **{name: RIGHT[name] for name in names}) == 0
    assert checked(tmp_path, "--values", **{name: RIGHT[name] for name in names}) == 0


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("Z", np.array([0, 2, 4], np.float32), "Z: 1 of 3 elements differ"),
        ("Z", NAN, "Z: 1 of 3 elements differ"),
        ("Z", np.zeros(4, np.float32), "Z: [4] in the file, [3] in the run"),
        ("Z", np.array([0, 2, 3], np.float64), "Z: float64 in the file, float32 in the run"),
        ("Y", np.zeros(3, np.float32), "Y: 3 of 3 elements differ"),
        ("J", np.array([1, 2, 4]), "J: 1 of 3 elements differ"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--values"]])
def test_an_array_that_the_run_contradicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, array: object, said: str, options: list[str]
) -> None:
    assert checked(tmp_path, *options, **{name: array}) == 1
    assert f"\nthe run computes something else\n  {said}\n" in capsys.readouterr().out
    assert checked(tmp_path, *options, "--format", "json", **{name: array}) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["ran"], found["differing"]) == (False, True, [said])


def test_rounding_is_no_difference(tmp_path: Path) -> None:
    assert checked(tmp_path, Z=RIGHT["Z"] * np.float32(1 + 1e-5)) == 0
