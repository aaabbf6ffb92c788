"""Results of the first round that a further one need not compute again.

Facts that only replace symbols make most results more exact by replacing those symbols in them: a rule could add
nothing but where it left something open. That is told from what it gave: invented symbols, doubts, dims whose form
depends on what is known (choices, extremes, broadcasts). Those nodes run again; sound is either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from lattices.contents import Contents, Element
from lattices.expr import Dim, Expr, Substitution, Symbol, postorder
from lattices.real import Real
from lattices.relation import Relation
from lattices.shape import Shape, shape_of
from lattices.tensor import Tensor, Value

if TYPE_CHECKING:
    from absint.shapes import ShapeAnalysis, Template

OPEN: Final = frozenset({"broadcast", "ite", "max", "min", "truncdiv"})
"""Atoms that may have another form where more is known."""


class Renewal:
    """The templates of the first round over the symbols of another one."""

    def __init__(self, first: ShapeAnalysis, mapping: Mapping[Symbol, Dim]) -> None:
        """`mapping` says what stands for the symbols of the first round."""
        self._first = first
        self._replaced = Substitution(mapping)
        self._templates: dict[int, Template | None] = {}
        self._dims: dict[Dim, Dim | None] = {}
        self._relations: dict[Relation, Relation] = {}

    def template(self, node: int) -> Template | None:
        """What the rule of a node would give again; None if it has to run."""
        found = self._first.applied.get(node)
        if found is None or found.holes or found.may_fails or found.notes or found.rejected is not None:
            return None
        key = id(found)
        if key not in self._templates:
            self._templates[key] = self._renewed(found)
        return self._templates[key]

    def _renewed(self, template: Template) -> Template | None:
        outputs = []
        for value in template.outputs:
            renewed = self._value(value)
            if renewed is None:
                return None
            outputs.append(renewed)
        statements = [s._replace(relation=self._relation(s.relation)) for s in template.statements]
        if any(s.relation.op in ("false", "open") for s in statements):
            return None
        return template._replace(
            outputs=tuple(outputs), statements=tuple(s for s in statements if s.relation.op != "true")
        )

    def _value(self, value: Value) -> Value | None:
        if not isinstance(value, Tensor) or value.shape.is_top or value.ramps:
            return None
        dims = [self._dim(dim) for dim in value.shape.dims]
        if None in dims:
            return None
        shape: Shape = shape_of(tuple(dim for dim in dims if dim is not None))
        if value.contents is None or not value.contents.open:
            return Tensor(value.dtype, shape, value.contents)
        elements = [self._element(e) for e in value.contents.elements]
        if None in elements:
            return None
        known = [e for e in elements if e is not None]
        contents = Contents.fill(known[0]) if value.contents.is_fill else Contents.of(value.contents.shape or (), known)
        return Tensor(value.dtype, shape, contents)

    def _element(self, element: Element) -> Element | None:
        if isinstance(element, Dim):
            return self._dim(element)
        if isinstance(element, Real):
            num = self._dim(element.num)
            return None if num is None else Real.of(num, element.den)
        return None if isinstance(element, Relation) and element.symbols else element

    def _dim(self, dim: Dim) -> Dim | None:
        """The dim over the new symbols; None if a rule may know a better form."""
        if dim not in self._dims:
            new = self._replaced(dim) if isinstance(dim, Expr) else dim
            closed = isinstance(new, Expr) and not any(atom.op in OPEN for atom in postorder(new.atoms()))
            self._dims[dim] = new if closed else None
        return self._dims[dim]

    def _relation(self, relation: Relation) -> Relation:
        found = self._relations.get(relation)
        if found is None:
            found = self._relations[relation] = relation.map(self._replaced)
        return found


__all__ = ["Renewal"]
