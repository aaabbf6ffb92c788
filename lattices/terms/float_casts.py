"""Integers that floats are cast to: the number of the run where the float has one of the type.

`int` is the float rounded towards 0; `int64` and `int32` are what a cast gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isinf
from typing import Final

from absint.lattices.terms.atoms import atom
from absint.lattices.terms.dim import Dim
from absint.lattices.terms.division import ceildiv, floordiv, truncdiv
from absint.lattices.terms.evaluation import INTEGERS
from absint.lattices.terms.expr import Unknown, const, expr_of
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import DIGITS
from absint.lattices.terms.interval import Interval


def integer(a: Float | None) -> Dim:
    """The float rounded towards 0, as a number of INT64: it has no value elsewhere, and no bounds beyond."""
    return _integer("int", a)


def int64(a: Float | None) -> Dim:
    """The float cast to INT64: the same, but where it has no value it is any number of the type."""
    return _integer("int64", a)


def int32(a: Float | None) -> Dim:
    """The float cast to INT32; the same number as an INT64 where the float cannot leave INT32."""
    return _integer("int32", a)


@lru_cache(maxsize=1 << 12)
def _integer(op: str, a: Float | None) -> Dim:
    limits = Interval(*INTEGERS[op])
    if a is None:
        return Unknown(limits)
    if a.is_constant:
        return const(int(a.number)) if int(a.number) in limits else Unknown(limits)
    if a.op == "cast" and a.format == "float64":
        return _integer(op, a.floats[0])
    bounds = limits if op != "int" else _inside(a, limits)
    if a.span.is_finite:
        found = Interval(int(a.span.lo), int(a.span.hi))
        if found.leq(limits):
            if found.lo == found.hi:
                return const(int(a.span.lo))
            bounds, op = found, "int"
    if (a.op == "floor" and a.span.lo >= 0) or (a.op == "ceil" and a.span.hi <= 0):
        return _integer(op, a.floats[0])
    leaf, rounding = (a.floats[0], a.op) if a.op in _ROUNDINGS else (a, "")
    limit = 1 << DIGITS[a.format]
    if leaf.op == "of" and leaf.under <= limit and leaf.leaf.bounds.leq(Interval(-limit, limit)):
        return _ROUNDINGS[rounding](leaf.leaf, leaf.under)  # no integer lies between the quotient and its rounding
    return expr_of(atom(op, (a,), bounds))


def _inside(a: Float, limits: Interval) -> Interval:
    """The integers that the float may be, of those of the type."""
    assert limits.hi is not None
    assert limits.lo is not None
    if a.span.is_empty:
        return limits
    most = limits.hi + 1 - (limits.hi + 1 >> DIGITS[a.format])  # the largest number of the format in the type
    lo, hi = (None if isinf(end) else int(end) for end in (a.span.lo, a.span.hi))
    found = Interval(limits.lo if lo is None else lo, most if hi is None else hi)
    return found.meet(Interval(limits.lo, most))


_ROUNDINGS: Final[Mapping[str, Callable[[Dim, int], Dim]]] = {"": truncdiv, "floor": floordiv, "ceil": ceildiv}
