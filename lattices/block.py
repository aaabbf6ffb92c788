"""The elements of a small tensor in row-major order, and the ways in which operators move them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from operator import mul
from typing import Generic, TypeVar

T = TypeVar("T")


class Block(Generic[T]):
    """An immutable array of any elements. Axes are counted from the front.

    >>> letters = Block((2, 3), "abcdef")
    >>> letters[1, 0], letters.transposed((1, 0)), letters.taken((2, 0), 1)
    ('d', Block((3, 2), 'adbecf'), Block((2, 2), 'cafd'))
    """

    __slots__ = ("elements", "shape")

    def __init__(self, shape: Sequence[int], elements: Iterable[T]) -> None:
        self.shape = tuple(shape)
        self.elements = tuple(elements)
        if prod(self.shape) != len(self.elements):
            raise ValueError(f"{len(self.elements)} elements do not fill shape {self.shape}")

    def __getitem__(self, place: Sequence[int]) -> T:
        return self.elements[self._offset(place)]

    def __repr__(self) -> str:
        text = all(isinstance(e, str) and len(e) == 1 for e in self.elements)
        return f"Block({self.shape}, {''.join(map(str, self.elements))!r})" if text else f"Block({self.shape}, ...)"

    def places(self) -> Iterator[tuple[int, ...]]:
        """The index of each element, in order."""
        return product(*map(range, self.shape))

    def with_elements(self, changed: Mapping[tuple[int, ...], T]) -> Block[T]:
        """The block with other elements at these places."""
        elements = list(self.elements)
        for place, element in changed.items():
            elements[self._offset(place)] = element
        return Block(self.shape, elements)

    def _offset(self, place: Sequence[int]) -> int:
        if len(place) != len(self.shape) or not all(0 <= at < size for at, size in zip(place, self.shape, strict=True)):
            raise IndexError(f"{tuple(place)} is no place of shape {self.shape}")
        return sum(map(mul, place, _strides(self.shape)))

    # Along an axis

    def lane(self, place: Sequence[int], axis: int) -> tuple[T, ...]:
        """The elements on the line through a place along an axis."""
        if not self.shape[axis]:
            return ()
        stride = _strides(self.shape)[axis]
        start = self._offset((*place[:axis], 0, *place[axis + 1 :]))
        return self.elements[start : start + self.shape[axis] * stride : stride]

    def lanes(self, axis: int) -> list[list[tuple[T, ...]]]:
        """All lines along an axis: for each place before the axis, one for each place behind it."""
        stride = prod(self.shape[axis + 1 :])
        step = self.shape[axis] * stride
        starts = [row * step for row in range(prod(self.shape[:axis]))]
        return [[self.elements[start + i : start + step : stride] for i in range(stride)] for start in starts]

    def along(self, axis: int, size: int, change: Callable[[tuple[T, ...]], Sequence[T]]) -> Block[T]:
        """The block with each line along an axis changed to one of this size."""
        rows = [[change(lane) for lane in row] for row in self.lanes(axis)]
        elements = [lane[at] for row in rows for at in range(size) for lane in row]
        return Block((*self.shape[:axis], size, *self.shape[axis + 1 :]), elements)

    # Whole

    def reshaped(self, shape: Sequence[int]) -> Block[T]:
        """The elements in their order in another shape."""
        return Block(shape, self.elements)

    def transposed(self, axes: Sequence[int]) -> Block[T]:
        """numpy.transpose: output axis i is input axis `axes[i]`."""
        steps = self._steps()
        return self._picked([steps[axis] for axis in axes])

    def taken(self, indices: Iterable[int], axis: int) -> Block[T]:
        """numpy.take: the slices at these indices of an axis, none negative."""
        steps = self._steps()
        steps[axis] = [steps[axis][index] for index in indices]
        return self._picked(steps)

    def tiled(self, repeats: Sequence[int]) -> Block[T]:
        """numpy.tile, with one repeat for each axis."""
        return self._picked([list(steps) * count for steps, count in zip(self._steps(), repeats, strict=True)])

    def spread(self, shape: Sequence[int]) -> Block[T]:
        """numpy.broadcast_to: axes of size 1 and missing ones are repeated."""
        own: list[Sequence[int]] = [[0]] * (len(shape) - len(self.shape))
        own += self._steps()
        return self._picked([[0] * size if len(steps) == 1 else steps for steps, size in zip(own, shape, strict=True)])

    def _steps(self) -> list[Sequence[int]]:
        """For each axis the offsets of its indices."""
        return [
            range(0, size * stride, stride) if stride else [0] * size
            for size, stride in zip(self.shape, _strides(self.shape), strict=True)
        ]

    def _picked(self, steps: Sequence[Sequence[int]]) -> Block[T]:
        """The elements at all sums of one offset of each axis."""
        offsets = [0]
        for axis in steps:
            offsets = [offset + step for offset in offsets for step in axis]
        return Block(list(map(len, steps)), [self.elements[offset] for offset in offsets])


def _strides(shape: Sequence[int]) -> list[int]:
    """The distance of neighbours along each axis."""
    return list(accumulate(shape[:0:-1], mul, initial=1))[::-1] if shape else []


def joined(blocks: Sequence[Block[T]], axis: int) -> Block[T] | None:
    """numpy.concatenate of at least one block; None if they differ on another axis."""
    first = blocks[0].shape
    if any((*b.shape[:axis], first[axis], *b.shape[axis + 1 :]) != first for b in blocks):
        return None
    runs = [(block.elements, prod(block.shape[axis:])) for block in blocks]
    elements = [e for at in range(prod(first[:axis])) for es, run in runs for e in es[at * run : (at + 1) * run]]
    return Block((*first[:axis], sum(b.shape[axis] for b in blocks), *first[axis + 1 :]), elements)
