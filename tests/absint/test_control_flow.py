"""Models with control flow: every claim against runs, and the exact answer where there is a closed form."""

from __future__ import annotations

import re

import pytest

from absint import analyze
from tests.absint.flows import FLOWS
from tests.runs import Runs


@pytest.mark.parametrize("name", FLOWS)
def test_claims_hold_in_every_run(name: str) -> None:
    flow = FLOWS[name]()
    result = analyze(flow.model)
    result.verify()
    for data in flow.data if flow.bindings else ():
        Runs(flow.model, result, data).check(*flow.bindings)


def renumbered(text: str, numbers: dict[str, str]) -> str:
    """Invented symbols numbered by their first appearance."""
    return re.sub(r"_d\d+", lambda match: numbers.setdefault(match[0], f"_d{len(numbers)}"), text)


@pytest.mark.parametrize("name", [name for name in FLOWS if FLOWS[name]().expect])
def test_exact_answer(name: str) -> None:
    flow = FLOWS[name]()
    result = analyze(flow.model)
    numbers: dict[str, str] = {}
    found = {
        value: renumbered("?" if (shape := result.shapes[value]) is None else str(shape), numbers)
        for value in flow.expect
    }
    assert found == flow.expect
