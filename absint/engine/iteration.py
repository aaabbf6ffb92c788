"""Iteration to a fixpoint: acyclic parts once, in order, and each cycle until the state of its head is stable."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Generic, overload

from absint.engine.analysis import Analysis, DivergenceError, GraphAnalysis, GraphSolution, N, OnNumbers, S, Solution
from absint.engine.order import DEFAULT_POLICY, STEP, IterationPolicy, Ordered, WeakTopologicalOrder, order_of

if TYPE_CHECKING:
    import networkx as nx


@overload
def fixpoint(
    graph: nx.DiGraph[int] | Ordered,
    analysis: Analysis[S],
    policy: IterationPolicy = ...,
    *,
    proceed: Callable[[int], bool] | None = ...,
    end: int | None = ...,
) -> Solution[S]: ...


@overload
def fixpoint(
    graph: nx.DiGraph[N] | Mapping[N, Iterable[N]],
    analysis: GraphAnalysis[N, S],
    policy: IterationPolicy = ...,
    *,
    entries: Mapping[N, S] = ...,
    proceed: Callable[[int], bool] | None = ...,
) -> GraphSolution[N, S]: ...


def fixpoint(
    graph: nx.DiGraph[int] | nx.DiGraph[N] | Ordered | Mapping[N, Iterable[N]],
    analysis: Analysis[S] | GraphAnalysis[N, S],
    policy: IterationPolicy = DEFAULT_POLICY,
    *,
    entries: Mapping[N, S] | None = None,
    proceed: Callable[[int], bool] | None = None,
    end: int | None = None,
) -> Solution[S] | GraphSolution[N, S]:
    """A state for each node: the least fixpoint that the widening allows, and without cycles the least of all.

    For an `Analysis`, nodes of `graph` are the integers 0 to n - 1; an edge leads from a node to one that depends on
    it, for backward analyses too. Numbers in topological order, but for edges that close cycles, make it fast; any
    numbers are correct. A graph that is `Ordered` is not walked.

    For a `GraphAnalysis`, nodes are any hashable things, and `graph` is a NetworkX graph or the successors of each
    node. `entries` are states that nodes have from outside, such as the start of a program; they are joined with what
    edges bring.

    `proceed` is called now and then with the number of nodes done; if it returns False, the rest is not visited.
    Neither are the nodes from position `end` of the order on. Raises DivergenceError if the domain's widening does not
    stop growing, ValueError for a graph or entries that do not fit the analysis, and for an unknown strategy.
    """
    policy.check()
    if isinstance(analysis, GraphAnalysis):
        run = OnNumbers(graph, analysis, entries or {})
        try:
            return run.solution(fixpoint(run.graph, run, policy, proceed=proceed))
        except DivergenceError as error:
            if error.analysis is not run:
                raise
            name = repr(run.graph.nodes[error.node])
            raise DivergenceError(analysis, error.node, error.visits, name) from None
    order = order_of(graph, reverse=analysis.direction != "forward")
    states: list[S] = [analysis.lattice.bottom] * len(order.order)
    if order.ends:
        if policy.strategy == "recursive":
            visits, done = _iterate(order, analysis, states, policy, proceed, end)
        else:
            visits, done = _by_strategy(graph, order, analysis, states, policy, proceed, end)
        return Solution(states, visits, order.order[done:])
    if proceed is None and end is None:
        analysis.sweep(order.order, states)
        return Solution(states, {})
    end = len(order.order) if end is None else end
    for start in range(0, end, STEP):
        if proceed is not None and not proceed(start):
            return Solution(states, {}, order.order[start:])
        analysis.sweep(order.order[start : min(start + STEP, end)], states)
    return Solution(states, {}, order.order[end:])


def _iterate(
    wto: WeakTopologicalOrder,
    analysis: Analysis[S],
    states: list[S],
    policy: IterationPolicy,
    proceed: Callable[[int], bool] | None,
    end: int | None,
) -> tuple[dict[int, int], int]:
    """Run the order, repeating each component until its head is stable; the visits of each head, and the position
    reached.

    An inner component is made stable anew whenever its outer one is repeated, which alone would multiply with each
    level. A head that was visited more than `patience` times only ascends from then on, by widening. If no chain of
    widenings is longer than h, a component runs at most max(patience, times it is entered) + h times, so one at depth d
    at most patience + d * h times: levels add up.
    """
    lattice, transfer = analysis.lattice, analysis.transfer
    order, ends = wto.order, wto.ends
    visits: dict[int, int] = {}
    open_heads: list[_Component] = []
    stops = sorted({*ends, *ends.values(), len(order), *((end,) if end is not None else ())})
    position = 0
    while position < len(order) or open_heads:
        if proceed is not None and not proceed(position):
            return visits, open_heads[0].start if open_heads else position
        if open_heads and position == ends[open_heads[-1].start]:
            component = open_heads[-1]
            head = order[component.start]
            visits[head] += 1
            component.visits += 1
            if component.visits > policy.max_visits:
                raise DivergenceError(analysis, head, policy.max_visits)
            is_patient = visits[head] <= policy.patience
            old, new = states[head], transfer(head, states)
            if not lattice.leq(new, old):
                # In the descending phase too, in case `transfer` is not monotone: the result is a post-fixpoint.
                component.descents = 0 if component.descending else component.descents
                widen = component.visits > policy.widening_delay or not is_patient
                states[head] = analysis.merge(head, old, new, widen)
                position = component.start + 1
            elif component.descents and is_patient and not lattice.leq(old, new):
                component.descents -= 1
                component.descending = True
                states[head] = new
                position = component.start + 1
            else:
                open_heads.pop()
            continue
        if position == end:
            return visits, open_heads[0].start if open_heads else position
        if position in ends:
            node = order[position]
            old, new = states[node], transfer(node, states)
            visits[node] = visits.get(node, 0) + 1
            if visits[node] <= policy.patience:
                states[node] = new
            elif not lattice.leq(new, old):
                states[node] = analysis.merge(node, old, new, True)
            open_heads.append(_Component(position, policy.descending_passes))
            position += 1
        else:  # to the next head or end of a cycle
            stop = stops[bisect_right(stops, position)]
            stop = stop if proceed is None else min(stop, position + STEP)
            analysis.sweep(order[position:stop], states)
            position = stop
    return visits, len(order)


class _Component:
    """A cycle that is being iterated: the position of its head, and the state of the iteration."""

    __slots__ = ("descending", "descents", "start", "visits")

    def __init__(self, start: int, descents: int) -> None:
        self.start = start
        self.descents = descents
        self.visits = 0
        self.descending = False


# The strategies other than the recursive one: an outermost cycle as a whole, or by a worklist.
#
# Widening happens at the heads of a weak topological order, which cut every cycle, so both end. A cycle ascends, then
# descends in a few passes; as `transfer` may not be monotone, it then ascends again, mostly in one pass that changes
# nothing. Cost: for each change of a head a pass over its outermost cycle, or the part of it that the change reaches.

Neighbours = Callable[[int], Iterable[int]]


def _by_strategy(
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
