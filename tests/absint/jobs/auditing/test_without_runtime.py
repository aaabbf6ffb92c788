"""The verdicts without onnxruntime: the same, or one line that says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import absint
from absint.jobs.auditing import Audit, Judgement, declared, judge, runs as auditing_runs
from absint.jobs.auditing.runs import NOT_INSTALLED, Runs
from absint.lattices.text.sheets import rendered
from absint.show.audit import AUDIT, report, sarif
from tests.absint.jobs.auditing.models import LIE, model
from tests.absint.jobs.declared.test_false import CORNER, FALSE, RESIZE, TRUE
from tests.adversarial import MODELS

ROOT = Path(__file__).parents[4]
COUNTED = "(float[N] x) => (int64[1, N] y) {a = Exp(x) y = NonZero(a)}"
UNKNOWN = "(float[N] x) => (float[N] z) <float[N] y> {y = Concat<axis = 0>(x, x) z = com.microsoft.Nobody(x)}"
ADVERSARIAL = [name for name in MODELS if name.startswith("declarations-")]


@pytest.fixture
def uninstalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing_runs, "is_installed", lambda _: False)


def verdicts(proto: onnx.ModelProto | Path) -> dict[str, Judgement]:
    result = absint.analyze(proto)
    return {item.relation: item.judgement for item in judge(result, declared(result.model)).judged}


def audit(proto: onnx.ModelProto | Path) -> Audit:
    result = absint.analyze(proto)
    return judge(result, declared(result.model))


@pytest.mark.parametrize("text", [LIE, RESIZE, COUNTED, *(text for text, _ in FALSE if text != CORNER), *TRUE])
def test_the_verdicts_are_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = verdicts(model(text))
    monkeypatch.setattr(auditing_runs, "is_installed", lambda _: False)
    assert verdicts(model(text)) == with_it


def test_where_no_rule_promises_a_run_and_the_reference_fails_the_verdict_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ONNX forbids -1 beside a 0 that is kept; onnxruntime infers it."""
    with_it = audit(model(CORNER))
    assert [(item.relation, item.confirmed) for item in with_it.of(Judgement.REFUTED)] == [
        ("y[0] == N", True), ("z[0] == N", True)
    ]  # fmt: skip
    assert with_it.needs == ""
    monkeypatch.setattr(auditing_runs, "is_installed", lambda _: False)
    without = audit(model(CORNER))
    assert without.counts[Judgement.REFUTED] == 0
    left = without.of(Judgement.NOT_ENTAILED)
    assert [item.relation for item in left] == ["y[0] == N", "z[0] == N"]
    for item in left:
        (why,) = item.because
        assert why.startswith(f"a run at these sizes fails: {NOT_INSTALLED}; onnx.reference: ValueError: ")
    assert [item.relation for item in without.of(Judgement.PROVED)] == [
        item.relation for item in with_it.of(Judgement.PROVED)
    ]
    assert without.needs == f"2 claims need a run of the model: {NOT_INSTALLED}"


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_of_adversarial_models_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = verdicts(MODELS[name].model)
    monkeypatch.setattr(auditing_runs, "is_installed", lambda _: False)
    assert verdicts(MODELS[name].model) == with_it


@pytest.mark.parametrize("text", [LIE, FALSE[0][0]])
def test_where_nothing_can_be_run_complete_rules_refute(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing_runs, "is_installed", lambda _: False)
    monkeypatch.setattr(auditing_runs, "MAX_BYTES_BY_REFERENCE", 0)
    (item,) = (found := audit(model(text))).of(Judgement.REFUTED)
    assert not item.confirmed
    assert item.because == (f"by proof alone: the model cannot be run here: {NOT_INSTALLED}",)
    assert found.needs == ""


def test_what_needs_a_run_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing_runs, "is_installed", lambda _: False)
    monkeypatch.setattr(auditing_runs, "MAX_BYTES_BY_REFERENCE", 0)
    result = absint.analyze(model(COUNTED))
    found = judge(result, declared(result.model))
    assert found.counts[Judgement.NOT_ENTAILED] == 1
    assert found.needs == f"1 claim needs a run of the model: {NOT_INSTALLED}"
    assert found.needs in AUDIT.text([found])
    assert found.needs in sarif(result, [found])
    assert [line.text for line in rendered(report([found]))][1] == f"  {found.needs}"


def test_a_run_that_onnxruntime_refuses_is_not_outdone_by_rules() -> None:
    """It knows no such operator, and no rule promises a run."""
    found = audit(model(UNKNOWN))
    assert found.counts[Judgement.REFUTED] == 0
    assert found.needs == ""


def with_external_weights(path: Path) -> Path:
    proto = model("(float[N, 64] x) => (float[N, 64] y) {y = MatMul(x, w)}")
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((64, 32), np.float32), "w"))
    onnx.save(proto, path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return path / "m.onnx"


@pytest.mark.usefixtures("uninstalled")
def test_the_reference_reads_external_weights(tmp_path: Path) -> None:
    path = with_external_weights(tmp_path)
    result = absint.analyze(path)
    (run, *_) = Runs(result).at([{"N": 3}])
    assert run.shapes["y"] == [(3, 32)]
    (item,) = audit(path).of(Judgement.REFUTED)
    assert item.relation == "y[1] == 64"
    (tmp_path / "w.bin").unlink()
    runs = Runs(result)
    assert runs.at([{"N": 3}]) == []
    assert runs.failure.startswith(f"{NOT_INSTALLED}; onnx.reference: ")


@pytest.mark.usefixtures("uninstalled")
def test_a_reference_that_contradicts_the_analysis_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = absint.analyze(model(LIE))
    real = Runs._replies

    def wrong(self: Runs, feeds: object, reference: bool) -> object:
        replies = real(self, feeds, reference)  # type: ignore[arg-type]
        return [{**reply, "z": [(17,)]} if isinstance(reply, dict) else reply for reply in replies]

    monkeypatch.setattr(Runs, "_replies", wrong)
    assert Runs(result).at([{"N": 3}]) == []


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which onnxruntime cannot be imported."""
    folder = tmp_path_factory.mktemp("stub")
    (folder / "onnxruntime.py").write_text("raise ImportError('it is broken')\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


CASES: list[tuple[str, list[str], int, list[str]]] = [
    (LIE, ["audit"], 1, ["declared: 4 claims: 3 proved, 1 refuted", "  refuted  y[0] == N"]),
    (COUNTED, ["audit"], 0, ["declared: 3 claims: 2 proved, 1 not entailed"]),
    (LIE, ["audit", "--tool", "onnxruntime"], 3,
     ["onnxruntime {version}: 0 claims", "  failed: ImportError: it is broken"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "arguments", "code", "lines"), CASES)
def test_a_broken_installation(
    text: str, arguments: list[str], code: int, lines: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    from importlib.metadata import version

    onnx.save(model(text), tmp_path / "m.onnx")
    command = [sys.executable, "-m", "absint", arguments[0], "m.onnx", *arguments[1:]]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    expected = [line.format(version=version("onnxruntime")) for line in lines]
    assert done.stdout.splitlines()[: len(expected)] == expected
    assert "Traceback" not in done.stderr


def test_other_commands_say_so_in_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    onnx.save(model(LIE), tmp_path / "m.onnx")
    np.savez(tmp_path / "feeds.npz", x=np.zeros(3, np.float32))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "absint", *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    checked = run("check", "m.onnx", "--feeds", "feeds.npz", "--run")
    complaint = "absint: error: a run of the model needs onnxruntime, which cannot be imported: it is broken\n"
    assert (checked.returncode, checked.stdout, checked.stderr) == (2, "", complaint)
    proto = model(COUNTED)
    proto.graph.doc_string = " " * auditing_runs.MAX_BYTES_BY_REFERENCE
    (tmp_path / "models").mkdir()
    onnx.save(proto, tmp_path / "models" / "m.onnx")
    studied = run("study", "models", "--source", "declared")
    assert studied.returncode == 0, studied.stderr
    assert studied.stdout.splitlines()[-1] == (
        "1 open claim could not be run: onnxruntime cannot be imported: it is broken"
    )
