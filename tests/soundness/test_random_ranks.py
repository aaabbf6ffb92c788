"""A few random models over inputs of unknown rank; `python -m tests.soundness.random_ranks` runs thousands."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.soundness.random_ranks import draft, wrong


@pytest.mark.parametrize("seeds", [range(at, at + 10) for at in range(0, 40, 10)], ids=str)
def test_no_run_leaves_the_claims(seeds: range) -> None:
    totals: Counter[str] = Counter()
    found = [f"seed {seed}: {what}" for seed in seeds if (made := draft(seed)).nodes for what in wrong(made, totals)]
    assert not found
    assert totals["runs"] > 20
    assert totals["known"] > 20
