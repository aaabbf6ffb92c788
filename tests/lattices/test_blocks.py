"""Blocks move elements as numpy moves them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from absint.lattices.block import Block, joined

SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)
SHAPES_WITH_AXES = SHAPES.filter(len)


def numbered(shape: tuple[int, ...]) -> tuple[Block[Any], np.ndarray]:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return Block(shape, array.ravel().tolist()), array


def check(found: Block[Any], expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert list(found.elements) == expected.ravel().tolist()


@given(SHAPES, st.randoms(use_true_random=False))
def test_transposed(shape: tuple[int, ...], random: Any) -> None:
    block, array = numbered(shape)
    axes = random.sample(range(len(shape)), len(shape))
    check(block.transposed(axes), array.transpose(axes))


@given(SHAPES_WITH_AXES, st.data())
def test_taken(shape: tuple[int, ...], data: st.DataObject) -> None:
    block, array = numbered(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    size = shape[axis]
    indices = data.draw(st.lists(st.integers(0, size - 1), max_size=4)) if size else []
    check(block.taken(indices, axis), np.take(array, np.array(indices, dtype=int), axis))


@given(SHAPES, st.data())
def test_tiled(shape: tuple[int, ...], data: st.DataObject) -> None:
    block, array = numbered(shape)
    repeats = data.draw(st.tuples(*[st.integers(0, 3)] * len(shape)))
    check(block.tiled(repeats), np.tile(array, repeats) if shape else array)


@given(SHAPES, SHAPES, st.data())
def test_spread(shape: tuple[int, ...], more: tuple[int, ...], data: st.DataObject) -> None:
    ones = data.draw(st.tuples(*[st.booleans()] * len(shape)))
    block, array = numbered(tuple(1 if one else size for one, size in zip(ones, shape, strict=True)))
    check(block.spread((*more, *shape)), np.broadcast_to(array, (*more, *shape)))


@given(SHAPES_WITH_AXES, st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_joined(shape: tuple[int, ...], sizes: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    pairs = [numbered((*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]
    found = joined([block for block, _ in pairs], axis)
    assert found is not None
    check(found, np.concatenate([array for _, array in pairs], axis))


def test_blocks_that_differ_elsewhere_are_not_joined() -> None:
    assert joined([Block((1, 2), "ab"), Block((1, 1), "c")], 0) is None


@given(SHAPES_WITH_AXES, st.data())
def test_lanes(shape: tuple[int, ...], data: st.DataObject) -> None:
    block, array = numbered(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    expected = np.moveaxis(array, axis, -1)
    rows = block.lanes(axis)
    others = [(*place[:axis], *place[axis + 1 :]) for place in np.ndindex((*shape[:axis], 1, *shape[axis + 1 :]))]
    assert [list(lane) for row in rows for lane in row] == [expected[place].tolist() for place in others]
    for place in block.places():
        assert list(block.lane(place, axis)) == expected[(*place[:axis], *place[axis + 1 :])].tolist()


@given(SHAPES_WITH_AXES, st.integers(0, 2), st.data())
def test_along(shape: tuple[int, ...], more: int, data: st.DataObject) -> None:
    block, array = numbered(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    found = block.along(axis, shape[axis] + more, lambda lane: (*lane, *[-1] * more))
    check(found, np.pad(array, [(0, more * (i == axis)) for i in range(len(shape))], constant_values=-1))


@given(SHAPES)
def test_places(shape: tuple[int, ...]) -> None:
    block, array = numbered(shape)
    assert list(block.places()) == list(np.ndindex(shape))
    assert [block[place] for place in block.places()] == array.ravel().tolist()
    changed = dict.fromkeys(list(block.places())[::2], -1)
    for place in changed:
        array[place] = -1
    check(block.with_elements(changed), array)


@pytest.mark.parametrize("place", [(2, 0), (0, 2), (-1, 0), (0,), (0, 0, 0)])
@pytest.mark.parametrize("use", [lambda b, p: b[p], lambda b, p: b.with_elements({p: "x"})], ids=["read", "written"])
def test_a_place_outside_is_refused(
    place: tuple[int, ...], use: Callable[[Block[str], tuple[int, ...]], object]
) -> None:
    with pytest.raises(IndexError, match="is no place of shape"):
        use(Block((2, 2), "abcd"), place)


def test_elements_fill_the_shape() -> None:
    with pytest.raises(ValueError, match="2 elements do not fill shape"):
        Block((3,), "ab")
    assert repr(Block((2,), "ab")) == "Block((2,), 'ab')"
    assert repr(Block((2,), [1, 2])) == "Block((2,), ...)"
