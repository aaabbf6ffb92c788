"""Reals, element types, contents, shapes and tensors: what interning and the constructors promise."""

from __future__ import annotations

import gc
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from absint.lattices.contents import CONTENTS, MAX_ELEMENTS, NO_CONTENTS, OPAQUE, Contents, meet_elements, replace_in
from absint.lattices.dtype import INTEGER_RANGES, MANTISSA_BITS, DType
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, eq
from absint.lattices.shape import BOTTOM_SHAPE, MAX_RANK, TOP_SHAPE, Shape, shape_of
from absint.lattices.shape_lattice import BOTTOM_DIM
from absint.lattices.terms.expr import UNKNOWN_DIM, UNKNOWN_SIZE, Expr, Symbol, Unknown, const, integer_symbol, symbol
from absint.lattices.terms.interval import Congruence, Interval
from absint.lattices.terms.normal import Real
from absint.lattices.value import (
    BOTTOM,
    TOP,
    AnyTensor,
    Cut,
    MapOf,
    OptionalOf,
    SequenceOf,
    SparseTensor,
    Tensor,
    map_tensors,
    parts,
    tensors,
    without_elements,
)
from absint.lattices.value_lattice import VALUES

N, M = symbol("N"), symbol("M")
I = integer_symbol("I")  # noqa: E741

# Reals


@given(st.integers(-20, 20), st.integers(-9, 9), st.integers(-12, 12).filter(bool), st.integers(-7, 9))
def test_real_is_the_quotient(a: int, b: int, den: int, at: int) -> None:
    real = Real.of(a * I + b, den)
    assert real is not None
    value = Fraction(a * at + b, den)
    binding = {"I": at}
    assert Fraction(real.num.evaluate(binding), real.den) == value
    assert real.den >= 1
    assert math.gcd(real.den, *(coef for _, coef in real.num.terms)) == 1
    for dim, number in (
        (real.floor(), math.floor(value)),
        (real.ceil(), math.ceil(value)),
        (real.truncate(), int(value)),
    ):
        assert isinstance(dim, Expr)
        assert dim.evaluate(binding) == number


def test_real_constants() -> None:
    assert Real.constant(0.5).fraction == Fraction(1, 2)
    assert Real.constant(0.1).fraction == Fraction(0.1)
    assert Real.constant(-0.0) == Real.constant(0)
    assert Real.constant(Fraction(1, 3)).is_dyadic is False
    assert Real.constant(2.0**-40).is_dyadic
    assert Real.of(UNKNOWN_DIM) is None
    third = Real(N, 3)
    assert third.over(const(1)) is None  # which of its roundings it is, the type says
    assert third.over(const(6)) == Real.constant(2.0)
    assert Real(N, 4).over(const(1)) == Real.constant(0.25)
    assert third.over(3 * N + 1) == Real.of(3 * N + 1, 3)
    assert Real.of(2 * N, 4) == Real.of(N, 2)
    assert str(Real.of(2 * N, 4)) == "(N)/2"
    for bad in (math.inf, -math.inf):
        with pytest.raises(OverflowError):
            Real.constant(bad)
    with pytest.raises(ValueError, match="NaN"):
        Real.constant(math.nan)


# Element types


def test_dtypes_are_numbered_as_in_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    numbers = {name: number for name, number in onnx.TensorProto.DataType.items() if name != "UNDEFINED"}
    assert {d.name: int(d) for d in DType if d > 0 and d.name in numbers} == {
        name: number for name, number in numbers.items() if name in DType.__members__
    }
    assert set(numbers) <= set(DType.__members__)


def test_integer_ranges_and_mantissas_are_numpys() -> None:
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        info = np.iinfo(name)
        assert INTEGER_RANGES[DType[name.upper()]] == (info.min, info.max)
    assert INTEGER_RANGES[DType.INT4] == (-8, 7)
    assert INTEGER_RANGES[DType.UINT2] == (0, 3)
    for name, numpy_name in (("FLOAT16", "float16"), ("FLOAT", "float32"), ("DOUBLE", "float64")):
        assert MANTISSA_BITS[DType[name]] == np.finfo(numpy_name).nmant + 1
    assert not DType.BFLOAT16.is_float
    assert not DType.BOOL.is_integer


# Contents


def test_contents_keep_the_kind_of_each_element() -> None:
    one, real, true = Contents.vector([const(1)]), Contents.vector([Real.constant(1)]), Contents.vector([TRUE])
    assert len({id(c) for c in (one, real, true)}) == 3
    assert one is Contents.vector([const(1)])
    assert one is not Contents.fill(const(1))
    assert Contents.of((1, 1), [const(1)]) is not one


def test_contents_of_nothing_known_are_none() -> None:
    assert Contents.vector([OPAQUE, UNKNOWN_DIM]) is None
    assert Contents.fill(OPAQUE) is None
    assert Contents.vector([OPAQUE, const(1)]) is not None
    assert Contents.vector([]) is not None
    assert Contents.vector([const(0)] * MAX_ELEMENTS) is not None
    assert Contents.vector([const(0)] * (MAX_ELEMENTS + 1)) is None
    with pytest.raises(ValueError, match="3 elements do not fill shape"):
        Contents.of((2, 2), [const(0)] * 3)


def test_contents_as_an_array() -> None:
    found = Contents.of((2, 1), [N, const(3)])
    assert found is not None
    array = found.array()
    assert array is not None
    assert array.shape == (2, 1)
    assert array.ravel().tolist() == [N, const(3)]
    assert Contents.from_array(array) is found
    fill = Contents.fill(N)
    assert fill is not None
    assert fill.array() is None
    assert fill.array((MAX_ELEMENTS + 1,)) is None
    filled = fill.array((2,))
    assert filled is not None
    assert filled.tolist() == [N, N]
    assert str(found) == "[[N], [3]]"
    assert str(fill) == "all N"


def test_replacement_reaches_every_kind() -> None:
    (s,) = N.symbols
    half = Real.of(N, 2)
    assert half is not None
    assert replace_in(N + 1, {s: const(3)}) is const(4)
    assert replace_in(eq(N, 3), {s: const(3)}) is TRUE
    assert replace_in(half, {s: const(3)}) == Real.constant(1.5)
    assert replace_in(half, {s: Unknown(Interval(0, 3))}) is OPAQUE
    assert replace_in(eq(N, 3), {s: Unknown(Interval(0, 9))}) is OPAQUE
    assert replace_in(OPAQUE, {s: const(3)}) is OPAQUE
    assert UNKNOWN_RELATION not in (replace_in(eq(N, M), {s: UNKNOWN_DIM}),)


def test_join_of_contents() -> None:
    row = Contents.vector([const(2), N])
    assert CONTENTS.join(row, Contents.vector([const(4), N])) is Contents.vector(
        [Unknown(Interval(2, 4), Congruence(2, 0)), N]
    )
    assert CONTENTS.join(row, Contents.vector([const(2)])) is Contents.fill(Unknown(Interval(0, 2**31 - 1)))
    assert CONTENTS.join(Contents.vector([N]), Contents.of((1, 2), [N, N])) is Contents.fill(N)
    assert CONTENTS.join(row, None) is None


def test_meet_of_elements() -> None:
    assert meet_elements(const(1), const(2)) is BOTTOM_DIM
    assert meet_elements(N, const(2)) is const(2)
    assert meet_elements(OPAQUE, N) is N
    assert meet_elements(TRUE, FALSE) is BOTTOM_DIM
    assert meet_elements(eq(N, M), FALSE) is FALSE
    assert meet_elements(Real.constant(1), Real.constant(2)) is BOTTOM_DIM
    assert CONTENTS.meet(Contents.fill(const(1)), Contents.vector([const(1), const(2)])) is NO_CONTENTS
    assert CONTENTS.meet(Contents.vector([N, OPAQUE]), Contents.vector([OPAQUE, M])) is Contents.vector([N, M])


# Shapes and values


def test_shapes_are_interned() -> None:
    assert Shape(["N", 2]) is Shape([N, 2])
    assert Shape() is TOP_SHAPE
    assert Shape(()).rank == 0
    assert shape_of((N,) * (MAX_RANK + 1)) is TOP_SHAPE
    assert shape_of((N, BOTTOM_DIM)) is BOTTOM_SHAPE
    assert Shape([2, 3]) == [2, 3]
    assert Shape([2, 3]) != [2, 4]
    assert Shape([2, 3]).concrete == (2, 3)
    assert Shape([2, "N"]).concrete is None
    with pytest.raises(ValueError, match="unknown rank"):
        list(TOP_SHAPE)


def test_tensors_are_interned() -> None:
    contents = Contents.vector([N, const(1)])
    tensor = Tensor(DType.INT64, Shape([2]), contents)
    assert Tensor(DType.INT64, TOP_SHAPE, contents) is tensor
    assert Tensor(DType.INT64, Shape(["K"]), contents) is tensor
    assert Tensor(DType.INT32, Shape([2]), contents) is not tensor
    assert Tensor(DType.INT64, Shape([2])) is not tensor
    assert Tensor(DType.INT64, Shape([3]), contents).contents is None
    assert SparseTensor(DType.INT64, Shape([2])) is not Tensor(DType.INT64, Shape([2]))
    assert SequenceOf(tensor, const(2)) is SequenceOf(tensor, const(2))
    assert SequenceOf(tensor, const(2)) is not SequenceOf(tensor, const(3))
    assert len(set(map(id, [OptionalOf(tensor, p) for p in (None, True, False)]))) == 3
    assert MapOf(DType.INT64, tensor) is MapOf(DType.INT64, tensor)


def test_values_that_nothing_refers_to_are_released() -> None:
    from absint.lattices.terms import intern
    from absint.lattices.value import _TENSORS

    kept = Tensor(DType.INT64, Shape(["kept"]))
    gc.collect()
    intern.release()
    before = len(_TENSORS)
    many = [Tensor(DType.INT64, Shape([f"r{i}"])) for i in range(100)]
    assert len(_TENSORS) >= before + 100
    del many
    gc.collect()
    intern.release()
    assert len(_TENSORS) < before + 50
    assert Tensor(DType.INT64, Shape(["kept"])) is kept


def test_replacement_goes_inside_values() -> None:
    mapping = {Symbol("N"): const(3)}
    inner = Tensor(DType.INT64, Shape(["N"]), Contents.fill(N))
    assert inner.replace(mapping) is Tensor(DType.INT64, Shape([3]), Contents.fill(const(3)))
    assert SequenceOf(inner, N).replace(mapping) is SequenceOf(inner.replace(mapping), const(3))
    cut = SequenceOf(inner, N, None, Cut(0, N * 2, N + 1))
    assert cut.replace(mapping) == SequenceOf(inner.replace(mapping), const(3), None, Cut(0, const(6), const(4)))
    assert VALUES.join(cut, SequenceOf(inner, N)) is SequenceOf(inner, N)
    assert OptionalOf(inner, True).replace(mapping) is OptionalOf(inner.replace(mapping), True)
    assert MapOf(DType.STRING, inner).replace(mapping) is MapOf(DType.STRING, inner.replace(mapping))
    assert TOP.replace(mapping) is TOP


X, Y = Tensor(DType.INT64, Shape(["N"]), Contents.fill(N)), SparseTensor(DType.FLOAT, Shape(["M"]))
NESTED = OptionalOf(SequenceOf.of([X, MapOf(DType.STRING, Y), TOP], BOTTOM), True)


def test_parts_of_a_value_come_in_order_and_those_that_hold_come_first() -> None:
    inner = NESTED.element
    assert list(parts(NESTED)) == [NESTED, inner, X, MapOf(DType.STRING, Y), Y, TOP]
    assert list(tensors(NESTED)) == [X, Y]
    assert list(parts(SequenceOf(X, N))) == [SequenceOf(X, N), X]
    assert list(parts(BOTTOM)) == [BOTTOM]
    assert not list(tensors(TOP))


def test_a_map_over_tensors_keeps_what_holds_them() -> None:
    def rank_only(tensor: AnyTensor) -> Tensor:
        return Tensor(tensor.dtype, tensor.shape.map(lambda dim: UNKNOWN_SIZE))

    bare = [Tensor(DType.INT64, Shape([None])), Tensor(DType.FLOAT, Shape([None]))]
    expected = OptionalOf(SequenceOf.of([bare[0], MapOf(DType.STRING, bare[1]), TOP], BOTTOM), True)
    assert map_tensors(NESTED, rank_only) is expected
    assert map_tensors(NESTED, lambda tensor: tensor) is NESTED
    assert map_tensors(SequenceOf(X, N), rank_only) is SequenceOf(bare[0], N)
    assert map_tensors(SequenceOf(X, N), rank_only, lambda length: M) is SequenceOf(bare[0], M)
    assert (map_tensors(TOP, rank_only), map_tensors(BOTTOM, rank_only)) == (TOP, BOTTOM)
    assert without_elements(NESTED) is NESTED.map(lambda part: map_tensors(part, replace_contents))


def replace_contents(tensor: AnyTensor) -> AnyTensor:
    return Tensor(DType.INT64, Shape(["N"])) if tensor is X else tensor


def test_values_of_two_kinds_join_to_top_and_meet_at_bottom() -> None:
    tensor, sequence = Tensor(DType.FLOAT), SequenceOf(Tensor(DType.FLOAT))
    assert VALUES.join(tensor, sequence) is TOP
    assert VALUES.meet(tensor, sequence) is BOTTOM
    assert VALUES.meet(Tensor(DType.INT64, Shape([2])), Tensor(DType.INT64, Shape([3]))) is BOTTOM
    assert VALUES.meet(tensor, Tensor(DType.INT64)) is BOTTOM
    one, two = (Tensor(DType.INT64, Shape(()), Contents.scalar(const(v))) for v in (1, 2))
    assert VALUES.meet(one, two) is BOTTOM
