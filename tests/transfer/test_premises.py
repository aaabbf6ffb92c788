"""Numeric premises: taken for granted only where they hold for all sizes up to 65,536, and not at all if not wanted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import le
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.terms.normal import Real
from absint.lattices.text import parse, parse_relation
from absint.lattices.value import Tensor
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.ordinary import ORDINARY, is_ordinary
from absint.transfer.stated import Applied
from absint.transfer.stating import AttributeValue

FLOAT, INT64, INT32 = DType.FLOAT, DType.INT64, DType.INT32


def ran(
    name: str, *inputs: Tensor, facts: Facts = NO_FACTS, premises: bool = True, **attributes: AttributeValue
) -> Applied:
    rule = shipped().lookup("", name, 18)
    assert rule is not None
    return apply(rule, Op(rule, inputs, attributes, version=18, facts=facts, name=name, premises=premises))


def scalar(dtype: DType, element: Element | str | int) -> Tensor:
    """A scalar; a text is a dim, which a float holds exactly."""
    found = parse(element) if isinstance(element, str) else Dim(element) if isinstance(element, int) else element
    if dtype.is_float and isinstance(found, Expr):
        found = Real(found, 1)
    return Tensor(dtype, Shape(()), Contents.scalar(found))


def element(applied: Applied) -> Element:
    value = applied.outputs[0]
    assert isinstance(value, Tensor)
    return OPAQUE if value.contents is None else value.contents.elements[0]


def assumed(applied: Applied) -> list[str]:
    return [str(s.relation) for s in applied.statements if s.role == "assumed"]


@pytest.mark.parametrize(
    ("premise", "expected"),
    [
        ("N <= 65536", True),
        ("N <= 65535", False),
        ("N <= 16777216", True),
        ("N*M <= 16777216", False),
        ("N*M <= 4294967296", True),
        ("N*M <= 4294967295", False),
        ("max(N, 3*M) <= 196608", True),
        ("max(N, 3*M) <= 196607", False),
        ("min(N, M*K) <= 65536", True),
        ("N - 7*(N//7) <= 3000000", True),
        ("N//M <= 65536", True),
        ("N % 8 + M <= 70000", True),
        ("N >= -65536", True),
        ("N >= 1", False),
        ("N*N - M >= -65536", True),
        ("N == 0 or N <= 65536", True),
        ("N <= 65536 and M <= 10", False),
    ],
)
def test_a_premise_holds_for_all_ordinary_sizes(premise: str, expected: bool) -> None:
    assert is_ordinary(parse_relation(premise), NO_FACTS) is expected


@pytest.mark.parametrize(
    ("premise", "expected"),
    [
        ("N*M <= 2147483647", True),
        ("N*M <= 16777216", True),
        ("N*M <= 16777215", False),
        ("N*M*K <= 16777216", True),
        ("N*N*N <= 16777215", False),
        ("N*M - K >= -65536", True),
        ("max(N*M, 1)*K <= 16777216", True),
        ("(N*M//3)*K <= 5592405", True),
        ("N*M*K*L <= 16777216", True),
        ("N*N*N*N*N <= 9223372036854775807", False),
        ("max(N, M*K)*max(N, M*K)*L <= 9223372036854775807", False),
        ("N*M + 2147483000 <= 2147483647", False),
        ("N <= 65535", False),
    ],
)
def test_numbers_of_rows_and_elements_are_ordinary_too(premise: str, expected: bool) -> None:
    """The product of two sizes up to 4096, of three up to 256."""
    assert is_ordinary(parse_relation(premise), NO_FACTS, products=True) is expected


def test_a_product_of_sizes_fits_32_bits_by_premise() -> None:
    applied = ran("Mul", scalar(INT32, "N*M"), scalar(INT32, "K"))
    assert str(element(applied)) == "K*M*N"
    assert assumed(applied) == ["K*M*N <= 2147483647"]


def test_facts_bound_a_size() -> None:
    premise = parse_relation("N*M <= 1000000")
    assert not is_ordinary(premise, NO_FACTS)
    facts = Facts([parse_relation("N <= 10"), parse_relation("M <= 200")])
    assert is_ordinary(premise.substitute(facts.mapping), facts)
    assert is_ordinary(premise, Facts([parse_relation("N*M <= 1000")]))
    assert not is_ordinary(premise, Facts([parse_relation("N >= 70000")]))  # no ordinary size is left to hold for


def test_facts_about_trips_that_ordinary_sizes_settle() -> None:
    trip, size = expr_of(Symbol("%3:loop/i", 0, None)), parse("N")
    settled = [parse_relation("N <= 70000"), parse_relation("M + N >= 1 - 70000")]
    assert is_ordinary(le(trip, ORDINARY), Facts([*settled, le(trip, size)]))
    assert not is_ordinary(le(trip, ORDINARY), Facts(settled))


@pytest.mark.parametrize(
    ("name", "inputs", "attributes"),
    [
        ("Cast", [scalar(INT64, "N*M")], {"to": int(FLOAT)}),
        ("Cast", [scalar(INT64, "1000*N*M")], {"to": int(INT32)}),
        ("Floor", [scalar(FLOAT, Real(parse("N*1000"), 7))], {}),
        ("Ceil", [scalar(FLOAT, Real(parse("max(N, M*K)"), 3))], {}),
        ("Round", [scalar(FLOAT, Real(parse("N*255"), 3))], {}),
        ("Mul", [scalar(FLOAT, "N"), scalar(FLOAT, "M")], {}),
        ("Mul", [scalar(FLOAT, "N"), scalar(FLOAT, 257)], {}),
        ("Mul", [scalar(INT32, "N*1000"), scalar(INT32, "M")], {}),
        ("Add", [scalar(INT64, "N"), scalar(INT64, 2**63 - 1)], {}),
        ("Sub", [scalar(INT64, -(2**63)), scalar(INT64, "N")], {}),
        ("Mul", [scalar(INT64, 2**40), scalar(INT64, "K*L")], {}),
        ("Pow", [scalar(INT64, "N*4294967296"), scalar(INT64, 2)], {}),
        ("Neg", [scalar(INT64, -(2**63))], {}),
        ("Mod", [scalar(INT64, "N*M*1073741824"), scalar(INT64, 7)], {"fmod": 1}),
        ("ReduceProd", [Tensor(INT64, Shape((4,)), Contents.vector(map(parse, ("N", "M", "K", "4294967296"))))], {}),
        ("ReduceSum", [Tensor(FLOAT, Shape((2,)), Contents.vector([Real(parse("N*M"), 1)] * 2))], {}),
    ],
    ids=str,
)
def test_what_ordinary_sizes_break_is_unknown(
    name: str, inputs: Sequence[Tensor], attributes: dict[str, AttributeValue]
) -> None:
    applied = ran(name, *inputs, **attributes)
    assert not isinstance(element(applied), (Expr, Real))
    assert not assumed(applied)


def test_a_premise_is_recorded_and_may_be_done_without() -> None:
    given = scalar(INT64, "N")
    applied = ran("Cast", given, to=int(FLOAT))
    assert str(element(applied)) == "N"
    assert assumed(applied) == ["N <= 16777216"]
    without = ran("Cast", given, to=int(FLOAT), premises=False)
    assert not isinstance(element(without), Real)
    assert not assumed(without)


def test_a_quotient_that_was_rounded_is_near_the_exact_one() -> None:
    quotient = scalar(FLOAT, Real(parse("min(N*M, 30000000)"), 3))
    found = element(ran("Cast", quotient, to=int(INT64)))
    assert isinstance(found, Dim)
    assert found.bounds == (0, 10_000_000)


def test_digits_of_a_constant_leave_no_room_in_the_mantissa_for_a_size() -> None:
    """A run casts 11/1.1 to 10, though the exact quotient by that float32 is below."""
    applied = ran("Cast", scalar(FLOAT, Real(parse("max(M*167772160, 167755381)"), 184549381)), to=int(INT64))
    found = element(applied)
    assert isinstance(found, Expr)
    assert found.evaluate({"M": 11}) == 10
    assert not assumed(applied)


def test_facts_take_the_place_of_a_premise() -> None:
    facts = Facts([parse_relation("N*M <= 1000")])
    applied = ran("Cast", scalar(INT64, "N*M"), to=int(FLOAT), facts=facts, premises=False)
    assert str(element(applied)) == "M*N"
    assert not assumed(applied)


@pytest.mark.parametrize(
    ("dtype", "lo", "hi"), [(DType.INT8, -128, 127), (DType.UINT8, 0, 255), (INT32, -(2**31), 2**31 - 1)]
)
def test_an_integer_that_may_wrap_is_any_of_its_type(dtype: DType, lo: int, hi: int) -> None:
    found = element(ran("Mul", scalar(dtype, "N*M"), scalar(dtype, "1000*K")))
    assert isinstance(found, Dim)
    assert found.bounds == (lo, hi)


def test_a_scaled_quotient_does_not_leave_the_type() -> None:
    """(N/3) * 2**63 * 2**63 overflows FLOAT; scaled back it is no longer N/3."""
    third = scalar(FLOAT, Real(parse("N"), 3))
    factor = scalar(FLOAT, Real(Dim(2**63), 1))  # type: ignore[arg-type]
    once = ran("Mul", third, factor).outputs[0]
    assert isinstance(once, Tensor)
    assert not isinstance(element(ran("Mul", once, factor)), Real)


def resized(size: str, scale: Element) -> Applied:
    x = Tensor(FLOAT, Shape((1, 1, size)))
    scales = Contents.vector([Real.constant(1), Real.constant(1), scale])
    return ran("Resize", x, Tensor(FLOAT, Shape((0,))), Tensor(FLOAT, Shape((3,)), scales))


def last(applied: Applied) -> str:
    value = applied.outputs[0]
    assert isinstance(value, Tensor)
    return str(value.shape[-1])


def test_resize_is_guarded() -> None:
    """onnxruntime multiplies sizes and scales in FLOAT."""
    assert last(resized("H", Real.constant(2))) == "2*H"
    assert last(resized("H*W", Real.constant(3))) == "int(float32(H*W)*3)"
    assert last(resized("H", Real(parse("N"), 1))) == "int(float32(H)*float32(N))"  # type: ignore[arg-type]
    few = resized("H", Real.constant(0.75))
    assert last(few) == "H - (H + 3)//4"
    assert assumed(few) == ["H <= 5592405"]
    rounded = resized("H", Real.constant(0.8999999761581421))
    assert last(rounded) == "int(float32(H)*0.9)"
    assert not assumed(rounded)
    assert len(rounded.statements) == 2  # up to 2^24 it is the floor of the exact product, or the integer above


def test_a_pool_that_rounds_up_is_guarded() -> None:
    """onnxruntime divides in FLOAT where `ceil_mode` is set."""

    def pooled(size: str) -> Applied:
        return ran("MaxPool", Tensor(FLOAT, Shape((1, 1, size))), kernel_shape=[2], strides=[2], ceil_mode=1)

    assert last(pooled("H")) == "(H + 1)//2"
    assert assumed(pooled("H")) == ["H <= 16777218"]
    assert last(pooled("H*W")) == "int(ceil(float32(H*W - 2)/2)) + 1"


def test_the_limit() -> None:
    assert ORDINARY == 65536


@pytest.mark.parametrize("name", ["Max", "Min"])
def test_an_integer_beyond_32_bits_has_no_known_order(name: str) -> None:
    """onnxruntime orders INT64 by the low 32 bits on some processors: docs/runtime-differences.md."""
    assert element(ran(name, scalar(INT64, 2**40), scalar(INT64, 3))) is OPAQUE
    assert element(ran(name, scalar(INT64, 2**30), scalar(INT64, 3))) in (Dim(2**30), Dim(3))
