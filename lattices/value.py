"""Abstract values: bottom, tensors, sequences, optionals, maps, sparse tensors, top. All interned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Final, TypeAlias, TypeVar, cast

from absint.lattices.contents import CONTENTS, Contents, Element
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.ramp import NO_RAMPS, Ramps, fits, replaced
from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.shape_lattice import DIMS, SHAPES
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Symbol, const
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.normal import minimum, substitute

MAX_ITEMS: Final = 64
"""Most elements of a sequence that are described one by one."""


V = TypeVar("V", bound="Value")


class Value:
    """An abstract value; each subclass is one kind of ONNX value. Interned: equality is identity."""

    __slots__ = ("__weakref__",)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Value:
        """Replace symbols."""
        return self


class Bottom(Value):
    """No run computes this value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "bottom"


class Top(Value):
    """Nothing is known, not even the kind of value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


BOTTOM: Final = Bottom()
TOP: Final = Top()


class Tensor(Value):
    """A dense tensor: element type, shape, and the known elements (None: none)."""

    __slots__ = ("contents", "dtype", "ramps", "shape")

    dtype: DType
    """The element type."""
    shape: Shape
    """The shape."""
    contents: Contents | None
    """The elements, if they are known; of the same shape, or one element for all."""
    ramps: Ramps
    """The growth of the elements along the axes, if known and if they are too many to be listed."""

    def __new__(
        cls, dtype: DType, shape: Shape = TOP_SHAPE, contents: Contents | None = None, ramps: Ramps = NO_RAMPS
    ) -> Tensor:
        # The tensor keeps its parts, which are interned, so their identities are a key.
        key = (dtype, id(shape), id(contents), ramps)
        found = _TENSORS.get(key)
        if found is not None:
            return found
        if contents is not None and not contents.is_fill and shape.concrete != contents.shape:
            # The contents know the sizes at least as well as the shape does.
            known = shape.concrete is not None
            return Tensor(dtype, shape if known else Shape(contents.shape), None if known else contents, ramps)
        if ramps and not fits(ramps, shape):
            return Tensor(dtype, shape, contents)

        def build() -> Tensor:
            self = object.__new__(cls)
            self.dtype, self.shape, self.contents, self.ramps = dtype, shape, contents, ramps
            return self

        return _TENSORS.add(key, build)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Tensor:
        contents = None if self.contents is None else self.contents.replace(mapping)
        ramps = replaced(self.ramps, mapping) if self.ramps else NO_RAMPS
        return Tensor(self.dtype, self.shape.replace(mapping), contents, ramps)

    def __repr__(self) -> str:
        text = f"{self.dtype}{self.shape}"
        if self.ramps:
            text += f" = {', '.join(map(str, self.ramps))}"
        return f"Tensor({text} = {self.contents})" if self.contents is not None else f"Tensor({text})"


def elements_of(value: Value | None) -> tuple[Element, ...] | None:
    """The elements of a tensor in their order, if its sizes are known and something is known of them."""
    if not isinstance(value, Tensor) or value.contents is None:
        return None
    block = value.contents.block(value.shape.concrete)
    return None if block is None else block.elements


class SparseTensor(Value):
    """A sparse tensor: element type and dense shape."""

    __slots__ = ("dtype", "shape")

    dtype: DType
    shape: Shape

    def __new__(cls, dtype: DType, shape: Shape = TOP_SHAPE) -> SparseTensor:
        return _interned(cls, dtype=dtype, shape=shape)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> SparseTensor:
        return SparseTensor(self.dtype, self.shape.replace(mapping))

    def __repr__(self) -> str:
        return f"SparseTensor({self.dtype}{self.shape})"


class Cut(NamedTuple):
    """A tensor was cut along an axis: part i has min(size, extent - i*size) there, and together the parts cover it."""

    axis: int
    extent: Expr
    size: Expr

    def at(self, position: Dim) -> Dim:
        """The size of the part at a position from 0 on."""
        return minimum(self.size, self.extent - position * self.size)

    def map(self, change: Callable[[Dim], Dim]) -> Cut | None:
        """The same with other numbers; None if one is then unknown."""
        extent, size = change(self.extent), change(self.size)
        return Cut(self.axis, extent, size) if isinstance(extent, Expr) and isinstance(size, Expr) else None

    def __str__(self) -> str:
        return f"axis {self.axis} of {self.extent} in parts of {self.size}"


class Container(Value):
    """A value that holds others: a sequence, an optional or a map."""

    __slots__ = ("element",)

    element: Value
    """Describes every value that it holds."""

    @property
    def parts(self) -> tuple[Value, ...]:
        """The descriptions of the values that it holds: one for each, or one for all."""
        return (self.element,)

    def map(self, change: Callable[[Value], Value], length: Callable[[Dim], Dim] = lambda dim: dim) -> Container:
        """The container with its elements changed, and the length of a sequence."""
        raise NotImplementedError

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Container:
        return self.map(lambda value: value.replace(mapping), lambda dim: _replace_dim(dim, mapping))


class SequenceOf(Container):
    """A sequence: one value that describes every element, the length, and for a short one each element.

    `items` are those of a sequence of known length whose elements differ; the element is then their join. `cut` says
    what tensor was cut into the elements, if that is known and one description stands for all.
    """

    __slots__ = ("cut", "items", "length")

    length: Dim
    items: tuple[Value, ...] | None
    cut: Cut | None

    def __new__(
        cls, element: Value, length: Dim = UNKNOWN_SIZE, items: tuple[Value, ...] | None = None, cut: Cut | None = None
    ) -> SequenceOf:
        if items is not None and len(items) <= MAX_ITEMS:
            element = reduce(joined, items) if items else element
            length = const(len(items))
        if items is not None and (len(items) > MAX_ITEMS or all(item is element for item in items)):
            items = None
        return _interned(cls, element=element, length=length, items=items, cut=cut if items is None else None)

    @staticmethod
    def of(items: Iterable[Value], empty: Value) -> SequenceOf:
        """The sequence of these elements; `empty` describes the elements of an empty one."""
        known = tuple(items)
        element = reduce(joined, known) if known else empty
        return SequenceOf(element, const(len(known)), known)

    @property
    def each(self) -> tuple[Value, ...] | None:
        """The value of each element, if the sequence is short and its length is known."""
        if self.items is not None:
            return self.items
        count = self.length.const if isinstance(self.length, Expr) else None
        return (self.element,) * count if count is not None and 0 <= count <= MAX_ITEMS else None

    @property
    def parts(self) -> tuple[Value, ...]:
        return (self.element,) if self.items is None else self.items

    def map(self, change: Callable[[Value], Value], length: Callable[[Dim], Dim] = lambda dim: dim) -> SequenceOf:
        """The sequence with its elements changed, and if one description stands for all its length and its cut."""
        if self.items is not None:
            return SequenceOf.of(map(change, self.items), self.element)
        cut = None if self.cut is None else self.cut.map(length)
        return SequenceOf(change(self.element), length(self.length), None, cut)

    def __repr__(self) -> str:
        if self.items is not None:
            return f"Sequence({', '.join(map(str, self.items))})"
        return f"Sequence({self.element} x {self.length}{'' if self.cut is None else f', {self.cut}'})"


class OptionalOf(Container):
    """An optional: its element if there is one, and `present` (None: either)."""

    __slots__ = ("present",)

    present: bool | None

    def __new__(cls, element: Value, present: bool | None = None) -> OptionalOf:
        return _interned(cls, element=element, present=present)

    def map(self, change: Callable[[Value], Value], length: Callable[[Dim], Dim] = lambda dim: dim) -> OptionalOf:
        return OptionalOf(change(self.element), self.present)

    def __repr__(self) -> str:
        state = {None: "maybe ", True: "", False: "no "}[self.present]
        return f"Optional({state}{self.element})"


class MapOf(Container):
    """A map: key type, and one value that describes every entry."""

    __slots__ = ("key",)

    key: DType

    def __new__(cls, key: DType, element: Value) -> MapOf:
        return _interned(cls, key=key, element=element)

    def map(self, change: Callable[[Value], Value], length: Callable[[Dim], Dim] = lambda dim: dim) -> MapOf:
        return MapOf(self.key, change(self.element))

    def __repr__(self) -> str:
        return f"Map({self.key} -> {self.element})"


_TENSORS: InternTable[Tensor] = InternTable()
_VALUES: InternTable[Value] = InternTable()


def _interned(kind: type[V], **parts: object) -> V:
    """The one value of this kind with these parts."""

    def build() -> V:
        self = object.__new__(kind)
        for name, part in parts.items():
            setattr(self, name, part)
        return self

    return cast(V, _VALUES.add((kind, *parts.values()), build))


def _replace_dim(dim: Dim, mapping: Mapping[Symbol, Dim]) -> Dim:
    return substitute(dim, mapping) if isinstance(dim, Expr) else dim


def combined(
    a: Value,
    b: Value,
    dims: Callable[[Dim, Dim], Dim],
    shapes: Callable[[Shape, Shape], Shape],
    contents: Callable[[Contents | None, Contents | None], Contents | None],
) -> Value:
    """The value above both that has these upper bounds for its dims, shapes and elements; of two kinds top."""
    if a is b or b is BOTTOM:
        return a
    if a is BOTTOM:
        return b
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        ramps = a.ramps if a.ramps == b.ramps else NO_RAMPS
        found = contents(a.contents, b.contents)
        return Tensor(DTYPES.join(a.dtype, b.dtype), shapes(a.shape, b.shape), found, ramps)
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return SparseTensor(DTYPES.join(a.dtype, b.dtype), shapes(a.shape, b.shape))
    if isinstance(a, SequenceOf) and isinstance(b, SequenceOf):
        items = None
        if a.length is b.length and (a.items is not None or b.items is not None) and a.each and b.each:
            items = tuple(combined(x, y, dims, shapes, contents) for x, y in zip(a.each, b.each, strict=True))
        element = combined(a.element, b.element, dims, shapes, contents)
        return SequenceOf(element, dims(a.length, b.length), items, a.cut if a.cut == b.cut else None)
    if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
        present = a.present if a.present == b.present else None
        return OptionalOf(combined(a.element, b.element, dims, shapes, contents), present)
    if isinstance(a, MapOf) and isinstance(b, MapOf):
        return MapOf(DTYPES.join(a.key, b.key), combined(a.element, b.element, dims, shapes, contents))
    return TOP


def joined(a: Value, b: Value) -> Value:
    """The least upper bound."""
    return combined(a, b, DIMS.join, SHAPES.join, CONTENTS.join)


AnyTensor: TypeAlias = Tensor | SparseTensor


def map_tensors(
    value: Value, change: Callable[[AnyTensor], Value], length: Callable[[Dim], Dim] = lambda dim: dim
) -> Value:
    """The value with every tensor in it changed, and the lengths of its sequences; bottom and top stay."""
    if isinstance(value, Container):
        return value.map(lambda part: map_tensors(part, change, length), length)
    return change(value) if isinstance(value, AnyTensor) else value


def parts(value: Value) -> Iterator[Value]:
    """The value, and all that it holds at any depth, in order: containers before their elements."""
    yield value
    if isinstance(value, Container):
        for part in value.parts:
            yield from parts(part)


def tensors(value: Value) -> Iterator[AnyTensor]:
    """The tensors in a value, dense and sparse, in order."""
    return (part for part in parts(value) if isinstance(part, AnyTensor))


def without_elements(value: Value) -> Value:
    """The value with its type and shape only: no element of a tensor in it is known."""
    if isinstance(value, Tensor):
        return Tensor(value.dtype, value.shape) if value.contents is not None or value.ramps else value
    return map_tensors(value, lambda t: Tensor(t.dtype, t.shape) if isinstance(t, Tensor) else t)
