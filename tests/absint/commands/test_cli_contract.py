"""`absint contract`: clauses, constraints and exports."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from absint.lattices.logic.relation import TRUE, ge
from absint.lattices.text import parse_relation
from absint.lattices.text.sheets import rendered
from absint.show.contracts import listing as constraints_report, report as contract_report
from absint.solver.constraints import Constraint, ConstraintSet, Origin, PossibleFailure
from absint.solver.contracts.contract import Clause, Contract
from absint.solver.export import from_json, from_metadata, from_smtlib
from tests.absint.commands.cli_models import FLOAT, node, save, value, write_models


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()


# contract


@pytest.mark.parametrize(
    ("arguments", "printed", "code"),
    [
        (
            ["product.onnx"],
            """\
product.onnx: legal sizes meet 1 clause over N, K, D
  D == K  (MatMul fc: inner dimensions of A and B must agree)
""",
            0,
        ),
        (
            ["branches.onnx"],
            """\
branches.onnx: legal sizes meet 2 clauses over N, K, D
  D >= 1 or N == 0  (Gather pick: every index must lie within the axis)
  D == K or N <= 3  (MatMul if/then_branch/fc: inner dimensions of A and B must agree)

one size for several inputs, which no runtime checks: 1 symbol (N)
may fail on data: 1 node (Gather: every index must lie within the axis)
(--all lists them)
""",
            0,
        ),
        (
            ["branches.onnx", "--all", "--assume", "D >= 1"],
            """\
branches.onnx: legal sizes meet 1 clause over N, K, D
  D == K or N <= 3
    MatMul if/then_branch/fc: inner dimensions of A and B must agree

taken for granted
  D >= 1  (assumed by the caller)

one size for several inputs, which no runtime checks
  N: x[0], ids[0]

may fail on data
  Gather pick: every index must lie within the axis
""",
            0,
        ),
        (
            ["matched.onnx", "--all"],
            """\
matched.onnx: no size of the inputs is ruled out

also required, data-dependent
  D == _d0  (MatMul fc: inner dimensions of A and B must agree)

where
  _d0  = count(x)
""",
            0,
        ),
        (
            ["never.onnx"],
            """\
never.onnx: no size of the inputs is legal, this model can never run
  MatMul bad: inner dimensions of A and B must agree, found 4 and 5
""",
            1,
        ),
        (["free.onnx"], "free.onnx: every size of the inputs is legal\n", 0),
        (
            ["odd.onnx"],
            """\
odd.onnx: legal sizes meet 1 clause over batch size, N, a=b
  `a=b` == N or `a=b` == 1 or N == 1  (Add add\\x1b[31m: dims of axis -1 must broadcast)
""",
            0,
        ),
    ],
)
def test_contracts(arguments: list[str], printed: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", *arguments]) == code
    assert capsys.readouterr() == (printed, "")


def test_clauses_name_the_nodes_that_impose_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", "unet.onnx", "--all"]) == 0
    out = capsys.readouterr().out
    assert "\n  H % 2 == 0\n" in out
    assert "    Concat cat: the inputs must agree on axis 2, which needs " in out
    assert run(["contract", "unet.onnx"]) == 0
    assert "\n  H % 2 == 0  (" in capsys.readouterr().out


def test_a_contract_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", "branches.onnx", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {
        "schema",
        "absint",
        "model",
        "semantics",
        "possible",
        "reason",
        "clauses",
        "premises",
        "shared",
        "beyond",
        "doubts",
        "samples",
        "definitions",
    }
    assert found["schema"] == "absint.contract/2"
    assert found["possible"] is True
    assert [clause["relation"] for clause in found["clauses"]] == ["D >= 1 or N == 0", "D == K or N <= 3"]
    assert found["shared"] == {"N": ["x[0]", "ids[0]"]}
    assert run(["contract", "never.onnx", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["possible"] is False


def test_what_rarely_happens_in_a_contract() -> None:
    result = absint.analyze("free.onnx")
    origin = Origin(1, "", "cat", "Concat", "y")
    stated = [
        Constraint(parse_relation(text), TRUE, origin._replace(name=f"cat{k}"), "required", f"reason {k}")
        for k, text in enumerate(["H >= 1", "H >= 2", "H >= 3"])
    ]
    exact = Clause(parse_relation("H >= 2"), tuple(stated))
    implied = Clause(parse_relation("H >= 7"), tuple(stated))
    clauses = (exact, implied, *[Clause(ge(absint.parse("N"), k), (stated[0],)) for k in range(40)])
    possible_failures = tuple(
        PossibleFailure(origin._replace(operator=name), TRUE, "who knows") for name in ("Gather", "Loop", "If")
    )
    lines = [
        line.text
        for line in rendered(contract_report(result, Contract(clauses, None, possible_failures=possible_failures)))
    ]
    assert lines[0] == "free.onnx: legal sizes meet 42 clauses over N, M, K"
    assert lines[1] == "  H >= 2  (Concat cat1: reason 1, and 2 more nodes)"
    assert lines[2] == "  H >= 7  (Concat cat0: reason 0; Concat cat1: reason 1, and 1 more node)"
    assert lines[31:] == [
        "  and 12 more",
        "whether any size meets all clauses was not decided",
        "",
        "may fail on data: 3 nodes (Gather: who knows; Loop: who knows; ...)",
        "(--all lists them)",
    ]


def test_an_undecided_contract_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absint.Result, "contract", lambda _, **limits: Contract((), None))
    assert run(["contract", "free.onnx"]) == 3


# constraints


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            ["product.onnx"],
            """\
product.onnx: 2 constraints, 2 relations over N, K, D

required: without it the node fails
  D == K  (MatMul fc: inner dimensions of A and B must agree)

defined: holds of what the node computes
  2*N >= _d0  (NonZero nz: no more results than elements)

where
  _d0  = count(z)
""",
        ),
        (
            ["branches.onnx", "--assume", "N <= 9"],
            """\
branches.onnx: 3 constraints, 3 relations over N, K, D

required: without it the node fails
  D == K  where N >= 4  (MatMul if/then_branch/fc: inner dimensions of A and B must agree)
  D >= 1 or N == 0  (Gather pick: every index must lie within the axis)

assumed: by you, or as a numeric premise
  N <= 9  (assumed by the caller)

may fail on data
  Gather pick: every index must lie within the axis
""",
        ),
        (
            ["product.onnx", "--role", "defined"],
            """\
product.onnx: 1 constraint, 1 relation over N, K, D

defined: holds of what the node computes
  2*N >= _d0  (NonZero nz: no more results than elements)

where
  _d0  = count(z)
""",
        ),
        (["fixed.onnx"], "fixed.onnx: 0 constraints, 0 relations\n"),
    ],
)
def test_constraints(arguments: list[str], printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    roles = [] if "--role" in arguments else ["--role", "all"]
    assert run(["contract", *arguments, *roles]) == 0
    assert capsys.readouterr() == (printed, "")


def test_relations_are_grouped_and_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node("MatMul", ["x", "w"], [f"y{k}"], name=f"fc{k}") for k in range(3)]
    inputs = [value("x", FLOAT, ["N", "K"]), value("w", FLOAT, ["D", 2])]
    save("thrice.onnx", nodes, inputs, [value(f"y{k}", FLOAT, None) for k in range(3)])
    assert run(["contract", "thrice.onnx", "--role", "all"]) == 0
    assert capsys.readouterr().out == (
        """\
thrice.onnx: 3 constraints, 1 relation over N, K, D

required: without it the node fails
  D == K  (MatMul fc0: inner dimensions of A and B must agree, and 2 more nodes)
"""
    )
    origin = Origin(1, "", "cat", "Concat", "y")
    many = [Constraint(ge(absint.parse("N"), k), TRUE, origin, "required", "so") for k in range(1, 51)]
    found = ConstraintSet(
        many, symbols=["N"], possible_failures=[PossibleFailure(origin, parse_relation("N >= 4"), "it does")] * 2
    )
    result = absint.analyze("free.onnx")
    lines = [line.text for line in rendered(constraints_report(result, found))]
    assert lines[-4:] == ["  and 10 more (all: --all)", "", "may fail on data", "  Concat cat: it does  where N >= 4"]
    assert len(list(rendered(constraints_report(result, found, everything=True)))) == len(lines) + 9


def test_exports_read_back_to_the_same_set(capsys: pytest.CaptureFixture[str]) -> None:
    constraints = absint.analyze("branches.onnx").constraints

    def exported(form: str) -> str:
        assert run(["contract", "branches.onnx", "--role", "all", "--format", form]) == 0
        return capsys.readouterr().out

    assert from_json(exported("json")) == constraints
    assert from_smtlib(exported("smtlib")) == constraints
    assert from_metadata(json.loads(exported("metadata"))) == constraints


def test_the_python_guard_and_the_shapes_function_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    assert run(["contract", "product.onnx", "--format", "python"]) == 0
    exec(capsys.readouterr().out, names)
    check = names["check"]
    assert callable(check)
    check(N=1, K=3, D=3)
    with pytest.raises(ValueError, match=r"D == K .*MatMul fc"):
        check(N=1, K=3, D=4)
    for arguments in (["--shapes"], ["--shapes", "--format", "python"]):
        assert run(["contract", "product.onnx", *arguments]) == 0
        exec(capsys.readouterr().out, names)
        shapes = names["shapes"]
        assert callable(shapes)
        assert shapes(N=5, K=3, D=3) == {"z": (5, 2), "found": (2, None)}


def test_the_torch_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", "product.onnx", "--format", "torch"]) == 0
    out = capsys.readouterr().out
    compile(out, "torch", "exec")
    assert "\n    'x': {0: N, 1: K},\n    'w': {0: K, 1: 2},\n" in out


def test_a_file_is_written_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json", "text --role all", "json --role all", "smtlib", "python", "metadata", "torch"):
        arguments = ["contract", "product.onnx", "--format", *form.split()]
        assert run(arguments) == 0
        printed = capsys.readouterr().out
        assert run([*arguments, "-o", "out"]) == 0
        assert capsys.readouterr() == ("", "")
        assert Path("out").read_text("utf-8") == printed
        assert run([*arguments, "-o", "-"]) == 0
        assert capsys.readouterr().out == printed
    assert not [name for name in os.listdir() if name.endswith(".tmp")]


def test_a_temporary_file_that_was_left_is_in_nobodys_way() -> None:
    Path(f".out.{os.getpid()}.tmp").touch()
    assert run(["contract", "product.onnx", "-o", "out"]) == 0
    assert run(["contract", "product.onnx", "-o", "d" * 255]) == 0


def test_a_failed_write_leaves_what_was_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").write_text("precious")
    before = sorted(os.listdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "out")

    monkeypatch.setattr(os, "replace", full)
    assert run(["contract", "product.onnx", "-o", "out"]) == 2
    assert capsys.readouterr().err == "absint: error: out cannot be written: No space left on device\n"
    assert Path("out").read_text() == "precious"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["product.onnx", "-o", "product.onnx"], "product.onnx is the model itself: give another file to -o"),
        (["product.onnx", "-o", "."], ". is a directory: give the path of a file in it"),
        (["product.onnx", "-o", "gone/out"], "gone/out cannot be written: gone is not a directory"),
        (["product.onnx", "--shapes", "--format", "json"],
         "--shapes writes a Python function: leave out --format json"),
        (["product.onnx", "--shapes", "--role", "defined"], "--shapes writes no constraints: leave out --role defined"),
        (["product.onnx", "--role", "wanted"],
         "Invalid value for '--role': 'wanted' is not one of 'required', 'defined', 'assumed', 'declared', 'all'. "
         "(see absint contract --help)"),
        (["product.onnx", "free.onnx", "-o", "out"], "-o out: holds the output of one model: give one"),
        (["product.onnx", "free.onnx", "--format", "torch"], "--format torch is one document: give one model"),
        (["never.onnx", "--format", "torch"],
         "the constraints have no form torch: no sizes of the inputs meet the constraints, so there is nothing to "
         "export"),
    ],
)  # fmt: skip
def test_bad_usage_of_constraints(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", *arguments]) == 2
    assert capsys.readouterr() == ("", f"absint: error: {message}\n")


def test_weights_are_never_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    proto = onnx.load("unet.onnx")
    onnx.save(proto, "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    before = Path("weights.bin").read_bytes()
    assert run(["contract", "m.onnx", "--role", "all", "-o", "weights.bin"]) == 2
    assert capsys.readouterr().err == (
        "absint: error: weights.bin holds weights of the model: give another file to -o\n"
    )
    assert Path("weights.bin").read_bytes() == before


def test_rows_fit_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, text in (("TERM", "dumb"), ("COLUMNS", "60"), ("LINES", "20")):
        monkeypatch.setenv(name, text)
    for command in (["contract", "--role", "all"], ["contract"], ["contract", "--all"]):
        assert run([command[0], "branches.onnx", *command[1:]]) == 0
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= 60
        assert "MatMul if/then_branch/fc" in out
