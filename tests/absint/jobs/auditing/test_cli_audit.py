"""`absint audit`: its texts, its JSON and SARIF, its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import onnx
import pytest

import absint
from absint.cli import run
from absint.jobs.auditing import Audit, Judged, Judgement, Place
from absint.lattices.text.sheets import rendered
from absint.show.audit import SHOWN, report, sarif
from tests.absint.jobs.auditing.models import LIE, SUM, model
from tests.sarif import SARIF

TRUE = "(float[N] x) => (float[N] y) {y = Relu(x)}"
COUNTED = "(float[N] x) => (int64[1, N] y) {a = Exp(x) y = NonZero(a)}"


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("true", TRUE), ("lie", LIE), ("sum", SUM), ("counted", COUNTED)):
        onnx.save(model(text), f"{name}.onnx")


REFUTED = """\
declared: 4 claims: 3 proved, 1 refuted
  refuted  y[0] == N
    false at     N=2
    a run shows  y[0] is 4, not 2
"""
OPEN = """\
declared: 3 claims: 2 proved, 1 not entailed
  not entailed  y[1] == N
    perhaps false at  N=2
    but               it rests on data-dependent sizes
"""


def masked(text: str) -> str:
    """The sampler is free to try any sizes."""
    numbers = re.compile(r"(?<=N=)[0-9]+|(?<=is )[0-9]+|(?<=not )[0-9]+")
    return numbers.sub("#", text)


@pytest.mark.parametrize(
    ("arguments", "printed", "code"),
    [
        (["true.onnx"], "declared: 2 claims: 2 proved\n", 0),
        (["true.onnx", "--strict"], "declared: 2 claims: 2 proved\n", 0),
        (["lie.onnx"], REFUTED, 1),
        (["counted.onnx"], OPEN, 0),
        (["counted.onnx", "--strict"], OPEN, 3),
        (["lie.onnx", "--strict"], REFUTED, 1),
        (["sum.onnx", "--policy", "fresh"], "unsound policy fresh: 1 claim: 1 proved\n", 0),
        (
            ["true.onnx", "--policy", "sound", "--declared"],
            "declared: 2 claims: 2 proved\n\npolicy sound: 2 claims: 2 proved\n",
            0,
        ),
        (["true.onnx", "--all"], "declared: 2 claims: 2 proved\n  proved  rank(y) == 1\n  proved  y[0] == N\n", 0),
    ],
)
def test_text_and_code(arguments: list[str], printed: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *arguments]) == code
    assert masked(capsys.readouterr().out) == masked(printed)


def test_a_tool_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "sum.onnx", "--tool", "onnx-shape-inference"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("onnx-shape-inference ")
    assert "refuted  z[0] == N" in printed


def test_a_tool_that_fails_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "sum.onnx", "--tool", "onnxruntime"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "  failed: Exception: Incomplete symbolic shape inference"
    assert run(["audit", "sum.onnx", "--tool", "onnxruntime", "--strict"]) == 3
    assert run(["audit", "lie.onnx", "--declared", "--tool", "onnxruntime"]) == 1


def test_a_tool_that_does_not_end_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "true.onnx", "--tool", "onnx", "--seconds", "0.001"]) == 3
    assert capsys.readouterr().out.splitlines()[1] == "  failed: it did not end within 0.001 s"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["true.onnx", "--tool", "onix"], "unknown tool 'onix': it is one of onnx, onnx-shape-inference, "),
        (["true.onnx", "--policy", "nobody's"], 'unknown policy "nobody\'s": it is one of sound, '),
        (["true.onnx", "--seconds", "0"], "--seconds 0: expected a number above 0"),
        (["absent.onnx"], "absent.onnx does not exist"),
    ],
)
def test_bad_usage(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *arguments]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(f"absint: error: {complaint}")
    assert found.err.count("\n") == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "lie.onnx", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["model"]) == ("absint.audit/1", "lie.onnx")
    (audit,) = found["audits"]
    assert audit["counts"] == {"proved": 3, "refuted": 1, "not entailed": 0, "unproved": 0}
    assert (audit["source"], audit["dims"], audit["resolved"], audit["unconfirmed"]) == ("declared", 2, 1, 0)
    (claim,) = (claim for claim in audit["claims"] if claim["judgement"] == "refuted")
    assert claim["places"] == [{"value": "y", "axis": 0}]
    assert claim["confirmed"] is True
    assert claim["counterexample"]["N"] > 0


@pytest.mark.parametrize("name", ["true", "lie", "sum", "counted"])
def test_sarif_is_of_its_schema(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["audit", f"{name}.onnx", "--declared", "--tool", "onnxruntime", "--policy", "max", "--format", "sarif"])
    log = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(SARIF)
    jsonschema.validate(log, SARIF)
    assert len(log["runs"]) == 3


def test_sarif_of_a_refuted_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "lie.onnx", "--format", "sarif"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = found["results"]
    assert found["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "shape-claim-refuted"
    assert (result["kind"], result["level"]) == ("fail", "error")
    assert result["message"]["text"].startswith("declared says y[0] == N: refuted at N=")
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "lie.onnx"
    assert location["logicalLocations"] == [{"name": "y", "fullyQualifiedName": "y[0]", "kind": "value"}]
    assert found["properties"]["counts"]["proved"] == 3


def test_sarif_of_every_judgement() -> None:
    places = (Place("a/b", 1), Place("c", 0))
    judged = tuple(Judged(places, "a/b[1] == c[0]", judgement) for judgement in Judgement)
    log = json.loads(sarif(absint.analyze("true.onnx"), [Audit("somebody", "it died", 0.0, judged, 4, 4, 0)]))
    jsonschema.validate(log, SARIF)
    (found,) = log["runs"]
    assert [(r["kind"], r["level"]) for r in found["results"]] == [
        ("fail", "error"),
        ("review", "none"),
        ("open", "none"),
    ]
    assert found["invocations"][0]["executionSuccessful"] is False
    assert found["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "it died"
    assert found["results"][0]["relatedLocations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "c[0]"


def test_many_claims_are_cut_short() -> None:
    judged = tuple(Judged((Place("y", n),), f"y[{n}] == 1", Judgement.UNPROVED) for n in range(SHOWN + 5))
    audit = Audit("somebody", "", 0.0, judged, SHOWN + 5, 0, 0)
    assert [line.text for line in rendered(report([audit]))][-1] == "  and 5 more unproved (--all shows them)"
    assert len(list(rendered(report([audit], everything=True)))) == SHOWN + 6


def test_by_proof_alone_is_said() -> None:
    item = Judged((Place("y", 0),), "y[0] == 1", Judgement.REFUTED, {"N": 2}, because=("by proof alone: no kernel",))
    lines = [line.text for line in rendered(report([Audit("somebody", "", 0.0, (item,), 1, 1, 0)]), 100)]
    assert lines[0] == "somebody: 1 claim: 1 refuted, 1 of the refuted by proof alone"
    assert lines[3] == "    refuted   by proof alone: no kernel"


def test_a_reason_that_many_claims_share_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """(float[N] x, int64[2] s) => (float[A, B] z) <float[N] y, float[N] u, float[N] v>
              {y = Relu(x) u = Add(x, s) v = Add(x, s) w = Mul(x, s) z = Relu(x)}"""
    path = str(tmp_path / "m.onnx")
    onnx.save(model(text), path)
    assert run(["audit", path]) == 0
    first = 'error: Add #1 (output "u"): inputs A and B must share one element type, found FLOAT and INT64 [ill-typed]'
    *claims, because = capsys.readouterr().out.splitlines()[1:]
    assert len(claims) == 7
    assert all(line.startswith("  unproved  ") for line in claims)
    assert because == f"    because  no run of the model succeeds; {first}; and 2 more errors"


def test_a_reason_why_claims_are_not_entailed_is_told_once() -> None:
    because = ("no run was asked for",)
    judged = [
        Judged((Place("y", n),), f"y[{n}] == 1", Judgement.NOT_ENTAILED, {"N": n}, because=because) for n in range(3)
    ]
    lines = [line.text for line in rendered(report([Audit("somebody", "", 0.0, tuple(judged), 3, 3, 0)]))]
    assert lines[2::2] == [f"    perhaps false at  N={n}" for n in range(3)]
    assert lines[-1] == "    but               no run was asked for"
    assert len(lines) == 8


def test_the_limits_of_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "sum.onnx", "--rlimit", "100000", "--seconds", "20"]) in (0, 1)
    assert run(["audit", "sum.onnx", "--rlimit", "-1"]) == 2
    assert "--rlimit -1: expected a number from 0 (no limit) to 4294967295" in capsys.readouterr().err


def test_defaults_are_named_where_they_would_tell_more(capsys: pytest.CaptureFixture[str]) -> None:
    text = "(float[N, 6] x, int64[2] s) => (float[N, 6] y) <int64[2] s = {0, 6}> {y = Reshape(x, s)}"
    onnx.save(model(text), "default.onnx")
    run(["audit", "default.onnx"])
    assert "absint: note: 1 initialiser: it is an input too" in (said := capsys.readouterr().err)
    assert "--defaults (defaults=True) uses the file's" in said
    run(["audit", "default.onnx", "--defaults"])
    assert "--defaults" not in capsys.readouterr().err


def test_a_result_is_audited() -> None:
    result = absint.analyze("lie.onnx")
    (author,) = result.audit()
    assert author.source == "declared"
    assert [item.relation for item in author.of(Judgement.REFUTED)] == ["y[0] == N"]
    tool, policy = result.audit(tools=["onnx"], policies=["prefer-concrete"])
    assert tool.source.startswith("onnx ")
    assert policy.counts[Judgement.REFUTED] == 0
    with pytest.raises(absint.UsageError, match="unknown tool 'onx'"):
        result.audit(tools=["onx"])
    with pytest.raises(absint.UsageError, match="an audit needs the sound analysis"):
        absint.analyze("lie.onnx", policy="max").audit()
