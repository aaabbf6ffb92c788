"""Analyses of graphs whose nodes are any hashable things: transfer along edges, entry points, both directions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import pytest

from absint.engine import DivergenceError, GraphAnalysis, IterationPolicy, fixpoint
from absint.lattices.terms.interval import EMPTY, FULL, Interval
from tests.absint.engine.test_fixpoint import IntervalLattice, Subsets

LOOP = {"entry": ["head"], "head": ["body", "exit"], "body": ["head"]}
"""x = 0; while x < 10: x += 1; exit is no key, since it has no successors."""


class Counter(GraphAnalysis[str, Interval]):
    """The values of x before and after each node; guards are on edges."""

    lattice = IntervalLattice()

    def transfer(self, node: str, state: Interval) -> Interval:
        if node == "entry":
            return Interval(0, 0)
        return state + Interval(1, 1) if node == "body" and not state.is_empty else state

    def edge(self, source: str, target: str, state: Interval) -> Interval:
        if source != "head":
            return state
        return state.meet(Interval(None, 9) if target == "body" else Interval(10, None))


def counted() -> Mapping[str, Interval]:
    return fixpoint(LOOP, Counter()).before


@pytest.mark.parametrize("strategy", ["recursive", "iterative", "worklist"])
@pytest.mark.parametrize("graph", [LOOP, nx.DiGraph(LOOP)], ids=["successors", "networkx"])
def test_guards_on_edges(graph: Mapping[str, list[str]], strategy: Any) -> None:
    found = fixpoint(graph, Counter(), IterationPolicy(strategy=strategy))
    assert found.before == {
        "entry": EMPTY, "head": Interval(0, 10), "body": Interval(0, 9), "exit": Interval(10, 10),
    }  # fmt: skip
    assert found.after["body"] == Interval(1, 10)
    assert set(found.visits) == {"head"}
    assert found.unfinished == ()


class Reached(GraphAnalysis[Hashable, Interval]):
    lattice = IntervalLattice()


def test_entries_have_states_from_outside() -> None:
    """Two functions that call a third; what nothing calls is bottom."""
    graph: dict[Hashable, list[Hashable]] = {key: [("f", 1)] for key in ("main", "test", None)}
    found = fixpoint(graph, Reached(), entries={"main": Interval(1, 2), "test": Interval(7, 7)})
    assert found.before[("f", 1)] == Interval(1, 7)
    assert found.after["main"] == Interval(1, 2)
    assert found.before[None] == EMPTY


def test_an_entry_in_a_cycle_is_joined_with_what_the_cycle_brings() -> None:
    found = fixpoint({"a": ["b"], "b": ["a"]}, Reached(), entries={"b": Interval(3, 3), "a": Interval(5, 5)})
    assert found.before == {"a": Interval(3, 5), "b": Interval(3, 5)}


class Live(GraphAnalysis[str, frozenset[str]]):
    """Variables that are read later."""

    direction = "backward"
    lattice: Any = Subsets(frozenset("xyz"))  # type: ignore[arg-type]

    def __init__(self) -> None:
        self.reads = {"head": "x", "body": "xy", "exit": "z"}
        self.writes = {"entry": "x", "body": "xy"}
        self.edges: list[tuple[str, str]] = []

    def transfer(self, node: str, state: frozenset[str]) -> frozenset[str]:
        return (state - set(self.writes.get(node, ""))) | set(self.reads.get(node, ""))

    def edge(self, source: str, target: str, state: frozenset[str]) -> frozenset[str]:
        self.edges.append((source, target))
        return state - {"z"} if (source, target) == ("head", "exit") else state


def test_backward() -> None:
    """Before and after are in the direction of the analysis; edges have the direction of the graph."""
    analysis = Live()
    found = fixpoint(LOOP, analysis, entries={"exit": frozenset("y")})
    assert found.before["exit"] == {"y"}
    assert found.after["exit"] == {"y", "z"}
    assert found.before["head"] == {"x", "y"}
    assert found.after["entry"] == {"y"}
    assert set(analysis.edges) == {("entry", "head"), ("head", "body"), ("head", "exit"), ("body", "head")}


def test_heads_are_where_cycles_are_entered() -> None:
    """Whatever the order in which the graph lists its nodes: the head is the node that the entry leads to."""
    nodes = ["exit", "body", "head", "entry"]
    found = fixpoint({node: LOOP.get(node, []) for node in nodes}, Counter(), entries={"entry": FULL})
    assert set(found.visits) == {"head"}


class Costly(Reached):
    calls = 0

    def transfer(self, node: Hashable, state: Interval) -> Interval:
        self.calls += 1
        return state


def test_a_node_is_not_computed_again_for_each_edge() -> None:
    graph = {0: range(1, 50), **{node: [50] for node in range(1, 50)}}
    analysis = Costly()
    assert fixpoint(graph, analysis, entries={0: FULL}).after[50] == FULL
    assert analysis.calls == 51


def test_a_long_chain_and_an_empty_graph() -> None:
    found = fixpoint({node: [node + 1] for node in range(50_000)}, Reached(), entries={0: FULL})
    assert found.after[50_000] == FULL
    nothing: dict[Hashable, list[Hashable]] = {}
    assert fixpoint(nothing, Reached()).after == {}


def test_proceed_leaves_nodes_unfinished() -> None:
    found = fixpoint(LOOP, Counter(), proceed=lambda done: done < 1)
    assert set(found.unfinished) == {"head", "body", "exit"}
    assert found.after["entry"] == Interval(0, 0)


def test_bad_graphs() -> None:
    with pytest.raises(ValueError, match="'mian' is an entry, but no node of the graph"):
        fixpoint({"main": ["f"]}, Reached(), entries={"mian": FULL})
    with pytest.raises(ValueError, match="the graph must be directed"):
        fixpoint(nx.Graph([(0, 1)]), Reached())  # type: ignore[call-overload]


class Unending(Counter):
    def merge(self, node: str, old: Interval, new: Interval, widen: bool) -> Interval:
        return old.join(new)


@pytest.mark.parametrize("strategy", ["recursive", "iterative", "worklist"])
def test_a_chain_without_end_names_the_node(strategy: Any) -> None:
    with pytest.raises(DivergenceError, match="node 'head' changed at each of 5 visits"):
        fixpoint(LOOP, Unending(), IterationPolicy(max_visits=5, strategy=strategy))


def test_a_strategy_that_there_is_not() -> None:
    policy = IterationPolicy(strategy="workliist")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="strategy='workliist': it is one of 'recursive', 'iterative', 'worklist'"):
        fixpoint(LOOP, Counter(), policy)
