"""An analysis keeps its findings in its interpretation: the program does not change, and a fork leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import absint
from absint.program.graph import Program
from absint.program.steps import Step
from absint.shapes.interpretation import Interpretation
from absint.shapes.meanings import MEANINGS
from tests.absint.shapes.flows import FLOWS

LOOPS = sorted(name for name in FLOWS if "loop" in name or "scan" in name or "map" in name)[::4]


def analysed(name: str) -> absint.Result:
    return absint.analyze(FLOWS[name]().model)


def written(program: Program) -> list[object]:
    """All that a program says of its nodes."""
    nodes = [[repr(getattr(node, name)) for name in node.__slots__] for node in program.nodes]
    steps = [node.step for node in program.nodes if node.step is not None]
    return [nodes, [repr(step) for step in steps]]


def found(run: Interpretation) -> Mapping[str, object]:
    """All that an analysis has found."""
    names = ("applied", "crashes", "trips", "guards")
    invariants = {head: claims.to_prove() for head, claims in run.invariants.items()}
    return {name: dict(getattr(run, name)) for name in names} | {
        "invariants": invariants,
        "applications": run.applications,
    }


@pytest.mark.parametrize("name", LOOPS)
def test_the_program_stays_as_it_is(name: str) -> None:
    result = analysed(name)
    before = written(result.program)
    absint.fixpoint(result.program, type(result.analysis)(result.program))
    result.verify()
    assert result.constraints is not None
    assert written(result.program) == before


@pytest.mark.parametrize("name", LOOPS)
def test_verification_changes_nothing(name: str) -> None:
    result = analysed(name)
    before, states = found(result.analysis), list(result.states)
    result.verify()
    result.verify()
    assert found(result.analysis) == before
    assert result.states == states


@pytest.mark.parametrize("name", LOOPS)
def test_a_fork_keeps_what_it_finds_to_itself(name: str) -> None:
    result = analysed(name)
    run = result.analysis
    before = found(run)
    fork = run.fork()
    assert not fork.applied
    assert not fork.invariants
    states = list(result.states)
    for node in range(len(result.nodes)):
        states[node] = fork.transfer(node, states)
    assert fork.applied
    assert found(run) == before


def test_every_step_has_a_meaning() -> None:
    kinds, stack = set(), [Step]
    while stack:
        inner = stack.pop().__subclasses__()
        stack += inner
        kinds |= {kind for kind in inner if not kind.__subclasses__()}
    assert set(MEANINGS) == kinds


def test_a_step_cannot_be_changed() -> None:
    step = next(node.step for node in analysed("loop_grows_by_a_symbol").nodes if node.step is not None)
    with pytest.raises(AttributeError, match="cannot be changed: types"):
        step.types = None  # type: ignore[misc]
