"""A few random nodes with random ranges; `python -m tests.soundness.random_ranges` runs thousands."""

from __future__ import annotations

import pytest

from absint.analyses.ranges.analysis import RULES
from absint.analyses.ranges.rules import NONE
from absint.analyses.ranges.seen import At
from absint.lattices.domains import Span
from tests.soundness.random_ranges import examine, operators, seeded

ALL = operators()
FIRST = 500


@pytest.mark.parametrize("seeds", [range(at, at + 20) for at in range(FIRST, FIRST + 80, 20)], ids=str)
def test_no_number_leaves_its_range(seeds: range) -> None:
    verdicts = [examine(seeded(seed, [ALL[seed % len(ALL)]])) for seed in seeds]
    assert [wrong for verdict in verdicts for wrong in verdict.wrong] == []
    assert sum(verdict.bounded for verdict in verdicts) > 20


def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(at: At) -> Span:
        return at.ranges[0] or NONE

    monkeypatch.setattr("absint.analyses.ranges.analysis.RULES", {**RULES, "Neg": wrong})
    assert any(examine(seeded(seed, [("", "Neg")])).wrong for seed in range(20))
