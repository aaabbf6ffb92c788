"""The engine against plain Kleene iteration on random graphs: `python -m tests.jobs.kleene [--graphs 2000]`.

The domains are finite, so that iteration from bottom ends in the least fixpoint. What the engine gives must be a
post-fixpoint and above the least one; with widening it need not be equal. Prints how often it is, and the most calls
of `transfer` for a node, for each domain and strategy; exit code 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, Generic, NamedTuple, TypeVar

import networkx as nx

from absint.engine import Analysis, GraphAnalysis, IterationPolicy, fixpoint
from absint.lattices.lattice import Lattice
from absint.lattices.terms.interval import EMPTY, Interval

T = TypeVar("T")
NODES: Final = 12
BOUND: Final = 200
"""Most calls of `transfer` for one node of a graph of 12 nodes."""

LIMIT: Final = 40
"""Largest number of the intervals."""

STRATEGIES: Final = ("recursive", "iterative", "worklist", "any nodes")


class Program(NamedTuple):
    """A graph of nodes 0 to n - 1, a lattice, and a step for each node, from the join over its predecessors."""

    graph: nx.DiGraph
    lattice: Lattice[Any]
    steps: Sequence[Callable[[Any], Any]]


class Counted(Analysis[T]):
    """A program for the engine; counts the calls of each node."""

    def __init__(self, program: Program) -> None:
        self.program, self.lattice = program, program.lattice
        self.calls = [0] * len(program.steps)

    def transfer(self, node: int, states: Sequence[T]) -> T:
        self.calls[node] += 1
        return applied(self.program, node, states)


class Named(GraphAnalysis[str, T], Generic[T]):
    """The same with nodes that are texts."""

    def __init__(self, program: Program) -> None:
        self.program, self.lattice = program, program.lattice
        self.calls = [0] * len(program.steps)

    def transfer(self, node: str, state: T) -> T:
        self.calls[int(node)] += 1
        return self.program.steps[int(node)](state)


def applied(program: Program, node: int, states: Sequence[T]) -> T:
    """The step of a node, after the join of the states of its predecessors."""
    found = program.lattice.bottom
    for source in program.graph.pred[node]:
        found = program.lattice.join(found, states[source])
    return program.steps[node](found)


def least(program: Program) -> list[Any]:
    """The least fixpoint, by plain iteration from bottom."""
    states = [program.lattice.bottom] * len(program.steps)
    while True:
        after = [applied(program, node, states) for node in range(len(states))]
        if after == states:
            return states
        states = after


def solved(program: Program, strategy: str, policy: IterationPolicy | None = None) -> tuple[list[Any], list[int]]:
    """The states by the engine, and the calls of each node."""
    if strategy == "any nodes":
        named: Named[Any] = Named(program)
        graph = nx.relabel_nodes(program.graph, str)
        after = fixpoint(graph, named, policy or IterationPolicy()).after
        return [after[str(node)] for node in range(len(program.steps))], named.calls
    counted: Counted[Any] = Counted(program)
    policy = policy or IterationPolicy(strategy=strategy)  # type: ignore[arg-type]
    return fixpoint(program.graph, counted, policy).states, counted.calls


# Random programs


def graph_of(draw: Random) -> nx.DiGraph:
    """A random graph: sparse, dense, a chain with jumps, loops in loops, or a chain with edges back from its end."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(NODES))
    kind = draw.choice(["any", "any", "jumps", "loops", "ends"])
    if kind != "any":
        graph.add_edges_from((node, node + 1) for node in range(NODES - 1))
    if kind in ("any", "jumps"):
        share = draw.choice([0.05, 0.1, 0.2, 0.4, 0.8])
        graph.add_edges_from((a, b) for a in range(NODES) for b in range(NODES) if draw.random() < share)
    elif kind == "loops":
        graph.add_edges_from((NODES - 1 - node, node) for node in range(draw.randrange(2, NODES // 2 + 1)))
    else:
        graph.add_edges_from((NODES - 1, node) for node in range(NODES) if draw.random() < 0.9)
    return graph


class Sets:
    """Sets of things; join is a widening."""

    bottom: frozenset[int] = frozenset()
    top = frozenset(range(NODES))
    leq = staticmethod(frozenset.issubset)
    join = widen = staticmethod(frozenset.union)
    meet = staticmethod(frozenset.intersection)


class Constants:
    """A number, none of them, or any of them."""

    bottom, top = "none", "any"

    def leq(self, a: object, b: object) -> bool:
        return a == b or a == "none" or b == "any"

    def join(self, a: object, b: object) -> object:
        return b if self.leq(a, b) else a if self.leq(b, a) else "any"

    def meet(self, a: object, b: object) -> object:
        return a if self.leq(a, b) else b if self.leq(b, a) else "none"

    widen = join


class Ranges:
    """Intervals of some numbers, one for each variable. Widening goes to the limits."""

    bottom = (EMPTY,) * 2
    top = (Interval(-LIMIT, LIMIT),) * 2

    def leq(self, a: Sequence[Interval], b: Sequence[Interval]) -> bool:
        return all(map(Interval.leq, a, b))

    def join(self, a: Sequence[Interval], b: Sequence[Interval]) -> tuple[Interval, ...]:
        return tuple(map(Interval.join, a, b))

    def meet(self, a: Sequence[Interval], b: Sequence[Interval]) -> tuple[Interval, ...]:
        return tuple(map(Interval.meet, a, b))

    def widen(self, old: Sequence[Interval], new: Sequence[Interval]) -> tuple[Interval, ...]:
        return tuple(map(_limited, map(Interval.widen, old, new)))


def _limited(value: Interval) -> Interval:
    """Saturated arithmetic."""
    if value.is_empty:
        return EMPTY
    lo = -LIMIT if value.lo is None else min(max(value.lo, -LIMIT), LIMIT)
    hi = LIMIT if value.hi is None else min(max(value.hi, -LIMIT), LIMIT)
    return Interval(lo, hi)


def sets(draw: Random) -> Callable[[frozenset[int]], frozenset[int]]:
    gen, kill = (frozenset(draw.sample(range(NODES), draw.randrange(3))) for _ in range(2))
    return lambda state: (state - kill) | gen


def constants(draw: Random) -> Callable[[object], object]:
    number, keeps = draw.randrange(4), draw.random() < 0.8
    if not keeps:
        return lambda state: number
    return lambda state: (state * 2 + number) % 5 if isinstance(state, int) else state


def ranges(draw: Random) -> Callable[[tuple[Interval, ...]], tuple[Interval, ...]]:
    to, source, number = draw.randrange(2), draw.randrange(2), draw.randrange(-LIMIT // 3, LIMIT // 2)
    step: Callable[[Interval], Interval] = draw.choice(
        [
            lambda value: value,
            lambda value: value if value.is_empty else _limited(value + Interval(number, number)),
            lambda value: value if value.is_empty else _limited(value + Interval(1, 1)),
            lambda value: value if value.is_empty else _limited(value.scale(-2)),
            lambda value: value.meet(Interval(None, number)),
            lambda value: value.meet(Interval(number, None)),
            lambda value: value.join(Interval(number, number)),
        ]
    )

    def run(state: tuple[Interval, ...]) -> tuple[Interval, ...]:
        changed = list(state)
        changed[to] = step(state[source])
        return tuple(changed)

    return run


DOMAINS: Final[dict[str, tuple[Callable[[], Lattice[Any]], Callable[[Random], Callable[[Any], Any]]]]] = {
    "sets": (Sets, sets),
    "constants": (Constants, constants),
    "ranges": (Ranges, ranges),
}


def programs(count: int, seed: int = 0) -> Iterator[tuple[str, Program]]:
    """Random programs, each with the name of its domain."""
    for number in range(count):
        draw = Random(f"{seed}/{number}")
        name = draw.choice(list(DOMAINS))
        lattice, step = DOMAINS[name]
        graph, made = graph_of(draw), lattice()
        steps = [step(draw) for _ in range(NODES)]
        if name == "ranges":
            steps[0] = lambda state, rest=steps[0]: tuple(v.join(Interval(0, 0)) for v in rest(state))  # type: ignore[misc]
        yield name, Program(graph, made, steps)


# Comparison


class Tally:
    """Answers of one strategy for one domain."""

    def __init__(self) -> None:
        self.graphs = self.equal = self.nodes = self.equal_nodes = self.calls = 0
        self.wrong: list[str] = []

    def add(self, program: Program, lowest: Sequence[object], strategy: str) -> None:
        """Solve a program and hold the answer against the least fixpoint."""
        states, calls = solved(program, strategy)
        leq = program.lattice.leq
        for node, state in enumerate(states):
            if not leq(applied(program, node, states), state):
                self.wrong.append(f"graph {self.graphs}, node {node}: {state} is no post-fixpoint")
            if not leq(lowest[node], state):
                self.wrong.append(f"graph {self.graphs}, node {node}: {state} is not above {lowest[node]}")
            self.equal_nodes += state == lowest[node]
        if max(calls) > BOUND:
            self.wrong.append(f"graph {self.graphs}: {max(calls)} calls of one node")
        self.graphs += 1
        self.nodes += len(states)
        self.equal += list(states) == list(lowest)
        self.calls = max(self.calls, *calls)


def compare(count: int, seed: int = 0) -> dict[tuple[str, str], Tally]:
    """The answers by domain and strategy."""
    tallies = {(domain, strategy): Tally() for domain in DOMAINS for strategy in STRATEGIES}
    for domain, program in programs(count, seed):
        lowest = least(program)
        for strategy in STRATEGIES:
            tallies[domain, strategy].add(program, lowest, strategy)
    return tallies


def table(tallies: dict[tuple[str, str], Tally]) -> Iterator[str]:
    """The rows of a table in Markdown."""
    yield "| domain | strategy | graphs | equal to the least fixpoint | nodes equal | most calls of a node |"
    yield "|---|---|---|---|---|---|"
    for (domain, strategy), tally in tallies.items():
        equal, nodes = tally.equal / tally.graphs, tally.equal_nodes / tally.nodes
        yield f"| {domain} | {strategy} | {tally.graphs} | {equal:.1%} | {nodes:.1%} | {tally.calls} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.kleene")
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tallies = compare(options.graphs, options.seed)
    print(*table(tallies), sep="\n")
    wrong = [f"{domain}, {strategy}: {line}" for (domain, strategy), tally in tallies.items() for line in tally.wrong]
    print(*wrong[:20], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
