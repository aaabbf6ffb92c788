"""Elements of small tensors at other places: reshaped, joined, sliced, repeated; read and written at given ones."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from absint.research.specification import arrays
from absint.research.specification.arrays import Array, Element, bounded, computes, filled, integer, number, numbers
from absint.research.specification.formulas import FALSE, TRUE
from absint.research.specification.node import Held, Node
from absint.research.specification.terms import Formula, Term, choice, largest, smallest, term


@computes("Identity Reshape Flatten Squeeze Unsqueeze")
def _same(_: Node, given: list[Array]) -> Array:
    """The same elements in the same order, whatever the axes."""
    return given[0]


@computes("Transpose")
def _transposed(node: Node, given: list[Array]) -> Array:
    return given[0].transpose(node.integers("perm"))


@computes("Concat")
def _joined(node: Node, given: list[Array]) -> Array:
    return np.concatenate(given, axis=node.integer("axis"))


@computes("Gather")
def _gathered(node: Node, given: list[Array]) -> Array:
    """A negative index counts from the end."""
    data, places = given
    axis = node.axis(node.integer("axis"), data.ndim)
    return arrays.filled_as(np.take(data, _indices(places), axis=axis))  # IndexError where the node fails


@computes("Slice")
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


@computes("Split")
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
        raise arrays.UnknownElementsError  # the node fails
    return np.split(given[0], np.cumsum(sizes)[:-1], axis=axis)


@computes("Expand")
def _expanded(_: Node, given: list[Array]) -> Array:
    sizes = np.broadcast_shapes(given[0].shape, tuple(numbers(given[1])))
    return arrays.filled_as(np.broadcast_to(given[0], bounded(sizes)))


@computes("Tile")
def _tiled(_: Node, given: list[Array]) -> Array:
    repeats = numbers(given[1])
    bounded([size * count for size, count in zip(given[0].shape, repeats, strict=True)])
    return np.tile(given[0], repeats)


@computes("ConstantOfShape")
def _constant(node: Node, given: list[Array]) -> Array:
    """The attribute `value` has one number or truth."""
    sizes, value = bounded(numbers(given[0])), node.attributes.get("value")
    is_truth = isinstance(value, Held) and value.dtype == "bool"
    items = value.numbers if isinstance(value, Held) else value
    assert isinstance(items, Sequence)
    (item,) = items
    filler = (TRUE if item else FALSE) if is_truth or isinstance(item, bool) else arrays.whole(Fraction(item))
    return filled(sizes, [filler] * int(np.prod(sizes, dtype=int)))


@computes("Range")
def _range(_: Node, given: list[Array]) -> Array:
    start, limit, delta = (number(array.item()) for array in given)
    found = range(start, limit, delta)
    bounded([len(found)])
    return filled([len(found)], map(term, found))


# Read and written at given places: indices, borders, triangles, the largest of a row


Place = tuple[int, ...]


def _indices(places: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(numbers(places), dtype=np.int64).reshape(places.shape)


def _inside(index: int, size: int) -> int:
    """An index, counted from the start. Raises UnknownElementsError outside of the axis, where the node fails."""
    if not -size <= index < size:
        raise arrays.UnknownElementsError
    return index % size


def _along(node: Node, data: Array, places: Array) -> Iterator[tuple[Place, Place]]:
    """Each place of the indices, and that in the data: the same but along the axis, where the index says it."""
    axis, indices = node.axis(node.integer("axis"), data.ndim), _indices(places)
    for place in np.ndindex(indices.shape):
        yield place, (*place[:axis], _inside(int(indices[place]), data.shape[axis]), *place[axis + 1 :])


@computes("GatherElements")
def _gathered_along(node: Node, given: list[Array]) -> Array:
    """One element for each index."""
    data, places = given
    found = np.empty(places.shape, dtype=object)
    for place, source in _along(node, data, places):
        found[place] = data[source]
    return found


def _tuples(data: Array, places: Array, batch: int = 0) -> Iterator[tuple[Place, Place]]:
    """Each row of the indices, and the place in the data that it names, after the batch axes."""
    indices = _indices(places)
    for place in np.ndindex(indices.shape[:-1]):
        sizes = data.shape[batch:]
        row = [_inside(int(index), size) for index, size in zip(indices[place], sizes, strict=False)]
        yield place, (*place[:batch], *row)


@computes("GatherND")
def _gathered_parts(node: Node, given: list[Array]) -> Array:
    """The element or slice that each row of the indices selects."""
    data, places = given
    batch = node.integer("batch_dims")
    sizes = (*places.shape[:-1], *data.shape[batch + places.shape[-1] :])
    found = np.empty(bounded(sizes), dtype=object)
    for place, source in _tuples(data, places, batch):
        found[place] = data[source]
    return found


@computes("ScatterElements Scatter")
def _scattered(node: Node, given: list[Array]) -> Array:
    """One update for each index."""
    data, places, updates = given
    return _written(node, data, ((target, updates[place]) for place, target in _along(node, data, places)))


@computes("ScatterND")
def _scattered_parts(node: Node, given: list[Array]) -> Array:
    """One part for each row of the indices."""
    data, places, updates = given
    writes = (
        ((*target, *rest), arrays.filled_as(updates[place]).item(*rest))
        for place, target in _tuples(data, places)
        for rest in np.ndindex(data.shape[len(target) :])
    )
    return _written(node, data, writes)


def _written(node: Node, data: Array, writes: Iterator[tuple[Place, Element]]) -> Array:
    """The data, updated. Without a reduction the order of two updates of one place is not defined."""
    combine: dict[str, Callable[[Term, Term], Term]] = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "max": largest,
        "min": smallest,
    }
    reduction, found, seen = node.text("reduction", "none"), data.copy(), set()
    for place, update in writes:
        if reduction != "none":
            found[place] = combine[reduction](integer(found[place]), integer(update))
        elif place in seen:
            raise arrays.UnknownElementsError
        else:
            found[place] = update
        seen.add(place)
    return found


@computes("Pad")
def _padded(node: Node, given: list[Array]) -> Array:
    """Cropped where a number is negative, then framed with a constant."""
    if node.text("mode", "constant") != "constant" or node.version < 11:
        raise arrays.UnknownElementsError
    data, pads = given[0], numbers(given[1])
    value = given[2].item() if len(given) > 2 and given[2].size else _zero(data)
    named = numbers(given[3]) if len(given) > 3 else []
    axes = [node.axis(axis, data.ndim) for axis in named] or list(range(data.ndim))
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        size = data.shape[axis]
        first, last = max(-before, 0), size - max(-after, 0)
        if first > last:
            raise arrays.UnknownElementsError
        kept = np.take(data, range(first, last), axis=axis)
        frame = [_filler(kept.shape, axis, max(count, 0), value) for count in (before, after)]
        data = np.concatenate([frame[0], kept, frame[1]], axis=axis)
    return data


def _filler(sizes: Place, axis: int, count: int, value: Element) -> Array:
    found = np.empty(bounded([*sizes[:axis], count, *sizes[axis + 1 :]]), dtype=object)
    found[...] = value
    return found


def _zero(data: Array) -> Element:
    """Raises UnknownElementsError where no element tells whether it is a number or false."""
    if not data.size:
        raise arrays.UnknownElementsError
    return FALSE if any(isinstance(item, Formula) for item in data.ravel()) else term(0)


@computes("Trilu")
def _triangle(node: Node, given: list[Array]) -> Array:
    """Zeros below the diagonal, or above it if `upper` is 0; k counts it to the right."""
    found, shift = given[0].copy(), number(given[1].item()) if len(given) > 1 else 0
    for place in np.ndindex(found.shape):
        *_, row, column = place
        right = column - row - shift
        if right < 0 if node.integer("upper", True) else right > 0:
            found[place] = _zero(given[0])
    return found


@computes("CumSum CumProd")
def _running(node: Node, given: list[Array]) -> Array:
    """At each place all elements up to it, or before it if `exclusive`; from the end if `reverse`."""
    axis = node.axis(number(given[1].item()), given[0].ndim)
    rows = np.moveaxis(given[0], axis, -1)
    found = np.empty(rows.shape, dtype=object)
    places = list(range(rows.shape[-1]))
    for row in np.ndindex(rows.shape[:-1]):
        running = term(0 if node.operator == "CumSum" else 1)
        for place in places[::-1] if node.integer("reverse") else places:
            item = integer(rows[(*row, place)])
            joined = running + item if node.operator == "CumSum" else running * item
            found[(*row, place)] = running if node.integer("exclusive") else joined
            running = joined
    return np.moveaxis(found, -1, axis)


@computes("ArgMax ArgMin")
def _extreme(node: Node, given: list[Array]) -> Array:
    """The place of the first extreme element along an axis, or of the last."""
    axis = node.axis(node.integer("axis"), given[0].ndim)
    rows = np.moveaxis(given[0], axis, -1)
    found = np.empty(rows.shape[:-1], dtype=object)
    for row in np.ndindex(found.shape):
        items = [integer(item) for item in rows[row]]
        place, best = term(0), items[0]
        for later, item in enumerate(items[1:], 1):
            a, b = (item, best) if node.operator == "ArgMax" else (best, item)
            beats = a >= b if node.integer("select_last_index") else a > b
            place, best = choice(beats, later, place), choice(beats, item, best)
        found[row] = place
    return found
