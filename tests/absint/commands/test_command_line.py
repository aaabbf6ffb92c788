"""The behaviour that all commands share: several models, standard input, rules of one's own."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser

from absint.cli import run
from absint.commands.models import split
from absint.commands.sizes import read_axes, read_place
from absint.errors import UsageError
from tests.absint.commands.cli_models import write_models

RULES = """import absint

@absint.rule("Halve", inputs="X", domain="my")
def halve(op: absint.Op) -> absint.Tensor:
    x = op.tensor("X")
    return absint.Tensor(x.dtype, absint.Shape([x.shape[0] // 2]))
"""


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()
    text = '<ir_version: 10, opset_import: ["": 18, "my": 1]> g (float[N] x) => (float[M] y) {y = my.Halve(x)}'
    onnx.save(parser.parse_model(text), "halve.onnx")


# Several models


@pytest.mark.parametrize(
    ("arguments", "code", "lines"),
    [
        (["contract", "free.onnx", "unet.onnx"], 0, ["free.onnx: every size of the inputs is legal", ""]),
        (["contract", "never.onnx", "free.onnx"], 1, ["never.onnx: no size of the inputs is legal, this model can "
                                                     "never run"]),
        (["check", "free.onnx", "product.onnx", "N=1..", "K=1..8"], 1, ["free.onnx:", "product.onnx:"]),
        (["check", "N=1", "K=1", "M=1", "free.onnx"], 0, ["legal at N=1, M=1, K=1, and no data make it fail"]),
        (["prove", "free.onnx", "unet.onnx", "1 == 1", "--assume", "1 == 1"], 0, ["free.onnx:", "unet.onnx:"]),
        (["equal", "free.onnx", "fixed.onnx"], 0, []),
        (["cost", "free.onnx", "fixed.onnx", "--top", "0"], 0, []),
        (["explain", "free.onnx", "fixed.onnx", "y[0]"], 0, ["free.onnx:", "fixed.onnx:"]),
    ],
)  # fmt: skip
def test_each_model_has_its_answer(
    arguments: list[str], code: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    assert set(lines) <= set(printed.out.splitlines())


def test_an_answer_of_several_is_that_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    alone = []
    for name in ("free.onnx", "unet.onnx"):
        assert run(["analyze", name]) == 0
        alone.append(capsys.readouterr().out)
    assert run(["analyze", "free.onnx", "unet.onnx"]) == 0
    assert capsys.readouterr().out == "\n".join(alone)


def test_the_worst_code_and_an_error_in_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "free.onnx", "gone.onnx", "product.onnx", "N=1", "M=1", "K=1"]) == 2
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "absint: error: gone.onnx does not exist",
        "absint: error: product.onnx: M=1: no input has a symbol 'M'; the input symbols are: N, K, D",
    ]
    assert printed.out.startswith("free.onnx:\nlegal at N=1, M=1, K=1")


def test_arguments_by_kind() -> None:
    assert split(["a.onnx", "N=1", "b", "./c=4", "x/y=1..2", "d=e/f.onnx"], has_others=False) == (
        ("a.onnx", "b", "./c=4", "d=e/f.onnx"), ("N=1", "x/y=1..2"), (),
    )  # fmt: skip
    assert split(["a.onnx", "N == 1", "N=1", "N>=4", "N<=4", "x=1x2", "b.onnx", "q=r"], has_others=True) == (
        ("a.onnx", "b.onnx"), ("N=1", "x=1x2"), ("N == 1", "N>=4", "N<=4", "q=r"),
    )  # fmt: skip


# Standard input


@pytest.mark.parametrize(
    "arguments",
    [["analyze"], ["contract"], ["cost"], ["equal"], ["check", "N=1", "M=1", "K=1"], ["prove", "N >= 0"],
     ["explain", "y[0]"], ["audit", "--no-confirm"], ["contract", "--format", "python"], ["annotate", "-o", "out.onnx"],
     ["diff", "free.onnx"]],
)  # fmt: skip
def test_standard_input_is_a_model(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = arguments
    content = Path("free.onnx").read_bytes()

    class Input:
        buffer = io.BytesIO(content)

    monkeypatch.setattr(sys, "stdin", Input)
    assert run([command, *(["free.onnx", "-"] if command == "diff" else ["-", *rest])]) == 0
    assert capsys.readouterr().err == ""
    if command == "annotate":
        assert onnx.load("out.onnx").graph.value_info or onnx.load("out.onnx").graph.output


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "-", "-"]) == 2
    assert capsys.readouterr().err == "absint: error: - is given twice: standard input has one model\n"

    class Input:
        buffer = io.BytesIO(b"")

    monkeypatch.setattr(sys, "stdin", Input)
    assert run(["analyze", "-"]) == 2
    assert capsys.readouterr().err == "absint: error: standard input: empty, not an ONNX model\n"
    monkeypatch.setattr("absint.commands.analysis.MAX_FILE", 4)
    Input.buffer = io.BytesIO(bytes(9))
    assert run(["analyze", "-"]) == 2
    assert capsys.readouterr().err == (
        "absint: error: standard input holds more than 4 bytes: give the path of a file\n"
    )


# Rules of one's own


@pytest.mark.parametrize(
    "more",
    ["", "RULES = [halve]\n", "TABLE = absint.TABLE.extended([halve])\ndel halve\n", "RULES = (halve,)\ndel halve\n"],
)
def test_rules_in_a_file(more: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(RULES + more)
    assert run(["analyze", "halve.onnx", "--rules", "mine.py", "--require", "shapes"]) == 0
    assert "\n  y  FLOAT [N//2]\n" in capsys.readouterr().out
    for command in (["prove", "halve.onnx", "y[0] == N // 2"], ["check", "halve.onnx", "N=4"], ["cost", "halve.onnx"],
                    ["contract", "halve.onnx"], ["equal", "halve.onnx"], ["explain", "halve.onnx", "y[0]"],
                    ["annotate", "halve.onnx", "-o", "out.onnx"], ["audit", "halve.onnx"]):  # fmt: skip
        assert run([*command, "--rules", "mine.py"]) in (0, 3), command
        capsys.readouterr()


def test_a_file_of_rules_finds_its_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    Path("near_by_name.py").write_text(RULES)
    Path("mine.py").write_text("from near_by_name import halve\n")
    assert run(["analyze", "halve.onnx", "--rules", "mine.py", "--require", "shapes"]) == 0
    capsys.readouterr()
    assert sys.path[0] != str(Path.cwd())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import absint\nabsint.rule(\n", "--rules mine.py: line 2: '(' was never closed"),
        ("import absint\n\n1 // 0\n", "--rules mine.py: line 3: ZeroDivisionError: integer division or modulo by zero"),
        ("def f():\n    raise KeyError\nf()\n", "--rules mine.py: line 2: KeyError"),
        ("raise SystemExit(4)\n", "--rules mine.py: line 1: SystemExit: 4"),
        ("import no_such_module_at_all\n",
         "--rules mine.py: line 1: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("import absint\nabsint.rule('', inputs='X')\n",
         "--rules mine.py: line 2: RuleError: rule: names must list at least one operator, as in @rule('Scale', "
         "'X -> Y')"),
        ("x = '\0'\n", "--rules mine.py: source code string cannot contain null bytes"),
        ("import near_by_name_broken\n", "--rules mine.py: near_by_name_broken.py, line 1: invalid syntax"),
        ("x = 3\n",
         "--rules mine.py: defines no rule: decorate a function with @absint.rule(names, inputs=...)"),
        (None, "--rules mine.py does not exist"),
    ],
)  # fmt: skip
def test_errors_in_a_file_of_rules_are_one_line(
    text: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("near_by_name_broken.py").write_text("= 3\n")
    if text is not None:
        Path("mine.py").write_text(text)
    assert run(["analyze", "halve.onnx", "--rules", "mine.py"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.replace(f"{Path.cwd()}/", "")) == ("", f"absint: error: {message}\n")


# Values and axes


def test_places() -> None:
    assert read_place("logits[-1]") == ("logits", -1)
    assert read_place("a[0][1]") == ("a[0]", 1)
    assert read_place("a[0]", {"a[0]"}) == ("a[0]", None)
    assert read_place("logits") == ("logits", None)
    assert read_axes(["x[0]=batch", "x[1]=seq"]) == {"x": {0: "batch", 1: "seq"}}
    for texts, message in (
        (["x=batch"], "x=batch: expected an axis of a value and its symbol, as input_ids[0]=batch"),
        (["x[0]"], "x[0]: expected an axis of a value and its symbol, as input_ids[0]=batch"),
        (["x[0]=a", "x[0]=b"], "x[0]=b: x[0] is already given, as a"),
    ):
        with pytest.raises(UsageError) as caught:
            read_axes(texts)
        assert str(caught.value) == message


def test_trace_and_explain_name_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    loop = """<ir_version: 10, opset_import: ["": 18]> g (float[N] x, int64 trips, bool go) => (y) {
        y = Loop(trips, go, x) <
            body = b (int64 i, bool c, float[M] a) => (bool c, float[K] z) {z = Concat<axis=0>(a, a)}
        >
    }"""
    onnx.save(parser.parse_model(loop), "loop.onnx")
    assert run(["analyze", "loop.onnx", "--trace", "y"]) == 0
    assert "\n  (where a dim comes from: absint explain loop.onnx 'y[0]')\n" in capsys.readouterr().out
    assert run(["explain", "loop.onnx", "y[0]"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "(a loop is involved: absint analyze loop.onnx --trace y shows its visits)"
    assert run(["explain", "free.onnx", "y[0]"]) == 0
    assert "--trace" not in capsys.readouterr().out
