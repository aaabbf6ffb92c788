"""Loops: a body once is not a fixpoint, no trip is a legal run, and a negative count is no trip."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case

COUNTS: Final = tuple({"m": m} for m in (0, 1, 3, -2))


def counted(step: str, runs: str = "N: 0, 1, 4", inputs: str = "float[N] x", after: str = "") -> Adversarial:
    """A loop over m that carries v from x; `step` computes w."""
    shown = "u" if after else "y"
    return case(
        f"""(int64 m, {inputs}) => ({shown}) {{y = Loop(m, , x)
            <body = b (int64 i, bool c, v) => (d, w) {{d = Identity(c) {step}}}> {after}}}""",
        runs,
        *COUNTS,
    )


def scanned(step: str, more: str = "") -> Adversarial:
    """A loop over m that collects s at each trip."""
    return case(
        f"""(int64 m, float[N] x) => (y) {{t = Constant<value = bool {{1}}>() y = Loop(m, t)
            <body = b (int64 i, bool c) => (d, s) {{d = Identity(c) {step}}}> {more}}}""",
        "N: 1, 4",
        *COUNTS,
    )


LOOPS: Final[Theme] = {
    "grows_by_itself": counted("w = Concat<axis = 0>(v, v)"),
    "grows_by_another": counted("w = Concat<axis = 0>(v, q)", "N M: 0 2, 3 1, 2 0", "float[N] x, float[M] q"),
    "shrinks": counted(
        "b0 = Constant<value_ints = [1]>() e0 = Constant<value_ints = [99]>() w = Slice(v, b0, e0)", "N: 0, 1, 2, 9"
    ),
    "halves": counted(
        """b0 = Constant<value_ints = [0]>() two = Constant<value_ints = [2]>() n = Shape(v) e0 = Div(n, two)
           w = Slice(v, b0, e0)""",
        "N: 0, 1, 2, 9",
    ),
    "swaps_axes": counted("w = Transpose(v)", "N M: 2 3, 1 1, 0 5", "float[N, M] x"),
    "keeps": counted("w = Relu(v)", after="u = Add(x, y)"),
    "broadcasts": counted("w = Add(v, q)", "N M: 1 3, 3 1, 2 2", "float[N] x, float[M] q"),
    "squares_by_product": counted("w = MatMul(v, v)", "N: 1, 4", "float[N, N] x"),
    "gains_an_axis": case(
        """(int64 m, float[N] x) => (y) {y = Loop(m, , x) <body = b (int64 i, bool c, v) => (d, w)
           {d = Identity(c) a = Constant<value_ints = [0]>() w = Unsqueeze(v, a)}>}""",
        "N: 0, 4",
        *COUNTS,
    ),
    "stacks_rows": scanned("s = Relu(x)"),
    "stacks_the_number_of_the_trip": scanned("s = Identity(i)"),
    "stacks_shapes": scanned("s = Shape(x)"),
    "four_trips": case(
        """(float[N] x) => (y) {m = Constant<value_int = 4>() t = Constant<value = bool {1}>()
           y = Loop(m, t) <body = b (int64 i, bool c) => (d, s)
           {d = Identity(c) s = Relu(x)}>}""",
        "N: 0, 3",
    ),
    "no_trip": case(
        """(float[N] x) => (y, s2) {m = Constant<value_int = 0>() y, s2 = Loop(m, , x) <body = b (int64 i, bool c, v)
           => (d, w, s) {d = Identity(c) w = Concat<axis = 0>(v, v) s = Neg(i)}>}""",
        "N: 0, 3",
    ),
    "negative_trips": case(
        """(float[N] x) => (y) {m = Constant<value_int = -3>() y = Loop(m, , x) <body = b (int64 i, bool c, v) => (d, w)
           {d = Identity(c) w = Concat<axis = 0>(v, v)}>}""",
        "N: 0, 3",
    ),
    "as_many_trips_as_rows": case(
        """(float[N, K] x) => (y) {i0 = Constant<value_int = 0>() n = Shape(x) m = Gather(n, i0)
           t = Constant<value = bool {1}>()
           y = Loop(m, t) <body = b (int64 i, bool c) => (d, s) {d = Identity(c) s = Gather(x, i)}>}""",
        "N K: 1 2, 4 3, 3 1",
    ),
    "trips_below_zero_rows": case(
        """(float[N] x) => (y) {k = Constant<value_int = 3>() n = Size(x) m = Sub(n, k)
           t = Constant<value = bool {1}>()
           y = Loop(m, t) <body = b (int64 i, bool c) => (d, s) {d = Identity(c) s = Relu(x)}>}""",
        "N: 0, 1, 3, 5",
    ),
    "stops_by_itself": case(
        """(float[N] x) => (y) {m = Constant<value_int = 9>() t = Constant<value = bool {1}>()
           y = Loop(m, t, x) <body = b (int64 i, bool c, v) => (d, w)
           {k = Constant<value_int = 2>() d = Less(i, k) w = Concat<axis = 0>(v, v)}>}""",
        "N: 0, 1, 3",
    ),
    "never_starts": case(
        """(float[N] x) => (y) {m = Constant<value_int = 9>() t = Constant<value = bool {0}>()
           y = Loop(m, t, x) <body = b (int64 i, bool c, v) => (d, w) {d = Identity(c) w = Concat<axis = 0>(v, v)}>}""",
        "N: 0, 3",
    ),
    "nested": case(
        """(int64 m, float[N] x) => (y) {y = Loop(m, , x) <body = b (int64 i, bool c, v) => (d, w) {d = Identity(c)
           w = Loop(i, , v) <body = e (int64 j, bool f, p) => (g, q)
           {g = Identity(f) q = Concat<axis = 0>(p, p)}>}>}""",
        "N: 0, 1, 3",
        {"m": 0},
        {"m": 1},
        {"m": 3},
    ),
    "two_that_trade_places": case(
        """(int64 m, float[N] x, float[M] z) => (y, u) {y, u = Loop(m, , x, z) <body = b (int64 i, bool c, v, r)
           => (d, w, s) {d = Identity(c) w = Identity(r) s = Identity(v)}>}""",
        "N M: 2 3, 0 1, 4 4",
        *COUNTS,
    ),
    "fibonacci": case(
        """(int64 m, float[N] x, float[M] z) => (y, u) {y, u = Loop(m, , x, z) <body = b (int64 i, bool c, v, r)
           => (d, w, s) {d = Identity(c) w = Identity(r) s = Concat<axis = 0>(v, r)}>}""",
        "N M: 2 3, 0 1",
        *COUNTS,
    ),
}
