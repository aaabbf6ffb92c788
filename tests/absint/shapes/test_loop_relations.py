"""Loops whose sizes data decide: relations that hold in every run, written down before, and near misses that do not.

A bool of `f` and one of `g` decide on each trip; x has N rows, y has M, and w is the row that is appended.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto

from absint import analyze
from absint.lattices.text import parse_relation
from absint.shapes.loops.monotone import ADDED, SMALLER
from tests.models import parsed
from tests.soundness.random_relations import held

APPEND_OR_NOT = """
(bool[T] f, float[N] x, float[1] w) => (float[A] a) {
    t = Size (f)
    a = Loop (t, , x) <body = trip (int64 i, bool c, float[P] p) => (bool c_next, float[Q] q) {
        c_next = Identity (c)
        here = Gather (f, i)
        q = If (here) <
            then_branch = yes () => (float[Q] q1) { q1 = Concat <axis = 0> (p, w) },
            else_branch = no () => (float[Q] q2) { q2 = Identity (p) }
        >
    }>
}
"""


def two(then: str, other: str) -> str:
    """Two values, p from x and q from y: what they become in either case."""
    return f"""
    (bool[T] f, bool[T] g, float[N] x, float[M] y, float[1] w) => (float[A] a, float[B] b) {{
        t = Size (f)
        first = Constant <value_ints = [1]> ()
        zero = Constant <value_ints = [0]> ()
        end = Constant <value_ints = [9223372036854775807]> ()
        less = Constant <value_ints = [-1]> ()
        a, b = Loop (t, , x, y) <body = trip (int64 i, bool c, float[P] p, float[Q] q)
                => (bool c_next, float[P1] p_next, float[Q1] q_next) {{
            c_next = Identity (c)
            here = Gather (f, i)
            there = Gather (g, i)
            ww = Concat <axis = 0> (w, w)
            p_next, q_next = If (here) <
                then_branch = yes () => (float[P1] p1, float[Q1] q1) {{ {then} }},
                else_branch = no () => (float[P2] p2, float[Q2] q2) {{ {other} }}
            >
        }}>
    }}
    """


@dataclass(frozen=True)
class Related:
    """A model, what holds, and what some run breaks."""

    model: str
    holds: tuple[str, ...]
    breaks: tuple[str, ...]


P_GROWS, P_STAYS = "p1 = Concat <axis = 0> (p, w)", "p1 = Identity (p)"
Q_GROWS, Q_STAYS = "q1 = Concat <axis = 0> (q, w)", "q1 = Identity (q)"


def else_(text: str) -> str:
    return text.replace("p1", "p2").replace("q1", "q2")


def nested(yes: str, no: str) -> str:
    """A second choice, by g, inside of the else branch."""
    return f"""
    p2, q2 = If (there) <
        then_branch = inner () => (float[P1] p1, float[Q1] q1) {{ {yes} }},
        else_branch = other () => (float[P3] p3, float[Q3] q3) {{ {no.replace("p1", "p3").replace("q1", "q3")} }}
    >
    """


RELATED = {
    "a row is appended or not": Related(
        APPEND_OR_NOT,
        ("N <= a[0]", "a[0] <= N + T", "T == 0 -> a[0] == N"),
        ("a[0] == N", "a[0] < N + T or T == 0", "a[0] > N or T == 0", "a[0] <= N + T - 1"),
    ),
    "two grow in turn": Related(
        two(f"{P_GROWS} {Q_STAYS}", else_(f"{P_STAYS} {Q_GROWS}")),
        ("a[0] + b[0] == N + M + T", "a[0] >= N", "b[0] >= M", "b[0] <= M + T", "a[0] <= N + T"),
        ("a[0] + b[0] == N + M", "a[0] - N <= b[0] - M", "a[0] == N + T", "a[0] - b[0] == N - M"),
    ),
    "the second grows only with the first": Related(
        two(f"{P_GROWS} {Q_GROWS}", else_(nested(f"{P_GROWS} {Q_STAYS}", f"{P_STAYS} {Q_STAYS}"))),
        ("b[0] - M <= a[0] - N", "a[0] <= N + T", "a[0] - N <= b[0] - M + T"),
        ("a[0] - N <= b[0] - M", "a[0] + b[0] <= N + M + T", "b[0] == M"),
    ),
    "one of both grows, or none": Related(
        two(f"{P_GROWS} {Q_STAYS}", else_(nested(f"{P_STAYS} {Q_GROWS}", f"{P_STAYS} {Q_STAYS}"))),
        ("a[0] + b[0] <= N + M + T", "a[0] + b[0] >= N + M", "a[0] >= N"),
        ("a[0] + b[0] == N + M + T", "a[0] + b[0] <= N + M + T - 1", "a[0] <= N"),
    ),
    "one grows by two, or the other by one": Related(
        two(f"p1 = Concat <axis = 0> (p, ww) {Q_STAYS}", else_(f"{P_STAYS} {Q_GROWS}")),
        ("a[0] + 2*b[0] == N + 2*M + 2*T", "a[0] <= N + 2*T", "b[0] <= M + T", "a[0] + b[0] >= N + M + T"),
        ("a[0] + b[0] == N + M + T", "2*a[0] + b[0] == 2*N + M + 2*T", "a[0] <= N + T"),
    ),
    "the last row goes, or not": Related(
        two(f"p1 = Slice (p, zero, less, zero) {Q_STAYS}", else_(f"{P_STAYS} {Q_GROWS}")),
        ("a[0] <= N", "a[0] >= N - T", "b[0] >= M", "a[0] + b[0] <= N + M + T"),
        ("a[0] >= N", "a[0] == N - T", "a[0] + b[0] == N + M"),
    ),
    "each grows by a flag of its own": Related(
        """
        (bool[T] f, bool[T] g, float[N] x, float[M] y, float[1] w) => (float[A] a, float[B] b) {
            t = Size (f)
            a, b = Loop (t, , x, y) <body = trip (int64 i, bool c, float[P] p, float[Q] q)
                    => (bool c_next, float[P1] p_next, float[Q1] q_next) {
                c_next = Identity (c)
                here = Gather (f, i)
                there = Gather (g, i)
                p_next = If (here) <
                    then_branch = yes () => (float[P1] p1) { p1 = Concat <axis = 0> (p, w) },
                    else_branch = no () => (float[P2] p2) { p2 = Identity (p) }
                >
                q_next = If (there) <
                    then_branch = yes2 () => (float[Q1] q1) { q1 = Concat <axis = 0> (q, w) },
                    else_branch = no2 () => (float[Q2] q2) { q2 = Identity (q) }
                >
            }>
        }
        """,
        ("a[0] + b[0] <= N + M + 2*T", "a[0] - N <= b[0] - M + T", "b[0] >= M"),
        ("a[0] + b[0] <= N + M + T", "a[0] - N == b[0] - M", "a[0] - N <= b[0] - M"),
    ),
    "three grow in turn": Related(
        """
        (bool[T] f, bool[T] g, float[N] x, float[M] y, float[1] w) => (float[A] a, float[B] b, float[C] d) {
            t = Size (f)
            a, b, d = Loop (t, , x, y, w) <body = trip (int64 i, bool c, float[P] p, float[Q] q, float[R] r)
                    => (bool c_next, float[P1] p_next, float[Q1] q_next, float[R1] r_next) {
                c_next = Identity (c)
                here = Gather (f, i)
                there = Gather (g, i)
                p_next, q_next, r_next = If (here) <
                    then_branch = yes () => (float[P1] p1, float[Q1] q1, float[R1] r1) {
                        p1 = Concat <axis = 0> (p, w)
                        q1 = Identity (q)
                        r1 = Identity (r)
                    },
                    else_branch = no () => (float[P2] p2, float[Q2] q2, float[R2] r2) {
                        p2 = Identity (p)
                        q2, r2 = If (there) <
                            then_branch = inner () => (float[Q3] q3, float[R3] r3) {
                                q3 = Concat <axis = 0> (q, w)
                                r3 = Identity (r)
                            },
                            else_branch = other () => (float[Q4] q4, float[R4] r4) {
                                q4 = Identity (q)
                                r4 = Concat <axis = 0> (r, w)
                            }
                        >
                    }
                >
            }>
        }
        """,
        ("a[0] + b[0] + d[0] == N + M + 1 + T", "a[0] + b[0] <= N + M + T", "d[0] >= 1", "d[0] <= T + 1"),
        ("a[0] + b[0] == N + M + T", "a[0] + b[0] + d[0] == N + M + T", "d[0] == 1"),
    ),
    "some of K rows are appended": Related(
        """
        (bool[T, K] f, float[N] x, float[K] v) => (float[A] a) {
            t = Shape <start = 0, end = 1> (f)
            a = Loop (t, , x) <body = trip (int64 i, bool c, float[P] p) => (bool c_next, float[P1] p_next) {
                c_next = Identity (c)
                here = Gather (f, i)
                some = Compress <axis = 0> (v, here)
                p_next = Concat <axis = 0> (p, some)
            }>
        }
        """,
        ("a[0] >= N", "a[0] <= N + K*T", "K == 0 -> a[0] == N"),
        ("a[0] <= N + T", "a[0] <= N + K", "a[0] == N + K*T", "a[0] >= N + T"),
    ),
    "up to a limit": Related(
        """
        (bool[T] f, float[N] x, float[K] v, float[1] w) => (float[A] a) {
            t = Size (f)
            most = Shape (v)
            a = Loop (t, , x) <body = trip (int64 i, bool c, float[P] p) => (bool c_next, float[P1] p_next) {
                c_next = Identity (c)
                here = Gather (f, i)
                size = Shape (p)
                few = Less (size, most)
                p_next = If (here) <
                    then_branch = yes () => (float[P1] p1) {
                        p1 = If (few) <
                            then_branch = inner () => (float[P2] p2) { p2 = Concat <axis = 0> (p, w) },
                            else_branch = other () => (float[P3] p3) { p3 = Identity (p) }
                        >
                    },
                    else_branch = no () => (float[P4] p4) { p4 = Identity (p) }
                >
            }>
        }
        """,
        ("a[0] >= N", "a[0] <= max(N, K)", "a[0] <= N + T", "N >= K -> a[0] == N"),
        ("a[0] <= K", "a[0] <= max(N, K) - 1 or T == 0", "a[0] <= N"),
    ),
    "until a flag says stop": Related(
        """
        (bool[T] f, bool[T] g, float[N] x, float[1] w) => (float[A] a, float[S] s) {
            t = Size (f)
            go = Constant <value_int = 1> ()
            more = Cast <to = 9> (go)
            a, s = Loop (t, more, x) <body = trip (int64 i, bool c, float[P] p)
                    => (bool c_next, float[P1] p_next, float[1] one) {
                c_next = Gather (f, i)
                here = Gather (g, i)
                one = Identity (w)
                p_next = If (here) <
                    then_branch = yes () => (float[P1] p1) { p1 = Concat <axis = 0> (p, w) },
                    else_branch = no () => (float[P2] p2) { p2 = Identity (p) }
                >
            }>
        }
        """,
        ("a[0] >= N", "a[0] <= N + s[0]", "a[0] <= N + T", "s[0] <= T"),
        ("a[0] == N + s[0]", "a[0] <= N + s[0] - 1", "s[0] == T"),
    ),
    "a loop in a loop": Related(
        """
        (bool[T, K] f, float[N] x, float[1] w) => (float[A] a) {
            t = Shape <start = 0, end = 1> (f)
            a = Loop (t, , x) <body = trip (int64 i, bool c, float[P] p) => (bool c_next, float[P1] p_next) {
                c_next = Identity (c)
                row = Gather (f, i)
                k = Size (row)
                p_next = Loop (k, , p) <body = inner (int64 j, bool d, float[Q] q) => (bool d_next, float[Q1] q_next) {
                    d_next = Identity (d)
                    here = Gather (row, j)
                    q_next = If (here) <
                        then_branch = yes () => (float[Q1] q1) { q1 = Concat <axis = 0> (q, w) },
                        else_branch = no () => (float[Q2] q2) { q2 = Identity (q) }
                    >
                }>
            }>
        }
        """,
        ("a[0] >= N", "a[0] <= N + K*T"),
        ("a[0] <= N + K", "a[0] <= N + T", "a[0] == N + K*T"),
    ),
    "counted by a Scan": Related(
        """
        (bool[T] f) => (float[A] a, float[B] b) {
            zero = Constant <value_ints = [0]> ()
            one = Constant <value_ints = [1]> ()
            p, q = Scan (zero, one, f) <num_scan_inputs = 1, body = trip (int64[1] r, int64[1] s, bool here)
                    => (int64[1] r_next, int64[1] s_next) {
                step = Constant <value_ints = [1]> ()
                r_next, s_next = If (here) <
                    then_branch = yes () => (int64[1] r1, int64[1] s1) {
                        r1 = Add (r, step)
                        s1 = Identity (s)
                    },
                    else_branch = no () => (int64[1] r2, int64[1] s2) {
                        r2 = Identity (r)
                        s2 = Add (s, step)
                    }
                >
            }>
            a = ConstantOfShape (p)
            b = ConstantOfShape (q)
        }
        """,
        ("a[0] + b[0] == T + 1", "a[0] <= T", "b[0] >= 1"),
        ("a[0] == T", "b[0] == 1", "a[0] + b[0] == T", "a[0] <= b[0]"),
    ),
    "one gives to the other": Related(
        two(
            "p1 = Slice (p, zero, less, zero) tail = Slice (p, less, end, zero) q1 = Concat <axis = 0> (q, tail)",
            else_(f"{P_STAYS} {Q_STAYS}"),
        ),
        ("a[0] + b[0] == N + M", "a[0] <= N", "b[0] >= M", "b[0] <= M + T"),
        ("a[0] + b[0] == N + M + T", "b[0] == M + T", "a[0] == N"),
    ),
}


def run(model: ModelProto, sizes: dict[str, int], seed: int) -> dict[str, int]:
    """The sizes of a run with flags drawn at random: of the inputs, and of outputs by `name[0]`."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
        is_flag = info.type.tensor_type.elem_type == BOOL
        feeds[info.name] = rng.random(shape) < rng.choice([0, 0.5, 1]) if is_flag else np.zeros(shape, np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [info.name for info in model.graph.output]
    found = dict(zip(names, session.run(names, feeds), strict=True))
    return {**sizes, **{f"{name}[0]": value.shape[0] for name, value in found.items()}}


BOOL = 9


RUNS = [dict(zip("NMKT", numbers, strict=True)) for numbers in product((0, 1, 4), (0, 3), (0, 2, 5), (1, 2, 5))]


@pytest.mark.parametrize("name", RELATED)
def test_what_is_written_down_is_true(name: str) -> None:
    """All relations that hold do so in every run, and some run breaks each of the others."""
    model, unbroken = parsed(RELATED[name].model), set(RELATED[name].breaks)
    for seed, sizes in enumerate(RUNS):
        found = {re.sub(r"\[0\]", "_0", key): size for key, size in run(model, sizes, seed).items()}
        for text in (*RELATED[name].holds, *RELATED[name].breaks):
            is_true = parse_relation(text.replace("[0]", "_0")).evaluate(found)
            assert is_true or text in RELATED[name].breaks, (text, found)
            unbroken -= set() if is_true else {text}
    assert not unbroken


@pytest.mark.parametrize("name", RELATED)
def test_what_holds_is_proved(name: str) -> None:
    result = analyze(parsed(RELATED[name].model))
    result.verify()
    open_ = [text for text in RELATED[name].holds if result.prove(text).verdict.name != "PROVED"]
    assert not open_


@pytest.mark.parametrize("name", RELATED)
def test_a_near_miss_is_not_proved(name: str) -> None:
    result = analyze(parsed(RELATED[name].model))
    wrong = [text for text in RELATED[name].breaks if result.prove(text).verdict.name == "PROVED"]
    assert not wrong


def test_random_loops() -> None:
    """What a random loop states holds for random flags; and it states something."""
    stated = sum((held(seed) for seed in range(30)), Counter[str]())
    assert stated[ADDED] >= 60
    assert stated[SMALLER] >= 15
