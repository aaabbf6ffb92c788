"""Sizes that are read from shapes, picked, permuted, multiplied, and used as shapes again."""

from typing import Final

from tests.adversarial.case import Theme, case

PAIR: Final = "N M: 2 3, 0 5, 1 1"

GATHERING: Final[Theme] = {
    "one_size": case(
        "(float[N, M] x) => (z) <int64[1] i = {1}> {s = Shape(x) d = Gather(s, i) z = ConstantOfShape(d)}", PAIR
    ),
    "size_from_the_end": case(
        "(float[N, M] x) => (z) <int64[1] i = {-2}> {s = Shape(x) d = Gather(s, i) z = ConstantOfShape(d)}", PAIR
    ),
    "swapped_sizes": case(
        "(float[N, M] x) => (z) <int64[2] i = {1, 0}> {s = Shape(x) t = Gather(s, i) z = Reshape(x, t)}",
        "N M: 2 3, 1 1",
    ),
    "diagonal_sizes": case(
        "(float[N, M] x) => (z) <int64[2] i = {0, 0}> {s = Shape(x) t = Gather(s, i) z = ConstantOfShape(t)}", PAIR
    ),
    "rows_by_a_matrix": case(
        "(float[N, 3] x, int64[A, B] i) => (z) {z = Gather(x, i)}",
        "N A B: 5 2 2, 4 0 3",
        {"i": lambda s, rng: rng.integers(0, 4, s)},
    ),
    "one_row_of_many": case(
        "(float[N, M] x) => (z) {i = Constant<value_int = 0>() z = Gather<axis = 1>(x, i)}", "N M: 0 2, 3 1"
    ),
    "shape_from_one": case(
        "(float[N, M, K] x) => (z) {s = Shape<start = 1>(x) z = ConstantOfShape(s)}", "N M K: 2 3 4, 0 1 0"
    ),
    "shape_from_the_end": case(
        "(float[N, M, K] x) => (z) {s = Shape<start = -1, end = 9>(x) z = ConstantOfShape(s)}", "N M K: 2 3 4"
    ),
    "empty_shape": case("(float[N, M] x) => (z) {s = Shape<start = 2, end = 1>(x) z = ConstantOfShape(s)}", PAIR),
    "element_count": case(
        "(float[N, M] x) => (z) <int64[1] a = {0}> {n = Size(x) t = Unsqueeze(n, a) z = ConstantOfShape(t)}", PAIR
    ),
    "product_of_a_shape": case(
        "(float[N, M] x) => (z) {s = Shape(x) t = ReduceProd<keepdims = 1>(s) z = ConstantOfShape(t)}", PAIR
    ),
    "largest_size": case(
        "(float[N, M] x) => (z) {s = Shape(x) t = ReduceMax<keepdims = 1>(s) z = ConstantOfShape(t)}", PAIR
    ),
    "product_of_nothing": case(
        "(float[N] x) => (z) {s = Shape<start = 1>(x) t = ReduceProd<keepdims = 1>(s) z = ConstantOfShape(t)}",
        "N: 0, 5",
    ),
    "running_sums_of_a_shape": case(
        "(float[N, M] x) => (z) {a = Constant<value_int = 0>() s = Shape(x) t = CumSum(s, a) z = ConstantOfShape(t)}",
        PAIR,
    ),
    "through_int32": case(
        "(float[N, M] x) => (z) {s = Shape(x) i = Cast<to = 6>(s) t = Cast<to = 7>(i) z = ConstantOfShape(t)}", PAIR
    ),
    "chosen_by_sign": case(
        """(float[N, M] x) => (z) <int64[2] w = {-1, 7}, int64[1] none = {0}>
           {s = Shape(x) c = Less(w, none) t = Where(c, s, w) z = ConstantOfShape(t)}""",
        PAIR,
    ),
    "expand_mask": case(
        """(float[B, S] x, float[1, H, 1] y) => (z) <int64[2] w = {-1, 4}, int64[2] m = {-1, -1}>
           {s = Shape(x) c = Equal(w, m) t = Where(c, s, w) z = ConstantOfShape(t)}""",
        "B S H: 2 3 1, 0 1 5",
    ),
    "one_size_replaced": case(
        """(float[N, M] x) => (z) <int64[1] i = {1}, int64[1] u = {7}>
           {s = Shape(x) t = ScatterElements(s, i, u) z = ConstantOfShape(t)}""",
        PAIR,
    ),
    "sizes_in_a_matrix": case(
        """(float[N, M] x) => (z) <int64[2] t = {2, 1}, int64[1] f = {-1}>
           {s = Shape(x) m = Reshape(s, t) r = Transpose(m) v = Reshape(r, f) z = ConstantOfShape(v)}""",
        PAIR,
    ),
    "half_of_the_best": case(
        """(float[N, M] x) => (v, i) <int64[1] two = {2}>
           {m = Shape<start = 1>(x) k = Div(m, two) v, i = TopK(x, k)}""",
        "N M: 2 3, 0 5, 1 1",
    ),
    "one_hot_of_a_size": case(
        """(int64[N] i, float[M] y) => (z) <float[2] v = {0.0, 1.0}> {d = Size(y) z = OneHot(i, d, v)}""",
        "N M: 2 3, 0 5, 4 1",
    ),
    "last_row_by_size": case(
        """(float[N, M] x) => (z) <int64[1] one = {1}>
           {s = Shape<end = 1>(x) i = Sub(s, one) z = Gather(x, i)}""",
        "N M: 1 3, 4 0",
    ),
    "pairs_of_indices": case(
        "(float[N, M, K] x, int64[P, 2] i) => (z) {z = GatherND(x, i)}", "N M K P: 4 4 3 2, 5 6 0 1"
    ),
    "axes_by_name_only": case("(float[N, M] x) => (z) {z = Transpose<perm = [1, 0]>(x)}", PAIR),
}
