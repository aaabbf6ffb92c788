"""Stored states speak of symbols that are visible at their node: those of inputs, and of nodes before it in its own
scope or around it. The theorem of docs/theory takes this for granted, beside what `Result.verify` checks.

A branch that every run takes counts as part of the scope around it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from absint import Result, analyze
from absint.lattices.terms.expr import Symbol
from absint.lattices.value import BOTTOM
from absint.program.steps import Gate, IfJoin
from absint.shapes.readability import symbols_of
from tests.absint.shapes.flows import FLOWS
from tests.models import floats, model, node
from tests.soundness.nested_models import Maker


def hidden(result: Result) -> Iterator[str]:
    """Symbols of stored states that are not visible there."""
    for number, state in enumerate(result.last.states):
        for symbol in (symbol for value in state for symbol in symbols_of(value)):
            if symbol.origin_node is not None and not _sees(result, number, symbol.origin_node):
                yield f"{result.nodes[number]} speaks of {symbol.name} of {result.nodes[symbol.origin_node]}"


def _sees(result: Result, number: int, origin: int) -> bool:
    around = {number, *_gates(result, number)}
    scope = result.nodes[origin].gate
    while scope >= 0 and scope not in around and _is_always_taken(result, scope):
        scope = result.nodes[scope].gate
    return origin <= number and (scope < 0 or scope in around)


def _gates(result: Result, number: int) -> Iterator[int]:
    while (number := result.nodes[number].gate) >= 0:
        yield number


def _is_always_taken(result: Result, gate: int) -> bool:
    step = result.nodes[gate].step
    if not isinstance(step, Gate):
        return False
    join = result.nodes[step.join].step
    assert isinstance(join, IfJoin)
    (other,) = {join.then_gate, join.else_gate} - {gate}
    return result.last.states[other] == (BOTTOM,)


@pytest.mark.parametrize("name", FLOWS)
def test_of_control_flow(name: str) -> None:
    assert list(hidden(analyze(FLOWS[name]().model))) == []


@pytest.mark.parametrize("seed", range(0, 120, 20))
def test_of_random_bodies(seed: int) -> None:
    made = [drawn[0] for at in range(seed, seed + 20) if (drawn := Maker(at).model()) is not None]
    assert len(made) > 10
    assert [found for drawn in made for found in hidden(analyze(drawn))] == []


def test_a_symbol_of_a_later_node_is_found() -> None:
    nodes = [node("Relu", ["X"], ["Z"]), node("NonZero", ["Z"], ["Y"])]
    result = analyze(model(nodes, [floats("X", "N")], ["Y"]))
    (early, _), (late, _) = result.producer("Z"), result.producer("Y")
    assert list(hidden(result)) == []
    result.last.states[early] = result.last.states[late]
    (symbol,) = (s for value in result.last.states[late] for s in symbols_of(value) if isinstance(s, Symbol))
    assert list(hidden(result)) == [f"Relu #0 speaks of {symbol.name} of NonZero #1"]
