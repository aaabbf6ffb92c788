"""Numbers made of sizes, up to 70,000, held against runs: see `numeric_chains` for a longer hunt."""

from __future__ import annotations

from tests.soundness.numeric_chains import hunt


def test_numbers_agree_with_runs_wherever_their_premises_hold() -> None:
    tried, found = hunt(range(250), seconds=120)
    assert tried == 250
    assert not found


def test_a_number_that_wrapped_is_no_ordinary_size() -> None:
    """Chains in which a product wraps around and is computed with further."""
    assert not hunt([5004, 7034], seconds=60)[1]
