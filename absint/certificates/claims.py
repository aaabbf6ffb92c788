"""Claims about values, as terms of SMT-LIB: the sizes of a tensor, and its elements if they are few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from absint.certificates.terms import Terms
from absint.lattices.contents import Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.value import Tensor, Value

MOST_ELEMENTS: Final = 64
"""Elements of a tensor that are claimed one by one."""

COUNTED: Final = frozenset({DType.INT32, DType.INT64})
"""Types of tensors whose elements decide sizes."""


class Claim(NamedTuple):
    """The claim about one value; None stands for what is unknown."""

    dims: tuple[str | None, ...] | None = None
    """The sizes; None if the rank is unknown, or it is no tensor."""
    elements: tuple[str | None, ...] | None = None
    """Integers or truths in row-major order."""
    truths: bool = False
    """The elements are truths."""

    def formulas(self, output: int) -> Iterator[tuple[str, str]]:
        """The claim in parts, each with its name: `out0@rank`, `out0@1`, `out0@e2`."""
        if self.dims is None:
            return
        yield f"out{output}@rank", f"(= out{output}@rank {len(self.dims)})"
        for axis, dim in enumerate(self.dims):
            if dim is not None:
                yield f"out{output}@{axis}", f"(= out{output}@{axis} {dim})"
        for place, element in enumerate(self.elements or ()):
            if element is not None:
                yield f"out{output}@e{place}", f"(= out{output}@e{place} {element})"

    @property
    def terms(self) -> Iterator[str]:
        """All sizes and elements that are known."""
        yield from (dim for dim in self.dims or () if dim is not None)
        yield from (element for element in self.elements or () if element is not None)


NOTHING: Final = Claim()


class Claims:
    """Makes the claims of values, each once."""

    def __init__(self, terms: Terms, names: Mapping[Symbol, Dim]) -> None:
        self._terms = terms
        self._names = names
        self._known: dict[Value, Claim] = {}

    def of(self, value: Value) -> Claim:
        """The claim about a value, under printed names."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._made(value.replace(self._names) if self._names else value)
        return found

    def relation(self, relation: Relation) -> str | None:
        """The formula of a relation under printed names; None where there is none."""
        return self._terms.relation(relation.substitute(self._names) if self._names else relation)

    def _made(self, value: Value) -> Claim:
        if not isinstance(value, Tensor) or value.shape.rank is None:
            return NOTHING
        dims = tuple(self._terms.dim(dim) for dim in value.shape.dims)
        sizes = value.shape.concrete
        if sizes is not None and 0 in sizes and value.dtype in COUNTED:
            return Claim(dims, ())
        block = None if value.contents is None or sizes is None else value.contents.block(sizes)
        if block is None or len(block.elements) > MOST_ELEMENTS:
            return Claim(dims)
        found = tuple(map(self._element, block.elements))
        if all(element is None for element in found):
            return Claim(dims)
        return Claim(dims, found, any(isinstance(item, Relation) for item in block.elements))

    def _element(self, element: Element) -> str | None:
        if isinstance(element, Dim):
            return self._terms.dim(element)
        return self._terms.relation(element) if isinstance(element, Relation) else None


__all__ = ["MOST_ELEMENTS", "NOTHING", "Claim", "Claims"]
