"""The command line: what it prints, what it exits with, and what it never does to files."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import onnx
import pytest
from onnx import TensorProto, helper, parser

import absint
from absint.cli import COMMANDS, GROUPS, cli, run
from absint.commands.command import Shared
from absint.lattices.text.sheets import Line, rendered
from absint.questions.proofs.requirements import required
from absint.show.text import report, write

ROOT = Path(__file__).parents[3]
DECODER = ROOT / "examples" / "tiny_decoder.onnx"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info
node = helper.make_node


def saved(
    path: Path,
    nodes: list[onnx.NodeProto],
    outputs: list[onnx.ValueInfoProto],
    inputs: list[onnx.ValueInfoProto] | None = None,
) -> str:
    inputs = [value("x", FLOAT, ["N", 4])] if inputs is None else inputs
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=opsets), path)
    return str(path)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Known contents, an invented symbol, and an operator that nobody knows."""
    monkeypatch.chdir(tmp_path)
    nodes = [
        node("Shape", ["x"], ["dims"], name="shape"),
        node("Relu", ["x"], ["a"], name="relu"),
        node("NonZero", ["a"], ["found"], name="nz"),
        node("Mystery", ["a"], ["m"], domain="my", name="odd"),
    ]
    outputs = [value("found", INT64, None), value("m", FLOAT, None), value("dims", INT64, None)]
    saved(tmp_path / "small.onnx", nodes, outputs)
    return "small.onnx"


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A loop that appends x to c in each trip."""
    monkeypatch.chdir(tmp_path)
    body = helper.make_graph(
        [node("Identity", ["go"], ["again"]), node("Concat", ["c", "x"], ["c2"], axis=0)],
        "body",
        [value("i", INT64, []), value("go", BOOL, []), value("c", FLOAT, None)],
        [value("again", BOOL, []), value("c2", FLOAT, None)],
    )
    inputs = [value("x", FLOAT, ["N", 4]), value("m", INT64, [])]
    saved(
        tmp_path / "loop.onnx",
        [node("Loop", ["m", "", "x"], ["y"], name="loop", body=body)],
        [value("y", FLOAT, None)],
        inputs,
    )
    return "loop.onnx"


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """MatMul of (N, 4) with itself transposed in the wrong place, twelve times: 4 against 5."""
    monkeypatch.chdir(tmp_path)
    nodes = [node("MatMul", ["x", "w"], [f"y{k}"], name=f"bad{k}") for k in range(12)]
    outputs = [value(f"y{k}", FLOAT, None) for k in range(12)]
    saved(tmp_path / "bad.onnx", nodes, outputs, [value("x", FLOAT, ["N", 4]), value("w", FLOAT, [5, 2])])
    return "bad.onnx"


# What analyze prints


def test_analyze_shows_inputs_outputs_totals_and_diagnostics(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", small]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert (
        printed.out
        == """\
small.onnx: 4 nodes, opset ai.onnx 18, my 1

inputs
  x  FLOAT [N, 4]

outputs
  found  INT64 [2, _d0]
  m      unknown
  dims   INT64 [2] = [N, 4]

totals
  symbols  N
  values   4 computed, 1 of unknown rank
  dims     5: 3 concrete, 1 expressions, 1 unknown
  no rule  my::Mystery (1)

unknown until a run
  _d0  0 <= _d0 <= 4*N  count(a): NonZero nz; first at found

1 warning
  my::Mystery: no transfer rule (1 node); outputs are unknown [no-rule]
"""
    )


def test_analyze_shows_what_is_required_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = """<ir_version: 9, opset_import: ["": 18]>
    g (float[N, K, H] x, float[K, 8] w, bool c) => (float[] y, float[] z) {
        a = MatMul(x, w)  b = Relu(a)
        y = If(c) <then_branch = t () => (float[] p) <int64[2] to = {-1, 32}> { p = Reshape(b, to) },
                   else_branch = e () => (float[] q) <int64[2] to = {-1, 16}> { q = Reshape(b, to) }>
        z = MatMul(x, w)
    }"""
    onnx.save(parser.parse_model(text), "m.onnx")
    assert run(["analyze", "m.onnx"]) == 0
    shown = capsys.readouterr().out
    (rows,) = re.findall(r"\nrequired\n(.*?)\n(?:\n|$)", shown, re.DOTALL)
    assert rows == "  H == K  MatMul #0: inner dimensions of A and B must agree, and 1 more node"
    assert run(["analyze", "m.onnx", "K=4", "H=4"]) == 0
    assert "\nrequired\n" not in capsys.readouterr().out


CONVOLVED = """<ir_version: 9, opset_import: ["": 18]> g (float[N, 1, T] x, float[1, 1, 9] w) => (float[] y) {
    a = Conv<strides = [3]>(x, w)  b = Conv<strides = [3]>(a, w)  c = Relu(b)  y = Add(c, c)
}"""


@pytest.mark.parametrize("model", [DECODER, ROOT / "examples" / "tiny_detector.onnx", CONVOLVED])
def test_what_analyze_shows_as_required_holds_in_every_run(model: Path | str) -> None:
    result = absint.analyze(model if isinstance(model, Path) else parser.parse_model(model))
    found = required(result)
    assert found
    for needed in found:
        assert needed.nodes
        assert result.prove(needed.relation, evidence="none")


def test_of_bounds_the_strongest_is_shown() -> None:
    found = required(absint.analyze(parser.parse_model(CONVOLVED)))
    assert [(str(needed.relation), len(needed.nodes)) for needed in found] == [("T >= 33", 1)]


def test_many_values_of_one_type_are_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = ", ".join(f"float[N, past] c{k}" for k in range(12))
    text = f'<ir_version: 9, opset_import: ["": 18]> g (float[N] x, {cache}) => (float[] y) {{ y = Relu(x) }}'
    onnx.save(parser.parse_model(text), "m.onnx")
    assert run(["analyze", "m.onnx"]) == 0
    shown = capsys.readouterr().out
    assert (
        "  c1          FLOAT [N, past]\n  c2          FLOAT [N, past]\n  and 9 more  FLOAT [N, past]  (all: --v"
        in shown
    )
    assert "c3 " not in shown
    assert run(["analyze", "m.onnx", "--values"]) == 0
    assert "\n  c11  FLOAT [N, past]\n" in capsys.readouterr().out


def test_no_line_is_wider_than_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    write([Line("  " + "a title of many words, " * 9, "red"), Line("short"), Line("x" * 70)], out)
    *lines, short, unbroken = out.getvalue().splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert [line[:5] for line in lines] == ["  a t", *["    " + line[4] for line in lines[1:]]]
    assert " ".join(" ".join(lines).split()) == ("a title of many words, " * 9).strip()
    assert (short, unbroken) == ("short", "x" * 70)
    assert "\x1b" not in out.getvalue().replace("\x1b[0m", "")


def test_values_come_in_execution_order_with_their_operators(growing: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", growing, "--values"]) == 0
    assert (
        """
values
  y  FLOAT [N*max(m, 0) + N, 4]  (Loop)

values of loop/body
  i      INT64 [] = _d0  (Loop)
  go     BOOL [] = true  (Loop)
  c      FLOAT [N*_d0 + N, 4]  (Loop)
  again  BOOL [] = true  (Identity)
  c2     FLOAT [N*_d0 + 2*N, 4]  (Concat)

totals
"""
        in capsys.readouterr().out
    )


def test_lines_fit_a_terminal_and_break_between_dims() -> None:
    result = absint.analyze(DECODER)
    for width in (40, 80, 120):
        lines = [line.text for line in rendered(report(result, values=True), width)]
        title = " ".join(lines[: lines.index("")])
        assert title.endswith("opset ai.onnx 17")
        assert [line for line in lines if len(line) > width and " " in line.strip()] == []
    narrow = "\n".join(line.text for line in rendered(report(result), 44))
    assert (
        """
inputs
  input_ids       INT64 [batch, seq]
  attention_mask  INT64 [batch, past + seq]
  past_key_values.0.key
                  FLOAT [batch, 2, past, 8]
"""
        in narrow
    )
    narrow = "\n".join(line.text for line in rendered(report(result), 40))
    assert (
        """
  present.0.key    FLOAT [batch, 2,
                   past + seq, 8]
"""
        in narrow
    )


def test_a_piped_row_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(DECODER), "--values"]) == 0
    out = capsys.readouterr().out
    for name in absint.analyze(DECODER).shapes:
        if name.startswith("/layers.0/"):
            (line,) = [line for line in out.splitlines() if line.startswith(f"  {name} ")]
            assert line.endswith(")")


def test_require_lists_what_is_missing(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", small, "--require", "shapes", "--require", "ranks", "--require", "rules"]) == 1
    assert capsys.readouterr().out.endswith("""
required shapes: 2 missing
  found: axis 1 of [2, _d0] (NonZero)
  m: nothing is known (my::Mystery)

required ranks: 1 missing
  m: nothing is known (my::Mystery)

required rules: 1 missing
  my::Mystery: no rule (1 node)
""")
    assert run(["analyze", str(DECODER), "--require", "rules"]) == 0
    assert capsys.readouterr().out.endswith("\nrequired rules: complete\n")


def test_set_and_assume(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", small, "--set", "N=3"]) == 0
    assert "  x  FLOAT [3, 4]\n" in capsys.readouterr().out
    assert run(["analyze", small, "--assume", "N == 5", "--assume", "N >= 2"]) == 0
    assert "  x  FLOAT [5, 4]\n" in capsys.readouterr().out


def test_trace_shows_each_change(growing: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", growing, "--trace", "loop/body/c", "--trace", "c2", "--trace", "x"]) == 0
    assert (
        """
trace of loop/body/c (Loop loop)
  visit 1  FLOAT [N, 4]
  visit 2  FLOAT [N*_d0 + N, 4]

trace of loop/body/c2 (Concat loop/body/#1)
  visit 1  FLOAT [2*N, 4]
  visit 2  FLOAT [N*_d0 + 2*N, 4]

trace of x (input x)
  visit 1  FLOAT [N, 4]
  (where a dim comes from: absint explain loop.onnx 'loop/body/c[0]')

totals
"""
        in capsys.readouterr().out
    )


def test_timings(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    absint.purge()
    assert run(["analyze", small, "--timings"]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"\ntime\n  load +[\d.]+ ms\n  lower +[\d.]+ ms\n  rounds +[\d.]+ ms\n  fixpoint +[\d.]+ ms\n", text
    )
    assert re.search(r"\n  visits +\d+, \d+ rules run, [\d.]+ % remembered\n\nrules by time\n  [\w:]+ +[\d.]+ ms", text)
    absint.purge()
    assert run(["analyze", small, "--timings", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["timings"]
    assert found["visits"] >= found["rules_run"] == sum(rule["runs"] for rule in found["rules"].values()) > 0
    assert set(found["seconds"]) == {"load", "lower", "rounds", "fixpoint"}


def test_json(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["analyze", small, "--format", "json", "--require", "rules", "--trace", "a"]
    assert run(arguments) == 1
    found = json.loads(capsys.readouterr().out)
    tensor = {"kind": "tensor", "dtype": "FLOAT", "shape": ["N", 4]}
    dims = {"kind": "tensor", "dtype": "INT64", "shape": [2], "contents": {"shape": [2], "elements": ["N", 4]}}
    nonzero = {"kind": "tensor", "dtype": "INT64", "shape": [2, "_d0"]}
    assert found == {
        "schema": "absint.analyze/2",
        "absint": absint.__version__,
        "model": "small.onnx",
        "assume": [],
        "semantics": "either",
        "can_run": True,
        "policy": {"name": "sound", "sound": True, "summary": "claims what every run shows"},
        "symbols": ["N"],
        "elements": [],
        "fresh_symbols": [
            {
                "name": "_d0",
                "cause": "data",
                "why": "count(a)",
                "node": "nz",
                "operator": "NonZero",
                "path": "",
                "least": 0,
                "most": "4*N",
            }
        ],
        "inputs": [{"name": "x", **tensor}],
        "outputs": [{"name": "found", **nonzero}, {"name": "m", "kind": "unknown"}, {"name": "dims", **dims}],
        "values": [
            {"path": "", "name": "dims", "operator": "Shape", "node": "shape", **dims},
            {"path": "", "name": "a", "operator": "Relu", "node": "relu", **tensor},
            {"path": "", "name": "found", "operator": "NonZero", "node": "nz", **nonzero},
            {"path": "", "name": "m", "operator": "my::Mystery", "node": "odd", "kind": "unknown"},
        ],
        "totals": {"values": 4, "values_of_unknown_rank": 1, "dims": 5, "concrete": 3, "expression": 1, "unknown": 1},
        "operators_without_rule": {"my::Mystery": 1},
        "operators_inferred_by_schema": {},
        "diagnostics": [
            {
                "severity": "warning",
                "code": "no-rule",
                "where": "my::Mystery",
                "message": "no transfer rule (1 node); outputs are unknown",
            }
        ],
        "trusted": [],
        "assuming": [],
        "definitions": {},
        "missing": {"rules": ["my::Mystery: no rule (1 node)"]},
        "trace": [{"value": "a", "node": "Relu relu", "changes": [{"visit": 1, **tensor}]}],
    }


def test_a_model_that_cannot_run_exits_with_1_and_shows_the_rest(
    failing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", failing]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^  y0 +FLOAT ", out, re.MULTILINE)
    assert "\n12 errors\n  MatMul bad0, and 11 more: can never run: " in out
    assert out.count("[cannot-run]\n") == 1
    assert run(["analyze", failing, "--format", "json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["diagnostics"]) == 12


def test_strict_passes_over_what_is_no_fault_of_the_model(small: str) -> None:
    assert run(["analyze", small]) == 0
    assert run(["analyze", small, "--strict"]) == 0


def test_dims_too_large_to_read_are_told_by_their_size() -> None:
    term = absint.parse(" + ".join(f"max(n{k}, m{k})*k{k}" for k in range(60)))
    from absint.solution.described import brief

    assert brief(absint.Shape([term, 2])).startswith("[<")
    assert brief(absint.Shape([term, 2])).endswith(" terms over k0, k1, k10, k11>, 2]")


# Bad usage


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze"], "Missing argument 'MODEL'. (see absint analyze --help)"),
        (["analyze", "small.onnx", "--require", "all"],
         "Invalid value for '--require': 'all' is not one of 'shapes', 'ranks', 'rules'. (see absint analyze --help)"),
        (["analyze", "small.onnx", "--set", "N"], "N: expected a symbol with a size, as batch=4, "
         "a range, as seq=1..2048, or a shape of an input, as image=1x3x224x224"),
        (["analyze", "small.onnx", "--set", "N=two"], "N=two: expected a symbol with a size, as batch=4, "
         "a range, as seq=1..2048, or a shape of an input, as image=1x3x224x224"),
        (["analyze", "small.onnx", "--set", "N=-1"], "N=-1: a size cannot be negative"),
        (["analyze", "small.onnx", "--set", "N=99999999999"], "N=99999999999: a size is below 2**31"),
        (["analyze", "small.onnx", "--set", "N=1", "--set", "N=2"], "N=2: N is already given, as N=1"),
        (["analyze", "small.onnx", "--set", "M=2"],
         "M=2: no input has a symbol 'M'; the input symbols are: N"),
        (["analyze", "small.onnx", "--assume", "N +"],
         "assumption 'N +' does not parse: expected a number, a name or '(', found the end, at column 4"),
        (["analyze", "small.onnx", "--assume", "N >= 3", "--assume", "N == 2"],
         "the assumptions contradict each other: N >= 3, N == 2"),
        (["analyze", "small.onnx", "--trace", "fuond"],
         "--trace fuond: the model has no such value; did you mean 'found'?"),
        (["analyze", "small.onnx", "--trace", "qqqqqq"],
         "--trace qqqqqq: the model has no such value; '--values' lists the values"),
        (["annotate", "small.onnx"], "give one of -o OUT and --in-place"),
        (["annotate", "small.onnx", "-o", "small.onnx"],
         "small.onnx is the model itself: give another file to -o, or --force to replace it"),
        (["annotate", "small.onnx", "-o", "."], ". is a directory: give the path of a file in it"),
        (["annotate", "small.onnx", "-o", "nowhere/out.onnx"],
         "nowhere/out.onnx cannot be written: nowhere is not a directory"),
        (["annotate", "gone.onnx", "-o", "out.onnx"], "gone.onnx does not exist"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line(
    small: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"absint: error: {message}\n"
    assert os.listdir() == ["small.onnx"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("analyse", "'analyse'; did you mean 'analyze'?"),
        ("chek", "'chek'; did you mean 'check'?"),
        ("xyzzy", "'xyzzy'."),
        ("small.onnx", "'small.onnx'; it is a file: absint analyze small.onnx"),
    ],
)
def test_an_unknown_command_is_one_line(
    name: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.onnx").touch()
    assert run([name, "x.onnx"]) == 2
    assert capsys.readouterr().err == f"absint: error: No such command {found} (see absint --help)\n"


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"absint {absint.__version__}\n"
    for arguments in ([], ["--help"], ["-h"]):
        assert run(arguments) == 0
        assert "Usage: absint [OPTIONS] COMMAND" in capsys.readouterr().out.replace("[COMMAND]", "COMMAND")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_names_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 30
    assert run([command, "--help-all"]) == 0
    whole = capsys.readouterr().out
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    options = [p for p in found.params if isinstance(p, click.Option) and not p.hidden]
    assert [p.opts[0] for p in options if p.opts[0] not in whole] == []
    hidden = [p for p in options if not isinstance(p, Shared) and p.opts[0] not in short]
    assert hidden == []
    folded = sum(isinstance(p, Shared) for p in options)
    assert (f"{folded} that many commands take" in " ".join(short.split())) == (folded > 0)


def test_help_shows_every_command_in_one_line_and_loads_nothing_heavy() -> None:
    code = """
import sys
from absint.cli import COMMANDS, run
assert run(["--help"]) == 0
heavy = {"z3", "onnx", "networkx", "numpy", "rich", "absint.solver", "absint.transfer"} & set(sys.modules)
assert not heavy, heavy
for command in COMMANDS:
    assert run([command, "--help"]) == 0
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    text = done.stdout.partition("\nUsage:")[0]
    listed = []
    for heading, names in GROUPS.items():
        lines = text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0].splitlines()
        assert [line.split(maxsplit=1) for line in lines] == [[*item] for item in names.items()]
        listed += lines
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_policies(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  sound            sound    claims what every run shows"
    assert [line.split()[0] for line in lines] == list(absint.POLICIES)
    assert [line.split()[1] for line in lines] == ["sound", *["unsound"] * (len(lines) - 1)]
    assert run(["policies", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "absint.policies/1"
    assert found["policies"][0] == {"name": "sound", "sound": True, "summary": "claims what every run shows"}
    assert [policy["name"] for policy in found["policies"]] == list(absint.POLICIES)


def test_an_unexpected_error_asks_for_a_report(
    small: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on\nline two")

    monkeypatch.setattr("absint.commands.analysis.analyze", broken)
    assert run(["analyze", small]) == 2
    assert capsys.readouterr().err == (
        "absint: error: internal error, please report it: ZeroDivisionError: on line two "
        "(ABSINT_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("ABSINT_DEBUG", "1")
    assert run(["analyze", small]) == 2
    assert capsys.readouterr().err.startswith("Traceback (most recent call last):\n")


def test_an_error_in_a_text_is_followed_by_the_text_and_a_caret(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", small, "N == 3", "a[0] == found[2]"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert (
        printed.err
        == """\
absint: error: axis 2 is out of range: 'found' has rank 2, its axes are -2 to 1
    a[0] == found[2]
                  ^
"""
    )


def test_only_a_caret_makes_an_error_longer_than_a_line(
    small: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for message, shown in (
        ("one\ntwo\nthree", "one two three"),
        ("one\n    two\n    three", "one two three"),
        ("one\n    ^", "one ^"),
        ("steer\x1b[2J\n    the\x1b[31m\n    ^", "steer\\x1b[2J\n    the\\x1b[31m\n    ^"),
        ("long " * 400, ("long " * 400)[:990]),
    ):

        def raising(*_: object, text: str = message, **__: object) -> None:
            raise absint.UsageError(text)

        monkeypatch.setattr("absint.commands.analysis.analyze", raising)
        assert run(["analyze", small]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"absint: error: {shown}"[:1005])
        assert err.count("\n") == shown.count("\n") + 1
        assert len(err) <= 1020


@pytest.mark.parametrize("command", ["prove", "equal", "contract", "check", "explain"])
def test_each_command_refuses_what_is_no_model(command: str, small: str, capsys: pytest.CaptureFixture[str]) -> None:
    rest = {"prove": ["N == 1"], "explain": ["a"]}.get(command, [])
    Path("cut.onnx").write_bytes(Path(small).read_bytes()[:100])
    assert run([command, "cut.onnx", *rest]) == 2
    assert capsys.readouterr().err == (
        "absint: error: cut.onnx: not an ONNX model, or truncated (100 bytes do not parse as protobuf)\n"
    )
    assert run([command, "gone.onnx", *rest]) == 2
    assert capsys.readouterr().err == "absint: error: gone.onnx does not exist\n"


def test_the_worst_of_several_answers_counts() -> None:
    from absint.commands.command import FINE, NO, UNDECIDED, worst

    assert worst([]) == FINE
    assert worst([FINE, FINE]) == FINE
    assert worst([FINE, UNDECIDED, FINE]) == UNDECIDED
    assert worst([UNDECIDED, NO, FINE]) == NO


def test_an_interrupt_is_no_traceback(
    small: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("absint.commands.analysis.analyze", interrupted)
    handler = signal.getsignal(signal.SIGINT)
    assert run(["analyze", small]) == 130
    assert signal.getsignal(signal.SIGINT) is handler  # the process belongs to its caller
    assert capsys.readouterr().err == "\nabsint: interrupted\n"


def test_a_closed_pipe_is_quiet() -> None:
    for form in ("text", "json"):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "absint", "analyze", str(DECODER), "--values", "--format", form]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, timeout=60, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b"")


def test_progress_is_shown_for_large_models_on_a_terminal_only(
    small: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", small]) == 0
    plain = capsys.readouterr()
    monkeypatch.setattr("absint.commands.analysis.LARGE_MODEL", 4)
    assert run(["analyze", small]) == 0
    assert capsys.readouterr() == plain
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["analyze", small]) == 0
    shown = capsys.readouterr()
    assert shown.out == plain.out
    assert "analysing" in shown.err


# annotate


def test_annotate_writes_a_model(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["annotate", small, "-o", "out.onnx"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "out.onnx: value_info of 1 value\n"
    assert printed.err == (
        "1 warning\n  my::Mystery: no transfer rule (1 node); outputs are unknown [no-rule]\n"
        "absint: note: it is not known whether the copy loads: onnxruntime does not load the model itself: "
        "Fatal error: my:Mystery(-1) is not a registered function/op\n"
    )
    expected = absint.analyze(small).annotate()
    assert onnx.load("out.onnx") == expected
    assert sorted(os.listdir()) == ["out.onnx", "small.onnx"]
    assert os.stat("out.onnx").st_mode == os.stat("small.onnx").st_mode


def test_annotate_passes_its_options_on(small: str) -> None:
    assert run(["annotate", small, "-o", "out.onnx", "--outputs", "--merge", "override"]) == 0
    assert onnx.load("out.onnx") == absint.analyze(small).annotate("override", outputs=True)


def test_annotate_replaces_the_model_only_with_force(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.symlink(small, "link.onnx")
    before = Path(small).read_bytes()
    assert run(["annotate", small, "-o", "link.onnx"]) == 2
    assert capsys.readouterr().err == (
        "absint: error: link.onnx is the model itself: give another file to -o, or --force to replace it\n"
    )
    assert Path(small).read_bytes() == before
    assert run(["annotate", small, "-o", "link.onnx", "--force"]) == 0
    assert os.path.islink("link.onnx")
    assert onnx.load(small).graph.value_info


def test_a_failed_write_leaves_nothing_behind(
    small: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out.onnx").write_bytes(b"precious")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "out.onnx")

    monkeypatch.setattr(os, "replace", full)
    assert run(["annotate", small, "-o", "out.onnx"]) == 2
    assert capsys.readouterr().err == "absint: error: out.onnx cannot be written: No space left on device\n"
    assert Path("out.onnx").read_bytes() == b"precious"
    assert sorted(os.listdir()) == ["out.onnx", "small.onnx"]


def test_annotate_writes_into_a_pipe(small: str) -> None:
    command = [sys.executable, "-m", "absint", "annotate", str(Path(small).resolve()), "-o", "-"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60)
    assert onnx.load_from_string(done.stdout) == absint.analyze(small).annotate()


def test_annotate_says_where_the_weights_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir("elsewhere")
    proto = onnx.load(DECODER)
    onnx.save(proto, "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert run(["annotate", "m.onnx", "-o", "elsewhere/out.onnx"]) == 0
    assert capsys.readouterr().err == (
        "absint: note: the weights stay in weights.bin, which runtimes look for beside the model: "
        f"copy or link them into {tmp_path}/elsewhere, or use --copy-weights\n"
    )
    assert run(["annotate", "m.onnx", "-o", "weights.bin"]) == 2
    assert capsys.readouterr().err == (
        "absint: error: weights.bin holds weights of the model: give another file to -o\n"
    )


def test_text_for_a_pipe_loads_no_terminal_library(small: str) -> None:
    code = (
        "import sys; from absint.cli import GROUPS, run; code = run(['analyze', sys.argv[1]]); "
        "assert not code; assert not {'rich', 'z3'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(small).resolve())], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_the_help_of_a_command_begins_with_its_line_in_the_list() -> None:
    for name, text in COMMANDS.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.get_short_help_str(200) == text


def test_a_shell_completes_names_of_commands_without_their_modules() -> None:
    code = (
        "import sys, click; from absint.cli import cli\n"
        "found = cli.shell_complete(click.Context(cli), 'ce')\n"
        "assert [item.value for item in found] == ['certify'] and found[0].help\n"
        "assert 'absint.commands.prove' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("absint analyze --sem", ["plain,--semantics"]),
        ("absint analyze --semantics onnxr", ["plain,onnxruntime"]),
        ("absint analyze examp", ["file,examp"]),
        ("absint analyze a.onnx b", ["file,b"]),
        ("absint diff a.onnx b", ["file,b"]),
        ("absint dynamize a", ["file,a"]),
        ("absint lint mod", ["file,mod"]),
        ("absint report a.onnx -o out", ["file,out"]),
        ("absint analyze a.onnx --rules r", ["file,r"]),
        ("absint schema cert", []),
    ],
)
def test_a_shell_completes_options_and_files(
    words: str, found: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_ABSINT_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        cli.main(prog_name="absint", args=[])
    assert capsys.readouterr().out.split() == found


def test_a_relation_with_one_sign_too_few_is_named(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", small, "y[0] = 3"]) == 2
    assert capsys.readouterr().err == "absint: error: y[0] = 3: reads as a size; a relation has == in the place of =\n"


def test_an_empty_path_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", ""]) == 2
    assert capsys.readouterr().err == "absint: error: the path of the model is an empty text\n"
