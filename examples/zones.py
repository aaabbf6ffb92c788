"""Zones: what differences of two variables can be, on the control-flow graph of a program.

python examples/zones.py

A state maps pairs of variables to the interval of their difference; "0" is the number 0. Intervals and maps are there;
what makes them zones is that differences add up: a - b = (a - c) + (c - b).
"""

from itertools import permutations

import absint
from absint.lattices.domains import INTERVALS, Interval, Map, Maps

Pair = tuple[str, str]
State = Map[Pair, Interval]
PROGRAM: dict[Pair, list[tuple[str, str, str, int]]] = {  # a <= b + c, or a becomes b + c; "?" is any number
    ("start", "outer"): [("=", "n", "?", 0), ("<=", "0", "n", 0), ("=", "i", "0", 0)],
    ("outer", "inner"): [("<=", "i", "n", -1), ("=", "j", "i", 0)],  # while i < n: j = i
    ("inner", "inner"): [("<=", "j", "n", -1), ("=", "j", "j", 1)],  # while j < n: j += 1
    ("inner", "outer"): [("<=", "n", "j", 0), ("=", "i", "i", 1)],  # i += 1
    ("outer", "end"): [("<=", "n", "i", 0)],
}
GRAPH = {point: [after for before, after in PROGRAM if before == point] for edge in PROGRAM for point in edge}


class Zones(absint.GraphAnalysis[str, State]):
    lattice = Maps[Pair, Interval](INTERVALS)

    def edge(self, source: str, target: str, state: State) -> State:
        for kind, a, b, c in PROGRAM[source, target]:
            if kind == "<=":
                state = self.met(state, a, b, Interval(None, c))
            elif a == b:  # so do its differences
                signs = {pair: (pair[0] == a) - (pair[1] == a) for pair in state}
                moved = {pair: INTERVALS.add(known, Interval(*[signs[pair] * c] * 2)) for pair, known in state.items()}
                state = state if state.whole else self.lattice.of(moved)
            else:
                kept = {pair: known for pair, known in state.items() if a not in pair}
                state = state if state.whole else self.lattice.of(kept)
                state = state if b == "?" else self.met(state, a, b, Interval(c, c))
        return state

    def met(self, state: State, a: str, b: str, known: Interval) -> State:
        """The state where a - b is known, with all that follows."""
        get, put, meet = self.lattice.get, self.lattice.set, INTERVALS.meet
        state = put(state, (a, b), meet(get(state, (a, b)), known))
        state = put(state, (b, a), meet(get(state, (b, a)), INTERVALS.neg(known)))
        for c, x, y in permutations(sorted({name for pair in state for name in pair}), 3):
            through = INTERVALS.add(get(state, (x, c)), get(state, (c, y)))
            state = put(state, (x, y), meet(get(state, (x, y)), through))
        return state


if __name__ == "__main__":
    found = absint.fixpoint(GRAPH, Zones(), entries={"start": Zones.lattice.top})
    for point in ("inner", "end"):
        for a, b in (("i", "n"), ("j", "n"), ("j", "i")):
            print(f"{point:6} {a} - {b} in {INTERVALS.text(Zones.lattice.get(found.before[point], (a, b)))}")
