"""Models with control flow: every claim against runs, and the exact answer where there is a closed form."""

from __future__ import annotations

import re

import pytest

from absint import analyze
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from tests.absint.shapes.flows import FLOWS
from tests.models import floats, model, node
from tests.runs import Runs


@pytest.mark.parametrize("name", FLOWS)
def test_claims_hold_in_every_run(name: str) -> None:
    flow = FLOWS[name]()
    result = analyze(flow.model)
    result.verify()
    for data in flow.data if flow.bindings else ():
        Runs(flow.model, result, data).check(*flow.bindings)


def test_a_state_that_is_no_post_fixpoint_is_named_with_the_reason() -> None:
    result = analyze(model([node("Relu", ["X"], ["Y"])], [floats("X", "N", 3)], ["Y"]))
    at, _ = result.producer("Y")
    result.last.states[at] = (Tensor(DType.FLOAT, Shape(["N", 4])),)
    with pytest.raises(AssertionError) as raised:
        result.verify()
    assert str(raised.value) == (
        "Relu #0: (Tensor(FLOAT[N, 3]),) is not below the stored (Tensor(FLOAT[N, 4]),): "
        "output 0, dim 1 must be 4, found 3"
    )


def renumbered(text: str, numbers: dict[str, str]) -> str:
    """Invented symbols numbered by their first appearance."""
    return re.sub(r"_d\d+", lambda match: numbers.setdefault(match[0], f"_d{len(numbers)}"), text)


@pytest.mark.parametrize("name", [name for name in FLOWS if FLOWS[name]().expect])
def test_exact_answer(name: str) -> None:
    flow = FLOWS[name]()
    result = analyze(flow.model)
    numbers: dict[str, str] = {}
    found = {value: renumbered(str(result.shapes[value]), numbers) for value in flow.expect}
    assert found == flow.expect
