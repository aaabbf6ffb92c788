"""A condition that requirements of other nodes decide: the branch that no successful run takes is not reached."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from onnx import ModelProto, NodeProto

import absint
from absint.lattices.value import BOTTOM
from absint.program.steps import Gate
from absint.questions.sizes.outcomes import Outcome
from tests.absint.shapes.flows.build import size_is
from tests.models import branch, const, floats, model, node, untyped
from tests.runs import Runs

POOL = node("MaxPool", ["p"], ["q"], kernel_shape=[3], pads=[0, 0], name="pool")
KEPT = [node("Neg", ["x"], ["kept"])]
RAISED = [const("front", [0]), node("Unsqueeze", ["x", "front"], ["raised"])]
OTHER_RANK = {"then_branch": branch(KEPT, untyped("kept")), "else_branch": branch(RAISED, untyped("raised"))}
SWAPPED = {"then_branch": OTHER_RANK["else_branch"], "else_branch": OTHER_RANK["then_branch"]}


def size_of(number: int, operator: str) -> list[NodeProto]:
    """is: whether p has at least, or exactly, so many elements."""
    return [node("Size", ["p"], ["size"]), const("number", number), node(operator, ["size", "number"], ["is"])]


PRODUCT = [node("Flatten", ["p"], ["flat"], axis=0), node("MatMul", ["flat", "w"], ["q"])]
CASES: dict[str, tuple[ModelProto, list[Mapping[str, int]]]] = {
    "a bound that another bound implies": (
        model(
            [POOL, *size_of(1, "GreaterOrEqual"), node("If", ["is"], ["y"], **OTHER_RANK)],
            [floats("p", 1, 1, "N"), floats("x", "K")],
            ["q", "y"],
        ),
        [{"N": 3, "K": 2}, {"N": 5, "K": 0}],
    ),
    "a size that a bound excludes": (
        model(
            [POOL, *size_is("p", 2, 1), node("If", ["is"], ["y"], **SWAPPED)],
            [floats("p", 1, 1, "N"), floats("x", "K")],
            ["q", "y"],
        ),
        [{"N": 3, "K": 2}],
    ),
    "a solved size": (
        model(
            [node("MatMul", ["p", "w"], ["q"]), *size_is("p", 1, 4), node("If", ["is"], ["y"], **OTHER_RANK)],
            [floats("p", 2, "N"), floats("w", 4, 3), floats("x", "K")],
            ["q", "y"],
        ),
        [{"N": 4, "K": 2}],
    ),
    "a relation of two symbols": (
        model(
            [*PRODUCT, *size_of(12, "Equal"), node("If", ["is"], ["y"], **OTHER_RANK)],
            [floats("p", "N", "M"), floats("w", 12, 3), floats("x", "K")],
            ["q", "y"],
        ),
        [{"N": 3, "M": 4, "K": 2}, {"N": 12, "M": 1, "K": 0}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_other_branch_is_not_reached(name: str) -> None:
    made, bindings = CASES[name]
    result = absint.analyze(made)
    gates = {item.step.taken: at for at, item in enumerate(result.nodes) if isinstance(item.step, Gate)}
    reached = [result.last.states[gate][0] is not BOTTOM for gate in gates.values()]
    assert sorted(reached) == [False, True]
    assert str(result.shapes["y"]) == "[K]"
    result.verify()
    Runs(made, result).check(*bindings)


@pytest.mark.parametrize("name", CASES)
def test_the_first_round_still_has_both(name: str) -> None:
    """The answer of a check must not rest on the requirement that decides."""
    made, bindings = CASES[name]
    result = absint.analyze(made)
    gates = [at for at, item in enumerate(result.nodes) if isinstance(item.step, Gate)]
    assert all(result.base.states[gate][0] is not BOTTOM for gate in gates)
    assert result.check_range({}).outcome is Outcome.ILLEGAL
    for binding in bindings:
        assert result.check(binding).outcome in (Outcome.RUNS, Outcome.LEGAL)


def test_a_requirement_of_the_branch_itself_decides_nothing() -> None:
    """It holds only where the branch is taken."""
    inside = [node("MatMul", ["p", "w"], ["kept"])]
    made = model(
        [
            *size_is("p", 1, 4),
            node(
                "If",
                ["is"],
                ["y"],
                then_branch=branch([node("Neg", ["p"], ["negated"])], untyped("negated")),
                else_branch=branch(inside, untyped("kept")),
            ),
        ],
        [floats("p", 2, "N"), floats("w", 5, 3)],
        ["y"],
    )
    result = absint.analyze(made)
    assert all(result.last.states[at][0] is not BOTTOM for at, n in enumerate(result.nodes) if isinstance(n.step, Gate))
    Runs(made, result).check({"N": 4}, {"N": 5})
    with pytest.raises(Exception, match="MatMul"):
        Runs(made, result).run({"N": 3})
    assert Runs(made, result).run({"N": 5})["y"].shape == (2, 3)
