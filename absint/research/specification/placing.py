"""Elements of small tensors at other places: reshaped, joined, gathered, sliced, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from absint.research.specification.arrays import (
    Array,
    Function,
    UnknownElementsError,
    bounded,
    computes,
    filled,
    filled_as,
    number,
    numbers,
    whole,
)
from absint.research.specification.formulas import FALSE, TRUE, term
from absint.research.specification.node import Held, Node

PLACED: Final[dict[str, Function]] = {}


@computes("Identity", PLACED)
def _same(_: Node, given: list[Array]) -> Array:
    return given[0]


@computes("Reshape", PLACED)
def _reshaped(node: Node, given: list[Array]) -> Array:
    """In the same order; 0 copies a size unless `allowzero`, and -1 is what is left."""
    wanted = numbers(given[1])
    if not node.integer("allowzero"):
        wanted = [given[0].shape[place] if size == 0 else size for place, size in enumerate(wanted)]
    return given[0].reshape(wanted)


@computes("Flatten", PLACED)
def _flat(node: Node, given: list[Array]) -> Array:
    axis = node.integer("axis", 1)
    rows = int(np.prod(given[0].shape[: axis if axis >= 0 else axis + given[0].ndim], dtype=int))
    return given[0].reshape(rows, -1)


def _axes(node: Node, given: list[Array]) -> list[int] | None:
    return numbers(given[1]) if len(given) > 1 else node.integers("axes")


@computes("Squeeze", PLACED)
def _squeezed(node: Node, given: list[Array]) -> Array:
    axes = _axes(node, given)
    return given[0].squeeze(None if axes is None else tuple(axes))


@computes("Unsqueeze", PLACED)
def _unsqueezed(node: Node, given: list[Array]) -> Array:
    found = np.expand_dims(given[0], tuple(_axes(node, given) or ()))
    assert isinstance(found, np.ndarray)
    return found


@computes("Transpose", PLACED)
def _transposed(node: Node, given: list[Array]) -> Array:
    return given[0].transpose(node.integers("perm"))


@computes("Concat", PLACED)
def _joined(node: Node, given: list[Array]) -> Array:
    return np.concatenate(given, axis=node.integer("axis"))


@computes("Gather", PLACED)
def _gathered(node: Node, given: list[Array]) -> Array:
    """A negative index counts from the end."""
    data, places = given
    axis = node.axis(node.integer("axis"), data.ndim)
    indices = np.array(numbers(places), dtype=int).reshape(places.shape)
    if indices.size and not (-data.shape[axis] <= indices.min() and indices.max() < data.shape[axis]):
        raise UnknownElementsError  # the node fails
    return filled_as(np.take(data, indices, axis=axis))


@computes("Slice", PLACED)
def _sliced(node: Node, given: list[Array]) -> Array:
    """As slices of Python, both ends clamped."""
    data, rest = given[0], [numbers(array) for array in given[1:]]
    if node.version < 10:
        rest = [node.integers("starts") or [], node.integers("ends") or [], node.integers("axes") or []]
        rest = rest if rest[2] else rest[:2]
    starts, ends = rest[:2]
    axes = rest[2] if len(rest) > 2 else list(range(len(starts)))
    steps = rest[3] if len(rest) > 3 else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = data.shape[axis]
        stop = None if step < 0 and end < -size else end
        index: list[slice] = [slice(None)] * data.ndim
        index[axis] = slice(start, stop, step)
        data = data[tuple(index)]
    return data


@computes("Split", PLACED)
def _parts(node: Node, given: list[Array]) -> list[Array]:
    """Of the given sizes; of equal ones if they are left out."""
    axis = node.axis(node.integer("axis"), given[0].ndim)
    size = given[0].shape[axis]
    if len(given) > 1 or node.integers("split") is not None:
        sizes = numbers(given[1]) if len(given) > 1 else node.integers("split") or []
    else:
        part = -(-size // node.outputs)
        sizes = [*[part] * (node.outputs - 1), size - part * (node.outputs - 1)]
    if sum(sizes) != size:
        raise UnknownElementsError  # the node fails
    return np.split(given[0], np.cumsum(sizes)[:-1], axis=axis)


@computes("Expand", PLACED)
def _expanded(_: Node, given: list[Array]) -> Array:
    sizes = np.broadcast_shapes(given[0].shape, tuple(numbers(given[1])))
    return filled_as(np.broadcast_to(given[0], bounded(sizes)))


@computes("Tile", PLACED)
def _tiled(_: Node, given: list[Array]) -> Array:
    repeats = numbers(given[1])
    bounded([size * count for size, count in zip(given[0].shape, repeats, strict=True)])
    return np.tile(given[0], repeats)


@computes("ConstantOfShape", PLACED)
def _constant(node: Node, given: list[Array]) -> Array:
    """The attribute `value` has one number or truth."""
    sizes, value = bounded(numbers(given[0])), node.attributes.get("value")
    is_truth = isinstance(value, Held) and value.dtype == "bool"
    items = value.numbers if isinstance(value, Held) else value
    assert isinstance(items, Sequence)
    (item,) = items
    filler = (TRUE if item else FALSE) if is_truth or isinstance(item, bool) else whole(Fraction(item))
    return filled(sizes, [filler] * int(np.prod(sizes, dtype=int)))


@computes("Range", PLACED)
def _range(_: Node, given: list[Array]) -> Array:
    start, limit, delta = (number(array.item()) for array in given)
    found = range(start, limit, delta)
    bounded([len(found)])
    return filled([len(found)], map(term, found))
