"""docs/cost.md has the definition of every operator, and the reason where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from absint.questions.costs.operators.rules import FAMILIES, WITHOUT_RULE

DOCUMENT = Path(__file__).parents[3] / "docs" / "cost.md"


def rows() -> Iterator[str]:
    """One for each definition, with the operators of all domains."""
    names: dict[str, list[str]] = {}
    for family in FAMILIES:
        operators = (f"{domain}::{name}" if domain else name for domain, name in family.keys)
        names.setdefault(family.rule.text, []).extend(operators)
    for text, operators in names.items():
        yield f"| {', '.join(operators)} | {text} |"


def without() -> Iterator[str]:
    for names, reason in WITHOUT_RULE.items():
        yield f"| {', '.join(names.split())} | {reason} |"


def test_the_tables_are_those_of_the_rules() -> None:
    lines = DOCUMENT.read_text("utf-8").splitlines()
    tables = [
        line
        for line in lines
        if line.startswith("| ") and line not in ("| operators | cost |", "| operators | reason |")
    ]
    assert tables == [*rows(), *without()]
