"""A run executes every node, also those that no output needs; what a proof rests on are needed nodes alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import parser

import absint
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes.outcomes import Outcome
from absint.runs.run import RunError, run
from absint.solver import export
from absint.solver.export import to_python

HEADER = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
BINARY = "g (float[N] X, float[M] Y)"
TRIPS = f"""{BINARY} => (Z) {{ c = Constant<value = bool {{1}}>() k = Constant<value = int64 {{3}}>()
    Z = Loop(k, c, X)<body = b (int64 i, bool ci, float[N] v) => (bool co, float[N] vo)
        {{ D = Add(v, Y) co = Identity(ci) vo = Relu(v) }}> }}"""
UNNEEDED = {
    "a node": f"{BINARY} => (float[N] Z) {{ D = Add(X, Y) Z = Relu(X) }}",
    "a chain": f"{BINARY} => (float[N] Z) {{ D = Add(X, Y) E = Relu(D) Z = Relu(X) }}",
    "in a body": TRIPS,
    "in a function": f"""{BINARY} => (float[N] Z) {{ Z = local.f(X, Y) }}
        <domain: "local", opset_import: ["" : 17]> f (a, b) => (c) {{ d = Add(a, b) c = Relu(a) }}""",
    "a call": f"""{BINARY} => (float[N] Z) {{ W = local.f(X, Y) Z = Relu(X) }}
        <domain: "local", opset_import: ["" : 17]> f (a, b) => (c) {{ c = Add(a, b) }}""",
    "in a branch that sizes take": f"""{BINARY} => (Z) {{ s = Shape(X) zero = Constant<value = int64[1] {{-1}}>()
        g = Greater(s, zero) c = Squeeze(g)
        Z = If(c)<then_branch = t () => (float[N] A) {{ D = Add(X, Y) A = Relu(X) }},
            else_branch = e () => (float[N] B) {{ B = Neg(X) }}> }}""",
}
SCAN_OUTPUT = f"""{BINARY} => (float[N] Z) {{ c = Constant<value = bool {{1}}>()
    k = Constant<value = int64 {{2}}>()
    W, S = Loop(k, c, X)<body = b (int64 i, bool ci, float[N] v) => (bool co, float[N] vo, float[K] S)
        {{ S = Add(v, Y) co = Identity(ci) vo = Relu(v) }}>
    Z = Relu(W) }}"""
BY_DATA = {
    "in a branch": """g (bool C, float[N] X, float[M] Y) => (Z) {
        Z = If(C)<then_branch = t () => (float[N] A) { D = Add(X, Y) A = Relu(X) },
            else_branch = e () => (float[N] B) { B = Neg(X) }> }""",
    "a choice": """g (bool C, float[N] X, float[M] Y) => (float[N] Z) {
        W = If(C)<then_branch = t () => (float[N] A) { A = Add(X, Y) },
            else_branch = e () => (float[N] B) { B = Neg(X) }>
        Z = Relu(X) }""",
}
BY_DATA_BEYOND = {
    name: text.replace("(bool C,", "(bool[20] C,")
    .replace("Z) {", "Z) { S = Constant<value = int64 {7}>() G = Gather(C, S)", 1)
    .replace("If(C)", "If(G)")
    for name, text in BY_DATA.items()
}
"""The condition is an element of an input that is too long for names."""


def read(text: str) -> absint.Result:
    return absint.analyze(parser.parse_model(HEADER + text))


def runs(result: absint.Result, n: int, m: int, **more: object) -> bool:
    try:
        run(result, {"X": np.zeros(n, np.float32), "Y": np.zeros(m, np.float32), **more})
    except RunError:
        return False
    return True


@pytest.mark.parametrize("text", [*UNNEEDED.values(), SCAN_OUTPUT], ids=[*UNNEEDED, "an output of a loop"])
def test_sizes_at_which_an_unneeded_node_fails_are_not_legal(text: str) -> None:
    result = read(text)
    contract = result.contract()
    for n, m in ((2, 3), (3, 2), (2, 2), (1, 5), (5, 1), (0, 2), (0, 0), (0, 1)):
        sizes = {"N": n, "M": m}
        legal = runs(result, n, m)
        assert contract.allows(sizes) is legal
        assert result.check(sizes).ok is legal
        if not legal:
            assert "Add" in str(result.check(sizes).failure)
            assert result.check_range({"N": (n, n), "M": (m, m)}).outcome is Outcome.ILLEGAL
    assert result.check_range({"N": (2, 4), "M": (2, 4)}).outcome is Outcome.ILLEGAL


@pytest.mark.parametrize("text", UNNEEDED.values(), ids=UNNEEDED)
def test_no_proof_and_no_refutation_rests_on_an_unneeded_node(text: str) -> None:
    result = read(text)
    proof = result.prove("N == M or N == 1 or M == 1")
    assert proof.verdict is Verdict.NOT_ENTAILED
    assert "Add" in proof.reason
    refuted = result.prove("Z[0] == 3")
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.counterexample is not None
    assert runs(result, refuted.counterexample["N"], refuted.counterexample["M"])


@pytest.mark.parametrize("text", UNNEEDED.values(), ids=UNNEEDED)
def test_a_refutation_is_found_where_unneeded_nodes_run_too(text: str) -> None:
    result = read(text)
    proof = result.prove("not (N == M and N >= 5)")
    assert proof.verdict is Verdict.REFUTED
    assert proof.counterexample is not None
    assert runs(result, proof.counterexample["N"], proof.counterexample["M"])


@pytest.mark.parametrize("text", BY_DATA.values(), ids=BY_DATA)
def test_an_unneeded_node_in_a_branch_may_fail(text: str) -> None:
    result = read(text)
    assert not runs(result, 2, 3, C=np.array(True))
    assert runs(result, 2, 3, C=np.array(False))
    check = result.check({"N": 2, "M": 3})
    assert check.outcome is Outcome.LEGAL
    assert "Add" in str(check.possible_failures)
    contract = result.contract()
    assert not contract.beyond
    assert [str(clause.relation) for clause in contract.clauses] == ["not C or M == N or M == 1 or N == 1"]
    assert result.check_range({"N": (1, 4), "M": (1, 4)}).outcome is Outcome.LEGAL


@pytest.mark.parametrize("text", BY_DATA.values(), ids=BY_DATA)
def test_the_condition_of_a_branch_says_when_its_nodes_run(text: str) -> None:
    result = read(text)
    contract = result.contract()
    for n, m, c in product((0, 1, 2, 3), (0, 1, 2, 3), (0, 1)):
        binding = {"N": n, "M": m, "C": c}
        legal = runs(result, n, m, C=np.array(bool(c)))
        assert contract.allows(binding) is legal, binding
        check = result.check(binding)
        assert check.outcome is (Outcome.RUNS if legal else Outcome.ILLEGAL), binding
        assert legal or "Add" in str(check.failure)


@pytest.mark.parametrize("text", BY_DATA_BEYOND.values(), ids=BY_DATA_BEYOND)
def test_an_unneeded_node_in_a_branch_that_data_choose_may_fail(text: str) -> None:
    result = read(text)
    assert not runs(result, 2, 3, C=np.array([True] * 20))
    assert runs(result, 2, 3, C=np.array([False] * 20))
    check = result.check({"N": 2, "M": 3})
    assert check.outcome is Outcome.LEGAL
    assert "Add" in str(check.possible_failures)
    contract = result.contract()
    assert contract.beyond
    assert str(contract) == "every size is legal as far as sizes of the inputs alone decide it"
    assert result.check_range({"N": (1, 4), "M": (1, 4)}).outcome is Outcome.LEGAL


def test_an_unneeded_node_that_no_run_passes_is_an_error() -> None:
    result = read("g (float[2] X, float[3] Y) => (float[2] Z) { D = Add(X, Y) Z = Relu(X) }")
    assert not result.can_run
    assert not runs(result, 2, 3)
    (found,) = [d for d in result.diagnostics if d.code == "cannot-run"]
    assert str(found) == (
        'error: Add #0 (output "D"): can never run: dims of axis -1 must broadcast, found 2 and 3 [cannot-run]'
    )
    assert result.check({}).outcome is Outcome.ILLEGAL


def test_a_loop_that_is_needed_computes_all_its_outputs() -> None:
    assert read(SCAN_OUTPUT).prove("N == M or N == 1 or M == 1")


def test_unneeded_nodes_that_cannot_fail_change_nothing() -> None:
    result = read("g (float[N] X) => (float[N] Z) { D = Neg(X) E = Abs(D) Z = Relu(X) }")
    assert str(result.contract()) == "every size is legal"
    assert result.check({"N": 3}).outcome is Outcome.RUNS


def test_facts_come_from_needed_nodes_alone() -> None:
    result = read("g (float[N] X, float[4] Y) => (Z) { D = MatMul(X, Y) Z = Relu(X) }")
    assert str(result.shapes["Z"]) == "[N]"
    assert result.symbol("N").values is None
    assert str(result.contract().clauses[0].relation) == "N == 4"
    assert not result.prove("N == 4")


def test_an_exported_guard_refuses_sizes_at_which_an_unneeded_node_fails() -> None:
    result = read(UNNEEDED["a node"])
    names: dict[str, object] = {}
    exec(to_python(result.constraints), names)
    check = names["check"]
    assert callable(check)
    check(N=2, M=2)
    with pytest.raises(ValueError, match="Add"):
        check(N=2, M=3)


@pytest.mark.parametrize("form", ["json", "smtlib", "metadata"])
def test_exports_tell_needed_nodes_from_others(form: str) -> None:
    constraints = read(UNNEEDED["a node"]).constraints
    assert [c.needed for c in constraints] == [False]
    written = getattr(export, f"to_{form}")(constraints)
    again = getattr(export, f"from_{form}")(written)
    assert again == constraints
    assert not again.of_needed
