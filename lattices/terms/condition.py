"""The condition of a choice."""

from __future__ import annotations

from collections.abc import Mapping

from absint.lattices.terms.atoms import Atom, Formula
from absint.lattices.terms.dim import Dim


class Condition(Formula):
    """The condition of a choice, as far as this room needs it; `absint.lattices.logic` has the relations."""

    __slots__ = ()

    def rebuild(self, values: Mapping[Atom, Dim]) -> Condition:
        """The condition with each atom replaced by its value."""
        raise NotImplementedError

    def choose(self, a: Dim, b: Dim) -> Dim:
        """`ite(self, a, b)`: a where the condition holds, else b."""
        raise NotImplementedError

    @property
    def settled(self) -> bool | None:
        """The truth that it has whatever the symbols are, if it has one."""
        raise NotImplementedError
