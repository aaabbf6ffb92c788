"""Iteration to a fixpoint: acyclic parts once, in order, and each cycle until the state of its head is stable."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, overload

from absint.engine.analysis import (
    DEFAULT_POLICY,
    STEP,
    Analysis,
    DivergenceError,
    GraphAnalysis,
    GraphSolution,
    IterationPolicy,
    N,
    S,
    Solution,
)
from absint.engine.order import Ordered, WeakTopologicalOrder, order_of

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
        from absint.engine.graphs import OnNumbers

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
            from absint.engine.strategies import iterate

            visits, done = iterate(graph, order, analysis, states, policy, proceed, end)
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
