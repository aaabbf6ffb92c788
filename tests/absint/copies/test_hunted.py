"""Copies of random models that a hunt found wrong once, and of a few others."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.jobs.copy_hunt import nested, trapped, wrong


@pytest.mark.parametrize("seed", [5, 1_700_016])
def test_copies_of_random_models_give_the_same(seed: int) -> None:
    """1700016: onnxruntime loads the model without optimisations only, and a loop makes no trip."""
    total: Counter[str] = Counter()
    for case in (nested(seed), trapped(seed)):
        assert case is None or list(wrong(case, total)) == []
    assert total["runs"]
