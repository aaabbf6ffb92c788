"""The meaning of Loop: the claims of every iteration, their number, and the values after the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from absint.lattices.contents import Contents
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import restrict, settled
from absint.lattices.logic.relation import (
    TRUE,
    UNKNOWN_RELATION,
    Relation,
    conjunction,
    eq,
    ge,
    implies,
    ite,
    le,
    negation,
)
from absint.lattices.logic.truth import NO, YES
from absint.lattices.shape import TOP_SHAPE, shape_of
from absint.lattices.starred import with_axes
from absint.lattices.terms.expr import (
    MAX_DIM,
    UNKNOWN_SIZE,
    ZERO_EXPR,
    Constant,
    Dim,
    Expr,
    Symbol,
    Unknown,
    const,
    expr_of,
)
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import maximum
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.nodes import Node
from absint.program.steps import LoopBody, LoopExit, LoopHead, Operand
from absint.shapes.branches import condition_of, integer_of, single
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import BodySymbols
from absint.shapes.loops.conditions import condition_while, premises
from absint.shapes.loops.inferred_ranks import agree, inferred
from absint.shapes.loops.invariants import Invariants
from absint.shapes.loops.no_trip import Inference
from absint.shapes.loops.trip_counts import trips_by_condition
from absint.shapes.loops.unrolling import Unrolled, counter, going, is_vague, rank_of, unrolled
from absint.shapes.summaries import State
from absint.transfer.stated import Statement

# Numbers that no trip makes larger, or none smaller: after the loop they lie on that side of their start.
#
# Where the body, given any number that its claim allows, gives back one that is not larger, an induction over the
# trips shows it of all trips together, for zero trips too. Of a number that has a closed form this says nothing new.

E = TypeVar("E")

_SIZES: Final = Interval(0, MAX_DIM)
_SIDES: Final = ((le, "no trip makes it larger"), (ge, "no trip makes it smaller"))


class OneSided:
    """The numbers that a loop carries, after it: those that stay on one side of their start get names."""

    def __init__(self, body: BodySymbols, facts: Facts) -> None:
        """With the facts that hold in the body."""
        self._body, self._facts = body, facts
        self.statements: list[Statement] = []

    def named(self, k: int, start: Value | None, inside: Value | None, back: Value | None, final: Value) -> Value:
        """Carried value k after the loop, from its start, its value in a trip, and the one that the trip gives back."""
        if not (
            isinstance(start, Tensor)
            and isinstance(inside, Tensor)
            and isinstance(back, Tensor)
            and isinstance(final, Tensor)
            and None is not start.shape.rank == inside.shape.rank == back.shape.rank == final.shape.rank
        ):
            return final
        axes = enumerate(zip(start.shape, inside.shape, back.shape, final.shape, strict=True))
        dims = tuple([self._number(f"{k}.{axis}", *numbers, _SIZES) for axis, numbers in axes])
        contents = self._contents(k, start, inside, back, final)
        if dims == final.shape.dims and contents is final.contents:
            return final
        return Tensor(final.dtype, shape_of(dims), contents, final.ramps)

    def _contents(self, k: int, start: Tensor, inside: Tensor, back: Tensor, final: Tensor) -> Contents | None:
        a, b, c = start.contents, inside.contents, back.contents
        full = INTEGER_RANGES.get(final.dtype)
        if full is None or a is None or b is None or c is None or b.shape is None or not a.shape == b.shape == c.shape:
            return final.contents
        left = [Unknown(element.bounds) if isinstance(element, Dim) else element for element in b.elements]
        found = left if final.contents is None else final.contents.elements
        pairs = enumerate(zip(a.elements, b.elements, c.elements, found, strict=True))
        elements = [self._number(f"{k}[{at}]", *numbers, Interval(*full)) for at, numbers in pairs]
        is_named = any(new is not old for new, old in zip(elements, found, strict=True))
        return Contents.of(b.shape, elements) if is_named else final.contents

    def _number(self, tag: str, start: E, inside: E, back: E, final: E, full: Interval) -> E | Expr:
        """The number after the loop, with a name if it is unknown and stays on one side of its start."""
        if not (isinstance(final, Unknown) and isinstance(start, Expr) and isinstance(back, Expr)):
            return final
        if not isinstance(inside, Expr) or not any(expr_of(s) is inside and self._body.has(s) for s in inside.symbols):
            return final
        bounds = final.bounds.meet(full)
        sides = [(side, why) for side, why in _SIDES if self._facts.decide(side(back, inside)) is YES]
        if not sides or bounds.is_empty:
            return final
        name = expr_of(Symbol.hole(tag, *bounds))
        self.statements += [Statement(side(name, start), why, "defined") for side, why in sides]
        return name


Without = Sequence[int] | None
"""The inner sizes of a scan output after no trip; None if they are not known."""

CERTAIN: Final[Without] = ()
"""There is a trip."""

Returned = tuple[list[Value | None], Invariants]


def returned(run: Interpretation, head: LoopBody, states: Sequence[State], operands: Sequence[Operand]) -> Returned:
    """The values that the body gives back, and the claims about them, which the first visit creates."""
    values = [run.operand(o, states) for o in operands]
    if all(v is BOTTOM for v in values):
        run.invariants[head.first] = Invariants()
    return values, run.invariants.setdefault(head.first, Invariants())


def stacked(body: BodySymbols, tag: str, value: Value, trips: Dim, axis: int, without: Without = CERTAIN) -> Value:
    """A scan output: the body's value of each trip along a new axis.

    Its inner dims are the body's if there is a trip; `without` one runtimes give sizes of their own.
    """
    if not isinstance(value, Tensor):
        return TOP
    if value.shape.is_top:
        grown = with_axes(value.shape, [axis], trips) if without is CERTAIN else None
        return Tensor(value.dtype, TOP_SHAPE if grown is None else grown)
    dims = [body.outside(d) for d in value.shape]
    if without is not CERTAIN:
        found = without or (None,) * len(dims)
        dims = [
            _either(d, trips, size, f"{tag}.inner{at}") for at, (d, size) in enumerate(zip(dims, found, strict=True))
        ]
    position = axis + len(dims) + 1 if axis < 0 else axis
    if not 0 <= position <= len(dims):
        return Tensor(value.dtype)
    return Tensor(value.dtype, shape_of((*dims[:position], trips, *dims[position:])))


def _either(size: Dim, trips: Dim, without: int | None, tag: str) -> Dim:
    """The size if there is a trip, else the size `without` one, which is named by the tag if it is not known."""
    if not isinstance(size, Expr) or not isinstance(trips, Expr):
        return UNKNOWN_SIZE
    other = expr_of(Symbol.hole(tag)) if without is None else const(without)
    found = settled(ite(ge(trips, 1), restrict(size, ge(trips, 1)), other))
    return found if isinstance(found, Expr) else UNKNOWN_SIZE


def enter_loop(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A head: the iteration number, the condition, and the carried values of every iteration."""
    head = item.step
    assert isinstance(head, LoopHead)
    limit, condition, *starts = (run.operand(o, states) for o in item.operands)
    if limit is BOTTOM or condition is BOTTOM or BOTTOM in starts:
        return (BOTTOM,) * head.width
    backs, invariants = returned(run, head, states, head.back[1:])
    body = BodySymbols(head)
    carried = [invariants.value(body, k, s or TOP, b) for k, (s, b) in enumerate(zip(starts, backs, strict=True))]
    if never_runs(run, item, limit, condition):
        return (BOTTOM, BOTTOM, *carried)
    number = expr_of(body.iteration)
    most = integer_of(limit)
    run.guard(node, le(number + 1, maximum(most, 0)) if isinstance(most, Expr) else TRUE)
    back = run.operand(head.back[0], states)
    return (counter(head, number), going(head, condition, back), *carried)


def never_runs(run: Interpretation, item: Node, limit: Value | None, condition: Value | None) -> bool:
    """No trip is taken in any run."""
    facts = run.facts_at(item.gate)
    initially = condition_of(condition)
    if initially is not None and facts.decide(initially) is NO:
        return True
    most = integer_of(limit)
    return isinstance(most, Expr) and facts.decide(le(most, 0)) is YES


def leave_loop(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """An exit: final carried values, and scan outputs."""
    step = item.step
    assert isinstance(step, LoopExit)
    loop = run.nodes[step.head].step
    assert isinstance(loop, LoopHead)
    body = BodySymbols(loop)
    values = [run.operand(o, states) for o in item.operands]
    limit, condition = values[:2]
    finals, body_condition = values[2 + step.count : 2 + 2 * step.count], values[2 + 2 * step.count]
    scans = values[3 + 3 * step.count :]
    statements: list[Statement] = []
    never = never_runs(run, item, limit, condition)
    after = condition_of(body_condition)
    found_while = None
    if not never and body_condition is not BOTTOM and (after is None or _is_by_data(body, after)):
        first = condition_of(condition)
        operand = item.operands[2 + 2 * step.count]
        found_while = None if first is None else condition_while(run, item, loop, states, operand, first)
        after = after if found_while is None else found_while.relation
    trips = _trips(run, item, body, limit, condition, after, statements)
    facts = run.facts_at(item.gate)
    certain = isinstance(trips, Expr) and facts.decide(ge(trips, 1)) is YES
    possible_failures = [] if facts.decide(le(trips, 1)) is YES else slices_may_differ(body, scans)
    outputs = [body.final(v or TOP, trips) for v in finals]
    inference = Inference(run.program, range(loop.first, loop.last + 1), lambda o: run.operand(o, states))
    for k, scan in enumerate(scans):
        value = body.leave(scan or TOP)
        if never:
            outputs.append(_of_no_trip(step.declared[k]))
            continue
        without = CERTAIN if certain else _without(inference, item.operands[3 + 3 * step.count + k], value)
        if value is BOTTOM or (without is None and not _has_rank(run, item, step, states, k)):
            value = Tensor(value.dtype) if isinstance(value, Tensor) else TOP
        outputs.append(stacked(body, str(step.count + k), value, trips, 0, without))
    if not never:
        is_short = not isinstance(trips, Constant) or any(map(is_vague, outputs))
        found = _trip_by_trip(run, item, step, loop, states, trips) if is_short else None
        if found is None:
            one_sided = OneSided(body, run.facts_at(step.head))
            backs = values[3 + 2 * step.count : 3 + 3 * step.count]
            for k, (start, inside, back) in enumerate(zip(values[2 : 2 + step.count], finals, backs, strict=True)):
                outputs[k] = one_sided.named(k, start, inside, back, outputs[k])
            statements += one_sided.statements
        else:
            trips, outputs = const(found.trips), [*found.finals, *found.scans]
            agree = (Statement(r, _ONE_SIZE, "required") for r in found.agree if r not in (TRUE, UNKNOWN_RELATION))
            statements = [*agree, *found.premises]
            possible_failures = [_ONE_SIZE] if UNKNOWN_RELATION in found.agree else []
    statements += premises(run, body, trips)
    if found_while is not None:
        statements += found_while.premises(body, trips)
    for required, open_ in (single("limit M", limit, DType.INT64), single("condition", condition, DType.BOOL)):
        statements, possible_failures = [*required, *statements], [*open_, *possible_failures]
    if loop.condition is not DType.BOOL and not never:
        possible_failures = [f"the body declares its condition {loop.condition}, and it is BOOL", *possible_failures]
    state = run.record(node, tuple(outputs[: max(1, len(item.outputs))]), statements, possible_failures)
    run.trips[step.head] = run.filled(node, trips)
    return state


def _trip_by_trip(
    run: Interpretation, item: Node, step: LoopExit, loop: LoopHead, states: Sequence[State], trips: Dim
) -> Unrolled | None:
    """The loop trip by trip, if the first is certain and there are few."""
    initially = condition_of(run.operand(item.operands[1], states))
    most = integer_of(run.operand(item.operands[0], states))
    limit = trips.const if isinstance(trips, Expr) and trips.const is not None else None
    if limit is None and isinstance(most, Expr):
        limit = most.const
    starts = tuple(run.operand(o, states) or TOP for o in run.nodes[step.head].operands[2:])
    facts = run.facts_at(item.gate)
    certain = most is None or (isinstance(most, Expr) and facts.decide(ge(most, 1)) is YES)
    if initially is None or facts.decide(initially) is not YES or not certain or BOTTOM in starts:
        return None
    if limit is not None and limit < 1:
        return None
    if limit is None and most is not None:
        return None
    results = item.operands[2 + 2 * step.count :]
    given = loop.back[1:], results[0], results[1 + step.count :]
    return unrolled(run, loop, states, starts, given, limit)


def _without(inference: Inference, operand: Operand, value: Value) -> Without:
    """The sizes of a scan output after no trip."""
    if not isinstance(value, Tensor) or value.shape.is_top:
        return None
    found = inference.of(operand)
    return tuple(size or 0 for size in found) if found is not None and len(found) == len(value.shape) else None


def _has_rank(run: Interpretation, item: Node, step: LoopExit, states: Sequence[State], k: int) -> bool:
    """Scan output k has the rank that the body gives it, after zero trips too."""
    declared = step.ranks[k]
    if declared is not None:
        return declared == rank_of(run.operand(item.operands[3 + 3 * step.count + k], states) or TOP)
    alike = inferred(run.nodes, item.operands[3 + 3 * step.count + k])
    return alike is not None and agree(alike, lambda operand: run.operand(operand, states))


def _trips(
    run: Interpretation,
    item: Node,
    body: BodySymbols,
    limit: Value | None,
    condition: Value | None,
    after: Relation | None,
    statements: list[Statement],
) -> Dim:
    """The number of trips: exact if the conditions determine it, else a symbol between 0 and max(M, 0)."""
    if never_runs(run, item, limit, condition):
        return ZERO_EXPR
    most = integer_of(limit)
    most = maximum(most, 0) if most is not None else None
    initially = condition_of(condition)
    facts = run.facts_at(item.gate)
    found = _exact(body, initially, after, most, facts)
    if isinstance(found, Expr):
        return found
    begins = conjunction(UNKNOWN_RELATION if initially is None else initially, TRUE if most is None else ge(most, 1))
    certain = facts.decide(begins) is YES
    trips = expr_of(Symbol.hole("trips", int(certain)))
    claims = [(implies(begins, ge(trips, 1)), "a trip where M and the condition allow one")]
    if most is not None:
        claims.append((le(trips, most), "at most M trips"))
    if initially is not None:
        claims.append((implies(negation(initially), eq(trips, 0)), "no trip without the condition"))
    statements += [Statement(claim, why, "defined") for claim, why in claims if claim not in (TRUE, UNKNOWN_RELATION)]
    return trips


def _exact(
    body: BodySymbols, initially: Relation | None, after: Relation | None, most: Dim | None, facts: Facts
) -> Dim | None:
    """The number of trips, if both conditions are known for every iteration number."""
    if initially is None or after is None or (most is not None and not isinstance(most, Expr)):
        return None
    if _is_by_data(body, after):
        return None
    certain = facts.decide(initially) is YES
    if not certain and any(s.is_by_data for s in initially.symbols):
        return None
    return trips_by_condition(body.iteration, initially, after, most, certain=certain)


def _is_by_data(body: BodySymbols, relation: Relation) -> bool:
    """Something else than the number of the trip decides on the relation in each trip."""
    return any(s is not body.iteration and (body.has(s) or s.is_by_data) for s in relation.symbols)


_ONE_SIZE: Final = "a scan output must have as many elements in each trip"


def slices_may_differ(body: BodySymbols, slices: Sequence[Value | None]) -> list[str]:
    """The reason why stacking the slices of several trips may fail: one may change its shape from trip to trip."""
    return [] if all(_has_one_shape(body, value) for value in slices) else [_ONE_SIZE]


def _has_one_shape(body: BodySymbols, value: Value | None) -> bool:
    """The value has the same shape in every trip."""
    if not isinstance(value, Tensor) or value.shape is TOP_SHAPE:
        return value is BOTTOM
    variable = value.shape.variable
    if variable is not None and body.has(variable):
        return False
    return all(isinstance(d, Expr) and not body.occur_in(d) for d in value.shape.numbers)


def _of_no_trip(declared: Value) -> Value:
    """A scan output of a loop that makes no trip: runtimes print the declared rank, with sizes of their own."""
    if not isinstance(declared, Tensor) or declared.shape.is_top:
        return Tensor(declared.dtype) if isinstance(declared, Tensor) else TOP
    return Tensor(declared.dtype, shape_of((ZERO_EXPR, *(UNKNOWN_SIZE for _ in declared.shape))))
