"""Queries about values behind control flow: what the definitions of branches and the forms of loops prove."""

from __future__ import annotations

import pytest

from absint import analyze
from tests.absint.shapes.flows import FLOWS

PROVED = [
    ("if_by_data", "N <= z[0] and z[0] <= 2*N"),
    ("if_by_data", "z[0] == N or z[0] == 2*N"),
    ("if_by_an_input", "flag -> z[0] == 2*N"),
    ("if_by_an_input", "z[0] == N + flag*N"),
    ("if_nested_by_inputs", "f or y[0] == N"),
    ("if_nested_by_inputs", "not g -> y[0] == ite(f, M, N)"),
    ("if_nested", "y[0] <= N + M"),
    ("if_shapes_agree_between_outputs", "y[0] == y2[0]"),
    ("if_shapes_agree_between_outputs", "y[0] >= min(N, M)"),
    ("if_with_sizes_born_in_a_branch", "y[1] <= 2*N"),
    ("if_by_a_relation_over_dims", "y[0] <= N + 2"),
    ("if_by_a_number_of_the_data", "y[0] == z[0]"),
    ("optional_present_in_one_branch", "y[0] <= N + M"),
    ("loop_swaps", "p[0] + q[0] == N + M"),
    ("loop_rotates_three", "p[0] + q[0] + r[0] == N + M + 3"),
    ("loop_shrinks", "y[0] <= N"),
    ("if_in_a_loop", "y[0] >= N"),
    ("loop_grows_by_one_a_dim_many_times", "y[0] >= T"),
    ("loop_doubles", "y[0] >= N"),
    ("loop_halves_an_unknown_number_of_times", "y[0] <= N and y[0] <= v[0]"),
    ("loop_divides_what_it_adds_to", "a_y[0] <= max(symbol(N), symbol(K))"),
]
OPEN = [
    ("loop_divides_what_it_adds_to", "a_y[0] >= symbol(K)"),
    ("if_by_data", "z[0] == N"),
    ("if_by_an_input", "z[0] == N"),
    ("if_nested", "y[0] >= N"),
    ("loop_shrinks", "y[0] == N"),
    ("loop_halves_an_unknown_number_of_times", "N == 0 or y[0] < N"),
    ("loop_doubles", "y[0] <= N"),
]


@pytest.mark.parametrize(("name", "query"), PROVED)
def test_proved(name: str, query: str) -> None:
    assert analyze(FLOWS[name]().model).prove(query).verdict.name == "PROVED"


@pytest.mark.parametrize(("name", "query"), OPEN)
def test_not_proved(name: str, query: str) -> None:
    """There is a run in which it is false, or the bounds are all that is known."""
    assert analyze(FLOWS[name]().model).prove(query).verdict.name in ("NOT_ENTAILED", "REFUTED")


def test_a_guarded_definition_is_used_under_an_assumption() -> None:
    """A data-dependent condition leaves one size if both branches have it."""
    result = analyze(FLOWS["if_shapes_agree_between_outputs"]().model)
    assert result.prove("y[0] == N").verdict.name != "PROVED"
    assert result.prove("y[0] == N", assume=["N == M"]).verdict.name == "PROVED"
