"""Kinds and origins of symbols: the name spells them, so symbols stay one for each name and bounds."""

from __future__ import annotations

import pickle
from typing import NoReturn

import pytest

import absint
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import boolean, ge, le, truth_of
from absint.lattices.terms.atoms import Origin, SymbolKind
from absint.lattices.terms.expr import MAX_DIM, Symbol, expr_of, symbol
from absint.lattices.unify import POLICIES
from tests.absint.shapes.flows import FLOWS

NODE_KINDS = [kind for kind in SymbolKind if kind not in (SymbolKind.INPUT, SymbolKind.HOLE, SymbolKind.PLACEHOLDER)]


@pytest.mark.parametrize("kind", NODE_KINDS)
@pytest.mark.parametrize("tag", ["0.1", "trip", "a:b/c", ""])
def test_an_invented_symbol_knows_its_kind_node_and_tag(kind: SymbolKind, tag: str) -> None:
    found = Symbol.fresh(12, tag, 0, 9, kind)
    assert (found.kind, found.origin, found.origin_node) == (kind, Origin(12, tag), 12)
    assert Symbol.fresh(12, tag, 0, 9, kind) is Symbol(found.name, 0, 9) is found
    assert pickle.loads(pickle.dumps(found)) is found
    assert len({Symbol.fresh(12, tag, 0, 9, other) for other in NODE_KINDS}) == len(NODE_KINDS)


def test_a_hole_is_filled_by_each_node_with_a_symbol_of_its_own() -> None:
    hole = Symbol.hole("0.1", 1, 7)
    assert (hole.kind, hole.origin, hole.origin_node) == (SymbolKind.HOLE, Origin(None, "0.1"), None)
    assert hole.filled(3) is Symbol.fresh(3, "0.1", 1, 7)
    assert hole.filled(4) is not hole.filled(3)
    assert hole.filled(3, SymbolKind.DATA) is Symbol.fresh(3, "0.1", 1, 7, SymbolKind.DATA)


@pytest.mark.parametrize("name", ["N", "", "hole:x", "12:0.1", "data/x", "\\%3:x"])
def test_a_name_of_a_model_is_an_input(name: str) -> None:
    found = Symbol(name)
    assert (found.kind, found.origin, found.origin_node) == (SymbolKind.INPUT, None, None)


def test_a_placeholder_has_no_origin() -> None:
    found = Symbol.placeholder("N/4")
    assert (found.kind, found.origin, found.origin_node) == (SymbolKind.PLACEHOLDER, None, None)


def test_bounds_change_and_the_kind_stays() -> None:
    found = Symbol.fresh(3, "0", 0, MAX_DIM)
    narrow = found.within(2, 5)
    assert (narrow.bounds, narrow.kind, narrow.origin) == ((2, 5), found.kind, found.origin)
    assert Facts([ge(expr_of(found), 2), le(expr_of(found), 5)]).simplify(expr_of(found)) is expr_of(narrow)


def test_a_truth_is_decided_by_data_unless_it_is_an_input() -> None:
    truth = Symbol.fresh(3, "condition", 0, 1)
    assert truth.is_by_data
    assert truth_of(truth) is boolean(truth.name)
    assert Symbol.hole("condition", 0, 1).is_by_data
    assert not Symbol("flag", 0, 1).is_by_data
    assert not Symbol.fresh(3, "0", 0, 9).is_by_data


def no_symbol(*_: object) -> NoReturn:
    raise AssertionError("a new symbol")


def test_an_invented_symbol_is_no_shorter_name_than_one_of_the_inputs() -> None:
    equal = POLICIES["shortest-name"].equal
    invented, batch = expr_of(Symbol.fresh(3, "0", 0, MAX_DIM)), symbol("batch")
    assert equal is not None
    assert equal(invented, batch, no_symbol) is equal(batch, invented, no_symbol) is batch


def test_kinds_of_the_symbols_of_an_analysis() -> None:
    """A loop whose trips data decide: its counter, what it carries, and the sizes that nodes invent."""
    kinds: dict[SymbolKind, set[int | None]] = {}
    for name in ("loop_trips_from_an_input", "loop_initial_condition_by_data", "if_by_data"):
        result = absint.analyze(FLOWS[name]().model)
        for found in result.names:
            kinds.setdefault(found.kind, set()).add(found.origin_node)
            assert found.origin_node is not None
            assert str(result.names[found]).startswith("_d")
    assert SymbolKind.FRESH in kinds
    assert SymbolKind.HOLE not in kinds
    assert SymbolKind.PROBE not in kinds
