"""The order of abstract values: part by part within a kind; values of two kinds are unrelated, except bottom and
top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from absint.lattices.contents import CONTENTS, NO_CONTENTS
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.lattice import first_reason, placed
from absint.lattices.ramp import NO_RAMPS, Ramps
from absint.lattices.shape_lattice import DIMS, SHAPES
from absint.lattices.value import (
    BOTTOM,
    TOP,
    AnyTensor,
    Bottom,
    Container,
    MapOf,
    OptionalOf,
    SequenceOf,
    SparseTensor,
    Tensor,
    Top,
    Value,
    combined,
    joined,
)


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
            if not (self.leq(a.element, b.element) and DIMS.leq(a.length, b.length) and b.cut in (None, a.cut)):
                return False
            return b.items is None or (a.each is not None and all(map(self.leq, a.each, b.items)))
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
            return self.leq(a.element, b.element) and b.present in (None, a.present)
        if isinstance(a, MapOf) and isinstance(b, MapOf):
            return DTYPES.leq(a.key, b.key) and self.leq(a.element, b.element)
        return False

    def why_not_leq(self, a: Value, b: Value) -> str:
        """The reason why some value of `a` is none of `b`: `element type must be INT64, found FLOAT`."""
        if self.leq(a, b):
            return ""
        if type(a) is not type(b):
            return f"must be {_KINDS[type(b)]}, found {_KINDS[type(a)]}"
        return next(filter(None, self._reasons(a, b)))

    def _reasons(self, a: Value, b: Value) -> Iterator[str]:
        """For each part of two values of one kind, the reason why that of `a` is not below that of `b`."""
        if isinstance(a, AnyTensor) and isinstance(b, AnyTensor):
            yield placed("element type", DTYPES.why_not_leq(a.dtype, b.dtype))
            yield SHAPES.why_not_leq(a.shape, b.shape)
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            yield CONTENTS.why_not_leq(a.contents, b.contents)
            yield f"must have elements {_listed(b.ramps)}, found {_listed(a.ramps) or 'unknown ones'}"
        if isinstance(a, MapOf) and isinstance(b, MapOf):
            yield placed("key type", DTYPES.why_not_leq(a.key, b.key))
        if isinstance(a, SequenceOf) and isinstance(b, SequenceOf):
            yield placed("length", DIMS.why_not_leq(a.length, b.length))
            if b.cut not in (None, a.cut):
                yield f"must be {b.cut}, found {a.cut or 'any parts'}"
            if a.each is not None and b.items is not None:
                yield first_reason("item", map(self.why_not_leq, a.each, b.items))
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf) and b.present not in (None, a.present):
            yield f"must be {_PRESENCE[b.present]}, found {_PRESENCE[a.present]}"
        if isinstance(a, Container) and isinstance(b, Container):
            yield placed("each element", self.why_not_leq(a.element, b.element))

    def join(self, a: Value, b: Value) -> Value:
        return joined(a, b)

    def widen(self, old: Value, new: Value) -> Value:
        return combined(old, new, DIMS.widen, SHAPES.widen, CONTENTS.widen)

    def _met(self, a: tuple[Value, ...], b: tuple[Value, ...]) -> Value:
        """The sequence of the meets; bottom if the lengths or two elements contradict each other."""
        if len(a) != len(b):
            return BOTTOM
        items = tuple(map(self.meet, a, b))
        return BOTTOM if BOTTOM in items else SequenceOf.of(items, BOTTOM)

    def meet(self, a: Value, b: Value) -> Value:
        """Both descriptions together; bottom if they contradict each other."""
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
                cut = min(filter(None, (a.cut, b.cut)), key=str, default=None)
                return SequenceOf(self.meet(a.element, b.element), length, None, cut)
            return self._met(a.items or (a.element,) * len(b.items or ()), b.items or (b.element,) * len(a.items or ()))
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
            if a.present is not None and b.present is not None and a.present != b.present:
                return BOTTOM
            return OptionalOf(self.meet(a.element, b.element), a.present if b.present is None else b.present)
        if isinstance(a, MapOf) and isinstance(b, MapOf):
            key = DTYPES.meet(a.key, b.key)
            return BOTTOM if key is DType.CONFLICT else MapOf(key, self.meet(a.element, b.element))
        return BOTTOM


_KINDS: Final[Mapping[type[Value], str]] = {
    Bottom: "no value",
    Top: "any value",
    Tensor: "a tensor",
    SparseTensor: "a sparse tensor",
    SequenceOf: "a sequence",
    OptionalOf: "an optional",
    MapOf: "a map",
}
_PRESENCE: Final = {True: "present", False: "absent", None: "present or absent"}


def _listed(ramps: Ramps) -> str:
    return " and ".join(map(str, ramps))


VALUES: Final = ValueLattice()
