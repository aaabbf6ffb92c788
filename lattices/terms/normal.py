"""Every constructor of a composite atom, and the table of them: `CONSTRUCTORS[atom.op](*operands)`.

A constructor returns the normal form of its operation, or Unknown over the size budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, cast

from absint.lattices.terms.atoms import atom
from absint.lattices.terms.condition import Condition
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.division import ceildiv, floordiv, fmod, mod, truncdiv
from absint.lattices.terms.expr import ONE_EXPR, Expr, Unknown, as_dim, const, expr_of, sole_atom, sub
from absint.lattices.terms.extremes import maximum, minimum
from absint.lattices.terms.float_casts import int32, int64, integer
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.polynomials import common_factor, exact_quotient
from absint.lattices.terms.rewriting import states
from absint.lattices.terms.sign import nonneg

# The size of an axis after broadcasting, in normal form.


def broadcast(*dims: Dim | int) -> Dim:
    """The size of an axis after numpy broadcasting: the operand that is not 1, else 1.

    It has a value only where the operands are pairwise equal or 1. The normal form may have one elsewhere too:
    `broadcast(N, 64)` is 64. Whoever builds it states the requirement.
    """
    return _broadcast(tuple(as_dim(d) for d in dims))


@lru_cache(maxsize=1 << 14)
@states("broadcast(a, 1) -> a")
@states("broadcast(a, a) -> a")
@states("broadcast(broadcast(a, b), c) -> broadcast(a, b, c)")
@states("broadcast(a, b) -> a", when="a != 1")
@states("broadcast(a, b) -> broadcast(b, a)")
@states("broadcast(a, max(a, 1)) -> a", when="a >= 0")
@states("broadcast(a, min(a, 1)) -> a", when="a >= 0")
@states("broadcast(a, ite(x >= 0, max(a, 1), a)) -> a", when="a >= 0")
def _broadcast(dims: tuple[Dim, ...]) -> Dim:
    flat: dict[Dim, None] = {}
    for d in dims:
        only = sole_atom(d) if isinstance(d, Expr) else None
        if only is not None and only.op == "broadcast":
            flat.update(dict.fromkeys(cast(tuple[Expr, ...], only.args)))
        elif d is not ONE_EXPR:
            flat[d] = None
    if not flat:
        return ONE_EXPR
    if len(flat) == 1 and not any(d.is_unknown for d in flat):
        return next(iter(flat))
    settled = [d for d in flat if isinstance(d, Expr) and _never_one(d)]
    if settled:
        return min(settled, key=lambda d: (d.const is None, d.key))
    if any(d.is_unknown for d in flat):
        return dims[0] if len(dims) == 1 else Unknown(_hull(tuple(flat)))
    sizes = cast(list[Expr], list(flat))
    covered = {b for b in sizes if any(a is not b and a in flat and fits(b, a) for a in _fitting(b))}
    if covered:
        return _broadcast(tuple(d for d in sizes if d not in covered))
    args = tuple(sorted(sizes, key=lambda e: e.key))
    return expr_of(atom("broadcast", args, _hull(args)))


def fits(b: Dim, a: Dim) -> bool:
    """b is always a or 1: they always broadcast, to a."""
    if b is a or b is ONE_EXPR:
        return True
    only = sole_atom(b) if isinstance(b, Expr) else None
    if only is None or not isinstance(a, Expr):
        return False
    if only.op == "ite":
        return all(fits(cast(Expr, side), a) for side in only.args[1:])
    return only.op in ("max", "min") and set(only.args) == {a, ONE_EXPR} and nonneg(a)


def _fitting(b: Expr) -> set[Expr]:
    """The sizes that b may fit: those that it chooses from, or is an extreme of with 1."""
    only = sole_atom(b)
    if only is None or only.op not in ("ite", "max", "min"):
        return set()
    sides = cast(tuple[Expr, ...], only.args[1:] if only.op == "ite" else only.args)
    return {*sides, *(a for side in sides if only.op == "ite" for a in _fitting(side))}


def _never_one(e: Expr) -> bool:
    lo, hi = e.bounds
    return (lo is not None and lo >= 2) or (hi is not None and hi <= 0) or nonneg(sub(e, const(2)))


def _hull(dims: tuple[Dim, ...]) -> Interval:
    """Bounds of a broadcast: it is one of the operands, as it is 1 only where all of them are."""
    bounds = dims[0].bounds
    for d in dims[1:]:
        bounds = bounds.join(d.bounds)
    return bounds


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
