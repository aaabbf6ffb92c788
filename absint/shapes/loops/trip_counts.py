"""The number of trips of a loop whose body's condition is known for each iteration number.

A condition `p - s*i >= 0` with s >= 1 is true in the first `p // s + 1` iterations and false from then on; one that
does not mention i, or that grows with it, keeps its truth at i = 0. The body's condition in iteration i decides on
iteration i + 1, so a loop whose first trip is certain makes one trip more than its condition is true.
"""

from __future__ import annotations

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Comparison, Relation, conjunction, ite
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol, const, expr_of, sub
from absint.lattices.terms.normal import floordiv, maximum, minimum
from absint.lattices.terms.substitution import substitute


def trips_by_condition(
    number: Symbol, first: Relation, after: Relation, most: Dim | None, *, certain: bool
) -> Dim | None:
    """The trips of a loop over iteration `number`; None if they are not known.

    `first` is the initial condition, `after` the body's, over `number` and symbols that no trip changes. `most` is the
    limit, at least 0, or None without one. `certain`: the initial condition holds.
    """
    whole = _for_loop(number, first, after)
    if whole is not None:
        return whole if most is None else minimum(most, whole)
    once = _within(number, after, most)
    if once is None:
        return None
    return once if certain else ite(first, once, 0)


def _for_loop(number: Symbol, first: Relation, after: Relation) -> Dim | None:
    """The trips by the condition alone, if the initial one is the body's at i = -1."""
    if first is TRUE or after.substitute({number: const(-1)}) is not first:
        return None
    parts = after.parts if after.op == "and" else (after,)
    fixed = [part for part in parts if number not in part.symbols]
    lines = [_line(number, part) for part in parts if part.op == ">=" and number in part.symbols]
    limits = [maximum(floordiv(line[0], line[1]) + 2, 0) for line in lines if line is not None]
    if not limits or len(limits) + len(fixed) < len(parts):
        return None
    return ite(conjunction(*fixed), minimum(*limits), 0)


def _within(number: Symbol, after: Relation, most: Dim | None) -> Dim | None:
    """The trips if the first condition holds."""
    limits: list[Dim] = [] if most is None else [most]
    stops: list[Relation] = []
    for part in after.parts if after.op == "and" else (after,):
        if part is TRUE:
            continue
        line = _line(number, part)
        if line is not None:
            limits.append(maximum(floordiv(line[0], line[1]) + 2, 1))
        elif number not in part.symbols or _grows(number, part):
            stops.append(part.substitute({number: ZERO_EXPR}))
        else:
            return None
    if UNKNOWN_RELATION in stops or (not limits and not stops):
        return None
    result = minimum(*limits) if limits else ONE_EXPR
    once = ONE_EXPR if most is None else minimum(most, 1)
    for stop in stops:
        # Without another limit a condition that stays true would never end the loop.
        result = result if stop is TRUE else once if stop is FALSE else ite(stop, result, once)
    return result


def _line(number: Symbol, part: Relation) -> tuple[Dim, Expr] | None:
    """p and s of p - s*number >= 0 with s >= 1; None if it is no such line."""
    found = _slope(number, part)
    if found is None:
        return None
    start, slope = found
    down = const(0) - slope
    lo = down.bounds.lo
    return (start, down) if isinstance(down, Expr) and lo is not None and lo >= 1 else None


def _grows(number: Symbol, part: Relation) -> bool:
    found = _slope(number, part)
    return found is not None and found[1].bounds.lo is not None and found[1].bounds.lo >= 0


def _slope(number: Symbol, part: Relation) -> tuple[Expr, Expr] | None:
    """p and q of p + q*number >= 0, neither of which mentions the number."""
    if not isinstance(part, Comparison) or part.op != ">=":
        return None
    e = part.expr
    start = substitute(e, {number: ZERO_EXPR})
    after = substitute(e, {number: ONE_EXPR})
    slope = sub(after, start)
    if not isinstance(start, Expr) or not isinstance(slope, Expr) or number in slope.symbols:
        return None
    return (start, slope) if start + slope * expr_of(number) is e else None
