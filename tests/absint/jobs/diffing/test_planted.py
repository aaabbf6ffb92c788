"""Every planted change is found, for the right reason, in both directions."""

from __future__ import annotations

import json

import pytest

import absint
from tests.absint.jobs.diffing.models import PLANTED

OPPOSITE = {"compatible": "changed", "same": "same", "changed": "changed"}


@pytest.mark.parametrize("name", PLANTED)
def test_a_change_is_found_for_the_right_reason(name: str) -> None:
    first, second, verdict, reasons = PLANTED[name]
    found = absint.diff(first, second)
    text = str(found)
    assert found.verdict == verdict, text
    assert [reason for reason in reasons if reason not in text] == [], text
    assert bool(found) is (verdict != "changed")
    assert json.loads(found.to_json())["verdict"] == verdict


@pytest.mark.parametrize("name", PLANTED)
def test_a_model_is_as_itself(name: str) -> None:
    first, second, _, _ = PLANTED[name]
    for model in (first, second):
        found = absint.diff(model, model)
        assert found.verdict == "same", str(found)
