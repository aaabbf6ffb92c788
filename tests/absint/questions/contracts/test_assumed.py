"""Contracts under assumptions that no sizes meet, though the analysis does not see it."""

from __future__ import annotations

from collections.abc import Sequence

import onnx.parser
import pytest

import absint

RESHAPED = """<ir_version: 8, opset_import: ["" : 18]>
g (float[A, B] x, float[C] z) => (float[M, K] y, float[L] w) <int64[2] s = {-1, 4}> {
    y = Reshape(x, s)
    w = Relu(z)
}"""

FREE = """<ir_version: 8, opset_import: ["" : 18]>
g (float[C] z) => (float[L] w) { w = Relu(z) }"""

IMPOSSIBLE = [["C*C == 2"], ["C*C*C >= 5", "C*C <= 2"]]


@pytest.mark.parametrize("assumed", IMPOSSIBLE)
@pytest.mark.parametrize(("model", "clauses"), [(RESHAPED, ["A*B % 4 == 0"]), (FREE, [])])
def test_assumptions_that_no_sizes_meet(model: str, clauses: list[str], assumed: Sequence[str]) -> None:
    found = absint.analyze(onnx.parser.parse_model(model), assume=assumed).contract()
    assert found.possible is False
    assert [str(clause.relation) for clause in found.clauses] == clauses


@pytest.mark.parametrize(("model", "clauses"), [(RESHAPED, ["A*B % 4 == 0"]), (FREE, [])])
def test_assumptions_that_some_sizes_meet(model: str, clauses: list[str]) -> None:
    found = absint.analyze(onnx.parser.parse_model(model), assume=["C*C >= 2"]).contract()
    assert found.possible is True
    assert [str(clause.relation) for clause in found.clauses] == clauses
