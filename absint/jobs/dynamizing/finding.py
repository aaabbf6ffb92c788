"""Rounds of analysis and search, until no requirement holds at the old sizes alone or none can be explained."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Final, Protocol

from absint.jobs.dynamizing.preparing import overridable
from absint.jobs.dynamizing.repairing import LEFT_OPEN, Choice, Decided, Repairing, Target
from absint.jobs.dynamizing.resizing import GIVEN_UP, BakedError, Change, Fixed, Resizing
from absint.jobs.dynamizing.searching import MayVary, Search
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor, Value
from absint.program.limits import CHECK
from absint.program.steps import LoopHead
from absint.shapes.interpretation import Budget
from absint.shapes.refinement import solved
from absint.shapes.rounds import Round
from absint.shapes.summaries import State
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
        found = set[int]()
        for node, item in enumerate(self.run.nodes):
            if item.operator in _PARAMETERS and item.operation is not None and self.states[node]:
                for value in self.run.seen(node, self.states)[1][1:]:
                    dims = value.shape.dims[:2] if isinstance(value, Tensor) and not value.shape.is_top else ()
                    if any(map(self.run.resizing.varies, dims)):
                        found.add(node)
        return frozenset(found)

    def failures(self, before: int | None = None) -> Failures:
        """How many requirements are left before some node: those that only the old sizes meet, and all."""
        left = [c.formula for c, _ in self.left if before is None or c.origin.node < before]
        resized = sum(before is None or node < before for node in self.resized)
        return resized + sum(map(self.run.resizing.bakes, left)), resized + len(left)


def find(
    analysed: Analysed,
    inputs: Mapping[int, Value],
    resizing: Resizing,
    chosen: Mapping[object, Choice],
    may_vary: MayVary,
    trials: Budget,
    hopeless: Collection[tuple[int, Relation]] = (),
    first: Decisions | None = None,
) -> Found:
    """The decisions, beside the `first`, that let the model run at other sizes. None is sought for the `hopeless`."""
    decided = deciding(first or {})
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
                if is_stale:
                    refused, is_stale = dict.fromkeys(vain, HOPELESS), False  # they may be explained now
                elif not (progress := _looped(analysed, search, narrow, decided)):
                    return Found(run, states, decided, [(c, refused.get(c.origin.node)) for c in narrow])
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
        changes = list(search.starts(head, names)) if isinstance(item.step, LoopHead) else []
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
    states = solved(analysed.lowered, changed, CHECK)
    return len(narrowing(analysed, changed, states)) if states else 1 << 20


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


def deciding(decided: Decisions, changes: Sequence[Change] = ()) -> dict[tuple[int, int], Decided]:
    """A copy of the decisions, with further ones."""
    found = {place: Decided(dict(each.elements), dict(each.dims)) for place, each in decided.items()}
    for change in changes:
        _values(found.setdefault((change.node, change.operand), Decided()), change)[change.place] = change.value
    return found


def _values(decision: Decided, change: Change) -> dict[int, Expr]:
    return decision.dims if change.is_size else decision.elements


# The choice between the readings of targets: what is meant is the one combination that nothing refutes.
#
# Where old sizes coincide, or were 1, a target has several readings, and the reading of one changes the sizes that
# reach the next. So every combination is followed, those with the fewest failures first. A combination is refuted if
# it ends in a requirement that the old sizes alone meet and another one does not, and by a judge, who knows more than
# shapes: axes of outputs that the caller has named, and runs of the copy (`judging`). Being likely, or giving a shape
# that an earlier value has, is no proof, and decides nothing. Of several that remain, those count of which most is
# proved about rows, then those that have the symbols at the axes where the author declares them for outputs. If two
# combinations remain, or some were not followed, the targets that they read differently are open: they stay as they
# are.

Reading = Mapping[int, Expr]
"""The numbers of a target that change."""

_MOST_RUNS: Final = 512
_MOST_NODES: Final = 60_000
"""Analyses of the model for all combinations, and nodes in them."""
_MOST_LEAVES: Final = 16
_MOST_TRIALS, _MOST_BESIDE = 2 * MAX_TRIALS, MAX_TRIALS // 8
"""Applications of rules in all searches, and in that of a combination beside the first."""


class Judge(Protocol):
    """Refutes combinations for reasons other than shapes."""

    def refutes(self, found: Found) -> bool:
        """It is not what the model means."""

    def is_as_declared(self, found: Found) -> bool:
        """Outputs have the symbols that the author declares."""

    def standing(self, found: Found) -> int:
        """How much is proved of it; 0 for nothing."""

    def fails(self, found: Found) -> bool:
        """The copy does not run with every number of rows."""

    def are_alike(self, one: Found, other: Found) -> bool:
        """The outputs are the same at every size that was tried."""


@dataclass
class Settled:
    """The decisions, and the targets of which more than one reading remains."""

    found: Found
    open: dict[object, Sequence[Reading]] = field(default_factory=dict)
    """The readings of targets that nothing decides, by the key of the target, which are left as they are; none where
    there are too many.
    """
    is_by_habit: bool = False
    """Another combination is proved to keep rows apart too, in blocks of an axis."""


@dataclass
class _Leaf:
    """A combination with a reading for each target."""

    found: Found
    chosen: Mapping[object, Reading]
    fails: bool = False
    standing: int = 0

    def beats(self, other: _Leaf) -> bool:
        """More is proved of it, and what refutes it later refutes the other one too."""
        is_better = self.standing > other.standing and self.fails <= other.fails
        return is_better and self.found.requirements <= other.found.requirements


@dataclass(order=True)
class _Branch:
    """A combination that is to be followed; of equal ones the latest comes first."""

    failures: int
    """Requirements that only the old sizes meet, before the first target without a reading."""
    order: int
    chosen: Mapping[object, Reading] = field(compare=False)
    found: Found | None = field(default=None, compare=False)


class _Tree:
    """All combinations, as far as nothing refutes them."""

    def __init__(
        self, analysed: Analysed, inputs: Mapping[int, Value], resizing: Resizing, may_vary: MayVary, judge: Judge
    ) -> None:
        self.leaves: list[_Leaf] = []
        """The combinations that remain."""
        self.readings: dict[object, Sequence[Reading]] = {}
        """All readings of each target that has several."""
        self.is_by_habit = False
        """Nothing but an axis of their own for rows has decided between two combinations."""
        self._model = analysed, inputs, resizing
        self._may_vary = may_vary
        self._judge = judge
        self._trials = Budget(_MOST_TRIALS)
        self._runs = max(16, min(_MOST_RUNS, _MOST_NODES // max(1, len(analysed.nodes))))
        self._first: Found | None = None
        self._made = 0

    def find(self, chosen: Mapping[object, Choice]) -> Found:
        """The decisions under a choice of readings. What the first choice could not explain is not sought again."""
        mine = Budget(min(MAX_TRIALS if self._first is None else _MOST_BESIDE, self._trials.left))
        before = mine.left
        known = self._first.requirements if self._first is not None else ()
        found = find(*self._model, chosen, self._may_vary, mine, known)
        if self._first is None:
            self._first = found
        else:
            self._trials.left -= before - mine.left
        return found

    def follow(self) -> bool:
        """Follow all combinations, those with the fewest failures first; False if there are too many of them."""
        waiting = [_Branch(0, 0, {})]
        while waiting:
            if len(self.leaves) > _MOST_LEAVES:
                return False
            branch = heappop(waiting)
            if branch.found is None:
                if not self._runs or self._trials.left <= 0:
                    return False
                self._runs -= 1
                branch.found = self.find(branch.chosen)
            for child in self._grown(branch, branch.found):
                heappush(waiting, child)
        return True

    def _grown(self, branch: _Branch, found: Found) -> Iterator[_Branch]:
        """Branches for the other readings of targets that the branch has no reading for; it becomes a leaf if it has
        the fewest failures among those that wait, and else it waits again.
        """
        chosen = branch.chosen
        for node, target in sorted(found.targets.items()):
            if target.key in chosen or len(target.readings) < 2:
                continue
            if any(found.is_refuted(leaf.found, node) for leaf in self.leaves):
                return
            failures, _ = found.failures(node)
            if failures > branch.failures:
                yield _Branch(failures, self._next(), chosen, found)
                return
            self.readings.setdefault(target.key, target.readings)
            for reading in target.readings[:0:-1]:
                yield _Branch(failures, self._next(), {**chosen, target.key: reading})
            chosen = {**chosen, target.key: target.meant}
        self._add(found, chosen)

    def _next(self) -> int:
        self._made += 1
        return -self._made

    def _add(self, found: Found, chosen: Mapping[object, Reading]) -> None:
        if any(found.is_refuted(other.found) for other in self.leaves):
            return
        has_choice = bool(self.readings)
        if has_choice and self._judge.refutes(found):
            return
        leaf = _Leaf(found, chosen)
        if has_choice:
            leaf.fails, leaf.standing = self._judge.fails(found), self._judge.standing(found)
        if leaf.fails and not all(other.fails for other in self.leaves):
            return
        best = [other for other in self.leaves if other.beats(leaf)]
        beaten = [other for other in self.leaves if leaf.beats(other)]
        pairs = [*((one, leaf) for one in best), *((leaf, one) for one in beaten)]
        self.is_by_habit |= any(other.standing > 0 and one.standing == other.standing + 1 for one, other in pairs)
        if best:
            return
        others = [
            other for other in self.leaves
            if not other.found.is_refuted(found) and other.fails <= leaf.fails and other not in beaten
        ]  # fmt: skip
        if not any(self._judge.are_alike(other.found, found) for other in others):
            others.append(leaf)
        self.leaves = others


def settle(
    analysed: Analysed, inputs: Mapping[int, Value], resizing: Resizing, may_vary: MayVary, judge: Judge
) -> Settled:
    """The decisions that let the model run at other sizes, if no other reading of a target does so too."""
    tree = _Tree(analysed, inputs, resizing, may_vary, judge)
    is_complete = tree.follow()
    if is_complete and len(tree.leaves) > 1:
        best = max(leaf.standing for leaf in tree.leaves)
        tree.is_by_habit |= any(0 < leaf.standing == best - 1 for leaf in tree.leaves)
        tree.leaves = [leaf for leaf in tree.leaves if leaf.standing == best]
        tree.leaves = [leaf for leaf in tree.leaves if judge.is_as_declared(leaf.found)] or tree.leaves
    if is_complete and len(tree.leaves) == 1:
        found = tree.leaves[0].found
        return Settled(found, dict.fromkeys(found.run.left_open, ()), tree.is_by_habit)
    chosen: dict[object, Choice] = {}
    undecided: dict[object, Sequence[Reading]] = {}
    for key, readings in tree.readings.items():
        mine = [leaf.chosen[key] for leaf in tree.leaves if key in leaf.chosen]
        if is_complete and mine and len(mine) == len(tree.leaves) and all(reading == mine[0] for reading in mine):
            chosen[key] = mine[0]
        elif mine or not tree.leaves:
            remaining = [each for each in readings if each in mine or not is_complete or not tree.leaves]
            chosen[key], undecided[key] = LEFT_OPEN, remaining
    found = tree.find(chosen)
    return Settled(found, {**dict.fromkeys(found.run.left_open, ()), **undecided})
