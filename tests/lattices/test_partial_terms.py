"""Terms without a value: broadcasts of sizes that do not fit, quotients by 0, and choices around them."""

from __future__ import annotations

import pytest

from absint.lattices.logic.piecewise import cases, choices, is_defined, product_settled, settled, shortest
from absint.lattices.logic.relation import FALSE, TRUE, defined, eq, falsity, fitting, ge, ite, truth
from absint.lattices.terms.expr import Dim, Expr, UndefinedError
from absint.lattices.terms.normal import broadcast, floordiv
from absint.lattices.text import parse, parse_relation
from tests.effort import examples
from tests.jobs.partial_terms import hunt

M, N, K = Dim("M"), Dim("N"), Dim("K")


def test_a_broadcast_has_a_value_where_its_operands_fit() -> None:
    size = broadcast(M, N, K)
    assert size.evaluate({"M": 1, "N": 5, "K": 5}) == 5
    assert size.evaluate({"M": 1, "N": 0, "K": 1}) == 0
    with pytest.raises(UndefinedError, match="do not broadcast"):
        size.evaluate({"M": 2, "N": 1, "K": 3})
    with pytest.raises(UndefinedError, match="do not broadcast"):
        (size + 1).evaluate({"M": 0, "N": 1, "K": 3})


def test_a_relation_over_one_is_neither_true_nor_false() -> None:
    relation = parse_relation("broadcast(M, N) == 2")
    apart, fit = {"M": 2, "N": 3}, {"M": 2, "N": 1}
    with pytest.raises(UndefinedError):
        relation.evaluate(apart)
    assert truth(relation).evaluate(fit)
    assert not truth(relation).evaluate(apart)
    assert not falsity(relation).evaluate(apart)
    assert (relation | ge(N, 3)).evaluate(apart)
    assert defined(relation) is defined(broadcast(M, N))
    assert defined(broadcast(N, 64)) is TRUE


@pytest.mark.parametrize("count", [2, 6, 7, 9])
def test_many_operands_fit_pairwise(count: int) -> None:
    names = [f"s{i}" for i in range(count)]
    relations = fitting([e for name in names if isinstance(e := Dim(name), Expr)])
    assert len(relations) <= 15
    for sizes, fits in (
        ([1] * count, True),
        ([1, 4] + [1] * (count - 2), True),
        ([4] * (count - 1) + [5], False),
        ([5] + [1] * (count - 2) + [0], False),
    ):
        binding = dict(zip(names, sizes, strict=True))
        assert all(relation.evaluate(binding) for relation in relations) is fits


def test_a_side_that_has_no_value_there_does_not_take_the_place_of_the_whole() -> None:
    """The broadcast folds to 0 where N is 0, but has no value there unless K is 0 or 1."""
    whole = ite(ge(N, 1), broadcast(K, N), 0)
    assert settled(whole) is whole
    assert shortest(whole) is whole
    assert whole.evaluate({"N": 0, "K": 2}) == 0
    assert settled(ite(ge(N, 1), broadcast(1, N), 0)) is N
    other = ite(ge(N, 1), 3, broadcast(K, N) + 3)
    assert settled(other).evaluate({"N": 2, "K": 3}) == 3


def test_a_broadcast_that_a_condition_lets_fit() -> None:
    assert is_defined(broadcast(K, N), eq(K, 1))
    assert not is_defined(broadcast(K, N), eq(K, 0))
    assert is_defined(ite(eq(K, 1), broadcast(K, N), M), TRUE)
    assert not is_defined(ite(eq(K, 0), broadcast(K, N), M), TRUE)


def test_a_condition_inside_another_choice_is_no_case_of_the_whole() -> None:
    """Moved outwards, it would be asked where it divides by 0."""
    inner = ge(floordiv(N, M), 2)
    whole = ite(ge(M, 1), ite(inner, K, N), 7)
    assert set(choices(whole)) == {ge(M, 1), inner}
    assert set(cases(whole)) == {ge(M, 1)}
    assert set(cases(ite(inner, K, N) + 1)) == {inner}
    assert shortest(whole).evaluate({"M": 0, "N": 5, "K": 3}) == 7


def test_a_choice_of_one_symbol_stays_where_a_side_has_no_value() -> None:
    whole = ite(ge(N, 2), 2, parse("broadcast(min(N, 2), N + 1)"))
    for size in (2, 3, 4):
        assert whole.evaluate({"N": size}) == 2
    assert ite(ge(N, 2), parse("broadcast(min(N, 2), max(N - 1, 2))"), 0).evaluate({"N": 1}) == 0


def test_a_factor_of_0_keeps_no_term_without_a_value() -> None:
    size = N * ite(eq(N, 0), 3, broadcast(M, K))
    assert product_settled(size) is size
    assert size.evaluate({"N": 0, "M": 2, "K": 3}) == 0


def test_nothing_is_said_of_no_sizes() -> None:
    assert truth(parse_relation("broadcast(N, 64) == 64")) is TRUE
    assert falsity(parse_relation("broadcast(N, 64) == 64")) is FALSE


@pytest.mark.parametrize("seed", range(2))
def test_simplifying_never_changes_or_loses_a_value(seed: int) -> None:
    count, found = hunt(seed, examples(40_000))
    assert count >= 20_000
    assert not found, "\n".join(map(str, found[:5]))
