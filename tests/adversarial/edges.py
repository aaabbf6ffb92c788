"""Axes of size 0 and 1, reductions of nothing, and rank 0."""

from typing import Final

from tests.adversarial.case import Theme, case

PAIR: Final = "N M: 0 0, 0 3, 3 0, 1 1, 2 5"

EDGES: Final[Theme] = {
    "sum_of_rows": case("(float[N, M] x) => (z) <int64[1] a = {1}> {z = ReduceSum<keepdims = 0>(x, a)}", PAIR),
    "sum_kept": case("(float[N, M] x) => (z) <int64[1] a = {0}> {z = ReduceSum(x, a)}", PAIR),
    "sum_of_all": case("(float[N, M] x) => (z) {z = ReduceSum<keepdims = 0>(x)}", PAIR),
    "sum_over_no_axes": case(
        "(float[N, M] x) => (z) <int64[0] a = {}> {z = ReduceSum<noop_with_empty_axes = 1>(x, a)}", PAIR
    ),
    "best_index": case("(float[N, M] x) => (z) {z = ArgMax<axis = 1, keepdims = 0>(x)}", "N M: 0 3, 1 1, 2 5"),
    "mean_and_centre": case(
        "(float[N, M] x) => (z) <int64[1] a = {1}> {m = ReduceMean(x, a) z = Sub(x, m)}", "N M: 0 3, 1 1, 2 5"
    ),
    "softmax": case("(float[N, M] x) => (z) {z = Softmax(x)}", "N M: 0 3, 1 1, 2 5"),
    "product_over_nothing": case(
        "(float[N, K] x, float[K, M] y) => (z) {z = MatMul(x, y)}", "N K M: 0 2 3, 2 3 0, 1 1 1, 2 3 5"
    ),
    "product_of_vectors": case("(float[N] x, float[M] y) => (z) {z = MatMul(x, y)}", "N M: 1 1, 4 4"),
    "vector_times_matrix": case("(float[K] x, float[L, M] y) => (z) {z = MatMul(x, y)}", "K L M: 1 1 3, 4 4 2"),
    "scalar_of_one": case("(float[N] x) => (z) <int64[1] a = {0}> {s = Squeeze(x, a) z = Exp(s)}", "N: 1"),
    "identity_matrix": case("(float[N, M] x) => (z) {z = EyeLike(x)}", PAIR),
    "lower_triangle": case("(float[N, M] x) => (z) {z = Trilu<upper = 0>(x)}", "N M: 1 1, 2 5, 5 2"),
    "einsum_trace_like": case(
        '(float[N, M] x, float[M, K] y) => (z) {z = Einsum<equation = "ij,jk->ik">(x, y)}', "N M K: 2 3 4, 1 1 1"
    ),
    "einsum_outer": case('(float[N] x, float[M] y) => (z) {z = Einsum<equation = "i,j->ij">(x, y)}', "N M: 2 3, 1 1"),
    "normalised": case(
        "(float[N, C] x, float[C] s, float[C] b) => (z) {z = LayerNormalization(x, s, b)}", "N C: 1 2, 4 3"
    ),
    "last_of_one": case("(float[N, 1] x) => (z) <int64[2] t = {3, 4}> {z = Expand(x, t)}", "N: 1, 3"),
}
