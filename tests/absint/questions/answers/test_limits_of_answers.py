"""One deadline for all the work of an answer, and Z3's own budgets, which a caller sets."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import onnx
import pytest

import absint
from absint.cli import run
from absint.lattices.limits import DeadlineError, on_time, remaining, within
from absint.lattices.logic.facts import Facts
from absint.lattices.text import parse_relation
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes.outcomes import Outcome
from absint.solution.constraints import recorded
from tests.models import parsed

COUNT = 20
SHORT = 0.3
LATE = 2.5
"""Seconds that an answer may be late on a busy machine."""


def free() -> onnx.ModelProto:
    return parsed("""(float[N] X, float[M] Y) => (float[N] A, float[M] B) { A = Relu(X) B = Relu(Y) }""", 17)


def sums_of_products() -> onnx.ModelProto:
    """Sums and products of 60 symbols that have to agree."""
    numbers = range(COUNT)
    inputs = ", ".join(f"float[a{i}, b{i}] X{i}, float[c{i}] Y{i}" for i in numbers)
    flat = " ".join(f"R{i} = Reshape(X{i}, k)" for i in numbers)
    pairs = " ".join(f"U{i} = Concat<axis=0>(Y{i}, R{(i + 1) % COUNT}) T{i} = Add(U{i}, C)" for i in numbers)
    return parsed(
        f"""({inputs}) => (V) {{
            k = Constant<value = int64[1] {{-1}}>() {flat}
            C = Concat<axis=0>({", ".join(f"R{i}" for i in numbers)})
            D = Concat<axis=0>({", ".join(f"Y{i}" for i in numbers)})
            S = Add(C, D) t = Constant<value = int64[2] {{-1, 6}}>() Q = Reshape(S, t)
            {pairs} V = Concat<axis=0>({", ".join(f"T{i}" for i in numbers)})
        }}""",
        17,
    )


@pytest.fixture(scope="module")
def long() -> absint.Result:
    result = absint.analyze(sums_of_products())
    assert recorded(result)  # what an answer reads is no part of its time
    return result


def test_many_relations_of_one_symbol_are_joined_in_time() -> None:
    """Time grows with the square of their number, not with its cube; every other size took minutes."""
    start = process_time()
    proof = absint.analyze(free()).prove(" and ".join(f"N != {2 * i}" for i in range(400)), seconds=60)
    assert process_time() - start < 10
    assert proof.verdict is Verdict.REFUTED


@pytest.mark.parametrize("over", ["N", "N*M"])
def test_a_query_ends_at_its_deadline(over: str) -> None:
    result = absint.analyze(free())
    start = monotonic()
    proof = result.prove(f"{over} >= 5", assume=[f"{over} != {i}" for i in range(4000)], seconds=SHORT)
    assert monotonic() - start < SHORT + LATE
    assert (proof.verdict, proof.reason) == (Verdict.UNKNOWN, "the time limit of 0.3 s was reached")
    assert result.prove("N >= 0")  # nothing is left behind


def test_a_query_that_is_read_slowly_ends_at_its_deadline() -> None:
    proof = absint.analyze(free()).prove(" or ".join(f"N*M + {i} == {3 * i}*M" for i in range(8000)), seconds=0.05)
    assert (proof.verdict, proof.reason) == (Verdict.UNKNOWN, "the time limit of 0.05 s was reached")


def test_a_contract_past_its_deadline_has_the_clauses_of_the_nodes(long: absint.Result) -> None:
    start = monotonic()
    contract = long.contract(seconds=SHORT)
    assert monotonic() - start < SHORT + LATE
    assert contract.reason == "the time limit of 0.3 s was reached"
    assert contract.possible is None
    assert contract.clauses
    required = {str(c.relation) for c in long.constraints.filter("required")}
    assert {str(clause.relation) for clause in contract.clauses} <= required
    assert json.loads(contract.to_json())["reason"] == contract.reason


def test_a_box_past_its_deadline_is_unknown(long: absint.Result) -> None:
    found = long.check_range(dict.fromkeys(long.symbols, (0, 9)), seconds=1e-4)
    assert found.outcome is Outcome.UNDECIDED
    assert found.reason == "the time limit of 0.0001 s was reached"
    assert not found.ok


@pytest.mark.parametrize("what", ["equal_dims", "equal_shapes", "equal_buffers"])
def test_classes_past_their_deadline_are_apart(long: absint.Result, what: str) -> None:
    start = monotonic()
    found = getattr(long, what)(seconds=SHORT)
    assert monotonic() - start < SHORT + LATE
    assert found.reason == "the time limit of 0.3 s was reached"
    members = [member for one in found.classes for member in one.members]
    assert len(members) == len(set(members)) >= 3 * COUNT
    assert json.loads(found.to_json())["reason"] == found.reason


def test_a_symbol_past_its_deadline_is_any_size(long: absint.Result) -> None:
    facts = long.symbol("a0", seconds=1e-4)
    assert (facts.lo, facts.reason) == (0, "the time limit of 0.0001 s was reached")


def test_answers_below_the_deadline_do_not_depend_on_it() -> None:
    result = absint.analyze(free(), assume=["N >= 2", "M % 4 == 0"])
    assert result.contract(seconds=20) == result.contract(seconds=60)
    assert result.equal_dims(seconds=20).classes == result.equal_dims().classes
    assert not result.contract().reason


def test_the_budget_of_z3_is_the_caller_s() -> None:
    query = "N*N*N + M*M*M != 1000*N*M + 7919"
    result = absint.analyze(free())
    proof = result.prove(query, rlimit=2_000)
    assert proof.verdict is Verdict.UNKNOWN
    assert proof.reason == "the resource limit of 2000 was reached; rlimit= (--rlimit) raises it"


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"seconds": 0}, "seconds=0: expected a number above 0"),
        ({"seconds": float("nan")}, "seconds=nan: expected a number above 0"),
        ({"rlimit": -1}, "rlimit=-1: expected a number from 0 (no limit) to 4294967295"),
        ({"rlimit": 1.5}, "rlimit=1.5: expected a number from 0 (no limit) to 4294967295"),
        ({"memory": 5}, "memory=5: Z3 needs at least 268435456 bytes"),
        ({"memory": float("nan")}, "memory=nan: Z3 needs at least 268435456 bytes"),
    ],
)
def test_limits_that_make_no_sense(limits: dict[str, float], complaint: str) -> None:
    result = absint.analyze(free())
    for ask in (
        lambda: result.prove("N == 1", **limits),
        lambda: result.contract(**limits),
        lambda: result.check_range({}, **limits),
        lambda: result.equal_dims(**limits),
        lambda: result.symbol("N", **limits),
    ):
        with pytest.raises(absint.UsageError) as raised:
            ask()  # type: ignore[no-untyped-call]
        assert str(raised.value) == complaint


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "ten", [5]], ids=str)
def test_each_answer_that_takes_time_refuses_a_limit_that_is_none(seconds: Any) -> None:
    result = absint.analyze(free())
    for ask in (result.prove, result.simplify, result.certify, result.audit, result.contract):
        with pytest.raises(absint.UsageError, match=f"^seconds={re.escape(str(seconds))}: expected a number above 0$"):
            ask(*(["N == 1"] if ask == result.prove else []), seconds=seconds)
    with pytest.raises(absint.UsageError, match=r"expected a number above 0$"):
        absint.lint([], seconds=seconds)


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--seconds", "-1", "--seconds -1: expected a number above 0"),
        ("--rlimit", "-1", "--rlimit -1: expected a number from 0 (no limit) to 4294967295"),
        ("--memory", "1", "--memory 1: expected an amount of memory, 256 MB or more, as 8GB"),
        ("--memory", "255", "--memory 255: expected an amount of memory, 256 MB or more, as 8GB"),
        ("--memory", "much", "--memory much: expected an amount of memory, 256 MB or more, as 8GB"),
    ],
)
def test_limits_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, complaint: str
) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(free(), path)
    for command in (["prove", path, "N == 1"], ["contract", path], ["equal", path], ["check", path, "N=1.."]):
        assert run([*command, option, value]) == 2
        assert capsys.readouterr().err == f"absint: error: {complaint}\n"


def test_memory_of_z3_is_an_amount_or_megabytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(free(), path)
    given: list[object] = []
    proved = absint.Result.prove

    def recorded(result: absint.Result, *args: Any, **options: Any) -> object:
        given.append(options["memory"])
        return proved(result, *args, **options)

    monkeypatch.setattr(absint.Result, "prove", recorded)
    for text in ("300", "300MB", "0.5 GB", "2g"):
        run(["prove", path, "N == N", "--memory", text])
    assert given == [300 << 20, 300 << 20, 1 << 29, 2 << 30]


def test_the_command_line_says_what_was_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(sums_of_products(), path)
    assert run(["contract", path, "--seconds", "0.3"]) == 3
    assert "the clauses may be longer than they need be: the time limit of 0.3 s was reached" in capsys.readouterr().out
    assert run(["equal", path, "--seconds", "0.3"]) == 0
    assert "not all were compared: the time limit of 0.3 s was reached" in capsys.readouterr().out
    assert run(["check", path, "a0=0..", "--seconds", "0.001", "--max-seconds", "60"]) == 3
    assert "undecided" in (said := capsys.readouterr().out)
    assert said.splitlines()[0].endswith(": the time limit of 0.001 s was reached")


def test_an_earlier_deadline_holds_inside_a_later_one() -> None:
    with pytest.raises(DeadlineError, match=r"^the time limit of 0 s was reached$"), within(0), within(60):
        on_time()
    with within(60), within(5):
        assert 4 < remaining() <= 5
    on_time()
    assert remaining(3) == 3


def test_facts_of_many_relations_look_at_the_deadline() -> None:
    relations = [parse_relation(f"a{i} + a{j} >= {i}") for i, j in combinations(range(60), 2)]
    with pytest.raises(DeadlineError), within(0.001):
        Facts(relations)
