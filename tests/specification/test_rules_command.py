"""`absint rules`: rules that are proved, refuted, undecided, not specified; solvers; names that are none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from absint import Op, Shape, Tensor, rule
from absint.cli import run
from absint.lattices.text.sheets import rendered
from absint.research.obligations.making import counts, distinct, obligations_of, status
from absint.research.obligations.nodes import prove, ruled
from absint.research.obligations.solving import Decision, Obligation, Solvers, asked, once
from absint.research.specification.specs import specified
from absint.show.rules import RULES, Ruling, report
from absint.solver.backend import Backend
from absint.transfer.families import shipped


@rule("Relu", inputs="X", complete=True)
def _wrong(op: Op) -> Tensor:
    """One more along each axis."""
    x = op.tensor("X")
    for dim in x.shape.dims:
        op.require_equal(dim, 3, "an invented requirement")
    return Tensor(x.dtype, Shape([dim + 1 for dim in x.shape.dims]))


@pytest.mark.parametrize("solver", ["auto", "z3", "cvc5", "both"])
def test_a_rule_that_is_wrong_is_refuted_with_sizes(solver: Solvers) -> None:
    table = shipped().extended([_wrong])
    (found,) = ruled(table, ["Relu"])
    with Backend() as backend:
        records = {found: prove(table, found, lambda item: asked(item, solver, backend))}
    lines = [line.text for line in rendered(report([found], records, named=True), 200)]
    assert "exact refuted    necessary refuted    sufficient -" in lines[1]
    assert "refuted" in lines
    assert any("axis 0 is" in line and "; not at " in line and " = " in line for line in lines)
    (operator,) = json.loads(RULES.text(Ruling([found], records, solver, "either")))["operators"]
    assert operator["exact"] == "refuted"
    assert operator["refuted"][0]["sizes"]
    asked_ = {"auto": {"z3"}, "both": {"z3", "cvc5"}}.get(solver, {solver})
    assert set(operator["seconds"]) == set(operator["solvers"]) == asked_
    assert all(numbers["refuted"] > 0 for numbers in operator["solvers"].values())
    assert operator["refuted"][0]["verdicts"] == dict.fromkeys(asked_, "refuted")


def test_solvers_are_weighed() -> None:
    (found,) = ruled(shipped(), ["Relu"])
    with Backend() as backend:
        first = prove(shipped(), found, lambda item: asked(item, "z3", backend))
    assert status(first, "exact") == "proved"
    assert status(first, "rejected") is None
    decided = first[0].decided[0]
    one = Decision(decided.obligation, "cvc5", "undecided", 0.0)
    assert replace(decided, decisions=(*decided.decisions, one)).verdict == "proved"
    assert replace(decided, decisions=(*decided.decisions, replace(one, verdict="refuted"))).verdict == "refuted"
    assert replace(decided, decisions=(one,)).verdict == "undecided"
    assert counts(first)["proved"] == counts(first).total() > 0


def test_cvc5_decides_what_z3_leaves_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = ruled(shipped(), ["Relu"])
    (item, *_) = (each for each in obligations_of(shipped(), "", "Relu", 14) if isinstance(each, Obligation))
    open_ = Decision(item, "z3", "undecided", 0.5)
    monkeypatch.setattr("absint.research.obligations.solving.by_z3", lambda *_: open_)
    with Backend() as backend:
        assert [each.verdict for each in asked(item, "auto", backend)] == ["undecided", "proved"]
        assert asked(item, "z3", backend) == (open_,)
        (record, *_) = prove(shipped(), found, lambda each: asked(each, "auto", backend))
        assert {each.verdict for each in record.decided} == {"proved"}
        monkeypatch.setattr("absint.research.obligations.solving.is_installed", lambda _: False)
        assert asked(item, "auto", backend) == (open_,)


def test_a_shared_script_is_decided_and_timed_once() -> None:
    operators = ruled(shipped(), ["Relu", "Sigmoid"])
    scripts: list[str] = []

    def decide(item: Obligation) -> tuple[Decision, ...]:
        scripts.append(item.script)
        return (Decision(item, "z3", "proved", 1.0),)

    shared = once(decide)
    records = {item: prove(shipped(), item, shared) for item in operators}
    every = [record for each in records.values() for record in each]
    assert len(scripts) == len(set(scripts)) == distinct(every) < counts(every).total()
    found = json.loads(RULES.text(Ruling(operators, records, "z3", "either")))["operators"]
    assert sum(each["seconds"]["z3"] for each in found) == len(scripts)
    assert [each["distinct"] for each in found] == [distinct(records[item]) for item in operators]
    assert all(each["solvers"] == {"z3": each["obligations"]} for each in found)
    assert all(item.obligation is item.decisions[0].obligation for record in every for item in record.decided)
    summary = list(rendered(report(operators, records, named=True)))[-1].text
    assert f"of {counts(every).total()} obligations ({len(scripts)} distinct) " in summary


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("Relu", 0),
        ("Relu --prove", 0),
        ("Relu --prove --solver cvc5", 0),
        ("GatherND --prove", 0),
        ("Concat --prove --semantics onnx", 0),
        ("Relu --prove --solver z3 --seconds 0.001", 3),
        ("Relu com.microsoft::Tokenizer --prove", 3),
        ("com.microsoft::Tokenizer", 0),
    ],
)
def test_exit_codes(arguments: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", *arguments.split()]) == code
    lines = capsys.readouterr().out.splitlines()
    assert ("undecided" in lines) == ("0.001" in arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("Convv", "no operator with a rule is called 'Convv'; did you mean 'Conv' or 'NhwcConv'?"),
        ("com.microsoft::Conw", "no operator with a rule is called 'com.microsoft::Conw'; did you mean"),
        ("quxquux", "no operator with a rule is called 'quxquux'; absint rules lists the operators"),
        ("Loop", "Loop has no rule: it becomes plain nodes before the analysis"),
        ("Relu --prove --seconds nan", "--seconds nan: expected a number above 0"),
    ],
)
def test_bad_usage_is_one_line(arguments: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", *arguments.split()]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"absint: error: {text}")
    assert said.err.count("\n") == 1


def test_all_operators_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--format", "json"]) == 0
    operators = json.loads(capsys.readouterr().out)["operators"]
    assert {(o["domain"], o["operator"]) for o in operators if o["specified"]} == set(specified())
    assert all(set(o["specified"]) <= set(o["versions"]) for o in operators)
    assert {(rule.domain, name) for rule in shipped() for name in rule.names} == {
        (o["domain"], o["operator"]) for o in operators
    }
    assert all("exact" not in o for o in operators)
    assert run(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{len(operators)} operators with a rule, {len(specified())} specified" in lines
