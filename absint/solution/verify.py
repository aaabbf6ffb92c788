"""The check that the findings of an analysis are a post-fixpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absint.shapes.interpretation import STATES

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def verify(analysed: Analysed) -> None:
    """Apply every rule once more, without the memo. Raises AssertionError unless all results stay below the stored
    states.
    """
    analysed.require_sound("verification")
    states = analysed.last.states
    fork = analysed.last.analysis.fork(knowing=True)
    for node, item in enumerate(analysed.nodes):
        again = fork.transfer(node, states)
        lost = STATES.why_not_leq(again, states[node])
        if lost:
            raise AssertionError(f"{item}: {again} is not below the stored {states[node]}: {lost}")
