"""The provers of an analysis, one for each set of premises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from absint.lattices.limits import Limits
from absint.lattices.logic.relation import TRUE, Relation
from absint.questions.limits import checked
from absint.solution.analysed import Analysed
from absint.solution.constraints import ASSUMPTION, Recorder, all_names, recorded
from absint.solver.constraints import Constraint, ConstraintSet
from absint.solver.prove import Decision, Prover

Given = Literal["run", "inputs", "declared"]


class Provers:
    """Provers that are kept, so that queries share their work."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._kept: dict[tuple[str, tuple[Relation, ...]], Prover] = {}

    def of(
        self,
        given: str,
        limits: Limits,
        extra: tuple[Relation, ...] = (),
        declared: Callable[[], Sequence[Constraint]] = tuple,
    ) -> Prover:
        """The prover under these premises, with limits for the next question.

        `given` is as for `Result.prove`, `base` for the first round alone, or `required` for a run without numeric
        premises; `extra` is assumed. `declared` reads what the author declares, if that is given.
        """
        key = given, extra
        prover = self._kept.get(key)
        if prover is None:
            found = recorded(self._analysed)
            every = found.base if given == "base" else found.every
            kept: Iterable[Constraint] = every.of_needed
            if given == "required":
                kept = every.of_needed.without_premises()
            elif given == "inputs":
                kept = (c for c in every if c.origin.node < 0)
            elif given == "declared":
                kept = [*kept, *declared()]
            assumed = [Constraint(r, TRUE, ASSUMPTION, "assumed", "assumed in the query") for r in extra]
            prover = Prover(ConstraintSet([*assumed, *kept], symbols=self._analysed.symbols))
            self._kept[key] = prover
        prover.limits = limits
        return prover

    def because(self, prover: Prover, decision: Decision, given: Given) -> tuple[Constraint, ...]:
        """The constraints behind a decision, under printed names."""
        found = dict.fromkeys(prover.because(decision.core))
        if given != "inputs" and prover is not self._kept.get(("base", ())) and self._analysed.last.learned:
            found |= dict.fromkeys(self._learned())
        return self.shown(found)

    def shown(self, constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
        """Constraints under printed names."""
        names = all_names(self._analysed)
        return tuple(ConstraintSet(constraints).renamed(names))

    def _learned(self) -> Iterable[Constraint]:
        """The requirements that the last round took as facts; what is given has the prover anyway."""
        recorder = Recorder(self._analysed.lowered, self._analysed.base)
        for item in self._analysed.last.learned:
            if item.node >= 0:
                yield Constraint(item.relation, TRUE, recorder.origin(item.node), "required", item.reason)


def prover(analysed: Analysed, limits: Limits | None = None) -> Prover:
    """The prover of all rounds under these limits. Raises UsageError for a limit that makes no sense."""
    return analysed.once(Provers).of("run", checked(limits or Limits()))
