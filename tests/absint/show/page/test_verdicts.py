"""Verdicts on claims in the page of a model."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest
from onnx import parser

from absint.cli import run

LIE = """<ir_version: 9, opset_import: ["": 18]> lie (float[N, M] x) => (float[N, M] y)
{ y = Concat <axis=0> (x, x) }"""


def text_of(file: Path) -> str:
    """The document that reads without scripts, without tags."""
    body = file.read_text("utf-8").partition("<body>")[2].partition("<script")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def test_declarations_and_tools_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, page = tmp_path / "lie.onnx", tmp_path / "page.html"
    onnx.save(parser.parse_model(LIE), model)
    assert run(["report", str(model), "-o", str(page), "--audit", "--tool", "onnx"]) == 0
    assert capsys.readouterr().out == f"{page}: 1 node\n"
    text = text_of(page)
    assert "declared: 3 claims: 2 proved, 1 refuted" in text
    assert re.search(r"y\[0\] == N refuted N=\d+, M=\d+ y\[0\] is \d+, not \d+", text)
    assert re.search(r"onnx [\d.]+: 2 claims: 2 proved", text)


def test_without_an_option_nothing_is_judged(tmp_path: Path) -> None:
    model, page = tmp_path / "lie.onnx", tmp_path / "page.html"
    onnx.save(parser.parse_model(LIE), model)
    assert run(["report", str(model), "-o", str(page)]) == 0
    assert "Claims, judged" not in text_of(page)


def test_an_unknown_tool_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, page = tmp_path / "lie.onnx", tmp_path / "page.html"
    onnx.save(parser.parse_model(LIE), model)
    assert run(["report", str(model), "-o", str(page), "--tool", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err
    assert not page.exists()
