"""The provers of an analysis, one for each set of premises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from absint.lattices.limits import Limits
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, eq
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from absint.program.declarations import declared_in_main
from absint.questions.limits import checked
from absint.solution.analysed import Analysed
from absint.solution.constraints import ASSUMPTION, Recorder, all_names, recorded
from absint.solver.constraints import Constraint, ConstraintSet, Origin
from absint.solver.prove import Decision, Prover

Given = Literal["run", "inputs", "declared"]


class Provers:
    """Provers that are kept, so that queries share their work."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._kept: dict[tuple[str, tuple[Relation, ...]], Prover] = {}

    def of(self, given: str, limits: Limits, extra: tuple[Relation, ...] = ()) -> Prover:
        """The prover under these premises, with limits for the next question.

        `given` is as for `Result.prove`, `base` for the first round alone, or `required` for a run without numeric
        premises; `extra` is assumed.
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
                kept = [*kept, *self._claims()]
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

    def _claims(self) -> Iterable[Constraint]:
        """The author's declarations of outputs and inner values of the main graph.

        Those of bodies and functions are about visits that a run may not make, and their names may mean other sizes.
        """
        result = self._analysed
        known = {*result.parameters, *(s.name for s in all_names(result))}
        elements = result.declared_inputs.elements
        for what, (node, at), claim in declared_in_main(result.lowered):
            if not what.startswith(("output ", "value_info ")):
                continue
            found = result.states[node][at] if node >= 0 else None
            if not isinstance(claim, Tensor) or not isinstance(found, Tensor) or claim.shape.rank != found.shape.rank:
                continue
            pairs = zip(claim.shape, found.shape, strict=True) if claim.shape.rank else ()
            for stated, dim in pairs:
                relation = eq(stated, dim)
                by_sizes = not isinstance(stated, Expr) or stated.free_symbols.isdisjoint(elements)  # its own names
                if relation not in (UNKNOWN_RELATION, TRUE) and relation.free_symbols <= known and by_sizes:
                    origin = Origin(-1, "", what, "", "")
                    yield Constraint(relation, TRUE, origin, "declared", "declared by the author")

    def _learned(self) -> Iterable[Constraint]:
        """The requirements that the last round took as facts."""
        recorder = Recorder(self._analysed.lowered, self._analysed.base)
        for item in self._analysed.last.learned:
            yield Constraint(item.relation, TRUE, recorder.origin(item.node), "required", item.reason)


def prover(analysed: Analysed, limits: Limits | None = None) -> Prover:
    """The prover of all rounds under these limits. Raises UsageError for a limit that makes no sense."""
    return analysed.once(Provers).of("run", checked(limits or Limits()))
