"""Integers of few bits: casts wrap, sums overflow, and unsigned ones have no sign."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case


def through(steps: str, runs: str) -> Adversarial:
    """The size n of x goes through narrow integers to r."""
    return case(f"(float[N] x) => (z) {{n = Shape(x) {steps} z = ConstantOfShape(r)}}", runs)


NARROW: Final[Theme] = {
    "byte_wraps": through("b = Cast<to = 2>(n) r = Cast<to = 7>(b)", "N: 0, 5, 255, 256, 300"),
    "signed_byte_below_zero": through(
        "b = Cast<to = 3>(n) i = Cast<to = 7>(b) k = Constant<value_ints = [128]>() r = Add(i, k)",
        "N: 0, 127, 128, 255, 256",
    ),
    "sum_of_bytes_wraps": through("b = Cast<to = 2>(n) s = Add(b, b) r = Cast<to = 7>(s)", "N: 0, 127, 128, 200"),
    "difference_of_int32": through(
        "b = Cast<to = 6>(n) k = Constant<value = int32[1] {3}>() d = Sub(b, k) e = Abs(d) r = Cast<to = 7>(e)",
        "N: 0, 3, 7",
    ),
    "bool_of_a_size": through("b = Cast<to = 9>(n) r = Cast<to = 7>(b)", "N: 0, 1, 5"),
    "quotient_in_int32": through(
        "b = Cast<to = 6>(n) k = Constant<value = int32[1] {2}>() d = Div(b, k) r = Cast<to = 7>(d)", "N: 0, 1, 7"
    ),
    "half_precision": through("b = Cast<to = 10>(n) r = Cast<to = 7>(b)", "N: 0, 5, 2048, 2049"),
    "shifted": through(
        """b = Cast<to = 13>(n) k = Constant<value = uint64[1] {1}>() d = BitShift<direction = "RIGHT">(b, k)
           r = Cast<to = 7>(d)""",
        "N: 0, 1, 7",
    ),
}
