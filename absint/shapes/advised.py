"""The shape analysis and others in turns: each starts from what the other found, until nothing is added."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from absint.lattices.logic.facts import Facts
from absint.lattices.records import NamedTuple
from absint.lattices.value import BOTTOM
from absint.program.graph import Program
from absint.shapes.advice import MAX_TURNS, NO_ADVICE, Advice
from absint.shapes.analysis import interpret
from absint.shapes.application import computed_within
from absint.shapes.interpretation import Interpretation, Transfer
from absint.shapes.rounds import Round
from absint.shapes.summaries import State

Adviser = Callable[[Round], Advice]
"""Runs other analyses on a round that rests on declarations alone."""


class Companions(NamedTuple):
    """Analyses that run together with that of shapes."""

    analyses: tuple[object, ...]
    adviser: Adviser
    advice: Advice
    """Their advice before anything was refined."""


def interpreter(program: Program, facts: Facts, advice: Advice | None) -> Transfer:
    """The interpreter of the nodes of a program under the facts, with what other analyses found of them."""
    return interpret if advice is None or advice is NO_ADVICE else _Advised(program, advice.under(facts))


class _Advised:
    """Interprets the nodes of which other analyses found something with that."""

    def __init__(self, program: Program, advice: Advice) -> None:
        self._program, self._advice = program, advice

    def __call__(self, run: Interpretation, node: int, states: Sequence[State]) -> State:
        if run.program is not self._program:  # the body of a folded call
            return interpret(run, node, states)
        if node in self._advice.unreached:
            return (BOTTOM,)
        item = run.nodes[node]
        bounds = () if item.operation is None else self._advice.of(item.operands)
        if item.operation is None or not bounds:
            return interpret(run, node, states)
        return computed_within(run, node, item, item.operation, states, bounds)


def advised(run: Callable[[Advice], Round], adviser: Adviser) -> tuple[Advice, Round]:
    """The last round, and the advice that it rests on."""
    advice, last = NO_ADVICE, run(NO_ADVICE)
    for _ in range(MAX_TURNS):
        found = adviser(last).and_earlier(advice)
        if found == advice:
            break
        advice, last = found, run(found)
    return advice, last
