"""Choices that legal sizes decide, as what is given and what nodes require show, without Z3."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import absint
from tests.models import parsed


def graph(text: str) -> onnx.ModelProto:
    return parsed(f"{text}")


def real() -> onnx.ModelProto:
    """A vector in rows of n, read from its own length: a choice on N == 0 that legal sizes take both ways."""
    return graph("""(float[N, 4] x) => (float[A, B] y) {
      s = Shape(x) zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>()
      rest = Constant<value = int64[1] {-1}>() n = Slice(s, zero, one)
      target = Concat<axis = 0>(rest, n) y = Reshape<allowzero = 0>(x, target) }""")


HARD = "N*N*N >= N + 4"
"""True from N = 2 on, which neither bounds nor solutions show."""


def test_a_choice_that_both_sides_of_which_are_legal_stays() -> None:
    assert "ite" in str(absint.analyze(real()).shapes["y"])
    assert "ite" in str(absint.analyze(real(), assume=["N <= 64"]).shapes["y"])


def test_what_is_given_decides_a_choice() -> None:
    result = absint.analyze(real(), assume=[HARD])
    assert str(result.shapes["y"]) == "[4, N]"
    assert [(str(item.relation), item.reason) for item in result.last.learned] == [("N >= 1", "given")]
    told = str(result.explain("y", 1))
    assert "N >= 1  (an assumption or a declaration)" in told
    assert "required by" not in told
    session = onnxruntime.InferenceSession(real().SerializeToString(), providers=["CPUExecutionProvider"])
    for n in (2, 3, 5):
        (ran,) = session.run(None, {"x": np.zeros((n, 4), np.float32)})
        assert result.shapes["y"].evaluate({"N": n}) == list(ran.shape)
    result.verify()


REQUIRED = """(float[N] x, float[M] y) => (float[B] z, float[C] p) {
  n = Shape(x) m = Shape(y) less = Less(n, m) is_less = Squeeze(less)
  z = If (is_less) <then_branch = t () => (float[D] a) { a = Identity(x) },
                    else_branch = e () => (float[E] b) { b = Concat<axis = 0>(x, y) }>
  two = Constant<value = int64[1] {2}>() gap = Sub(n, m) size = Sub(gap, two) p = ConstantOfShape(size)
}"""


def test_what_another_node_requires_decides_a_choice() -> None:
    """`N - M - 2` is a size, so `N < M` in no run."""
    result = absint.analyze(graph(REQUIRED))
    assert str(result.shapes["z"]) == "[M + N]"
    assert [str(item.relation) for item in result.last.learned] == ["N >= M"]
    assert str(result.nodes[result.last.learned[0].node]) == "ConstantOfShape #8"
    result.verify()


def test_no_analysis_loads_the_solver() -> None:
    code = (
        "import sys, absint\n"
        "absint.analyze('examples/tiny_decoder.onnx')\n"
        "absint.analyze('examples/tiny_detector.onnx')\n"
        "print([name for name in sys.modules if 'z3' in name or 'solver.prove' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
