"""Copies of random models that a hunt found wrong once, and of a few others."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.jobs.copy_hunt import nested, trapped, wrong


@pytest.mark.parametrize("seed", [5, 1_700_016, 1_700_300])
def test_copies_of_random_models_give_the_same(seed: int) -> None:
    """In 1700016 onnxruntime loads the model without optimisations only; in 1700300 it moves a loop out of a branch.

    The loops make no trip.
    """
    total: Counter[str] = Counter()
    for case in (nested(seed), trapped(seed)):
        assert case is None or list(wrong(case, total)) == []
    assert total["runs"]
