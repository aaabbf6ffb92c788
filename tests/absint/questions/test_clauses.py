"""The order of clauses in a report, and the meaning of long ones."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from absint.lattices.text import parse_relation
from absint.questions.proofs import clauses
from absint.questions.proofs.clauses import is_long, meaning, rows
from absint.solver.contracts.contract import Clause, Contract


def contract(*texts: str) -> Contract:
    return Contract(tuple(Clause(parse_relation(text), ()) for text in texts))


def shown(found: Contract) -> list[str]:
    return [" and ".join(str(clause.relation) for clause in row.clauses) for row in rows(found)]


def test_clauses_that_fix_or_tie_sizes_come_first() -> None:
    found = contract("A >= 1", "B <= 64", "A + B <= C", "C >= 1", "D % 8 == 0", "E == 3 or E == 5", "A >= 1 or B == 0")
    assert shown(found) == [
        "D % 8 == 0",
        "E == 3 or E == 5",
        "A + B <= C",
        "A >= 1 or B == 0",
        "B <= 64",
        "A >= 1 and C >= 1",
    ]
    assert rows(found)[-1].names == ["A", "C"]


SUM = " + ".join(f"((height + {n})//{n + 1} - height//{n + 1})" for n in (1, 3, 7, 15, 31))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"{SUM} == 0"], "height: 0, 32, 64, ..., any multiple of 32"),
        ([f"{SUM} == 0", "height >= 1"], "height: 32, 64, 96, ..., any multiple of 32"),
        ([f"{SUM.replace('height', '(height + 3)')} == 0"], "height: 29, 61, 93, ..., any multiple of 32 plus 29"),
        ([f"{SUM} == 0", "height >= 1", "height <= 100"], "height % 32 == 0"),
    ],
)
def test_a_long_clause_about_one_symbol(texts: Sequence[str], expected: str) -> None:
    found = contract(*texts)
    relation = parse_relation(texts[0])
    assert is_long(relation)
    assert meaning(found, relation) == expected


WINDOWS = (
    "((height + 15)//16)*((width + 15)//16) + ((height + 31)//32)*((width + 31)//32) + "
    "((height + 7)//8)*((width + 7)//8) >= 20"
)


def test_a_long_clause_about_two_symbols() -> None:
    relation = parse_relation(WINDOWS)
    text = meaning(contract(WINDOWS), relation)
    assert text == (
        "height, width: holds at height=17, width=33; height=33, width=17; not at height=8, width=65; "
        "height=65, width=8 (exactly: --format json)"
    )
    assert relation.evaluate({"height": 17, "width": 33})
    assert not relation.evaluate({"height": 8, "width": 65})


def test_others_clauses_hold_at_the_examples() -> None:
    assert meaning(contract(WINDOWS, "height >= 33"), parse_relation(WINDOWS)) == (
        "height, width: holds at height=33, width=17; height=33, width=28; not at height=65, width=8; "
        "height=64, width=8 (exactly: --format json)"
    )
    assert meaning(contract(WINDOWS, "height >= 100", "width >= 100"), parse_relation(WINDOWS)) == ""


def test_more_than_three_symbols_have_no_examples() -> None:
    text = " + ".join(f"{name}*{name}//7*3" for name in ("first_size", "second_size", "third_size", "fourth_size"))
    relation = parse_relation(f"{text} >= third_size*fourth_size*first_size*second_size + 12345")
    assert is_long(relation)
    assert meaning(Contract((Clause(relation, ()),)), relation) == ""


def test_without_time_there_is_no_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clauses, "_SECONDS", 1e-9)
    assert meaning(contract(f"{SUM} == 0"), parse_relation(f"{SUM} == 0")) == ""
