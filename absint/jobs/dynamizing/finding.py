"""Rounds of analysis and search, until no requirement holds at the old sizes alone or none can be explained."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from absint.jobs.dynamizing.preparing import overridable
from absint.jobs.dynamizing.repairing import Choice, Decided, Repairing
from absint.jobs.dynamizing.resizing import GIVEN_UP, BakedError, Change, Fixed, Resizing, dims_in
from absint.jobs.dynamizing.searching import MayVary, Search
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Value
from absint.program import limits, steps
from absint.shapes import interpretation, refinement, rounds, summaries
from absint.solution.analysed import Analysed
from absint.solution.constraints import Recorder
from absint.solver.constraints import Constraint

MAX_ROUNDS: Final = 1000
Failures = tuple[int, int]
Decisions = Mapping[tuple[int, int], Decided]
HOPELESS: Final = Fixed(-1, GIVEN_UP)
_PARAMETERS: Final = ("BatchNormalization", "Conv", "ConvTranspose", "GroupNormalization", "InstanceNormalization")
"""Operators whose operands, but the first, have numbers of channels, filters or groups for their first two sizes."""
_MOST_STARTS: Final = 12
"""Sizes and trips of one loop that are tried together."""
MAX_TRIALS: Final = 20_000
"""Applications of rules in all searches for one choice of readings."""


class Setting(NamedTuple):
    """A model whose sizes become symbols."""

    analysed: Analysed
    inputs: Mapping[int, Value]
    """The inputs with these symbols, by node."""
    resizing: Resizing
    may_vary: MayVary
    """The elements of a constant may be a function of the size of an axis."""


@dataclass(eq=False)
class Found:
    """Decisions, and what is left where no constant explains a requirement."""

    setting: Setting
    run: Repairing
    states: Sequence[summaries.State]
    decided: dict[tuple[int, int], Decided] = field(default_factory=dict)
    left: list[tuple[Constraint, Fixed | None]] = field(default_factory=list)
    """Requirements that still narrow the new sizes, each with the reason why nothing explains it."""

    @property
    def requirements(self) -> set[tuple[int, Relation]]:
        """The requirements that are left, with their nodes."""
        return {(c.origin.node, c.formula) for c, _ in self.left}

    def is_refuted(self, by: Found, before: int | None = None) -> bool:
        """More is left, before some node, than in another choice of readings, and not only where the search was given
        up.
        """
        known = by.requirements
        new = [
            fixed for c, fixed in self.left
            if (before is None or c.origin.node < before) and (c.origin.node, c.formula) not in known
        ]  # fmt: skip
        resized = any(node not in by.resized and (before is None or node < before) for node in self.resized)
        is_explained = resized or any(fixed is not None and fixed.node >= 0 for fixed in new)
        return is_explained and self.failures(before) > by.failures()

    @cached_property
    def resized(self) -> frozenset[int]:
        """The nodes of which a parameter is resized: numbers of channels, filters and groups are the model's own, and a
        reading that makes them a function of a size of the inputs is refuted by one that does not.
        """
        items = enumerate(self.run.nodes)
        nodes = (node for node, item in items if item.operator in _PARAMETERS and item.operation is not None)
        seen = ((node, self.run.seen(node, self.states)[1][1:]) for node in nodes if self.states[node])
        sizes = ((node, dim) for node, values in seen for value in values for dim in dims_in(value)[:2])
        return frozenset(node for node, dim in sizes if self.run.resizing.varies(dim))

    def failures(self, before: int | None = None) -> Failures:
        """How many requirements are left before some node: those that only the old sizes meet, and all."""
        left = [c.formula for c, _ in self.left if before is None or c.origin.node < before]
        resized = sum(before is None or node < before for node in self.resized)
        return resized + sum(map(self.run.resizing.bakes, left)), resized + len(left)


def find(
    setting: Setting,
    chosen: Mapping[object, Choice],
    trials: interpretation.Budget,
    hopeless: Collection[tuple[int, Relation]] = (),
    first: Decisions | None = None,
) -> Found:
    """The decisions, beside the `first`, that let the model run at other sizes. None is sought for the `hopeless`."""
    analysed, inputs, resizing, may_vary = setting
    decided = deciding(first or {})
    refused: dict[int, Fixed] = {}
    facts = Facts([*analysed.declared_premises, *analysed.assumptions])
    fed = frozenset({*analysed.input_nodes.values(), *overridable(analysed).values()})
    is_stale = False
    for _ in range(MAX_ROUNDS):
        run = Repairing(analysed.program, inputs, resizing, decided, chosen, facts, fed)
        states = refinement.solved(analysed.lowered, run, limits.CHECK) or []
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
                if is_stale:
                    refused, is_stale = dict.fromkeys(vain, HOPELESS), False  # they may be explained now
                elif not (progress := _looped(analysed, search, narrow, decided)):
                    return Found(setting, run, states, decided, [(c, refused.get(c.origin.node)) for c in narrow])
        is_stale = bool(refused)
    return Found(setting, run, states, decided, [(c, HOPELESS) for c in narrow])


def _searched(
    search: Search, node: int, decided: dict[tuple[int, int], Decided], refused: dict[int, Fixed], resizing: Resizing
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


def _looped(
    analysed: Analysed, search: Search, narrow: Sequence[Constraint], decided: dict[tuple[int, int], Decided]
) -> bool:
    """Decide what loops begin with, and their trips, where each of the changes is needed and all together explain most.
    A size of a carried value is the same in all trips only if all that are carried begin with it.
    """
    if not narrow:
        return False
    run, names = search.run, frozenset[str]().union(*(c.formula.free_symbols for c in narrow))
    for head, item in enumerate(run.nodes):
        changes = list(search.starts(head, names)) if isinstance(item.step, steps.LoopHead) else []
        left = _left_by(analysed, run, decided, changes) if 0 < len(changes) <= _MOST_STARTS else len(narrow)
        if left >= len(narrow):
            continue
        needed = [c for c in changes if _left_by(analysed, run, decided, [o for o in changes if o is not c]) > left]
        is_sole = len(needed) == len(changes) or _left_by(analysed, run, decided, needed) == left
        if is_sole and _decide(decided, needed, run.resizing):
            return True
    return False


def _left_by(analysed: Analysed, run: Repairing, decided: Decisions, changes: Sequence[Change]) -> int:
    """The number of requirements that are left after further decisions."""
    changed = run.deciding(deciding(decided, changes))
    states = refinement.solved(analysed.lowered, changed, limits.CHECK)
    return len(narrowing(analysed, changed, states)) if states else 1 << 20


def narrowing(analysed: Analysed, run: Repairing, states: list[summaries.State]) -> list[Constraint]:
    """The requirements that hold at the old sizes and fail at larger ones."""
    recorder = Recorder(analysed.lowered, rounds.Round(run, states)).run()
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


def deciding(decided: Decisions, changes: Sequence[Change] = ()) -> dict[tuple[int, int], Decided]:
    """A copy of the decisions, with further ones."""
    found = {place: Decided(dict(each.elements), dict(each.dims)) for place, each in decided.items()}
    for change in changes:
        _values(found.setdefault((change.node, change.operand), Decided()), change)[change.place] = change.value
    return found


def _values(decision: Decided, change: Change) -> dict[int, Expr]:
    return decision.dims if change.is_size else decision.elements
