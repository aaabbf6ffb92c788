"""A slice of the grids: what complete rules promise of nodes of concrete sizes, executed."""

from __future__ import annotations

import random

import pytest
from onnx import TensorProto

from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import rule
from tests.transfer.grid import examine, grids
from tests.transfer.harness import Arg, Case

COUNT = 120


@pytest.mark.parametrize("name", grids())
def test_a_node_that_is_said_to_run_does(name: str) -> None:
    found = examine(grids()[name], COUNT, seed=7)
    assert not found.wrong, "\n".join(found.wrong[:3])
    assert found.counts["runs, and is said to"] >= COUNT // 20, f"{found.counts}: the grid shows next to nothing"


@pytest.mark.parametrize("name", grids())
def test_the_rules_are_complete(name: str) -> None:
    case = grids()[name](random.Random(0))
    rule = shipped().lookup(case.domain, case.op, case.opset)
    assert rule is not None
    assert rule.complete


def test_a_broken_promise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    @rule("ConvTranspose", inputs="X W B", complete=True)
    def careless(op: Op) -> object:
        return op.tensor("X")

    monkeypatch.setattr("absint.testing.rules.shipped", lambda: shipped().extended([careless]))
    found = examine(grids()["ConvTranspose"], 20)
    assert any("nothing says that it fails" in text for text in found.wrong)
    assert any("claimed" in text for text in found.wrong)


def test_a_node_without_a_kernel_counts_for_nothing() -> None:
    found = examine(lambda rng: Case("Det", [Arg([2, 2], TensorProto.BFLOAT16)], opset=22), 1)
    assert found.counts == {"no kernel": 1}
