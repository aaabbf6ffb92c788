"""Nodes of a graph that are not in topological order, sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from absint.errors import ModelError
from absint.model.messages import NodeMessage
from absint.model.protos import name_of


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
