"""Shapes: bottom, a tuple of dims, or unknown rank, perhaps with a variable for what is not known of the dims, or with
a few shapes of which sizes choose.

A starred shape `[N, *s, 64]` is of unknown rank: its `is_top` is true and it has no `dims`. Code that knows nothing of
variables takes it for any shape; `absint.lattices.starred` has functions for code that does. So it is with a choice of
shapes of different ranks, as `[N] if C == 1, else [N, C]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, overload

from absint.lattices.terms.expr import UNKNOWN_SIZE, Binding, Constant, Dim, Expr, Symbol, as_dim, product, sole_atom
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.normal import substitute
from absint.lattices.terms.shape_variables import ShapeVariable, changed

if TYPE_CHECKING:
    from absint.lattices.logic.relation import Relation

T = TypeVar("T")
S = TypeVar("S", bound="Shape")

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
            return starred_of(items)

    @staticmethod
    def starred(variable: ShapeVariable, head: tuple[Dim, ...] = (), tail: tuple[Dim, ...] = ()) -> Shape:
        """The shape `[head, *s, tail]`: known sizes around the list of sizes that the variable names."""
        return StarredShape(head, variable, tail)

    @staticmethod
    def hole(tag: str, head: tuple[Dim, ...] = (), tail: tuple[Dim, ...] = ()) -> Shape:
        """A starred shape with a hole for its variable, which each node fills with one of its own."""
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
    def numbers(self) -> tuple[Dim, ...]:
        """The known dims; of a choice those of all cases that are open, and the number that chooses."""
        return self.known

    @property
    def cases(self) -> tuple[tuple[Relation, Shape], ...]:
        """The shapes of a choice, each with the condition under which it is the one; none of all other shapes.

        In each run exactly one condition holds.
        """
        return ()

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
        return frozenset(name for dim in self.open for name in dim.free_symbols)

    def evaluate(self, binding: Binding) -> list[int]:
        """The sizes under a binding; raises as `Dim.evaluate`, and ValueError for unknown rank."""
        return [d.evaluate(binding) for d in self.dims]

    def substitute(self, mapping: Mapping[str, Dim | int]) -> Shape:
        """Replace symbols by name."""
        return self.map(lambda d: d.substitute(mapping) if isinstance(d, Expr) else d)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Shape:
        """Replace symbols."""
        if not (self.open or self.is_top):
            return self
        return self.map(lambda d: substitute(d, mapping) if isinstance(d, Expr) else d)

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
        from absint.lattices.text.naming import Names, Naming
        from absint.lattices.text.sheets import Line, Sheet, defined

        texts = Names(Naming())
        is_bare = self._dims is None and self.variable is None
        found = str(self) if is_bare else f"[{', '.join(self.listed(texts.dim, str))}]"
        return Sheet(Line(f"shape {found}"), [defined(texts)]).html()


_SHAPES: InternTable[Shape] = InternTable()


def _build(dims: tuple[Dim, ...]) -> Shape:
    self = object.__new__(Shape)
    self._dims = dims
    self._hash = hash(dims)
    self.rank = len(dims)
    self.is_top = False
    sizes = tuple([d.const for d in dims if isinstance(d, Constant)])
    self.concrete = sizes if len(sizes) == len(dims) else None
    self.open, self.largest, self.has_unknown = (), 0, False
    if len(sizes) < len(dims):
        self.open = tuple([d for d in dims if isinstance(d, Expr) and d.const is None])
        self.largest = max([d.size for d in self.open], default=0)
        self.has_unknown = len(sizes) + len(self.open) < len(dims)
    return self


def without_dims(cls: type[S], *, is_top: bool) -> S:
    self = object.__new__(cls)
    self._dims = self.rank = self.concrete = None
    self._hash = hash(None)
    self.open = ()
    self.largest = 0
    self.is_top, self.has_unknown = is_top, True
    return self


TOP_SHAPE: Final = without_dims(Shape, is_top=True)
BOTTOM_SHAPE: Final = without_dims(Shape, is_top=False)
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
        if not isinstance(dim, Constant) and dim.bounds.is_empty:
            return BOTTOM_SHAPE
    return _SHAPES.add(key, lambda: _build(dims))


class StarredShape(Shape):
    """A shape variable with the known sizes before and after it. Interned."""

    __slots__ = ("head", "tail", "variable")

    head: tuple[Dim, ...]
    variable: ShapeVariable
    tail: tuple[Dim, ...]

    def __new__(cls, head: tuple[Dim, ...], variable: ShapeVariable, tail: tuple[Dim, ...]) -> Shape:  # type: ignore[misc]
        """Any shape past the limit of ranks, bottom if a size is."""
        if len(head) + len(tail) > MAX_RANK:
            return TOP_SHAPE
        if any(dim.bounds.is_empty for dim in (*head, *tail)):
            return BOTTOM_SHAPE

        def build() -> StarredShape:
            self = without_dims(cls, is_top=True)
            self.head, self.variable, self.tail = head, variable, tail
            self._hash = hash((head, variable, tail))
            self.open = tuple([d for d in (*head, *tail) if isinstance(d, Expr) and d.const is None])
            self.largest = max([d.size for d in self.open], default=0)
            return self

        return _STARRED.add((tuple(map(id, head)), id(variable), tuple(map(id, tail))), build)

    @property
    def form(self) -> tuple[int, ShapeVariable, int]:
        """Shapes of one form have as many sizes around the same variable."""
        return len(self.head), self.variable, len(self.tail)

    @property
    def known(self) -> tuple[Dim, ...]:
        """The dims of the head, then those of the tail."""
        return self.head + self.tail

    def around(self, known: tuple[Dim, ...]) -> Shape:
        """The shape of the same form with these dims."""
        count = len(self.head)
        return StarredShape(known[:count], self.variable, known[count:])

    def map(self, change: Callable[[Dim], Dim]) -> Shape:
        """The shape with each known size changed. The change sees the variable as well; unless it gives a variable, it
        knows nothing of them, and the shape is any.
        """
        variable = changed(self.variable, change)
        if variable is None:
            return TOP_SHAPE
        return StarredShape(tuple(map(change, self.head)), variable, tuple(map(change, self.tail)))

    def listed(self, dim: Callable[[Dim], T], text: Callable[[str], T]) -> Iterator[T]:
        yield from map(dim, self.head)
        yield text(variable_text(self.variable))
        yield from map(dim, self.tail)

    def __str__(self) -> str:
        return f"[{', '.join(self.listed(str, str))}]"


_STARRED: Final[InternTable[StarredShape]] = InternTable()


def variable_text(variable: ShapeVariable) -> str:
    """`*s`, the name in backquotes unless it is an identifier."""
    from absint.lattices.text.tokens import is_name, quote

    name = variable.name.removeprefix("*")
    return f"*{name if is_name(name) else quote(name)}"


def starred_of(items: Iterable[Item]) -> Shape:
    """The shape of these dims, of which a text `*s` is a variable. Raises ValueError for two of them, or a bad text."""
    head: list[Dim] = []
    tail: list[Dim] = []
    variable: ShapeVariable | None = None
    for item in items:
        if isinstance(item, str) and item.startswith("*"):
            if variable is not None:
                raise ValueError("a shape has one variable at most: two lists of sizes in a row are one")
            variable = read_variable(item)
        else:
            dim = item if isinstance(item, Dim) else UNKNOWN_SIZE if item is None else Dim(item)
            (head if variable is None else tail).append(dim)
    return shape_of(tuple(head)) if variable is None else StarredShape(tuple(head), variable, tuple(tail))


def read_variable(text: str) -> ShapeVariable:
    """The variable of a text `*s`. Raises ValueError for any other text."""
    dim = Dim(text[1:]) if text.startswith("*") else None
    name = sole_atom(dim) if isinstance(dim, Expr) else None
    if not isinstance(name, Symbol):
        raise ValueError(f"expected the name of a shape variable, as *s, found {text!r}")
    return ShapeVariable(f"*{name.name}")
