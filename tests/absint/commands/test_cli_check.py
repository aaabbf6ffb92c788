"""`absint check`: one size, ranges of sizes, and real tensors."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import absint
from absint.cli import run
from absint.lattices.logic.relation import TRUE
from absint.lattices.text import parse_relation
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.sheets import rendered
from absint.questions.sizes.outcomes import Check, Failure, Outcome, RangeCheck
from absint.show.feeds import Fed, report
from absint.show.text import check_sheet
from absint.solver.constraints import Constraint, Origin, PossibleFailure
from tests.absint.commands.cli_models import write_models


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()


# One size


@pytest.mark.parametrize(
    ("arguments", "printed", "code"),
    [
        (
            ["product.onnx", "N=4", "K=3", "D=3"],
            """\
legal at N=4, K=3, D=3, and no data make it fail

outputs
  z      FLOAT [4, 2]
  found  INT64 [2, ?]
""",
            0,
        ),
        (
            ["product.onnx", "D=0", "K=0", "N=5", "--values"],
            """\
legal at N=5, K=0, D=0, and no data make it fail

outputs
  z      FLOAT [5, 2]
  found  INT64 [2, ?]

other values
  y  FLOAT [5, 2]
""",
            0,
        ),
        (
            ["branches.onnx", "N=5", "K=3", "D=4"],
            """\
illegal at N=5, K=3, D=4
  MatMul if/then_branch/fc: inner dimensions of A and B must agree, found 3 and 4
nearest legal: D=3 (others unchanged); or K=4; or N=3
""",
            1,
        ),
        (
            ["branches.onnx", "N=3", "K=3", "D=4"],
            """\
legal at N=3, K=3, D=4

outputs
  y       FLOAT [4, 2]
  picked  FLOAT [3, 2]

may fail on data
  Gather pick: every index must lie within the axis
""",
            0,
        ),
        (
            ["never.onnx", "N=1"],
            "illegal at N=1\n  MatMul bad: inner dimensions of A and B must agree, found 4 and 5\n"
            "no sizes are legal\n",
            1,
        ),
        (["fixed.onnx"], "legal, and no data make it fail\n\noutputs\n  y  FLOAT [2, 3]\n", 0),
        (
            ["product.onnx", "N=4", "K=3", "D=3", "--assume", "N >= 5"],
            "illegal at N=4, K=3, D=3, assuming N >= 5\n  the declared or assumed sizes do not allow it\n"
            "  which needs N >= 5\n"
            "nearest legal: N=5 (others unchanged)\n",
            1,
        ),
        (
            ["odd.onnx", "batch size=2", "N = 3", "a=b=1"],
            """\
legal at batch size=2, N=3, a=b=1, and no data make it fail

outputs
  y/0:1  FLOAT [2, 3]
  N      FLOAT [2, 3]
""",
            0,
        ),
        (
            ["odd.onnx", "batch size=2", "N=3", "a=b=2"],
            """\
illegal at batch size=2, N=3, a=b=2
  Add add\\x1b[31m: dims of axis -1 must broadcast, found 3 and 2
nearest legal: N=2 (others unchanged); or a=b=1; or a=b=3
""",
            1,
        ),
    ],
)  # fmt: skip
def test_one_size(arguments: list[str], printed: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *arguments]) == code
    assert capsys.readouterr() == (printed, "")


def test_one_size_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "product.onnx", "N=4", "K=3", "D=3", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "absint.check/2",
        "absint": absint.__version__,
        "model": "product.onnx",
        "assume": [],
        "semantics": "either",
        "sizes": {"N": 4, "K": 3, "D": 3},
        "outcome": "runs",
        "failure": None,
        "doubts": [],
        "premises": [],
        "nearest": None,
        "shapes": {"x": [4, 3], "w": [3, 2], "y": [4, 2], "z": [4, 2], "found": [2, None]},
        "definitions": {},
    }
    assert run(["check", "product.onnx", "N=4", "K=3", "D=4", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["failure"]["node"] == "fc"


def test_one_size_needs_no_solver_process(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.solver.backend.shared", None)
    assert run(["check", "product.onnx", "N=4", "K=3", "D=3"]) == 0


# Ranges


@pytest.mark.parametrize(
    ("arguments", "printed", "code"),
    [
        (["free.onnx", "N=1..8", "M=3"], "legal for N=1..8, M=3, K of any size, and no data make it fail\n", 0),
        (["free.onnx", "N=..8", "M=1.."], "legal for N=0..8, M=1.., K of any size, and no data make it fail\n", 0),
        (["free.onnx", "N=.."], "legal for N of any size, M of any size, K of any size, and no data make it fail\n", 0),
        (["free.onnx", "N= 1 .. 8"], "legal for N=1..8, M of any size, K of any size, and no data make it fail\n", 0),
        (
            ["branches.onnx", "N=0..3", "D=1..", "K=1"],
            """\
legal for N=0..3, K=1, D=1..

may fail on data
  Gather pick: every index must lie within the axis
""",
            0,
        ),
        (
            ["branches.onnx", "N=0..4", "D=2", "K=1"],
            """\
illegal for some of N=0..4, K=1, D=2
  at N=4, K=1, D=2
  MatMul if/then_branch/fc: inner dimensions of A and B must agree, found 1 and 2
""",
            1,
        ),
        (
            ["matched.onnx", "N=0..9", "D=2"],
            """\
legal for N=0..9, D=2

data decide
  D == _d0  (MatMul fc: inner dimensions of A and B must agree)
""",
            0,
        ),
        (
            ["never.onnx", "N=1..1"],
            """\
illegal for some of N=1
  at N=1
  MatMul bad: inner dimensions of A and B must agree, found 4 and 5
""",
            1,
        ),
    ],
)  # fmt: skip
def test_ranges(arguments: list[str], printed: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *arguments]) == code
    assert capsys.readouterr() == (printed, "")


def test_a_range_that_cuts_through_the_contract_is_refused_with_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "unet.onnx", "H=2..8", "W=2", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "absint.check-range/3"
    assert found["box"] == {"H": [2, 8], "W": [2, 2]}
    assert found["outcome"] == "illegal"
    assert found["sizes"]["H"] in (3, 5, 7)
    assert found["failure"]["node"] == "cat"
    assert run(["check", "unet.onnx", "H=2..8", "W=2..1024", "--assume", "H % 2 == 0", "--assume", "W % 2 == 0"]) == 0


def test_ranges_as_json_have_printed_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "matched.onnx", "N=0..9", "D=2", "--strict", "--format", "json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {
        "schema", "absint", "model", "assume", "semantics", "box", "outcome", "sizes", "failure", "open", "doubts",
        "premises", "reason", "definitions",
    }  # fmt: skip
    (still_open,) = found["open"]
    assert still_open["reason"] == "D == _d0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(([text], f"{text}: expected a symbol with a size, as batch=4, a range, as seq=1..2048, or a shape of an "
           "input, as image=1x3x224x224")
          for text in ("N=", "=3", "N=x", "N=1...3", "N=1.5", "N=٣", "N=1_0", "x=2xx3", "x=x", "N=1..2..3..4")),
        (["N"], "N: expected the path of a model, or a size, as batch=4 or seq=1..2048"),
        (["N=1..8..9"], "N=1..8..9: three sizes are a profile, which only the command profile takes: give a range, "
         "as N=1..9"),
        (["x=2x3x4"], "x=2x3x4: 'x' has 2 axes, [N, K]: give a size for each, as x=1x1"),
        (["w=3x5"], "w=3x5: axis 1 of 'w' is 2, not 5"),
        (["xx=3x5"], "xx=3x5: the model has no input 'xx'; did you mean 'x'?"),
        (["x=3x5", "N=4"], "N=4: gives N the size 4, but x=3x5 gives it the size 3"),
        (["x=3x5", "N=4.."], "N=4..: gives N the range 4.., but x=3x5 gives it the size 3"),
        (["N=-1"], "N=-1: a size cannot be negative"),
        (["N=-2..3"], "N=-2..3: a size cannot be negative"),
        (["N=1..-3"], "N=1..-3: a size cannot be negative"),
        (["N=8..1"], "N=8..1: the range is empty, its first size is above its last"),
        (["N=2147483648"], "N=2147483648: a size is below 2**31"),
        (["N=0..9999999999"], "N=0..9999999999: a size is below 2**31"),
        (["N=1", "N=2..3"], "N=2..3: N is already given, as N=1"),
        (["NN=3"], "NN=3: no input has a symbol 'NN'; did you mean 'N'?"),
        (["q=1..3"], "q=1..3: no input has a symbol 'q'; the input symbols are: N, K, D"),
        (["N=1"], "no size for 'K', 'D': every symbol needs one (K=0.. D=0.. for any size)"),
        ([], "no size for 'N', 'K', 'D': every symbol needs one (N=0.. K=0.. D=0.. for any size)"),
        (["x" * 100], f"{'x' * 57}...: expected the path of a model, or a size, as batch=4 or seq=1..2048"),
        (["N=1", "--run"], "--run needs --feeds with arrays for the inputs"),
        (["N=1", "--feeds", "x.npz"], "--feeds gives the sizes: leave out N=1"),
        (["--feeds", "x.npz"], "x.npz does not exist"),
        (["--feeds", "product.onnx"],
         "product.onnx: not an .npz file of plain arrays, or truncated: write one with numpy.savez(path, **arrays)"),
    ],
)  # fmt: skip
def test_bad_sizes_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "product.onnx", *arguments]) == 2
    assert capsys.readouterr() == ("", f"absint: error: {message}\n")


# Real tensors


def saved(**arrays: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> str:
    np.savez("feeds.npz", **arrays)
    return "feeds.npz"


def ones(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.ones(shape, np.float32)


def test_a_run_with_feeds(capsys: pytest.CaptureFixture[str]) -> None:
    feeds = saved(x=ones(2, 3), w=ones(3, 2))
    assert run(["check", "product.onnx", "--feeds", feeds, "--run"]) == 0
    assert capsys.readouterr() == (
        """\
legal at N=2, K=3, D=3, and no data make it fail

values
  x      [N, K] is [2, 3]
  w      [D, 2] is [3, 2]
  z      [N, 2] is [2, 2]
  found  [2, _d0] is [2, 4]

12 claims hold, and 2 constraints
""",
        "",
    )
    assert run(["check", "product.onnx", "--feeds", feeds, "--run", "--values"]) == 0
    assert "\n  y      [N, 2] is [2, 2]\n" in capsys.readouterr().out


def test_feeds_without_a_run_show_the_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "product.onnx", "--feeds", saved(x=ones(2, 3), w=ones(3, 2))]) == 0
    assert capsys.readouterr().out.startswith(
        """\
legal at N=2, K=3, D=3, and no data make it fail

values
  x  [N, K] is [2, 3]
  w  [D, 2] is [3, 2]

6 claims hold, and 1 constraint

not compared
  output 'z': not given
  output 'found': not given
"""
    )


def test_outputs_in_the_file_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    feeds = saved(x=ones(2, 3), w=ones(3, 2), z=ones(2, 5))
    assert run(["check", "product.onnx", "--feeds", feeds]) == 1
    assert (
        """
  z  [N, 2] is [2, 5]  wrong

1 of 9 claims is wrong
  z[1]: claimed 2, ran 5
"""
        in capsys.readouterr().out
    )


def test_sizes_that_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    feeds = saved(x=ones(2, 3), w=ones(4, 2))
    assert run(["check", "product.onnx", "--feeds", feeds]) == 1
    out = capsys.readouterr().out
    assert out.startswith(
        "illegal at N=2, K=3, D=4: MatMul fc: inner dimensions of A and B must agree, found 3 and 4\n\n"
    )
    assert "\n6 claims hold\n" in out
    assert run(["check", "product.onnx", "--feeds", feeds, "--run"]) == 1
    assert "\nthe run fails: onnxruntime: MatMul fc: " in capsys.readouterr().out


def test_arrays_that_are_not_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "product.onnx", "--feeds", saved(x=ones(2, 3), w=ones(3, 7))]) == 1
    out = capsys.readouterr().out
    assert out.startswith("the inputs are not as declared\n\nvalues\n")
    assert (
        """
1 of 6 claims is wrong
  w[1]: declared 2, ran 7
the other claims are not about such inputs, or rest on what is assumed
"""
        in out
    )


def test_arrays_that_do_not_show_all_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    feeds = saved(x=ones(2, 3))
    assert run(["check", "product.onnx", "--feeds", feeds]) == 3
    out = capsys.readouterr().out
    assert out.startswith("not checked at N=2, K=3: the arrays show no size for D\n\nvalues\n")
    assert "\n3 claims hold\n" in out
    assert "\nnot compared\n  input 'w': not given\n" in out
    assert run(["check", "product.onnx", "--feeds", feeds, "--run"]) == 2
    assert capsys.readouterr().err == "absint: error: the run needs a value for input 'w'\n"


def test_a_name_in_the_file_that_the_model_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "product.onnx", "--feeds", saved(xx=ones(2, 3))]) == 2
    assert capsys.readouterr().err == "absint: error: the main graph has no value 'xx'; did you mean 'x'?\n"


def test_feeds_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    feeds = saved(x=ones(2, 3), w=ones(3, 2))
    assert run(["check", "product.onnx", "--feeds", feeds, "--run", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    comparison = found.pop("comparison")
    assert comparison["schema"] == "absint.compare/1"
    assert comparison["binding"] == {"N": 2, "K": 3, "D": 3, "_d0": 4}
    assert found.pop("check")["sizes"] == {"N": 2, "K": 3, "D": 3}
    assert found == {
        "schema": "absint.check-feeds/1",
        "absint": absint.__version__,
        "model": "product.onnx",
        "feeds": feeds,
        "ok": True,
        "ran": True,
        "failed": "",
        "differing": [],
    }


def test_a_run_that_contradicts_a_requirement_asks_for_a_report() -> None:
    result = absint.analyze("product.onnx")
    comparison = result.compare({"x": (2, 3), "w": (3, 2)}, {"z": (2, 2), "found": (2, 4)})
    refused = Check({"N": 2}, Outcome.ILLEGAL, failure=Failure(Origin(0, "", "fc", "MatMul", "y"), "so it seems"))
    lines = [line.text for line in rendered(report(Fed("x.npz", result.symbols, comparison, refused, ran=True)))]
    assert lines[:2] == [
        "illegal at N=2: MatMul fc: so it seems",
        "but the run succeeds, so this requirement is wrong: please report it",
    ]


def test_many_wrong_claims_are_cut_short() -> None:
    comparison = absint.analyze("product.onnx").compare({"x": (2, 3), "w": (3, 2)}, {"z": (2, 5)})
    (wrong,) = comparison.wrong
    many = replace(comparison, rows=tuple(replace(wrong, axis=axis) for axis in range(25)))
    lines = [line.text for line in rendered(report(Fed("x.npz", (), many, None)))]
    at = lines.index("25 of 25 claims are wrong")
    assert lines[at + 1] == "  z[0]: claimed 2, ran 5"
    assert lines[at + 21] == "  and 5 more (all: --format json)"


def test_a_requirement_that_arrays_break_is_told_even_if_sizes_are_missing() -> None:
    result = absint.analyze("product.onnx")
    comparison = result.compare({"x": (2, 3), "w": (4, 2)}, {})
    lines = [line.text for line in rendered(report(Fed("x.npz", ("N", "Q"), comparison, None)))]
    assert lines[0] == "not checked at N=2: the arrays show no size for Q"
    at = lines.index("needed, but not so")
    assert lines[at + 1].startswith("  MatMul fc: D == K is required (inner dimensions of A and B must agree)")


# What rarely happens

ORIGIN = Origin(3, "loop1/body", "div", "Div", "y")


def test_what_is_undecided_and_what_premises_break() -> None:
    premise = Constraint(parse_relation("N <= 16777216"), TRUE, ORIGIN, "assumed", "exact in float32")
    unknown = RangeCheck(
        {"N": (1, 8)}, Outcome.UNDECIDED, open=(premise,), premises=(premise,), reason="the time limit was reached"
    )
    row = "  N <= 16777216  (Div loop1/body/div: exact in float32)"
    assert [line.text for line in unknown.sheet(Names(Naming())).lines()] == [
        "undecided for N=1..8: the time limit was reached",
        "",
        "not shown",
        row,
        "",
        "some sizes may break premises",
        row,
    ]
    result = absint.analyze("free.onnx")
    broken = Check({"N": 20000000}, Outcome.LEGAL, {"y": None}, premises=(premise,))
    assert [line.text for line in check_sheet(result, broken).lines()][-3:] == [
        "",
        "these sizes break premises, so shapes may be others",
        row,
    ]


def test_many_possible_failures_of_an_operator_are_one_line_and_many_lines_are_cut() -> None:
    possible_failures = [
        PossibleFailure(Origin(k, "", f"g{k}", "Gather", ""), TRUE, "every index must lie within the axis")
        for k in range(3)
    ]
    possible_failures += [PossibleFailure(Origin(k, "", f"s{k}", f"Op{k}", ""), TRUE, "who knows") for k in range(12)]
    result = absint.analyze("fixed.onnx")
    check = Check({}, Outcome.LEGAL, {}, possible_failures=tuple(possible_failures))
    lines = [line.text for line in check_sheet(result, check).lines()]
    assert lines[-12:-9] == [
        "may fail on data",
        "  Gather g0: every index must lie within the axis, and 2 more nodes",
        "  Op0 s0: who knows",
    ]
    assert lines[-1] == "  and 3 more (all: --format json)"
    assert "  y  FLOAT not a tensor of known rank" in lines


def test_ranges_on_a_terminal_fit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, text in (("TERM", "xterm"), ("COLUMNS", "50"), ("LINES", "20")):
        monkeypatch.setenv(name, text)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run(["check", "branches.onnx", "N=0..4", "D=2", "K=1"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("\x1b[1;31millegal for some of N=0..4, K=1, D=2\x1b[0m\n")
    assert "  MatMul if/then_branch/fc: inner dimensions of A\n      and B must agree, found 1 and 2\n" in out
