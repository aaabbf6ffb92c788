"""The lists in docs/rules.md are those that the obligations give."""

from __future__ import annotations

import onnx

from absint.research.specification.specs import specification
from tests.pages.rules import PAGE, Row, aspects, page, rows, without
from tests.specification import incomplete
from tests.specification.undecided import UNDECIDED
from tests.specification.unspecified import REASONS, unexplained


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, "run python -m tests.pages.rules"


def test_reasons_are_told_apart() -> None:
    found = {item.name: item for item in aspects()}
    assert not found["Relu"].has_clauses
    assert found["MatMul"].obligations.keys() >= {"exact", "necessary", "sufficient"}
    assert not found["com.microsoft::QMoE"].complete
    assert "sufficient" not in found["com.microsoft::QMoE"].obligations
    assert {operator for operator, _ in UNDECIDED} <= set(found)
    assert found["Transpose"].rejects
    assert not found["Relu"].rejects
    assert set(found) <= set(rows())
    assert rows()["CumSum"] == Row(states=True, keeps=True)
    assert rows()["Sin"] == Row(states=False, keeps=False)
    assert rows()["com.microsoft::Range"].keeps


def test_each_operator_without_a_specification_has_a_reason() -> None:
    assert unexplained(without()) == []
    assert unexplained([name for name in without() if name != "NonZero"]) == ["NonZero"]
    assert unexplained([*without(), "Relu"]) == ["Relu"]


def test_every_operator_of_onnx_is_specified_or_has_a_reason() -> None:
    named = {name for names in REASONS.values() for name in names.split()}
    for schema in onnx.defs.get_all_schemas():
        if schema.domain in ("", "ai.onnx.ml") and not schema.deprecated:
            name = f"{schema.domain}::{schema.name}" if schema.domain else schema.name
            found = specification(schema.domain, schema.name, schema.since_version)
            assert (found is None) == (name in named), name


def test_each_rule_that_promises_nothing_has_a_reason() -> None:
    assert incomplete.unexplained() == []
    onnx_alone = [name for name in incomplete.incomplete() if "::" not in name]
    assert len(onnx_alone) <= 10, onnx_alone
