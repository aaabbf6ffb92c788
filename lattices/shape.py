"""Shapes: bottom, a tuple of dims, or unknown rank; `starred` has those of unknown rank with a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, overload

from absint.lattices.dim import BOTTOM_DIM, DIMS
from absint.lattices.lattice import first_reason
from absint.lattices.terms.expr import UNKNOWN_SIZE, Binding, Dim, Expr, Symbol, as_dim, product
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.substitution import substitute

if TYPE_CHECKING:
    from absint.lattices.terms.shape_variables import ShapeVariable

T = TypeVar("T")

MAX_RANK: Final = 64
"""A shape of higher rank is treated as one of unknown rank."""


Item: TypeAlias = "Dim | int | str | None"


class Shape:
    """An interned tuple of dims, or the shape of unknown rank (`Shape(None)`).

    `Shape([2, "N", None])` builds one: an int, a text of the grammar, or None for an unknown size; `Shape(["*s", 64])`
    is of unknown rank and has a variable (`absint.lattices.starred`). Iterating yields dims; a shape of unknown rank
    cannot be iterated.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_dims",
        "_hash",
        "concrete",
        "has_unknown",
        "is_top",
        "largest",
        "open",
        "rank",
    )

    _dims: tuple[Dim, ...] | None
    _hash: int
    rank: int | None
    """The number of dims; None if unknown."""
    is_top: bool
    """The rank is unknown."""
    concrete: tuple[int, ...] | None
    """The sizes, if all of them are constants."""
    open: tuple[Expr, ...]
    """The dims that are expressions over symbols."""
    has_unknown: bool
    """A dim is unknown, or the rank is."""
    largest: int
    """The number of atoms in the largest dim; 0 if none is open."""

    def __new__(cls, dims: Iterable[Item] | None = None) -> Shape:
        if dims is None:
            return TOP_SHAPE
        items = tuple(dims)
        try:
            return shape_of(tuple([d if isinstance(d, Dim) else UNKNOWN_SIZE if d is None else Dim(d) for d in items]))
        except ValueError:  # a text with a star is none of a dim
            from absint.lattices.shape_texts import shape_of_items

            return shape_of_items(items)

    @staticmethod
    def starred(variable: ShapeVariable, head: tuple[Dim, ...] = (), tail: tuple[Dim, ...] = ()) -> Shape:
        """The shape `[head, *s, tail]`: known sizes around the list of sizes that the variable names."""
        from absint.lattices.starred import StarredShape

        return StarredShape(head, variable, tail)

    @staticmethod
    def hole(tag: str, head: tuple[Dim, ...] = (), tail: tuple[Dim, ...] = ()) -> Shape:
        """A starred shape with a hole for its variable, which each node fills with one of its own."""
        from absint.lattices.terms.shape_variables import ShapeVariable

        return Shape.starred(ShapeVariable.hole_for(tag), head, tail)

    @property
    def is_bottom(self) -> bool:
        return self is BOTTOM_SHAPE

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims. Raises ValueError if the rank is unknown."""
        if self._dims is None:
            raise ValueError("a shape of unknown rank has no dims: ask is_top first")
        return self._dims

    def __len__(self) -> int:
        return len(self.dims) if self._dims is None else len(self._dims)

    def __iter__(self) -> Iterator[Dim]:
        return iter(self.dims if self._dims is None else self._dims)

    @overload
    def __getitem__(self, axis: int) -> Dim: ...

    @overload
    def __getitem__(self, axis: slice) -> tuple[Dim, ...]: ...

    def __getitem__(self, axis: int | slice) -> Dim | tuple[Dim, ...]:
        return self.dims[axis] if self._dims is None else self._dims[axis]

    @property
    def variable(self) -> ShapeVariable | None:
        """The variable of a starred shape, `*s` in `[N, *s, 64]`; None of all others."""
        return None

    @property
    def head(self) -> tuple[Dim, ...]:
        """The dims before the variable of a starred shape; else all that are known."""
        return self._dims or ()

    @property
    def tail(self) -> tuple[Dim, ...]:
        """The dims after the variable of a starred shape; else none."""
        return ()

    @property
    def known(self) -> tuple[Dim, ...]:
        """The dims that are known, from first to last: all of a known rank."""
        return self._dims or ()

    @property
    def form(self) -> object:
        """Shapes of one form have as many known dims at the same places: the rank, None if it is unknown."""
        return self.rank

    def listed(self, dim: Callable[[Dim], T], text: Callable[[str], T]) -> Iterator[T]:
        """Every dim, and the text of the variable at its place."""
        return map(dim, self.known)

    def around(self, known: tuple[Dim, ...]) -> Shape:
        """The shape with these dims in place of the known ones."""
        return self if self._dims is None else shape_of(known)

    @cached_property
    def size(self) -> Dim:
        """The number of elements."""
        return UNKNOWN_SIZE if self._dims is None else product(self._dims)

    @property
    def free_symbols(self) -> frozenset[str]:
        """Names of the symbols of all dims."""
        return frozenset(name for d in self._dims or () for name in d.free_symbols)

    def evaluate(self, binding: Binding) -> list[int]:
        """The sizes under a binding; raises as `Dim.evaluate`, and ValueError for unknown rank."""
        return [d.evaluate(binding) for d in self.dims]

    def substitute(self, mapping: Mapping[str, Dim | int]) -> Shape:
        """Replace symbols by name."""
        return self.map(lambda d: d.substitute(mapping) if isinstance(d, Expr) else d)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Shape:
        """Replace symbols."""
        return self.map(lambda d: substitute(d, mapping) if isinstance(d, Expr) else d) if self.open else self

    def map(self, change: Callable[[Dim], Dim]) -> Shape:
        """The shape with each dim changed; unknown rank and bottom stay."""
        return self if self._dims is None else shape_of(tuple([change(d) for d in self._dims]))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (tuple, list)):
            return self._dims is not None and self._dims == tuple(as_dim(d) if isinstance(d, int) else d for d in other)
        return self is other

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self._dims is None:
            return "bottom" if self.is_bottom else "?"
        return f"[{', '.join(map(str, self._dims))}]"

    def __repr__(self) -> str:
        return f"Shape({self})"

    def _repr_html_(self) -> str:
        from absint.lattices.text.html import block, code, table
        from absint.lattices.text.naming import Naming, Where

        if self._dims is None and self.variable is None:
            return block("shape", code(self))
        texts = Where(Naming())
        found = code(f"[{', '.join(self.listed(texts.dim, str))}]")
        return block("shape", found, table("where", list(texts.definitions.items())))


_SHAPES: InternTable[Shape] = InternTable()


def _build(dims: tuple[Dim, ...]) -> Shape:
    self = object.__new__(Shape)
    self._dims = dims
    self._hash = hash(dims)
    self.rank = len(dims)
    self.is_top = False
    known = [d for d in dims if isinstance(d, Expr)]
    sizes = tuple([d.const for d in known if d.const is not None])
    self.concrete = sizes if len(sizes) == len(dims) else None
    self.open = tuple([d for d in known if d.const is None])
    self.has_unknown = len(known) < len(dims)
    self.largest = max([d.size for d in self.open], default=0)
    return self


def _without_dims(*, is_top: bool) -> Shape:
    self = object.__new__(Shape)
    self._dims = self.rank = self.concrete = None
    self._hash = hash(None)
    self.open = ()
    self.largest = 0
    self.is_top, self.has_unknown = is_top, True
    return self


TOP_SHAPE: Final = _without_dims(is_top=True)
BOTTOM_SHAPE: Final = _without_dims(is_top=False)
SCALAR: Final = _SHAPES.add((), lambda: _build(()))  # it has no dims, and so no identities


def shape_of(dims: tuple[Dim, ...]) -> Shape:
    """The interned shape of these dims: bottom if one of them is, unknown rank past the rank limit."""
    # Dims are interned too, and the shape keeps them, so their identities are a key.
    key = tuple(map(id, dims))
    found = _SHAPES.get(key)
    if found is not None:
        return found
    if len(dims) > MAX_RANK:
        return TOP_SHAPE
    for dim in dims:
        if dim.bounds.is_empty:
            return BOTTOM_SHAPE
    return _SHAPES.add(key, lambda: _build(dims))


class ShapeLattice:
    """Operations on shapes: of one rank pointwise, of two ranks top; `absint.lattices.starred` has unknown ranks."""

    bottom: Shape = BOTTOM_SHAPE
    top: Shape = TOP_SHAPE

    def leq(self, a: Shape, b: Shape) -> bool:
        if a is b or a.is_bottom or b is TOP_SHAPE:
            return True
        if a.is_top or b.is_top:
            from absint.lattices.starred import leq

            return not b.is_bottom and leq(a, b)
        if b.is_bottom or len(a) != len(b):
            return False
        return all(map(DIMS.leq, a, b))

    def why_not_leq(self, a: Shape, b: Shape) -> str:
        """The reason why some tensor of shape `a` is none of shape `b`: `dim 1 must be 3, found N`."""
        if self.leq(a, b):
            return ""
        if b.is_bottom:
            return f"must be no shape, found {a}"
        if b.is_top or (a.is_top and a is not TOP_SHAPE):
            from absint.lattices.starred import why_not_leq

            return why_not_leq(a, b)
        if a.is_top or len(a) != len(b):
            return f"must have rank {len(b)}, found {'unknown rank' if a.is_top else len(a)}"
        return first_reason("dim", map(DIMS.why_not_leq, a, b))

    def join(self, a: Shape, b: Shape) -> Shape:
        return self._pointwise(a, b, DIMS.join)

    def widen(self, old: Shape, new: Shape) -> Shape:
        return self._pointwise(old, new, DIMS.widen)

    def _pointwise(self, a: Shape, b: Shape, combine: Callable[[Dim, Dim], Dim]) -> Shape:
        if a is b or b.is_bottom:
            return a
        if a.is_bottom:
            return b
        if a.is_top or b.is_top:
            from absint.lattices.starred import pointwise

            return pointwise(a, b, combine)
        if len(a) != len(b):
            return TOP_SHAPE
        return shape_of(tuple(map(combine, a, b)))

    def meet(self, a: Shape, b: Shape) -> Shape:
        if a is b or a.is_bottom or b is TOP_SHAPE:
            return a
        if b.is_bottom or a is TOP_SHAPE:
            return b
        if a.is_top or b.is_top:
            from absint.lattices.starred import meet

            return meet(a, b)
        if len(a) != len(b):
            return BOTTOM_SHAPE
        return shape_of(tuple(map(DIMS.meet, a, b)))


SHAPES: Final = ShapeLattice()

__all__ = [
    "BOTTOM_DIM",
    "BOTTOM_SHAPE",
    "MAX_RANK",
    "SCALAR",
    "SHAPES",
    "TOP_SHAPE",
    "Shape",
    "ShapeLattice",
    "shape_of",
]
