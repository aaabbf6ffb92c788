"""Replacing symbols and atoms in expressions; results are in normal form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from absint.lattices.terms.atoms import Atom, Symbol, postorder
from absint.lattices.terms.condition import Condition
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import Expr, as_dim, expr_of, rebuild
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import CONSTRUCTORS


class Substitution:
    """Replaces symbols in many expressions, simultaneously, and renormalises; each atom is rebuilt once."""

    __slots__ = ("_values", "mapping")

    def __init__(self, mapping: Mapping[Symbol, Dim]) -> None:
        """Symbols that are not in the mapping stay."""
        self.mapping = mapping
        """Symbols -> what replaces them."""
        self._values: dict[Atom, Dim] = {}

    def __len__(self) -> int:
        """The number of atoms that were rebuilt so far."""
        return len(self._values)

    def __call__(self, expr: Expr) -> Dim:
        """The expression over the new symbols."""
        values, mapping = self._values, self.mapping
        if mapping.keys().isdisjoint(expr.symbols):
            return expr
        new = [atom for mono, _ in expr.terms for atom in mono if atom not in values]
        for node in postorder(new, values) if new else ():
            values[node] = mapping[node] if isinstance(node, Symbol) and node in mapping else rebuilt(node, values)
        return rebuild(expr, values)


def substitute(expr: Expr, mapping: Mapping[Symbol, Dim]) -> Dim:
    """Replace symbols simultaneously and renormalise; symbols that are not in the mapping stay."""
    return Substitution(mapping)(expr)


def substitute_float(term: Float, mapping: Mapping[Symbol, Dim]) -> Float | None:
    """Replace symbols in a float; None if its value is unknown then."""
    values: dict[Atom, Dim] = {}
    for node in postorder(term.atoms()):
        values[node] = mapping[node] if isinstance(node, Symbol) and node in mapping else rebuilt(node, values)
    return term.rebuild(values)


def substitute_names(dim: Dim, mapping: Mapping[str, Dim | int]) -> Dim:
    """Replace symbols by name; an unknown dim stays."""
    if not isinstance(dim, Expr):
        return dim
    chosen = {s: as_dim(mapping[s.name]) for s in dim.symbols if s.name in mapping}
    return substitute(dim, chosen) if chosen else dim


def rebuilt(node: Atom, values: Mapping[Atom, Dim]) -> Dim:
    """The atom over the values of its operands' atoms."""
    for child in node.children:
        if values[child] is not expr_of(child):
            break
    else:
        return expr_of(node)
    return CONSTRUCTORS[node.op](*(cast("Expr | Condition | Float", arg).rebuild(values) for arg in node.args))
