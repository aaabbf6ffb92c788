"""Every constructor of a composite atom, and the table of them: `CONSTRUCTORS[atom.op](*operands)`.

A constructor returns the normal form of its operation, or Unknown over the size budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from absint.lattices.terms.atoms import Atom, Formula
from absint.lattices.terms.broadcasting import broadcast
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.division import ceildiv, floordiv, fmod, mod, truncdiv
from absint.lattices.terms.expr import sole_atom
from absint.lattices.terms.extremes import maximum, minimum
from absint.lattices.terms.polynomials import common_factor, exact_quotient


class Condition(Formula):
    """The condition of a choice, as far as this room needs it; `absint.lattices.logic` has the relations."""

    __slots__ = ()

    def rebuild(self, values: Mapping[Atom, Dim]) -> Condition:
        """The condition with each atom replaced by its value."""
        raise NotImplementedError

    def choose(self, a: Dim, b: Dim) -> Dim:
        """`ite(self, a, b)`: a where the condition holds, else b."""
        raise NotImplementedError


def _ite(condition: Condition, a: Dim, b: Dim) -> Dim:
    return condition.choose(a, b)


CONSTRUCTORS: Final[Mapping[str, Callable[..., Dim]]] = {
    "floordiv": floordiv,
    "truncdiv": truncdiv,
    "max": maximum,
    "min": minimum,
    "broadcast": broadcast,
    "ite": _ite,
}
"""Operation -> its constructor."""

__all__ = [
    "CONSTRUCTORS", "Condition", "broadcast", "ceildiv", "common_factor", "exact_quotient", "floordiv", "fmod",
    "maximum", "minimum", "mod", "sole_atom", "truncdiv",
]  # fmt: skip
