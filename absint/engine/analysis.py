"""An analysis for the engine: a lattice, a direction and a transfer function; the solution; and the iteration to it.

Acyclic parts are visited once, in order, and each cycle until the state of its head is stable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, overload

from absint.engine.order import DEFAULT_POLICY, STEP, IterationPolicy, Ordered, WeakTopologicalOrder, order_of
from absint.lattices.lattice import Lattice
from absint.lattices.records import record

if TYPE_CHECKING:
    import networkx as nx

S = TypeVar("S")
N = TypeVar("N", bound=Hashable)


class Analysis(ABC, Generic[S]):
    """Runs under `fixpoint`: subclass it, set `lattice` (and `direction`), and write `transfer`."""

    lattice: Lattice[S]
    """The domain of the states."""
    direction: Literal["forward", "backward"] = "forward"
    """`forward`: states flow along the edges; `backward`: against them."""

    @abstractmethod
    def transfer(self, node: int, states: Sequence[S]) -> S:
        """The state of `node`, from the states of its predecessors (its successors if backward), by node id.

        A state that has not been computed yet is the lattice's bottom. It may read the states of all nodes from which
        edges lead here, directly or over others, without closing a cycle; and at the head of a cycle those of the edges
        that close it. Other states may change later without another call. It may also use what earlier visits of the
        same node left behind. It must be monotone: greater inputs give a state no less.
        """

    def sweep(self, order: Sequence[int], states: list[S]) -> None:
        """Write the state of each node of a graph without cycles, in turn. Override only to do the same faster."""
        transfer = self.transfer
        for node in order:
            states[node] = transfer(node, states)

    def merge(self, node: int, old: S, new: S, widen: bool) -> S:
        """The next state of a cycle head whose transfer gave `new`, not below `old`. Override to accelerate.

        The default is above both. An override may give any state, such as a recurrence in closed form: a cycle is left
        only once `transfer` gives a state below that of its head, so the result is sound with any override. An override
        must ensure termination: the states of a head become stable after finitely many visits, with `widen` after few.
        """
        return self.lattice.widen(old, new) if widen else self.lattice.join(old, new)


class GraphAnalysis(ABC, Generic[N, S]):
    """An analysis of a graph whose nodes are any hashable things, as a control-flow graph. Runs under `fixpoint`.

    Subclass it, set `lattice` (and `direction`), and write `transfer`, `edge` or both. They must be monotone. The
    engine joins what the edges bring; an edge brings bottom until the node that it comes from has been visited.
    """

    lattice: Lattice[S]
    """The domain of the states."""
    direction: Literal["forward", "backward"] = "forward"
    """`forward`: states flow along the edges; `backward`: against them."""

    def transfer(self, node: N, state: S) -> S:
        """The state after `node`, from that before it."""
        return state

    def edge(self, source: N, target: N, state: S) -> S:
        """The state that the edge from `source` to `target` brings, from that after `source`.

        If backward: that which it brings to `source`, from the one after `target`, in the direction of the analysis.
        """
        return state

    def merge(self, node: N, old: S, new: S, widen: bool) -> S:
        """The next state before a cycle head whose edges bring `new`, not below `old`: see `Analysis.merge`."""
        return self.lattice.widen(old, new) if widen else self.lattice.join(old, new)


@record()
class Solution(Generic[S]):
    """The states by node id, and how often each cycle head was visited."""

    states: list[S]
    """The state of each node, by node id."""
    visits: dict[int, int]
    """The visits of each head of a cycle."""
    unfinished: Sequence[int] = ()
    """Nodes that were not reached before `proceed` stopped the iteration, or whose cycle was not yet stable: their
    states say nothing. If there are none, the states are a fixpoint.
    """


@record()
class GraphSolution(Generic[N, S]):
    """The states before and after each node, in the direction of the analysis."""

    before: Mapping[N, S]
    after: Mapping[N, S]
    visits: Mapping[N, int]
    """The visits of each head of a cycle."""

    unfinished: Sequence[N] = ()
    """As in `Solution`."""


class DivergenceError(RuntimeError):
    """A cycle head changed at more visits than the policy allows: the widening of the domain does not terminate."""

    def __init__(self, analysis: object, node: int, visits: int, name: str = "") -> None:
        super().__init__(f"node {name or node} changed at each of {visits} visits")
        self.analysis, self.node, self.visits = analysis, node, visits


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
