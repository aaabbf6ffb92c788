"""Runs of both models on the same inputs, each in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from absint.errors import AbsintError
from absint.jobs.diffing.correspondence import Correspondence, both
from absint.lattices.limits import remaining
from absint.questions.proofs.evidence import LEAST_SECONDS, SECONDS
from absint.questions.sizes.checking import Judge
from absint.questions.sizes.start import Sizes
from absint.runs.allowance import unmade
from absint.solution.analysed import Analysed

Side = Literal["A", "B"]

Seen = Mapping[str, tuple[int, ...]] | str
"""The shapes of outputs, the length of a sequence as its shape; or the reason why the run failed."""

MOST_RUNS: Final = 16
"""Most sizes at which the models of one comparison are run."""


class Shown(NamedTuple):
    """A run of both models on the same inputs."""

    source: Seen
    """The model whose symbols gave the sizes."""
    target: Seen


class Both:
    """Runs of two models; each pair of runs is made once."""

    def __init__(self, over: Correspondence, *, allowed: bool) -> None:
        """Nothing is run unless it is `allowed`: then the rules alone say at which sizes a model runs."""
        self._models: dict[Side, Analysed] = {"A": over.source, "B": over.target}
        self._names = {"A": dict(both(over.pairs)), "B": {b: a for a, b in both(over.pairs)}}
        self._seen: dict[tuple[Side, tuple[tuple[str, int], ...]], Shown] = {}
        self._allowed = allowed
        self.why_not = "" if allowed else "no model is run"
        """The reason why the last pair of runs was not made."""

    def promised(self, side: Side, sizes: Sizes) -> bool:
        """The rules promise that the model runs at these sizes of its symbols."""
        return self._models[side].once(Judge).runs(sizes)

    def at(self, side: Side, sizes: Sizes) -> Shown | None:
        """Runs of both at sizes of the symbols of one, on random data, else on zeros or ones; None without a run."""
        key = side, tuple(sizes.items())
        if key not in self._seen:
            if self._allowed:
                self.why_not = self._is_late() or unmade(self._models[side], sizes)
            if self.why_not:
                return None
            self._seen[key] = self._run(side, sizes)
        return self._seen[key]

    def _run(self, side: Side, sizes: Sizes) -> Shown:
        from absint.runs.run import KINDS, feeds_for

        source, target = self._models[side], self._models["B" if side == "A" else "A"]
        names = self._names[side]
        first = ""
        for kind in KINDS:
            try:
                feeds = feeds_for(source, sizes, seed=0, values=kind)
            except AbsintError as error:
                return Shown(first or str(error), "")
            seen = _shapes(source, feeds)
            if isinstance(seen, str):
                first = first or seen
                continue
            given = {names[name]: array for name, array in feeds.items() if name in names}
            missing = [name for name in target.inputs if name not in given]
            if missing:
                return Shown(seen, f"it needs input {', '.join(map(repr, missing))}")
            return Shown(seen, _shapes(target, given))
        return Shown(first, "")

    def _is_late(self) -> str:
        if remaining(SECONDS) < LEAST_SECONDS:
            return "there is no time left for a run"
        return f"there were {MOST_RUNS} runs already" if len(self._seen) >= MOST_RUNS else ""


def _shapes(model: Analysed, feeds: Mapping[str, object]) -> Seen:
    from absint.runs.run import run

    try:
        found = run(model, feeds, isolated=True, seconds=remaining(SECONDS))
    except AbsintError as error:
        return str(error)
    return {name: (len(value),) if isinstance(value, list) else tuple(value.shape) for name, value in found.items()}
