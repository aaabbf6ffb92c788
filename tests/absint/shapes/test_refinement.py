"""Refinement: what requirements teach is used where a run is taken for granted, and never to prove itself.

A fact such as `d_model == 64` makes shapes exact and answers queries about runs. The contract still demands it, checks
of sizes refuse others, and each answer names the node behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np
import pytest
from onnx import ModelProto, NodeProto

import absint
from absint import Result, Severity, UsageError
from absint.lattices.logic.relation import FALSE
from absint.lattices.text import parse_relation
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes import checking
from absint.questions.sizes.boxes import stated_within
from absint.questions.sizes.checking import bound, check
from absint.questions.sizes.outcomes import Check, Outcome
from absint.solution import constraints
from absint.solver.prove import Prover
from tests.absint.questions.queries import graphs
from tests.absint.questions.queries.execution import Runs
from tests.absint.questions.queries.graphs import model, ones, projected
from tests.absint.shapes.flows.build import size_is
from tests.models import boolean, branch, const, floats, node, untyped


def learned(result: Result) -> set[str]:
    return {str(item.relation) for item in result.last.learned}


def clauses(result: Result) -> set[str]:
    return {str(clause.relation) for clause in result.contract().clauses}


def nodes_behind(result: Result, clause: str) -> set[str]:
    (found,) = (c for c in result.contract().clauses if str(c.relation) == clause)
    return {c.origin.name for c in found.because}


# A solved requirement


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs(projected())


def test_a_requirement_becomes_a_fact(runs: Runs) -> None:
    result = runs.result
    assert len(result.rounds.rounds) == 2
    assert learned(result) == {"d_model == 64"}
    assert str(result.shapes["h"]) == "[batch, seq, 64]"
    assert str(result.shapes["z"]) == "[64*batch*seq]"


def test_inputs_stay_as_they_are_declared(runs: Runs) -> None:
    assert str(runs.result.shapes["x"]) == "[batch, seq, d_model]"


def test_the_contract_still_demands_it(runs: Runs) -> None:
    result = runs.result
    assert clauses(result) == {"d_model == 64"}
    assert nodes_behind(result, "d_model == 64") == {"project"}
    assert [c for c in result.constraints if c.role == "required" and str(c.relation) == "d_model == 64"]


def behind(*first: NodeProto) -> ModelProto:
    """Nodes that give `y`, and 300 behind them."""
    rest = [node("Relu", [f"y{at}" if at else "y"], [f"y{at + 1}"]) for at in range(300)]
    return model([*first, *rest], [floats("x", "N"), boolean("c")], [untyped("y300")])


def test_a_check_ends_at_a_node_that_cannot_run() -> None:
    result = absint.analyze(behind(const("two", [1.0, 1.0], np.float32), node("Add", ["x", "two"], ["y"], name="add")))
    assert len(bound(result, {"N": 3}, stops=True).analysis.applied) < 200 < len(result.nodes)
    assert bound(result, {"N": 2}, stops=True).states == bound(result, {"N": 2}).states
    refused = result.check({"N": 3})
    assert refused.outcome is Outcome.ILLEGAL
    assert refused.failure is not None
    assert refused.failure.origin.name == "add"


def test_a_check_goes_on_behind_a_branch_that_cannot_run() -> None:
    fails = branch([const("two", [1.0, 1.0], np.float32), node("Add", ["x", "two"], ["sum"])], untyped("sum"))
    runs = branch([node("Relu", ["x"], ["relu"])], untyped("relu"))
    result = absint.analyze(behind(node("If", ["c"], ["y"], then_branch=fails, else_branch=runs)))
    found = result.check({"N": 3})
    assert found.outcome is Outcome.LEGAL
    assert bound(result, {"N": 3}, stops=True).states == bound(result, {"N": 3}).states


def test_checks_that_fail_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    result = absint.analyze(behind(const("two", [1.0, 1.0], np.float32), node("Add", ["x", "two"], ["y"], name="add")))
    made: list[int] = []

    def counted(analysed: Result, sizes: Mapping[str, int], *, zeros: bool) -> Check:
        made.append(sizes["N"])
        return check(analysed, sizes, zeros=zeros)

    monkeypatch.setattr(checking, "check", counted)
    monkeypatch.setattr(checking, "_SHAPES", 1000)
    judge = checking.Judge(result)
    for _ in range(2):
        assert not any(judge.is_legal({"N": size}) for size in range(3, 33))
    assert made == list(range(3, 33))
    for _ in range(2):  # those that are legal have 300 shapes each
        for zeros in (False, True):
            assert all(judge.check({"N": size}, zeros=zeros) for size in (1, 2))
    assert len(made) > 34


@pytest.mark.parametrize("size", [63, 65])
def test_ranges_and_checks_refuse_other_sizes(runs: Runs, size: int) -> None:
    legs = {"batch": (1, 4), "seq": (1, 4)}
    for box in ({"d_model": (size, size)}, {"d_model": (min(size, 64), max(size, 64))}, {}):
        refused = runs.result.check_range({**legs, **box})
        assert refused.outcome is Outcome.ILLEGAL
        assert refused.failure is not None
        assert refused.failure.origin.name == "project"
        assert refused.sizes is not None
        assert refused.sizes["d_model"] != 64
    sizes = {"batch": 1, "seq": 2, "d_model": size}
    assert runs.result.check(sizes).outcome is Outcome.ILLEGAL
    assert runs.at(sizes) == []


def test_the_size_that_is_demanded_runs(runs: Runs) -> None:
    assert runs.result.check_range({"d_model": 64}).outcome is Outcome.RUNS
    assert runs.result.check({"batch": 1, "seq": 2, "d_model": 64}).outcome is Outcome.RUNS
    assert runs.at({"batch": 1, "seq": 2, "d_model": 64})


def test_a_proof_names_the_node(runs: Runs) -> None:
    for query in ("h[2] == 64", "d_model == 64", "size(z) == 64 * batch * seq", "h[2] % 32 == 0"):
        proof = runs.result.prove(query)
        assert proof, query
        assert {c.origin.name for c in proof.because} == {"project"}, query


def test_the_declarations_alone_do_not_entail_it(runs: Runs) -> None:
    for query in ("h[2] == 64", "size(z) == 64 * batch * seq"):
        proof = runs.result.prove(query, given="inputs")
        assert proof.verdict is Verdict.REFUTED
        assert proof.counterexample is not None
        assert proof.counterexample["d_model"] != 64


def test_symbol_tells_the_solved_value_and_its_node(runs: Runs) -> None:
    facts = runs.result.symbol("d_model")
    assert facts.values == (64,) or str(facts.solved) == "64"
    assert {c.origin.name for clause in facts.because for c in clause.because} == {"project"}


def test_without_refinement_contract_and_checks_are_the_same(runs: Runs) -> None:
    plain = absint.analyze(projected(), refine=False)
    assert len(plain.rounds.rounds) == 1
    assert str(plain.shapes["h"]) == "[batch, seq, d_model]"
    assert clauses(plain) == clauses(runs.result)
    assert plain.prove("h[2] == 64")
    for box in ({"d_model": 63}, {"d_model": 64}):
        assert plain.check_range(box).outcome is runs.result.check_range(box).outcome


def test_later_rounds_only_add_constraints() -> None:
    for made in (projected, graphs.bias, graphs.skip_connections, graphs.loop, graphs.heads, graphs.positions):
        recorded = constraints.recorded(absint.analyze(made()))
        assert set(recorded.base.distinct) <= set(recorded.every.distinct)


# What teaches nothing


def test_a_node_that_no_output_needs_teaches_nothing_and_must_run() -> None:
    result = absint.analyze(graphs.unused())
    assert learned(result) == set()
    assert clauses(result) == {"d == 64"}
    assert result.check_range({"d": (1, 128)}).outcome is Outcome.ILLEGAL
    assert result.check_range({"d": (64, 64)}).outcome is Outcome.RUNS


def test_a_branch_that_is_not_taken_proves_nothing_outside() -> None:
    runs = Runs(graphs.guarded())
    result = runs.result
    assert learned(result) == set()
    assert str(result.shapes["y"]) == "[N, ite(N == 4, 64, d)]"
    assert result.prove("y[1] == d")
    assert result.prove("d == 64").verdict is Verdict.REFUTED
    assert result.prove("d == 64", assume=["N == 4"])
    assert [clause.relation for clause in result.contract().clauses] == [parse_relation("N == 4 -> d == 64")]
    assert result.check_range({"N": (0, 3)}).outcome is Outcome.RUNS
    assert result.check_range({"N": (3, 4)}).outcome is Outcome.ILLEGAL
    assert runs.at({"N": 3, "d": 5})
    assert not runs.at({"N": 4, "d": 5})


def test_a_size_in_a_branch_is_natural_there_alone() -> None:
    """A window of 7 in the branch for 9 rows: N - 6 >= 0 holds in that branch."""
    then = branch([node("MaxPool", ["x"], ["a"], name="window", kernel_shape=[7])], untyped("a"))
    other = branch([node("Relu", ["x"], ["b"])], untyped("b"))
    nodes = [*size_is("x", 0, 9), node("If", ["is"], ["y"], then_branch=then, else_branch=other)]
    runs = Runs(model(nodes, [floats("x", "N", 1, "L")], ["y"]))
    assert runs.result.prove("L >= 1").verdict is Verdict.REFUTED
    assert runs.at({"N": 3, "L": 0})


def test_requirements_of_a_body_need_a_trip() -> None:
    runs = Runs(graphs.loop())
    result = runs.result
    assert learned(result) == set()
    assert parse_relation("N >= 1 -> d == 64") in [clause.relation for clause in result.contract().clauses]
    inside = [c for c in result.constraints if c.origin.name == "inside" and c.role == "required"]
    assert inside
    assert all(c.guard is parse_relation("N >= 1") for c in inside)
    assert result.check_range({"N": 0}).outcome is not Outcome.ILLEGAL
    assert result.check_range({"N": (0, 1), "d": (60, 64)}).outcome is Outcome.ILLEGAL
    for trips, d, fine in ((0, 5, True), (1, 64, True), (1, 5, False)):
        sizes = {"N": trips, "d": d, "B": 2, "A": 1}
        assert bool(result.check(sizes)) is fine
        assert bool(runs.at(sizes)) is fine


def test_a_requirement_behind_a_condition_on_data_may_fail() -> None:
    runs = Runs(graphs.guarded_by_data())
    result = runs.result
    contract = result.contract()
    clauses = {"not flag or N == 1 or N == 2", "not flag or d == 1 or d == 64"}
    assert {str(clause.relation) for clause in contract.clauses} == clauses
    assert contract.elements == ("flag",)
    assert contract.beyond == ()
    assert contract.allows({"N": 2, "d": 5})
    assert contract.allows({"N": 2, "d": 5, "flag": 0})
    assert not contract.allows({"N": 2, "d": 5, "flag": 1})
    assert result.check({"N": 2, "d": 5, "flag": 0}).outcome is Outcome.RUNS
    assert result.check({"N": 2, "d": 5, "flag": 1}).outcome is Outcome.ILLEGAL
    sizes = {"N": 2, "d": 5}
    checked = result.check(sizes)
    assert checked.outcome is Outcome.LEGAL
    assert {failure.origin.name for failure in checked.possible_failures} == {"inside"}
    assert result.check_range({"d": 5}).outcome is Outcome.LEGAL
    assert result.check_range({"N": (1, 2), "d": 64}).outcome in (Outcome.LEGAL, Outcome.RUNS)
    shapes = len(runs.at(sizes)), len(runs.at({"N": 2, "d": 64}))
    assert 0 < shapes[0] < shapes[1], "it fails on some data"


# Contradictions


def test_two_requirements_that_contradict_each_other() -> None:
    runs = Runs(graphs.clash())
    result = runs.result
    (found,) = (d for d in result.diagnostics if d.severity is Severity.ERROR)
    assert str(found) == (
        "error: MatMul narrow: can never run: MatMul wide requires d == 64 and MatMul narrow requires d == 32 "
        "[contradiction]"
    )
    assert not result.can_run
    contract = result.contract()
    assert contract.possible is False
    assert [clause.relation for clause in contract.clauses] == [FALSE]
    assert {c.origin.name for c in contract.clauses[0].because} == {"wide", "narrow"}
    for query in ("y[0] == B", "B == 7", "d == 64", "shape(x) == shape(x)"):
        proof = result.prove(query)
        assert not proof
        assert proof.verdict is Verdict.CONTRADICTION
        assert {c.origin.name for c in proof.because} == {"wide", "narrow"}
    for d in (32, 64):
        assert result.check({"B": 1, "d": d}).outcome is Outcome.ILLEGAL
        assert not runs.at({"B": 1, "d": d})
    assert result.check_range({"d": (1, 128)}).outcome is Outcome.ILLEGAL
    assert str(result.shapes["y"]) == "[B, 2]", "the rest is still analysed"
    assert {"d", "64", "32"} <= {alike.what for alike in result.equal_dims()}, "nothing is proved equal"
    with pytest.raises(UsageError, match="wide requires d == 64 and MatMul narrow requires d == 32"):
        absint.analyze(graphs.clash(), strict=True)


def test_only_what_contradicts_is_named() -> None:
    """Requirements on other symbols, and those that agree, are left out."""
    nodes = [
        node("MatMul", ["q", "w"], ["a"], name="apart"),
        node("MatMul", ["x", "w"], ["b"], name="wide"),
        node("Relu", ["x"], ["r"], name="between"),
        node("MatMul", ["r", "w"], ["c"], name="again"),
        node("MatMul", ["x", "v"], ["d"], name="narrow"),
    ]
    inputs = [floats("x", "B", "d"), floats("q", "B", "e")]
    result = absint.analyze(model(nodes, inputs, ["a", "b", "c", "d"], w=ones(64, 2), v=ones(32, 2)))
    (found,) = (d for d in result.diagnostics if d.code == "contradiction")
    assert "apart" not in str(found)
    assert "again" not in str(found)
    assert {c.origin.name for c in result.contract().clauses[0].because} == {"wide", "narrow"}


def test_a_node_that_fails_for_what_another_requires() -> None:
    """d == 64, and d*e == 30 which solves nothing: the second node is rejected in the next round."""
    nodes = [node("MatMul", ["x", "w"], ["y"], name="wide"), node("Reshape", ["p", "t"], ["z"], name="grid")]
    inputs = [floats("x", "B", "d"), floats("p", "d", "e")]
    result = absint.analyze(model(nodes, inputs, ["y", "z"], w=ones(64, 2), t=np.array([5, 6])))
    (found,) = (d for d in result.diagnostics if d.severity is Severity.ERROR)
    assert "Reshape grid" in str(found)
    assert "MatMul wide requires d == 64" in str(found)
    assert result.prove("B == B").verdict is Verdict.CONTRADICTION
    assert result.contract().possible is False


def test_assumptions_against_a_requirement() -> None:
    result = absint.analyze(graphs.two_by_three(), assume=["N >= 7"])
    (found,) = (d for d in result.diagnostics if d.severity is Severity.ERROR)
    assert "grid" in str(found)
    assert result.contract().possible is False
    assert result.prove("N == 8").verdict is Verdict.CONTRADICTION
    assert result.check({"N": 6}).outcome is Outcome.ILLEGAL
    asked = absint.analyze(graphs.two_by_three()).prove("N == 8", assume=["N >= 7"])
    assert asked.verdict is Verdict.CONTRADICTION
    assert {c.origin.name for c in asked.because} == {"grid", "the assumptions"}


def test_assumptions_against_each_other() -> None:
    result = absint.analyze(graphs.broadcast())
    proof = result.prove("z[0] == z[0]", assume=["N == 2", "N == 3"])
    assert proof.verdict is Verdict.CONTRADICTION
    assert {c.origin.name for c in proof.because} == {"the assumptions"}


# Nothing proves itself


def chain(order: Sequence[tuple[str, str]]) -> ModelProto:
    """A product for each pair of symbols, which must be equal."""
    nodes: list[NodeProto] = []
    inputs = []
    for number, (a, b) in enumerate(order):
        inputs += [floats(f"x{number}", 1, a), floats(f"w{number}", b, 1)]
        nodes.append(node("MatMul", [f"x{number}", f"w{number}"], [f"y{number}"], name=f"{a}{b}"))
    return model(nodes, inputs, [f"y{number}" for number in range(len(order))])


@pytest.mark.parametrize("order", list(permutations([("A", "B"), ("B", "C"), ("C", "A")])))
def test_each_of_three_equalities_follows_from_the_others(order: Sequence[tuple[str, str]]) -> None:
    """In every order of the nodes the first one that fails is named, and two clauses remain."""
    result = absint.analyze(chain(order))
    box = dict.fromkeys("ABC", (1, 4))
    refused = result.check_range(box)
    assert refused.outcome is Outcome.ILLEGAL
    assert refused.failure is not None
    assert refused.failure.origin.name == "".join(order[0])
    assert len(result.contract().clauses) == 2
    assert result.check_range(dict.fromkeys("ABC", 3)).outcome is Outcome.RUNS
    assert result.prove("A == C")
    assert result.prove("A == C", given="inputs").verdict is Verdict.REFUTED


def test_a_requirement_that_is_stated_twice_is_not_used_for_itself() -> None:
    result = absint.analyze(chain([("A", "B"), ("A", "B"), ("B", "A")]))
    assert result.check_range({"A": (1, 4), "B": (1, 4)}).outcome is Outcome.ILLEGAL
    assert len(result.contract().clauses) == 1


def late_requirement(early: Callable[[], Sequence[NodeProto]]) -> ModelProto:
    """The requirement of a later product on d would discharge that of an earlier node."""
    nodes = [*early(), node("MatMul", ["x", "w"], ["last"], name="late")]
    outputs = [name for made in nodes for name in made.output]
    constants = {"w": ones(64, 2), "b": ones(64), "grid": np.array([0, 8, -1]), "at": np.array([63])}
    return model(nodes, [floats("x", "B", "d")], outputs, **constants)


EARLY: Mapping[str, Callable[[], Sequence[NodeProto]]] = {
    "d in {1, 64}": lambda: [node("Add", ["x", "b"], ["y"], name="early")],
    "d % 8 == 0": lambda: [node("Reshape", ["x", "grid"], ["y"], name="early")],
    "d >= 64": lambda: [node("Gather", ["x", "at"], ["y"], axis=1, name="early")],
}


@pytest.mark.parametrize("what", EARLY)
def test_a_late_requirement_does_not_discharge_an_early_one(what: str) -> None:
    runs = Runs(late_requirement(EARLY[what]))
    result = runs.result
    assert "d == 64" in learned(result)
    for box in ({"B": (1, 2)}, {"B": (1, 2), "d": (2, 63)}, {"B": 1, "d": 3}):
        refused = result.check_range(box)
        assert refused.outcome is Outcome.ILLEGAL
        assert refused.failure is not None
        assert refused.failure.origin.name == "early"
    assert result.check_range({"B": (1, 2), "d": 64}).outcome is Outcome.RUNS
    assert "d == 64" in clauses(result)
    assert not runs.at({"B": 1, "d": 3})
    assert runs.at({"B": 1, "d": 64})


def test_a_possible_failure_of_an_early_node_needs_more_than_a_late_requirement() -> None:
    """onnxruntime may not multiply a batch of 0 by one of 1; a later Reshape demands a batch of at least 1."""
    nodes = [
        node("MatMul", ["x", "c"], ["y"], name="early"),
        node("Reshape", ["x", "t"], ["z"], name="late"),
        node("Gemm", ["p", "w"], ["q"], name="wide"),
    ]
    inputs = [floats("x", "B", 2, 2), floats("p", 1, "d")]
    made = model(nodes, inputs, ["y", "z", "q"], c=ones(1, 2, 2), t=np.array([0, -1]), w=ones(64, 1))
    result = absint.analyze(made)
    base, every = constraints.recorded(result)
    assert learned(result) == {"B >= 1", "d == 64"}
    assert {failure.origin.name for failure in base.possible_failures} == {"early"}
    assert not every.possible_failures
    prover = Prover(base, order=result.symbols)
    assert stated_within(result, prover, [parse_relation("B >= 1")]) is base
    assert stated_within(result, prover, [parse_relation("B >= 2 and d == 64")]) is every
    assert result.check_range({"B": (1, 3), "d": 64}).outcome is Outcome.RUNS
    refused = result.check_range({"B": (0, 3), "d": 64})
    assert refused.outcome is Outcome.ILLEGAL
    assert refused.failure is not None
    assert refused.failure.origin.name == "late"
    assert result.contract().possible_failures == (), "the clauses entail what was learned"


def test_sizes_that_are_declared_are_part_of_the_question() -> None:
    """An input dim N - 1 has no size at N = 0."""
    result = absint.analyze(graphs.divided())
    refused = result.check_range({"N": (0, 4)})
    assert refused.outcome is Outcome.ILLEGAL
    assert refused.sizes == {"N": 0}
    assert result.check({"N": 0}).outcome is Outcome.ILLEGAL
    assert result.check_range({"N": (1, 4)}).outcome is Outcome.RUNS


def test_a_box_without_a_size_that_is_assumed() -> None:
    result = absint.analyze(graphs.broadcast(), assume=["N % 8 == 0"])
    assert result.check_range({"N": (1, 7), "M": 1}).outcome is Outcome.ILLEGAL
    assert result.check_range({"N": (1, 15), "M": 1}).outcome is Outcome.RUNS


def test_a_flag_does_not_teach(runs: Runs) -> None:
    """The same requirement in both branches of a condition on data holds in every run, yet each is guarded."""
    then = branch([node("MatMul", ["x", "w"], ["a"], name="one")], untyped("a"))
    other = branch([node("MatMul", ["x", "w"], ["b"], name="two")], untyped("b"))
    nodes = [node("If", ["flag"], ["y"], then_branch=then, else_branch=other)]
    both = Runs(model(nodes, [floats("x", "B", "d"), boolean("flag")], ["y"], w=ones(64, 2)))
    proof = both.result.prove("d == 64")
    assert proof
    assert {c.origin.name for c in proof.because} == {"one", "two"}
    assert not both.at({"B": 1, "d": 63})
