"""Is what an analysis found a post-fixpoint?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from absint.shapes.analysis import STATES

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def verify(result: Analysed) -> None:
    """Every rule applied once more, without the memo, stays below the stored states. Raises AssertionError if not."""
    result.require_sound("verification")
    analysis, states = result.last.analysis, result.last.states
    memoise, analysis.memoise = analysis.memoise, False
    kept = analysis.applied, analysis.trips, analysis.carried
    analysis.applied, analysis.trips, analysis.carried = dict(kept[0]), dict(kept[1]), dict(kept[2])
    try:
        for node, item in enumerate(result.nodes):
            again = analysis.transfer(node, states)
            lost = STATES.why_not_leq(again, states[node])
            if lost:
                raise AssertionError(f"{item}: {again} is not below the stored {states[node]}: {lost}")
    finally:
        analysis.memoise = memoise
        analysis.applied, analysis.trips, analysis.carried = kept
