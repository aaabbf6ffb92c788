"""Choices that make no difference, checked by value."""

from __future__ import annotations

import pytest
from hypothesis import given as drawn, settings

from absint.lattices.logic.piecewise import choices, excludes, given, product_settled, restrict, settled
from absint.lattices.logic.relation import Relation, broadcastable, eq, ge, ite, le
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.normal import broadcast, maximum, minimum
from absint.lattices.text import parse
from tests import reference
from tests.effort import examples
from tests.lattices.test_expr_fuzz import bindings, defined, trees
from tests.reference import Tree

S, H, M = Dim("S"), Dim("H"), Dim("M")
POSITIVE = ge(S, 1)
SIZES = [{"S": s, "H": h, "M": m} for s in (0, 1, 2, 9) for h in (0, 1, 6, 7, 8) for m in (0, 1, 3)]


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (ite(POSITIVE, S, 0), S),
        (minimum(H, ite(ge(H, 1), 7 * ((H + 6) // 7), 7)), H),
        (ite(POSITIVE, ite(POSITIVE, M, 2), 3), ite(POSITIVE, M, 3)),
        (ite(POSITIVE, S * M, M), ite(POSITIVE, S * M, M)),
        (maximum(ite(POSITIVE, S, 1), 1), maximum(S, 1)),
    ],
    ids=str,
)
def test_settled(dim: Dim, expected: Dim) -> None:
    result = settled(dim)
    assert result is expected
    for binding in SIZES:
        assert result.evaluate(binding) == dim.evaluate(binding)


def test_a_choice_that_guards_a_divisor_stays() -> None:
    """0//H, which is written 0, has no value where H is 0."""
    guarded = ite(POSITIVE, S * M // H, 0)
    assert settled(guarded) is guarded
    assert guarded.evaluate({"S": 0, "M": 3, "H": 0}) == 0
    assert settled(ite(POSITIVE, S * M // (H + 1), 0)) is S * M // (H + 1)


@pytest.mark.parametrize("condition", [POSITIVE, le(S, 0), eq(H, 7), ge((H + 6) // 7, 1), ge(M, 2)], ids=str)
def test_restrict_keeps_the_value(condition: Relation) -> None:
    dim = ite(POSITIVE, S * H, M) + minimum(H // 7, ite(ge(H, 1), M, S))
    restricted = restrict(dim, condition)
    assert isinstance(restricted, Expr)
    assert restricted.symbols <= dim.symbols
    for binding in SIZES:
        if condition.evaluate(binding):
            assert restricted.evaluate(binding) == dim.evaluate(binding)


def test_a_premise_decides_choices() -> None:
    other = ite(POSITIVE, S, 192)
    premise = broadcastable(S, other)
    assert excludes(le(S, 0), premise)
    assert not excludes(POSITIVE, premise)
    assert given(premise, broadcast(S, other)) is S
    assert given(premise, ite(ge(M, 1), S, H)) is ite(ge(M, 1), S, H)


def test_many_choices_are_left_alone() -> None:
    dim: Dim = S
    for i in range(12):
        dim = ite(ge(Dim(f"N{i}"), 1), dim, i + 2)
    assert choices(dim) == ()
    assert settled(dim) is dim


def test_an_extreme_that_a_premise_decides_is_one_operand() -> None:
    seq, table = parse("seq"), parse("min(seq, 64)")
    assert given(broadcastable(seq, table), broadcast(seq, table)) is seq
    kept = broadcast(seq, parse("min(seq, past)"))
    assert given(broadcastable(seq, parse("min(seq, past)")), kept) is kept


@pytest.mark.parametrize(
    ("dim", "simpler"),
    [
        ("S*ite(S == 0, 1, H)", "S*H"),
        ("S*broadcast(H, ite(S == 0, max(H, 1), H))", "S*H"),
        ("4*S*max(S, 1)*H + H*ite(H == 0, max(M, 1), M)", "4*S**2*H + H*M"),
        ("S*ite(H == 0, 1, M)", "S*ite(H == 0, 1, M)"),
        ("S*ite(S == 0, 5, H//S)", "S*ite(S == 0, 5, H//S)"),
        ("max(S, 1)", "max(S, 1)"),
    ],
)
def test_a_choice_beside_a_factor_that_is_0(dim: str, simpler: str) -> None:
    assert product_settled(parse(dim)) is parse(simpler)


@settings(max_examples=examples(300))
@drawn(trees, trees, bindings)
def test_products_keep_their_value(a: Tree, b: Tree, some: list[dict[str, int]]) -> None:
    whole: Tree = ("+", ("*", ("symbol", "N"), a), ("*", ("*", ("symbol", "M"), ("symbol", "K")), b))
    dim = reference.build(whole)
    for binding, value in defined(whole, some):
        settled_dim = product_settled(dim)
        assert settled_dim.is_unknown or settled_dim.evaluate(binding) == value
