"""Facts are learned once: equal relations of later rounds and analyses give the object of the first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import absint
from absint.lattices.limits import without_shortcuts
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation, ge
from absint.lattices.terms.expr import symbol
from absint.shapes.memo import known_facts
from absint.shapes.memo.known_facts import assuming, facts_of

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.onnx"))


@pytest.fixture(autouse=True)
def _purged() -> Iterator[None]:
    absint.purge()
    yield
    absint.purge()


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[Relation]:
    """Every relation that some facts learn."""
    found: list[Relation] = []
    learn = Facts._learn

    def counted(self: Facts, relation: Relation) -> None:
        found.append(relation)
        learn(self, relation)

    monkeypatch.setattr(Facts, "_learn", counted)
    return found


def test_a_second_analysis_learns_nothing_anew(learned: list[Relation]) -> None:
    for path in EXAMPLES:
        absint.analyze(path)
    first = len(learned)
    assert first > 0
    for path in EXAMPLES:
        absint.analyze(path)
    assert len(learned) == first


def test_purge_forgets_facts(learned: list[Relation]) -> None:
    absint.analyze(EXAMPLES[0])
    first = len(learned)
    absint.purge()
    absint.analyze(EXAMPLES[0])
    assert len(learned) == 2 * first > 0


def test_the_order_of_symbols_is_part_of_the_key() -> None:
    relation = ge(symbol("N"), 2)
    assert facts_of([relation], ["N"]) is facts_of((relation,), ("N",))
    assert facts_of([relation], ["N"]) is not facts_of([relation])
    assert assuming(facts_of([relation]), relation) is not facts_of([relation])
    assert assuming(facts_of([], ["N"]), relation) is facts_of([relation], ["N"])
    with without_shortcuts():
        assert facts_of([relation]) is not facts_of([relation])


def test_facts_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_facts, "MAX_FACTS", 3)
    for size in range(10):
        facts_of([ge(symbol("N"), size)])
        assert len(known_facts._known) <= 3


def test_facts_that_rewrote_many_atoms_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_facts, "MAX_REWRITTEN", 2)
    facts = facts_of([ge(symbol("N"), 2)])
    facts.simplify(symbol("N") + 1)
    assert facts_of([ge(symbol("N"), 2)]) is facts
    for name in "ABC":
        facts.simplify(symbol("N") * symbol(name))
    assert facts_of([ge(symbol("N"), 2)]) is not facts
