"""Sizes that costs are shown at are legal, or nothing says so."""

from __future__ import annotations

import onnx.parser
import pytest

import absint
from absint.questions.sizes import start
from absint.questions.sizes.nearest import LegalSizes

EVEN = """<ir_version: 8, opset_import: ["": 18]>
g (float[N] x) => (float[A, B] y) {to = Constant<value_ints=[-1, 2]>()  y = Reshape(x, to)}"""


@pytest.mark.parametrize(("proposed", "found"), [(4, {"N": 4}), (5, None)])
def test_what_a_solver_proposes_is_confirmed(
    proposed: int, found: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that does not state all it needs lets the solver propose sizes that a check refuses."""
    monkeypatch.setattr(LegalSizes, "near", lambda *arguments: iter(()))
    monkeypatch.setattr(LegalSizes, "solved", lambda *arguments: {"N": proposed})
    monkeypatch.setattr(start, "drawn", lambda analysed: iter(()))
    starts = start.Starts(absint.analyze(onnx.parser.parse_model(EVEN)))
    assert starts.near({"N": 3}) == found
    assert starts.without is (found is None)


def test_sizes_of_a_scatter_begin_where_its_ranks_allow() -> None:
    text = """<ir_version: 8, opset_import: ["": 18]>
    g (float[N, M, D] x, int64[B, K] i, float[B, E, F] u) => (float[P, Q, R] y) {y = ScatterND(x, i, u)}"""
    result = absint.analyze(onnx.parser.parse_model(text))
    sizes = result.cost().default_sizes
    assert sizes["K"] == 1
    assert result.check(sizes).ok
    assert not result.contract().allows({**sizes, "K": 2})
