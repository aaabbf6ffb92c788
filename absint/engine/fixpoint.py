"""The fixpoint engine: any monotone analysis over any directed graph. It knows nothing of ONNX.

An analysis is a value: a lattice, a direction, and a transfer function that computes a node's state from the states of
its predecessors. `fixpoint` visits acyclic parts once, in order, and iterates each cycle at its head until it is
stable, in the recursive strategy over a weak topological order; heads are widened after a few visits, and a bounded
descending phase takes back what widening gave away. In the end the state of every head is above what its transfer
gives.

Source: Bourdoncle, "Efficient chaotic iteration strategies with widenings" (1993).

What an analysis owes: `transfer` is monotone (states that are above give a state that is above), and `lattice` keeps
the laws of `absint.lattices.lattice`, widening included; `check_laws` tests them. What it gets: `fixpoint` ends, and
each state of the result is above what `transfer` makes of the result. If `transfer` is sound for one step of a run, the
states so describe every run, however often it goes round a cycle.

Cost: one call of `transfer` for each node of an acyclic graph whose edges all lead from lower to higher numbers, and of
any other without cycles. A cycle runs once for each visit that its head needs: as often as a chain of joins, then
widenings, can grow there, and a few descending passes; in nested cycles these multiply. A chain without an end is cut
off by `Policy.max_visits`.

What it is not good for: transfer functions that are not monotone still terminate (widening sees to that), but the
result then need not be the least fixpoint that the widening allows. Facts of a path need a state of their own: states
are by node, whichever way led there.

docs/tutorial.md builds three analyses. `absint.analyses.forward.ForwardAnalysis` follows the values of a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from absint.lattices.lattice import Lattice

if TYPE_CHECKING:
    import networkx as nx

S = TypeVar("S")

STEP: Final = 64
"""So many nodes are visited between two questions whether to go on."""


class Analysis(ABC, Generic[S]):
    """What `fixpoint` runs: subclass it, set `lattice` (and `direction`), and write `transfer`."""

    lattice: Lattice[S]
    direction: Literal["forward", "backward"] = "forward"

    @abstractmethod
    def transfer(self, node: int, states: Sequence[S]) -> S:
        """The state of `node`, from the states of its predecessors (its successors if backward), by node id.

        A state that has not been computed yet is the lattice's bottom. Only states of neighbours may be read: others
        may change later without another call. Monotone and without side effects that matter: it is called as often as
        the node is visited.
        """

    def sweep(self, order: Sequence[int], states: list[S]) -> None:
        """Write the state of each node of a graph without cycles, in turn. Override only to do the same faster."""
        transfer = self.transfer
        for node in order:
            states[node] = transfer(node, states)

    def merge(self, node: int, old: S, new: S, widen: bool) -> S:
        """The next state of a cycle head whose transfer gave `new`, not below `old`. Override to accelerate.

        It must be above both, and with `widen` a chain of them must come to rest.
        """
        return self.lattice.widen(old, new) if widen else self.lattice.join(old, new)


@dataclass(frozen=True)
class Policy:
    """How a cycle is iterated: joins at its head before widening, descending passes, and most visits to settle."""

    widening_delay: int = 2
    descending_passes: int = 2
    max_visits: int = 10_000


DEFAULT_POLICY = Policy()


@dataclass(frozen=True)
class Solution(Generic[S]):
    """The states by node id, and how often each cycle head was visited."""

    states: list[S]
    visits: dict[int, int]
    unfinished: Sequence[int] = ()
    """Nodes that were not reached before `proceed` said no, or whose cycle had not come to rest; their states say
    nothing. The others are a fixpoint of their own."""


class DivergenceError(RuntimeError):
    """A cycle head changed more often than the policy allows: the widening of the domain does not terminate."""


@dataclass(frozen=True)
class WeakTopologicalOrder:
    """A linear order in which every edge that points backwards leads to the head of a component around both ends.

    `ends` has, for each position that holds a component's head, the position after the component's last node.
    Components nest.
    """

    order: Sequence[int]
    ends: Mapping[int, int] = field(default_factory=dict)


def fixpoint(
    graph: nx.DiGraph[int] | WeakTopologicalOrder,
    analysis: Analysis[S],
    policy: Policy = DEFAULT_POLICY,
    *,
    proceed: Callable[[int], bool] | None = None,
    end: int | None = None,
) -> Solution[S]:
    """The least fixpoint that the widening allows; without cycles the least of all. A state for each node.

    Nodes of `graph` are the integers 0 to n - 1; an edge leads from a node to one that depends on it, also where the
    analysis goes backward. Numbers in topological order, up to the edges that close cycles, make it fast; it is right
    for any. An order of the nodes that was made of the graph, for the direction of the analysis, serves in its place.
    Where `proceed`, which hears every now and then how many nodes of the order are done, says no, the rest is left; so
    are the nodes from the place `end` of the order on.
    Raises DivergenceError if the domain's widening does not stop growing.
    """
    order = (
        graph if isinstance(graph, WeakTopologicalOrder) else order_of(graph, reverse=analysis.direction != "forward")
    )
    states: list[S] = [analysis.lattice.bottom] * len(order.order)
    if order.ends:
        visits, done = _iterate(order, analysis, states, policy, proceed, end)
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


def order_of(graph: nx.DiGraph[int], *, reverse: bool = False) -> WeakTopologicalOrder:
    """The order in which the engine visits a graph, forward or in `reverse`."""
    count = graph.number_of_nodes()
    if all((u < v) for u, v in graph.edges):
        return WeakTopologicalOrder(range(count - 1, -1, -1) if reverse else range(count))
    neighbours = graph.pred if reverse else graph.succ
    return weak_topological_order(count, [list(neighbours[v]) for v in range(count)], reverse=reverse)


def weak_topological_order(
    count: int, successors: Sequence[Sequence[int]], *, reverse: bool = False
) -> WeakTopologicalOrder:
    """Bourdoncle's order of nodes 0 to count - 1, iterative. Heads are the lowest (highest) nodes of their cycles.

    Where the numbers are in topological order already, nothing is searched.
    """
    order: list[int] = []
    ends: dict[int, int] = {}
    stack = [("sort", region) for region in reversed(_regions(count, successors, reverse))]
    while stack:
        task, nodes = stack.pop()
        if task == "close":
            ends[nodes[0]] = len(order)
        elif task == "sort" and len(nodes) > 1:
            stack.extend(("place", part) for part in reversed(_components(nodes, successors, reverse)))
        elif nodes:
            head = max(nodes) if reverse else min(nodes)
            order.append(head)
            if len(nodes) > 1 or head in successors[head]:
                stack.append(("close", [len(order) - 1]))
                stack.append(("sort", [v for v in nodes if v != head]))
    return WeakTopologicalOrder(order, ends)


def _regions(count: int, successors: Sequence[Sequence[int]], reverse: bool) -> list[list[int]]:
    """The nodes in ascending (descending) order, in pieces that no edge between two pieces leads back over."""
    ids = range(count - 1, -1, -1) if reverse else range(count)
    last = list(range(count))  # the last place from which an edge leads back to each place
    for place, node in enumerate(ids):
        for child in successors[node]:
            back = count - 1 - child if reverse else child
            if back < place:
                last[back] = max(last[back], place)
    regions: list[list[int]] = []
    limit = -1
    for place, node in enumerate(ids):
        if place > limit:
            regions.append([])
        regions[-1].append(node)
        limit = max(limit, last[place])
    return regions


def _components(nodes: list[int], successors: Sequence[Sequence[int]], reverse: bool) -> list[list[int]]:
    """Strongly connected components of the subgraph, in topological order (Tarjan, iterative)."""
    inside = set(nodes)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in sorted(nodes, reverse=not reverse):
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for child in rest:
                if child not in inside:
                    continue
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, iter(successors[child])))
                    break
                if child in on_stack:
                    low[node] = min(low[node], index[child])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    part = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        part.append(member)
                        if member == node:
                            break
                    found.append(part)
    found.reverse()
    return found


def _iterate(
    wto: WeakTopologicalOrder,
    analysis: Analysis[S],
    states: list[S],
    policy: Policy,
    proceed: Callable[[int], bool] | None,
    end: int | None,
) -> tuple[dict[int, int], int]:
    """Run the order, repeating each component until its head is stable; visits of each head, and where it ended."""
    lattice, transfer = analysis.lattice, analysis.transfer
    order, ends = wto.order, wto.ends
    visits: dict[int, int] = {}
    open_heads: list[_Component] = []
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
                raise DivergenceError(f"node {head} changed at each of {policy.max_visits} visits")
            old, new = states[head], transfer(head, states)
            if not lattice.leq(new, old):
                # Also in the descending phase, should the transfer not be monotone: the result is a post-fixpoint.
                component.descents = 0 if component.descending else component.descents
                states[head] = analysis.merge(head, old, new, component.visits > policy.widening_delay)
                position = component.start + 1
            elif component.descents and not lattice.leq(old, new):
                component.descents -= 1
                component.descending = True
                states[head] = new
                position = component.start + 1
            else:
                open_heads.pop()
            continue
        if position == end:
            return visits, open_heads[0].start if open_heads else position
        node = order[position]
        states[node] = transfer(node, states)
        if position in ends:
            open_heads.append(_Component(position, policy.descending_passes))
            visits[node] = visits.get(node, 0) + 1
        position += 1
    return visits, len(order)


@dataclass(slots=True)
class _Component:
    """A cycle that is being iterated: the position of its head, and how far the iteration is."""

    start: int
    descents: int
    visits: int = 0
    descending: bool = False
