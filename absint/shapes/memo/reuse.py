"""Results of the first round that a further one need not compute again.

Facts that only replace symbols make most results more exact by replacing those symbols in them: a rule could add
nothing but where it left something open. That is told from what it gave: invented symbols, doubts, dims whose form
depends on what is known (choices, extremes, broadcasts). Those nodes run again; sound is either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint.lattices.contents import Contents, Element
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import Dim, Expr, postorder
from absint.lattices.terms.real import Real
from absint.lattices.value import Tensor, Value
from absint.transfer.op import Statement

if TYPE_CHECKING:
    from absint.shapes.summaries import Template

FORMED: Final = frozenset({"broadcast", "ite", "max", "min", "truncdiv"})
"""Atoms that may have another form where more is known."""


class Renewal:
    """Templates of a first round over the symbols of another one, by what stands for the symbols."""

    def __init__(self, facts: Facts) -> None:
        """`facts` do no more than replace symbols."""
        self._replaced = facts.replaced
        self._templates: dict[int, tuple[Template, Template | None]] = {}
        self._values: dict[Value, Value | None] = {}
        self._dims: dict[Dim, Dim | None] = {}
        self._relations: dict[Relation, Relation] = {}

    def __len__(self) -> int:
        return len(self._templates)

    def template(self, first: Template) -> Template | None:
        """What the rule that gave a template would give again; None if it has to run."""
        found = self._templates.get(id(first))
        if found is None:
            found = self._templates[id(first)] = (first, self._renewed(first))
        return found[1]

    def _renewed(self, template: Template) -> Template | None:
        if (
            template.holes
            or template.may_fails
            or template.caveats
            or template.load_risks
            or template.notes
            or template.rejected is not None
        ):
            return None
        outputs = [self._value(value) for value in template.outputs]
        known = tuple([value for value in outputs if value is not None])
        if len(known) < len(outputs):
            return None
        if not template.statements:
            return template if known == template.outputs else template._replace(outputs=known)
        statements = [Statement(self._relation(s.relation), s.reason, s.role) for s in template.statements]
        if any(s.relation in (FALSE, UNKNOWN_RELATION) for s in statements):
            return None
        return template._replace(outputs=known, statements=tuple([s for s in statements if s.relation is not TRUE]))

    def _value(self, value: Value) -> Value | None:
        if value not in self._values:
            self._values[value] = self._renewed_value(value)
        return self._values[value]

    def _renewed_value(self, value: Value) -> Value | None:
        if not isinstance(value, Tensor) or value.shape.is_top or value.ramps:
            return None
        shape = value.shape
        if shape.open or shape.has_unknown:
            dims = [dim if dim.is_concrete else self._dim(dim) for dim in shape.dims]
            shape = shape_of(tuple([dim for dim in dims if dim is not None]))
            if len(shape) < len(dims):
                return None
        if value.contents is None or not value.contents.open:
            return value if shape is value.shape else Tensor(value.dtype, shape, value.contents)
        elements = [self._element(e) for e in value.contents.elements]
        known = [e for e in elements if e is not None]
        if len(known) < len(elements):
            return None
        contents = Contents.fill(known[0]) if value.contents.is_fill else Contents.of(value.contents.shape or (), known)
        return Tensor(value.dtype, shape, contents)

    def _element(self, element: Element) -> Element | None:
        if isinstance(element, Dim):
            return element if element.is_concrete else self._dim(element)
        if isinstance(element, Real):
            num = self._dim(element.num)
            return None if num is None else Real.of(num, element.den)
        return None if isinstance(element, Relation) and element.symbols else element

    def _dim(self, dim: Dim) -> Dim | None:
        """The dim over the new symbols; None if a rule may know a better form."""
        if dim not in self._dims:
            new = self._replaced(dim) if isinstance(dim, Expr) else dim
            closed = isinstance(new, Expr) and not any(atom.op in FORMED for atom in postorder(new.atoms()))
            self._dims[dim] = new if closed else None
        return self._dims[dim]

    def _relation(self, relation: Relation) -> Relation:
        found = self._relations.get(relation)
        if found is None:
            found = self._relations[relation] = relation.map(self._replaced)
        return found


__all__ = ["Renewal"]
