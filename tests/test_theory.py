"""docs/theory.md names tests and planted faults: each exists, and each fault is one that such a test catches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mutants.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "theory.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[^`]*)`", TEXT)))
ROWS = [
    (re.findall(r"`([a-z0-9-]+)`", cells[2]), re.findall(r"`(tests/[^`]*)`", cells[3]))
    for line in TEXT.splitlines()
    if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("| ").split("|")]) == 4
    if "`" in cells[2]
]


@pytest.mark.parametrize("name", NAMED)
def test_each_named_test_exists(name: str) -> None:
    file, _, test = name.partition("::")
    assert (ROOT / file).exists()
    assert not test or f"def {test}(" in (ROOT / file).read_text("utf-8")


def test_a_test_is_named_by_its_path() -> None:
    assert not re.findall(r"`test_\w+\.py`", TEXT)
    assert len(NAMED) > 30


@pytest.mark.parametrize(("faults", "tests"), ROWS, ids=lambda part: part[0] if part else "")
def test_a_fault_is_caught_by_a_test_of_its_row(faults: list[str], tests: list[str]) -> None:
    assert faults
    for fault in faults:
        files = {oracle.split()[1].partition("::")[0] for oracle in CATALOGUE[fault].oracles}
        assert files & set(tests), f"{fault} is caught by {', '.join(sorted(files))}"


def test_each_section_with_a_claim_names_a_test() -> None:
    for section in re.split(r"(?m)^## ", TEXT)[1:]:
        if "Proposition" in section or "Soundness of" in section:
            assert "`tests/" in section, section.splitlines()[0]
