"""Declared shapes of outputs and inner values that are false at some sizes, or at all."""

from typing import Final

from tests.adversarial.case import Theme, case

DECLARATIONS: Final[Theme] = {
    "one_name_for_two_sizes": case(
        "(float[N] x, float[M] y) => (float[K] z, float[K] w) {z = Relu(x) w = Relu(y)}", "N M: 3 3, 2 5"
    ),
    "input_name_for_a_sum": case(
        "(float[N] x, float[M] y) => (float[N] z) {z = Concat<axis = 0>(x, y)}", "N M: 2 0, 2 3"
    ),
    "inner_value_lies": case("(float[N] x) => (z) <float[N] y> {y = Concat<axis = 0>(x, x) z = Relu(y)}", "N: 0, 3"),
    "half_declared_as_whole": case(
        """(float[N] x) => (float[N] z) <int64[1] b = {0}, int64[1] two = {2}>
           {n = Shape(x) e = Div(n, two) z = Slice(x, b, e)}""",
        "N: 0, 4",
    ),
    "maximum_declared": case(
        '(float[N] x, float[M] y) => (float["max(N, M)"] z) {z = Add(x, y)}', "N M: 5 1, 0 1, 3 3"
    ),
    "pool_without_its_one": case(
        """(float[1, 1, H] x) => (float[1, 1, "(H - 1) / 2"] z)
           {z = MaxPool<kernel_shape = [3], strides = [2], pads = [1, 1]>(x)}""",
        "H: 1, 7, 8",
    ),
    "first_dim_of_a_broadcast": case("(float[N] x, float[M] y) => (float[N] z) {z = Add(x, y)}", "N M: 5 1, 1 5, 0 1"),
    "count_declared": case("(float[N] x) => (int64[1, N] z) {z = NonZero(x)}", "N: 0, 4"),
    "unused_name": case("(float[N] x) => (float[P] z) {z = Relu(x)}", "N: 0, 4"),
    "true_expression": case(
        '(float[N] x, float[M] y) => (float["N + M"] z) {z = Concat<axis = 0>(x, y)}', "N M: 0 0, 2 3"
    ),
    "true_name_of_a_sum": case(
        "(float[past] x, float[seq] y) => (float[total] z, float[total] w) {z = Concat<axis = 0>(x, y) w = Relu(z)}",
        "past seq: 0 1, 5 1",
    ),
    "batch_that_is_one": case(
        "(float[batch, 3] x, float[1, 3] y) => (float[batch, 3] z) {z = Add(x, y)}", "batch: 0, 1, 4"
    ),
}
