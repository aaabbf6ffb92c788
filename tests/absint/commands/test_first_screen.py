"""What a reader sees first: lines broken where a formula has a seam, equal findings once, names of options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import absint
from absint.cli import COMMANDS, run
from absint.diagnostics import Diagnostic, Severity
from absint.lattices.text.sheets import UNBROKEN, aligned, wrapped
from absint.show.text import diagnostics
from tests.absint.commands.cli_models import write_models


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("64*batch*past*seq + 4096*batch*seq + 64*batch", 40, ["64*batch*past*seq + 4096*batch*seq +", "  64*batch"]),
        ("batch >= 1 or past + seq == 0 or total % 8 == 0", 36,
         ["batch >= 1 or past + seq == 0 or", "  total % 8 == 0"]),
        ("4*batch*max((height + 3)//4, 1)*max((width + 3)//4, 1) >= detections", 60,
         ["4*batch*max((height + 3)//4, 1)*max((width + 3)//4, 1) >=", "  detections"]),
        ("1176*batch*((height + 1)//2)*((width + 1)//2)", 40, ["1176*batch*((height + 1)//2)*", "  ((width + 1)//2)"]),
        ("height % 4 == 0  (Concat node_cat_6: the inputs must agree)", 30,
         ["height % 4 == 0", "  ..."]),
    ],
)  # fmt: skip
def test_a_formula_is_broken_at_a_seam(text: str, width: int, lines: list[str]) -> None:
    found = list(wrapped(text, width, 2))
    assert "".join(found).replace(" ", "") == text.replace(" ", "")
    assert all(len(line) <= width for line in found)
    assert found[: len(lines) - 1] == lines[: len(lines) - 1]


def test_a_long_name_moves_no_other_in_a_pipe_and_is_broken_on_a_terminal() -> None:
    long = " + ".join(["w1*((width + 15)//16)"] * 5)
    rows = [("a", "one"), (long, "two")]
    assert list(aligned(rows, UNBROKEN)) == ["  a  one", f"  {long}  two"]
    assert all(len(line) <= 60 for line in aligned(rows, 60))
    assert list(aligned([("a", ""), ("long", "one"), ("",)], UNBROKEN)) == ["  a", "  long  one", ""]


def test_equal_findings_are_one_line_with_their_number() -> None:
    found = [
        Diagnostic(Severity.WARNING, "false-declaration", f"value_info {name!r}", "declared [N]") for name in "abc"
    ]
    found.append(Diagnostic(Severity.WARNING, "false-declaration", "value_info 'd'", "declared [M]"))
    assert [line.text for line in diagnostics(found)][1:] == [
        "4 warnings",
        "  value_info 'a', and 2 more: declared [N] [false-declaration]",
        "  value_info 'd': declared [M] [false-declaration]",
    ]
    found = [Diagnostic(Severity.ERROR, "cannot-run", f"Add {at}", f"found {at // 2}") for at in range(24)]
    lines = [line.text for line in diagnostics(found)][1:]
    assert len(lines) == 12
    assert lines[-1] == "  and 4 more [cannot-run] (all: --format json)"


def test_a_float_term_is_named_once(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 18]> g (float[1,3,H,W] x) => (float[a,b,c,d] y, float[a,b,c,d] z) {
        shape = Shape(x)
        sides = Slice(shape, two, four)
        floats = Cast<to=1>(sides)
        least = ReduceMin<keepdims=0>(floats)
        ratio = Div(most, least)
        wanted = Mul(floats, ratio)
        whole = Cast<to=7>(wanted)
        head = Slice(shape, zero, two)
        sizes = Concat<axis=0>(head, whole)
        y = Resize<mode="nearest">(x, , , sizes)
        z = Relu(y)
    }"""
    model = parser.parse_model(text)
    for name, value in {"zero": [0], "two": [2], "four": [4], "most": np.float32(800)}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    path = tmp_path / "resized.onnx"
    onnx.save(model, path)
    lines = str(absint.analyze(path)).splitlines()
    assert "  y  FLOAT [1, 3, w1, w2]" in lines
    assert sum("float32(H)" in line for line in lines) == 1


def test_one_name_for_one_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()
    for command in COMMANDS:
        assert run([command, "--help-all" if command not in ("site", "schema", "policies") else "--help"]) in (0, 2)
        assert not any(name in capsys.readouterr().out for name in ("--max-seconds", "--run-memory", "--out "))
    for options in (["--seconds", "9"], ["--max-seconds", "9"], ["--memory", "1GB"], ["--run-memory", "1GB"]):
        assert run(["check", "free.onnx", "N=1", "M=1", "K=1", *options]) == 0, options
    for options in (["--seconds", "0"], ["--max-seconds", "0"]):
        assert run(["analyze", "free.onnx", *options]) == 2
        assert capsys.readouterr().err == "absint: error: max_seconds=0 (--seconds): expected a number above 0\n"


def test_what_is_the_same_in_two_models_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()
    assert run(["diff", "free.onnx", "free.onnx"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[5:] == [lines[5]]
    assert lines[5].startswith("the same    contract, outputs, inputs, cost, ")


def test_prove_says_what_a_size_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--help"]) == 0
    assert "SIZE: of a symbol" in capsys.readouterr().out


def test_equal_notes_about_several_models_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[unk, unk] x) => (float[a, b] y) { y = Relu (x) }'
    for name in "abc":
        onnx.save(parser.parse_model(text), f"{name}.onnx")
    onnx.save(parser.parse_model(text.replace("unk, unk", "unk, unk, unk")), "d.onnx")
    assert run(["contract", "a.onnx", "b.onnx", "c.onnx", "d.onnx"]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("absint: note: a.onnx and 2 more: input 'x': 2 axes")
    assert second.startswith("absint: note: d.onnx: input 'x': 3 axes")
