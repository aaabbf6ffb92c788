"""A counterexample that is to be confirmed, and is not, refutes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from onnx import parser

import absint
import absint.runs.run
from absint import Op, Tensor, rule
from absint.questions.proofs.proof import Verdict
from absint.runs.run import RunError, sizes_at
from tests.models import parsed

PLAIN = """<ir_version: 8, opset_import: ["" : 17]> g (float[N, M] X) => (float[N, M] Z) { Z = Relu(X) }"""


@rule("Fold", domain="acme", inputs="X", outputs="Y", complete=True)
def fold(op: Op) -> Tensor:
    """An operator that onnxruntime does not have."""
    return op.tensor("X")


def test_a_model_that_does_not_load_refutes_nothing() -> None:
    model = parsed("""(float[N] X) => (float[N] Z) { Z = acme.Fold(X) }""", 17, domains={"acme": 1})
    result = absint.analyze(model, table=absint.TABLE.extended([fold]))
    assert result.prove("Z[0] == 3").verdict is Verdict.REFUTED
    proof = result.prove("Z[0] == 3", confirm=True)
    assert proof.verdict is Verdict.NOT_ENTAILED
    assert not proof.confirmed
    assert proof.reason.startswith("a run at these sizes fails: onnxruntime: ")
    assert proof.counterexample is not None


def test_another_candidate_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Mapping[str, int]] = []

    def failing_once(result: absint.Result, sizes: Mapping[str, int], *args: Any, **kwargs: Any) -> Any:
        tried.append(sizes)
        if len(tried) == 1:
            raise RunError("onnxruntime: out of memory")
        return sizes_at(result, sizes, *args, **kwargs)

    monkeypatch.setattr(absint.runs.run, "sizes_at", failing_once)
    proof = absint.analyze(parser.parse_model(PLAIN)).prove("Z[0] == Z[1]", confirm=True)
    assert proof.verdict is Verdict.REFUTED
    assert proof.confirmed
    assert proof.counterexample == tried[-1] != tried[0]


def test_a_run_that_meets_the_relation_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absint.runs.run, "sizes_at", lambda *args, **kwargs: {"Z": (7, 7)})
    proof = absint.analyze(parser.parse_model(PLAIN)).prove("Z[0] == Z[1]", confirm=True)
    assert proof.verdict is Verdict.NOT_ENTAILED
    assert proof.reason == "a run at these sizes does not contradict it"


def test_declarations_are_refuted_without_a_run_and_the_failure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: object, **kwargs: object) -> object:
        raise RunError("onnxruntime: no")

    monkeypatch.setattr(absint.runs.run, "sizes_at", failing)
    proof = absint.analyze(parser.parse_model(PLAIN)).prove("N == M", given="inputs", confirm=True)
    assert proof.verdict is Verdict.REFUTED
    assert not proof.confirmed
    assert proof.reason == "a run at these sizes fails: onnxruntime: no"


def test_what_a_known_run_refutes_is_confirmed_as_well() -> None:
    result = absint.analyze(parser.parse_model(PLAIN))
    assert result.prove("N == 3").verdict is Verdict.REFUTED  # its sizes are remembered
    proof = result.prove("N == 3 or N == 4", confirm=True)
    assert proof.confirmed
