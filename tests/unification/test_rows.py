"""The concrete semantics against runs, and every row judged by them."""

from __future__ import annotations

from itertools import product

import pytest
import z3

from tests.unification.answers import answers
from tests.unification.formula import MEANING, Formula
from tests.unification.judging import grid, judge
from tests.unification.row import Row
from tests.unification.runs import Session
from tests.unification.tables import ROWS

IDS = [f"{number}: {row.rule}" for number, row in enumerate(ROWS)]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_semantics_are_those_of_runs(row: Row) -> None:
    """A run succeeds exactly where the row says, and computes what the row says."""
    session = Session(row)
    for sizes in grid(row):
        measured = session.run(sizes)
        assert (measured is not None) is Formula(row.runs).value(sizes), (sizes, session.refusal)
        if measured is not None:
            assert measured == {name: formula.value(sizes) for name, formula in row.definitions.items()}, sizes


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_judgement(row: Row) -> None:
    """A counterexample is a run that contradicts the claim; what is said instead is proved."""
    judged = judge(row)
    if judged.counterexample is not None:
        measured = Session(row).run(judged.counterexample)
        assert measured is not None
        assert not row.claimed.value({**judged.counterexample, **measured})
        assert all(judged.counterexample[name] <= size for name, size in least(row, judged.counterexample))
    if row.instead:
        assert judged.verdict == "refuted"
        assert judge(row, Formula(row.instead)).verdict == "proved"
    if judged.verdict == "no run":
        assert Session(row).run(next(iter(grid(row)))) is None


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_absint_answers_is_proved(row: Row) -> None:
    for name, text in answers(row).items():
        assert judge(row, Formula(f"{name} == {text}")).verdict in ("proved", "no run")


def test_absint_answers_mostly() -> None:
    """In terms of the sizes, where these decide."""
    silent = [row.rule for row in ROWS if not row.data and len(answers(row)) < len(row.out)]
    assert silent == ["negative stride: the expression is given all the same", "Squeeze drops an axis"]


def least(row: Row, found: dict[str, int]) -> list[tuple[str, int]]:
    """Nothing smaller in sum among the small sizes contradicts the claim."""
    total = sum(map(abs, found.values()))
    for sizes in grid(row):
        known = {**sizes}
        if sum(map(abs, sizes.values())) < total and Formula(row.runs).value(sizes):
            known |= {name: formula.value(sizes) for name, formula in row.definitions.items()}
            assert row.claimed.value(known), f"{sizes} is a smaller counterexample"
    return list(found.items())


TEXTS = [
    *(head.replace("c,", "a > b,") for head in MEANING),
    "max(a, b, 3 - a)",
    "a // b",
    "a % b",
    "a - b if a < b else -b",
    "0 <= a < b or not a == -b",
]


@pytest.mark.parametrize("text", TEXTS)
def test_both_readings_of_a_formula_agree(text: str) -> None:
    formula = Formula(text)
    for a, b in product(range(-7, 8), (-3, -2, -1, 1, 2, 3)):
        names = {name: number for name, number in {"a": a, "b": b}.items() if name in formula.names}
        term = z3.simplify(formula.term({name: z3.IntVal(number) for name, number in names.items()}))
        expected = formula.value(names)
        assert (z3.is_true(term) if isinstance(expected, bool) else term.as_long()) == expected


def test_division_is_python_and_c() -> None:
    for a, b in product(range(-9, 10), (-4, -3, -1, 1, 2, 5)):
        names = {"a": a, "b": b}
        assert Formula("truncdiv(a, b)").value(names) == int(a / b)
        assert Formula("a // b").value(names) == a // b
