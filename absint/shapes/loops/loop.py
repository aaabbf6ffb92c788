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
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, YES, ge, le
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Constant, Dim, Expr, const, expr_of
from absint.lattices.terms.normal import maximum
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.nodes import Node
from absint.program.steps import LoopExit, LoopHead, LoopParts, Operand
from absint.shapes.branches import condition_of, integer_of, single
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import CERTAIN, ONE_SIZE, BodySymbols, Without, slices_may_differ, stacked
from absint.shapes.loops.conditions import condition_while, premises
from absint.shapes.loops.invariants import visited
from absint.shapes.loops.monotone import growth, monotone
from absint.shapes.loops.trip_counts import ends, is_by_data, never_runs, trips_of
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
