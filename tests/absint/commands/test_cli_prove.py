"""`absint prove`: its texts, its JSON, its exit codes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import absint
from absint.cli import run
from absint.lattices.logic.relation import Relation
from absint.lattices.text import parse_relation
from absint.lattices.text.naming import Names, Naming
from absint.questions.proofs.proof import Proof, Verdict
from tests.absint.commands.cli_models import FLOAT, INT64, node, save, value, write_models


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()


def masked(text: str) -> str:
    """Z3 is free to find any sizes."""
    return re.sub(r"^  false at .*", lambda row: re.sub(r"=[0-9]+", "=#", row[0]), text, flags=re.MULTILINE)


PROVED = (
    """\
proved  x[1] == w[0]
  in symbols  D == K
  required    D == K  (MatMul fc: inner dimensions of A and B must agree)
""",
    0,
)
REFUTED = (
    """\
refuted  x[1] == w[0] + 1
  in symbols  D + 1 == K
  false at    N=#, K=#, D=#
""",
    1,
)


@pytest.mark.parametrize(
    ("arguments", "printed", "code"),
    [
        (["product.onnx", "x[1] == w[0]"], *PROVED),
        (["product.onnx", "x[1] == w[0] + 1"], *REFUTED),
        (["product.onnx", "y[0] == x[0]"], "proved  y[0] == x[0]\n  rests on  the declared inputs alone\n", 0),
        (
            ["product.onnx", "y[0] == 4", "--set", "N=4"],
            "assuming N == 4\nproved  y[0] == 4\n  rests on  the declared inputs and the given sizes alone\n",
            0,
        ),
        (
            ["product.onnx", "found[1] <= 2*x[0]"],
            """\
proved  found[1] <= 2*x[0]
  in symbols  2*N >= _d0
  defined     2*N >= _d0  (NonZero nz: no more results than elements)
""",
            0,
        ),
        (
            ["product.onnx", "_d0 <= 1"],
            """\
not entailed  _d0 <= 1
  false at  N=#, K=#, D=#, if _d0=#
  but       it rests on data-dependent sizes
""",
            3,
        ),
        (["product.onnx", "K == D", "--given", "inputs"], "refuted  K == D\n  false at  N=#, K=#, D=#\n", 1),
        (
            ["product.onnx", "K == 3", "--assume", "w[0] == 3"],
            """\
assuming w[0] == 3
proved  K == 3
  assumed   D == 3  (assumed in the query)
  required  D == K  (MatMul fc: inner dimensions of A and B must agree)
""",
            0,
        ),
        (
            ["product.onnx", "K == 3", "--assume", "D == 3", "--assume", "x[1] == 4"],
            """\
assuming D == 3, x[1] == 4
contradiction  K == 3
  so        nothing is proved: what is taken for granted cannot hold together
  assumed   D == 3  (assumed in the query)
  assumed   K == 4  (assumed in the query)
  required  D == K  (MatMul fc: inner dimensions of A and B must agree)
""",
            1,
        ),
        (
            ["never.onnx", "N == 3"],
            """\
contradiction  N == 3
  so        nothing is proved: what is taken for granted cannot hold together
  required  false  (MatMul bad: inner dimensions of A and B must agree, found 4 and 5)
""",
            1,
        ),
        (
            ["branches.onnx", "N >= 4 -> K == D"],
            """\
proved  N >= 4 -> K == D
  required  D == K or N <= 3  (MatMul if/then_branch/fc: inner dimensions of A and B must agree)
""",
            0,
        ),
        (["fixed.onnx", "x[0] == 3"], "refuted  x[0] == 3\n  false at  the sizes of the inputs, which are fixed\n", 1),
        (
            ["odd.onnx", "symbol(N) == `batch size`"],
            """\
refuted  symbol(N) == `batch size`
  in symbols  `batch size` == N
  false at    batch size=#, N=#, a=b=#
""",
            1,
        ),
        (["product.onnx", "--", "-1 <= N"], "proved  -1 <= N\n  rests on  the declared inputs alone\n", 0),
    ],
)
def test_the_text_of_each_verdict(
    arguments: list[str], printed: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", *arguments]) == code
    found = capsys.readouterr()
    assert (masked(found.out), found.err) == (printed, "")


def test_what_the_author_declares_is_a_premise_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    declared = [value("found", INT64, [2, "N"])]
    save("claimed.onnx", [node("NonZero", ["x"], ["found"], name="nz")], [value("x", FLOAT, ["N", 4])], declared)
    assert run(["prove", "claimed.onnx", "found[1] == N"]) == 3
    capsys.readouterr()
    assert run(["prove", "claimed.onnx", "found[1] == N", "--given", "declared"]) == 0
    assert capsys.readouterr().out == (
        """\
proved  found[1] == N
  in symbols  N == _d0
  declared    N == _d0  (output 'found': declared by the author)
"""
    )


def test_an_unknown_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    query = "N**3 + M**3 != K**3 or N == 0 or M == 0"
    assert run(["prove", "free.onnx", query]) == 3
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == f"unknown  {query}"
    assert [row.partition("  because")[0] for row in rows] == [""]
    assert rows[0].partition("  because")[2].strip()


def test_several_relations_are_counted_and_the_worst_one_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "product.onnx", "x[1] == w[0]", "_d0 <= 1"]) == 3
    assert capsys.readouterr().out.endswith("\n\n2 relations: 1 proved, 1 not entailed\n")
    assert run(["prove", "product.onnx", "_d0 <= 1", "x[1] == w[0] + 1", "K == D"]) == 1
    out = capsys.readouterr().out
    assert out.endswith("\n\n3 relations: 1 proved, 1 refuted, 1 not entailed\n")
    assert REFUTED[0] in masked(out)


def test_a_counterexample_is_run_if_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "product.onnx", "N >= 1", "--confirm"]) == 1
    printed = capsys.readouterr().out
    assert printed.endswith("  confirmed  by a run at these sizes\n")
    assert printed.startswith("refuted  N >= 1\n  false at   N=0, ")


def test_verbose_tells_what_decided(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "product.onnx", "y[0] == N", "K == D + 1", "--verbose"]) == 1
    out = re.sub(r"[0-9.]+ ms", "TIME", capsys.readouterr().out)
    assert "\n  decided   by normal form in TIME; given run\n" in out
    assert re.search(r"\n  decided   by \w+ in TIME, \d+ premises? sent to Z3; given run\n", out)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["prove", "product.onnx", "x[1] == w[0]", "_d0 <= 1", "N >= 1", "--format", "json"]
    assert run(arguments) == 1
    found = json.loads(capsys.readouterr().out)
    _, open_, refuted = found["proofs"]
    assert open_["counterexample"].keys() == {"N", "K", "D"}
    assert 1 < open_.pop("invented")["_d0"] <= 2 * open_.pop("counterexample")["N"]
    at = refuted.pop("counterexample")
    assert at["N"] == 0
    assert at["K"] == at["D"]
    for proof in found["proofs"]:
        assert 0 <= proof.pop("seconds") < 60
        assert isinstance(proof.pop("asked"), int)
        assert proof.pop("tier") in ("normal form", "facts", "evaluation", "z3")
    same = {"given": "run", "confirmed": False, "premises_shown_consistent": True}
    assert found == {
        "schema": "absint.prove/1",
        "absint": absint.__version__,
        "model": "product.onnx",
        "assume": [],
        "semantics": "either",
        "proofs": [
            {
                "query": "x[1] == w[0]",
                "verdict": "proved",
                "evidence": None,
                "relation": "D == K",
                "because": [
                    {
                        "relation": "D == K",
                        "guard": "true",
                        "role": "required",
                        "node": "fc",
                        "path": "",
                        "operator": "MatMul",
                        "output": "y",
                        "reason": "inner dimensions of A and B must agree",
                    }
                ],
                "assuming": [],
                "counterexample": None,
                "invented": {},
                "reason": "",
                **same,
            },
            {
                "query": "_d0 <= 1",
                "verdict": "not entailed",
                "evidence": None,
                "relation": "_d0 <= 1",
                "because": [],
                "assuming": [],
                "reason": "it rests on data-dependent sizes",
                **same,
            },
            {
                "query": "N >= 1",
                "verdict": "refuted",
                "evidence": "rules",
                "relation": "N >= 1",
                "because": [],
                "assuming": [],
                "invented": {},
                "reason": "",
                **same,
            },
        ],
        "definitions": {},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["product.onnx"], "Missing argument 'RELATION'. (see absint prove --help)"),
        (["product.onnx", "zz[0] == 3"], "no value 'zz' here; did you mean 'z'?\n    zz[0] == 3\n    ^"),
        (
            ["product.onnx", "N == 1", "fund[0] == 3"],
            "no value 'fund' here; did you mean 'found'?\n    fund[0] == 3\n    ^",
        ),
        (["product.onnx", "z[-3] == 3"],
         "axis -3 is out of range: 'z' has rank 2, its axes are -2 to 1\n    z[-3] == 3\n      ^"),
        (["product.onnx", "z[0] == x[0"], "expected ']', found the end\n    z[0] == x[0\n               ^"),
        (["product.onnx", "Q == 3"],
         "no symbol or value 'Q' here; the symbols are 'N', 'K', 'D', '_d0'\n    Q == 3\n    ^"),
        (["odd.onnx", "N == 3"],
         "'N' is a symbol and a value: write symbol(N), or N[axis] and the like\n    N == 3\n    ^"),
        (["product.onnx", "N == 1", "--assume", "N ="], "expected '==' for a comparison\n    N =\n      ^"),
        (["product.onnx", "N == 1", "--seconds", "nan"], "--seconds nan: expected a number above 0"),
        (["product.onnx", "N == 1", "--seconds", "0"], "--seconds 0: expected a number above 0"),
        (["product.onnx", "N == 1", "--seconds", "soon"],
         "Invalid value for '--seconds': 'soon' is not a valid float. (see absint prove --help)"),
        (["product.onnx", "N == 1", "--given", "nothing"],
         "Invalid value for '--given': 'nothing' is not one of 'run', 'inputs', 'declared'. "
         "(see absint prove --help)"),
        (["product.onnx", "N == 1", "--set", "n=4"], "n=4: no input has a symbol 'n'; the input symbols are: N, K, D"),
        (["product.onnx", "N == 1", "--set", "N=-4"], "N=-4: a size cannot be negative"),
        (["product.onnx", "-1 <= N"], "No such option '-1'. (see absint prove --help)"),
    ],
)  # fmt: skip
def test_bad_usage_is_told_before_anything_is_proved(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", *arguments]) == 2
    assert capsys.readouterr() == ("", f"absint: error: {message}\n")


def test_control_characters_never_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "odd.onnx", "N[0] == `batch size`\t", "`a=b` == 1 or `a=b` == x[1] or x[1] == 1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("proved  N[0] == `batch size`\\t\n")
    assert "(Add add\\x1b[31m: dims of axis -1 must broadcast)" in out
    assert out.replace("\n", "").isprintable()
    assert run(["prove", "odd.onnx", "x[0] ==\x1b[31m\n3"]) == 2
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def test_a_terminal_gets_colours_and_lines_that_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, text in (("TERM", "xterm"), ("COLUMNS", "60"), ("LINES", "20")):
        monkeypatch.setenv(name, text)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run(["prove", "branches.onnx", "N >= 4 -> K == D", "N == 1"]) == 1
    out = capsys.readouterr().out
    assert "\x1b[1;32mproved  N >= 4 -> K == D\x1b[0m\n" in out
    assert "\x1b[1;31mrefuted  N == 1\x1b[0m\n" in out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert (
        "  required  D == K or N <= 3  (MatMul if/then_branch/fc:\n"
        "            inner dimensions of A and B must agree)\n" in plain
    )


def test_a_terminal_is_told_what_takes_so_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", "product.onnx", "N == 1"]) == 1
    plain = capsys.readouterr()
    assert plain.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["prove", "product.onnx", "N == 1"]) == 1
    shown = capsys.readouterr()
    assert shown.out == plain.out
    assert "proving" in shown.err


def lines(proof: Proof) -> list[str]:
    return str(proof.sheet(Names(Naming()))).split("\n")


def test_what_rarely_happens_is_said_too() -> None:
    relation = _relation("N == 3")
    unsure = Proof(relation, Verdict.PROVED, text="N == 3", premises_shown_consistent=False)
    assert lines(unsure)[1:] == [
        "  rests on  the declared inputs alone",
        "  note      the premises are not shown to be consistent",
    ]
    candidate = Proof(relation, Verdict.NOT_ENTAILED, text="N == 3", counterexample={"N": 4}, reason="these sizes fail")
    assert lines(candidate)[1:] == ["  false at  N=4", "  but       these sizes fail"]
    assert lines(Proof(relation, Verdict.NOT_ENTAILED, text="N == 3"))[1:] == [
        "  but  these sizes are not shown to run"
    ]
    assert lines(Proof(relation, Verdict.UNKNOWN, text="N == 3"))[1:] == ["  because  no reason is known"]


def test_a_relation_too_large_to_read_is_told_by_its_size() -> None:
    relation = _relation(" and ".join(f"max(n{k}, m{k}) >= k{k}" for k in range(60)))
    (row,) = lines(Proof(relation, Verdict.UNKNOWN, text="all", reason="so it is"))[1:2]
    assert re.fullmatch(r"  in symbols  <[0-9,]+ terms over k0, k1, k10, k11>", row)


def _relation(text: str) -> Relation:
    return parse_relation(text)
