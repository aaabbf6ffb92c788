"""Elements of small tensors of integers and truths: the arithmetic on shapes that models compute.

Each operator is written as numpy defines it, on arrays of terms. Integers are numbers: nothing overflows. Where the
places of elements hang on numbers that are not known, or on floats, an operator has no elements here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from absint.specification.formulas import (
    FALSE,
    TRUE,
    Formula,
    Term,
    both,
    choice,
    either,
    equal,
    largest,
    negated,
    product,
    smallest,
    term,
    total,
)
from absint.specification.layout import number
from absint.specification.node import Input, Node

Element: TypeAlias = "Term | Formula"
Array = npt.NDArray[np.object_]
Elements = tuple[Element, ...]
Function = Callable[[Node, list[Array]], "Array | Sequence[Array]"]

MOST: Final = 1024
"""Elements of a tensor that is followed."""

INTEGERS: Final = (6, 7)
"""int32 and int64, as `to` of a Cast names them."""
BOOL: Final = 9


class UnknownElementsError(Exception):
    """The elements hang on what is not known."""


_COMPUTED: Final[dict[str, Function]] = {}


def elements(node: Node) -> tuple[Elements | None, ...]:
    """The elements of each output of a node of ai.onnx, in row-major order; None where nothing is said of them."""
    function = _COMPUTED.get(node.operator)
    if function is None:
        return (None,) * node.outputs
    try:
        found = function(node, [_array(item) for item in _trimmed(node.inputs)])
    except (UnknownElementsError, LookupError, ValueError, AssertionError):
        return (None,) * node.outputs
    arrays = [found] if isinstance(found, np.ndarray) else list(found)
    listed: list[Elements | None] = [tuple(array.ravel()) if array.size <= MOST else None for array in arrays]
    return (*listed, *[None] * (node.outputs - len(listed)))


def computed() -> list[str]:
    """The operators of ai.onnx whose elements are specified here."""
    return sorted(_COMPUTED)


def _computes(operators: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        _COMPUTED.update(dict.fromkeys(operators.split(), function))
        return function

    return register


def _trimmed(inputs: Sequence[Input | None]) -> Sequence[Input | None]:
    """Without those at the end that are left out."""
    last = max((place for place, found in enumerate(inputs) if found is not None), default=-1)
    return inputs[: last + 1]


def _array(found: Input | None) -> Array:
    if found is None:
        raise UnknownElementsError
    sizes = [number(size) for size in found.dims]
    known = [size for size in sizes if size is not None]
    if found.elements is None or len(known) < len(sizes):
        raise UnknownElementsError
    return _filled(known, found.elements)


def _filled(sizes: Sequence[int], items: Iterable[Element]) -> Array:
    listed = list(items)
    flat = np.empty(len(listed), dtype=object)
    for place, item in enumerate(listed):
        flat[place] = item
    return flat.reshape(sizes)


def _each(function: Callable[..., Element], *arrays: Array) -> Array:
    """The function at each place, after broadcasting."""
    wide = np.broadcast_arrays(*arrays)
    found = np.empty(wide[0].shape, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = function(*[array[place] for array in wide])
    return found


def _integer(item: object) -> Term:
    if not isinstance(item, Term):
        raise UnknownElementsError
    return item


def _truth(item: object) -> Formula:
    if not isinstance(item, Formula):
        raise UnknownElementsError
    return item


def _number(item: object) -> int:
    found = number(_integer(item))
    if found is None:
        raise UnknownElementsError
    return found


def _numbers(array: Array) -> list[int]:
    return [_number(item) for item in array.ravel()]


# Arithmetic


@_computes("Add Sub Mul Max Min")
def _arithmetic(node: Node, given: list[Array]) -> Array:
    """Place by place."""
    operation: dict[str, Callable[[Term, Term], Term]] = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Max": largest,
        "Min": smallest,
    }
    function = operation[node.operator]
    return reduce(lambda a, b: _each(lambda x, y: function(_integer(x), _integer(y)), a, b), given)


@_computes("Div")
def _divided(_: Node, given: list[Array]) -> Array:
    """Rounded towards 0, as C++ divides."""
    return _each(lambda a, b: _quotient(_integer(a), _integer(b)), *given)


def _quotient(a: Term, b: Term) -> Term:
    """Nothing is said of a quotient by 0."""
    by_positive = choice(a >= 0, a // b, -(-a // b))
    known = number(b)
    if known is not None and known >= 1:
        return by_positive
    c = -b
    return choice(b >= 1, by_positive, choice(a >= 0, -(a // c), -a // c))


@_computes("Mod")
def _remainder(node: Node, given: list[Array]) -> Array:
    """With the sign of the divisor."""
    if node.integer("fmod"):
        raise UnknownElementsError

    def one(a: Term, b: Term) -> Term:
        known = number(b)
        if known is not None and known >= 1:
            return a % b
        return choice(b >= 1, a % b, -(-a % -b))

    return _each(lambda a, b: one(_integer(a), _integer(b)), *given)


@_computes("Neg Abs Sign")
def _of_one(node: Node, given: list[Array]) -> Array:
    operation: dict[str, Callable[[Term], Term]] = {
        "Neg": lambda a: -a,
        "Abs": lambda a: choice(a >= 0, a, -a),
        "Sign": lambda a: choice(a >= 1, 1, choice(equal(a, 0), 0, -1)),
    }
    return _each(lambda a: operation[node.operator](_integer(a)), given[0])


@_computes("ReduceSum ReduceProd ReduceMax ReduceMin")
def _reduced(node: Node, given: list[Array]) -> Array:
    """Over the given axes; over all if there are none."""
    array = given[0]
    axes = _numbers(given[1]) if len(given) > 1 else node.integers("axes") or []
    if not axes and node.integer("noop_with_empty_axes"):
        return array
    chosen = sorted({node.axis(axis, array.ndim) for axis in axes or range(array.ndim)})
    kept = [axis for axis in range(array.ndim) if axis not in chosen]
    rows = array.transpose([*kept, *chosen])
    sizes = [array.shape[axis] for axis in kept]
    combine: dict[str, Callable[[list[Term]], Term]] = {
        "ReduceSum": total,
        "ReduceProd": product,
        "ReduceMax": lambda row: largest(*row),
        "ReduceMin": lambda row: smallest(*row),
    }
    found = np.empty(sizes, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = combine[node.operator]([_integer(item) for item in rows[place].ravel()])
    shape = [1 if axis in chosen else size for axis, size in enumerate(array.shape)]
    return found.reshape(shape) if node.integer("keepdims", 1) else found


# Truths


@_computes("Equal Less Greater LessOrEqual GreaterOrEqual")
def _compared(node: Node, given: list[Array]) -> Array:
    """Place by place."""
    operation: dict[str, Callable[[Term, Term], Formula]] = {
        "Equal": equal,
        "Less": lambda a, b: a < b,
        "Greater": lambda a, b: a > b,
        "LessOrEqual": lambda a, b: a <= b,
        "GreaterOrEqual": lambda a, b: a >= b,
    }
    return _each(lambda a, b: operation[node.operator](_integer(a), _integer(b)), *given)


@_computes("And Or Not")
def _logic(node: Node, given: list[Array]) -> Array:
    """Place by place."""
    if node.operator == "Not":
        return _each(lambda a: negated(_truth(a)), given[0])
    join = both if node.operator == "And" else either
    return _each(lambda a, b: join(_truth(a), _truth(b)), *given)


@_computes("Where")
def _chosen(_: Node, given: list[Array]) -> Array:
    """The second where the first is true, else the third."""
    return _each(lambda c, a, b: choice(_truth(c), _integer(a), _integer(b)), *given)


@_computes("Cast")
def _cast(node: Node, given: list[Array]) -> Array:
    """A truth is 1 or 0, and an integer is true unless it is 0."""
    to = node.integer("to")
    if to in INTEGERS:
        return _each(lambda a: choice(a, 1, 0) if isinstance(a, Formula) else a, given[0])
    if to == BOOL:
        return _each(lambda a: a if isinstance(a, Formula) else negated(equal(a, 0)), given[0])
    raise UnknownElementsError


# Elements at other places


@_computes("Identity")
def _same(_: Node, given: list[Array]) -> Array:
    return given[0]


@_computes("Reshape")
def _reshaped(node: Node, given: list[Array]) -> Array:
    """In the same order; 0 copies a size unless `allowzero`, and -1 is what is left."""
    wanted = _numbers(given[1])
    if not node.integer("allowzero"):
        wanted = [given[0].shape[place] if size == 0 else size for place, size in enumerate(wanted)]
    return given[0].reshape(wanted)


@_computes("Flatten")
def _flat(node: Node, given: list[Array]) -> Array:
    axis = node.integer("axis", 1)
    rows = int(np.prod(given[0].shape[: axis if axis >= 0 else axis + given[0].ndim], dtype=int))
    return given[0].reshape(rows, -1)


def _axes(node: Node, given: list[Array]) -> list[int] | None:
    return _numbers(given[1]) if len(given) > 1 else node.integers("axes")


@_computes("Squeeze")
def _squeezed(node: Node, given: list[Array]) -> Array:
    axes = _axes(node, given)
    return given[0].squeeze(None if axes is None else tuple(axes))


@_computes("Unsqueeze")
def _unsqueezed(node: Node, given: list[Array]) -> Array:
    found = np.expand_dims(given[0], tuple(_axes(node, given) or ()))
    assert isinstance(found, np.ndarray)
    return found


@_computes("Transpose")
def _transposed(node: Node, given: list[Array]) -> Array:
    return given[0].transpose(node.integers("perm"))


@_computes("Concat")
def _joined(node: Node, given: list[Array]) -> Array:
    return np.concatenate(given, axis=node.integer("axis"))


@_computes("Gather")
def _gathered(node: Node, given: list[Array]) -> Array:
    """A negative index counts from the end."""
    data, places = given
    axis = node.axis(node.integer("axis"), data.ndim)
    indices = np.array(_numbers(places), dtype=int).reshape(places.shape)
    if indices.size and not (-data.shape[axis] <= indices.min() and indices.max() < data.shape[axis]):
        raise UnknownElementsError  # the node fails
    return _filled_as(np.take(data, indices, axis=axis))


@_computes("Slice")
def _sliced(node: Node, given: list[Array]) -> Array:
    """As slices of Python, both ends clamped."""
    data, rest = given[0], [_numbers(array) for array in given[1:]]
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


@_computes("Split")
def _parts(node: Node, given: list[Array]) -> list[Array]:
    """Of the given sizes; of equal ones if they are left out."""
    axis = node.axis(node.integer("axis"), given[0].ndim)
    size = given[0].shape[axis]
    if len(given) > 1 or node.integers("split") is not None:
        sizes = _numbers(given[1]) if len(given) > 1 else node.integers("split") or []
    else:
        part = -(-size // node.outputs)
        sizes = [*[part] * (node.outputs - 1), size - part * (node.outputs - 1)]
    if sum(sizes) != size:
        raise UnknownElementsError  # the node fails
    return np.split(given[0], np.cumsum(sizes)[:-1], axis=axis)


@_computes("Expand")
def _expanded(_: Node, given: list[Array]) -> Array:
    sizes = np.broadcast_shapes(given[0].shape, tuple(_numbers(given[1])))
    return _filled_as(np.broadcast_to(given[0], _bounded(sizes)))


@_computes("Tile")
def _tiled(_: Node, given: list[Array]) -> Array:
    repeats = _numbers(given[1])
    _bounded([size * count for size, count in zip(given[0].shape, repeats, strict=True)])
    return np.tile(given[0], repeats)


@_computes("ConstantOfShape")
def _constant(node: Node, given: list[Array]) -> Array:
    """The attribute `value` has one integer or truth."""
    sizes, value = _bounded(_numbers(given[0])), node.attributes.get("value")
    assert isinstance(value, Sequence)
    (item,) = value
    assert isinstance(item, int)
    filler = (TRUE if item else FALSE) if isinstance(item, bool) else term(item)
    return _filled(sizes, [filler] * int(np.prod(sizes, dtype=int)))


@_computes("Range")
def _range(_: Node, given: list[Array]) -> Array:
    start, limit, delta = (_number(array.item()) for array in given)
    found = range(start, limit, delta)
    _bounded([len(found)])
    return _filled([len(found)], map(term, found))


def _bounded(sizes: Sequence[int]) -> Sequence[int]:
    if any(size < 0 for size in sizes) or np.prod([float(size) for size in sizes]) > MOST:
        raise UnknownElementsError
    return sizes


def _filled_as(found: object) -> Array:
    """An array, where numpy gives the element of an array without axes."""
    return found if isinstance(found, np.ndarray) else _filled([], [found])  # type: ignore[list-item]


__all__ = ["Element", "Elements", "computed", "elements"]
