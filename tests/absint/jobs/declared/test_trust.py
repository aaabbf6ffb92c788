"""Declarations on trust: premises where the analysis knows less, told with every answer, refused where false."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession

import absint
from absint.cli import run
from absint.questions.proofs.proof import Verdict
from tests.models import parsed

CUSTOM = """(float[N, 4] x) => (float[A, B] z, float[K, 8] w) <float[N, 8] y> {
    y = my.Fold(x)  z = Relu(y)  w = Concat<axis=0>(z, z)
}"""
FULL = """(float[N] x) => (int64[D, C] places, int64[E, 1] rows) <int64[1, N] raw> {
    raw = NonZero(x)  rows = Transpose(raw)  places = Neg(raw)
}"""


def _shapes(trust: str | list[str], text: str = CUSTOM) -> dict[str, str]:
    return {name: str(shape) for name, shape in absint.analyze(parsed(text), trust=trust).shapes.items()}


def test_without_it_nothing_is_known() -> None:
    result = absint.analyze(parsed(CUSTOM))
    assert result.trusted == ()
    assert {result.shapes[name].rank for name in "yzw"} == {None}


@pytest.mark.parametrize("trust", ["all", "custom", ["custom"], "y", ["z", "y"]])
def test_what_is_trusted_flows_on(trust: str | list[str]) -> None:
    assert _shapes(trust) == {"x": "[N, 4]", "y": "[N, 8]", "z": "[N, 8]", "w": "[2*N, 8]"}


def test_a_value_may_be_trusted_by_the_name_of_its_node() -> None:
    proto = parsed(CUSTOM)
    proto.graph.node[0].name = "fold"
    assert str(absint.analyze(proto, trust="fold").shapes["w"]) == "[2*N, 8]"


def test_a_name_of_the_authors_own_gives_the_rank_and_no_equality() -> None:
    result = absint.analyze(parsed(CUSTOM), trust=["z", "w"])
    assert result.shapes["y"].rank is None
    assert [str(result.shapes[name]) for name in ("z", "w")] == ["[A, B]", "[2*A, 8]"]


def test_every_answer_that_rests_on_one_says_so() -> None:
    result = absint.analyze(parsed(CUSTOM), trust="custom")
    (trusted,) = result.trusted
    assert (trusted.where, str(trusted.shape)) == ("value_info 'y'", "[N, 8]")
    proof = result.prove("w[0] == 2*N")
    assert proof.verdict is Verdict.PROVED
    assert {premise.reason for premise in proof.assuming} == {
        "y[0] is declared so, and taken on trust",
        "y[1] is declared so, and taken on trust",
    }
    assert result.prove("x[1] == 4").assuming == ()
    assert [premise.origin.operator for premise in result.premises] == ["my::Fold", "my::Fold"]
    assert "trusting  1 declaration: value_info 'y'" in str(result)
    assert "assumes N == " in str(result.explain("w", 0))
    assert "my::Fold (1)" in str(result), "the operator still has no rule"
    result.verify()
    assert result.check({"N": 3}).outcome is absint.Outcome.LEGAL


def test_what_is_known_is_not_replaced() -> None:
    text = "(float[N] x) => (float[N] y) <float[N] r> { r = Relu(x)  y = Neg(r) }"
    assert absint.analyze(parsed(text), trust="all").trusted == ()


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_claims_hold_in_runs_in_which_the_declarations_do(size: int) -> None:
    proto = parsed(FULL)
    assert str(absint.analyze(proto).shapes["rows"]) == "[C, 1]"
    result = absint.analyze(proto, trust="raw")
    shapes = {name: str(shape) for name, shape in result.shapes.items()}
    assert shapes == {"x": "[N]", "raw": "[1, N]", "places": "[1, N]", "rows": "[N, 1]"}
    session = InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    places, rows = session.run(None, {"x": np.ones(size, np.float32)})
    assert (places.shape, rows.shape) == ((1, size), (size, 1))
    assert result.prove("places[1] == N").verdict is Verdict.PROVED
    assert result.prove("places[1] == N + 1").verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("N + 1", "axis 1 is declared as N + 1, but no run has C == N + 1: it cannot be taken on trust"),
        ("2*N + 3", "no run has C == 2*N + 3"),
    ],
)
def test_one_that_is_false_is_refused(declared: str, message: str) -> None:
    proto = parsed(FULL)
    proto.graph.value_info[0].type.tensor_type.shape.dim[1].dim_param = declared
    with pytest.raises(absint.UsageError, match=re.escape(message)):
        absint.analyze(proto, trust="raw")


def test_two_that_contradict_each_other_are_refused() -> None:
    proto = parsed(CUSTOM)
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "2*N"
    with pytest.raises(absint.UsageError, match=r"output 'z': .*: it cannot be taken on trust together"):
        absint.analyze(proto, trust="all")
    assert str(absint.analyze(proto, trust="custom").shapes["z"]) == "[N, 8]"


@pytest.mark.parametrize(
    ("trust", "message"),
    [("x", "trust x: no value or node of this name has a declared shape"), (["yy"], "trust yy: .*; did you mean 'y'?")],
)
def test_bad_names_are_one_line(trust: str | list[str], message: str) -> None:
    with pytest.raises(absint.UsageError, match=message):
        absint.analyze(parsed(CUSTOM), trust=trust)


def test_claims_of_a_policy_are_not_mixed_with_trust() -> None:
    with pytest.raises(absint.UsageError, match="trust needs the sound analysis"):
        absint.analyze(parsed(CUSTOM), trust="all", policy="fresh")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "custom.onnx")
    onnx.save(parsed(CUSTOM), path)
    assert run(["analyze", path, "--trust", "custom", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trusted"] == [{"where": "value_info 'y'", "shape": ["N", 8]}]
    assert run(["prove", path, "w[0] == 2*N", "--trust", "y"]) == 0
    assert "assuming" in capsys.readouterr().out


def test_the_diagnostic_says_what_is_on_trust() -> None:
    """All outputs of the operator, some of them, none."""
    twice = parsed(
        "(float[N, 4] x) => (float[A, B] z, float[K, 8] w) <float[N, 8] y> { y = my.Fold(x) z = my.Fold(y) }"
    )
    texts = {
        trust: [d.message for d in absint.analyze(twice, trust=trust).diagnostics if d.code == "no-rule"]
        for trust in ("custom", "y", None)
    }
    assert texts == {
        "y": [
            "no transfer rule (2 nodes); outputs are unknown, but those of 1 node are as declared, which is taken on "
            "trust"
        ],
        None: ["no transfer rule (2 nodes); outputs are unknown"],
        "custom": ["no transfer rule (2 nodes); outputs are known only as declared, which is taken on trust"],
    }
