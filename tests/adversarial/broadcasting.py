"""Sizes that broadcast: neither operand, nor the larger one, and 0 wins over 1."""

from typing import Final

from tests.adversarial.case import Theme, case

PAIR: Final = "N M: 1 1, 0 1, 1 0, 0 0, 1 5, 5 1, 5 5"
SHAPE_PAIR: Final = "N M: 1 1, 0 1, 1 5, 5 1, 5 5"

BROADCASTING: Final[Theme] = {
    "two_symbols": case("(float[N] x, float[M] y) => (z) {z = Add(x, y)}", PAIR),
    "zero_against_one": case("(float[N] x) => (z) <float[1] w = {1.0}> {z = Add(w, x)}", "N: 0, 1, 3"),
    "symbol_against_three": case("(float[N] x) => (z) <float[3] w = {1.0, 2.0, 3.0}> {z = Mul(x, w)}", "N: 1, 3"),
    "symbol_against_no_rows": case(
        "(float[N] x) => (z) {s = Constant<value_ints = [0]>() w = ConstantOfShape(s) z = Add(x, w)}", "N: 0, 1"
    ),
    "three_operands": case(
        "(bool[A] c, float[B] x, float[C] y) => (z) {z = Where(c, x, y)}",
        "A B C: 1 1 1, 1 5 5, 5 1 5, 5 5 1, 0 1 1, 1 0 1, 1 1 0, 5 5 5",
    ),
    "sum_of_three": case(
        "(float[A] x, float[B] y, float[C] w) => (z) {z = Sum(x, y, w)}", "A B C: 1 1 1, 1 5 1, 5 1 1, 0 1 1, 1 1 0"
    ),
    "outer_sum": case("(float[N, 1] x, float[1, M] y) => (z) {z = Add(x, y)}", "N M: 0 3, 3 0, 2 5, 1 1"),
    "expand_to_three": case("(float[N] x) => (z) {s = Constant<value_ints = [2, 3]>() z = Expand(x, s)}", "N: 1, 3"),
    "expand_to_a_smaller_shape": case(
        "(float[N, 3] x) => (z) {s = Constant<value_ints = [1]>() z = Expand(x, s)}", "N: 0, 1, 4"
    ),
    "expand_to_no_rows": case("(float[N] x) => (z) {s = Constant<value_ints = [0]>() z = Expand(x, s)}", "N: 0, 1"),
    "expand_to_another_shape": case("(float[N] x, float[M] y) => (z) {s = Shape(y) z = Expand(x, s)}", SHAPE_PAIR),
    "expand_and_take_back": case(
        "(float[N] x, float[M] y) => (z) {s = Shape(y) e = Expand(x, s) t = Shape(x) z = Expand(y, t) w = Add(e, z)}",
        SHAPE_PAIR,
    ),
    "batches_of_products": case(
        "(float[A, 2, 3] x, float[B, 3, 4] y) => (z) {z = MatMul(x, y)}", "A B: 1 1, 1 5, 5 1, 5 5"
    ),
    "missing_leading_axis": case(
        "(float[N] x, float[K, M] y) => (z) {z = Sub(x, y)}", "N K M: 1 2 5, 5 2 1, 1 0 1, 5 3 5"
    ),
    "twice_a_broadcast": case("(float[N] x, float[M] y) => (w) {z = Add(x, y) w = Concat<axis = 0>(z, z)}", PAIR),
    "broadcast_then_product": case(
        "(float[2, N] x, float[2, M] y, float[K, 3] w) => (p) {z = Add(x, y) p = MatMul(z, w)}",
        "N M K: 1 5 5, 5 1 5, 1 1 1, 5 5 5",
    ),
    "bias_of_a_product": case(
        "(float[M, 3] a, float[3, 2] b, float[P, 2] c) => (y) {y = Gemm(a, b, c)}", "M P: 4 1, 4 4, 1 1"
    ),
    "largest": case("(float[N] x, float[M] y) => (z) {z = Max(x, y)}", PAIR),
    "slope": case("(float[N, M] x, float[K] s) => (z) {z = PRelu(x, s)}", "N M K: 2 3 3, 2 3 1, 0 1 1"),
    "back_to_front": case("(float[N, M] x) => (z) {t = Transpose(x) z = Add(x, t)}", "N M: 1 5, 5 1, 3 3, 1 1, 0 1"),
    "with_its_own_slice": case(
        """(float[N] x) => (z) {b = Constant<value_ints = [1]>() e = Constant<value_ints = [9]>()
           t = Slice(x, b, e) z = Add(x, t)}""",
        "N: 1, 2",
    ),
    "known_through_a_product": case(
        "(float[N, d] x) => (y, z) <float[2] b = {1.0, 2.0}, float[2, 3] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> "
        "{y = Add(x, b) z = MatMul(y, w)}",
        "N d: 0 1, 3 2, 3 1",
    ),
}
