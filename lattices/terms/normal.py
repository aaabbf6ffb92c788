"""Every constructor of a composite atom, and the table of them: `CONSTRUCTORS[atom.op](*operands)`.

A constructor returns the normal form of its operation, or Unknown over the size budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from absint.lattices.terms.broadcasting import broadcast
from absint.lattices.terms.condition import Condition
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.division import ceildiv, floordiv, fmod, mod, truncdiv
from absint.lattices.terms.expr import sole_atom
from absint.lattices.terms.extremes import maximum, minimum
from absint.lattices.terms.float_casts import int32, int64, integer
from absint.lattices.terms.polynomials import common_factor, exact_quotient


def _ite(condition: Condition, a: Dim, b: Dim) -> Dim:
    return condition.choose(a, b)


CONSTRUCTORS: Final[Mapping[str, Callable[..., Dim]]] = {
    "floordiv": floordiv,
    "truncdiv": truncdiv,
    "max": maximum,
    "min": minimum,
    "broadcast": broadcast,
    "ite": _ite,
    "int": integer,
    "int64": int64,
    "int32": int32,
}
"""Operation -> its constructor."""

__all__ = [
    "CONSTRUCTORS", "Condition", "broadcast", "ceildiv", "common_factor", "exact_quotient", "floordiv", "fmod",
    "int32", "int64", "integer", "maximum", "minimum", "mod", "sole_atom", "truncdiv",
]  # fmt: skip
