"""Runs of the model as evidence, where the rules do not show that sizes run."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, parser

import absint
from absint import UsageError
from absint.cli import run
from absint.questions.proofs import evidence
from tests.models import parsed

GATHERED = """<ir_version: 10, opset_import: ["": 18]>
graph (float[N, 3] x, float[K, 2] i) => (float[K, 3] y) {
    p = Softmax(i)
    j = ArgMax<axis = 1, keepdims = 0>(p)
    y = Gather(x, j)
}"""
"""No rule knows where the indices lie."""

FAILING = """<ir_version: 10, opset_import: ["": 18]>
graph (float[N] x, int64[K] i) => (float[K] y) {
    far = Constant<value_ints = [1000000]>()
    j = Add(i, far)
    y = Gather(x, j)
}"""


@pytest.fixture
def result() -> absint.Result:
    return absint.analyze(parser.parse_model(GATHERED))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The runs that are made."""
    from absint.runs import run as running

    made: list[object] = []
    original = running.sizes_at

    def noted(*arguments: object, **options: object) -> object:
        made.append(arguments[1])
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "sizes_at", noted)
    return made


def test_a_run_refutes_what_the_rules_leave_open(result: absint.Result) -> None:
    assert result.prove("N == 7", evidence="none").verdict.value == "not entailed"
    proof = result.prove("y[0] == x[0]")
    assert proof.verdict.value == "refuted"
    assert (proof.evidence, proof.confirmed) == ("run", False)
    assert proof.counterexample is not None
    assert proof.counterexample["K"] != proof.counterexample["N"]
    assert str(proof).endswith(" (a run of the model shows it)")


def test_without_evidence_nothing_is_run(result: absint.Result, runs: list[object]) -> None:
    proof = result.prove("y[0] == x[0]", evidence="none")
    assert proof.verdict.value == "not entailed"
    assert proof.evidence == ""
    assert "every index must lie within the axis" in proof.reason
    assert not runs


def test_what_the_rules_settle_is_not_run(runs: list[object]) -> None:
    model = parsed("(float[N] x) => (float[N] y) {y = Relu(x)}")
    proof = absint.analyze(model).prove("y[0] >= 2")
    assert (proof.verdict.value, proof.evidence) == ("refuted", "rules")
    assert absint.analyze(model).prove("y[0] == x[0]").verdict.value == "proved"
    assert not runs


def test_sizes_that_ran_answer_further_queries(result: absint.Result, runs: list[object]) -> None:
    assert result.prove("y[0] == x[0]").evidence == "run"
    count = len(runs)
    again = result.prove("K == N")
    assert (again.verdict.value, again.evidence, again.tier) == ("refuted", "run", "evaluation")
    assert len(runs) == count
    assert result.prove("K == N", evidence="none").verdict.value == "not entailed"


def test_a_run_that_fails_refutes_nothing(runs: list[object]) -> None:
    proof = absint.analyze(parser.parse_model(FAILING)).prove("N == 3")
    assert proof.verdict.value == "not entailed"
    assert "a run at these sizes fails: onnxruntime: Gather" in proof.reason
    assert 1 <= len(runs) <= evidence.MOST_RUNS


def test_a_model_that_never_runs_is_left_alone(runs: list[object]) -> None:
    failing = absint.analyze(parser.parse_model(FAILING))
    for number in range(2, 9):
        proof = failing.prove(f"N == {number}")
    assert len(runs) <= evidence.MOST_FAILURES + evidence.MOST_RUNS
    assert "no run of the model succeeded so far" in proof.reason


def test_external_data_may_be_missing(tmp_path: Path) -> None:
    model = parser.parse_model(GATHERED.replace("y = G", "z = G"))
    model.graph.node.add(op_type="Add", input=["z", "w"], output=["y"])
    weight = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=1)
    weight.external_data.add(key="location", value="absent.bin")
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    proof = absint.analyze(path).prove("y[0] == x[0]")
    assert proof.verdict.value == "not entailed"
    assert "a run at these sizes fails: onnxruntime: " in proof.reason
    assert "absent.bin" in proof.reason


def test_a_run_has_the_time_that_is_left(result: absint.Result, runs: list[object]) -> None:
    proof = result.prove("y[0] == x[0]", seconds=0.4)
    assert proof.verdict.value == "not entailed"
    assert "there is no time left for a run" in proof.reason
    assert not runs


def test_large_inputs_are_not_made(result: absint.Result, runs: list[object]) -> None:
    proof = result.prove("x[0] <= 2000000")
    assert proof.verdict.value == "not entailed"
    assert "the inputs are too large to be made for a run" in proof.reason
    assert not runs


def test_data_decided_sizes_stay_open() -> None:
    text = '<ir_version: 10, opset_import: ["": 18]> graph (float[N] x) => (int64[1, K] y) {y = NonZero(x)}'
    proof = absint.analyze(parser.parse_model(text)).prove("y[1] == 1")
    assert (proof.verdict.value, proof.reason) == ("not entailed", "it rests on data-dependent sizes")


@pytest.mark.parametrize(
    ("choice", "installed", "message"),
    [
        ("sometimes", True, "evidence='sometimes': it is 'run' or 'none'"),
        ("run", False, "evidence='run' needs onnxruntime: pip install 'absint[run]'"),
    ],
)
def test_bad_choices(
    result: absint.Result, monkeypatch: pytest.MonkeyPatch, choice: str, installed: bool, message: str
) -> None:
    if not installed:
        monkeypatch.setattr(evidence, "is_installed", lambda name: False)
    with pytest.raises(UsageError) as caught:
        result.prove("N == 1", evidence=choice)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_confirmation_without_onnxruntime(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evidence, "is_installed", lambda name: False)
    assert run(["prove", path, "N == 1", "--confirm"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "absint: error: confirm=True (--confirm) needs onnxruntime: pip install 'absint[run]'\n"


def test_without_onnxruntime_nothing_is_run(result: absint.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "is_installed", lambda name: False)
    assert result.prove("y[0] == x[0]").verdict.value == "not entailed"


@pytest.fixture
def path(tmp_path: Path) -> str:
    onnx.save(parser.parse_model(GATHERED), tmp_path / "model.onnx")
    return str(tmp_path / "model.onnx")


def test_the_command_tells_it(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", path, "y[0] == x[0]"]) == 1
    assert capsys.readouterr().out.endswith("  shown       by a run of the model at these sizes\n")
    assert run(["prove", path, "y[0] == x[0]", "--format", "json"]) == 1
    (proof,) = json.loads(capsys.readouterr().out)["proofs"]
    assert (proof["verdict"], proof["evidence"], proof["confirmed"]) == ("refuted", "run", False)
    assert run(["prove", path, "y[0] == x[0]", "--evidence", "none", "--format", "json"]) == 3
    (proof,) = json.loads(capsys.readouterr().out)["proofs"]
    assert (proof["verdict"], proof["evidence"]) == ("not entailed", None)
