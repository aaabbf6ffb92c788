"""Nodes of a graph that are not in topological order, sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from absint.errors import ModelError
from absint.model.protos import Captures, NodeMessage, name_of, put

if TYPE_CHECKING:
    from onnx import GraphProto


def sorted_nodes(
    nodes: Sequence[NodeMessage], reads: Callable[[NodeMessage], Iterable[str]], where: str
) -> list[NodeMessage]:
    """Kahn's algorithm, stable. `reads` gives the names that a node needs, those of its subgraphs included.

    Raises ModelError naming a node on the cycle, if there is one.
    """
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    waiting = []
    users: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        needs = {producer[name] for name in reads(node) if name in producer}
        waiting.append(len(needs))
        for need in needs:
            users.setdefault(need, []).append(i)
    ready = [i for i, needs in enumerate(waiting) if needs == 0]
    order: list[int] = []
    for i in ready:
        order.append(i)
        for user in users.get(i, ()):
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(order) < len(nodes):
        stuck = next(i for i, needs in enumerate(waiting) if needs)
        raise ModelError(
            f"{where} has a cycle through node {name_of(nodes[stuck], stuck)!r} "
            f"(output {next(iter(nodes[stuck].output), '')!r}): a graph must be acyclic"
        )
    return [nodes[i] for i in order]


def sort_graph(graph: GraphProto) -> bool:
    """Sort the nodes of a graph in place, if some read what stands below them; False if it stays as it is."""
    nodes, captures, seen = list(graph.node), Captures(), set[str]()
    made = {name for node in nodes for name in node.output if name}
    for node in nodes:
        if not made.isdisjoint(captures.reads(node) - seen):
            break
        seen.update(node.output)
    else:
        return False
    places = {id(item): at for at, item in enumerate(nodes)}
    try:
        order = [places[id(item)] for item in sorted_nodes(nodes, captures.reads, "")]
    except ModelError:  # a cycle: no runtime takes it
        return False
    put(graph.node, [graph.node[at] for at in order])
    return True
