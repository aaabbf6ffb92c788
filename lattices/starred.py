"""The dims that are known of a shape of unknown rank, `[N, *s, 64]`: by axis, from either end, and in broadcasts.

The text of any shape is read here too: `[N, *s, 64]` as the shape that prints so, `?` as any shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE, Shape, StarredShape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.text.tokens import TextError


def last_dims(shape: Shape) -> tuple[Dim, ...]:
    """The known sizes at the end of a shape: all of a known rank, the tail of a starred one, else none."""
    return shape.tail if shape.rank is None else shape.dims


def spliced(front: tuple[Dim, ...], middle: Shape, back: tuple[Dim, ...]) -> Shape:
    """A shape with these sizes put before and after it; any shape if it is."""
    if isinstance(middle, StarredShape):
        return StarredShape(front + middle.head, middle.variable, middle.tail + back)
    return TOP_SHAPE if middle.is_top else middle if middle.is_bottom else shape_of((*front, *middle, *back))


# Axes of any shape. One of unknown rank has those in its head, counted from the front, and in its tail, from the end.


def place(shape: Shape, axis: int) -> int | None:
    """The index of an axis among the known dims; None if it is not known, or if there is no such axis."""
    if 0 <= axis < len(shape.head):
        return axis
    return len(shape.known) + axis if -len(last_dims(shape)) <= axis < 0 else None


def places(shape: Shape, axes: Iterable[int]) -> frozenset[int] | None:
    """The index of each axis among the known dims; None if one is not known."""
    found = [place(shape, axis) for axis in axes]
    known = [at for at in found if at is not None]
    return frozenset(known) if len(known) == len(found) else None


def with_size(shape: Shape, at: int, *sizes: Dim) -> Shape:
    """The shape with another size, or several or none, at an index of the known dims."""
    known, count = shape.known, len(shape.head)
    changed = (*known[:at], *sizes, *known[at + 1 :])
    if shape.variable is None:
        return shape_of(changed)
    count += (len(sizes) - 1) * (at < count)
    return StarredShape(changed[:count], shape.variable, changed[count:])


def without(shape: Shape, gone: Collection[int]) -> Shape:
    """The shape without the axes at these indices of the known dims."""
    head = tuple([dim for at, dim in enumerate(shape.head) if at not in gone])
    if shape.variable is None:
        return shape_of(head)
    tail = tuple([dim for at, dim in enumerate(shape.tail, len(shape.head)) if at not in gone])
    return StarredShape(head, shape.variable, tail)


def with_axes(shape: Shape, axes: Collection[int], size: Dim) -> Shape | None:
    """The shape with further axes of this size, which have these numbers in the result; None if it is not known where
    they lie, or if a known rank has no such axis.
    """
    if shape.rank is not None:
        axes = [axis + shape.rank + len(axes) if axis < 0 else axis for axis in axes]
    front, back = [axis for axis in axes if axis >= 0], [axis for axis in axes if axis < 0]
    head, tail = len(shape.head) + len(front), len(shape.tail) + len(back)
    if any(axis >= head for axis in front) or any(axis < -tail for axis in back):
        return None
    first, last = iter(shape.head), iter(shape.tail)
    grown = tuple([size if axis in front else next(first) for axis in range(head)])
    if shape.variable is None:
        return None if shape.rank is None or back else shape_of(grown)
    return StarredShape(grown, shape.variable, tuple([size if a in back else next(last) for a in range(-tail, 0)]))


def dims_of_rank(shape: Shape, rank: int) -> tuple[Dim, ...] | None:
    """The dims of a shape of unknown rank that has this rank; None if more of them are known."""
    middle = rank - len(shape.known)
    return (*shape.head, *(UNKNOWN_SIZE,) * middle, *shape.tail) if middle >= 0 else None


class Aligned(NamedTuple):
    """The known dims of operands that broadcast, where a rank is unknown."""

    heads: tuple[tuple[Dim, ...], ...]
    """The dims before the variable that the result has; empty if it has another one."""
    variable: ShapeVariable | None
    """None: the middle of the result is unknown."""
    tails: tuple[tuple[Dim, ...], ...]
    """The dims that lie along the last axes of the result."""


def aligned(shapes: Sequence[Shape]) -> Aligned:
    """The dims that lie along each other when shapes, some of unknown rank, broadcast.

    Where all variables are one, with as many dims around it, its sizes stay: a list broadcasts with itself.
    """
    open_, ranked = [s for s in shapes if s.is_top], [s for s in shapes if not s.is_top]
    count = min(len(s.tail) for s in open_)
    longest = max(map(len, ranked), default=0)
    if longest <= count and open_[0].variable is not None and all(s.form == open_[0].form for s in open_):
        tails = (*(s.tail for s in open_), *(s.dims for s in ranked))
        return Aligned(tuple([s.head for s in open_]), open_[0].variable, tails)
    ends = [last_dims(s) for s in shapes]
    return Aligned((), None, tuple([dims[max(len(dims) - count, 0) :] for dims in ends]))


def read_shape(text: str) -> Shape:
    """The shape that a text denotes: dims of the grammar between brackets, and at most one variable `*s` among them.

    Raises TextError, which points at the column, for any other text.
    """
    whole = text.strip()
    if whole == "?":
        return TOP_SHAPE
    if not whole.startswith("[") or not whole.endswith("]"):
        raise TextError(text, 0, "expected a shape in brackets, as [N, *s, 64]")
    try:
        return Shape([None if item == "?" else item for item in _items(text, whole[1:-1])])
    except TextError:
        raise
    except ValueError as problem:
        raise TextError(text, 0, str(problem)) from None


def _items(text: str, inside: str) -> Iterator[str]:
    """The texts between the commas that are in no bracket and no quoted name."""
    if not inside.strip():
        return
    depth, begun, quoted = 0, 0, False
    for at, character in enumerate(inside):
        quoted = quoted != (character == "`" and not (quoted and inside[at - 1] == "\\"))
        if not quoted:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                yield inside[begun:at].strip()
                begun = at + 1
    yield inside[begun:].strip()
