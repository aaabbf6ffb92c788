"""The lattice of dims: bottom, expressions, unknowns with bounds and a congruence, top.

Expressions are incomparable unless identical; an expression lies below every `Unknown` that contains all its values.
Joins are pure: two different terms give an anonymous `Unknown`, which the engine names.
"""

from __future__ import annotations

from typing import Final

from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, Unknown
from absint.lattices.terms.interval import EMPTY

BOTTOM_DIM: Final = Unknown(EMPTY)
"""No integer at all."""


class DimLattice:
    """Operations on dims; see `absint.lattices.lattice`."""

    bottom: Dim = BOTTOM_DIM
    top: Dim = UNKNOWN_DIM

    def leq(self, a: Dim, b: Dim) -> bool:
        if a is b or b is UNKNOWN_DIM or a.bounds.is_empty:
            return True
        return isinstance(b, Unknown) and a.bounds.leq(b.bounds) and a.congruence.leq(b.congruence)

    def why_not_leq(self, a: Dim, b: Dim) -> str:
        """The reason why some value of `a` is none of `b`: `must be 3, found N`."""
        if self.leq(a, b):
            return ""
        if isinstance(b, Expr):
            return f"must be {b}, found {a if isinstance(a, Expr) else _described(a)}"
        limit = b.congruence.text if a.bounds.leq(b.bounds) else b.bounds.text
        return f"must be {limit}, found {_described(a)}"

    def join(self, a: Dim, b: Dim) -> Dim:
        if a is b or self.leq(b, a):
            return a
        if self.leq(a, b):
            return b
        return Unknown(a.bounds.join(b.bounds), a.congruence.join(b.congruence))

    def widen(self, old: Dim, new: Dim) -> Dim:
        if self.leq(new, old):
            return old
        if old.bounds.is_empty:
            return new
        return Unknown(old.bounds.widen(new.bounds), old.congruence.join(new.congruence))

    def meet(self, a: Dim, b: Dim) -> Dim:
        """A description of the values that both allow: the more exact one; constants that differ give bottom."""
        if self.leq(a, b):
            return a
        if self.leq(b, a):
            return b
        bounds = a.bounds.meet(b.bounds)
        congruence = a.congruence.meet(b.congruence)
        if bounds.is_empty or congruence is None:
            return BOTTOM_DIM
        if isinstance(a, Expr) or isinstance(b, Expr):
            exact = [d for d in (a, b) if isinstance(d, Expr)]
            return min(exact, key=lambda e: (e.const is None, e.size, e.key))
        return Unknown(bounds, congruence)


def _described(dim: Dim) -> str:
    """The dim with its bounds and congruence."""
    if isinstance(dim, Expr) and dim.const is not None:
        return str(dim)
    known = " and ".join(filter(None, (dim.bounds.text, dim.congruence.text)))
    if isinstance(dim, Expr):
        return f"{dim} ({known})" if known else str(dim)
    return f"a number that is {known}" if known else "any integer"


DIMS: Final = DimLattice()
