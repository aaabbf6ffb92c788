"""Claims about values, as terms of SMT-LIB: the sizes of a tensor, and its elements if they are few."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from absint.lattices.contents import Element
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor, Value
from absint.questions.certificates.terms import Terms

MOST_ELEMENTS: Final = 64
"""Elements of a tensor that are claimed one by one."""

MOST_RATIOS: Final = 8
"""Constant floats of a vector, such as the scales of a Resize, that are claimed one by one."""

Sort = Literal["Int", "Bool", "Real"]


class Claim(NamedTuple):
    """The claim about one value; None stands for what is unknown."""

    dims: tuple[str | None, ...] | None = None
    """The sizes; None if the rank is unknown, or it is no tensor."""
    elements: tuple[str | None, ...] | None = None
    """Integers or truths in row-major order, or constant floats as ratios."""
    sort: Sort = "Int"
    """The sort of the elements in SMT-LIB."""

    @property
    def truths(self) -> bool:
        """The elements are truths."""
        return self.sort == "Bool"

    @property
    def computed(self) -> Claim:
        """The claim about a value that a node computes: no lemma is about floats."""
        return Claim(self.dims) if self.sort == "Real" and self.elements else self

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
        if sizes is not None and 0 in sizes:
            return Claim(dims, ())
        block = None if value.contents is None or sizes is None else value.contents.block(sizes)
        if block is None or len(block.elements) > MOST_ELEMENTS:
            return Claim(dims)
        if all(isinstance(item, Real) for item in block.elements):
            ratios = [_ratio(item.fraction) for item in block.elements if isinstance(item, Real)]
            few = len(ratios) <= MOST_RATIOS and len(dims) == 1 and None not in ratios
            return Claim(dims, tuple(ratios), "Real") if few else Claim(dims)
        found = tuple(map(self._element, block.elements))
        if all(element is None for element in found):
            return Claim(dims)
        return Claim(dims, found, "Bool" if any(isinstance(item, Relation) for item in block.elements) else "Int")

    def _element(self, element: Element) -> str | None:
        if isinstance(element, Dim):
            return self._terms.dim(element)
        return self._terms.relation(element) if isinstance(element, Relation) else None


def _ratio(value: Fraction | None) -> str | None:
    if value is None:
        return None
    sign = f"(- {-value.numerator}.0)" if value < 0 else f"{value.numerator}.0"
    return f"(/ {sign} {value.denominator}.0)"


def ratio_of(text: str) -> Fraction:
    """The constant float that a term is."""
    numerator, denominator = re.findall(r"\d+(?=\.0)", text)
    return Fraction(int(numerator), int(denominator)) * (-1 if "(- " in text else 1)
