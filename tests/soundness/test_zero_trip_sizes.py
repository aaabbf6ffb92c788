"""Sizes of scan outputs after no trip: what onnxruntime infers of a body, held against runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest
from onnx import parser

import absint
from absint.shapes.loops.zero_trip_sizes import SIZED
from tests.models import parsed
from tests.runs import Runs
from tests.soundness.runs import ENGINE
from tests.soundness.test_zero_trip_ranks import tried

LISTED: Final = sorted(SIZED)
BATCH: Final = 10


@pytest.mark.parametrize("first", range(0, len(LISTED), BATCH))
def test_listed_operators_are_inferred(first: int) -> None:
    """No size is wrong, with declared sizes, weights and elements of every kind."""
    assert not [text for operator in LISTED[first : first + BATCH] for text in tried(operator, 8, sized=True)[1]]


# Bodies of several nodes

STEPS: Final = (
    "Relu({v})",
    "Add({v}, bias)",
    "Add({v}, {u})",
    "Mul({u}, {v})",
    "MatMul({v}, square)",
    "Concat <axis = 1> ({v}, {u})",
    "Concat <axis = 0> ({v}, {u})",
    "Slice({v}, zero, one, axis)",
    "Slice({v}, at, next, zero)",
    "Slice({v}, zero, two)",
    "Gather <axis = 0> ({v}, at)",
    "Gather <axis = 1> ({v}, picks)",
    "Reshape({v}, keep)",
    "Reshape({v}, sizes)",
    "Expand({v}, ones)",
    "ReduceSum({v}, axis)",
    "ReduceMax <axes = [0]> ({v})",
    "Transpose ({v})",
    "Softmax({v})",
    "Where(flag, {v}, {u})",
    "Max({u}, {v})",
    "Identity(x)",
    "LayerNormalization({v}, bias)",
    "Gemm <transB = 1> ({v}, square, bias)",
    "Clip({v})",
    "Flatten({v})",
    "Reshape({v}, pair)",
    "Reshape({v}, four)",
    "ReduceMean <axes = [-1], keepdims = 1> ({v})",
    "Dropout({v})",
    "Tile({v}, ones)",
    "ConstantOfShape(keep_four)",
)
"""Values of rank 2; an operator that is not listed among them."""

BEFORE: Final = (
    "x = Identity(x0)",
    "x = Relu(x0)",
    "w = Shape(x0) x = Reshape(x0, w)",
    'rows = Loop (trips, "") <body = inner (int64 j, bool p) => (bool q, float[] r) '
    "{ q = Identity(p) r = ReduceMax <axes = [0], keepdims = 0> (x0) }> x = Concat <axis = 0> (x0, rows)",
)
"""The outer value that the body reads: `x`."""

DECLARED: Final = ("float[]", "float[?, ?]", "float[?, 4]", "float[p, 4]", "float[4, ?]", "float[N, 4]")


def drawn(seed: int) -> str:
    """A loop over `trips` with a random body."""
    rng = random.Random(seed)
    values, lines = ["h", "x", "square"], []
    for k in range(rng.randint(1, 5)):
        step = rng.choice(STEPS).format(v=rng.choice(values[-2:]), u=rng.choice(values))
        lines.append(f"s{k} = {step}")
        values.append(f"s{k}")
    outputs = [rng.choice(values[3:]) for _ in range(2)]
    before = rng.choice(BEFORE)
    named = " ".join(f"o{k} = Identity({name})" for k, name in enumerate(outputs))
    return f"""<ir_version: 8, opset_import: ["" : 17]>
    net (float[N, {rng.choice(("4", "K"))}] x0, float[N, 4] start, int64 trips, bool flag)
      => (float[] last, float[] a, float[] b)
    <float[4, 4] square = {{{", ".join(["0"] * 16)}}}, float[4] bias = {{0, 0, 0, 0}}, int64[1] zero = {{0}},
     int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] axis = {{1}}, int64[3] picks = {{0, 0, 0}},
     int64[2] keep = {{0, -1}}, int64[2] ones = {{1, 1}}, int64[2] pair = {{-1, 2}}, int64[2] four = {{4, -1}},
     int64[2] keep_four = {{2, 4}}>
    {{
      {before}
      last, a, b = Loop (trips, "", start) <body = body (int64 i, bool c, {rng.choice(DECLARED)} h)
        => (bool d, float[] g, {rng.choice(DECLARED)} o0, {rng.choice(DECLARED)} o1) {{
        d = Identity(c) g = Identity(h) at = Unsqueeze(i, zero) next = Add(at, one) sizes = Shape(x)
        {" ".join(lines)} {named}
      }}>
    }}"""


def wrong(seeds: Sequence[int]) -> tuple[list[str], int]:
    """Claims that a run contradicts, and how many runs without a trip there were."""
    found, runs = [], 0
    for seed in seeds:
        text = drawn(seed)
        result = absint.analyze(parser.parse_model(text))
        for trips in (0, 2):
            for n in (0, 1, 4, 6):
                try:
                    shown = Runs(parser.parse_model(text), result, {"trips": np.array(trips), "flag": np.array(True)})
                    problems = shown.wrong({"N": n, "K": 4})
                except AssertionError:
                    raise
                except Exception:  # onnxruntime refuses the model or the sizes
                    continue
                runs += trips == 0
                found += [f"seed {seed}, N = {n}, {trips} trips: {problem}" for problem in problems]
    return found, runs


def test_random_bodies() -> None:
    found, runs = wrong(range(60))
    assert not found, "\n".join(found)
    assert runs > 60


def test_sizes_that_inference_finds_and_that_it_does_not() -> None:
    """A weight gives a size, a shape that is computed none."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[N, 4] x, int64 trips) => (float[] a, float[] b, float[] c)
    <float[4, 4] square = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}>
    {
      a, b, c = Loop (trips, "") <body = body (int64 i, bool go) => (bool on, float[] p, float[] q, float[] r) {
        on = Identity(go) p = MatMul(x, square) k = Shape(x) q = Reshape(x, k) r = Tile(x, k)
      }>
    }"""
    result = absint.analyze(parser.parse_model(text))
    shapes = [str(result.shapes[name]) for name in "abc"]
    assert shapes[0] == "[max(trips, 0), ite(trips >= 1, N, 0), 4]"
    assert shapes[1] == "[max(trips, 0), ite(trips >= 1, N, 0), ite(trips >= 1, 4, 0)]"
    assert shapes[2] == "[max(trips, 0), ite(trips >= 1, N**2, _d1), ite(trips >= 1, 16, _d2)]"


@pytest.mark.parametrize(
    "body",
    [
        "k = Shape(w) z = Reshape(w, k)",  # inference passes sizes that are constants on as data
        "k = Identity(at) z = Slice(w, k, at)",  # an optimiser makes a constant of k
        "z = Range(a, b, d)",  # inference counts 1 in float, the kernel 2 in double
    ],
)
def test_sizes_that_some_runs_find(body: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> net (int64 trips) => (float[] y)
    <float[2, 2] w = {{1, 2, 3, 4}}, int64[1] at = {{1}}, float a = {{0.1}}, float b = {{0.6}}, float d = {{0.5}}>
    {{ y = Loop (trips, "") <body = body (int64 i, bool go) => (bool on, float[] z) {{
      on = Identity(go) {body} }}> }}"""
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for trips in (0, 2):
        assert not Runs(model, data={"trips": trips}).wrong({})
    shape = absint.analyze(model).shapes["y"]
    assert shape.is_top or not any(d.is_concrete for d in shape.substitute({"trips": 0}).dims[1:])


@pytest.mark.parametrize(("opset", "rank", "claimed"), [(11, 1, None), (13, 1, None), (14, 4, 4), (21, 4, 4)])
def test_the_rank_of_a_reshape_to_computed_sizes(opset: int, rank: int, claimed: int | None) -> None:
    """Inference finds it from the length of the target since version 14."""
    model = parsed(
        "G (int32[1, 1] x, int64[3] s, int64 m) => (all) "
        "<bool c = {1}> { all = Loop(m, c) "
        "<body = B (int64 i, bool k) => (bool k2, y) { k2 = Identity(k) y = Reshape(x, s) }> }",
        opset,
    )
    feeds = {"x": np.ones((1, 1), np.int32), "s": np.ones(3, np.int64), "m": np.array(0)}
    ok, (found,) = ENGINE.run(model.SerializeToString(), feeds)
    assert ok
    assert found.shape == (0,) * rank
    assert absint.analyze(model).shapes["all"].rank == claimed
