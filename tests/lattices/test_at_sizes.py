"""Values and truths at given sizes: without a value there is no answer, and no error."""

from __future__ import annotations

import pytest

from absint.lattices.logic.relation import NO, UNKNOWN, YES, Truth
from absint.lattices.terms.expr import UNKNOWN_SIZE
from absint.lattices.text import parse, parse_relation


@pytest.mark.parametrize(
    ("text", "sizes", "value"),
    [
        ("N + 1", {"N": 2}, 3),
        ("N + 1", {"N": 2, "other": 0}, 3),
        ("7", {}, 7),
        ("N + M", {"N": 2}, None),
        ("N + 1", {"N": -1}, None),
        ("M // N", {"N": 0, "M": 4}, None),
        ("broadcast(N, M)", {"N": 2, "M": 3}, None),
    ],
)
def test_value(text: str, sizes: dict[str, int], value: int | None) -> None:
    assert parse(text).at(sizes) == value


def test_an_unknown_size_has_no_value() -> None:
    assert UNKNOWN_SIZE.at({}) is None


@pytest.mark.parametrize(
    ("text", "sizes", "truth"),
    [
        ("N == 2", {"N": 2}, YES),
        ("N == 2", {"N": 3}, NO),
        ("N == 2", {}, UNKNOWN),
        ("N != 7", {"N": -1}, UNKNOWN),
        ("M // N >= 1", {"N": 0, "M": 4}, UNKNOWN),
        ("N == 2 or M >= 5", {"N": 2}, YES),
        ("N == 2 and M >= 5", {"N": 3}, NO),
        ("N == 2 and M >= 5", {"N": 2}, UNKNOWN),
        ("M // N >= 1 or N == 0", {"N": 0, "M": 4}, YES),
    ],
)
def test_truth(text: str, sizes: dict[str, int], truth: Truth) -> None:
    assert parse_relation(text).at(sizes) is truth
