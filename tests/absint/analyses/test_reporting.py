"""What analyses of users report: where it is told, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import absint
from absint.cli import run
from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.lattices.domains import FLAT, ValueSet
from absint.show.lint import LINT
from tests.models import parsed
from tests.sarif import SARIF

FILE = '''
import absint
from absint.lattices.domains import FLAT


class Depths(absint.ForwardAnalysis):
    """A name for what comes out of each Relu."""

    domain = FLAT
    disagreement = "paths-differ"

    @absint.on("Relu", "Neg")
    def operators(self, node, x):
        return FLAT.constant(self.nodes[node].operator)

    @absint.on("Identity")
    def same(self, node, x):
        return x

    @absint.on("Sub")
    def met(self, node, *inputs):
        return self.together(node, *inputs)

    @absint.on("Exp")
    def seen(self, node, x):
        self.report(node, "exp", f"Exp of {FLAT.text(x)}", severity="error", of=[*x], nan=float("nan"))
        return FLAT.top
'''
NEEDY = """
    def __init__(self, most):
        super().__init__()
        self.most = most
"""
TEXT = """(float[N] x, bool c, int64 n) => (float[N] y, float[N] z, float[N] e, float[N] s) {
    a = Relu (x)
    b = Neg (x)
    y = If (c) <then_branch = one () => (t) { t = Identity (a) }, else_branch = two () => (f) { f = Identity (b) }>
    z = Loop (n, , a) <body = step (int64 i, bool go, float[N] p) => (bool again, float[N] q) {
        again = Identity (go)
        e1 = Exp (p)
        q = Neg (p)
    }>
    e = Exp (a)
    s = Sub (a, b)
}"""
PATHS = {
    "If #2": "paths disagree: then_branch brings {'Relu'}, else_branch brings {'Neg'}",
    "Loop #3": "paths disagree: what it begins with brings {'Relu'}, what its body gives back brings {'Neg'}",
    'Sub #5 (output "s")': "paths disagree: a brings {'Relu'}, b brings {'Neg'}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "depths.py").write_text(FILE)
    onnx.save(parsed(TEXT), "model.onnx")
    return tmp_path


def told() -> tuple[absint.Diagnostic, ...]:
    return absint.analyze("model.onnx", with_=["depths.py"]).diagnostics


def test_paths_that_disagree_and_reports_of_methods() -> None:
    found = {item.where.removesuffix(' (output "y")'): item for item in told() if item.code == "paths-differ"}
    assert {where: item.message for where, item in found.items()} == PATHS
    assert all(item.by == "Depths" and item.severity is Severity.WARNING for item in found.values())
    assert found["If #2"].data == {"paths": {"then_branch": "{'Relu'}", "else_branch": "{'Neg'}"}}


def test_what_is_said_before_elements_are_final_does_not_count() -> None:
    """The engine visits the body when only Relu gets there; at the end Neg does too."""
    found = [(item.where, item.message, item.severity) for item in told() if item.code == "exp"]
    assert found == [
        ('Exp Loop#3/body/#1 (output "e1")', "Exp of any value", Severity.ERROR),
        ('Exp #4 (output "e")', "Exp of {'Relu'}", Severity.ERROR),
    ]
    data = [item.data for item in told() if item.code == "exp"]
    assert data == [{"of": [], "nan": "nan"}, {"of": ["Relu"], "nan": "nan"}]


def test_an_error_of_an_analysis_keeps_no_model_from_running() -> None:
    result = absint.analyze("model.onnx", with_=["depths.py"])
    assert result.can_run
    assert result.check({"N": 3}).outcome is absint.Outcome.RUNS
    assert run(["cost", "model.onnx", "N=3", "--analysis", "depths.py"]) == 0
    with pytest.raises(UsageError, match=r"Exp of"):
        absint.analyze("model.onnx", with_=["depths.py"], strict=True)


def test_lint_shows_it_as_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    def lint(*options: str) -> str:
        code = run(["lint", "model.onnx", "--analysis", "depths.py", *options])
        assert code == 1
        return capsys.readouterr().out

    text = lint()
    assert "  error   exp Exp #4 (output \"e\"): Exp of {'Relu'}\n" in text
    assert "  warning paths-differ Sub #5" in text
    found = json.loads(lint("--format", "json"))
    jsonschema.validate(found, LINT.schema)
    (model,) = found["models"]
    (exp, *_) = [item for item in model["findings"] if item["code"] == "exp"]
    assert exp["severity"] == "error"
    assert exp["name"] == "exp"
    assert "of" in exp["data"]
    (log,) = json.loads(lint("--format", "sarif"))["runs"]
    jsonschema.validate({"version": "2.1.0", "runs": [log]}, SARIF)
    for item in log["results"]:
        assert log["tool"]["driver"]["rules"][item["ruleIndex"]]["id"] == item["ruleId"]
    assert {"exp", "paths-differ"} <= {item["ruleId"] for item in log["results"]}
    assert "::error file=model.onnx,title=exp exp::" in lint("--format", "github")
    only = lint("--select", "exp")
    assert "paths-differ" not in only
    assert "exp Exp" in only


def test_a_project_names_its_analyses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = '[tool.absint.lint]\nanalyses = ["depths.py"]\nignore = ["paths-differ"]\nseverity = {exp = "info"}\n'
    (folder / "pyproject.toml").write_text(table)
    run(["lint", "model.onnx", "--verbose"])
    out = capsys.readouterr().out
    assert "  info    exp Exp" in out
    assert "paths-differ" not in out
    (folder / "pyproject.toml").write_text('[tool.absint.lint]\nignore = ["paths-differ"]\n')
    assert run(["lint", "model.onnx"]) == 2
    assert "no rule has the code or name 'paths-differ'" in capsys.readouterr().err


def test_reports_and_json_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "model.onnx", "--analysis", "depths.py", "-o", "page.html"]) == 0
    assert "paths disagree: a brings" in Path("page.html").read_text("utf-8")
    capsys.readouterr()
    assert run(["analyze", "model.onnx", "--analysis", "depths.py", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [item["by"] for item in found] == ["Depths"] * 5
    assert run(["analyze", "model.onnx", "--analysis", "depths.py"]) == 0
    assert "paths disagree: a brings {'Relu'}, b brings {'Neg'} [paths-differ]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "--analysis bad.py: defines no analysis: write a subclass of absint.ForwardAnalysis"),
        ("x = ", "--analysis bad.py: line 1: invalid syntax"),
        ("1 / 0", "--analysis bad.py: line 1: ZeroDivisionError: division by zero"),
        (FILE + NEEDY, "make the analysis in the file, and it is taken"),
        (FILE.replace('"exp"', '"ABS101"'), "Depths reports 'ABS101': a code begins with a letter"),
        (FILE.replace('"exp"', '"no code"'), "Depths reports 'no code': a code begins with a letter"),
        (FILE.replace("return x", "return x / 0"), "--analysis bad.py: line 18: TypeError: unsupported operand type"),
        (None, "--analysis bad.py does not exist"),
    ],
    ids=["nothing", "syntax", "error", "arguments", "own-code", "no-code", "wrong-code", "absent"],
)
def test_bad_files_get_one_line(text: str | None, said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if text is not None:
        (folder / "bad.py").write_text(text)
    assert run(["analyze", "model.onnx", "--analysis", "bad.py"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_analysis_that_a_file_makes_is_taken(folder: Path) -> None:
    (folder / "made.py").write_text(f"{FILE}{NEEDY}\n\ndepths = Depths(3)\n")
    result = absint.analyze("model.onnx", with_=["made.py"])
    assert {item.by for item in result.diagnostics} == {"Depths"}


class Constants(absint.ForwardAnalysis[ValueSet[Any]]):
    domain = FLAT

    def operator(self, node: int, inputs: Sequence[object]) -> list[ValueSet[Any]]:
        for operand in self.nodes[node].operands:
            known = self.constant(operand)
            if known is not None:
                self.report(node, "constant", f"{known.dtype}{list(known.shape)}", elements=known)
        return [FLAT.top] * len(self.nodes[node].outputs)


def test_constants_by_one_call(folder: Path) -> None:
    """Large ones, those in files beside the model, in bodies, and computed ones; not those that callers may replace."""
    large = np.arange(300, dtype=np.float32)
    text = """(float[N] x, float[M] u, float16[L] v, bool c) => (y0, y1, y2, y3, y4, y5) {
        k = Constant <value = float[2] {-0.0, 0.1}> ()
        two = Constant <value_ints = [1, 2]> ()
        again = Neg (two)
        y0 = Add (x, large)
        y1 = Add (u, k)
        y2 = Add (two, again)
        y3 = Add (x, free)
        y4 = Add (v, half)
        y5 = If (c) <then_branch = one () => (t) <float[1] w = {3}> { t = Neg (w) },
                     else_branch = two () => (f) { f = Relu (x) }>
    }"""
    model = parsed(text)
    model.graph.initializer.append(numpy_helper.from_array(large, "large"))
    model.graph.initializer.append(numpy_helper.from_array(large, "free"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([0.5], np.float16), "half"))
    model.graph.input.append(helper.make_tensor_value_info("free", TensorProto.FLOAT, [300]))
    copy = onnx.ModelProto.FromString(model.SerializeToString())  # since saving changes it
    onnx.save(copy, "outside.onnx", save_as_external_data=True, size_threshold=100)
    for given in (model, "outside.onnx"):
        analysis = Constants()
        result = absint.analyze(given, with_=[analysis])
        found = [(item.where, item.message, item.data) for item in result.diagnostics if item.by]
        assert found == [
            ('Neg #2 (output "again")', "int64[2]", {"elements": [1, 2]}),
            ('Add #3 (output "y0")', "float32[300]", {"elements": large.tolist()}),
            ('Add #4 (output "y1")', "float32[2]", {"elements": [-0.0, float(np.float32(0.1))]}),
            ('Add #5 (output "y2")', "int64[2]", {"elements": [1, 2]}),
            ('Add #7 (output "y4")', "float16[1]", {"elements": [0.5]}),
            ('Neg If#8/then_branch/#0 (output "t")', "float32[1]", {"elements": [3.0]}),
        ], given
        assert np.signbit(found[2][2]["elements"][0])  # type: ignore[index]


def test_an_analysis_that_runs_alone_gives_its_findings() -> None:
    result = absint.analyze("model.onnx")
    analysis = Constants(result)
    found = analysis.reported(absint.fixpoint(result.graph, analysis))
    assert [item.where for item in found] == ['Identity Loop#3/body/#0 (output "again")']
    assert [item for item in result.diagnostics if item.by] == []


class Wanted(absint.BackwardAnalysis[ValueSet[Any]]):
    domain = FLAT

    def operator(self, node: int, outputs: Sequence[ValueSet[Any]]) -> list[ValueSet[Any]]:
        if all(one == FLAT.bottom for one in outputs):
            self.report(node, "idle", "no output needs it", severity=Severity.INFO)
        return [outputs[0]] * len(self.nodes[node].operands)


def test_backward_analyses_report_too() -> None:
    model = parsed("(float[N] x) => (float[N] y) { y = Relu (x) z = Neg (x) w = Exp (z) }")
    found = absint.analyze(model, with_=[Wanted()]).diagnostics
    assert [(item.where, item.code) for item in found] == [
        ('Neg #1 (output "z")', "idle"),
        ('Exp #2 (output "w")', "idle"),
    ]
