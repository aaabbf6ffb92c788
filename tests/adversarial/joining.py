"""Concat, Split, Tile: sums of sizes, chunks of which the last is smaller, and empty parts."""

from typing import Final

from tests.adversarial.case import Theme, case

JOINING: Final[Theme] = {
    "two_symbols": case("(float[M] x, float[N] y) => (z) {z = Concat<axis = 0>(x, y)}", "M N: 0 0, 0 3, 2 5"),
    "with_itself": case("(float[N] x) => (z) {z = Concat<axis = 0>(x, x, x)}", "N: 0, 1, 4"),
    "symbol_and_constant": case("(float[5, 2] x, float[N, 2] y) => (z) {z = Concat<axis = 0>(x, y)}", "N: 0, 1, 7"),
    "last_axis": case(
        "(float[batch, seq1] x, float[batch, seq2] y) => (z) {z = Concat<axis = -1>(x, y)}",
        "batch seq1 seq2: 3 5 7, 0 1 2, 1 0 0",
    ),
    "other_axes_must_agree": case(
        "(float[A, B] x, float[C, D] y) => (z, u) {z = Concat<axis = 1>(x, y) u = Relu(x)}", "A B C D: 2 3 2 5, 0 1 0 4"
    ),
    "empty_part": case("(float[N, 3] x) => (z) <float[0, 3] e = {}> {z = Concat<axis = 0>(e, x)}", "N: 0, 4"),
    "cache_grows": case(
        """(float[B, 2, past, 4] cache, float[B, 2, seq, 4] new) => (present, again)
           {present = Concat<axis = 2>(cache, new) again = Concat<axis = 2>(present, new)}""",
        "B past seq: 1 0 1, 2 7 3",
    ),
    "split_in_two": case("(float[N] x) => (a, b) {a, b = Split<num_outputs = 2>(x)}", "N: 2, 3, 4, 7"),
    "split_in_three": case("(float[N] x) => (a, b, c) {a, b, c = Split<num_outputs = 3>(x)}", "N: 3, 5, 7, 9"),
    "split_evenly": case("(float[N, M] x) => (a, b) {a, b = Split<axis = 1>(x)}", "N M: 1 2, 0 4, 3 6", opset=13),
    "split_by_sizes": case("(float[N] x) => (a, b) <int64[2] s = {2, 3}> {a, b = Split(x, s)}", "N: 5"),
    "split_off_an_empty_part": case("(float[5, N] x) => (a, b) <int64[2] s = {5, 0}> {a, b = Split(x, s)}", "N: 0, 2"),
    "split_and_join": case(
        "(float[N, 3] x) => (z) {a, b = Split<num_outputs = 2>(x) z = Concat<axis = 0>(b, a)}", "N: 2, 3, 7"
    ),
    "split_at_half": case(
        """(float[N] x) => (a, b) <int64[1] two = {2}>
           {n = Shape(x) h = Div(n, two) r = Sub(n, h) s = Concat<axis = 0>(h, r) a, b = Split(x, s)}""",
        "N: 2, 3, 7",
    ),
    "gates": case(
        """(float[N, C] x) => (z) {a, b = Split<axis = 1, num_outputs = 2>(x) s = Sigmoid(b) z = Mul(a, s)}""",
        "N C: 1 2, 3 8",
    ),
    "tiled": case("(float[N] x) => (z) <int64[1] r = {3}> {z = Tile(x, r)}", "N: 0, 1, 5"),
    "tiled_away": case("(float[N, M] x) => (z) <int64[2] r = {2, 0}> {z = Tile(x, r)}", "N M: 2 3, 0 1"),
    "tiled_by_another": case("(float[N] x, float[M] y) => (z) {r = Shape(y) z = Tile(x, r)}", "N M: 2 3, 0 5, 5 0"),
    "squares_of_tiles": case("(float[N] x) => (z) {r = Shape(x) z = Tile(x, r)}", "N: 0, 1, 3"),
    "sums_in_any_order": case(
        """(float[N] x, float[M] y) => (s) {a = Concat<axis = 0>(x, y) b = Concat<axis = 0>(y, x) s = Add(a, b)}""",
        "N M: 0 0, 2 3, 5 1",
    ),
}
