"""An analysis for the engine: a lattice, a direction and a transfer function; and the solution that it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, Literal, TypeVar, cast

from absint.engine.order import WeakTopologicalOrder, weak_topological_order
from absint.lattices.lattice import Lattice
from absint.lattices.records import record

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


# Graphs of any nodes: numbered for the engine, in an order whose heads are the entries of cycles.

NEVER: Final = object()
"""The state before a node that has not been visited."""


def _successors(graph: object) -> dict[N, list[N]]:
    """The successors of each node, in the order of the graph."""
    directed: Callable[[], bool] | None = getattr(graph, "is_directed", None)
    if directed is not None and not directed():
        raise ValueError("the graph must be directed: its edges say which way states flow")
    edges = cast("Mapping[N, Iterable[N]]", graph)
    found = {node: list(edges[node]) for node in edges}
    for target in [target for targets in found.values() for target in targets]:
        found.setdefault(target, [])
    return found


class NumberedGraph(Generic[N]):
    """A graph by numbers in topological order, but for edges that close cycles; in `reverse` every edge is turned."""

    def __init__(self, edges: Mapping[N, Sequence[N]], entries: Iterable[N], *, reverse: bool) -> None:
        unknown = [node for node in entries if node not in edges]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is an entry, but no node of the graph")
        turned: dict[N, list[N]] = {node: [] for node in edges}
        for source, targets in edges.items():
            for target in targets:
                turned[target].append(source)
        after, before = (turned, edges) if reverse else (edges, turned)
        roots = [*entries, *(node for node in edges if not before[node]), *edges]
        self.nodes = list(_topological(roots, after))
        """The nodes by number."""

        numbers = {node: number for number, node in enumerate(self.nodes)}
        self._after = [[numbers[other] for other in after[node]] for node in self.nodes]
        self._before = [[numbers[other] for other in before[node]] for node in self.nodes]

    def visiting_order(self, *, reverse: bool = False) -> WeakTopologicalOrder:
        """The order in which the engine visits it."""
        return weak_topological_order(len(self.nodes), self._before if reverse else self._after, reverse=reverse)

    def successors(self, number: int) -> Sequence[int]:
        """The nodes that edges lead to, by number."""
        return self._after[number]

    def predecessors(self, number: int) -> Sequence[int]:
        """The nodes that edges come from, by number."""
        return self._before[number]


def _topological(roots: Iterable[N], successors: Mapping[N, Sequence[N]]) -> Iterator[N]:
    """The nodes by depth-first search, each before those that it leads to, but for edges that close cycles."""
    seen: set[N] = set()
    finished: list[N] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, remaining = work[-1]
            for child in remaining:
                if child not in seen:
                    seen.add(child)
                    work.append((child, iter(successors[child])))
                    break
            else:
                work.pop()
                finished.append(node)
    return reversed(finished)


class OnNumbers(Analysis[S], Generic[N, S]):
    """A graph analysis as one over numbers, forward; its states are those before the nodes."""

    def __init__(self, graph: object, analysis: GraphAnalysis[N, S], entries: Mapping[N, S]) -> None:
        self._is_forward = analysis.direction == "forward"
        self.graph = graph = NumberedGraph(_successors(graph), entries, reverse=not self._is_forward)
        self.lattice = analysis.lattice
        self._analysis = analysis
        self._nodes = graph.nodes
        self._initial = [entries.get(node, self.lattice.bottom) for node in graph.nodes]
        self._before: list[object] = [NEVER] * len(graph.nodes)
        self._after = [self.lattice.bottom] * len(graph.nodes)
        self._is_visited = [False] * len(graph.nodes)

    def transfer(self, node: int, states: Sequence[S]) -> S:
        state = self._initial[node]
        for source in self.graph.predecessors(node):
            if self._is_visited[source]:
                state = self.lattice.join(state, self._brought(source, node, self.after(source, states)))
        self._is_visited[node] = True
        return state

    def merge(self, node: int, old: S, new: S, widen: bool) -> S:
        return self._analysis.merge(self._nodes[node], old, new, widen)

    def after(self, node: int, states: Sequence[S]) -> S:
        """The state after a node, computed again only if the state before it has changed."""
        if self._is_visited[node] and self._before[node] is not states[node]:
            self._before[node] = states[node]
            self._after[node] = self._analysis.transfer(self._nodes[node], states[node])
        return self._after[node]

    def _brought(self, source: int, target: int, state: S) -> S:
        """The state that an edge brings, from that after its start in the direction of the analysis."""
        first, last = (source, target) if self._is_forward else (target, source)
        return self._analysis.edge(self._nodes[first], self._nodes[last], state)

    def solution(self, found: Solution[S]) -> GraphSolution[N, S]:
        """The solution by the nodes of the graph."""
        nodes = self._nodes
        return GraphSolution(
            dict(zip(nodes, found.states, strict=True)),
            {node: self.after(number, found.states) for number, node in enumerate(nodes)},
            {nodes[head]: count for head, count in found.visits.items()},
            tuple([nodes[number] for number in found.unfinished]),
        )
