"""docs/differences.md is what its rows are when they run, and each semantics says what its runs do."""

from __future__ import annotations

import re

import pytest

from absint.transfer.families import shipped
from absint.transfer.semantics import ONNX, RUNTIME, Semantics
from tests.differences.outcomes import claimed
from tests.differences.page import PAGE, cells, written
from tests.differences.rows import Row, found, rows

ROWS = rows()


@pytest.mark.filterwarnings("ignore")
def test_the_page_is_up_to_date() -> None:
    versions = re.compile("With onnx .*")
    old, new = PAGE.read_text("utf-8"), written()
    if versions.findall(old) == versions.findall(new):
        assert old == new, "run python -m tests.differences"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.case.op}-{row.versions}-{row.node}")
@pytest.mark.filterwarnings("ignore")
def test_a_semantics_says_what_its_runs_do(row: Row) -> None:
    for version, (_, runtime, _) in row.cells.items():
        if row.document.startswith(("[", "a sequence", "excluded")):
            assert agrees(row, version, ONNX, "fails" if row.document.startswith("excluded") else row.document)
        if not row.death and runtime != "no kernel":
            assert agrees(row, version, RUNTIME, runtime)


def agrees(row: Row, version: int, semantics: Semantics, outcome: str) -> bool:
    """The answer under a semantics is the outcome, or leaves it open."""
    case = row.cases[version]
    answer = claimed(case, row.at, semantics)
    if outcome == "fails":
        rule = shipped().lookup(case.domain, case.op, version)
        return answer == "illegal" or answer.endswith(" or fails") or (rule is not None and not rule.complete)
    pattern = re.escape(answer.removesuffix(" or fails")).replace(r"\?", r"\d+").replace("any\\ rank", r"\[.*\]")
    return re.fullmatch(pattern, outcome) is not None


def test_each_row_is_a_difference() -> None:
    for row in found():
        outcomes = {row.document.partition(":")[0].replace("excluded", "fails")}
        for reference, runtime, _ in row.cells.values():
            outcomes |= {reference, row.death or runtime} - {"no kernel", "not implemented"}
        assert len(outcomes) > 1, next(cells(row))


def test_the_page_shows_what_the_rule_says_of_an_empty_batch() -> None:
    node = "[0, 0, 0] kernel_shape=[2] strides=[3]"
    (row,) = (row for row in ROWS if row.case.op == "AveragePool" and row.node == node)
    assert row.cells[22] == ("[0, 0, 0]", "[0, 0, 1]", "[0, 0, 1]")
