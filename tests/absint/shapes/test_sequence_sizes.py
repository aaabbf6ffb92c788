"""Sizes of the elements of sequences, of what is put together from them, and of what loops build, against runs."""

from __future__ import annotations

from itertools import product
from typing import Final

import numpy as np
import pytest

import absint
from absint.questions.proofs.proof import Verdict
from tests.models import parsed
from tests.runs import Runs

CUT: Final = "k = Constant<value = int64 {4}>() s = SplitToSequence<axis = 0>(x, k)"
BUILD: Final = (
    "(int64 i, bool go, seq(float[N, 3]) v) => (bool on, seq(float[N, 3]) w)"
    " { on = Identity(go) r = Relu(x) w = SequenceInsert(v, r) }"
)
MODELS: Final[dict[str, tuple[str, str, list[str], list[str]]]] = {
    "the second part": (
        f"(float[L, 3] x) => (y) {{ {CUT} i = Constant<value = int64 {{1}}>() y = SequenceAt(s, i) }}",
        "[min(L - 4, 4), 3]",
        ["y[0] <= 4", "y[0] <= L - 4"],
        ["y[0] == 4"],
    ),
    "parts of an unknown size": (
        "(float[L, 3] x, float[K] w) => (y) { n = Shape(w) e = Constant<value = int64[0] {}>() k = Reshape(n, e)"
        " i = Constant<value = int64 {0}>() s = SplitToSequence<axis = 0>(x, k) y = SequenceAt(s, i) }",
        "[min(K, L), 3]",
        ["y[0] <= L", "y[0] <= K"],
        ["y[0] == L", "y[0] == K"],
    ),
    "the last part": (
        f"(float[L, 3] x) => (y) {{ {CUT} i = Constant<value = int64 {{-1}}>() y = SequenceAt(s, i) }}",
        "[(L + 3) % 4 + 1, 3]",
        ["y[0] == L - 4*((L - 1)//4)"],
        ["y[0] == 4", "y[0] == L"],
    ),
    "their number": (
        f"(float[L, 3] x) => (y) {{ {CUT} n = SequenceLength(s) f = Constant<value = int64[1] {{1}}>()"
        " r = Reshape(n, f) v = Constant<value = float {0.0}>() y = Expand(v, r) }",
        "[(L + 3)//4]",
        ["4*y[0] >= L"],
        ["4*y[0] == L"],
    ),
    "put together": (f"(float[L, 3] x) => (y) {{ {CUT} y = ConcatFromSequence<axis = 0>(s) }}", "[L, 3]", [], []),
    "on a new axis": (
        "(float[L, 3] x) => (y) { k = Constant<value = int64 {1}>() s = SplitToSequence<axis = 0>(x, k)"
        " y = ConcatFromSequence<axis = 0, new_axis = 1>(s) }",
        "[L, 1, 3]",
        [],
        [],
    ),
    "mapped": (
        f"(float[L, 3] x) => (y) {{ {CUT} t = SequenceMap(s) <body = b (float[A, 3] p) => (float[A, 3] r)"
        " { r = Relu(p) }> y = ConcatFromSequence<axis = 0>(t) }",
        "[L, 3]",
        ["y[0] == L"],
        ["y[0] <= 4"],
    ),
    "mapped and turned": (
        f"(float[L, 3] x) => (y) {{ {CUT} t = SequenceMap(s) <body = b (float[A, 3] p) => (float[3, A] r)"
        " { r = Transpose(p) }> y = ConcatFromSequence<axis = 1>(t) }",
        "[3, L]",
        ["y[1] == L"],
        [],
    ),
    "mapped to twice as many": (
        f"(float[L, 3] x) => (y) {{ {CUT} t = SequenceMap(s) <body = b (float[A, 3] p) => (float[B, 3] r)"
        " { r = Concat<axis = 0>(p, p) }> y = ConcatFromSequence<axis = 0>(t) }",
        "[_d0, 3]",
        [],
        ["y[0] == L"],
    ),
    "mapped beside others": (
        f"(float[L, 3] x, float[M, 3] z) => (y) {{ {CUT} t = SplitToSequence<axis = 0>(z, k)"
        " u = SequenceMap(s, t) <body = b (float[A, 3] p, float[B, 3] q) => (float[B, 3] r) { r = Relu(q) }>"
        " y = ConcatFromSequence<axis = 0>(u) }",
        "[_d0, 3]",
        [],
        ["y[0] == M", "y[0] == L"],
    ),
    "the last window": (
        f"(float[L, 3] x) => (y) {{ {CUT} n = SequenceLength(s) y = Loop(n, , x) <body = b (int64 i, bool go,"
        " float[A, 3] v) => (bool on, float[B, 3] w) { on = Identity(go) w = SequenceAt(s, i) }> }",
        "[ite(L >= 1, (L + 3) % 4 + 1, L), 3]",
        ["y[0] == L - 4*((L - 1)//4) or L == 0"],
        ["y[0] == 4"],
    ),
    "built in a loop": (
        f"(float[N, 3] x) => (y) {{ m = Constant<value = int64 {{4}}>() e = SequenceEmpty() q = Loop(m, , e) <body = b"
        f" {BUILD}> y = ConcatFromSequence<axis = 0>(q) }}",
        "[4*N, 3]",
        [],
        [],
    ),
    "built and stacked": (
        f"(float[N, 3] x, int64 m) => (y) {{ e = SequenceEmpty() q = Loop(m, , e) <body = b {BUILD}>"
        " y = ConcatFromSequence<axis = 0, new_axis = 1>(q) }",
        "[m, N, 3]",
        ["y[1] == N"],
        ["y[0] == 4"],
    ),
    "put in front": (
        "(float[N, 3] x, float[M, 3] z) => (y) { s = SequenceConstruct(x, z) o = Constant<value = int64 {0}>()"
        " t = SequenceInsert(s, x, o) y = ConcatFromSequence<axis = 0>(t) }",
        "[M + 2*N, 3]",
        [],
        [],
    ),
}
"""The text, the shape of y, relations that hold, and others that some run refutes."""


@pytest.mark.parametrize("name", MODELS)
def test_sizes_of_sequences(name: str) -> None:
    text, shape, holding, tempting = MODELS[name]
    model = parsed(text)
    result = absint.analyze(model)
    assert str(result.shapes["y"]) == shape
    result.verify()
    for query in holding:
        assert result.prove(query).verdict is Verdict.PROVED, query
    for query in tempting:
        assert result.prove(query).verdict is not Verdict.PROVED, query
    runs = Runs(model, result, {"m": lambda shape, rng: rng.integers(1, 6, shape)})
    found = []
    for numbers in product((1, 3, 4, 5, 8, 11), repeat=len([one for one in result.symbols if one != "m"])):
        binding = dict(zip((one for one in result.symbols if one != "m"), numbers, strict=True))
        try:
            values = runs.run(binding)
        except Exception:  # no such part
            continue
        assert runs.wrong(binding, 0) == []
        found.append({**binding, "y": np.shape(values["y"])})
    assert len(found) >= 3
    for query in holding:
        assert all(eval(query, {}, run) for run in found), query
    for query in tempting:
        assert not all(eval(query, {}, run) for run in found), query
