"""The inputs and outputs of two models in pairs: by name, and the rest by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from absint.lattices.dtype import DType
from absint.lattices.terms.expr import Dim
from absint.lattices.value import BOTTOM, TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Value


class Pair(NamedTuple):
    """The name of an input or output in each model; None where a model has no such one."""

    first: str | None
    second: str | None

    @property
    def swapped(self) -> Pair:
        return Pair(self.second, self.first)


def paired(first: Sequence[str], second: Sequence[str]) -> tuple[Pair, ...]:
    """Names in pairs, in the order of the first model, then those that only the second one has.

    Names that one model alone has are taken for renamed, one after the other, where each has as many.
    """
    gone = [name for name in first if name not in second]
    new = [name for name in second if name not in first]
    renamed = dict(zip(gone, new, strict=True)) if len(gone) == len(new) else {}
    found = [Pair(name, name if name in second else renamed.get(name)) for name in first]
    return (*found, *(Pair(None, name) for name in new if name not in renamed.values()))


class Form(NamedTuple):
    """The form of a value apart from its sizes."""

    kind: str
    """`tensor`, or `sequence of tensor` and the like; empty if it is not known."""
    dtype: DType
    rank: int | None
    sizes: tuple[tuple[str, Dim], ...]
    """Each size with its place: `[0]`, or `length` of a sequence."""

    def differs(self, other: Form) -> bool:
        """No value has both forms."""
        return (
            (self.kind != other.kind and "" not in (self.kind, other.kind))
            or (self.dtype is not other.dtype and DType.UNDEFINED not in (self.dtype, other.dtype))
            or (self.rank != other.rank and None not in (self.rank, other.rank))
        )

    @property
    def is_known(self) -> bool:
        """Kind, element type and rank are known."""
        return bool(self.kind) and self.dtype is not DType.UNDEFINED and self.rank is not None


def form_of(value: Value) -> Form:
    """The form of a value; of a container that of its elements, with the length of a sequence before their sizes."""
    kinds, sizes = [], list[tuple[str, Dim]]()
    while isinstance(value, SequenceOf | OptionalOf | MapOf):
        if isinstance(value, SequenceOf):
            sizes.append(("length", value.length))
        kinds.append(_kind(value))
        value = value.element
    if not isinstance(value, AnyTensor):
        return Form("", DType.UNDEFINED, None, tuple(sizes))
    kinds.append("sparse tensor" if isinstance(value, SparseTensor) else "tensor")
    if value.shape.rank is not None:
        sizes += ((f"[{axis}]", dim) for axis, dim in enumerate(value.shape.dims))
    return Form(" of ".join(kinds), value.dtype, value.shape.rank, tuple(sizes))


def _kind(value: SequenceOf | OptionalOf | MapOf) -> str:
    if isinstance(value, MapOf):
        return f"map from {value.key}"
    return "sequence" if isinstance(value, SequenceOf) else "optional"


def both(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """The pairs of names that both models have."""
    return ((a, b) for a, b in pairs if a is not None and b is not None)


def is_known(value: Value) -> bool:
    """Something is known of the value."""
    return value is not TOP and value is not BOTTOM
