"""The strategies of the engine, and how many calls of `transfer` they may need."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import networkx as nx
import pytest

from absint.engine import Analysis, DivergenceError, IterationPolicy, WeakTopologicalOrder, fixpoint
from absint.lattices.terms.interval import Interval
from tests.absint.engine.test_fixpoint import Ranges, Wobbly, at_least, below, graph_of, loop_of, plus, same, start
from tests.jobs.kleene import (
    BOUND,
    NODES,
    STRATEGIES,
    Program,
    Ranges as RangesLattice,
    applied,
    compare,
    ranges,
    solved,
    table,
)

LIKE_LIST = IterationPolicy(strategy="worklist")
POLICIES = [IterationPolicy(), IterationPolicy(strategy="iterative"), LIKE_LIST]


def test_2000_random_graphs_against_plain_iteration() -> None:
    """A post-fixpoint, never below the least one, no more calls than the bound; and how often it is the least one."""
    tallies = compare(2000)
    assert [line for tally in tallies.values() for line in tally.wrong] == []
    for (domain, strategy), tally in tallies.items():
        assert tally.graphs > 500
        if domain != "ranges":  # join is a widening
            assert tally.equal == tally.graphs, (domain, strategy)
    assert tallies["ranges", "recursive"].equal / tallies["ranges", "recursive"].graphs > 0.96
    assert tallies["ranges", "any nodes"].equal / tallies["ranges", "any nodes"].graphs > 0.97
    assert tallies["ranges", "iterative"].equal_nodes / tallies["ranges", "iterative"].nodes > 0.92
    assert tallies["ranges", "worklist"].equal_nodes / tallies["ranges", "worklist"].nodes > 0.88
    assert len(list(table(tallies))) == 2 + len(tallies)


def ends(seed: int) -> Program:
    """A chain with an edge back from its end to every node: cycles in cycles, as deep as can be."""
    draw = Random(seed)
    graph = graph_of(NODES, [*((v, v + 1) for v in range(NODES - 1)), *((NODES - 1, v) for v in range(NODES))])

    def step(node: int) -> Any:
        if node == 0:
            return start(0, 0)
        number, limit = draw.randrange(1, 5), draw.choice([10, 100, 1000]) * (node + 1)
        up, down = plus(number), plus(-number)
        return draw.choice(
            [up, lambda v: below(limit + 1)(up(v)), lambda v: v.meet(Interval(-limit, limit)), same,
             lambda v: v.meet(Interval(-limit, limit)) if v.is_empty else down(v).meet(Interval(-limit, limit))]
        )  # fmt: skip

    steps = [step(node) for node in range(NODES)]
    return Program(graph, Ranges.lattice, steps)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_deepest_cycles_in_cycles(strategy: str) -> None:
    for seed in range(150):
        program = ends(seed)
        states, calls = solved(program, strategy)
        assert max(calls) <= BOUND
        assert all(applied(program, node, states).leq(state) for node, state in enumerate(states))


def deepest() -> int:
    """The most calls of a node of one such graph."""
    return max(solved(ends(127), "recursive")[1])


def test_without_patience_levels_multiply() -> None:
    calls = solved(ends(127), "recursive", IterationPolicy(patience=10**9))[1]
    assert max(calls) > 5 * BOUND
    assert deepest() < BOUND


def wide(seed: int, variables: int) -> Program:
    """The same shape with as many intervals as variables, so that chains of widenings are long."""
    draw = Random(seed)
    graph = graph_of(NODES, [*((v, v + 1) for v in range(NODES - 1)), *((NODES - 1, v) for v in range(NODES))])
    lattice = RangesLattice()
    lattice.bottom, lattice.top = RangesLattice.bottom[:1] * variables, RangesLattice.top[:1] * variables
    draws = [[ranges(draw) for _ in range(3)] for _ in range(NODES)]

    def step(node: int) -> Any:
        def run(state: tuple[Interval, ...]) -> tuple[Interval, ...]:
            changed = list(state)
            for turn, change in enumerate(draws[node]):
                at, other = (node + turn) % variables, (3 * node + turn + 1) % variables
                if at != other:
                    changed[at], changed[other] = change((changed[at], changed[other]))
            return tuple(v.join(Interval(0, 0)) for v in changed) if node == 0 else tuple(changed)

        return run

    return Program(graph, lattice, [step(node) for node in range(NODES)])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_variables_in_the_deepest_cycles(strategy: str) -> None:
    for seed in range(40):
        program = wide(seed, 8)
        states, calls = solved(program, strategy)
        assert max(calls) <= BOUND
        assert all(program.lattice.leq(applied(program, node, states), state) for node, state in enumerate(states))


def nested(seed: int, depth: int) -> tuple[nx.DiGraph, Ranges]:
    """`while x < limit: ...; x += step` in `while`s, one variable for all."""
    draw = Random(seed)
    steps = [start(0, 0)]
    edges: list[tuple[int, int]] = []

    def add(step: Any, *sources: int) -> int:
        steps.append(step)
        edges.extend((source, len(steps) - 1) for source in sources)
        return len(steps) - 1

    def loop(before: int, level: int) -> int:
        limit = draw.randrange(3, 60)
        head = add(same, before)
        last = add(below(limit), head)
        for _ in range(draw.choice([1, 1, 2]) if level > 1 else 0):
            last = loop(last, level - 1)
        edges.append((add(plus(draw.randrange(1, 4)), last), head))
        return add(at_least(limit), head)

    loop(0, depth)
    graph = graph_of(len(steps), edges)
    return graph, Ranges(graph, steps)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_patience_costs_loops_of_programs_no_precision(depth: int) -> None:
    for seed in range(40):
        graph, analysis = nested(seed, depth)
        endless = fixpoint(graph, analysis, IterationPolicy(patience=10**9)).states
        assert fixpoint(graph, analysis).states == endless
        assert fixpoint(graph, analysis, IterationPolicy(patience=16)).states == endless


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_counting_loop_is_exact_by_every_strategy(policy: IterationPolicy) -> None:
    graph, analysis = loop_of(0, 100, 1)
    states = fixpoint(graph, analysis, policy).states
    assert states == [Interval(0, 0), Interval(0, 100), Interval(0, 99), Interval(1, 100), Interval(100, 100)]


def wobbly(seed: int) -> Wobbly:
    draw = Random(seed)
    return Wobbly(graph_of(10, [(draw.randrange(10), draw.randrange(10)) for _ in range(25)]))


def wobbling() -> str:
    """The solutions of some of these graphs."""
    many = map(wobbly, range(60))
    return str([fixpoint(each.graph, each, IterationPolicy(strategy="iterative")).states for each in many])


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_transfer_that_is_not_monotone(policy: IterationPolicy) -> None:
    for seed in range(60):
        analysis = wobbly(seed)
        solution = fixpoint(analysis.graph, analysis, policy)
        for head in solution.visits:
            assert analysis.transfer(head, solution.states) <= solution.states[head]


class Unending(Ranges):
    def merge(self, node: int, old: Interval, new: Interval, widen: bool) -> Interval:
        return old.join(new)


@pytest.mark.parametrize("strategy", ["recursive", "iterative", "worklist"])
def test_a_chain_without_end(strategy: Any) -> None:
    graph = graph_of(3, [(0, 1), (1, 2), (2, 1)])
    analysis = Unending(graph, [start(0, 0), same, plus(1)])
    with pytest.raises(DivergenceError, match="node 1 changed at each of 20 visits"):
        fixpoint(graph, analysis, IterationPolicy(max_visits=20, strategy=strategy))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_proceed_and_end_stop_every_strategy(policy: IterationPolicy) -> None:
    """Two cycles, one after the other; what was not made stable is unfinished."""
    graph = graph_of(6, [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (4, 5)])
    analysis = Ranges(graph, [start(0, 0), same, plus(1), same, plus(1), same])
    whole = fixpoint(graph, analysis, policy)
    assert tuple(whole.unfinished) == ()
    for stop in range(7):
        part = fixpoint(graph, analysis, policy, proceed=lambda done, stop=stop: done < stop)
        done = [node for node in range(6) if node not in part.unfinished]
        assert [part.states[node] for node in done] == [whole.states[node] for node in done]
        assert len(done) in ((0,) if stop == 0 else (0, 1, 3, 5, 6))
        part = fixpoint(graph, analysis, policy, end=stop)
        assert list(part.unfinished) == list(range((0, 1, 1, 3, 3, 5, 6)[stop], 6))


def test_a_worklist_visits_only_what_a_change_reaches() -> None:
    """A counter from 0 at the nodes 0 and 1, and a way of 40 nodes back to 0 on which it is forgotten."""
    graph = graph_of(40, [*((v, v + 1) for v in range(39)), (39, 0), (1, 0)])
    steps = [start(0, 0), plus(1), lambda value: Interval(7, 7), *([same] * 37)]
    calls: dict[str, int] = {}
    for policy in POLICIES:
        analysis = Tallied(graph, steps)
        assert fixpoint(graph, analysis, policy).states[1] == Interval(1, None)
        calls[policy.strategy] = analysis.calls
    assert calls["worklist"] < calls["iterative"] / 1.4
    assert calls["worklist"] < calls["recursive"] / 1.4


class Tallied(Ranges):
    calls = 0

    def transfer(self, node: int, states: Sequence[Interval]) -> Interval:
        self.calls += 1
        return super().transfer(node, states)


class Stored:
    """An order and no edges."""

    def visiting_order(self, *, reverse: bool = False) -> WeakTopologicalOrder:
        return WeakTopologicalOrder(range(3), {1: 3})


def test_a_worklist_needs_edges() -> None:
    graph = graph_of(3, [(0, 1), (1, 2), (2, 1)])
    analysis: Analysis[Interval] = Ranges(graph, [start(0, 0), same, plus(1)])
    with pytest.raises(ValueError, match="the worklist strategy needs a graph with edges, found Stored"):
        fixpoint(Stored(), analysis, LIKE_LIST)


def test_numbers_are_those_of_the_nodes() -> None:
    graph = nx.relabel_nodes(graph_of(3, [(0, 1), (1, 2)]), {0: 1, 1: 2, 2: 3})
    with pytest.raises(ValueError, match="nodes must be the integers 0 to 2; for other nodes write a GraphAnalysis"):
        fixpoint(graph, Ranges(graph, [same] * 3))
