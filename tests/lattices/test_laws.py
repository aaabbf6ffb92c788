"""Every domain against every law."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.logic.relation import NO, UNKNOWN, YES, Truth
from tests.effort import examples
from tests.laws import LAWS, Domain, widening_chain_ends
from tests.strategies import DOMAINS

by_name = pytest.mark.parametrize("domain", DOMAINS, ids=str)


@by_name
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_law(domain: Domain, law: object) -> None:
    @settings(max_examples=examples(120))
    @given(domain.elements, domain.elements, domain.elements)
    def holds(a: object, b: object, c: object) -> None:
        law(domain, a, b, c)  # type: ignore[operator]

    holds()


@by_name
def test_widening_chain_ends(domain: Domain) -> None:
    @settings(max_examples=examples(10))
    @given(domain.elements, st.lists(domain.elements, max_size=8))
    def holds(start: object, news: list[object]) -> None:
        widening_chain_ends(domain, start, news)

    holds()


@by_name
def test_the_strategies_reach_the_universe(domain: Domain) -> None:
    """The soundness law is not empty: many elements allow something, and not everything."""
    informative = []

    @settings(max_examples=examples(200))
    @given(domain.elements)
    def collect(element: object) -> None:
        allowed = len(domain.values(element))
        informative.append(0 < allowed < len(domain.universe))

    collect()
    assert sum(informative) >= 15
    assert len(domain.universe) <= 2_000


MEANING = {YES: {True}, NO: {False}, UNKNOWN: {False, True}}


def described(values: set[bool]) -> Truth:
    return next(t for t, meaning in MEANING.items() if meaning == values)


@pytest.mark.parametrize("a", Truth)
@pytest.mark.parametrize("b", Truth)
def test_truth_is_the_best_abstraction_of_booleans(a: Truth, b: Truth) -> None:
    assert a & b is described({x and y for x in MEANING[a] for y in MEANING[b]})
    assert a | b is described({x or y for x in MEANING[a] for y in MEANING[b]})
    assert ~a is described({not x for x in MEANING[a]})


def test_truth_never_passes_for_a_bool() -> None:
    assert (Truth.of(True), Truth.of(False)) == (YES, NO)
    for truth in Truth:
        with pytest.raises(TypeError, match=r"is Truth\.YES"):
            bool(truth)
