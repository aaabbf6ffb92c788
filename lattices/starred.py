"""Shapes of unknown rank with a variable: `[N, *s, 64]`, known sizes around a list of sizes that the variable names.

*Concretisation.* Under a binding that gives each symbol a number and each shape variable a list of naturals,
`[head, *s, tail]` allows exactly the shapes whose sizes are those of the head, then the list, then those of the tail.
So one variable is one list in all shapes of a run, and two values with the same starred shape have the same shape in
every run, whatever their rank.

*Order.* Shapes have a form: the rank, or the variable with the numbers of sizes before and after it. Shapes of one form
are ordered, joined and widened size by size; of two forms neither is below the other, and their join is `?`, any shape.
Their meet is the one that says more: exact sizes before a variable, more sizes around a variable before fewer.

`is_top` is true of a starred shape: its rank is unknown, it has no `dims`, and code that knows nothing of variables
takes it for any shape.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from absint.lattices.dim import DIMS
from absint.lattices.records import NamedTuple
from absint.lattices.shape import BOTTOM_SHAPE, MAX_RANK, TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Symbol
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.shape_variables import ShapeVariable, changed
from absint.lattices.terms.substitution import substitute

T = TypeVar("T")


class StarredShape(Shape):
    """A shape variable with the known sizes before and after it. Interned."""

    __slots__ = ("_head", "_tail", "_variable")

    _head: tuple[Dim, ...]
    _tail: tuple[Dim, ...]
    _variable: ShapeVariable

    def __new__(cls, head: tuple[Dim, ...], variable: ShapeVariable, tail: tuple[Dim, ...]) -> Shape:  # type: ignore[misc]
        """Any shape past the limit of ranks, bottom if a size is."""
        if len(head) + len(tail) > MAX_RANK:
            return TOP_SHAPE
        if any(dim.bounds.is_empty for dim in (*head, *tail)):
            return BOTTOM_SHAPE

        def build() -> StarredShape:
            self = object.__new__(cls)
            self._head, self._variable, self._tail = head, variable, tail
            self._dims = self.rank = self.concrete = None
            self.is_top = self.has_unknown = True
            self._hash = hash((head, variable, tail))
            self.open = tuple([d for d in (*head, *tail) if isinstance(d, Expr) and d.const is None])
            self.largest = max([d.size for d in self.open], default=0)
            return self

        return _STARRED.add((tuple(map(id, head)), id(variable), tuple(map(id, tail))), build)

    @property
    def head(self) -> tuple[Dim, ...]:
        return self._head

    @property
    def variable(self) -> ShapeVariable:
        return self._variable

    @property
    def tail(self) -> tuple[Dim, ...]:
        return self._tail

    @property
    def form(self) -> tuple[int, ShapeVariable, int]:
        """Shapes of one form have as many sizes around the same variable."""
        return len(self._head), self._variable, len(self._tail)

    @property
    def known(self) -> tuple[Dim, ...]:
        """The dims of the head, then those of the tail."""
        return self._head + self._tail

    @property
    def free_symbols(self) -> frozenset[str]:
        return frozenset(name for dim in self.open for name in dim.free_symbols)

    def around(self, known: tuple[Dim, ...]) -> Shape:
        """The shape of the same form with these dims."""
        count = len(self._head)
        return StarredShape(known[:count], self._variable, known[count:])

    def map(self, change: Callable[[Dim], Dim]) -> Shape:
        """The shape with each known size changed. The change sees the variable as well; unless it gives a variable, it
        knows nothing of them, and the shape is any.
        """
        variable = changed(self._variable, change)
        if variable is None:
            return TOP_SHAPE
        return StarredShape(tuple(map(change, self._head)), variable, tuple(map(change, self._tail)))

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Shape:
        return self.map(lambda d: substitute(d, mapping) if isinstance(d, Expr) else d)

    def listed(self, dim: Callable[[Dim], T], text: Callable[[str], T]) -> Iterator[T]:
        yield from map(dim, self._head)
        yield text(variable_text(self._variable))
        yield from map(dim, self._tail)

    def __str__(self) -> str:
        return f"[{', '.join(self.listed(str, str))}]"


_STARRED: Final[InternTable[StarredShape]] = InternTable()


def variable_text(variable: ShapeVariable) -> str:
    """`*s`, the name in backquotes unless it is an identifier."""
    from absint.lattices.text.tokens import is_name, quote

    name = variable.name.removeprefix("*")
    return f"*{name if is_name(name) else quote(name)}"


def leq(a: Shape, b: Shape) -> bool:
    """The order, where a rank is unknown, neither is bottom and b is not any shape."""
    if not isinstance(a, StarredShape) or not isinstance(b, StarredShape) or a.form != b.form:
        return False
    return all(map(DIMS.leq, a.known, b.known))


def why_not_leq(a: Shape, b: Shape) -> str:
    """The reason why `leq` does not hold, where a rank is unknown and neither is bottom."""
    from absint.lattices.lattice import first_reason

    if not isinstance(a, StarredShape) or not isinstance(b, StarredShape) or a.form != b.form:
        return f"must be {b}, found {'unknown rank' if a is TOP_SHAPE else a}"
    return first_reason("known dim", map(DIMS.why_not_leq, a.known, b.known))


def pointwise(a: Shape, b: Shape, combine: Callable[[Dim, Dim], Dim]) -> Shape:
    """The join or widening, where a rank is unknown and neither is bottom."""
    if not isinstance(a, StarredShape) or not isinstance(b, StarredShape) or a.form != b.form:
        return TOP_SHAPE
    return a.around(tuple(map(combine, a.known, b.known)))


def meet(a: Shape, b: Shape) -> Shape:
    """The meet, where a rank is unknown and neither is any shape or bottom."""
    if isinstance(a, StarredShape) and isinstance(b, StarredShape) and a.form == b.form:
        return a.around(tuple(map(DIMS.meet, a.known, b.known)))
    if _contradict(a, b):
        return BOTTOM_SHAPE
    return max(a, b, key=_said)


def _contradict(a: Shape, b: Shape) -> bool:
    """No list of sizes is allowed by both, as far as constants and ranks show."""
    ranks = [len(shape.head) + len(shape.tail) for shape in (a, b)]
    if (a.rank is not None and ranks[1] > ranks[0]) or (b.rank is not None and ranks[0] > ranks[1]):
        return True
    heads = zip(a.head, b.head, strict=False)
    tails = zip(reversed(last_dims(a)), reversed(last_dims(b)), strict=False)
    return any(DIMS.meet(x, y).bounds.is_empty for pairs in (heads, tails) for x, y in pairs)


def _said(shape: Shape) -> tuple[bool, int, int, str]:
    """What a shape says, for a choice that does not depend on the order of operands."""
    sizes = [*shape.head, *shape.tail]
    exact = sum(isinstance(dim, Expr) for dim in sizes)
    return shape.rank is not None, len(sizes), exact, str(shape)


def last_dims(shape: Shape) -> tuple[Dim, ...]:
    """The known sizes at the end of a shape: all of a known rank, the tail of a starred one, else none."""
    return shape.tail if shape.rank is None else shape.dims


def first_dims(shape: Shape) -> tuple[Dim, ...]:
    """The known sizes at the beginning of a shape."""
    return shape.head if shape.rank is None else shape.dims


def spliced(front: tuple[Dim, ...], middle: Shape, back: tuple[Dim, ...]) -> Shape:
    """A shape with these sizes put before and after it; any shape if it is."""
    if isinstance(middle, StarredShape):
        return StarredShape(front + middle.head, middle.variable, middle.tail + back)
    return TOP_SHAPE if middle.is_top else middle if middle.is_bottom else shape_of((*front, *middle, *back))


# Axes. One is known if it lies in the head, counted from the front, or in the tail, counted from the end.


def place(shape: Shape, axis: int) -> int | None:
    """The index of an axis of a shape of unknown rank among the known dims; None if it is not known."""
    if 0 <= axis < len(shape.head):
        return axis
    return len(shape.known) + axis if -len(shape.tail) <= axis < 0 else None


def places(shape: Shape, axes: Iterable[int]) -> frozenset[int] | None:
    """The index of each axis among the known dims; None if one is not known."""
    found = [place(shape, axis) for axis in axes]
    known = [at for at in found if at is not None]
    return frozenset(known) if len(known) == len(found) else None


def with_size(shape: Shape, at: int, size: Dim) -> Shape:
    """The shape with another size at an index of the known dims."""
    return shape.around((*shape.known[:at], size, *shape.known[at + 1 :]))


def without(shape: Shape, gone: Collection[int]) -> Shape:
    """The shape without the axes at these indices of the known dims."""
    count = len(shape.head)
    head = tuple([dim for at, dim in enumerate(shape.head) if at not in gone])
    tail = tuple([dim for at, dim in enumerate(shape.tail, count) if at not in gone])
    assert shape.variable is not None
    return StarredShape(head, shape.variable, tail)


def with_axes(shape: Shape, axes: Collection[int], size: Dim) -> Shape | None:
    """The shape with further axes of this size, which have these numbers in the result; None if it is not known where
    they lie.
    """
    front, back = [axis for axis in axes if axis >= 0], [axis for axis in axes if axis < 0]
    head, tail = len(shape.head) + len(front), len(shape.tail) + len(back)
    if shape.variable is None or any(axis >= head for axis in front) or any(axis < -tail for axis in back):
        return None
    first, last = iter(shape.head), iter(shape.tail)
    return StarredShape(
        tuple([size if axis in front else next(first) for axis in range(head)]),
        shape.variable,
        tuple([size if axis in back else next(last) for axis in range(-tail, 0)]),
    )


def of_rank(shape: Shape, rank: int) -> Shape:
    """A shape of unknown rank that has this rank; bottom if it has more dims."""
    middle = rank - len(shape.known)
    return shape_of((*shape.head, *(UNKNOWN_SIZE,) * middle, *shape.tail)) if middle >= 0 else BOTTOM_SHAPE


class Aligned(NamedTuple):
    """The known dims of operands that broadcast, where a rank is unknown."""

    heads: tuple[tuple[Dim, ...], ...]
    """Those before the variable that the result has; empty if it has another one."""
    variable: ShapeVariable | None
    """None: the middle of the result is unknown."""
    tails: tuple[tuple[Dim, ...], ...]
    """Those that lie along the last axes of the result."""


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


__all__ = [
    "Aligned",
    "StarredShape",
    "aligned",
    "first_dims",
    "last_dims",
    "leq",
    "meet",
    "of_rank",
    "place",
    "places",
    "pointwise",
    "spliced",
    "variable_text",
    "why_not_leq",
    "with_axes",
    "with_size",
    "without",
]
