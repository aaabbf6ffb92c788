"""`absint diff`: exit codes, what it prints first, bad input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from tests.absint.jobs.diffing.models import PLANTED, model, reshaped

FREE = "(float[N, M] x) => (float[] y) { y = Relu(x) }"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "free": FREE,
        "other": FREE.replace("N", "batch"),
        "baked": reshaped("1, -1"),
        "target": reshaped("0, -1"),
        "found": "(float[N] x) => (int64[] y) { f = NonZero(x)  y = Transpose(f) }",
        "more": "(float[N] x) => (int64[] y) { a = Abs(x)  f = NonZero(a)  y = Transpose(f) }",
    }.items():
        onnx.save(model(text), f"{name}.onnx")
    Path("cut.onnx").write_bytes(Path("free.onnx").read_bytes()[:30])


@pytest.mark.parametrize(
    ("arguments", "code", "headline"),
    [
        ("free.onnx other.onnx", 0, "the same legal sizes and the same output shapes for all sizes (proved)"),
        ("target.onnx baked.onnx", 1, "changed: output y changed"),
        (
            "target.onnx baked.onnx --assume N==1",
            0,
            "the same legal sizes and the same output shapes for all sizes with N == 1 (proved)",
        ),
        ("found.onnx more.onnx", 3, "undecided: output y is not comparable"),
        ("found.onnx found.onnx", 0, "the same legal sizes and the same output shapes for all sizes (proved)"),
        ("target.onnx baked.onnx --evidence none", 1, "changed: output y changed"),
        (
            "free.onnx other.onnx --max-nodes 0",
            0,
            "the same legal sizes and the same output shapes for all sizes (proved); not all requirements are known",
        ),
        (
            "target.onnx baked.onnx --max-nodes 0 --evidence none",
            3,
            "undecided: legal sizes; output y is not comparable",
        ),
    ],
)
def test_the_answer_is_in_the_exit_code_and_the_first_line(
    arguments: str, code: int, headline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diff", *arguments.split()]) == code
    lines = capsys.readouterr().out.splitlines()
    first, second = arguments.split()[:2]
    assert [line.partition(":")[0] for line in lines[:2]] == [f"A  {first}", f"B  {second}"]
    assert lines[2:5] == ["", headline, ""]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("free.onnx nothere.onnx", "nothere.onnx does not exist"),
        ("cut.onnx free.onnx", "cut.onnx: not an ONNX model, or truncated (30 bytes do not parse as protobuf)"),
        ("- -", "standard input can be one of the models only"),
        ("free.onnx", "Missing argument 'B'. (see absint diff --help)"),
        (
            "free.onnx other.onnx --assume batch==1",
            "assumption batch==1: no input has a symbol 'batch'; the input symbols are: N, M",
        ),
        ("free.onnx other.onnx --seconds 0", "--seconds 0: expected a number above 0"),
    ],
)
def test_bad_input_is_one_line(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *arguments.split()]) == 2
    assert message in capsys.readouterr().err


def test_one_model_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(Path("other.onnx").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run(["diff", "free.onnx", "-", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["verdict"], found["symbols"]) == ("absint.diff/1", "same", {"batch": "N", "M": "M"})


@pytest.mark.parametrize("seconds", [1e-9, 1e-3, 0.05])
@pytest.mark.parametrize("name", ["positions fewer", "requirement removed", "stride of a Conv"])
def test_what_takes_too_long_is_undecided_and_never_the_same(name: str, seconds: float) -> None:
    first, second, verdict, _ = PLANTED[name]
    found = absint.diff(first, second, seconds=seconds, values=True, evidence="none")
    assert found.verdict in (verdict, "undecided"), str(found)


def test_inner_values_of_one_name() -> None:
    before = model("(float[N, M] x) => (float[] y) { a = Transpose(x)  b = Relu(x)  c = NonZero(x)  y = Relu(x) }")
    after = model("(float[K, M] x) => (float[] y) { a = Relu(x)  b = Relu(x)  c = Shape(x)  y = Relu(x) }")
    found = absint.diff(before, after, values=True)
    assert found.verdict == "same"
    assert [(v.name, v.before, v.after, v.at) for v in found.values or ()] == [
        ("a", "FLOAT [M, N]", "FLOAT [K, M]", {"N": 2, "M": 1}),
        ("c", "INT64 [2, _d0]", "INT64 [2]", None),
    ]
    assert "a: FLOAT [M, N] -> FLOAT [K, M], apart at N=2, M=1" in str(found)
    same = absint.diff(before, before, values=True)
    assert ", values, " in str(same).splitlines()[-1]


def test_rows_that_stay_apart_in_the_first_model_alone(capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(model("(float[N, 4] x) => (float[] y) { y = Softmax<axis = 1>(x) }"), "apart.onnx")
    onnx.save(model("(float[batch, 4] a) => (float[] y) { b = Relu(a)  y = Softmax<axis = 0>(b) }"), "mixed.onnx")
    assert run(["diff", "apart.onnx", "mixed.onnx"]) == 1  # an input is renamed
    told = capsys.readouterr().out
    assert "rows        along N they stay apart in A, and in B not, or not for certain" in told
    assert "  y: independent -> mixes: Softmax #1: rows of b (axis 0) meet; at batch=" in told
    (lost,) = absint.diff("apart.onnx", "mixed.onnx", evidence="none").rows
    assert (lost.name, lost.symbol, lost.verdict) == ("y", "N", "unknown")
    assert absint.diff("mixed.onnx", "apart.onnx").rows == ()
    assert run(["diff", "apart.onnx", "apart.onnx", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == []


def test_a_page_is_written_beside_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "free.onnx", "free.onnx", "--html", "diff.html"]) == 0
    assert "the same legal sizes" in capsys.readouterr().out
    page = Path("diff.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert "the same legal sizes and the same output shapes for all sizes" in page


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("missing/diff.html", "missing/diff.html cannot be written: missing is not a directory"),
        (".", ". is a directory"),
        ("free.onnx", "free.onnx is the model itself"),
        ("/dev/full", "/dev/full cannot be written: No space left on device"),
    ],
)
def test_a_page_that_cannot_be_written(target: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "free.onnx", "free.onnx", "--html", target]) == 2
    assert message in capsys.readouterr().err
