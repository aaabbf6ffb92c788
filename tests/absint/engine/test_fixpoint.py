"""The engine on toy analyses over hand-made and random graphs: against a naive fixpoint, and its own promises."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings, strategies as st

import absint.engine
from absint.engine import (
    Analysis,
    DivergenceError,
    IterationPolicy,
    Solution,
    WeakTopologicalOrder,
    fixpoint,
    order_of,
    weak_topological_order,
)
from absint.lattices.laws import LawError, check_laws
from absint.lattices.shape_lattice import DIMS
from absint.lattices.terms.expr import Dim, Expr, Unknown, const
from absint.lattices.terms.interval import EMPTY, FULL, Interval
from tests.effort import examples

Graph = "nx.DiGraph[int]"
Edges = Sequence[tuple[int, int]]


def graph_of(count: int, edges: Edges) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    return graph


# Toy analyses


class Subsets:
    """Finite sets by inclusion: a lattice of finite height, whose join is its widening."""

    bottom: frozenset[int] = frozenset()

    def __init__(self, top: frozenset[int]) -> None:
        self.top = top

    def leq(self, a: frozenset[int], b: frozenset[int]) -> bool:
        return a <= b

    def join(self, a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
        return a | b

    def meet(self, a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
        return a & b

    widen = join


class GenKill(Analysis[frozenset[int]]):
    """Union over the neighbours, minus what the node kills, plus what it generates: reaching definitions, liveness."""

    def __init__(
        self, graph: nx.DiGraph, gen: Sequence[frozenset[int]], kill: Sequence[frozenset[int]], direction: str
    ) -> None:
        self.direction = direction  # type: ignore[assignment]
        self.sources = graph.pred if direction == "forward" else graph.succ
        self.gen, self.kill = gen, kill
        self.lattice = Subsets(frozenset().union(*gen))
        self.calls = 0

    def transfer(self, node: int, states: Sequence[frozenset[int]]) -> frozenset[int]:
        self.calls += 1
        incoming = frozenset().union(*(states[p] for p in self.sources[node]))
        return self.gen[node] | (incoming - self.kill[node])


class Constants(Analysis[Dim]):
    """Constant propagation of one variable over the domain of dims: a node sets it, adds to it, or leaves it."""

    lattice = DIMS

    def __init__(self, graph: nx.DiGraph, steps: Sequence[Callable[[Dim], Dim]]) -> None:
        self.sources, self.steps = graph.pred, steps

    def transfer(self, node: int, states: Sequence[Dim]) -> Dim:
        value = DIMS.bottom
        for source in self.sources[node]:
            value = DIMS.join(value, states[source])
        return self.steps[node](value)


class IntervalLattice:
    bottom, top = EMPTY, FULL
    leq = staticmethod(Interval.leq)
    join = staticmethod(Interval.join)
    meet = staticmethod(Interval.meet)
    widen = staticmethod(Interval.widen)


class Ranges(Analysis[Interval]):
    """Intervals of one variable; a node is an interval transformer. Its domain has infinite height."""

    lattice = IntervalLattice()

    def __init__(self, graph: nx.DiGraph, steps: Sequence[Callable[[Interval], Interval]]) -> None:
        self.sources, self.steps = graph.pred, steps

    def transfer(self, node: int, states: Sequence[Interval]) -> Interval:
        value = EMPTY
        for source in self.sources[node]:
            value = value.join(states[source])
        return self.steps[node](value)


def start(lo: int, hi: int) -> Callable[[Interval], Interval]:
    return lambda value: value.join(Interval(lo, hi))


def plus(number: int) -> Callable[[Interval], Interval]:
    return lambda value: value if value.is_empty else value + Interval(number, number)


def below(limit: int) -> Callable[[Interval], Interval]:
    return lambda value: value.meet(Interval(None, limit - 1))


def at_least(limit: int) -> Callable[[Interval], Interval]:
    return lambda value: value.meet(Interval(limit, None))


def same(value: Interval) -> Interval:
    return value


# Against the naive fixpoint


def round_robin(count: int, analysis: Analysis) -> list:
    """Apply every transfer to the states of the round before until nothing changes: the least fixpoint."""
    states = [analysis.lattice.bottom] * count
    while True:
        after = [analysis.transfer(node, states) for node in range(count)]
        if after == states:
            return states
        states = after


@st.composite
def graphs(draw: st.DrawFn, nodes: int = 12, factor: int = 3) -> nx.DiGraph:
    count = draw(st.integers(0, nodes))
    if count == 0:
        return graph_of(0, [])
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=factor * count))
    return graph_of(count, edges)


def gen_kill(graph: nx.DiGraph, direction: str, seed: int) -> GenKill:
    count = graph.number_of_nodes()
    gen = [frozenset([v]) if (v * 7 + seed) % 3 else frozenset() for v in range(count)]
    kill = [frozenset([(v + seed) % max(count, 1), (3 * v) % max(count, 1)]) for v in range(count)]
    return GenKill(graph, gen, kill, direction)


@settings(max_examples=examples(300))
@given(graphs(), st.sampled_from(["forward", "backward"]), st.integers(0, 9))
def test_finite_height_gives_the_least_fixpoint(graph: nx.DiGraph, direction: str, seed: int) -> None:
    analysis = gen_kill(graph, direction, seed)
    naive = round_robin(graph.number_of_nodes(), analysis)
    for policy in (IterationPolicy(), IterationPolicy(widening_delay=0, descending_passes=0)):
        assert fixpoint(graph, analysis, policy).states == naive


@settings(max_examples=examples(200))
@given(graphs(nodes=8), st.lists(st.integers(-2, 3), min_size=8, max_size=8), st.integers(0, 9))
def test_widening_gives_a_post_fixpoint_above_the_least(graph: nx.DiGraph, steps: list[int], limit: int) -> None:
    count = graph.number_of_nodes()
    functions = [
        start(0, 0) if v == 0 else plus(step) if step else (below(limit) if v % 2 else at_least(limit))
        for v, step in zip(range(count), steps, strict=False)
    ]
    analysis = Ranges(graph, functions)
    for policy in (IterationPolicy(), IterationPolicy(descending_passes=5), IterationPolicy(widening_delay=0)):
        states = fixpoint(graph, analysis, policy).states
        for node in range(count):
            assert analysis.transfer(node, states).leq(states[node])
        reached = [EMPTY] * count
        for _ in range(12):  # a few rounds from below never pass a post-fixpoint
            reached = [analysis.transfer(node, reached) for node in range(count)]
        assert all(below_it.leq(state) for below_it, state in zip(reached, states, strict=True))


@settings(max_examples=examples(200))
@given(graphs(nodes=10), st.lists(st.integers(0, 2), min_size=10, max_size=10))
def test_constant_propagation_is_a_post_fixpoint(graph: nx.DiGraph, kinds: list[int]) -> None:
    count = graph.number_of_nodes()

    def step(node: int) -> Callable[[Dim], Dim]:
        if kinds[node] == 0:
            return lambda value: const(node)
        return (lambda value: value + kinds[node] - 1) if isinstance(node, int) else (lambda value: value)

    analysis = Constants(graph, [step(v) for v in range(count)])
    states = fixpoint(graph, analysis).states
    for node in range(count):
        assert DIMS.leq(analysis.transfer(node, states), states[node])


class Wobbly(Analysis[frozenset[int]]):
    """A transfer that is not monotone: it takes away what it sees."""

    def __init__(self, graph: nx.DiGraph) -> None:
        self.graph, self.sources = graph, graph.pred
        self.lattice = Subsets(frozenset(range(64)))

    def transfer(self, node: int, states: Sequence[frozenset[int]]) -> frozenset[int]:
        incoming = frozenset().union(*(states[p] for p in self.sources[node]))
        return frozenset(range(node % 4 + 2)) - incoming if node % 2 else incoming | {node}


@settings(max_examples=examples(200))
@given(graphs(nodes=10))
def test_a_transfer_that_is_not_monotone_still_ends_below_its_heads(graph: nx.DiGraph) -> None:
    analysis = Wobbly(graph)
    solution = fixpoint(graph, analysis)
    for head in solution.visits:
        assert analysis.transfer(head, solution.states) <= solution.states[head]


# Hand-made graphs


def loop_of(entry: int, bound: int, step: int) -> tuple[nx.DiGraph, Ranges]:
    """x = entry; while x < bound: x += step."""
    graph = graph_of(5, [(0, 1), (1, 2), (2, 3), (3, 1), (1, 4)])
    return graph, Ranges(graph, [start(entry, entry), same, below(bound), plus(step), at_least(bound)])


def test_counting_loop_is_exact_after_descending() -> None:
    graph, analysis = loop_of(0, 100, 1)
    solution = fixpoint(graph, analysis)
    assert solution.states == [Interval(0, 0), Interval(0, 100), Interval(0, 99), Interval(1, 100), Interval(100, 100)]
    assert solution.visits == {1: solution.visits[1]}
    assert solution.visits[1] <= 8
    without = fixpoint(graph, analysis, IterationPolicy(descending_passes=0)).states
    assert without[1] == Interval(0, None)
    assert without[4] == Interval(100, None)


def test_short_loop_needs_no_widening() -> None:
    graph, analysis = loop_of(0, 2, 1)
    delayed, at_once = IterationPolicy(descending_passes=0), IterationPolicy(descending_passes=0, widening_delay=0)
    assert fixpoint(graph, analysis, delayed).states[4] == Interval(2, 2)
    assert fixpoint(graph, analysis, at_once).states[4] == Interval(2, None)


def test_nested_loops() -> None:
    """for x in 0..10: for y: ...: the inner loop lets x through and adds nothing."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 3), (3, 5), (5, 1), (1, 6)]
    graph = graph_of(7, edges)
    analysis = Ranges(graph, [start(0, 0), same, below(10), same, same, plus(1), at_least(10)])
    states = fixpoint(graph, analysis).states
    assert states[1] == Interval(0, 10)
    assert states[4] == Interval(0, 9)
    assert states[6] == Interval(10, 10)


def test_self_loop_and_disconnected_nodes() -> None:
    graph = graph_of(4, [(1, 1), (3, 3)])
    analysis = GenKill(graph, [frozenset([v]) for v in range(4)], [frozenset()] * 4, "forward")
    solution = fixpoint(graph, analysis)
    assert solution.states == [frozenset([v]) for v in range(4)]
    assert set(solution.visits) == {1, 3}
    empty: Solution[frozenset[int]] = fixpoint(graph_of(0, []), analysis)
    assert empty.states == []


def test_irreducible_graph() -> None:
    """A cycle with two entries."""
    graph = graph_of(4, [(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)])
    analysis = Ranges(graph, [start(5, 5), plus(1), below(50), same])
    states = fixpoint(graph, analysis).states
    assert states == [Interval(5, 5), Interval(6, 50), Interval(5, 49), Interval(5, 49)]


def test_liveness_of_a_loop() -> None:
    """Backward: 0: i = 0, s = 0; 1: while i < n; 2: s += i; 3: i += 1; 4: return s. Variables i, s, n are 0, 1, 2."""
    graph = graph_of(5, [(0, 1), (1, 2), (2, 3), (3, 1), (1, 4)])
    gen = [frozenset(), frozenset([0, 2]), frozenset([0, 1]), frozenset([0]), frozenset([1])]
    kill = [frozenset([0, 1]), frozenset(), frozenset([1]), frozenset([0]), frozenset()]
    states = fixpoint(graph, GenKill(graph, gen, kill, "backward")).states
    assert states == [frozenset([2]), frozenset([0, 1, 2]), frozenset([0, 1, 2]), frozenset([0, 1, 2]), frozenset([1])]


def test_constants_of_a_loop() -> None:
    graph = graph_of(4, [(0, 1), (1, 2), (2, 1), (1, 3)])
    keeps = Constants(graph, [lambda v: const(8), lambda v: v, lambda v: v, lambda v: v])
    assert fixpoint(graph, keeps).states[3] is const(8)
    grows = Constants(graph, [lambda v: const(8), lambda v: v, lambda v: v + 4, lambda v: v])
    found = fixpoint(graph, grows).states[3]
    assert isinstance(found, Unknown)
    assert (found.bounds, found.congruence.modulus) == (Interval(8, None), 4)
    assert not isinstance(found, Expr)


def test_a_cycle_with_three_entries_in_both_directions() -> None:
    """No node of the cycle is on every way into it; backward, it has two ways out."""
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1), (2, 4), (3, 5)]
    graph = graph_of(6, edges)
    for direction in ("forward", "backward"):
        analysis = gen_kill(graph, direction, 4)
        assert fixpoint(graph, analysis).states == round_robin(6, analysis)


def test_an_irreducible_loop_in_a_loop() -> None:
    """x = 0; an outer loop adds 1 while x < 5, by way of a cycle with two entries that leaves x as it is."""
    edges = [(0, 1), (1, 2), (2, 3), (2, 4), (3, 4), (4, 3), (3, 5), (4, 5), (5, 1), (1, 6)]
    graph = graph_of(7, edges)
    analysis = Ranges(graph, [start(0, 0), same, below(5), same, same, plus(1), at_least(5)])
    states = fixpoint(graph, analysis).states
    assert [states[node] for node in (1, 3, 4, 6)] == [Interval(0, 5), Interval(0, 4), Interval(0, 4), Interval(5, 5)]


def test_liveness_of_an_irreducible_graph() -> None:
    """Backward: 1 and 2 jump to each other, and both read what 0 may have set; only 2 sets it anew."""
    graph = graph_of(4, [(0, 1), (0, 2), (1, 2), (2, 1), (1, 3)])
    gen = [frozenset(), frozenset([0]), frozenset([0, 1]), frozenset([2])]
    kill = [frozenset([0]), frozenset(), frozenset([0]), frozenset()]
    states = fixpoint(graph, GenKill(graph, gen, kill, "backward")).states
    assert states == [frozenset([1, 2]), frozenset([0, 1, 2]), frozenset([0, 1, 2]), frozenset([2])]


def test_the_domains_of_these_tests_obey_the_laws() -> None:
    """Widening is above what it joins, and becomes stable on an infinite chain."""
    intervals = [Interval(lo, hi) for lo in (None, 0, 3) for hi in (None, 3, 8)] + [EMPTY]
    check_laws(IntervalLattice(), intervals, universe=range(-2, 12), allows=lambda a, n: n in a, rising=_longer)
    sets = [frozenset(s) for s in ((), (0,), (1,), (0, 1), (0, 1, 2))]
    check_laws(Subsets(frozenset(range(3))), sets, universe=range(3), allows=lambda a, n: n in a)
    with pytest.raises(LawError, match="widening becomes stable"):
        check_laws(Naturals(), [0, 1, 2], rising=lambda n: n)


def _longer(n: int) -> Interval:
    return Interval(0, n)


def test_the_engine_knows_no_onnx() -> None:
    """It imports the protocol of lattices and records from this project, and NetworkX from outside."""
    files = sorted(Path(absint.engine.__file__).parent.glob("*.py"))
    assert len(files) == 4
    named: set[str | None] = set()
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        named |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        named |= {item.name for node in ast.walk(tree) if isinstance(node, ast.Import) for item in node.names}
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert not any("onnx" in str(text).lower() for text in strings - {ast.get_docstring(tree, False)})
    foreign = {str(name) for name in named if str(name).partition(".")[0] not in sys.stdlib_module_names}
    outside = {name for name in foreign if not name.startswith("absint.engine.")}
    assert outside == {"absint.lattices.lattice", "absint.lattices.records", "networkx"}


# Order


@settings(max_examples=examples(100))
@given(graphs(nodes=12, factor=3), st.sampled_from(["forward", "backward"]), st.integers(0, 9))
def test_a_graph_that_is_ordered_is_not_walked(graph: nx.DiGraph, direction: str, seed: int) -> None:
    class Stored:
        def visiting_order(self, *, reverse: bool = False) -> WeakTopologicalOrder:
            return order_of(graph, reverse=reverse)

    analysis = gen_kill(graph, direction, seed)
    assert fixpoint(Stored(), analysis) == fixpoint(graph, analysis)


class Guessing(Analysis[Interval]):
    """A counter from 0, whose head guesses: too much, then something else, and the truth in the end."""

    lattice = IntervalLattice()

    def __init__(self) -> None:
        self.guesses = [Interval(3, 7), Interval(0, 1), Interval(0, None)]

    def transfer(self, node: int, states: Sequence[Interval]) -> Interval:
        if node == 0:
            return Interval(0, 0)
        return states[0].join(states[2]) if node == 1 else states[1] + Interval(1, 1)

    def merge(self, node: int, old: Interval, new: Interval, widen: bool) -> Interval:
        return self.guesses.pop(0)


@pytest.mark.parametrize("strategy", ["recursive", "iterative", "worklist"])
def test_whatever_merge_returns_the_result_is_above_its_transfer(strategy: Any) -> None:
    graph, analysis = graph_of(3, [(0, 1), (1, 2), (2, 1)]), Guessing()
    states = fixpoint(graph, analysis, IterationPolicy(strategy=strategy)).states
    assert analysis.guesses == []
    assert all(analysis.transfer(node, states).leq(states[node]) for node in range(3))


class Forgetful(Analysis[Interval]):
    """What comes back from the body is the same whatever the head's state, so no change of it calls the head again."""

    lattice = IntervalLattice()

    def transfer(self, node: int, states: Sequence[Interval]) -> Interval:
        return states[1].join(Interval(0, 0)) if node == 0 else Interval(5, 5)

    def merge(self, node: int, old: Interval, new: Interval, widen: bool) -> Interval:
        return old.join(new) if widen else Interval(2, 2)


def guessed(strategy: Any) -> list[Interval]:
    return fixpoint(graph_of(2, [(0, 1), (1, 0)]), Forgetful(), IterationPolicy(strategy=strategy)).states


@pytest.mark.parametrize("strategy", ["recursive", "iterative", "worklist"])
def test_a_guess_that_nothing_answers_is_checked(strategy: Any) -> None:
    states = guessed(strategy)
    assert all(Forgetful().transfer(node, states).leq(states[node]) for node in range(2))


def contains(ends: Mapping[int, int], start_at: int, position: int) -> bool:
    return start_at in ends and start_at <= position < ends[start_at]


@settings(max_examples=examples(300))
@given(graphs(nodes=16, factor=4), st.booleans())
def test_every_edge_back_leads_to_an_enclosing_head(graph: nx.DiGraph, reverse: bool) -> None:
    count = graph.number_of_nodes()
    successors = [list((graph.pred if reverse else graph.succ)[v]) for v in range(count)]
    wto = weak_topological_order(count, successors, reverse=reverse)
    assert sorted(wto.order) == list(range(count))
    place = {node: position for position, node in enumerate(wto.order)}
    for node, children in enumerate(successors):
        for child in children:
            if place[child] <= place[node]:
                assert contains(wto.ends, place[child], place[node]), (node, child, wto)
    opened: list[int] = []
    for position, end in sorted(wto.ends.items()):
        while opened and opened[-1] <= position:
            opened.pop()
        assert position < end <= (opened[-1] if opened else count), "components nest"
        opened.append(end)


def test_order_of_bourdoncles_example() -> None:
    """The example of the paper: 1 2 (3 4 (5 6) 7) 8, here from 0."""
    successors = [[1], [2, 7], [3], [4, 6], [5], [4, 6], [2, 7], []]
    wto = weak_topological_order(8, successors)
    assert wto.order == [0, 1, 2, 3, 4, 5, 6, 7]
    assert wto.ends == {2: 7, 4: 6}


# Size and limits


def union_chain(count: int, back: Edges = ()) -> tuple[nx.DiGraph, GenKill]:
    graph = graph_of(count, [*((v, v + 1) for v in range(count - 1)), *back])
    gen = [frozenset([0]) if v == 0 else frozenset() for v in range(count)]
    return graph, GenKill(graph, gen, [frozenset()] * count, "forward")


@pytest.mark.parametrize("back", [(), [(99_999, 0)], [(60_000, 50_000)], [(v, v) for v in range(0, 100_000, 10)]])
def test_long_chain(back: Edges) -> None:
    graph, analysis = union_chain(100_000, back)
    started = time.process_time()
    solution = fixpoint(graph, analysis)
    assert time.process_time() - started < 10
    assert set(solution.states) == {frozenset([0])}
    assert analysis.calls <= 3 * 100_000


def test_acyclic_graph_takes_one_pass_and_none_is_visited_twice() -> None:
    graph, analysis = union_chain(1_000)
    assert fixpoint(graph, analysis).visits == {}
    assert analysis.calls == 1_000


def test_acyclic_graph_in_any_numbering() -> None:
    graph = graph_of(4, [(3, 1), (1, 2), (2, 0)])
    analysis = GenKill(graph, [frozenset([v]) for v in range(4)], [frozenset()] * 4, "forward")
    assert fixpoint(graph, analysis).states[0] == frozenset(range(4))
    assert analysis.calls == 4


def test_only_the_loop_is_iterated() -> None:
    graph, analysis = union_chain(10_000, [(5_010, 5_000)])
    fixpoint(graph, analysis)
    assert analysis.calls <= 10_000 + 5 * 11


def nest(depth: int) -> tuple[nx.DiGraph, list[Callable[[Interval], Interval]]]:
    """Loops inside one another, each adding 1 on its way back: every level changes when the one outside does."""
    edges = [(v, v + 1) for v in range(2 * depth)]
    edges += [(2 * depth - v, v) for v in range(1, depth)]
    steps: list[Callable[[Interval], Interval]] = [start(0, 0)] + [same] * depth + [plus(1)] * depth
    return graph_of(2 * depth + 1, edges), steps


@pytest.mark.parametrize("depth", [2, 10, 60])
def test_deep_nest_costs_no_power_of_its_depth(depth: int) -> None:
    graph, steps = nest(depth)
    analysis = Ranges(graph, steps)
    solution = fixpoint(graph, analysis)
    assert sum(solution.visits.values()) <= 3 * depth * depth + 10
    for node in range(graph.number_of_nodes()):
        assert analysis.transfer(node, solution.states).leq(solution.states[node])
    assert solution.states[1] == Interval(0, None)


class Naturals:
    """Numbers by size, with a "widening" that does not widen: a chain that never ends."""

    bottom, top = 0, 1 << 60

    def leq(self, a: int, b: int) -> bool:
        return a <= b

    def join(self, a: int, b: int) -> int:
        return max(a, b)

    meet = staticmethod(min)
    widen = join


class Counting(Analysis[int]):
    lattice = Naturals()

    def transfer(self, node: int, states: Sequence[int]) -> int:
        return states[1] if node == 0 else states[0] + 1


def test_a_widening_that_does_not_end_is_an_error() -> None:
    graph = graph_of(2, [(0, 1), (1, 0)])
    with pytest.raises(DivergenceError, match="node 0 changed at each of 50 visits"):
        fixpoint(graph, Counting(), IterationPolicy(max_visits=50))


def test_merge_can_accelerate() -> None:
    class Jump(Counting):
        def merge(self, node: int, old: int, new: int, widen: bool) -> int:
            return self.lattice.top

        def transfer(self, node: int, states: Sequence[int]) -> int:
            return min(super().transfer(node, states), self.lattice.top)

    solution = fixpoint(graph_of(2, [(0, 1), (1, 0)]), Jump())
    assert solution.states[0] == Naturals.top
    assert solution.visits[0] <= 4
