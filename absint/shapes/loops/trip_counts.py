"""The number of trips of a Loop: exact where its conditions are known for each iteration number, else a symbol.

A condition `p - s*i >= 0` with s >= 1 is true in the first `p // s + 1` iterations and false from then on; one that
does not mention i, or that grows with it, keeps its truth at i = 0. The body's condition in iteration i decides on
iteration i + 1, so a loop whose first trip is certain makes one trip more than its condition is true.
"""

from __future__ import annotations

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import (
    FALSE,
    NO,
    TRUE,
    UNKNOWN_RELATION,
    YES,
    Comparison,
    Relation,
    conjunction,
    eq,
    ge,
    implies,
    ite,
    le,
    negation,
)
from absint.lattices.terms.expr import MAX_DIM, ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol, const, expr_of, sub
from absint.lattices.terms.normal import floordiv, maximum, minimum, substitute
from absint.lattices.value import Value
from absint.shapes.branches import condition_of, integer_of
from absint.shapes.loops.body import BodySymbols
from absint.transfer.stated import Statement


def never_runs(facts: Facts, limit: Value | None, condition: Value | None) -> bool:
    """No trip is taken in any run, by the facts outside of the loop."""
    initially, most = condition_of(condition), integer_of(limit)
    if initially is not None and facts.decide(initially) is NO:
        return True
    return isinstance(most, Expr) and facts.decide(le(most, 0)) is YES


def trips_of(
    body: BodySymbols, facts: Facts, limit: Value | None, condition: Value | None, after: Relation | None
) -> tuple[Dim, list[Statement]]:
    """The number of trips: exact if the conditions determine it, else a symbol between 0 and max(M, 0), with statements
    about it. `after` is the condition that the body gives, if known.
    """
    if never_runs(facts, limit, condition):
        return ZERO_EXPR, []
    most = integer_of(limit)
    most = maximum(most, 0) if most is not None else None
    initially = condition_of(condition)
    exact = _exact(body, initially, after, most, facts)
    if isinstance(exact, Expr):
        return exact, []
    begins = conjunction(UNKNOWN_RELATION if initially is None else initially, TRUE if most is None else ge(most, 1))
    certain = facts.decide(begins) is YES
    trips = expr_of(Symbol.hole("trips", int(certain)))
    claims = [(implies(begins, ge(trips, 1)), "a trip where M and the condition allow one")]
    if most is not None:
        claims.append((le(trips, most), "at most M trips"))
    if initially is not None:
        claims.append((implies(negation(initially), eq(trips, 0)), "no trip without the condition"))
    return trips, [Statement(claim, why, "defined") for claim, why in claims if claim not in (TRUE, UNKNOWN_RELATION)]


def ends(body: BodySymbols, limit: Value | None, condition: Value | None, after: Relation | None) -> Relation:
    """The loop, some trip of which is possible, ends: true where M limits it, unknown where data decide."""
    most, initially, number = integer_of(limit), condition_of(condition), body.iteration
    is_limited = most is not None and not (isinstance(most, Expr) and most.const is not None and most.const > MAX_DIM)
    if is_limited or after is None:
        return TRUE if is_limited else UNKNOWN_RELATION
    parts = [part for part in (after.parts if after.op == "and" else (after,)) if part is not TRUE]
    if any(_line(number, part) for part in parts):
        return TRUE
    if (
        initially is None
        or is_by_data(body, after)
        or any(number in p.symbols and not _grows(number, p) for p in parts)
    ):
        return UNKNOWN_RELATION
    return negation(conjunction(initially, *(part.substitute({number: ZERO_EXPR}) for part in parts)))


def is_by_data(body: BodySymbols, relation: Relation) -> bool:
    """Something else than the number of the trip decides on the relation in each trip."""
    return any(s is not body.iteration and (body.has(s) or s.is_by_data) for s in relation.symbols)


def _exact(
    body: BodySymbols, initially: Relation | None, after: Relation | None, most: Dim | None, facts: Facts
) -> Dim | None:
    """The number of trips, if both conditions are known for every iteration number."""
    if initially is None or after is None or (most is not None and not isinstance(most, Expr)):
        return None
    certain = facts.decide(initially) is YES
    if is_by_data(body, after) or (not certain and any(s.is_by_data for s in initially.symbols)):
        return None
    number = body.iteration
    whole = _for_loop(number, initially, after)
    if whole is not None:
        return whole if most is None else minimum(most, whole)
    once = _within(number, after, most)
    if once is None:
        return None
    return once if certain else ite(initially, once, 0)


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
    line = _slope(number, part)
    if line is None:
        return None
    start, slope = line
    down = const(0) - slope
    lo = down.bounds.lo
    return (start, down) if isinstance(down, Expr) and lo is not None and lo >= 1 else None


def _grows(number: Symbol, part: Relation) -> bool:
    line = _slope(number, part)
    return line is not None and line[1].bounds.lo is not None and line[1].bounds.lo >= 0


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
