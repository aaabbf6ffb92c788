"""Slices: bounds are clamped, negative ones count from the end, and a computed -0 is 0."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case

SOME: Final = "N: 0, 1, 2, 5, 8"


def sliced(starts: int, ends: int, steps: int = 1, runs: str = SOME) -> Adversarial:
    """x[starts:ends:steps] of a vector."""
    return case(
        f"""(float[N] x) => (z) <int64[1] b = {{{starts}}}, int64[1] e = {{{ends}}}, int64[1] a = {{0}},
            int64[1] s = {{{steps}}}> {{z = Slice(x, b, e, a, s)}}""",
        runs,
    )


BIG: Final = (1 << 63) - 1

SLICING: Final[Theme] = {
    "all_but_first": sliced(1, BIG),
    "all_but_last": sliced(0, -1),
    "last_two": sliced(-2, BIG),
    "first_three": sliced(0, 3),
    "from_two_to_the_last": sliced(2, -1),
    "past_the_end": sliced(5, 9),
    "backwards_bounds": sliced(4, 2),
    "every_second": sliced(0, BIG, 2),
    "every_third_from_one": sliced(1, 2147483647, 3),
    "reversed": sliced(-1, -BIG - 1, -1),
    "reversed_by_two": sliced(-1, -BIG - 1, -2),
    "reversed_from_three": sliced(3, 0, -1),
    "reversed_to_the_second_last": sliced(BIG, -3, -1),
    "middle_from_the_end": sliced(-5, -2),
    "attributes": case(
        "(float[N, M] x) => (z) {z = Slice<axes = [1], starts = [-3], ends = [100]>(x)}", "N M: 2 0, 1 2, 3 7", opset=9
    ),
    "negative_axes": case(
        """(float[N, M] x) => (z) <int64[2] b = {1, 0}, int64[2] e = {9, -1}, int64[2] a = {-1, -2}>
           {z = Slice(x, b, e, a)}""",
        "N M: 0 0, 1 1, 4 20, 5 3",
    ),
    "drop_the_size_of_another": case(
        """(float[N] x, float[M] y) => (z) <int64[1] b = {0}, int64[1] a = {0}>
           {m = Shape(y) e = Neg(m) z = Slice(x, b, e, a)}""",
        "N M: 5 2, 5 0, 0 0, 2 5, 3 3",
    ),
    "tail_by_the_size_of_another": case(
        """(float[N] x, float[M] y) => (z) <int64[1] e = {9223372036854775807}>
           {m = Shape(y) b = Neg(m) z = Slice(x, b, e)}""",
        "N M: 5 2, 5 0, 0 0, 2 5, 3 3",
    ),
    "three_before_the_end_computed": case(
        """(float[N] x) => (z) <int64[1] three = {3}>
           {n = Shape(x) b = Sub(n, three) z = Slice(x, b, n)}""",
        SOME,
    ),
    "first_half": case(
        "(float[N] x) => (z) <int64[1] b = {0}, int64[1] two = {2}> {n = Shape(x) e = Div(n, two) z = Slice(x, b, e)}",
        SOME,
    ),
    "as_long_as_another": case(
        "(float[N] x, float[M] y) => (z) <int64[1] b = {0}> {e = Shape(y) z = Slice(x, b, e)}",
        "N M: 0 3, 3 0, 5 2, 2 5",
    ),
    "positions_after_a_cache": case(
        """(float[past, 4] cache, float[seq, 4] x, float[limit, 4] table) => (z) <int64[1] a = {0}>
           {p = Shape<end = 1>(cache) s = Shape<end = 1>(x) t = Add(p, s) z = Slice(table, p, t, a)}""",
        "past seq limit: 0 1 9, 3 1 9, 3 5 6, 9 1 4",
    ),
    "of_a_shape": case(
        """(float[A, B, C] x) => (z) <int64[1] b = {-2}, int64[1] e = {9}>
           {s = Shape(x) t = Slice(s, b, e) z = ConstantOfShape(t)}""",
        "A B C: 1 2 3, 4 0 5",
    ),
    "padded_then_cut": case(
        """(float[N] x) => (z) <int64[2] p = {2, 1}, int64[1] b = {1}, int64[1] e = {-1}>
           {y = Pad(x, p) z = Slice(y, b, e)}""",
        SOME,
    ),
    "twice": case(
        """(float[N] x) => (z) <int64[1] b = {2}, int64[1] e = {100}, int64[1] c = {-3}, int64[1] d = {-1}>
           {y = Slice(x, b, e) z = Slice(y, c, d)}""",
        "N: 0, 2, 3, 4, 9, 101, 200",
    ),
}
