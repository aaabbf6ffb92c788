"""The functions behind Python's operators, `str()` and `Dim(text)`.

`terms.dim` and `logic.formula` define the classes; arithmetic, connectives and text belong to rooms above them. This is
the only module that those two import from above.
"""

from __future__ import annotations

from absint.lattices.logic.relation import ite, mapped, negated
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import UNKNOWN_DIM, add, as_dim, mul, neg, operand, sub
from absint.lattices.terms.normal import floordiv, mod, substitute_names
from absint.lattices.text.notation import format_dim, format_float, format_relation, parse


def dim_of(value: Dim | int | str | None) -> Dim:
    """The dim of a size, of a text of the grammar, or of nothing (unknown)."""
    if isinstance(value, str):
        return parse(value)
    return UNKNOWN_DIM if value is None else as_dim(value)


__all__ = [
    "add", "dim_of", "floordiv", "format_dim", "format_float", "format_relation", "ite", "mapped", "mod", "mul", "neg",
    "negated", "operand", "sub", "substitute_names",
]  # fmt: skip
