"""Ramps: what they say of elements, held against arrays."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, strategies as st

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.ramp import (
    NO_RAMPS,
    Ramps,
    added,
    element,
    ends,
    fits,
    ramp,
    realigned,
    replaced,
    scaled,
    side_by_side,
    spread,
    uniform,
)
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_DIM, UNKNOWN_SIZE, Dim, Expr, Symbol, const, symbol
from absint.lattices.value import Tensor

N, M = symbol("N"), symbol("M")
NUMBERS = [const(0), const(1), const(3), const(-2), N, M, N + 1, 1 - M, N * M]
BINDING = {"N": 3, "M": 2}

numbers = st.sampled_from(NUMBERS)
dims = st.sampled_from([const(1), const(2), N, M])


@st.composite
def grown(draw: st.DrawFn, most: int = 3) -> tuple[Ramps, Shape]:
    sizes = draw(st.lists(dims, max_size=most))
    return ramp(draw(numbers), [draw(numbers) for _ in sizes]), shape_of(tuple(sizes))


def array(found: Ramps, shape: Shape) -> np.ndarray:
    """The elements at the binding."""
    result = np.zeros(shape.evaluate(BINDING), dtype=np.int64)
    for at in np.ndindex(result.shape):
        result[at] = element(found, at).evaluate(BINDING)
    return result


@given(grown())
def test_the_ends_are_the_least_and_the_greatest_element(case: tuple[Ramps, Shape]) -> None:
    found, shape = case
    reached = ends(found[0], shape)
    if reached is not None:
        elements = array(found, shape)
        assert [end.evaluate(BINDING) for end in reached] == [elements.min(), elements.max()]


def test_ends_need_directions() -> None:
    assert ends(ramp(N, [const(1), const(-2)])[0], (N, M)) == (N - 2 * M + 2, 2 * N - 1)
    assert ends(ramp(N, [N - M])[0], (M,)) is None
    assert ends(ramp(N, [const(1)])[0], (UNKNOWN_SIZE,)) is None


@given(grown(), st.permutations([0, 1, 2, 3]), st.data())
def test_realigned(case: tuple[Ramps, Shape], places: list[int], data: st.DataObject) -> None:
    """Axes of size 1 come and go; the elements stay in order."""
    found, shape = case
    kept = [d for d in shape if d is not const(1)]
    for _ in range(data.draw(st.integers(0, 2))):
        kept.insert(data.draw(st.integers(0, len(kept))), const(1))
    target = shape_of(tuple(kept))
    result = realigned(found, shape, target)
    assert result
    assert (array(result, target).ravel() == array(found, shape).ravel()).all()


def test_realigned_only_if_the_other_dims_are_the_same() -> None:
    found = ramp(const(0), [const(1), const(1)])
    assert not realigned(found, Shape([N, M]), Shape([M, N]))
    assert not realigned(found, Shape([N, M]), Shape([N * M]))
    assert not realigned(ramp(const(0), [const(1)]), Shape([UNKNOWN_SIZE]), Shape([UNKNOWN_SIZE, 1]))
    assert not realigned(NO_RAMPS, Shape([N]), Shape([N, 1]))


@given(grown(), st.lists(dims, max_size=2), st.data())
def test_spread(case: tuple[Ramps, Shape], more: list[Dim], data: st.DataObject) -> None:
    found, shape = case
    wide = [data.draw(dims) if d is const(1) else d for d in shape]
    target = shape_of((*more, *wide))
    result = spread(found, shape, target)
    assert result
    assert (array(result, target) == np.broadcast_to(array(found, shape), target.evaluate(BINDING))).all()


def test_spread_does_not_guess() -> None:
    found = ramp(const(0), [const(1)])
    assert not spread(found, Shape([N]), Shape([M]))  # N may be 1
    assert not spread(found, Shape([UNKNOWN_SIZE]), Shape([UNKNOWN_SIZE]))


@given(grown(), numbers, st.data())
def test_sums_and_products(case: tuple[Ramps, Shape], factor: Expr, data: st.DataObject) -> None:
    found, shape = case
    other = ramp(data.draw(numbers), [data.draw(numbers) for _ in shape])
    mine, theirs = array(found, shape), array(other, shape)
    assert (array(added(found, other), shape) == mine + theirs).all()
    assert (array(added(found, other, -1), shape) == mine - theirs).all()
    same = uniform(factor, len(shape))
    for product_ in (scaled(found, same), scaled(same, found)):
        assert (array(product_, shape) == mine * factor.evaluate(BINDING)).all()


def test_a_product_of_two_that_grow_is_no_ramp() -> None:
    assert scaled(ramp(const(0), [const(1)]), ramp(const(0), [const(2)])) == NO_RAMPS


def test_columns() -> None:
    rows = shape_of((N, M, const(1)))
    parts = [ramp(const(0), [const(1), const(0), const(0)]), ramp(M, [const(0), const(2), const(7)])]
    joined = side_by_side(parts, [rows, rows])
    shape = shape_of((N, M, const(2)))
    assert fits(joined, shape)
    assert not fits(joined, shape_of((N, M, const(3))))
    expected = np.concatenate([array(part, rows) for part in parts], axis=-1)
    assert (array(joined, shape) == expected).all()
    assert side_by_side(parts[:1], [rows]) == parts[0]
    assert side_by_side(parts, [rows, shape_of((M, M, const(1)))]) == NO_RAMPS
    assert side_by_side([parts[0], NO_RAMPS], [rows, rows]) == NO_RAMPS


def test_a_tensor_keeps_ramps_that_fit_its_shape() -> None:
    found = ramp(N, [const(2)])
    assert Tensor(DType.INT64, Shape([M]), ramps=found).ramps == found
    assert Tensor(DType.INT64, Shape([M, 1]), ramps=found).ramps == NO_RAMPS
    assert Tensor(DType.INT64, ramps=found).ramps == NO_RAMPS
    assert str(Tensor(DType.INT64, Shape([M]), ramps=found)) == "Tensor(INT64[M] = N + 2*[0])"
    filled = Tensor(DType.INT64, Shape([M]), Contents.fill(N), found)
    assert filled is Tensor(DType.INT64, Shape([M]), Contents.fill(N), found)


def test_symbols_are_replaced_in_ramps() -> None:
    tensor = Tensor(DType.INT64, Shape([M]), ramps=ramp(N, [N + 1]))
    assert tensor.replace({Symbol("N"): const(4)}).ramps == ramp(const(4), [const(5)])
    assert tensor.replace({Symbol("N"): UNKNOWN_DIM}).ramps == NO_RAMPS
    assert replaced(ramp(N, [M]), {Symbol("N"): M, Symbol("M"): N}) == ramp(M, [N])


def test_elements_of_columns_and_of_a_ramp_over_all_axes() -> None:
    columns = (*ramp(const(0), [N]), *ramp(M, [const(1)]))
    for row, column in product(range(3), range(2)):
        assert element(columns, (row, column)) == [row * N, M + row][column]
