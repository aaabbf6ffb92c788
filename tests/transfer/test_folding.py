"""Contents in the fill form, mixed with tuples, and elements of unsigned, narrow and partly known types."""

from __future__ import annotations

import numpy as np
import pytest

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import FALSE, TRUE, boolean, ge, ne
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Unknown
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor
from absint.transfer.application import apply
from absint.transfer.elements import arithmetic as ar
from absint.transfer.elements.conversion import cast
from absint.transfer.elements.logic import compare, where
from absint.transfer.families import shipped
from absint.transfer.op import Op

N, M = Dim("N"), Dim("M")


def ints(*elements: object) -> Tensor:
    return Tensor(DType.INT64, contents=Contents.vector(Dim(e) for e in elements))  # type: ignore[arg-type]


def fill(element: object, shape: list[object] | None) -> Tensor:
    return Tensor(DType.INT64, Shape(shape), Contents.fill(Dim(element)))  # type: ignore[arg-type]


def scratch(facts: Facts = NO_FACTS) -> Op:
    rule = shipped().lookup("", "Add", 20)
    assert rule is not None
    return Op(rule, [], facts=facts)


def result(name: str, *inputs: Tensor) -> Tensor:
    rule = shipped().lookup("", name, 20)
    assert rule is not None
    (value,) = apply(rule, Op(rule, inputs, version=20, name=name)).outputs
    assert isinstance(value, Tensor)
    return value


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("Add", [fill(2, ["N"]), fill("M", ["N"])], "all M + 2"),
        ("Add", [fill(2, ["N"]), fill("M", None)], "all M + 2"),
        ("Add", [fill(2, [2]), ints("N", 3)], "[N + 2, 5]"),
        ("Add", [fill(2, [1]), ints("N", 3)], "[N + 2, 5]"),
        ("Add", [fill(2, ["N", 2]), ints(3, 3)], "all 5"),
        ("Add", [fill(2, ["N", 2]), ints(3, 4)], "None"),
        ("Add", [fill(2, ["N", 1]), ints()], "None"),
        ("Add", [fill(2, [0]), ints("N")], "[]"),
        ("Mul", [fill(0, [2000]), ints("N")], "all 0"),
        ("Mul", [Tensor(DType.INT64, Shape([2])), ints(0, 0)], "None"),
        ("Max", [Tensor(DType.INT64, Shape(["N"])), ints(1)], "None"),
        ("Max", [fill("N", ["M"]), ints(1)], "all max(N, 1)"),
        ("Neg", [fill("N", ["M"])], "all -N"),
        ("Relu", [fill("N - 5", None)], "all max(N - 5, 0)"),
    ],
)
def test_fill(name: str, inputs: list[Tensor], expected: str) -> None:
    assert str(result(name, *inputs).contents) == expected


def test_bounds_of_unknown_data() -> None:
    """A minimum with a constant bounds data that nobody knows; not of INT64, which onnxruntime orders by 32 bits."""
    assert result("Min", Tensor(DType.INT64, Shape(["N"])), ints(7)).contents is None
    seven = Tensor(DType.INT32, Shape([1]), Contents.vector([Dim(7)]))
    contents = result("Min", Tensor(DType.INT32, Shape(["N"])), seven).contents
    assert contents is not None
    assert isinstance(contents.elements[0], Dim)
    assert contents.elements[0].bounds == Interval(None, 7)


@pytest.mark.parametrize(
    ("test", "a", "b", "expected"),
    [
        (ge, Unknown(Interval(3, 9)), Dim(3), TRUE),
        (ge, Unknown(Interval(3, 9)), Dim(10), FALSE),
        (ge, Unknown(Interval(3, None)), Dim(4), OPAQUE),
        (ne, Unknown(Interval(3, None)), Dim(2), TRUE),
        (ne, Unknown(Interval(3, None)), Dim(3), OPAQUE),
        (ge, UNKNOWN_DIM, UNKNOWN_DIM, OPAQUE),
        (ne, UNKNOWN_DIM, UNKNOWN_DIM, OPAQUE),
    ],
)
def test_comparison_of_unknown_integers(test: object, a: Element, b: Element, expected: Element) -> None:
    assert compare(scratch(), DType.INT64, test, a, b) is expected  # type: ignore[arg-type]


def test_rounded_quotients_compare_with_integers_only() -> None:
    op = scratch()
    third = ar.div(op, DType.FLOAT, Real.of(N) or OPAQUE, Real.constant(3.0))
    assert str(compare(op, DType.FLOAT, ge, third, Real.constant(2.0))) == "N >= 6"
    assert compare(op, DType.FLOAT, ge, third, Real.constant(2.5)) is OPAQUE
    assert compare(op, DType.FLOAT, ge, third, third) is TRUE
    assert str(ar.add(op, DType.FLOAT, third, Real.constant(1.0))) == "float32(N/3) + 1"
    assert str(cast(op, DType.FLOAT, DType.DOUBLE, third)) == "float64(float32(N/3))"
    assert ar.floor(op, DType.FLOAT, ar.mul(op, DType.FLOAT, third, Real.constant(4.0))) == Real.of(4 * N // 3)


def test_unsigned_difference_needs_its_sign() -> None:
    assert ar.sub(scratch(), DType.UINT64, N, M) is Unknown(Interval(0, 2**64 - 1))
    assert ar.sub(scratch(Facts([ge(N, M)])), DType.UINT64, N, M) is N - M


def test_quotient_of_sizes_needs_a_divisor_that_is_not_0() -> None:
    a, b = Real.of(2 * N), Real.of(N)
    assert a is not None
    assert b is not None
    assert str(ar.div(scratch(), DType.FLOAT, a, b)) == "float32(2*N)/float32(N)"
    assert ar.div(scratch(Facts([ge(N, 1)])), DType.FLOAT, a, b) == Real.constant(2.0)


def test_half_precision_holds_exact_constants_only() -> None:
    half = DType.FLOAT16
    assert ar.add(scratch(), half, Real.constant(2048.0), Real.constant(1.0)) is OPAQUE
    assert ar.add(scratch(), half, Real.constant(1024.0), Real.constant(1.0)) == Real.constant(1025.0)
    assert cast(scratch(), DType.INT64, half, Dim(2049)) is OPAQUE
    assert ar.sqrt(scratch(), half, Real.constant(2.0)) is OPAQUE
    assert ar.sqrt(scratch(), half, Real.constant(2.25)) == Real.constant(1.5)


def test_choice_by_a_condition() -> None:
    op = scratch(Facts([ge(N, 3)]))
    assert where(op, ge(N, 1), N, M) is N
    assert where(op, boolean("c"), UNKNOWN_DIM, N) is UNKNOWN_DIM
    assert where(op, OPAQUE, N, N) is N
    assert where(op, OPAQUE, N, M) == Unknown(Interval(0, 2**31 - 1))
    assert where(op, boolean("c"), TRUE, FALSE) is boolean("c")
    assert where(op, boolean("c"), N, OPAQUE) is OPAQUE


def test_premises_about_digits_are_refused() -> None:
    """N * 0.1 in float32 would be exact for N = 1 only: no premise, and a term that rounds."""
    op = scratch()
    tenth = Real.constant(float(np.float32(0.1)))
    assert str(ar.mul(op, DType.FLOAT, Real.of(N) or OPAQUE, tenth)) == "float32(N)*0.1"
    quotient = ar.div(op, DType.FLOAT, Real.of(N) or OPAQUE, tenth)
    assert str(ar.floor(op, DType.FLOAT, quotient)) == "floor(float32(N/0.1))"
    assert not op.statements
