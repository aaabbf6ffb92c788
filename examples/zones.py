"""Zones: what differences of two variables can be, on the control-flow graph of a program.

python examples/zones.py

The domain is there: `Zones` maps pairs of variables to the interval of their difference, and adds what follows from
sums of differences. "0" is the number 0.
"""

import absint
from absint.lattices.domains import INTERVALS, Interval, Map, Zones

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
ZONES = Zones[str]()


class Differences(absint.GraphAnalysis[str, State]):
    lattice = ZONES

    def edge(self, source: str, target: str, state: State) -> State:
        for kind, a, b, c in PROGRAM[source, target]:
            if kind == "<=":
                state = ZONES.assume(state, a, b, c)
            else:
                state = ZONES.forget(state, a) if b == "?" else ZONES.assign(state, a, b, c)
        return state


if __name__ == "__main__":
    found = absint.fixpoint(GRAPH, Differences(), entries={"start": ZONES.top})
    for point in ("inner", "end"):
        for a, b in (("i", "n"), ("j", "n"), ("j", "i")):
            print(f"{point:6} {a} - {b} in {INTERVALS.text(ZONES.difference(found.before[point], a, b))}")
