"""Abstract values: bottom, tensors, sequences, optionals, maps, sparse tensors, top. All interned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Final, cast

from absint.lattices.contents import CONTENTS, NO_CONTENTS, Contents
from absint.lattices.dim import DIMS
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.ramp import NO_RAMPS, Ramps, fits, replaced
from absint.lattices.shape import SHAPES, TOP_SHAPE, Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Symbol, const, substitute
from absint.lattices.terms.intern import InternTable

MAX_ITEMS: Final = 64
"""Elements of a sequence that are told apart."""


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
    """A dense tensor: element type, shape, and what is known of the elements (None: nothing)."""

    __slots__ = ("contents", "dtype", "ramps", "shape")

    dtype: DType
    shape: Shape
    contents: Contents | None
    ramps: Ramps
    """How the elements grow along the axes, where that is known and they are too many to be listed."""

    def __new__(
        cls, dtype: DType, shape: Shape = TOP_SHAPE, contents: Contents | None = None, ramps: Ramps = NO_RAMPS
    ) -> Tensor:
        # The tensor keeps its parts, which are interned, so that their identities tell tensors apart.
        found = _VALUES.get((Tensor, dtype, id(shape), id(contents), ramps))
        if found is not None:
            return cast(Tensor, found)
        if contents is not None and not contents.is_fill:
            # The contents know the sizes at least as well as the shape does.
            if shape.is_top or shape.concrete is None:
                shape = Shape(contents.shape)
            elif shape.concrete != contents.shape:
                contents = None
        if ramps and not fits(ramps, shape):
            ramps = NO_RAMPS

        def build() -> Value:
            self = object.__new__(cls)
            self.dtype, self.shape, self.contents, self.ramps = dtype, shape, contents, ramps
            return self

        return cast(Tensor, _VALUES.add((Tensor, dtype, id(shape), id(contents), ramps), build))

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Tensor:
        contents = None if self.contents is None else self.contents.replace(mapping)
        ramps = replaced(self.ramps, mapping) if self.ramps else NO_RAMPS
        return Tensor(self.dtype, self.shape.replace(mapping), contents, ramps)

    def __repr__(self) -> str:
        text = f"{self.dtype}{self.shape}"
        if self.ramps:
            text += f" = {', '.join(map(str, self.ramps))}"
        return f"Tensor({text} = {self.contents})" if self.contents is not None else f"Tensor({text})"


class SparseTensor(Value):
    """A sparse tensor: element type and dense shape."""

    __slots__ = ("dtype", "shape")

    dtype: DType
    shape: Shape

    def __new__(cls, dtype: DType, shape: Shape = TOP_SHAPE) -> SparseTensor:
        def build() -> Value:
            self = object.__new__(cls)
            self.dtype, self.shape = dtype, shape
            return self

        return cast(SparseTensor, _VALUES.add((SparseTensor, dtype, shape), build))

    def replace(self, mapping: Mapping[Symbol, Dim]) -> SparseTensor:
        return SparseTensor(self.dtype, self.shape.replace(mapping))

    def __repr__(self) -> str:
        return f"SparseTensor({self.dtype}{self.shape})"


class SequenceOf(Value):
    """A sequence: one value that describes every element, the length, and for a short one each element.

    `items` are those of a sequence of known length whose elements differ; the element is then their join.
    """

    __slots__ = ("element", "items", "length")

    element: Value
    length: Dim
    items: tuple[Value, ...] | None

    def __new__(cls, element: Value, length: Dim = UNKNOWN_SIZE, items: tuple[Value, ...] | None = None) -> SequenceOf:
        if items is not None and len(items) <= MAX_ITEMS:
            element = reduce(VALUES.join, items) if items else element
            length = const(len(items))
        if items is not None and (len(items) > MAX_ITEMS or all(item is element for item in items)):
            items = None

        def build() -> Value:
            self = object.__new__(cls)
            self.element, self.length, self.items = element, length, items
            return self

        return cast(SequenceOf, _VALUES.add((SequenceOf, element, length, items), build))

    @staticmethod
    def of(items: Iterable[Value], empty: Value) -> SequenceOf:
        """The sequence of these elements; `empty` is the element where there is none."""
        known = tuple(items)
        element = reduce(VALUES.join, known) if known else empty
        return SequenceOf(element, const(len(known)), known)

    @property
    def each(self) -> tuple[Value, ...] | None:
        """The value of each element, if the sequence is short and its length is known."""
        if self.items is not None:
            return self.items
        count = self.length.const if isinstance(self.length, Expr) else None
        return (self.element,) * count if count is not None and 0 <= count <= MAX_ITEMS else None

    def map(self, change: Callable[[Value], Value], length: Dim) -> SequenceOf:
        """The sequence with its elements changed. `length` is its own, or what is still known of it."""
        if self.items is not None:
            return SequenceOf.of(map(change, self.items), self.element)
        return SequenceOf(change(self.element), length)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> SequenceOf:
        return self.map(lambda value: value.replace(mapping), _replace_dim(self.length, mapping))

    def __repr__(self) -> str:
        if self.items is not None:
            return f"Sequence({', '.join(map(str, self.items))})"
        return f"Sequence({self.element} x {self.length})"


class OptionalOf(Value):
    """An optional: what it holds where it holds something, and whether it does (None: either)."""

    __slots__ = ("element", "present")

    element: Value
    present: bool | None

    def __new__(cls, element: Value, present: bool | None = None) -> OptionalOf:
        def build() -> Value:
            self = object.__new__(cls)
            self.element, self.present = element, present
            return self

        return cast(OptionalOf, _VALUES.add((OptionalOf, element, present), build))

    def replace(self, mapping: Mapping[Symbol, Dim]) -> OptionalOf:
        return OptionalOf(self.element.replace(mapping), self.present)

    def __repr__(self) -> str:
        state = {None: "maybe ", True: "", False: "no "}[self.present]
        return f"Optional({state}{self.element})"


class MapOf(Value):
    """A map: key type, and one value that describes every entry."""

    __slots__ = ("element", "key")

    key: DType
    element: Value

    def __new__(cls, key: DType, element: Value) -> MapOf:
        def build() -> Value:
            self = object.__new__(cls)
            self.key, self.element = key, element
            return self

        return cast(MapOf, _VALUES.add((MapOf, key, element), build))

    def replace(self, mapping: Mapping[Symbol, Dim]) -> MapOf:
        return MapOf(self.key, self.element.replace(mapping))

    def __repr__(self) -> str:
        return f"Map({self.key} -> {self.element})"


_VALUES: InternTable[Value] = InternTable()


def _replace_dim(dim: Dim, mapping: Mapping[Symbol, Dim]) -> Dim:
    return substitute(dim, mapping) if isinstance(dim, Expr) else dim


class ValueLattice:
    """Operations on values: of one kind componentwise, of two kinds top."""

    bottom: Value = BOTTOM
    top: Value = TOP

    def leq(self, a: Value, b: Value) -> bool:
        if a is b or a is BOTTOM or b is TOP:
            return True
        if type(a) is not type(b):
            return False
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return (
                DTYPES.leq(a.dtype, b.dtype)
                and SHAPES.leq(a.shape, b.shape)
                and CONTENTS.leq(a.contents, b.contents)
                and b.ramps in (NO_RAMPS, a.ramps)
            )
        if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
            return DTYPES.leq(a.dtype, b.dtype) and SHAPES.leq(a.shape, b.shape)
        if isinstance(a, SequenceOf) and isinstance(b, SequenceOf):
            if not (self.leq(a.element, b.element) and DIMS.leq(a.length, b.length)):
                return False
            return b.items is None or (a.each is not None and all(map(self.leq, a.each, b.items)))
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
            return self.leq(a.element, b.element) and b.present in (None, a.present)
        if isinstance(a, MapOf) and isinstance(b, MapOf):
            return DTYPES.leq(a.key, b.key) and self.leq(a.element, b.element)
        return False

    def join(self, a: Value, b: Value) -> Value:
        return self._combine(a, b, DIMS.join, SHAPES.join, CONTENTS.join)

    def widen(self, old: Value, new: Value) -> Value:
        return self._combine(old, new, DIMS.widen, SHAPES.widen, CONTENTS.widen)

    def _combine(
        self,
        a: Value,
        b: Value,
        dims: Callable[[Dim, Dim], Dim],
        shapes: Callable[[Shape, Shape], Shape],
        contents: Callable[[Contents | None, Contents | None], Contents | None],
    ) -> Value:
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
                items = tuple(self._combine(x, y, dims, shapes, contents) for x, y in zip(a.each, b.each, strict=True))
            element = self._combine(a.element, b.element, dims, shapes, contents)
            return SequenceOf(element, dims(a.length, b.length), items)
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
            present = a.present if a.present == b.present else None
            return OptionalOf(self._combine(a.element, b.element, dims, shapes, contents), present)
        if isinstance(a, MapOf) and isinstance(b, MapOf):
            return MapOf(DTYPES.join(a.key, b.key), self._combine(a.element, b.element, dims, shapes, contents))
        return TOP

    def _met(self, a: tuple[Value, ...], b: tuple[Value, ...]) -> Value:
        """The sequence of the meets; bottom if the lengths or two elements contradict each other."""
        if len(a) != len(b):
            return BOTTOM
        items = tuple(map(self.meet, a, b))
        return BOTTOM if BOTTOM in items else SequenceOf.of(items, BOTTOM)

    def meet(self, a: Value, b: Value) -> Value:
        """What both descriptions say together; bottom where they contradict each other."""
        if a is b or b is TOP or a is BOTTOM:
            return a
        if a is TOP or b is BOTTOM:
            return b
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            dtype, shape = DTYPES.meet(a.dtype, b.dtype), SHAPES.meet(a.shape, b.shape)
            contents = CONTENTS.meet(a.contents, b.contents)
            if dtype is DType.CONFLICT or shape.is_bottom or contents is NO_CONTENTS:
                return BOTTOM
            return Tensor(dtype, shape, contents, min(filter(None, (a.ramps, b.ramps)), key=str, default=NO_RAMPS))
        if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
            dtype, shape = DTYPES.meet(a.dtype, b.dtype), SHAPES.meet(a.shape, b.shape)
            return BOTTOM if dtype is DType.CONFLICT or shape.is_bottom else SparseTensor(dtype, shape)
        if isinstance(a, SequenceOf) and isinstance(b, SequenceOf):
            length = DIMS.meet(a.length, b.length)
            if length.bounds.is_empty:
                return BOTTOM
            if a.items is None and b.items is None:
                return SequenceOf(self.meet(a.element, b.element), length)
            return self._met(a.items or (a.element,) * len(b.items or ()), b.items or (b.element,) * len(a.items or ()))
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
            if a.present is not None and b.present is not None and a.present != b.present:
                return BOTTOM
            return OptionalOf(self.meet(a.element, b.element), a.present if b.present is None else b.present)
        if isinstance(a, MapOf) and isinstance(b, MapOf):
            key = DTYPES.meet(a.key, b.key)
            return BOTTOM if key is DType.CONFLICT else MapOf(key, self.meet(a.element, b.element))
        return BOTTOM


VALUES: Final = ValueLattice()


def without_elements(value: Value) -> Value:
    """The value with its type and shape only: nothing is said of the elements of any tensor in it."""
    if isinstance(value, Tensor):
        return value if value.contents is None and not value.ramps else Tensor(value.dtype, value.shape)
    if isinstance(value, SequenceOf):
        return value.map(without_elements, value.length)
    if isinstance(value, OptionalOf):
        return OptionalOf(without_elements(value.element), value.present)
    return MapOf(value.key, without_elements(value.element)) if isinstance(value, MapOf) else value
