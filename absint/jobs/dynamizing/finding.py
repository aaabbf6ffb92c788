"""Rounds of analysis and search, until no requirement holds at the old sizes alone or none can be explained."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from absint.jobs.dynamizing.changes import BakedError, Change, Fixed
from absint.jobs.dynamizing.preparing import overridable
from absint.jobs.dynamizing.repairing import Choice, Decided, Repairing, Target
from absint.jobs.dynamizing.resizing import Resizing
from absint.jobs.dynamizing.searching import MayVary, Search
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Value
from absint.program.limits import CHECK
from absint.shapes.interpretation import Budget
from absint.shapes.refinement import solved
from absint.shapes.rounds import Round
from absint.shapes.summaries import State
from absint.solution.constraints import Recorder
from absint.solver.constraints import Constraint

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

MAX_ROUNDS: Final = 1000
HOPELESS: Final = Fixed(-1, "the search was given up")
MAX_TRIALS: Final = 20_000
"""Applications of rules in all searches for one choice of readings."""


@dataclass
class Found:
    """Decisions, and what is left where no constant explains a requirement."""

    run: Repairing
    states: Sequence[State]
    decided: dict[tuple[int, int], Decided] = field(default_factory=dict)
    left: list[tuple[Constraint, Fixed | None]] = field(default_factory=list)
    """Requirements that still narrow the new sizes, each with the reason why nothing explains it."""

    @property
    def targets(self) -> Mapping[int, Target]:
        """The targets that were read from the sizes that reach them."""
        return self.run.targets

    @property
    def requirements(self) -> set[tuple[int, Relation]]:
        """The requirements that are left, with their nodes."""
        return {(c.origin.node, c.formula) for c, _ in self.left}

    def is_refuted(self, by: Found, before: float = inf) -> bool:
        """More is left, before some node, than in another choice of readings, and not only where the search was given
        up.
        """
        known = by.requirements
        left = [(c, fixed) for c, fixed in self.left if c.origin.node < before]
        new = [fixed for c, fixed in left if (c.origin.node, c.formula) not in known]
        return len(left) > len(by.left) and any(fixed is not None and fixed.node >= 0 for fixed in new)


def find(
    analysed: Analysed,
    inputs: Mapping[int, Value],
    resizing: Resizing,
    chosen: Mapping[object, Choice],
    may_vary: MayVary,
    trials: Budget,
    hopeless: Collection[tuple[int, Relation]] = (),
) -> Found:
    """The decisions that let the model run at other sizes. No cause is sought for `hopeless` requirements of nodes."""
    decided: dict[tuple[int, int], Decided] = {}
    refused: dict[int, Fixed] = {}
    facts = Facts([*analysed.declared_premises, *analysed.assumptions])
    fed = frozenset({*analysed.input_nodes.values(), *overridable(analysed).values()})
    is_stale = False
    for _ in range(MAX_ROUNDS):
        run = Repairing(analysed.program, inputs, resizing, decided, chosen, facts, fed)
        states = solved(analysed.lowered, run, CHECK) or []
        narrow = narrowing(analysed, run, states)
        search = Search(run, states, trials, may_vary)
        vain = {c.origin.node for c in narrow if (c.origin.node, c.formula) in hopeless}
        refused.update((node, HOPELESS) for node in vain)
        progress = False
        while not progress:
            for constraint in narrow:
                node = constraint.origin.node
                if node not in refused:
                    progress = _searched(search, node, decided, refused, resizing)
                    if progress:
                        break
            else:
                if not is_stale:
                    return Found(run, states, decided, [(c, refused.get(c.origin.node)) for c in narrow])
                refused, is_stale = (
                    dict.fromkeys(vain, HOPELESS),
                    False,
                )  # they may be explained now
        is_stale = bool(refused)
    return Found(run, states, decided, [(c, HOPELESS) for c in narrow])


def _searched(
    search: Search,
    node: int,
    decided: dict[tuple[int, int], Decided],
    refused: dict[int, Fixed],
    resizing: Resizing,
) -> bool:
    """Decide what the requirements of a node need; the answer is if anything was."""
    try:
        changes = search.changes_at(node)
    except BakedError as error:
        refused[node] = error.fixed
        return False
    if _decide(decided, changes, resizing):
        return True
    refused[node] = Fixed(node, "its constants were changed, and it still needs the old size")
    return False


def narrowing(analysed: Analysed, run: Repairing, states: list[State]) -> list[Constraint]:
    """The requirements that hold at the old sizes and fail at larger ones."""
    recorder = Recorder(analysed.lowered, Round(run, states)).run()
    return [c for c in recorder.constraints if c.role == "required" and run.resizing.narrows(c.formula)]


def _decide(decided: dict[tuple[int, int], Decided], changes: Sequence[Change], resizing: Resizing) -> bool:
    """Note the changes; False if none is new, or if one contradicts an earlier one. A change may go further than an
    earlier one: from `7*batch` to `seq*batch`.
    """
    for change in changes:
        before = _values(decided.get((change.node, change.operand), Decided()), change).get(change.place)
        if before is not None and resizing.back(change.value, before) is not before:
            return False
    new = False
    for change in changes:
        values = _values(decided.setdefault((change.node, change.operand), Decided()), change)
        new = new or values.get(change.place) is not change.value
        values[change.place] = change.value
    return new


def _values(decision: Decided, change: Change) -> dict[int, Expr]:
    return decision.dims if change.is_size else decision.elements
