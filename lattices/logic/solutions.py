"""Comparisons over one symbol by their solutions: `x//4 == x//8` is `x <= 3`."""

from __future__ import annotations

from typing import Final

from absint.lattices.terms.dim import Dim
from absint.lattices.terms.expr import ONE_EXPR, Expr, const, expr_of, sub
from absint.lattices.terms.periodic import Univariate, compared, univariate

_LEAST: Final = 4
"""Atoms of `x//4`."""
_MOST: Final = 200


def solved(op: str, e: Expr) -> tuple[str, Dim] | None:
    """The one comparison of the symbol of e that says what `e op 0` does, if there is one."""
    if not _LEAST <= e.size <= _MOST or not any(atom.args for atom in e.atoms()):
        return None
    found = univariate(e)
    truth = None if found is None else compared(op, found.function)
    where = None if found is None or truth is None else Univariate(found.symbol, truth).where()
    if found is None or where is None or len(where) > 2:
        return None
    x = expr_of(found.symbol)
    if not where:
        return "==", ONE_EXPR
    (lo, hi), least = where[0], found.symbol.bounds.lo
    if len(where) == 2:
        missing = None if hi is None else hi + 1
        single = missing is not None and lo == least and where[1] == (missing + 1, None)
        return ("!=", sub(x, const(missing))) if single and missing is not None else None
    assert lo is not None
    if hi is None:
        return ">=", sub(x, const(lo))
    if lo == least:
        return ">=", sub(const(hi), x)
    return ("==", sub(x, const(lo))) if lo == hi else None
