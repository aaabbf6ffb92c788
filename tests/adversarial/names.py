"""Names of dims that are used again in bodies, between inputs and outputs, or that look like invented ones."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case

NAMES: Final[Theme] = {
    "outer_name_inside_a_branch": case(
        """(bool c, float[N] x) => (y) {y = If(c) <then_branch = t () => (float[N] p) {p = Concat<axis = 0>(x, x)},
           else_branch = e () => (float[N] q) {q = Relu(x)}>}""",
        "N: 0, 1, 3",
        {"c": True},
        {"c": False},
    ),
    "outer_name_inside_a_loop": case(
        """(int64 m, float[N] x) => (y) {y = Loop(m, , x)
           <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w)
           {d = Identity(c) w = Concat<axis = 0>(v, v)}>}""",
        "N: 1, 3",
        {"m": 0},
        {"m": 2},
    ),
    "outer_name_inside_a_scan": case(
        """(float[N, M] x) => (y) {y = Scan<num_scan_inputs = 1, body = b (float[N] r) => (float[M] s)
           {s = Relu(r)}>(x)}""",
        "N M: 3 3, 1 1",
    ),
    "looks_invented": case(
        "(float[_d0] x, float[_d1] y, float[N] w) => (z, u) {z = NonZero(x) u = NonZero(w) v = Concat<axis = 0>(x, y)}",
        "_d0 _d1 N: 3 2 4, 0 1 0",
    ),
    "looks_invented_by_onnx": case(
        "(float[unk__0] x, float[unk__1] y) => (z) {n = NonZero(x) z = Concat<axis = 0>(x, y)}",
        "unk__0 unk__1: 3 2, 0 1",
    ),
    "same_name_of_value_and_size": case(
        "(float[x] x, float[y] y) => (z) {z = Concat<axis = 0>(x, y)}", "x y: 2 3, 0 1"
    ),
    "one_name_on_two_inputs": case("(float[N, 2] x, float[N, 3] y) => (z) {z = Concat<axis = 1>(x, y)}", "N: 0, 4"),
    "no_expressions": Adversarial(
        '(float["batch size"] x, float["N:1"] y, float["2x"] w) => (z) {z = Concat<axis = 0>(x, y, w)}',
        [{"batch size": 2, "N:1": 3, "2x": 4}, {"batch size": 0, "N:1": 1, "2x": 1}],
    ),
    "difference_of_nothing": Adversarial(
        '(float["past-seq"] x, float[3] y) => (z) {z = Concat<axis = 0>(x, y)}', [{"past-seq": 0}, {"past-seq": 5}]
    ),
    "output_name_reused": case(
        "(float[N] x, float[M] y) => (float[M] z, float[N] w) {z = Relu(y) w = Relu(x)}", "N M: 2 3, 0 1"
    ),
}
