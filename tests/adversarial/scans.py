"""Scans: a row at a time, along other axes, backwards, with a state that must keep its shape."""

from typing import Final

from tests.adversarial.case import Theme, case

SCANS: Final[Theme] = {
    "rows": case(
        """(float[N, M] x) => (y) {y = Scan<num_scan_inputs = 1, body = b (float[M] r) => (float[M] s)
           {s = Relu(r)}>(x)}""",
        "N M: 1 3, 4 2, 2 0",
    ),
    "columns": case(
        """(float[N, M] x) => (y) {y = Scan<num_scan_inputs = 1, scan_input_axes = [1], body = b (float[N] r) =>
           (float[N] s) {s = Relu(r)}>(x)}""",
        "N M: 1 3, 4 2",
    ),
    "stacked_on_the_last_axis": case(
        """(float[N, M] x) => (y) {y = Scan<num_scan_inputs = 1, scan_output_axes = [-1], body = b (float[M] r) =>
           (float[M] s) {s = Relu(r)}>(x)}""",
        "N M: 1 3, 4 2",
    ),
    "backwards": case(
        """(float[N, M] x) => (y) {y = Scan<num_scan_inputs = 1, scan_input_directions = [1], body = b (float[M] r) =>
           (float[M] s) {s = Relu(r)}>(x)}""",
        "N M: 1 3, 4 2",
    ),
    "running_sum": case(
        """(float[M] i, float[N, M] x) => (f, y) {f, y = Scan<num_scan_inputs = 1, body = b (float[M] a, float[M] r)
           => (float[M] t, float[M] s) {t = Add(a, r) s = Identity(t)}>(i, x)}""",
        "N M: 1 3, 4 2",
    ),
    "two_of_one_length": case(
        """(float[N, A] x, float[M, B] w) => (y) {y = Scan<num_scan_inputs = 2, body = b (float[A] r, float[B] q)
           => (float[K] s) {s = Concat<axis = 0>(r, q)}>(x, w)}""",
        "N A M B: 3 2 3 5, 1 1 1 1",
    ),
}
