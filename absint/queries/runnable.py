"""Sizes at which the rules promise a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from absint.queries.size_checks import Check, Outcome, check

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_KEPT: Final = 16
"""Most sizes known to run that are kept, to be tried first."""


class Runnable:
    """Checks sizes by the rules, on data that are all 0, and keeps those that run."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._checks: dict[tuple[tuple[str, int], ...], Check] = {}
        self.sizes: list[Mapping[str, int]] = []
        """Sizes known to run."""

    def runs(self, sizes: Mapping[str, int]) -> bool:
        """The rules promise that the model runs at these sizes, on data that are all 0."""
        if sizes in self.sizes:
            return True
        runs = self._checked(sizes).outcome is Outcome.RUNS
        if runs and len(self.sizes) < _KEPT:
            self.sizes.append(sizes)
        return runs

    def why_not(self, sizes: Mapping[str, int]) -> str:
        """The first failure, possible failure or broken premise at these sizes."""
        found = self._checked(sizes)
        return str(found.failure or next(iter((*found.possible_failures, *found.premises)), ""))

    def _checked(self, sizes: Mapping[str, int]) -> Check:
        """The check by the rules of these sizes, on data that are all 0."""
        key = tuple(sizes.items())
        found = self._checks.get(key)
        if found is None:
            if len(self._checks) >= _KEPT:
                self._checks.clear()
            found = self._checks[key] = check(self._analysed, sizes, zeros=True)
        return found


__all__ = ["Runnable"]
