"""Integer arithmetic on sizes: Div truncates, Mod has two signs, and subtraction goes below 0."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case

SOME: Final = "N: 0, 1, 2, 3, 4, 5, 8"


def sized(steps: str, runs: str = SOME, inputs: str = "float[N] x") -> Adversarial:
    """A tensor whose size is computed from n, the shape of x, and stored in r."""
    numbers = ", ".join(f"int64[1] k{k} = {{{k}}}" for k in range(10))
    return case(f"({inputs}) => (z) <{numbers}> {{n = Shape(x) {steps} z = ConstantOfShape(r)}}", runs)


PAIR: Final = "N M: 0 1, 1 1, 5 2, 2 5, 7 3"

DIVISION: Final[Theme] = {
    "half": sized("r = Div(n, k2)"),
    "half_up": sized("m = Add(n, k1) r = Div(m, k2)"),
    "truncated_below_zero": sized("m = Sub(n, k5) h = Div(m, k2) r = Add(h, k3)"),
    "remainder_below_zero": sized("m = Sub(n, k5) r = Mod(m, k3)"),
    "c_remainder_below_zero": sized("m = Sub(n, k5) f = Mod<fmod = 1>(m, k3) r = Add(f, k3)"),
    "negated_half": sized("m = Neg(n) h = Div(m, k2) r = Neg(h)"),
    "even_part": sized("h = Div(n, k2) r = Mul(h, k2)"),
    "odd_part": sized("h = Div(n, k2) e = Mul(h, k2) r = Sub(n, e)"),
    "halves_add_up": sized("h = Div(n, k2) m = Sub(n, h) r = Add(h, m)"),
    "two_quotients": sized("a = Div(n, k2) r = Div(a, k3)"),
    "scaled_quotient": sized("m = Mul(n, k4) r = Div(m, k8)"),
    "quotient_of_symbols": sized("m = Shape(y) r = Div(n, m)", PAIR, "float[N] x, float[M] y"),
    "quotient_times_divisor": sized("m = Shape(y) q = Div(n, m) r = Mul(q, m)", PAIR, "float[N] x, float[M] y"),
    "product_then_quotient": sized("m = Shape(y) p = Mul(n, m) r = Div(p, m)", PAIR, "float[N] x, float[M] y"),
    "remainder_of_symbols": sized("m = Shape(y) r = Mod(n, m)", PAIR, "float[N] x, float[M] y"),
    "clamped_difference": sized("m = Sub(n, k3) r = Max(m, k0)"),
    "clipped": sized(
        "lo = Constant<value_int = 0>() hi = Constant<value_int = 3>() m = Sub(n, k2) r = Clip(m, lo, hi)"
    ),
    "distance": sized("m = Shape(y) d = Sub(n, m) r = Abs(d)", "N M: 0 3, 3 0, 5 5", "float[N] x, float[M] y"),
    "smaller_of_two": sized("m = Shape(y) r = Min(n, m, k4)", "N M: 0 3, 3 0, 5 7", "float[N] x, float[M] y"),
    "square": sized("r = Mul(n, n)"),
    "relu_below_zero": sized("m = Sub(n, k5) f = Cast<to = 1>(m) p = Relu(f) r = Cast<to = 7>(p)"),
    "ceil_through_float": sized(
        "f = Cast<to = 1>(n) t = Cast<to = 1>(k2) q = Div(f, t) c = Ceil(q) r = Cast<to = 7>(c)"
    ),
    "floor_through_float": sized(
        "f = Cast<to = 1>(n) t = Cast<to = 1>(k4) q = Div(f, t) c = Floor(q) r = Cast<to = 7>(c)"
    ),
    "floor_below_zero": sized(
        """m = Sub(n, k5) f = Cast<to = 1>(m) t = Cast<to = 1>(k2) q = Div(f, t) c = Floor(q)
           i = Cast<to = 7>(c) r = Add(i, k3)"""
    ),
    "cast_truncates_below_zero": sized(
        "m = Sub(n, k5) f = Cast<to = 1>(m) t = Cast<to = 1>(k2) q = Div(f, t) i = Cast<to = 7>(q) r = Add(i, k3)"
    ),
    "rounds_half_to_even": sized(
        "f = Cast<to = 1>(n) t = Cast<to = 1>(k2) q = Div(f, t) c = Round(q) r = Cast<to = 7>(c)"
    ),
    "third_through_float": sized(
        "f = Cast<to = 1>(n) t = Cast<to = 1>(k3) q = Div(f, t) c = Ceil(q) r = Cast<to = 7>(c)"
    ),
    "root": sized("f = Cast<to = 1>(n) q = Sqrt(f) r = Cast<to = 7>(q)"),
    "range_by_two": case(
        """(float[N] x) => (z) {n = Size(x) a = Constant<value_int = 0>() d = Constant<value_int = 2>()
           z = Range(a, n, d)}""",
        SOME,
    ),
    "range_down_by_three": case(
        """(float[N] x) => (z) {n = Size(x) a = Constant<value_int = 1>() d = Constant<value_int = -3>()
           z = Range(n, a, d)}""",
        SOME,
    ),
    "range_between_symbols": case(
        "(float[N] x, float[M] y) => (z) {n = Size(x) m = Size(y) d = Constant<value_int = 1>() z = Range(n, m, d)}",
        "N M: 0 3, 3 0, 2 2",
    ),
}
