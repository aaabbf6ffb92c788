"""Places in abstract values: what stands there, and values with something else there."""

from __future__ import annotations

import pytest

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import const, symbol
from absint.lattices.value import TOP, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.questions.explain.derived import Coordinate, number_at, numbers_of, replaced

VECTOR = Tensor(DType.INT64, Shape([2]), Contents.vector([symbol("N"), const(8)]))
IMAGE = Tensor(DType.FLOAT, Shape(["N", 3]))
FILLED = Tensor(DType.INT64, Shape(["N"]), Contents.fill(symbol("M")))
VALUES: list[Value] = [
    VECTOR,
    IMAGE,
    FILLED,
    SparseTensor(DType.FLOAT, Shape(["N", "M"])),
    SequenceOf(IMAGE, symbol("K")),
    OptionalOf(SequenceOf(IMAGE, symbol("K")), True),
    MapOf(DType.INT64, IMAGE),
]


@pytest.mark.parametrize("value", VALUES)
def test_every_number_stands_where_it_is_said_to_and_can_be_put_back(value: Value) -> None:
    numbers = dict(numbers_of(value))
    assert numbers
    assert all(number_at(value, place) is number for place, number in numbers.items())
    assert replaced(value, numbers) is value


@pytest.mark.parametrize("value", VALUES)
def test_one_number_is_replaced_and_no_other(value: Value) -> None:
    numbers = dict(numbers_of(value))
    for place in numbers:
        changed = replaced(value, {place: symbol("other")})
        for other, number in numbers_of(changed):
            assert number is (symbol("other") if other == place else numbers[other])
        assert number_at(changed, place) is symbol("other")


def test_another_length_forgets_the_elements() -> None:
    changed = replaced(VECTOR, {Coordinate("axis", 0): symbol("K")})
    assert isinstance(changed, Tensor)
    assert changed.contents is None


def test_what_is_not_there() -> None:
    assert number_at(IMAGE, Coordinate("axis", 2)) is None
    assert number_at(IMAGE, Coordinate("element", 0)) is None
    assert number_at(IMAGE, Coordinate("axis", 0, (None,))) is None
    assert number_at(VECTOR, Coordinate("element", 2)) is None
    assert number_at(FILLED, Coordinate("element", 100)) is symbol("M")
    assert number_at(TOP, Coordinate("axis")) is None
    assert list(numbers_of(TOP)) == []
