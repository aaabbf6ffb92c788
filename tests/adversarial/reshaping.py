"""Reshape, Squeeze, Flatten and their kin: 0 copies, -1 divides, and tensors are empty."""

from typing import Final

from tests.adversarial.case import Theme, case

RESHAPING: Final[Theme] = {
    "zero_copies": case(
        "(float[N, M, 2] x) => (z) <int64[3] t = {0, 1, -1}> {z = Reshape(x, t)}", "N M: 2 3, 1 1, 5 2"
    ),
    "rows_of_empty": case("(float[N, 3] x) => (z) <int64[2] t = {-1, 3}> {z = Reshape(x, t)}", "N: 0, 1, 5"),
    "halves": case("(float[N] x) => (z) <int64[2] t = {-1, 2}> {z = Reshape(x, t)}", "N: 0, 2, 6"),
    "pairs_of_fours": case("(float[N, 4] x) => (z) <int64[2] t = {-1, 2}> {z = Reshape(x, t)}", "N: 0, 1, 5"),
    "two_symbols_in_halves": case(
        "(float[N, M] x) => (z) <int64[2] t = {2, -1}> {z = Reshape(x, t)}", "N M: 2 3, 3 4, 0 3"
    ),
    "rank_zero": case("(float[N] x) => (z) <int64[0] t = {}> {z = Reshape(x, t)}", "N: 1"),
    "into_ones": case("(float[N] x) => (z) <int64[3] t = {1, -1, 1}> {z = Reshape(x, t)}", "N: 0, 1, 4"),
    "zero_allowed": case("(float[N, 4] x) => (z) <int64[2] t = {0, 5}> {z = Reshape<allowzero = 1>(x, t)}", "N: 0"),
    "zero_copies_zero": case("(float[N, 4] x) => (z) <int64[3] t = {0, 2, 2}> {z = Reshape(x, t)}", "N: 0, 3"),
    "like_another": case(
        "(float[A, B] x, float[C, D] y) => (z) {t = Shape(y) z = Reshape(x, t)}", "A B C D: 2 6 3 4, 1 1 1 1, 5 2 2 5"
    ),
    "there_and_back": case(
        """(float[a, b, 2, 3] x) => (w) <int64[2] t = {-1, 6}, int64[1] six = {6}, int64[1] rest = {-1}>
           {y = Reshape(x, t) s = Shape<start = 0, end = 1>(x) u = Concat<axis = 0>(s, rest, six) w = Reshape(y, u)}""",
        "a b: 1 1, 2 5, 5 3",
    ),
    "split_heads": case(
        """(float[B, S, 12] x) => (z) <int64[4] t = {0, 0, 3, -1}>
           {y = Reshape(x, t) z = Transpose<perm = [0, 2, 1, 3]>(y)}""",
        "B S: 1 1, 2 7",
    ),
    "merge_heads": case(
        """(float[B, H, S, D] x) => (z) <int64[3] t = {0, 0, -1}>
           {y = Transpose<perm = [0, 2, 1, 3]>(x) z = Reshape(y, t)}""",
        "B H S D: 1 1 1 1, 2 3 5 4",
    ),
    "product_of_sizes": case(
        "(float[A, B, C] x) => (z) <int64[1] t = {-1}> {y = Reshape(x, t) z = Relu(y)}", "A B C: 0 2 3, 1 1 1, 2 3 5"
    ),
    "squeeze_all": case("(float[N, 1, M] x) => (z) {z = Squeeze(x)}", "N M: 2 3, 1 3, 1 1, 0 1"),
    "squeeze_named": case("(float[N, 1, M] x) => (z) <int64[1] a = {-2}> {z = Squeeze(x, a)}", "N M: 2 3, 1 1, 0 5"),
    "squeeze_a_symbol": case("(float[N, M] x) => (z) <int64[1] a = {0}> {z = Squeeze(x, a)}", "N M: 1 0, 1 7"),
    "unsqueeze_from_the_end": case("(float[N] x) => (z) <int64[2] a = {-1, 0}> {z = Unsqueeze(x, a)}", "N: 0, 4"),
    "flatten_at_the_start": case("(float[N, M] x) => (z) {z = Flatten<axis = 0>(x)}", "N M: 0 3, 2 5"),
    "flatten_at_the_end": case("(float[N, M] x) => (z) {z = Flatten<axis = 2>(x)}", "N M: 0 3, 2 5"),
    "flatten_from_the_end": case("(float[A, B, C] x) => (z) {z = Flatten<axis = -1>(x)}", "A B C: 2 3 5, 1 0 2"),
    "depth_to_space": case(
        "(float[N, C, H, W] x) => (z) {z = DepthToSpace<blocksize = 2>(x)}", "N C H W: 1 4 2 3, 2 8 1 1"
    ),
    "space_to_depth": case(
        "(float[N, C, H, W] x) => (z) {z = SpaceToDepth<blocksize = 2>(x)}", "N C H W: 1 1 2 4, 2 3 6 2"
    ),
    "element_count_as_rows": case(
        """(float[N, M] x) => (z) <int64[1] one = {1}, int64[1] a = {0}>
           {n = Size(x) u = Unsqueeze(n, a) t = Concat<axis = 0>(u, one) z = Reshape(x, t)}""",
        "N M: 2 3, 1 1, 5 2",
    ),
}
