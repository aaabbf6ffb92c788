"""A lowered program as a NetworkX graph: NetworkX's algorithms can walk it, and the engine need not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import networkx as nx

from absint.engine import Ordered, WeakTopologicalOrder
from absint.engine.order import edge_order


class ProgramGraph(nx.DiGraph):  # type: ignore[misc]  # NetworkX has no types
    """Nodes in execution order, with edges to the nodes that depend on them. It cannot be changed; copies can.

    A node has a `name`, an `operator`, the `path` of its body and the names of its `outputs`. An edge has a `role`
    (`operand`; `back`, which closes a loop; `gate`, to what stands in a branch or body; `step`, to the join or exit of
    a construct) and the names of the `values` that flow along it.
    """

    def __init__(
        self, incoming_graph_data: object = None, *, ordered: Ordered | None = None, **attributes: object
    ) -> None:
        """NetworkX calls it without arguments for copies and views. `ordered` knows the order of the nodes."""
        super().__init__(incoming_graph_data, **attributes)
        self._ordered = ordered

    @staticmethod
    def of(
        nodes: Iterable[Mapping[str, object]], edges: Iterable[tuple[int, int, str, str]], ordered: Ordered
    ) -> ProgramGraph:
        """From the attributes of all nodes, and edges as (from, to, role, value)."""
        graph = ProgramGraph(ordered=ordered)
        graph.add_nodes_from((number, dict(attributes)) for number, attributes in enumerate(nodes))
        for before, after, role, value in edges:
            if not graph.has_edge(before, after):
                graph.add_edge(before, after, role=role, values=[])
            names = graph.edges[before, after]["values"]
            if value and value not in names:
                names.append(value)
        nx.freeze(graph)
        return graph

    def visiting_order(self, *, reverse: bool = False) -> WeakTopologicalOrder:
        """The order in which the engine visits the nodes: that of the program, or, of a copy, that of its edges."""
        if self._ordered is not None:
            return self._ordered.visiting_order(reverse=reverse)
        return edge_order(self, reverse=reverse)
