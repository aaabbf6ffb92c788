"""The findings about one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from absint.jobs.linting.contract import contracted
from absint.jobs.linting.declarations import declared
from absint.jobs.linting.finding import Finding, in_order
from absint.jobs.linting.running import diagnosed
from absint.jobs.linting.weights import missing_weights
from absint.lattices.limits import LONG, MEMORY, RLIMIT, Limits

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

SECONDS: Final = LONG
"""Time limit of the contract."""


def findings(analysed: Analysed, seconds: float = SECONDS) -> Sequence[Finding]:
    """All findings about an analysed model, the most severe first; the contract takes at most these seconds.

    Raises UsageError for the result of an unsound policy, whose claims may be false.
    """
    analysed.require_sound("lint")
    found = [*missing_weights(analysed), *diagnosed(analysed), *declared(analysed)]
    found += contracted(analysed, Limits(seconds, RLIMIT, MEMORY))
    return in_order(found)
