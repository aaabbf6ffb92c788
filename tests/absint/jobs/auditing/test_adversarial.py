"""Declarations of small models that are false at some sizes, each refuted by a run; what the analysis says never is."""

from __future__ import annotations

import pytest

import absint
from absint.jobs.auditing import Judgement, by_policy, by_result, declared, judge
from tests.adversarial import MODELS, THEMES

FALSE = {
    "declarations-one_name_for_two_sizes": {"w[0] == z[0]"},
    "declarations-input_name_for_a_sum": {"z[0] == N"},
    "declarations-inner_value_lies": {"y[0] == N"},
    "declarations-half_declared_as_whole": {"z[0] == N"},
    "declarations-maximum_declared": {"z[0] == max(M, N)"},
    "declarations-first_dim_of_a_broadcast": {"z[0] == N"},
    "declarations-count_declared": {"z[1] == N"},
    "declarations-true_expression": set(),
    "declarations-true_name_of_a_sum": set(),
    "declarations-batch_that_is_one": set(),
    "names-outer_name_inside_a_branch": {"If#0/then_branch/p[0] == N"},
    "names-outer_name_inside_a_loop": {"Loop#0/body/v[0] == N", "Loop#0/body/w[0] == N"},
    "names-outer_name_inside_a_scan": {"Scan#0/body/r[0] == N"},
}


@pytest.mark.parametrize("name", FALSE)
def test_false_declarations_are_refuted_by_a_run(name: str) -> None:
    case = MODELS[name]
    result = absint.analyze(case.model)
    refuted = judge(result, declared(case.model), sizes=case.bindings).of(Judgement.REFUTED)
    assert {item.relation for item in refuted} == FALSE[name]
    assert all(item.confirmed for item in refuted)


@pytest.mark.parametrize("theme", THEMES)
def test_nothing_that_the_analysis_says_is_refuted(theme: str) -> None:
    for name, case in THEMES[theme].items():
        result = absint.analyze(case.model)
        found = judge(result, by_result("sound", result), sizes=case.bindings)
        assert found.counts[Judgement.PROVED] == len(found.judged), name


def test_an_unsound_policy_is_refuted_where_sizes_broadcast() -> None:
    refuted = 0
    for case in THEMES["broadcasting"].values():
        result = absint.analyze(case.model)
        found = judge(result, by_policy("max", result), sizes=case.bindings)
        assert all(item.confirmed for item in found.of(Judgement.REFUTED))
        refuted += found.counts[Judgement.REFUTED]
    assert refuted >= 5
