"""Closed forms of recurrences: against the recurrences themselves, run at random and step by step."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

import pytest
from onnx import ModelProto, TensorProto

from absint import analyze
from absint.lattices.terms.expr import Dim, Expr, Symbol, const, expr_of, symbol
from absint.lattices.terms.normal import maximum, minimum, mod
from absint.lattices.value import Tensor
from absint.shapes.loops.closed_forms import (
    Delayed,
    Extreme,
    Form,
    Later,
    Mirror,
    Periodic,
    Remainder,
    Sum,
    Turns,
    going_round,
)
from tests.absint.flows.build import const as constant
from tests.absint.flows.build import floats, loop_body, model, node

TRIP: Final = Symbol("i")
N, K = symbol("N"), symbol("K")
i = expr_of(TRIP)

FORMS: Mapping[str, tuple[Form, Dim, Callable[[Dim, Dim], Dim]]] = {
    "a constant step": (Sum((K,)), N, lambda s, t: s + K),
    "a linear step": (Sum((K, const(2))), N, lambda s, t: s + K + 2 * t),
    "a quadratic step": (Sum((const(0), const(1), const(2))), N, lambda s, t: s + t * t),
    "a cubic step": (Sum((const(0), const(1), const(6), const(6))), N, lambda s, t: s + t * t * t),
    "a linear step by a size": (Sum((N, K)), const(3), lambda s, t: s + N + K * t),
    "steps in turns": (Periodic((const(2), const(0), K)), N, lambda s, t: s + _turn(t, const(2), const(0), K)),
    "another first step": (Delayed(N, Sum((K,))), const(0), lambda s, t: s + (N if _number(t) == 0 else K)),
    "what the trip says": (Later(2 * i + K, TRIP), N, lambda s, t: 2 * t + K),
    "what is left": (Mirror(K + N), N, lambda s, t: K + N - s),
    "numbers in turns": (Turns((K,), const(3)), N, lambda s, t: s + (K - N if _number(t) % 2 == 0 else N + 3 - K)),
    "a remainder": (Remainder(const(2), const(5)), N, lambda s, t: mod(s + 2, 5)),
    "down to 0": (Extreme(maximum, const(-2), const(0)), N, lambda s, t: maximum(s - 2, 0)),
    "up to a size": (Extreme(minimum, const(3), K), N, lambda s, t: minimum(s + 3, K)),
    "a limit that moves": (Extreme(maximum, const(2), K), N, lambda s, t: maximum(s + 2, K)),
    "a step of either sign": (Extreme(maximum, K - 2, N), K, lambda s, t: maximum(s + K - 2, N)),
}


def _number(t: Dim) -> int:
    assert isinstance(t, Expr)
    assert t.const is not None
    return t.const


def _turn(t: Dim, *steps: Dim) -> Dim:
    return steps[_number(t) % len(steps)]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_its_recurrence(name: str) -> None:
    form, start, step = FORMS[name]
    for binding in ({"N": n, "K": k} for n, k in product((0, 1, 2, 7), (0, 1, 3, 5))):
        number = start
        for trip in range(9):
            claimed, actual = form.at(start, const(trip)), number
            assert isinstance(claimed, Expr)
            assert isinstance(actual, Expr)
            assert claimed.evaluate(binding) == actual.evaluate(binding), (trip, binding)
            number = step(number, const(trip))


PROVED: Mapping[str, tuple[Form, Dim, Dim]] = {
    "a constant step": (Sum((K,)), N, N + i * K + K),
    "a quadratic step": (form := Sum((const(0), const(1), const(2))), N, form.at(N, i) + i * i),
    "an extreme": (down := Extreme(maximum, const(-2), const(0)), N, maximum(down.at(N, i) - 2, 0)),
    "a circle": (going_round([N, K], [const(1), const(0)]), N, Turns((N,), const(1)).at(K, i) + 1),
}


@pytest.mark.parametrize("name", PROVED)
def test_a_form_is_proved_by_what_the_body_makes_of_it(name: str) -> None:
    form, start, back = PROVED[name]
    assert form.proves(start, back, TRIP)
    assert not form.proves(start, back + 1, TRIP)
    assert not form.proves(start, back + i, TRIP)
    assert not form.proves(start + 1, back, TRIP)


# Against runs of random programs


@dataclass(frozen=True)
class Program:
    """The arithmetic of each iteration: (operator, operand, operand, result), and the numbers afterwards."""

    steps: tuple[tuple[str, str, str, str], ...]
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
        sizes = {"one": 1, "two": 2, "three": 3, "N": n, "K": k}
        numbers = {name: sizes[s] if isinstance(s, str) else s for name, s in self.starts.items()}
        for trip in range(trips):
            known = {**sizes, **numbers, "j": trip}
            for operator, x, y, result in self.steps:
                known[result] = OPERATORS[operator](known[x], known[y])
            numbers = {name: known[result] for name, result in self.after.items()}
        return numbers

    def model(self) -> ModelProto:
        """T trips of a Loop; outputs are the numbers by name."""
        names = list(self.starts)
        body = [
            *(constant(name, [number]) for name, number in (("one", 1), ("two", 2), ("three", 3))),
            node("Reshape", ["i", "flat"], ["j"]),
            *(node(operator, [x, y], [result]) for operator, x, y, result in self.steps),
            *(node("Identity", [result], [f"{name}_next"]) for name, result in self.after.items()),
        ]
        nodes = [
            constant("flat", [-1]),
            node("Size", ["n"], ["t"]),
            node("Shape", ["v"], ["N"]),
            node("Shape", ["w"], ["K"]),
            *(constant(f"{name}_start", [s]) for name, s in self.starts.items() if isinstance(s, int)),
        ]
        starts = [s if isinstance(s, str) else f"{name}_start" for name, s in self.starts.items()]
        inner = loop_body(body, names, dtype=TensorProto.INT64)
        nodes.append(node("Loop", ["t", "", *starts], [f"{name}_last" for name in names], body=inner))
        inputs = [floats("n", "T"), floats("v", "N"), floats("w", "K")]
        return model(nodes, inputs, [f"{name}_last" for name in names])


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
LARGEST: Final = 1 << 60
"""Larger numbers may have overflowed their type in the model."""


@pytest.mark.parametrize("block", range(8))
def test_random_recurrences(block: int) -> None:
    """Every claim of what is carried, at several sizes and trip counts; and most claims are exact."""
    exact = total = 0
    for seed in range(20 * block, 20 * block + 20):
        program = Program.drawn(seed)
        result = analyze(program.model())
        for name in program.starts:
            value = result[f"{name}_last"]
            assert isinstance(value, Tensor)
            claimed = value.contents.elements[0] if value.contents is not None else None
            total += 1
            if not isinstance(claimed, Dim):
                continue
            is_exact = isinstance(claimed, Expr) and claimed.free_symbols <= {"N", "K", "T"}
            exact += is_exact
            for n, k, trips in product((0, 1, 2, 5), (0, 1, 3), (0, 1, 2, 3, 4, 5, 7)):
                number = program.run(n, k, trips)[name]
                if abs(number) < LARGEST:
                    assert number in claimed.bounds, (seed, name, n, k, trips)
                    if isinstance(claimed, Expr) and is_exact:
                        found = claimed.evaluate({"N": n, "K": k, "T": trips})
                        assert found == number, (seed, name, str(claimed), n, k, trips)
    assert exact >= 0.7 * total
