"""`why_not_leq`: one line that says where in an element the order fails, what must be there, and what was found."""

from __future__ import annotations

from typing import Any

import pytest

from absint.lattices.contents import CONTENTS, NO_CONTENTS, Contents
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.lattice import Rows, why_not_leq
from absint.lattices.logic.relation import TRUE
from absint.lattices.ramp import ramp
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape
from absint.lattices.shape_lattice import BOTTOM_DIM, DIMS, SHAPES
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, UNKNOWN_SIZE, Unknown, const, integer_symbol, symbol
from absint.lattices.terms.interval import EMPTY, FULL, Congruence, Interval
from absint.lattices.value import BOTTOM, TOP, Cut, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor
from absint.lattices.value_lattice import VALUES

N, M = symbol("N"), symbol("M")
SMALL, EVEN, ODD = Unknown(Interval(0, 4)), Unknown(FULL, Congruence.of(2, 0)), Unknown(FULL, Congruence.of(2, 1))
FLOAT, INT64 = Tensor(DType.FLOAT, Shape(["N", 3])), Tensor(DType.INT64, Shape([2]))
MAP = MapOf(DType.INT64, FLOAT)
CUT = Cut(0, const(7), const(2))
LISTED, OTHER = Contents.vector([N, const(1)]), Contents.vector([N, const(2)])


def elements(contents: Contents | None) -> Tensor:
    return Tensor(DType.INT64, Shape([2]), contents)


def growing(base: int) -> Tensor:
    return Tensor(DType.INT64, Shape(["N"]), ramps=ramp(const(base), [ONE_EXPR]))


STATES: Rows[Any] = Rows(VALUES)

REASONS = [
    (DIMS, N, const(3), "must be 3, found N"),
    (DIMS, N, SMALL, "must be within 0..4, found N (within 0..2147483647)"),
    (DIMS, N + M, ODD, "must be 1 modulo 2, found M + N (within 0..4294967294)"),
    (DIMS, 4 * integer_symbol("I"), ODD, "must be 1 modulo 2, found 4*I (a multiple of 4)"),
    (DIMS, const(5), SMALL, "must be within 0..4, found 5"),
    (DIMS, SMALL, N, "must be N, found a number that is within 0..4"),
    (DIMS, UNKNOWN_DIM, Unknown(Interval(0, None)), "must be at least 0, found any integer"),
    (DIMS, UNKNOWN_SIZE, Unknown(Interval(None, 3)), "must be at most 3, found a number that is within 0..2147483647"),
    (DIMS, const(3), EVEN, "must be a multiple of 2, found 3"),
    (DIMS, EVEN, ODD, "must be 1 modulo 2, found a number that is a multiple of 2"),
    (DIMS, const(3), BOTTOM_DIM, "must be no number, found 3"),
    (SHAPES, Shape(["N", 2]), Shape(["N", 3]), "dim 1 must be 3, found 2"),
    (SHAPES, Shape([2]), Shape([2, 3]), "must have rank 2, found 1"),
    (SHAPES, TOP_SHAPE, Shape([]), "must have rank 0, found unknown rank"),
    (SHAPES, Shape([2]), BOTTOM_SHAPE, "must be no shape, found [2]"),
    (DTYPES, DType.INT64, DType.FLOAT, "must be FLOAT, found INT64"),
    (DTYPES, DType.UNDEFINED, DType.FLOAT, "must be FLOAT, found unknown"),
    (CONTENTS, LISTED, OTHER, "element 1 must be 2, found 1"),
    (CONTENTS, LISTED, Contents.fill(N), "element 1 must be N, found 1"),
    (CONTENTS, None, LISTED, "must have known elements, found unknown ones"),
    (CONTENTS, LISTED, NO_CONTENTS, "must have no elements"),
    (CONTENTS, Contents.fill(N), LISTED, "must have elements of shape [2], found unknown"),
    (CONTENTS, Contents.vector([N]), LISTED, "must have elements of shape [2], found [1]"),
    (CONTENTS, Contents.vector([N]), Contents.vector([TRUE]), "element 0 must be true, found N"),
    (VALUES, FLOAT, Tensor(DType.FLOAT, Shape(["M", 3])), "dim 0 must be M, found N"),
    (VALUES, FLOAT, Tensor(DType.INT64, Shape(["N", 3])), "element type must be INT64, found FLOAT"),
    (VALUES, elements(LISTED), elements(OTHER), "element 1 must be 2, found 1"),
    (VALUES, growing(1), growing(0), "must have elements 0 + 1*[0], found 1 + 1*[0]"),
    (VALUES, Tensor(DType.INT64, Shape(["N"])), growing(0), "must have elements 0 + 1*[0], found unknown ones"),
    (VALUES, FLOAT, SequenceOf(FLOAT), "must be a sequence, found a tensor"),
    (VALUES, TOP, SparseTensor(DType.FLOAT), "must be a sparse tensor, found any value"),
    (VALUES, FLOAT, BOTTOM, "must be no value, found a tensor"),
    (VALUES, SparseTensor(DType.FLOAT, Shape([2])), SparseTensor(DType.FLOAT, Shape([3])), "dim 0 must be 3, found 2"),
    (VALUES, SequenceOf(FLOAT, const(2)), SequenceOf(FLOAT, const(1)), "length must be 1, found 2"),
    (VALUES, SequenceOf(FLOAT), SequenceOf(FLOAT, cut=CUT), "must be axis 0 of 7 in parts of 2, found any parts"),
    (VALUES, SequenceOf(FLOAT), SequenceOf(INT64), "each element, element type must be INT64, found FLOAT"),
    (
        VALUES,
        SequenceOf.of([INT64, INT64], BOTTOM),
        SequenceOf.of([INT64, Tensor(DType.INT64)], BOTTOM).map(lambda v: v if v is INT64 else elements(LISTED)),
        "item 1 must have known elements, found unknown ones",
    ),
    (VALUES, OptionalOf(FLOAT), OptionalOf(FLOAT, True), "must be present, found present or absent"),
    (VALUES, OptionalOf(FLOAT, True), OptionalOf(FLOAT, False), "must be absent, found present"),
    (VALUES, MAP, MapOf(DType.STRING, FLOAT), "key type must be STRING, found INT64"),
    (VALUES, MAP, MapOf(DType.INT64, INT64), "each element, element type must be INT64, found FLOAT"),
    (STATES, (FLOAT, INT64), (FLOAT, FLOAT), "output 1, element type must be FLOAT, found INT64"),
    (STATES, (FLOAT, TOP), (FLOAT, FLOAT), "output 1 must be a tensor, found any value"),
    (STATES, (FLOAT,), (), "must not be computed"),
    (STATES, (FLOAT,), (FLOAT, FLOAT), "must have 2 outputs, found 1"),
]  # fmt: skip


@pytest.mark.parametrize(("lattice", "a", "b", "reason"), REASONS, ids=[reason for *_, reason in REASONS])
def test_reason(lattice: Any, a: object, b: object, reason: str) -> None:
    assert lattice.why_not_leq(a, b) == reason
    assert lattice.why_not_leq(a, a) == ""
    assert lattice.why_not_leq(a, lattice.top) == ""


class Divisors:
    """Natural numbers by divisibility: a domain without reasons of its own."""

    bottom, top = 1, 0

    def leq(self, a: int, b: int) -> bool:
        return b % a == 0 if a else b == 0

    join = meet = widen = max


def test_a_lattice_without_reasons_names_both_elements() -> None:
    assert why_not_leq(Divisors(), 4, 6) == "must be below 6, found 4"
    assert why_not_leq(Divisors(), 2, 6) == ""
    assert Rows(Divisors()).why_not_leq((2, 4), (6, 6)) == "output 1 must be below 6, found 4"


def test_ranges_in_words() -> None:
    assert [i.text for i in (FULL, EMPTY, Interval(3, 3), Interval(None, 2), Interval(1, None), Interval(1, 2))] == [
        "", "no number", "3", "at most 2", "at least 1", "within 1..2",
    ]  # fmt: skip
    assert [Congruence(*c).text for c in ((1, 0), (0, 7), (4, 0), (4, 1))] == ["", "7", "a multiple of 4", "1 modulo 4"]
