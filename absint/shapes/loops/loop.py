"""The meaning of Loop: its head says what holds in every trip, its exit what holds after the last one.

    starts ──> head: i, condition, claims(i) ──> body ──> exit: claims(trips), slices stacked along [trips]
                 ^                                 │
                 └── carried values given back ────┘

The claim of the head about a carried number is its invariant (`absint.shapes.loops.invariants`): at i = 0 it is the
start, and the body, run on claims(i), gives back claims(i + 1). The engine visits head and body until the claims are
stable, and only then the exit. Below the head `i < M` is a fact. No symbol of the body leaves the exit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN_RELATION, YES, Comparison, Relation
from absint.lattices.logic.relation import conjunction, eq, ge, implies, ite, le, negation
from absint.lattices.shape import shape_of
from absint.lattices.terms.atoms import Symbol
from absint.lattices.terms.expr import MAX_DIM, ONE_EXPR, UNKNOWN_SIZE, ZERO_EXPR, Constant, Dim, Expr, const, expr_of
from absint.lattices.terms.normal import floordiv, maximum, minimum, substitute
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.nodes import Node
from absint.program.steps import LoopExit, LoopHead, LoopParts, Operand
from absint.shapes.branches import condition_of, integer_of, single
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import CERTAIN, ONE_SIZE, BodySymbols, Without, slices_may_differ, stacked
from absint.shapes.loops.conditions import condition_while, premises
from absint.shapes.loops.invariants import visited
from absint.shapes.loops.monotone import growth, monotone
from absint.shapes.loops.unrolling import Unrolled, counter, going, is_vague, rank_of, unrolled
from absint.shapes.loops.zero_trip_ranks import is_inferred
from absint.shapes.loops.zero_trip_sizes import Inference
from absint.shapes.summaries import State
from absint.transfer.stated import Statement

NO_END: Final = "no M limits the trips: the condition must end the loop"


def enter_loop(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A head: the iteration number, the condition, and the carried values of every iteration."""
    head = item.step
    assert isinstance(head, LoopHead)
    limit, condition, *starts = (run.operand(o, states) for o in item.operands)
    if limit is BOTTOM or condition is BOTTOM or BOTTOM in starts:
        return (BOTTOM,) * head.width
    # What the body gave back at its last visit: the claims get weaker until they hold of it too.
    condition_back, *backs = (run.operand(o, states) for o in head.back)
    body = BodySymbols(head)
    invariants = visited(run.invariants, node, backs, growth(run, states, body))
    carried = [invariants.value(body, k, s or TOP, b) for k, (s, b) in enumerate(zip(starts, backs, strict=True))]
    if never_runs(run.facts_at(item.gate), limit, condition):
        return (BOTTOM, BOTTOM, *carried)
    number, most = expr_of(body.iteration), integer_of(limit)
    run.guard(node, le(number + 1, maximum(most, 0)) if isinstance(most, Expr) else TRUE)
    return (counter(head, number), going(head, condition, condition_back), *carried)


def leave_loop(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """An exit: final carried values, and scan outputs."""
    step = item.step
    assert isinstance(step, LoopExit)
    head = run.nodes[step.head].step
    assert isinstance(head, LoopHead)
    body, facts = BodySymbols(head), run.facts_at(item.gate)
    operands = step.parts(item.operands)
    parts = step.parts([run.operand(o, states) for o in item.operands])
    never = never_runs(facts, parts.limit, parts.condition)

    # The number of trips. A condition that floats compute is looked at again, while it holds.
    first, after, while_it_holds = condition_of(parts.condition), condition_of(parts.goes_on), None
    if not never and parts.goes_on is not BOTTOM and (after is None or is_by_data(body, after)) and first is not None:
        while_it_holds = condition_while(run, item, head, states, operands.goes_on, first)
        after = after if while_it_holds is None else while_it_holds.relation
    trips, statements = trips_of(body, facts, parts.limit, parts.condition, after)

    # The claims of the head after the last trip, and the slices of all trips.
    finals = [body.final(v or TOP, trips) for v in parts.inside]
    scans = _scans(run, item, step, states, trips, never)
    possible_failures = [] if facts.decide(le(trips, 1)) is YES else slices_may_differ(body, parts.slices)

    # Trip by trip, where that may be more exact; else one side of the start may bound what is unknown.
    if not never:
        is_short = not isinstance(trips, Constant) or any(map(is_vague, (*finals, *scans)))
        exact = _trip_by_trip(run, item, head, states, operands, parts, trips) if is_short else None
        if exact is None:
            finals, sides = monotone(run, states, body, parts, finals, trips)
            end = ends(body, parts.limit, parts.condition, after)
            statements += sides
            if end is UNKNOWN_RELATION:
                possible_failures = [*possible_failures, NO_END]
            elif end is not TRUE:
                statements.append(Statement(end, NO_END, "required"))
        else:
            trips, finals, scans = const(exact.trips), list(exact.finals), list(exact.scans)
            open_sizes = (relation for relation in exact.agree if relation not in (TRUE, UNKNOWN_RELATION))
            statements = [*(Statement(r, ONE_SIZE, "required") for r in open_sizes), *exact.premises]
            possible_failures = [ONE_SIZE] if UNKNOWN_RELATION in exact.agree else []

    # What a run needs besides.
    statements += premises(run, body, trips)
    if while_it_holds is not None:
        statements += while_it_holds.premises(body, trips)
    for required, open_ in (
        single("limit M", parts.limit, DType.INT64),
        single("condition", parts.condition, DType.BOOL),
    ):
        statements, possible_failures = [*required, *statements], [*open_, *possible_failures]
    if head.condition is not DType.BOOL and not never:
        possible_failures = [f"the body declares its condition {head.condition}, and it is BOOL", *possible_failures]
    outputs = (*finals, *scans)[: max(1, len(item.outputs))]
    state = run.record(node, outputs, statements, possible_failures)
    run.trips[step.head] = run.filled(node, trips)
    return state


def _trip_by_trip(
    run: Interpretation,
    item: Node,
    head: LoopHead,
    states: Sequence[State],
    operands: LoopParts[Operand],
    parts: LoopParts[Value | None],
    trips: Dim,
) -> Unrolled | None:
    """The loop trip by trip, if the first is certain and there are few."""
    facts, first, most = run.facts_at(item.gate), condition_of(parts.condition), integer_of(parts.limit)
    starts = tuple(start or TOP for start in parts.starts)
    begins = most is None or (isinstance(most, Expr) and facts.decide(ge(most, 1)) is YES)
    if first is None or facts.decide(first) is not YES or not begins or BOTTOM in starts:
        return None
    limit = trips.const if isinstance(trips, Expr) else None
    if limit is None and isinstance(most, Expr):
        limit = most.const
    if limit < 1 if limit is not None else most is not None:
        return None
    return unrolled(run, head, states, starts, operands, limit)


# Scan outputs


def _scans(
    run: Interpretation, item: Node, step: LoopExit, states: Sequence[State], trips: Dim, never: bool
) -> list[Value]:
    """The body's values of all trips, stacked. Without a trip, runtimes give them sizes of their own."""
    if never:
        return [_of_no_trip(declared) for declared in step.declared]
    head = run.nodes[step.head].step
    assert isinstance(head, LoopHead)
    body = BodySymbols(head)
    certain = isinstance(trips, Expr) and run.facts_at(item.gate).decide(ge(trips, 1)) is YES
    inference = Inference(run.program, range(head.first, head.last + 1), lambda o: run.operand(o, states))
    scans = []
    for k, operand in enumerate(step.parts(item.operands).slices):
        value = body.leave(run.operand(operand, states) or TOP)
        without = CERTAIN if certain else _without(inference, operand, value)
        if value is BOTTOM or (without is None and not _has_rank(run, operand, states, step.ranks[k])):
            value = Tensor(value.dtype) if isinstance(value, Tensor) else TOP
        scans.append(stacked(body, str(step.count + k), value, trips, 0, without))
    return scans


def _without(inference: Inference, operand: Operand, value: Value) -> Without:
    """The sizes of a scan output after no trip."""
    if not isinstance(value, Tensor) or value.shape.is_top:
        return None
    sizes = inference.of(operand)
    return tuple(size or 0 for size in sizes) if sizes is not None and len(sizes) == len(value.shape) else None


def _has_rank(run: Interpretation, operand: Operand, states: Sequence[State], declared: int | None) -> bool:
    """A scan output has the rank that the body gives it, after zero trips too."""
    if declared is not None:
        return declared == rank_of(run.operand(operand, states) or TOP)
    return is_inferred(run.nodes, operand, lambda other: run.operand(other, states))


def _of_no_trip(declared: Value) -> Value:
    """A scan output of a loop that makes no trip: runtimes print the declared rank, with sizes of their own."""
    if not isinstance(declared, Tensor) or declared.shape.is_top:
        return Tensor(declared.dtype) if isinstance(declared, Tensor) else TOP
    return Tensor(declared.dtype, shape_of((ZERO_EXPR, *(UNKNOWN_SIZE for _ in declared.shape))))


# The number of trips: exact where the conditions are known for each iteration number, else a symbol.
#
# A condition `p - s*i >= 0` with s >= 1 is true in the first `p // s + 1` iterations and false from then on; one that
# does not mention i, or that grows with it, keeps its truth at i = 0. The body's condition in iteration i decides on
# iteration i + 1, so a loop whose first trip is certain makes one trip more than its condition is true.


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
    falls = any(number in part.symbols and not _grows(number, part) for part in parts)
    if initially is None or falls or is_by_data(body, after):
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
    slope = after - start
    if not isinstance(start, Expr) or not isinstance(slope, Expr) or number in slope.symbols:
        return None
    return (start, slope) if start + slope * expr_of(number) is e else None
