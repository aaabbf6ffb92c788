"""Random recurrences: `python -m tests.soundness.random_recurrences [COUNT] [FIRST] [--scan]`.

Loops, or Scans, that carry up to three numbers are drawn by kind, analysed, and every claim is held against the
recurrence itself at several sizes and numbers of trips. Printed is the share of exact claims by kind; a wrong one ends
the run.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from onnx import ModelProto, NodeProto, TensorProto

from absint import Result, analyze
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.value import Tensor
from absint.shapes.loops.monotone import REASONS
from tests.models import body, const, floats, loop_body, model, node, untyped

LARGEST: Final = 1 << 60
"""Larger numbers may have overflowed their type in the model."""

CONSTANTS: Final = {"one": 1, "two": 2, "three": 3}
SIZES: Final = ("N", "K")

TRIPS: Final = (0, 1, 2, 3, 4, 5, 7, 8, 11, 13)

Step = tuple[str, str, str, str]


@dataclass(frozen=True)
class Program:
    """The arithmetic of each trip: (operator, operand, operand, result), and the numbers afterwards.

    The operator `Pick` takes `x y` and `p q`: it is p where x < y, else q.
    """

    steps: tuple[Step, ...]
    after: Mapping[str, str]
    starts: Mapping[str, int | str]

    @staticmethod
    def drawn(seed: int) -> Program:
        rng = random.Random(seed)
        names = ["a", "b", "c3"][: rng.randint(1, 3)]
        known = [*names, "one", "two", "three", "N", "K", "j"]
        steps = []
        for k in range(rng.randint(len(names), 5)):
            operator = rng.choice(["Add", "Add", "Add", "Sub", "Max", "Min", "Mul", "Div", "Mod"])
            x, y = rng.choice(known), rng.choice(known)
            y = rng.choice(["two", "three"]) if operator in ("Div", "Mod") else y
            y = rng.choice(["one", "two", "N", "j"]) if operator == "Mul" else y
            steps.append((operator, x, y, f"t{k}"))
            known.append(f"t{k}")
        results = [step[3] for step in steps]
        after = {name: rng.choice([*results * 2, *names]) for name in names}
        return Program(tuple(steps), after, {name: rng.choice([0, 1, 2, "N", "K"]) for name in names})

    def run(self, n: int, k: int, trips: int) -> Mapping[str, int]:
        """The numbers after the last trip."""
        sizes = {**CONSTANTS, "N": n, "K": k}
        numbers = {name: sizes[s] if isinstance(s, str) else s for name, s in self.starts.items()}
        for trip in range(trips):
            known = {**sizes, **numbers, "j": trip}
            for operator, x, y, result in self.steps:
                if operator == "Pick":
                    (a, b), (p, q) = x.split(), y.split()
                    known[result] = known[p] if known[a] < known[b] else known[q]
                else:
                    known[result] = OPERATORS[operator](known[x], known[y])
            numbers = {name: known[result] for name, result in self.after.items()}
        return numbers

    def model(self, *, scanned: bool = False) -> ModelProto:
        """T trips of a Loop, or of a Scan over the numbers of the trips; outputs are the numbers by name."""
        names = list(self.starts)
        body_nodes = [
            *(const(name, [number]) for name, number in CONSTANTS.items()),
            *(() if scanned else [node("Reshape", ["i", "flat"], ["j"])]),
            *(made for step in self.steps for made in _nodes(*step)),
            *(node("Identity", [result], [f"{name}_next"]) for name, result in self.after.items()),
        ]
        nodes = [
            const("flat", [-1]),
            node("Size", ["n"], ["t"]),
            node("Shape", ["v"], ["N"]),
            node("Shape", ["w"], ["K"]),
            *(const(f"{name}_start", [s]) for name, s in self.starts.items() if isinstance(s, int)),
        ]
        starts = [s if isinstance(s, str) else f"{name}_start" for name, s in self.starts.items()]
        if scanned:
            given, found = [*names, "j"], [f"{name}_next" for name in names]
            inner = body(body_nodes, *([untyped(name, TensorProto.INT64) for name in some] for some in (given, found)))
            nodes += [
                const("zero", 0),
                const("step", 1),
                const("column", [-1, 1]),
                node("Squeeze", ["t"], ["limit"]),
                node("Range", ["zero", "limit", "step"], ["trips"]),
                node("Reshape", ["trips", "column"], ["js"]),
                node("Scan", [*starts, "js"], [f"{name}_last" for name in names], body=inner, num_scan_inputs=1),
            ]
        else:
            inner = loop_body(body_nodes, names, dtype=TensorProto.INT64)
            nodes.append(node("Loop", ["t", "", *starts], [f"{name}_last" for name in names], body=inner))
        inputs = [floats("n", "T"), floats("v", "N"), floats("w", "K")]
        return model(nodes, inputs, [f"{name}_last" for name in names])


def _nodes(operator: str, x: str, y: str, result: str) -> Iterator[NodeProto]:
    if operator == "Pick":
        yield node("Less", x.split(), [f"{result}_less"])
        yield node("Where", [f"{result}_less", *y.split()], [result])
    else:
        yield node(operator, [x, y], [result])


def truncated(a: int, b: int) -> int:
    return abs(a) // b if a >= 0 else -(abs(a) // b)


OPERATORS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "Add": int.__add__,
    "Sub": int.__sub__,
    "Mul": int.__mul__,
    "Mod": int.__mod__,
    "Max": max,
    "Min": min,
    "Div": truncated,
}


# Kinds


def _start(rng: random.Random) -> int | str:
    return rng.choice([0, 1, 2, "N", "K"])


def _plain(rng: random.Random) -> str:
    return rng.choice(["one", "two", "three", "N", "K"])


def _single(rng: random.Random, *steps: Step) -> Program:
    return Program(steps, {"a": steps[-1][3]}, {"a": _start(rng)})


def _sum(rng: random.Random) -> Program:
    step = rng.choice([_plain(rng), "j"])
    return _single(rng, ("Mul", step, rng.choice(["one", "two", "j", "N"]), "t"), ("Add", "a", "t", "r"))


def _growth(rng: random.Random) -> Program:
    return _single(rng, ("Mul", "a", rng.choice(["two", "three", "N"]), "t"), ("Add", "t", _plain(rng), "r"))


def _saturating(rng: random.Random) -> Program:
    extreme, sign = rng.choice(["Max", "Min"]), rng.choice(["Add", "Sub"])
    limit = rng.choice([_plain(rng), "j"])
    return _single(rng, (sign, "a", _plain(rng), "t"), (extreme, "t", limit, "r"))


def _turns(rng: random.Random) -> Program:
    steps = [(rng.choice(["Add", "Sub", "Min"]), "b", rng.choice([_plain(rng), "j"]), "t")]
    if rng.random() < 0.5:
        steps.append(("Sub", _plain(rng), "a", "u"))
        return Program(tuple(steps), {"a": "u", "b": "t"}, {"a": _start(rng), "b": _start(rng)})
    return Program(tuple(steps), {"a": "t", "b": "a"}, {"a": _start(rng), "b": _start(rng)})


def _by_the_trip(rng: random.Random) -> Program:
    condition = rng.choice(["j two", "j K", "odd one", "j three"])
    steps = [("Mod", "j", "two", "odd"), ("Add", "a", _plain(rng), "p"), (rng.choice(["Add", "Sub"]), "a", "j", "q")]
    return _single(rng, *steps, ("Pick", condition, rng.choice(["p q", "p a", "a q", "q p"]), "r"))


def _together(rng: random.Random) -> Program:
    steps = [
        ("Add", "a", rng.choice([_plain(rng), "j"]), "t"),
        (rng.choice(["Add", "Sub"]), "b", "a", "u"),
        ("Add", "c3", rng.choice(["a", "b", "u"]), "v"),
    ]
    after = rng.choice(
        [{"a": "t", "b": "u", "c3": "v"}, {"a": "t", "b": "c3", "c3": "u"}, {"a": "c3", "b": "a", "c3": "b"}]
    )
    return Program(tuple(steps), after, {name: _start(rng) for name in ("a", "b", "c3")})


def _halving(rng: random.Random) -> Program:
    return _single(
        rng, ("Add", "a", rng.choice(["one", "N", "two"]), "t"), ("Div", "t", rng.choice(["two", "three"]), "r")
    )


def _one_way(rng: random.Random) -> Program:
    """Never larger, or never smaller, unless it is negative, which these are not."""
    second = rng.choice([("Min", "t", _plain(rng), "r"), ("Sub", "a", "t", "r"), ("Mul", "t", "one", "r")])
    steps = (("Div", "a", rng.choice(["two", "three"]), "t"), second, ("Max", "b", "a", "u"))
    return Program(steps, {"a": "r", "b": "u"}, {"a": _start(rng), "b": _start(rng)})


def _remainder(rng: random.Random) -> Program:
    steps = [("Add", "a", rng.choice([_plain(rng), "j"]), "t"), ("Mod", "t", rng.choice(["two", "three"]), "r")]
    return Program((*steps, ("Add", "b", "a", "u")), {"a": "r", "b": "u"}, {"a": _start(rng), "b": _start(rng)})


def _product(rng: random.Random) -> Program:
    steps = [("Mul", "a", rng.choice(["b", "j", "K"]), "t"), ("Min", "t", _plain(rng), "r")]
    return Program(tuple(steps), {"a": rng.choice(["t", "r"]), "b": "b"}, {"a": _start(rng), "b": _start(rng)})


KINDS: Final[Mapping[str, Callable[[random.Random], Program]]] = {
    "sums": _sum,
    "growth by a factor": _growth,
    "up or down to a limit": _saturating,
    "turns": _turns,
    "by the number of the trip": _by_the_trip,
    "several together": _together,
    "division": _halving,
    "one way": _one_way,
    "remainders": _remainder,
    "products": _product,
    "anything": lambda rng: Program.drawn(rng.randrange(1 << 30)),
}


def held(program: Program, label: object, *, scanned: bool = False) -> Iterator[bool]:
    """For each number of a program: its claim is exact. Raises AssertionError for a claim that a run breaks.

    A Scan has a trip, since no runtime runs one over an empty axis.
    """
    result = analyze(program.model(scanned=scanned))
    result.verify()
    counts = TRIPS[scanned:]
    held_on_its_side(result, program, label, counts)
    for name in program.starts:
        value = result[f"{name}_last"]
        assert isinstance(value, Tensor)
        claimed = value.contents.elements[0] if value.contents is not None else None
        is_exact = isinstance(claimed, Expr) and claimed.free_symbols <= {"N", "K", "T"}
        if isinstance(claimed, Dim):
            for n, k, trips in product((0, 1, 2, 5), (0, 1, 3), counts):
                number = program.run(n, k, trips)[name]
                if abs(number) < LARGEST:
                    assert number in claimed.bounds, (label, name, n, k, trips)
                    if isinstance(claimed, Expr) and is_exact:
                        found = claimed.evaluate({"N": n, "K": k, "T": trips})
                        assert found == number, (label, name, str(claimed), n, k, trips)
        yield is_exact


def held_on_its_side(result: Result, program: Program, label: object, counts: Sequence[int]) -> None:
    """Hold what is stated of numbers that no trip makes larger, or none smaller, against the recurrence."""
    names = {}
    for name in program.starts:
        node, output = result.producer(f"{name}_last")
        value = result.states[node][output]
        assert isinstance(value, Tensor)
        for claimed in value.contents.elements if value.contents is not None else ():
            if isinstance(claimed, Expr) and len(claimed.free_symbols) == 1:
                names[next(iter(claimed.symbols))] = name
    stated = [s for node in range(len(result.nodes)) for s in result.analysis.statements(node)]
    for relation in [s.relation for s in stated if s.reason in REASONS]:
        inside = {symbol: name for symbol, name in names.items() if symbol in relation.symbols}
        for n, k, trips in product((0, 1, 2, 5), (0, 1, 3), counts):
            numbers = program.run(n, k, trips)
            sizes = {"N": n, "K": k, "T": trips, **{symbol.name: numbers[name] for symbol, name in inside.items()}}
            if all(abs(number) < LARGEST for number in numbers.values()) and relation.free_symbols <= sizes.keys():
                HELD[relation.evaluate(sizes)] += 1
                assert relation.evaluate(sizes), (label, str(relation), n, k, trips)


HELD: Final[Counter[bool]] = Counter()
"""The statements about sides that were held against a recurrence."""


def main(count: int = 40, first: int = 0, scanned: bool = False) -> None:
    """Print the share of exact claims, by kind."""
    totals = Counter[str]()
    for kind, draw in KINDS.items():
        found = [
            is_exact
            for seed in range(first, first + count)
            for is_exact in held(draw(random.Random(seed)), (kind, seed), scanned=scanned)
        ]
        totals.update(exact=sum(found), numbers=len(found))
        print(f"{kind:<28}{sum(found):>6} of {len(found):>5}", flush=True)
    print(f"{'bounded by their start':<28}{HELD[True]:>6} times")
    print(f"{'all':<28}{totals['exact']:>6} of {totals['numbers']:>5}, 0 wrong")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "--scan"]
    main(*numbers, scanned="--scan" in sys.argv)
