"""Choices that make no difference, checked by value."""

from __future__ import annotations

import pytest

from lattices.expr import Dim, Expr
from lattices.normal import broadcast, maximum, minimum
from lattices.piecewise import choices, excludes, given, restrict, settled
from lattices.relation import Relation, broadcastable, eq, ge, ite, le
from lattices.text import parse

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
