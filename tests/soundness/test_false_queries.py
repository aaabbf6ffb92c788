"""A slice of the queries that runs show to be false: they are refuted, and none is proved."""

from __future__ import annotations

import random

from tests.adversarial.__main__ import everything
from tests.soundness.false_queries import Observation, Verdicts, false_queries, of_small_model, stable


def test_small_models() -> None:
    total = Verdicts()
    for item in list(everything())[::8]:
        total.add(of_small_model(item, random.Random(item.name), 4))
    assert not total.wrong, "\n".join(total.wrong)
    assert total.asked >= 100
    assert total.share("refuted") >= 0.8, total.counts


def test_sizes_that_data_decide_are_left_out() -> None:
    runs = [
        Observation({"N": 2}, {"x": (2, 3), "found": (1,)}),
        Observation({"N": 5}, {"x": (5, 3), "found": (1,)}),
        Observation({"N": 2}, {"x": (2, 3), "found": (4,)}),
    ]
    assert stable(runs) == {"x"}


def test_every_query_is_false_in_a_run() -> None:
    runs = [Observation({"N": n}, {"x": (n, 3), "y": (2 * n, 1)}) for n in (1, 2, 6)]
    queries = list(false_queries(runs, random.Random(0), 40))
    assert len({query.text for query in queries}) == len(queries) >= 20
    assert all(any(not query.holds(run.sizes, run.shapes) for run in runs) for query in queries)
