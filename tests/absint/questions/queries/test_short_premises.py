"""Numeric premises in short: largest sizes stand for long ones, and imply each of them."""

from __future__ import annotations

import random
from pathlib import Path

import onnx
import onnx.parser
import pytest

import absint
from absint.cli import run
from absint.lattices.logic.relation import TRUE
from absint.lattices.text import parse_relation
from absint.solution.naming import in_short, names_of
from absint.solver.constraints import Constraint, Origin
from absint.transfer.ordinary import box_of, holds_in_box

PATCHES = (
    "batch*max((height + 3)//32 - 1, 0)*max((width + 3)//32 - 1, 0) + batch*max((height + 3)//32 - 1, 0) "
    "+ batch*max((width + 3)//32 - 1, 0) + batch <= 1152921504606846975"
)
TILES = "batch*((height + 3)//32)*((width + 3)//32) <= 1152921504606846975"
SMALL = "batch*((height + 3)//32)*((width + 3)//32)*max(height//4, 1)*max(width//4, 1) <= 2251799813685247"
"""Some sizes of 65536 break it."""
MODEL = """<ir_version: 8, opset_import: ["": 18]>
    g (float[batch, height, width] x) => (float[n] y) <int64[1] four = {4}, int64[1] k = {64}> {
    h = Shape<start = 1, end = 2>(x) w = Shape<start = 2, end = 3>(x) b = Shape<start = 0, end = 1>(x)
    h1 = Add(h, four) h2 = Div(h1, k) h3 = Max(h2, four) w1 = Add(w, four) w2 = Div(w1, k) w3 = Max(w2, four)
    p = Mul(h3, w3) q = Add(p, h3) r = Add(q, w3) s = Mul(r, b) t = Mul(s, k) y = ConstantOfShape(t) }"""


def stated(*texts: str) -> list[Constraint]:
    origin = Origin(1, "", "mul", "Mul", "y")
    return [
        Constraint(parse_relation(text), TRUE, origin._replace(node=k + 1), "assumed", "an integer stays within INT64")
        for k, text in enumerate(texts)
    ]


@pytest.fixture(scope="module")
def result() -> absint.Result:
    return absint.analyze(onnx.parser.parse_model(MODEL))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([PATCHES], "batch, height, width <= 4194304"),
        ([TILES], TILES),
        ([TILES, PATCHES], "batch, height, width <= 4194304"),
        ([PATCHES, "rows <= 16777216"], "batch, height, width <= 4194304; rows <= 16777216"),
        ([PATCHES, "height <= 9000"], "batch, width <= 4194304; height <= 9000"),
        ([PATCHES, "rows <= 7", "rows + cols <= 9"], "batch, height, width <= 4194304; rows <= 7; and 1 more"),
        ([PATCHES.replace(" + batch <=", " + batch - k*k*k*k <=")], "batch, height, k, width <= 4194304"),
        (["N <= 7", "M <= 7", "K <= 7"], "N <= 7; M <= 7; and 1 more"),
    ],
)
def test_text(result: absint.Result, texts: list[str], expected: str) -> None:
    assert in_short(stated(*texts), names_of(result)) == expected


def test_premises_that_fail_at_ordinary_sizes_are_shown_themselves(result: absint.Result) -> None:
    assert box_of(parse_relation(SMALL)) is None
    assert in_short(stated(SMALL), names_of(result)) == SMALL


@pytest.mark.parametrize("text", [PATCHES, TILES])
def test_all_sizes_in_a_box_meet_the_premise(text: str) -> None:
    premise = parse_relation(text)
    most = box_of(premise)
    assert most is not None
    random.seed(5)
    for _ in range(200):
        sizes = {name: random.choice([0, 1, random.randint(0, most), most]) for name in premise.free_symbols}
        assert premise.evaluate(sizes)
    assert not holds_in_box(premise, 1 << 31)


def test_a_report_is_short_and_the_contract_lists_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), "m.onnx")
    box = "batch, height, width <= 4194304"
    assert run(["analyze", "m.onnx"]) == 0
    assert capsys.readouterr().out.endswith(f"  assuming  {box}\n")
    assert run(["contract", "m.onnx"]) == 0
    assert capsys.readouterr().out.endswith(f"\ntaken for granted: 1 premise ({box})\n(--all lists them)\n")
    assert run(["contract", "m.onnx", "--all"]) == 0
    listed = capsys.readouterr().out
    assert box not in listed
    assert "an integer stays within INT64" in listed
