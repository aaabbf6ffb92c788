"""The judge of sizes of one model: each check is made once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from absint.questions.sizes.checking import Check, Outcome, check

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_KEPT: Final = 64
_NODES: Final = 20_000
"""Limits of the checks that are kept: their number, and the nodes of the model in all of them."""

_RUNNING: Final = 16
"""Most sizes known to run that are kept, to be tried first."""


class Judge:
    """Checks sizes, elements of inputs among them. `Analysed.once(Judge)` is that of all questions."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._checks: dict[tuple[bool, tuple[tuple[str, int], ...]], Check] = {}
        self.sizes: list[Mapping[str, int]] = []
        """Sizes known to run on data that are all 0."""

    def check(self, sizes: Mapping[str, int], *, zeros: bool = False) -> Check:
        """The check at these sizes; with `zeros` on data that are all 0."""
        key = zeros, tuple(sizes.items())
        found = self._checks.get(key)
        if found is None:
            if len(self._checks) >= max(1, min(_KEPT, _NODES // max(1, len(self._analysed.nodes)))):
                self._checks.clear()
            found = self._checks[key] = check(self._analysed, sizes, zeros=zeros)
        return found

    def is_legal(self, sizes: Mapping[str, int]) -> bool:
        """No requirement is broken at these sizes."""
        return self.check(sizes).outcome in (Outcome.RUNS, Outcome.LEGAL)

    def runs(self, sizes: Mapping[str, int]) -> bool:
        """The rules promise that the model runs at these sizes, on data that are all 0."""
        if sizes in self.sizes:
            return True
        runs = self.check(sizes, zeros=True).outcome is Outcome.RUNS
        if runs and len(self.sizes) < _RUNNING:
            self.sizes.append(sizes)
        return runs

    def why_not(self, sizes: Mapping[str, int]) -> str:
        """The first failure, possible failure or broken premise at these sizes, on data that are all 0."""
        found = self.check(sizes, zeros=True)
        return str(found.failure or next(iter((*found.possible_failures, *found.premises)), ""))
