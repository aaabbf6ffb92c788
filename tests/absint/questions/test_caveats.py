"""Nodes that may fail only under a condition: answers distinguish the sizes that meet it."""

from __future__ import annotations

import pytest
from onnx import ModelProto, parser

import absint
from absint import Result
from absint.lattices.logic.relation import ge
from absint.questions.sizes.outcomes import Outcome
from absint.solver.export import from_json, to_json
from absint.transfer.op import Op
from absint.transfer.rule import rule
from tests.models import parsed


def model(text: str) -> ModelProto:
    return parsed(text)


RESIZED = """(float[N, 3, H, 8] x) => (float[a, b, c, d] y) {
    start = Constant<value_ints = [0]>()
    batch = Constant<value_ints = [2]>()
    shape = Shape(x)
    one = Constant<value_ints = [1]>()
    n = Slice(shape, start, one)
    rest = Constant<value_ints = [3, 16, 16]>()
    sizes = Concat<axis = 0>(n, rest)
    y = Resize<mode = "linear">(x, , , sizes)
}"""


@pytest.fixture
def resized() -> Result:
    return absint.analyze(model(RESIZED))


def test_sizes_that_meet_the_condition_run(resized: Result) -> None:
    assert resized.check({"N": 2, "H": 5}).outcome is Outcome.RUNS
    assert resized.check_range({"N": (1, 4), "H": (1, 500)}).outcome is Outcome.RUNS


def test_sizes_that_do_not_meet_it_may_fail(resized: Result) -> None:
    found = resized.check({"N": 2, "H": 0})
    assert found.outcome is Outcome.LEGAL
    assert any("axis 2 must stay empty" in failure.reason for failure in found.possible_failures)
    ranged = resized.check_range({"N": (1, 4), "H": (0, 500)})
    assert ranged.outcome is Outcome.LEGAL
    assert [failure.reason for failure in ranged.possible_failures] == ["axis 2 must stay empty or stay non-empty"]


def test_that_a_node_runs_does_not_show_the_condition(resized: Result) -> None:
    """A caveat is no requirement: nothing is proved by it."""
    assert resized.prove("H >= 1").verdict.value != "proved"
    assert not [c for c in resized.constraints if "empty" in c.reason]


def test_the_condition_is_exported(resized: Result) -> None:
    (failure,) = [d for d in resized.constraints.possible_failures if "axis 2" in d.reason]
    assert failure.guard.evaluate({"H": 0})
    assert not failure.guard.evaluate({"H": 3})
    assert from_json(to_json(resized.constraints)).possible_failures == resized.constraints.possible_failures


def test_a_condition_over_an_invented_size_has_a_printed_name() -> None:
    @rule("Gamble", domain="my", inputs="X", complete=True)
    def gamble(op: Op) -> absint.Tensor:
        size = op.fresh("length")
        op.may_fail("the dice fall", unless=ge(size, 2))
        return absint.Tensor(op.dtype("X"), absint.Shape([size]))

    text = """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        graph (float[N] x) => (float[k] y, float[m] z) { y = my.Gamble(x) z = my.Gamble(x) }"""
    result = absint.analyze(parser.parse_model(text), table=absint.TABLE.extended([gamble]))
    assert [str(failure.guard) for failure in result.constraints.possible_failures] == ["k <= 1", "m <= 1"]
    assert result.check({"N": 3}).outcome is Outcome.LEGAL
