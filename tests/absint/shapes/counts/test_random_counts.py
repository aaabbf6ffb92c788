"""Random masks over inputs of few numbers, NaN among them: every relation between counts holds in runs."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

import absint
from absint.solution.constraints import recorded
from tests.absint.shapes.counts.test_counts import drawn
from tests.models import parsed
from tests.runs import Runs

INPUTS: Final = (
    "(float[M, N] f, float[N] g, float h, int64[M, N] i, int64[M, 1] j, bool[M, N] a, bool[N] b, bool[M, 1] c, bool d)"
)
CONSTANTS: Final = (
    "p = Constant<value = float {0.5}>() q = Constant<value = float {0.75}>() r = Constant<value = int64 {1}>()"
    " s = Constant<value = int64 {0}>() t = Constant<value = int64[1] {-1}>() zero = Constant<value = float {0.0}>()"
    " n, m = Split<axis = 0, num_outputs = 2>(pair) two = Concat<axis = 0>(m, n)"
)
ORDERS: Final = ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")


def text(seed: int) -> str:
    """A model that makes masks of one another and counts some."""
    draw = Random(seed)
    nodes: list[str] = []
    masks, floats, integers = ["a", "b", "c", "d"], ["f", "g", "h", "p", "q", "zero"], ["i", "j", "r", "s", "e"]
    for at in range(draw.randint(6, 14)):
        kind, name = draw.random(), f"v{at}"
        if kind < 0.4:
            numbers = draw.choice([floats, integers])
            nodes.append(f"{name} = {draw.choice(ORDERS)}({draw.choice(numbers)}, {draw.choice(numbers)})")
        elif kind < 0.6:
            nodes.append(f"{name} = Not({draw.choice(masks)})")
        elif kind < 0.9:
            operator = draw.choice(["And", "Or", "Xor", "Equal"])
            nodes.append(f"{name} = {operator}({draw.choice(masks)}, {draw.choice(masks)})")
        elif kind < 0.95:
            nodes.append(f"{name} = Cast<to = 9>({draw.choice(floats + integers)})")
        else:
            bit = f"k{at}"
            nodes.append(f"{bit} = Cast<to = 7>({draw.choice(masks)})")
            integers.append(bit)
            nodes.append(f"{name} = Identity({draw.choice(masks)})")
        masks.append(name)
    counts = draw.sample(masks, min(len(masks), 7))
    for mask in counts:
        form = draw.choice(["", "", "Reshape", "Cast", "Compress", "Transpose", "Concat", "Slice", "Expand"])
        nodes += _counted(mask, form, draw.choice(masks))
    outputs = ", ".join(f"count_{mask}" for mask in counts)
    return f"{INPUTS[:-1]}, bool[6] pair) => ({outputs}) {{ e = ArgMax<axis = 1>(i) {CONSTANTS} {' '.join(nodes)} }}"


def _counted(mask: str, form: str, other: str) -> list[str]:
    """Nodes that count a mask in one way."""
    over = f"as_{mask}"
    match form:
        case "Reshape":
            made_of = [f"{over} = Reshape({mask}, t)"]
        case "Cast":
            made_of = [f"{over} = Cast<to = 1>({mask})"]
        case "Compress":
            return [f"flat_{mask} = Reshape({mask}, t)", f"count_{mask} = Compress(flat_{mask}, flat_{mask})"]
        case "Transpose":
            made_of = [f"{over} = Transpose({mask})"]
        case "Concat":
            flat = [f"x_{mask} = Reshape({mask}, t)", f"y_{mask} = Reshape({other}, t)"]
            made_of = [*flat, f"{over} = Concat<axis = 0>(x_{mask}, y_{mask})", f"z_{mask} = NonZero(y_{mask})"]
        case "Slice":
            flat = [f"x_{mask} = Reshape({mask}, t)", f"one_{mask} = Constant<value = int64[1] {{1}}>()"]
            made_of = [*flat, f"y_{mask} = NonZero(x_{mask})", f"{over} = Slice(x_{mask}, one_{mask}, t)"]
        case "Expand":
            sizes = f"sizes_{mask} = Constant<value = int64[3] {{2, 1, 1}}>()"
            made_of = [sizes, f"{over} = Expand({mask}, sizes_{mask})", f"z_{mask} = NonZero({mask})"]
        case _:
            return [f"count_{mask} = NonZero({mask})"]
    return [*made_of, f"count_{mask} = NonZero({over})"]


@pytest.mark.parametrize("seed", range(40))
def test_relations_hold(seed: int) -> None:
    model = parsed(text(seed))
    result = absint.analyze(model)
    runs = Runs(model, result, drawn(result))
    for at, (rows, columns) in enumerate([(0, 3), (1, 1), (3, 4), (2, 1), (1, 5), (4, 4)]):
        assert runs.wrong({"M": rows, "N": columns}, seed + at) == []


def test_they_relate() -> None:
    found = [c for seed in range(12) for c in recorded(absint.analyze(parsed(text(seed)))).base]
    assert sum("mask" in c.reason for c in found) > 40
