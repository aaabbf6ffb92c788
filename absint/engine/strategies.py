"""The strategies other than the recursive one: an outermost cycle as a whole, or by a worklist.

Widening happens at the heads of a weak topological order, which cut every cycle, so both end. A cycle ascends, then
descends in a few passes; as `transfer` may not be monotone, it then ascends again, mostly in one pass that changes
nothing.

Cost: for each change of a head a pass over its outermost cycle, or the part of it that the change reaches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Generic

from absint.engine.analysis import Analysis, DivergenceError, S
from absint.engine.order import STEP, IterationPolicy, WeakTopologicalOrder

Neighbours = Callable[[int], Iterable[int]]


def iterate(
    graph: object,
    wto: WeakTopologicalOrder,
    analysis: Analysis[S],
    states: list[S],
    policy: IterationPolicy,
    proceed: Callable[[int], bool] | None,
    end: int | None,
) -> tuple[dict[int, int], int]:
    """Run the order by the strategy of the policy; the visits of each head, and the position reached."""
    followers = _followers(graph, analysis) if policy.strategy == "worklist" else None
    run = _Iteration(wto, analysis, states, policy, proceed, followers)
    last = len(wto.order) if end is None else end
    heads = sorted(wto.ends)
    position = 0
    while position < last:
        stop = wto.ends.get(position)
        try:
            if stop is None:
                at = bisect_right(heads, position)
                stop = min(last, position + STEP, heads[at] if at < len(heads) else last)
                run.pause(position)
                analysis.sweep(wto.order[position:stop], states)
            elif stop <= last:
                run.stabilise(position, stop)
            else:
                break
        except _StoppedError:
            break
        position = stop
    return run.visits, position


def _followers(graph: object, analysis: Analysis[S]) -> Neighbours:
    """The nodes that read the state of a node."""
    found: Neighbours | None = getattr(graph, "successors" if analysis.direction == "forward" else "predecessors", None)
    if found is None:
        raise ValueError(f"the worklist strategy needs a graph with edges, found {type(graph).__name__}")
    return found


class _StoppedError(Exception):
    """`proceed` returned False."""


class _Iteration(Generic[S]):
    """The iteration of outermost cycles, each from one position of the order to another: as a whole, or with
    `followers` by a worklist."""

    def __init__(
        self,
        wto: WeakTopologicalOrder,
        analysis: Analysis[S],
        states: list[S],
        policy: IterationPolicy,
        proceed: Callable[[int], bool] | None,
        followers: Neighbours | None,
    ) -> None:
        self.followers = followers
        self.order, self.heads = wto.order, wto.ends
        self.analysis, self.states, self.policy, self.proceed = analysis, states, policy, proceed
        self.visits: dict[int, int] = {}
        self.is_above = True
        """The state of the node that was visited last is above what `transfer` gave; that of a head may be a guess."""
        self._calls = 0

    def stabilise(self, start: int, stop: int) -> None:
        """Iterate a cycle to a fixpoint."""
        self.pause(start)
        self.ascend(start, stop)
        passes = 0
        while passes < self.policy.descending_passes and self._descend(start, stop):
            passes += 1
        if passes:
            self.ascend(start, stop)

    def ascend(self, start: int, stop: int) -> None:
        """Visit the nodes of a cycle, each at least once, until none changes.

        With a worklist those with an operand that changed, the first of the order next: inner cycles before outer ones.
        """
        if self.followers is None:
            while [at for at in range(start, stop) if self.visit(at)]:
                pass
            return
        places = {self.order[at]: at for at in range(start, stop)}
        waiting = list(range(start, stop))
        listed = set(waiting)
        while waiting:
            position = heappop(waiting)
            listed.remove(position)
            if not self.visit(position):
                continue
            changed = [places.get(follower) for follower in self.followers(self.order[position])]
            if not self.is_above:
                changed.append(position)
            for at in changed:
                if at is not None and at not in listed:
                    listed.add(at)
                    heappush(waiting, at)

    def visit(self, position: int) -> bool:
        """Visit a node of a cycle, whose state ascends if it is a head; True if it changed."""
        self._calls += 1
        if self._calls % STEP == 0:
            self.pause(position)
        node, leq = self.order[position], self.analysis.lattice.leq
        self.is_above = True
        old, new = self.states[node], self.analysis.transfer(node, self.states)
        if position not in self.heads:
            if leq(new, old) and leq(old, new):
                return False
            self.states[node] = new
            return True
        visits = self.visits[node] = self.visits.get(node, 0) + 1
        if visits == 1:
            self.states[node] = new
            return True
        if leq(new, old):
            return False
        if visits > self.policy.max_visits:
            raise DivergenceError(self.analysis, node, self.policy.max_visits)
        self.states[node] = self.analysis.merge(node, old, new, visits > self.policy.widening_delay + 1)
        self.is_above = leq(new, self.states[node])
        return True

    def pause(self, position: int) -> None:
        """Ask whether to go on."""
        if self.proceed is not None and not self.proceed(position):
            raise _StoppedError

    def _descend(self, start: int, stop: int) -> bool:
        """One pass in which states may only become smaller; True if one did."""
        leq, states = self.analysis.lattice.leq, self.states
        has_changed = False
        for node in self.order[start:stop]:
            new = self.analysis.transfer(node, states)
            if leq(new, states[node]) and not leq(states[node], new):
                states[node] = new
                has_changed = True
        return has_changed
