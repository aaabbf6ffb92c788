"""`Analysed`: what an analysis found, apart from the questions about it."""

from __future__ import annotations

import gc
import weakref
from typing import Final

import onnx
import onnx.parser
import pytest

import absint
from absint.lattices.limits import Limits
from absint.questions.claims.judging import diagnostics
from absint.questions.costs.cost import Cost
from absint.questions.explain.question import explain
from absint.questions.proofs.equivalence import equal_dims
from absint.questions.proofs.proof import Provers
from absint.questions.proofs.proofs import prove
from absint.questions.sizes.checking import check
from absint.questions.sizes.contracts import contract
from absint.runs.run import feeds_for
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names, constraints, recorded
from absint.solution.loading import can_run
from absint.solution.verify import verify

MODEL: Final = """<ir_version: 10, opset_import: ["" : 21]>
main (float[N, K] x, float[64, M] w, float[N, M] b) => (float[N, M] y, int64[R, D] at) {
    z = MatMul(x, w)
    y = Add(z, b)
    at = NonZero(y)
}"""

LIMITS: Final = Limits(20.0)


@pytest.fixture
def result() -> absint.Result:
    return absint.analyze(onnx.parser.parse_model(MODEL))


def bare(result: absint.Result) -> Analysed:
    """The findings, without the questions of a Result."""
    return Analysed(result.loaded, result.lowered, result.declared_inputs, result.rounds, result.assumptions)


def test_what_is_derived_is_made_once_for_each_analysis(result: absint.Result) -> None:
    made: list[Analysed] = []

    def count(analysed: Analysed) -> int:
        made.append(analysed)
        return len(analysed.nodes)

    other = bare(result)
    assert result.once(count) == result.once(count) == other.once(count)
    assert made == [result, other]


def test_none_is_kept_too(result: absint.Result) -> None:
    made: list[Analysed] = []
    for _ in range(2):
        assert result.once(made.append) is None
    assert made == [result]


def test_an_error_is_not_kept(result: absint.Result) -> None:
    errors = [absint.UsageError("not yet")]

    def make(_: Analysed) -> int:
        if errors:
            raise errors.pop()
        return 7

    with pytest.raises(absint.UsageError, match="not yet"):
        result.once(make)
    assert result.once(make) == 7


def test_questions_share_what_they_derive(result: absint.Result) -> None:
    assert recorded(result) is recorded(result)
    assert result.constraints is constraints(result)
    assert all_names(result) is all_names(result)
    assert result.diagnostics is diagnostics(result)
    result.prove("K == 64")
    assert result.once(Provers) is result.once(Provers)


def test_questions_are_functions_of_what_was_found(result: absint.Result) -> None:
    found = bare(result)
    sizes = {"N": 3, "K": 64, "M": 5}
    assert repr(found).startswith("<Analysed of the model: ")
    assert repr(result).startswith("<Result of the model: ")
    assert str(found["at"]) == str(result["at"])
    assert dict(found.shapes) == dict(result.shapes)
    assert can_run(found) is result.can_run is True
    assert diagnostics(found) == result.diagnostics
    assert list(map(str, constraints(found))) == list(map(str, result.constraints))
    assert prove(found, "K == 64", limits=LIMITS).verdict is absint.Verdict.PROVED
    assert str(contract(found, LIMITS)) == str(result.contract())
    assert equal_dims(found, LIMITS).classes == result.equal_dims().classes
    assert check(found, sizes).outcome is result.check(sizes).outcome
    assert str(Cost(found).flops) == str(result.cost().flops)
    assert str(explain(found, "y", 0)) == str(result.explain("y", 0))
    assert feeds_for(found, sizes)["x"].shape == (3, 64)


def program_of(result: absint.Result) -> list[object]:
    """All that lowering gave."""
    nodes = [(str(node), node.value, list(node.operands), node.outputs, node.step, node.gate) for node in result.nodes]
    return [nodes, list(result.lowered.diagnostics), {path: dict(scope.names) for path, scope in result.scopes.items()}]


def test_no_question_changes_the_program(result: absint.Result) -> None:
    before = program_of(result)
    sizes = {"N": 3, "K": 64, "M": 5}
    result.verify()
    result.prove("N == M")
    result.check(sizes)
    result.check_range({"N": (1, 4)})
    result.contract()
    result.cost()
    result.memory()
    result.annotate("refine", outputs=True)
    str(result.explain("y", 0))
    assert result.diagnostics == ()
    assert program_of(result) == before


def test_a_limit_is_no_part_of_the_program() -> None:
    partial = absint.analyze(onnx.parser.parse_model(MODEL), max_nodes=1)
    assert [d.code for d in partial.diagnostics] == ["limit"]
    assert partial.limits_reached == (partial.diagnostics[0].message,)
    assert partial.lowered.diagnostics == []


def test_verification_leaves_the_result_as_it_was(result: absint.Result) -> None:
    analysis, states = result.last.analysis, list(result.last.states)
    applied, trips = dict(analysis.applied), dict(analysis.trips)
    verify(result)
    assert result.last.analysis is analysis
    assert result.last.states == states
    assert (dict(analysis.applied), dict(analysis.trips)) == (applied, trips)


def test_a_failed_verification_leaves_the_result_as_it_was(result: absint.Result) -> None:
    analysis, states = result.last.analysis, result.last.states
    node = result.operands["y"][0]
    states[node] = (absint.Tensor(absint.DType.FLOAT, absint.Shape([1, 1])),)
    applied = dict(analysis.applied)
    with pytest.raises(AssertionError, match="is not below the stored"):
        result.verify()
    assert dict(analysis.applied) == applied


def test_a_result_knows_the_program_that_it_is_about(result: absint.Result) -> None:
    assert result.program.nodes is result.nodes
    assert result.operands.keys() == set(result.values)
    assert [result.nodes[node].outputs for node in result.input_nodes.values()] == [("x",), ("w",), ("b",)]
    assert result.folder is None
    assert list(result.scopes) == [""]
    assert all(result.needed[node] for node in result.input_nodes.values())


def test_a_result_that_is_dropped_is_freed_at_once() -> None:
    """No cycle of references holds it until Python looks for cycles."""
    gc.disable()
    try:
        dropped = weakref.ref(absint.analyze(onnx.parser.parse_model(MODEL)))
        assert dropped() is None
    finally:
        gc.enable()
