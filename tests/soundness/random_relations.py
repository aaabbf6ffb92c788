"""Random loops whose sizes data decide: `python -m tests.soundness.random_relations [COUNT] [FIRST]`.

Three values are carried. In each trip flags and sizes choose what becomes of their numbers of rows, and a flag may end
the loop. Every relation that the loop states is held against trips with random flags; a wrong one ends the run.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from absint import Result, analyze
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from absint.shapes.loops.monotone import REASONS
from tests.models import parsed

NAMES: Final = ("p", "q", "r")
STARTS: Final = {"p": "N", "q": "M", "r": "K"}
FLAGS: Final = ("f", "g", "h")

Rows = Mapping[str, int]
Flags = Mapping[str, bool]


@dataclass(frozen=True)
class Ways:
    """What becomes of each value, or a choice between two ways."""

    becomes: Mapping[str, tuple[str, str]]
    """Each value: what happens to it, and another value that takes part."""
    condition: str = ""
    yes: Ways | None = None
    no: Ways | None = None

    @staticmethod
    def drawn(rng: random.Random, depth: int) -> Ways:
        if depth and rng.random() < 0.8:
            condition = rng.choice(["f", "g", "h", "p < v", "q < v", "p < q", "r < p"])
            return Ways({}, condition, Ways.drawn(rng, depth - 1), Ways.drawn(rng, depth - 1))
        kinds = rng.choices(["stays", "one more", "two more", "one less", "is", "with"], [8, 6, 2, 3, 1, 1], k=3)
        return Ways({name: (kind, rng.choice(NAMES)) for name, kind in zip(NAMES, kinds, strict=True)})

    def after(self, rows: Rows, flags: Flags, limit: int) -> Rows:
        """The numbers of rows after a trip."""
        if self.yes is not None and self.no is not None:
            left, _, right = self.condition.partition(" < ")
            is_yes = rows[left] < (limit if right == "v" else rows[right]) if right else flags[left]
            return (self.yes if is_yes else self.no).after(rows, flags, limit)
        changed = {
            "stays": lambda n, _: n,
            "one more": lambda n, _: n + 1,
            "two more": lambda n, _: n + 2,
            "one less": lambda n, _: max(n - 1, 0),
            "is": lambda _, other: other,
            "with": lambda n, other: n + other,
        }
        return {name: changed[kind](rows[name], rows[other]) for name, (kind, other) in self.becomes.items()}

    def text(self, at: str) -> str:
        """Nodes that give p, q and r with the suffix `at`."""
        if self.yes is not None and self.no is not None:
            left, _, right = self.condition.partition(" < ")
            asked = f"s1{at} = Shape ({left}) s2{at} = Shape ({right}) c{at} = Less (s1{at}, s2{at})" if right else ""
            condition = f"c{at}" if right else f"{left}_here"
            branches = (
                f"{branch}_branch = {branch}{to} () => ({', '.join(f'float[{n.upper()}{to}] {n}{to}' for n in NAMES)})"
                f" {{ {ways.text(to)} }}"
                for branch, to, ways in (("then", f"{at}y", self.yes), ("else", f"{at}n", self.no))
            )
            return f"{asked} {', '.join(n + at for n in NAMES)} = If ({condition}) < {', '.join(branches)} >"
        made = {
            "stays": "{out} = Identity ({name})",
            "one more": "{out} = Concat <axis = 0> ({name}, w)",
            "two more": "{out} = Concat <axis = 0> ({name}, w, w)",
            "one less": "{out} = Slice ({name}, zero, less, zero)",
            "is": "{out} = Identity ({other})",
            "with": "{out} = Concat <axis = 0> ({name}, {other})",
        }
        return " ".join(
            made[kind].format(out=name + at, name=name, other=other) for name, (kind, other) in self.becomes.items()
        )


def graph(ways: Ways, stops: bool) -> str:
    """The loop over three values: T trips, or fewer where the flag h `stops` it."""
    values = ", ".join(f"float[{start}] {name}0" for name, start in STARTS.items())
    here = " ".join(f"{flag}_here = Gather ({flag}, i)" for flag in FLAGS)
    goes_on = "Identity (h_here)" if stops else "Identity (c)"
    return f"""
    (bool[T] f, bool[T] g, bool[T] h, float[V] v, float[1] w, {values})
            => (float[P] p_last, float[Q] q_last, float[R] r_last, float[S] s) {{
        t = Size (f)
        zero = Constant <value_ints = [0]> ()
        less = Constant <value_ints = [-1]> ()
        one = Constant <value_int = 1> ()
        go = Cast <to = 9> (one)
        p_last, q_last, r_last, s = Loop (t, go, p0, q0, r0) <body = trip (int64 i, bool c, float[P0] p, float[Q0] q,
                float[R0] r) => (bool c_next, float[P1] p_, float[Q1] q_, float[R1] r_, float[1] s1) {{
            {here}
            c_next = {goes_on}
            s1 = Identity (w)
            {ways.text("_")}
        }}>
    }}
    """


def names_of(result: Result) -> Mapping[str, str]:
    """The symbols that stand for the numbers of rows and trips after the loop."""
    node, _ = result.producer("s")
    found = {}
    for name, value in zip([*NAMES, "trips"], result.states[node], strict=True):
        size = value.shape.dims[0] if isinstance(value, Tensor) and value.shape.rank else None
        if isinstance(size, Expr) and len(size.symbols) == 1 and size.evaluate({next(iter(size.free_symbols)): 1}) == 1:
            found[name] = next(iter(size.free_symbols))
    return found


def held(seed: int, draws: int = 60) -> Counter[str]:
    """How many relations a random loop states, by their reasons. Raises AssertionError if random trips break one."""
    rng = random.Random(seed)
    ways, stops = Ways.drawn(rng, 2), rng.random() < 0.3
    result = analyze(parsed(graph(ways, stops)))
    result.verify()
    node, _ = result.producer("s")
    names = names_of(result)
    stated = [s for s in result.analysis.statements(node) if s.reason in REASONS]
    for _ in range(draws):
        sizes = {name: rng.choice([0, 1, 2, 5]) for name in ("N", "M", "K", "V", "T")}
        rows: Rows = {name: sizes[start] for name, start in STARTS.items()}
        odds, trips = rng.choice([0.1, 0.5, 0.9]), 0
        while trips < sizes["T"]:
            flags = {flag: rng.random() < odds for flag in FLAGS}
            rows, trips = ways.after(rows, flags, sizes["V"]), trips + 1
            if stops and not flags["h"]:
                break
        known = {**sizes, **{names[name]: number for name, number in {**rows, "trips": trips}.items() if name in names}}
        for statement in stated:
            assert statement.relation.evaluate(known), (seed, str(statement.relation), known, ways)
    return Counter(s.reason for s in stated)


def main(count: int = 100, first: int = 0) -> None:
    """Print how many relations were stated and held."""
    totals = Counter[str]()
    for seed in range(first, first + count):
        totals += held(seed)
    for why, number in totals.items():
        print(f"{why:<32}{number:>6}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
