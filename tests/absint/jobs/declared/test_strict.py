"""One meaning of strict: errors, and declarations that are false, wherever it is asked for."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from absint.jobs.auditing import Judgement, declared, judge
from tests.absint.jobs.auditing.models import model
from tests.absint.jobs.declared.test_false import FALSE, RESIZE, TRUE

LIES = [RESIZE, *(text for text, expected in FALSE if expected)]


@pytest.mark.parametrize("text", LIES)
def test_all_refuse_a_false_declaration(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model(text)
    with pytest.raises(absint.UsageError, match=r"\[false-declaration\]"):
        absint.analyze(proto, strict=True)
    result = absint.analyze(proto)
    assert result.can_run
    with pytest.raises(absint.UsageError, match="correct the model, or merge with 'refine' or 'override'"):
        result.annotate("strict")
    assert judge(result, declared(proto)).of(Judgement.REFUTED)
    monkeypatch.chdir(tmp_path)
    onnx.save(proto, "lie.onnx")
    assert run(["analyze", "lie.onnx"]) == 0
    assert run(["analyze", "lie.onnx", "--strict"]) == 1
    assert run(["annotate", "lie.onnx", "-o", "out.onnx", "--merge", "strict"]) == 2
    assert not Path("out.onnx").exists()
    assert run(["annotate", "lie.onnx", "-o", "out.onnx"]) == 0


@pytest.mark.parametrize("text", TRUE)
def test_none_refuses_what_may_be_true(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model(text)
    absint.analyze(proto, strict=True).annotate("strict")
    monkeypatch.chdir(tmp_path)
    onnx.save(proto, "model.onnx")
    assert run(["analyze", "model.onnx", "--strict"]) == 0
    assert run(["annotate", "model.onnx", "-o", "out.onnx", "--merge", "strict"]) == 0


def test_strict_names_the_first_and_counts_the_others() -> None:
    text = "(float[N] x) => (float[2] y, float[3] z) {y = Relu(x) z = Relu(y)}"
    with pytest.raises(absint.UsageError) as raised:
        absint.analyze(model(text), strict=True)
    assert str(raised.value) == (
        "warning: output 'y': declared [2], but it is [N]: false at N=1 [false-declaration] (and 1 more)"
    )


def test_an_error_goes_first() -> None:
    text = "(float[N, 3] x, float[4, 5] w) => (y, float[N, 7] z) {y = MatMul(x, w) z = Relu(x)}"
    with pytest.raises(absint.UsageError, match=r"^error: MatMul"):
        absint.analyze(model(text), strict=True)


def test_assumptions_count() -> None:
    text = "(float[N, 4] x) => (float[8, 4] z) {z = Relu(x)}"
    assert absint.analyze(model(text), assume=["N == 8"], strict=True).can_run


def test_sizes_are_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    onnx.save(model("(float[N] x) => (float[2] y) {y = Relu(x)}"), "lie.onnx")
    assert run(["analyze", "lie.onnx", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (found["code"], found["sizes"]) == ("false-declaration", {"N": 1})
