"""Answers about random pairs, held against runs of both at all small sizes."""

from random import Random

import pytest

import absint
from tests.absint.jobs.diffing.models import model
from tests.absint.jobs.diffing.random_pairs import FAMILIES, Drawn, complaints


@pytest.mark.share(4)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.strip("_"))
def test_no_run_contradicts_an_answer(family: object) -> None:
    assert callable(family)
    draw = Random(7)
    for _ in range(4):
        pair = Drawn(family(draw), family(draw))
        found = absint.diff(model(pair.first), model(pair.second))
        assert list(complaints(pair, found)) == [], f"{pair}\n{found}"
