"""The choice between the readings of targets: what is meant is the one combination that nothing refutes.

Where old sizes coincide, or were 1, a target has several readings, and the reading of one changes the sizes that reach
the next. So every combination is followed, those with the fewest failures first. A combination is refuted if it ends in
a requirement that the old sizes alone meet and another one does not, if it makes a parameter a function of a size
(`Found.resized`) and another one does not, and by a judge, who knows more than shapes: axes of outputs that the caller
has named, and runs of the copy (`judging`). Being likely, or giving a shape that an earlier value has, is no proof, and
decides nothing. Of several that remain, those count of which most is proved about rows, then those that have the
symbols at the axes where the author declares them for outputs. If two combinations remain, or some were not followed,
the targets that they read differently are open: they stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final

from absint.jobs.dynamizing import finding, judging, repairing
from absint.lattices.terms.expr import Expr
from absint.shapes.interpretation import Budget

Reading = Mapping[int, Expr]
"""The numbers of a target that change."""

_MOST_RUNS: Final = 512
_MOST_NODES: Final = 60_000
"""Analyses of the model for all combinations, and nodes in them."""
_MOST_LEAVES: Final = 16
_MOST_TRIALS: Final = 2 * finding.MAX_TRIALS
"""Applications of rules in all searches."""


@dataclass
class Settled:
    """The decisions, and the targets of which more than one reading remains."""

    found: finding.Found
    open: dict[object, Sequence[Reading]] = field(default_factory=dict)
    """The readings of targets that nothing decides, by the key of the target, which are left as they are; none where
    there are too many.
    """
    is_by_habit: bool = False
    """Another combination is proved to keep rows apart too, in blocks of an axis."""


@dataclass
class _Leaf:
    """A combination with a reading for each target."""

    found: finding.Found
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
    found: finding.Found | None = field(default=None, compare=False)


class _Tree:
    """All combinations, as far as nothing refutes them."""

    def __init__(self, setting: finding.Setting, judge: judging.Judging) -> None:
        self.leaves: list[_Leaf] = []
        """The combinations that remain."""
        self.readings: dict[object, Sequence[Reading]] = {}
        """All readings of each target that has several."""
        self.is_by_habit = False
        """Nothing but an axis of their own for rows has decided between two combinations."""
        self._setting, self._judge = setting, judge
        self._trials = Budget(_MOST_TRIALS)
        self._runs = max(16, min(_MOST_RUNS, _MOST_NODES // max(1, len(setting.analysed.nodes))))
        self._first: finding.Found | None = None
        self._orders = count(-1, -1)

    def find(self, chosen: Mapping[object, repairing.Choice]) -> finding.Found:
        """The decisions under a choice of readings. What the first choice could not explain is not sought again."""
        mine = Budget(min(finding.MAX_TRIALS, self._trials.left))
        before = mine.left
        known = self._first.requirements if self._first is not None else ()
        found = finding.find(self._setting, chosen, mine, known)
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

    def _grown(self, branch: _Branch, found: finding.Found) -> Iterator[_Branch]:
        """Branches for the other readings of targets that the branch has no reading for; it becomes a leaf if it has
        the fewest failures among those that wait, and else it waits again.
        """
        # Targets in the order of the program: a reading changes the sizes that reach those behind it.
        chosen = branch.chosen
        for node, target in sorted(found.run.targets.items()):
            if target.key in chosen or len(target.readings) < 2:
                continue
            if any(found.is_refuted(leaf.found, node) for leaf in self.leaves):
                return
            failures, _ = found.failures(node)
            # Others with fewer failures go first; this one waits with what is known of it.
            if failures > branch.failures:
                yield _Branch(failures, next(self._orders), chosen, found)
                return
            self.readings.setdefault(target.key, target.readings)
            for reading in target.readings[:0:-1]:
                yield _Branch(failures, next(self._orders), {**chosen, target.key: reading})
            chosen = {**chosen, target.key: target.meant}
        self._add(found, chosen)

    def _add(self, found: finding.Found, chosen: Mapping[object, Reading]) -> None:
        if any(found.is_refuted(other.found) for other in self.leaves):
            return
        has_choice = bool(self.readings)
        if has_choice and self._judge.refutes(found):
            return
        # Proofs and runs are dear, and are asked only where something is to be chosen.
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


def settle(setting: finding.Setting, judge: judging.Judging) -> Settled:
    """The decisions that let the model run at other sizes, if no other reading of a target does so too."""
    tree = _Tree(setting, judge)
    is_complete = tree.follow()
    if is_complete and len(tree.leaves) > 1:
        best = max(leaf.standing for leaf in tree.leaves)
        tree.is_by_habit |= any(0 < leaf.standing == best - 1 for leaf in tree.leaves)
        tree.leaves = [leaf for leaf in tree.leaves if leaf.standing == best]
        tree.leaves = [leaf for leaf in tree.leaves if judge.is_as_declared(leaf.found)] or tree.leaves
    if is_complete and len(tree.leaves) == 1:
        found = tree.leaves[0].found
        return Settled(found, dict.fromkeys(found.run.left_open, ()), tree.is_by_habit)
    # Undecided: read what all that remain agree on, and leave open what they read differently.
    chosen: dict[object, repairing.Choice] = {}
    undecided: dict[object, Sequence[Reading]] = {}
    for key, readings in tree.readings.items():
        mine = [leaf.chosen[key] for leaf in tree.leaves if key in leaf.chosen]
        if is_complete and mine and len(mine) == len(tree.leaves) and all(reading == mine[0] for reading in mine):
            chosen[key] = mine[0]
        elif mine or not tree.leaves:
            remaining = [each for each in readings if each in mine or not is_complete or not tree.leaves]
            chosen[key], undecided[key] = repairing.LEFT_OPEN, remaining
    found = tree.find(chosen)
    return Settled(found, {**dict.fromkeys(found.run.left_open, ()), **undecided})
