"""Printing shares the work on shared operands, and keeps nothing of expressions that are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from absint.lattices.logic.relation import Relation, eq
from absint.lattices.terms.expr import Dim, Expr, const, symbol
from absint.lattices.terms.normal import floordiv, maximum
from absint.lattices.text import format_dim, format_relation, layout, notation, parse, parse_relation

N = symbol("N")


def tower(levels: int, base: Dim = N) -> Dim:
    """Each level has the one below it twice, so the text doubles."""
    for level in range(levels):
        base = maximum(floordiv(base, symbol("M")), floordiv(base + const(level), symbol("K")))
    return base


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Expr | Relation]]:
    """The expressions that are laid out while a test runs."""
    notation.forget()
    seen: list[Expr | Relation] = []

    def noted(value: Expr | Relation) -> tuple[int, list[layout.Piece]]:
        seen.append(value)
        return layout.laid_out(value)

    monkeypatch.setattr(notation, "laid_out", noted)
    yield seen
    notation.forget()


def test_shared_operands_are_laid_out_once(laid_out: list[Expr | Relation]) -> None:
    dim = tower(9)
    text = format_dim(dim)
    assert len(text) > 5_000
    assert len(laid_out) == len(set(laid_out)) <= 4 * 9 + 3
    assert parse(text) is dim
    count = len(laid_out)
    assert format_dim(dim) == text
    assert len(laid_out) == count, "the second time nothing is laid out"
    format_dim(maximum(dim, N))
    assert len(laid_out) == count + 1


def test_a_relation_shares_the_forms_of_its_expressions(laid_out: list[Expr | Relation]) -> None:
    dim = tower(5)
    format_dim(dim)
    count = len(laid_out)
    relation = eq(maximum(dim, symbol("H")), symbol("L"))
    text = format_relation(relation)
    assert parse_relation(text) is relation
    assert len(laid_out) <= count + 3


def test_a_form_does_not_keep_its_expression_alive() -> None:
    """Nothing that a form holds leads back to the expression itself."""
    dim = tower(3)
    format_dim(dim)
    pending, seen = [notation._forms[dim]], set()
    while pending:
        form = pending.pop()
        for piece in form.pieces:
            if isinstance(piece, notation.PrintedPart) and piece.value not in seen:
                seen.add(piece.value)
                pending.append(piece.form)
    assert seen
    assert dim not in seen


def test_the_number_of_forms_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    notation.forget()
    monkeypatch.setattr(notation, "MAX_FORMS", 10)
    texts = {name: format_dim(floordiv(symbol(name), const(2))) for name in "ABCDEFGHIJKLMNOP"}
    assert texts["A"] == "A//2"
    assert texts["P"] == "P//2"
    assert len(notation._forms) <= 12
