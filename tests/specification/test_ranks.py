"""Obligations at any rank are copies of those at a small one, for operators that treat every axis alike."""

from __future__ import annotations

import pytest

from absint.research.obligations.making import obligations
from absint.research.obligations.solving import Obligation, decided
from absint.research.specification.specs import specification
from absint.solver.backend import Backend
from absint.transfer.families import shipped
from tests.specification.ranks import BOUND, FAMILIES, Family, axes, claims, renamed

EVERY = [(operator, version, family) for names, version, family in FAMILIES for operator in names.split()]


@pytest.mark.parametrize(("operator", "version", "family"), EVERY)
def test_axes_are_treated_alike(operator: str, version: int, family: Family) -> None:
    first = claims(operator, version, family.instance(family.least + 1))
    assert first.sizes
    for rank in range(family.least + 2, BOUND + 1):
        found = claims(operator, version, family.instance(rank))
        assert found.across == (), rank
        assert found == first, rank


def test_the_smallest_rank_is_proved() -> None:
    seen = set()
    with Backend() as backend:
        for operator, version, family in EVERY:
            spec, rule = specification("", operator, version), shipped().lookup("", operator, version)
            assert spec is not None
            assert rule is not None
            for item in obligations(rule, spec, operator, version, family.instance(family.least + 1)):
                if isinstance(item, Obligation) and item.script not in seen:
                    seen.add(item.script)
                    assert decided(item, backend).verdict == "proved", item.claim
    assert len(seen) > 100


def test_what_speaks_of_two_axes_is_seen() -> None:
    assert axes("(A0_a1 + A1_a1 * A0_b)") == {"1"}
    assert axes("(A0_a1 * A0_a2)") == {"1", "2"}
    assert renamed("(A0_a1 <= A1_b)") == "(A0_a <= A1_b)"
    assert claims("Flatten", 21, Family().instance(3)).across
    assert claims("Add", 14, Family(lambda rank: ["a" * rank] * 2).instance(3)).across == ()
