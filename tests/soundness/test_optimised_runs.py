"""Models that run without optimisations alone: the job finds what docs/concepts/answers.md lists, and nothing else."""

from __future__ import annotations

from itertools import islice

from tests.jobs.optimised_runs import KNOWN, Drawn, differences, draws

LONG = Drawn(16, (1, 2), (1, 1), "MaxPool", (2, 1), 0, 1)


def test_a_pool_whose_window_is_longer_than_its_axis_is_found() -> None:
    fits = LONG._replace(sizes=(2, 2))
    assert list(differences([LONG, fits])) == [(KNOWN[0], LONG)]
    assert KNOWN[0] == "MaxPool, a window longer than an axis: ends"


def test_drawn_models_show_no_other_kind() -> None:
    assert {kind for kind, _ in differences(islice(draws(11), 150))} <= set(KNOWN)
