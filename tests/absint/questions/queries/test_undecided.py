"""Choices that legal sizes decide: which ones Z3 is asked about, and what it settles without being asked."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import absint
from absint.lattices.logic.relation import Relation
from absint.questions.proofs.smt_refinement import undecided
from absint.solution.analysed import Analysed
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


def test_a_choice_that_both_sides_of_which_are_legal_needs_no_proof() -> None:
    result = absint.analyze(real())
    assert "ite" in str(result.shapes["y"])
    assert not result.rounds.choices
    result = absint.analyze(real(), assume=["N <= 64"])
    assert [str(c) for c in result.rounds.choices] == ["N == 0"]
    assert undecided(result) == frozenset()


def test_what_samples_do_not_show_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[frozenset[Relation]] = []

    def spy(analysed: Analysed) -> frozenset[Relation]:
        asked.append(undecided(analysed))
        return asked[-1]

    monkeypatch.setattr("absint.questions.proofs.smt_refinement.undecided", spy)
    result = absint.analyze(real(), assume=[HARD])
    assert [str(c) for found in asked for c in found] == ["N == 0"]
    assert str(result.shapes["y"]) == "[4, N]"
    assert result.last.learned[-1].reason.startswith("proved from ")
    session = onnxruntime.InferenceSession(real().SerializeToString(), providers=["CPUExecutionProvider"])
    for n in (2, 3, 5):
        (ran,) = session.run(None, {"x": np.zeros((n, 4), np.float32)})
        assert result.shapes["y"].evaluate({"N": n}) == list(ran.shape)
    result.verify()


def test_without_the_proof_the_choice_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.questions.proofs.smt_refinement.undecided", lambda analysed: frozenset())
    assert "ite" in str(absint.analyze(real(), assume=[HARD]).shapes["y"])


def test_nothing_starts_z3_where_no_choice_is_left() -> None:
    code = (
        "import sys, absint\n"
        "absint.analyze('examples/tiny_decoder.onnx')\n"
        "print([name for name in sys.modules if name == 'z3' or 'queries' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_choice_of_data_is_never_asked() -> None:
    result = absint.analyze(graph("(float[N, 4] x, float[K] v) => (float[A, B] y) {"
                                  " t = NonZero(v) s = Shape(t) y = Reshape(x, s) }"))  # fmt: skip
    assert undecided(result) == frozenset()
