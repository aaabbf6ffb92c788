"""The lowered program as a NetworkX graph: what it says, what NetworkX makes of it, and that analyses keep to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import networkx as nx
import pytest

import absint
from absint.analyses.liveness import LastUses, Regions
from absint.lattices.limits import without_shortcuts
from absint.program.digraph import ProgramGraph
from absint.program.steps import LoopBody
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.summaries import State
from tests.absint.shapes.flows import FLOWS
from tests.models import parsed

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.onnx"))
SOME_FLOWS = sorted(FLOWS)[::5]


def flow(name: str) -> absint.Result:
    return absint.analyze(FLOWS[name]().model)


def branching() -> absint.Result:
    return absint.analyze(
        parsed(
            """(float[N] x, bool c) => (float[N] z) {
            y = Neg(x)
            z = If (c) <then_branch = one () => (float[N] a) { a = Mul(y, y) },
                        else_branch = two () => (float[N] b) { b = Identity(x) }>
        }""",
            20,
        )
    )


def test_nodes_and_edges_say_what_they_are() -> None:
    graph = branching().graph
    assert isinstance(graph, nx.DiGraph)
    by_name = {data["name"]: number for number, data in graph.nodes(data=True) if data["operator"] != "If"}
    neg, mul = by_name["#0"], next(n for n, data in graph.nodes(data=True) if data["operator"] == "Mul")
    assert graph.nodes[mul] == {"name": "#0", "operator": "Mul", "path": "If#1/then_branch", "outputs": ["a"]}
    assert graph.nodes[by_name["x"]] == {"name": "x", "operator": "input", "path": "", "outputs": ["x"]}
    neg = next(n for n, data in graph.nodes(data=True) if data["operator"] == "Neg")
    assert graph.edges[neg, mul] == {"role": "operand", "values": ["y"]}  # once, though Mul reads it twice
    (join,) = [n for n, data in graph.nodes(data=True) if data["outputs"] == ["z"]]
    gates = [n for n, data in graph.nodes(data=True) if data["operator"] == "If" and n != join]
    assert len(gates) == 2
    assert graph.edges[gates[0], mul] == {"role": "gate", "values": []}
    assert [graph.edges[gate, join]["role"] for gate in gates] == ["step", "step"]
    assert graph.edges[mul, join] == {"role": "operand", "values": ["If#1/then_branch/a"]}


def test_an_edge_that_closes_a_loop_says_so() -> None:
    result = flow("loop_grows_by_a_symbol")
    back = [(u, v) for u, v, role in result.graph.edges(data="role") if role == "back"]
    assert back
    assert all(u > v for u, v in back)
    assert all(isinstance(result.nodes[v].step, LoopBody) for _, v in back)
    assert all(u < v for u, v, role in result.graph.edges(data="role") if role != "back")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_topological_sort(path: Path) -> None:
    graph = absint.analyze(path).graph
    order = {node: place for place, node in enumerate(nx.topological_sort(graph))}
    assert sorted(order) == list(range(len(graph)))
    assert all(order[u] < order[v] for u, v in graph.edges)


def test_descendants_are_what_depends_on_a_node() -> None:
    result = branching()
    operators = {result.graph.nodes[node]["operator"] for node in nx.descendants(result.graph, 0)}
    assert operators == {"Neg", "Mul", "Identity", "If"}


@pytest.mark.parametrize("name", SOME_FLOWS)
def test_strongly_connected_components_are_loops(name: str) -> None:
    result = flow(name)
    steps = [node.step for node in result.nodes if isinstance(node.step, LoopBody)]
    circles = [part for part in nx.strongly_connected_components(result.graph) if len(part) > 1]
    for part in circles:
        assert any(step.first == min(part) and max(part) <= step.last for step in steps)
    assert len(circles) <= len(steps)


def test_json_and_a_drawing() -> None:
    graph = branching().graph
    text = json.dumps(nx.node_link_data(graph, edges="links"))
    again = nx.node_link_graph(json.loads(text), directed=True, edges="links")
    assert nx.utils.graphs_equal(nx.DiGraph(graph), again)
    places = nx.spring_layout(graph, seed=1)
    assert set(places) == set(graph)
    assert len({tuple(place) for place in places.values()}) == len(graph)


def test_the_graph_is_frozen_and_a_copy_is_not() -> None:
    graph = branching().graph
    with pytest.raises(nx.NetworkXError, match="Frozen graph can't be modified"):
        graph.add_edge(0, 1)
    copy = graph.copy()
    assert isinstance(copy, ProgramGraph)
    copy.add_edge(len(graph) - 1, 0)  # a circle that the program does not have
    assert copy.visiting_order().ends
    assert not graph.visiting_order().ends
    assert nx.to_undirected(graph).number_of_nodes() == len(graph)
    assert graph.subgraph([0, 1]).number_of_nodes() == 2


@pytest.mark.parametrize("name", SOME_FLOWS)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
def test_the_stored_order_is_one_of_the_edges(name: str, reverse: bool) -> None:
    graph = flow(name).graph
    order = graph.visiting_order(reverse=reverse)
    assert sorted(order.order) == list(range(len(graph)))
    place = {node: at for at, node in enumerate(order.order)}
    for u, v in graph.edges:
        before, after = (place[v], place[u]) if reverse else (place[u], place[v])
        if before >= after:  # then it leads to the head of a component around both ends
            assert before < order.ends[after]


@pytest.mark.parametrize("name", SOME_FLOWS)
def test_an_analysis_runs_on_the_graph_on_a_copy_and_on_the_program(name: str) -> None:
    result = flow(name)
    graph = result.graph
    analysis = LastUses(result, Regions(result))
    assert absint.fixpoint(graph, analysis).states == absint.fixpoint(graph.copy(), analysis).states
    assert absint.fixpoint(result.program, ShapeAnalysis(result.program)).states == result.base.states
    assert absint.fixpoint(graph, ShapeAnalysis(result.program)).states == result.base.states


class Watched(Sequence[State]):
    """States that note which of them are read."""

    def __init__(self, states: Sequence[State], read: set[int]) -> None:
        self.states, self.read = states, read

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[State]: ...
    def __getitem__(self, at: int | slice) -> State | Sequence[State]:
        assert isinstance(at, int)
        self.read.add(at)
        return self.states[at]

    def __len__(self) -> int:
        return len(self.states)


@pytest.mark.parametrize("name", sorted(FLOWS)[::2])
def test_transfer_reads_only_what_leads_to_a_node(name: str) -> None:
    """`Analysis.transfer` may read nodes from which edges lead here and close no circle, and a head its back edges."""
    reads: dict[int, set[int]] = {}

    class Watching(ShapeAnalysis):
        def transfer(self, node: int, states: Sequence[State]) -> State:
            return super().transfer(node, Watched(states, reads.setdefault(node, set())))

    result = flow(name)
    with without_shortcuts():
        absint.fixpoint(result.program, Watching(result.program))
    forward = nx.DiGraph((u, v) for u, v, role in result.graph.edges(data="role") if role != "back")
    forward.add_nodes_from(result.graph)
    assert set(reads) == set(result.graph)
    for node, found in reads.items():
        step = result.nodes[node].step
        back = {producer for producer, _ in step.back} if isinstance(step, LoopBody) else set()
        assert found - back <= nx.ancestors(forward, node)
    assert any(reads.values())
