"""`absint lint`: its formats, its exit codes, its options."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import jsonschema
import onnx
import pytest

from absint.cli import run
from absint.diagnostics import Severity
from absint.jobs.linting import FileReport, Finding, LintResult
from absint.jobs.linting.finding import RULES
from absint.show.lint import LINT, report, sarif, workflow_commands
from tests.absint.jobs.auditing.models import model
from tests.sarif import SARIF

FALSE = "(float[N] x) => (float[8] z) {z = Relu(x)}"
BOUND = "(float[1, 1, H] x) => (z) {z = MaxPool<kernel_shape = [5]>(x)}"
BROKEN = "(float[N, 3] x, float[4, 5] w) => (z) {z = MatMul(x, w)}"
TRUE = "(float[N] x) => (float[N] z) {z = Relu(x)}"
ODD: list[Finding] = [
    Finding("ABS101", Severity.ERROR, "Relu a,b:c%", "100 %\nof it, always: yes", 3, ("one", "two"), {"N": 1}),
    Finding("ABS001", Severity.ERROR, "", "truncated"),
    Finding("ABS304", Severity.INFO, "symbol 'N' (x[0])", "only sizes up to 64 are legal"),
]


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("false", FALSE), ("bound", BOUND), ("broken", BROKEN), ("true", TRUE)):
        onnx.save(model(text), f"{name}.onnx")
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(["lint", *arguments])
    captured = capsys.readouterr()
    return code, captured.out or captured.err


TEXT = """\
broken.onnx
  error   ABS101 MatMul #0 (output "z"): can never run: inner dimensions of A and B must agree, found 3 and 4
false.onnx
  warning ABS202 output 'z': declared [8], but it is [N]: false at N=1
4 models: 1 error, 1 warning, 1 info (--verbose shows infos)
"""


@pytest.mark.parametrize(
    ("arguments", "code", "printed"),
    [
        ([], 1, TEXT),
        (["."], 1, TEXT),
        (["--exit-zero"], 0, TEXT),
        (["true.onnx"], 0, "1 model: no findings\n"),
        (["bound.onnx"], 0, "1 model: 1 info (--verbose shows infos)\n"),
        (["bound.onnx", "--fail-on", "info"], 1, "1 model: 1 info (--verbose shows infos)\n"),
        (["false.onnx", "--fail-on", "error"], 0, TEXT.partition("false")[1] + TEXT.partition("false")[2]),
        (["false.onnx", "--ignore", "ABS2"], 0, "1 model: no findings\n"),
        (["--select", "ABS3", "--ignore", "bounded"], 0, "4 models: no findings\n"),
        (["--exclude", "b*", "--exclude", "false.onnx"], 0, "1 model: no findings\n"),
        (["false.onnx", "--exclude", "false.onnx", "--force-exclude"], 0, "0 models: no findings\n"),
    ],
)
def test_text_and_exit_codes(arguments: list[str], code: int, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, text = lint(capsys, *arguments)
    if printed.startswith("false"):
        printed = printed.replace("4 models: 1 error, 1 warning, 1 info (--verbose shows infos)", "1 model: 1 warning")
    assert (found, text) == (code, printed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.onnx"], "nowhere.onnx does not exist"),
        (["--select", "ABS9"], "select: no rule has the code or name 'ABS9'; did you mean"),
        (["--seconds", "0"], "--seconds 0: expected a number above 0"),
        (["--write-baseline"], "--write-baseline needs --baseline, the file to write"),
        (["--baseline", "none.json"], "the baseline none.json cannot be read"),
        (["--baseline", "none/none.json", "--write-baseline"], "none/none.json"),
        (["--config", "none.toml"], "none.toml cannot be read"),
        (["--config", "a", "--isolated"], "--config and --isolated exclude each other"),
        (["-", "true.onnx"], "- is a model from standard input: give no other"),
        (["--explain", "ABS1"], "--explain ABS1: give the whole code of a rule, as ABS001"),
        (["--explain", "ABS9"], "--explain: no rule has the code or name 'ABS9'"),
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler tcp://127.0.0.1:9: no Dask scheduler answers there"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("absint.runs.pool.TIMEOUT", "200ms")
    code, text = lint(capsys, *arguments)
    assert (code, text.count("\n")) == (2, 1)
    assert message in text


def test_settings_of_the_project(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (models / "pyproject.toml").write_text('[tool.absint.lint]\nfail-on = "error"\nignore = ["ABS101"]\n')
    assert lint(capsys)[0] == 0
    assert lint(capsys, "--fail-on", "warning")[0] == 1
    assert lint(capsys, "--isolated") == (1, TEXT)
    (models / "own.toml").write_text('select = ["ABS101"]\n')
    code, text = lint(capsys, "--config", "own.toml")
    assert (code, text.splitlines()[-1]) == (1, "4 models: 1 error")


def test_a_baseline(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = lint(capsys, "--baseline", "known.json", "--write-baseline")
    assert (code, text) == (0, "known.json: 4 models: 1 error, 1 warning, 1 info\n")
    assert lint(capsys, "--baseline", "known.json") == (0, "4 models: no findings (3 in the baseline)\n")
    onnx.save(model(TRUE), "false.onnx")
    assert lint(capsys, "--baseline", "known.json")[1] == (
        "no longer found: 1 finding of the baseline (--write-baseline brings it up to date)\n"
        "4 models: no findings (2 in the baseline)\n"
    )
    (models / "pyproject.toml").write_text('[tool.absint.lint]\nbaseline = "known.json"\n')
    assert lint(capsys, "--write-baseline")[1].endswith("known.json: 4 models: 1 error, 1 info\n")
    assert "ABS101 MatMul #0" in (models / "known.json").read_text()


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("false.onnx").read_bytes())))
    code, text = lint(capsys, "-")
    assert code == 1
    assert text.splitlines()[1:] == [*TEXT.splitlines()[3:4], "1 model: 1 warning"]


def test_rules_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = lint(capsys, "--list-rules")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == list(RULES)
    for name in ("ABS301", "abs301", "only-one-size"):
        code, text = lint(capsys, "--explain", name)
        assert (code, text.splitlines()[0]) == (0, "ABS301: only-one-size (warning)")
        assert RULES["ABS301"].why in text


def test_verbose_lists_every_place() -> None:
    result = LintResult((FileReport("a.onnx", tuple(ODD)), FileReport("b.onnx")), stale=2)
    assert [line.text for line in report(result, verbose=True)] == [
        "a.onnx",
        "  error   ABS101 Relu a,b:c%: 100 %\\nof it, always: yes (and 2 more nodes)",
        "          one",
        "          two",
        "  error   ABS001 truncated",
        "  info    ABS304 symbol 'N' (x[0]): only sizes up to 64 are legal",
        "no longer found: 2 findings of the baseline (--write-baseline brings it up to date)",
        "2 models: 2 errors, 1 info",
    ]


def test_a_long_finding_is_cut() -> None:
    item = Finding("ABS101", Severity.ERROR, "Relu a", "x" * 400)
    lines = [line.text for line in report(LintResult((FileReport("a.onnx", (item,)),)))]
    assert len(lines[1]) == 310
    assert lines[1].endswith("...")
    assert len([line.text for line in report(LintResult((FileReport("a", (item,)),)), verbose=True)][1]) > 400


def test_annotations_are_escaped() -> None:
    result = LintResult((FileReport("a,b:c%.onnx", tuple(ODD)),))
    assert [line.text for line in workflow_commands(result)] == [
        "::error file=a%2Cb%3Ac%25.onnx,title=ABS101 cannot-run::Relu a,b:c%25: 100 %25\\nof it, always: yes "
        "(and 2 more nodes)",
        "::error file=a%2Cb%3Ac%25.onnx,title=ABS001 unreadable::truncated",
        "1 model: 2 errors, 1 info",
    ]
    assert [line.text for line in workflow_commands(result, verbose=True)][2] == (
        "::notice file=a%2Cb%3Ac%25.onnx,title=ABS304 bounded::symbol 'N' (x[0]): only sizes up to 64 are legal"
    )


def test_annotations_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = lint(capsys, "--format", "github")
    assert code == 1
    assert re.findall(r"^::(\w+) file=([\w.]+),title=(\w+)", text, re.MULTILINE) == [
        ("error", "broken.onnx", "ABS101"),
        ("warning", "false.onnx", "ABS202"),
    ]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = lint(capsys, "--format", "json")
    data = json.loads(text)
    assert code == 1
    assert (data["schema"], data["counts"]) == ("absint.lint/1", {"error": 1, "warning": 1, "info": 1})
    assert [item["model"] for item in data["models"]] == ["bound.onnx", "broken.onnx", "false.onnx", "true.onnx"]
    (finding,) = data["models"][2]["findings"]
    assert len(finding.pop("fingerprint")) == 32
    assert finding == {
        "code": "ABS202",
        "name": "false-at-sizes",
        "severity": "warning",
        "where": "output 'z'",
        "message": "declared [8], but it is [N]: false at N=1",
        "count": 1,
        "others": [],
        "sizes": {"N": 1},
    }
    assert json.loads(LINT.text(LintResult(())))["models"] == []


def github_accepts(log: dict[str, object]) -> None:
    """The demands of code scanning on a log beyond the schema."""
    (found,) = log["runs"]  # type: ignore[misc, attr-defined]
    rules = found["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) < 25_000
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        for place in (location, *result["relatedLocations"]):
            physical = place["physicalLocation"]
            assert physical["region"]["startLine"] == 1
            uri = physical["artifactLocation"]["uri"]
            assert not uri.startswith(("/", ".."))
            assert found["artifacts"][physical["artifactLocation"]["index"]]["location"]["uri"] == uri
        assert re.fullmatch("[0-9a-f]{32}", result["partialFingerprints"]["primaryLocationLineHash"])


def test_sarif(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = lint(capsys, "--format", "sarif")
    log = json.loads(text)
    assert code == 1
    jsonschema.validate(log, SARIF)
    github_accepts(log)
    (found,) = log["runs"]
    assert [(item["ruleId"], item["level"]) for item in found["results"]] == [
        ("ABS304", "note"),
        ("ABS101", "error"),
        ("ABS202", "warning"),
    ]
    (place,) = found["results"][2]["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "false.onnx", "index": 2}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "output 'z'"
    assert found["results"][2]["properties"]["sizes"] == {"N": 1}


def test_sarif_of_odd_names() -> None:
    files = (FileReport("a b%.onnx", tuple(ODD)), FileReport("c/d.onnx", (ODD[0], ODD[0])))
    log = json.loads(sarif(LintResult(files)))
    jsonschema.validate(log, SARIF)
    github_accepts(log)
    (found,) = log["runs"]
    assert found["artifacts"][0]["location"]["uri"] == "a%20b%25.onnx"
    marks = [item["partialFingerprints"]["primaryLocationLineHash"] for item in found["results"]]
    assert len(set(marks)) == len(marks) == 5
    assert "logicalLocations" not in found["results"][1]["locations"][0]
