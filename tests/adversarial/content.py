"""Sizes that data decide: bounded, never named after an input, and equal where they are one."""

from typing import Final

from tests.adversarial.case import Theme, case

CONTENT: Final[Theme] = {
    "positions_of_nonzero": case("(float[N, M] x) => (z) {z = NonZero(x)}", "N M: 0 3, 2 5"),
    "same_count_twice": case("(float[N] x) => (s) {a = NonZero(x) b = Abs(a) s = Add(a, b)}", "N: 0, 5"),
    "two_counts": case(
        "(float[N] x, float[N] y) => (u, v) {u = NonZero(x) v = NonZero(y) w = Concat<axis = 1>(u, v)}", "N: 0, 5"
    ),
    "compressed": case("(float[N, M] x, bool[N] c) => (z) {z = Compress<axis = 0>(x, c)}", "N M: 0 3, 4 2"),
    "unique": case("(int64[N] x) => (u, i, j, n) {u, i, j, n = Unique(x)}", "N: 1, 6"),
    "gathered_positions": case(
        """(float[N] x) => (z) {n = NonZero(x) a = Constant<value_ints = [0]>() p = Squeeze(n, a) z = Gather(x, p)}""",
        "N: 1, 6",
    ),
    "target_by_data": case(
        "(float[N] x, int64[2] t) => (z) {z = Reshape(x, t)}", "N: 6", {"t": [2, 3]}, {"t": [-1, 6]}, {"t": [0, 1]}
    ),
    "rank_by_data": case(
        "(float[N] x, int64[R] t) => (z) {z = Reshape(x, t)}", "N R: 6 1, 6 1", {"t": [6]}, {"t": [-1]}
    ),
    "length_by_data": case(
        "(int64 n) => (z) {a = Constant<value_int = 0>() d = Constant<value_int = 1>() z = Range(a, n, d)}",
        ":",
        {"n": 0},
        {"n": 5},
        {"n": -2},
    ),
    "best_by_data": case("(float[N] x, int64[1] k) => (v, i) {v, i = TopK(x, k)}", "N: 5", {"k": [0]}, {"k": [5]}),
    "boxes": case(
        """(float[B, K, 4] x, float[B, C, K] s) => (z)
           {n = Constant<value_int = 3>() z = NonMaxSuppression(x, s, n)}""",
        "B K C: 1 5 2, 2 3 1",
    ),
    "twice_the_count": case("(float[N] x) => (z) {n = NonZero(x) z = Concat<axis = 1>(n, n)}", "N: 0, 5"),
    "slice_by_data": case(
        "(float[N] x, int64[1] b, int64[1] e) => (z) {z = Slice(x, b, e)}",
        "N: 0, 6",
        {"b": [1], "e": [4]},
        {"b": [-9], "e": [9]},
    ),
}
