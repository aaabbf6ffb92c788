"""The order in which the engine visits a graph, a weak topological order, that of the nodes if it is one; and the
policy by which it goes round cycles.

Source: Bourdoncle, "Efficient chaotic iteration strategies with widenings" (1993).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Protocol, cast, get_args

from absint.lattices.records import record

if TYPE_CHECKING:
    import networkx as nx


Strategy = Literal["recursive", "iterative", "worklist"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)


@record()
class IterationPolicy:
    """The iteration of cycles: joins at a head before widening, descending passes, and most visits."""

    widening_delay: int = 2
    """Joins at a head before widening begins."""
    descending_passes: int = 2
    """Passes that regain precision after a cycle is stable."""
    max_visits: int = 10_000
    """Most visits of a head between entry and exit of its cycle. Past it, `fixpoint` raises DivergenceError."""

    patience: int = 64
    """Visits of a head, over all entries of its cycle, after which each change is widened and nothing descends."""

    strategy: Strategy = "recursive"
    """`recursive` makes each inner cycle stable whenever its outer one goes round: the most precise. `iterative` sweeps
    an outermost cycle as a whole until no state in it changes. `worklist` visits only nodes with an operand that
    changed, the first of the order next; it needs a graph with edges, and `transfer` may read only direct predecessors.
    The last two descend once, after all has become stable.
    """

    def check(self) -> None:
        """Raise ValueError for an unknown strategy."""
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy={self.strategy!r}: it is one of {', '.join(map(repr, STRATEGIES))}")


DEFAULT_POLICY = IterationPolicy()

STEP: Final = 64
"""Nodes visited between two calls of `proceed`."""


@record()
class WeakTopologicalOrder:
    """A linear order in which every edge that points backwards leads to the head of a component around both ends.

    `ends` has, for each position that holds a component's head, the position after the component's last node.
    Components nest.
    """

    order: Sequence[int]
    ends: Mapping[int, int] = MappingProxyType({})


class Ordered(Protocol):
    """A graph that knows the order of its nodes, so that none has to be found."""

    def visiting_order(self, *, reverse: bool = False) -> WeakTopologicalOrder:
        """The order of a forward analysis, or in `reverse` that of a backward one."""
        ...


def order_of(graph: nx.DiGraph[int] | Ordered, *, reverse: bool = False) -> WeakTopologicalOrder:
    """The order in which the engine visits a graph, forward or in `reverse`."""
    own: Callable[..., WeakTopologicalOrder] | None = getattr(graph, "visiting_order", None)
    if own is not None:
        return own(reverse=reverse)
    return edge_order(cast("nx.DiGraph[int]", graph), reverse=reverse)


def edge_order(graph: nx.DiGraph[int], *, reverse: bool = False) -> WeakTopologicalOrder:
    """The order that the edges of a graph give."""
    count = graph.number_of_nodes()
    if not all(node in graph for node in range(count)):
        raise ValueError(f"nodes must be the integers 0 to {count - 1}; for other nodes write a GraphAnalysis")
    if all((u < v) for u, v in graph.edges):
        return WeakTopologicalOrder(range(count - 1, -1, -1) if reverse else range(count))
    neighbours = graph.pred if reverse else graph.succ
    return weak_topological_order(count, [list(neighbours[v]) for v in range(count)], reverse=reverse)


def weak_topological_order(
    count: int, successors: Sequence[Sequence[int]], *, reverse: bool = False
) -> WeakTopologicalOrder:
    """Bourdoncle's order of nodes 0 to count - 1, iterative. Heads are the lowest (highest) nodes of their cycles.

    Numbers in topological order need no search.
    """
    order: list[int] = []
    ends: dict[int, int] = {}
    stack = [("sort", region) for region in reversed(_regions(count, successors, reverse))]
    while stack:
        task, nodes = stack.pop()
        if task == "close":
            ends[nodes[0]] = len(order)
        elif task == "sort" and len(nodes) > 1:
            if not _leads_back(nodes, successors, reverse):
                order += sorted(nodes, reverse=reverse)
                continue
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


def _leads_back(nodes: list[int], successors: Sequence[Sequence[int]], reverse: bool) -> bool:
    """Some edge between the nodes leads to one that is no later."""
    inside = set(nodes)
    if reverse:
        return any(child >= node and child in inside for node in nodes for child in successors[node])
    return any(child <= node and child in inside for node in nodes for child in successors[node])


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
