"""The lists in docs/rules.md are those that the obligations give."""

from __future__ import annotations

from tests.rules_page import PAGE, aspects, page
from tests.specification.undecided import UNDECIDED


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, "run python -m tests.rules_page"


def test_reasons_are_told_apart() -> None:
    found = {item.name: item for item in aspects()}
    assert not found["Relu"].has_clauses
    assert found["MatMul"].obligations.keys() >= {"exact", "necessary", "sufficient"}
    assert not found["MaxUnpool"].complete
    assert "sufficient" not in found["MaxUnpool"].obligations
    assert {operator for operator, _ in UNDECIDED} <= set(found)
