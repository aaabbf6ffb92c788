"""The sizes that become symbols, each with the size that it replaces; tables whose shape carries an old size, as
functions of the new one; changes to numbers and sizes, and why one cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from absint.lattices.logic.relation import FALSE, TRUE, YES, Relation
from absint.lattices.terms.expr import Dim, Expr, add, const, mul, sub, symbol
from absint.lattices.terms.normal import Substitution
from absint.lattices.terms.polynomials import exact_quotient
from absint.lattices.value import Tensor, Value
from absint.solver.candidates import alone, coprime

Array = npt.NDArray[Any]

_OTHERS: Final = (5, 12, 60)
"""Sizes that other symbols of a relation have where it is tried."""
_MULTIPLES: Final = (2, 3, 5)


class Resizing:
    """Symbols with their old sizes."""

    def __init__(self, sizes: Mapping[str, int], rows: Collection[str] = ()) -> None:
        """`rows` are the symbols that count rows, none of which depends on another."""
        self.sizes = dict(sizes)
        self.rows = frozenset(rows)
        self._old = cache(Substitution({s: const(size) for name, size in sizes.items() for s in symbol(name).symbols}))
        self.narrows = cache(self._narrows)
        """It holds at the old sizes and fails at larger ones. A lower bound is nothing that a constant bakes in."""
        self._samples = list(_samples(self.sizes))

    def old(self, dim: Dim) -> Dim:
        """The dim at the old sizes."""
        return dim if not isinstance(dim, Expr) or dim.const is not None else self._old(dim)

    def back(self, dim: Expr, to: Expr) -> Dim:
        """The dim with the old sizes of the symbols that another one lacks."""
        lost = self.sizes.keys() - to.free_symbols
        return dim.substitute({name: self.sizes[name] for name in lost})

    def varies(self, dim: Dim) -> bool:
        """A new symbol occurs in it."""
        return isinstance(dim, Expr) and not self.sizes.keys().isdisjoint(dim.free_symbols)

    def _narrows(self, relation: Relation) -> bool:
        is_free = relation is TRUE or relation is FALSE or self.sizes.keys().isdisjoint(relation.free_symbols)
        return not is_free and self._fails(relation, self._samples)

    def bakes(self, relation: Relation) -> bool:
        """It narrows, and fails at multiples of the old sizes too: it is more than a divisor that the model needs."""
        multiples = [{name: size * by for name, size in self.sizes.items()} for by in _MULTIPLES]
        return self.narrows(relation) and self._fails(relation, multiples)

    def narrows_rows(self, relation: Relation) -> bool:
        """It holds at the old sizes, and not with more rows."""
        names = self.rows & relation.free_symbols
        more = [{name: self.sizes[name] * by for name in names} for by in _MULTIPLES]
        more += [{name: self.sizes[name] + 1 for name in names}]
        return bool(names) and self._fails(relation, [{**self.sizes, **sizes} for sizes in more])

    def has_room(self, relation: Relation) -> bool:
        """It holds at sizes that are a little larger, as the end of a long table does: the old ones are not its all."""
        sizes = [{**self.sizes, name: size + more} for name, size in self.sizes.items() for more in (1, 2)]
        return not self._fails(relation, sizes)

    def holds_below(self, relation: Relation) -> bool:
        """It holds at sizes that are not greater than the old ones, of which some are less."""
        sizes = [{name: max(size - less, size // 2) for name, size in self.sizes.items()} for less in (1, 2, 1 << 20)]
        return not self._fails(relation, sizes)

    def _fails(self, relation: Relation, samples: Sequence[Mapping[str, int]]) -> bool:
        # What fails may depend on other symbols: some sizes of theirs must pass at the old ones and fail at a sample.
        others = sorted(relation.free_symbols - self.sizes.keys())
        for size in _OTHERS:
            beside = {name: size + at for at, name in enumerate(others)}
            if relation.at({**beside, **self.sizes}) is YES and any(
                relation.at({**beside, **sample}) is not YES for sample in samples
            ):
                return True
        return False

    def variants(self, wanted: Expr, now: Dim, *, last: bool = False) -> Iterator[Expr]:
        """Expressions for a number that is `now` at the old sizes and belongs to a size that shall be `wanted`: equal
        to it, off by a constant, or a multiple of it; with `last` only equal or the last index.
        """
        was, found = self.old(wanted), self.old(now)
        if not isinstance(was, Expr) or not isinstance(found, Expr):
            return
        if was is found:
            yield wanted
            return
        # Off by a constant (a position table with two rows more), then a multiple (heads times sizes).
        step = sub(found, was)
        if last and step.is_concrete and int(step) != -1:
            return
        if isinstance(step, Expr) and step.const is not None:
            moved = wanted + step
            if isinstance(moved, Expr):
                yield moved
        whole = mul(wanted, found)
        if not last and was.const != 0 and isinstance(whole, Expr):
            scaled = exact_quotient(whole, was)
            if isinstance(scaled, Expr):
                yield scaled


def dims_in(value: Value | None) -> tuple[Dim, ...]:
    """The sizes of a tensor; none if its rank is not known."""
    return tuple(value.shape) if isinstance(value, Tensor) and not value.shape.is_top else ()


def _samples(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes to try: multiples of the old ones, sizes without a common divisor, one symbol at a time."""
    primes = coprime(sizes)
    yield {name: max(size, 1) * primes[name] for name, size in sizes.items()}
    yield {name: size + primes[name] + 1 for name, size in sizes.items()}
    for name, size in sizes.items():
        yield from alone(sizes, [name], (2 * size + 1, 2 * max(size, 1)))


# Constants whose shape carries an old size, as functions of the new one: what a table holds beyond its own values.

_MOST_EXACT: Final = 1 << 24
"""Floats of 32 bits hold whole numbers below it."""
_OF_NOTE: Final = 1
"""Numbers up to this stand for themselves; a larger one may be an old size."""


@dataclass(frozen=True)
class Recipe:
    """A tensor of any size, made of a small one.

    An element is that of `core`, whose size is 1 along the changed axes, plus `steps` times its indices. With a `band`
    it is chosen between two cores.
    """

    core: Array
    dims: tuple[Expr, ...]
    """The new shape."""
    steps: Mapping[int, Expr | Array] = field(default_factory=dict)
    """By axis: a number, or one for each element of the core."""
    start: Expr | None = None
    """The first element, in place of that of the core, if it is a size."""
    band: Band | None = None

    def __str__(self) -> str:
        if self.band is not None:
            return "a band along the diagonal"
        if not self.steps:
            return "the same along the axis"
        sizes = [str(step) for step in self.steps.values() if isinstance(step, Expr) and step.const is None]
        by = f" by {', '.join(sizes)}" if sizes else ""
        return f"counted{f' from {self.start}' if self.start is not None else ''}{by}"


@dataclass(frozen=True)
class Band:
    """Elements on or above a diagonal: those where the index on `columns` is at least that on `rows` plus `offset`."""

    rows: int
    columns: int
    offset: Expr
    above: Array
    """The value there; `core` is the one below."""


class TableError(Exception):
    """The constant is no function of its size."""


class Tables:
    """Recipes for the constants of one model."""

    def __init__(self, resizing: Resizing, sizes: Collection[Expr]) -> None:
        """`sizes` are those of all values, which tell what a number in a table may stand for."""
        self._resizing, self._sizes = resizing, sizes

    def recipe(self, array: Array, dims: Sequence[Dim]) -> Recipe:
        """The constant at any size; at the old sizes it is the array. `dims` is its new shape.

        Raises TableError with the reason if the array holds values of its own, or a number that may be several sizes.
        """
        new = tuple(dim for dim in dims if isinstance(dim, Expr))
        axes = [axis for axis, dim in enumerate(new) if self._resizing.varies(dim)]
        if array.size == 0:
            raise TableError("it is empty at the old sizes")
        # From the simplest function of the size to the least simple: constant, counted, two values beside a diagonal.
        core = array[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(array.ndim))]
        if (array == core).all():
            return Recipe(core, new)
        if array.dtype.kind in "iu" or are_places(array, axes):
            made = self._stepping(array, core, axes, new)
            if made is not None:
                return made
        made = self._banded(array, axes, new)
        if made is None:
            raise TableError("a table of values, one for each place")
        return made

    def _stepping(self, array: Array, core: Array, axes: Sequence[int], dims: tuple[Expr, ...]) -> Recipe | None:
        """The recipe of elements that grow by equal steps along each axis."""
        # Steps are read from the first two places of each axis and tried on all; Python's integers cannot overflow.
        whole = core.astype(object)
        steps: dict[int, Array] = {}
        for axis in axes:
            if array.shape[axis] > 1:
                second = tuple(
                    slice(1, 2) if at == axis else slice(0, 1) if at in axes else slice(None)
                    for at in range(array.ndim)
                )
                step = array[second] - core
                whole = whole + step.astype(object) * _places(array.shape[axis], axis, array.ndim).astype(object)
                if step.any():
                    steps[axis] = step
        if whole.shape != array.shape or not (whole == array.astype(object)).all():
            return None
        found: dict[int, Expr | Array] = {}
        for axis, step in steps.items():
            numbers = {int(n) for n in step.ravel()}
            only = self._meaning(numbers.pop(), dims[axis], mul) if len(numbers) == 1 else None
            found[axis] = step if only is None else only
        start: Expr | None = None
        if core.size == 1 and len(steps) == 1:
            start = self._meaning(int(core.ravel()[0]), dims[next(iter(steps))], add)
        return Recipe(core, dims, found, start if start is not None and start.const is None else None)

    def _meaning(self, number: int, size: Expr, together: Callable[[Dim, Dim], Dim]) -> Expr:
        """The size that a number stands for: one whose sum or product with the size of the axis is the size of some
        value; else the number itself. Raises TableError if there are several.
        """
        if abs(number) <= _OF_NOTE:
            return const(number)
        # A symbol or a difference of two (`past`, `total - past`), which the values of the model have to confirm.
        names = [symbol(name) for name in self._resizing.sizes]
        sizes = [*names, *(a - b for a in names for b in names if a is not b)]
        found = [
            meant
            for meant in sizes
            if isinstance(meant, Expr)
            and self._resizing.old(meant) is const(number)
            and together(size, meant) in self._sizes
        ]
        if len(found) > 1 and all(together(size, meant) is together(size, found[0]) for meant in found[1:]):
            found = found[:1]
        if len(found) > 1:
            raise TableError(f"the number {number} in it may be {' or '.join(map(str, found[:2]))}")
        return found[0] if found else const(number)

    def _banded(self, array: Array, axes: Sequence[int], dims: tuple[Expr, ...]) -> Recipe | None:
        """The recipe of two values with a diagonal between them."""
        varying = [axis for axis in range(array.ndim) if not (array == array.take([0], axis)).all()]
        if len(varying) != 2 or not set(varying) <= set(axes):
            return None
        rows, columns = varying
        # The other axes repeat, so one plane has all values.
        plane = array[tuple(slice(None) if axis in varying else 0 for axis in range(array.ndim))]
        values = list(dict.fromkeys(plane.ravel().tolist()))
        if len(values) != 2:
            return None
        place = np.subtract.outer(np.arange(plane.shape[0]), np.arange(plane.shape[1])) * -1
        core = [1 if axis in axes else size for axis, size in enumerate(array.shape)]
        for below, above in (values, values[::-1]):
            offset = int(place[plane == above].min())
            if (place[plane == below] < offset).all():
                low, high = np.full(core, below, array.dtype), np.full(core, above, array.dtype)
                band = Band(rows, columns, self._offset(offset, dims[rows], dims[columns]), high)
                return Recipe(low, dims, band=band)
        return None

    def _offset(self, offset: int, rows: Expr, columns: Expr) -> Expr:
        """The offset of a diagonal: a small number, or the difference of the sizes and a small number."""
        slack = sub(columns, rows)
        was = self._resizing.old(slack)
        if not isinstance(slack, Expr) or not isinstance(was, Expr) or was.const is None:
            raise TableError("a band between axes of unknown difference")
        # Of the two ways to write the offset, from the first corner or the last, the one with a small number is meant.
        from_corner = offset - was.const
        if slack is was or abs(offset) <= _OF_NOTE < abs(from_corner):
            return const(offset)
        if abs(from_corner) <= _OF_NOTE < abs(offset):
            moved = slack + from_corner
            assert isinstance(moved, Expr)
            return moved
        raise TableError(f"a band that begins at {offset}, which may be {slack} or a number of its own")


def are_places(array: Array, axes: Sequence[int]) -> bool:
    """Floats that count places along axes, by ones, or are the same; weights of two places may do so by chance."""
    if array.dtype.kind != "f" or array.size == 0 or any(array.shape[axis] == 2 for axis in axes):
        return False
    wide = array.astype(np.float64)
    if not (np.abs(wide) < _MOST_EXACT).all() or not (wide == np.round(wide)).all():
        return False
    steps = [(axis, np.diff(wide, axis=axis)) for axis in axes]
    return all((abs(step) <= 1).all() and (step == step.take([0], at)).all() for at, step in steps if step.size)


def _places(size: int, axis: int, rank: int) -> npt.NDArray[np.int64]:
    """The indices along an axis."""
    return np.arange(size).reshape([-1 if at == axis else 1 for at in range(rank)])


def evaluated(made: Recipe, sizes: Mapping[str, int]) -> Array:
    """The tensor at some sizes."""
    shape = [dim.evaluate(sizes) for dim in made.dims]
    rank = len(shape)
    found = np.broadcast_to(made.core, shape)
    if made.start is not None:
        found = np.full(shape, _number(made.start, sizes), made.core.dtype)
    for axis, step in made.steps.items():
        by = np.array(_number(step, sizes)) if isinstance(step, Expr) else step
        found = (found + by * _places(shape[axis], axis, rank)).astype(made.core.dtype)
    if made.band is not None:
        rows, columns = (_places(shape[axis], axis, rank) for axis in (made.band.rows, made.band.columns))
        found = np.where(columns >= rows + _number(made.band.offset, sizes), made.band.above, found)
    return found


def _number(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The value of an expression that may be negative."""
    found = expr.substitute(dict(sizes))
    return int(found)


# What a search changes.

SEVERAL: Final = "more than one of its numbers may be the size"
GIVEN_UP: Final = "the search was given up"
CONTROL_FLOW: Final = "control flow needs the size"
BY_BRANCH: Final = "a branch gives a constant of this size"
FROM_CONTROL_FLOW: Final = "the size comes from control flow"
ITERATES: Final = "the size changes from one iteration to the next"
TOO_FAR: Final = "the size comes from too far away"
UNSURE: Final = frozenset({SEVERAL, GIVEN_UP, CONTROL_FLOW, BY_BRANCH, FROM_CONTROL_FLOW, ITERATES, TOO_FAR})
"""The reasons that end a search, and do not show that no constant explains a size."""


class Change(NamedTuple):
    """A number or a size of an input of a node, and what it should be."""

    node: int
    operand: int
    place: int
    """The axis of a size, or the place of a number."""
    value: Expr
    is_size: bool


class Fixed(NamedTuple):
    """The place where a change ends that cannot be made."""

    node: int
    reason: str


class BakedError(Exception):
    """No constant explains a size."""

    def __init__(self, node: int, reason: str) -> None:
        super().__init__(reason)
        self.fixed = Fixed(node, reason)
