"""Loop heads and exits: what holds in every trip, how many there are, and what is left after the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from absint.lattices.contents import OPAQUE, Contents, Element, element_symbols
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, conjunction, eq, ge, implies, le, negation
from absint.lattices.logic.truth import NO, YES
from absint.lattices.ramp import NO_RAMPS
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
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
from absint.lattices.terms.normal import maximum
from absint.lattices.value import BOTTOM, TOP, AnyTensor, SparseTensor, Tensor, Value, map_tensors
from absint.program.graph import Operand
from absint.shapes.branches import Control, condition_of, integer_of, single
from absint.shapes.loops.inferred_ranks import Alike, agree, inferred
from absint.shapes.loops.invariants import Carried
from absint.shapes.loops.premises import premises
from absint.shapes.loops.trip_counts import trips_by_condition
from absint.shapes.loops.unrolling import Unrolled, is_vague, unrolled
from absint.transfer.op import HOLE, Statement
from absint.transfer.ordinary import LOOP_TAG, PROBE_TAG

if TYPE_CHECKING:
    from absint.program.graph import Node
    from absint.shapes.analysis import ShapeAnalysis
    from absint.shapes.summaries import State


class LoopBody(Control):
    """A loop head: the state at the start of iteration i, for every i up to and including the last.

    `back` are the operands of the back edge; `first` and `last` bound the ids of the head and its body.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.back: list[Operand] = []
        self.first = -1
        self.last = -1

    def backs(self, run: ShapeAnalysis, states: Sequence[State], operands: Sequence[Operand]) -> list[Value | None]:
        """What the body gives back; claims about it begin afresh with the first visit."""
        values = [run.operand(o, states) for o in operands]
        if all(v is BOTTOM for v in values):
            run.carried[self.first] = Carried()
        return values

    @property
    def iteration(self) -> Symbol:
        """The number of the trip, from 0: below the number of trips."""
        from absint.shapes.summaries import born

        return born(self.first, f"{LOOP_TAG}trip", 0, MAX_DIM - 1)

    def symbol(self, place: tuple[object, ...], bounds: tuple[int | None, int | None], probe: bool = False) -> Expr:
        """The head's symbol for a carried number: its value in this iteration.

        That of a `probe` serves to guess what a trip does. It may be taken for an ordinary size: nothing rests on it.
        """
        from absint.shapes.summaries import born

        return expr_of(born(self.first, (PROBE_TAG if probe else LOOP_TAG) + "/".join(map(str, place)), *bounds))

    def is_inside(self, symbol: Symbol) -> bool:
        """The symbol was invented in the body (or by the head): it means another number each trip."""
        from absint.shapes.summaries import birthplace

        place = birthplace(symbol)
        return place is not None and self.first <= place <= self.last

    def mentions(self, dim: Expr) -> bool:
        return any(map(self.is_inside, dim.symbols))

    def outside(self, dim: Dim) -> Dim:
        """The dim, or unknown if it mentions a symbol of the body."""
        return Unknown(dim.bounds) if isinstance(dim, Expr) and self.mentions(dim) else dim

    def varies(self, value: Value) -> bool:
        """The value mentions a symbol of the body."""
        return self.leave(value) is not value

    def leave(self, value: Value) -> Value:
        """What of a body value still has a meaning after the loop."""
        return map_tensors(value, self._leave_tensor, self.outside)

    def _leave_tensor(self, value: AnyTensor) -> AnyTensor:
        shape = value.shape.map(self.outside)
        if isinstance(value, SparseTensor):
            return SparseTensor(value.dtype, shape)
        contents = value.contents and value.contents.map(self._leave_element)
        numbers = (number for ramp in value.ramps for number in (ramp.base, *ramp.steps))
        ramps = NO_RAMPS if any(map(self.mentions, numbers)) else value.ramps
        return Tensor(value.dtype, shape, contents, ramps)

    def _leave_element(self, element: Element) -> Element:
        if any(map(self.is_inside, element_symbols(element))):
            return Unknown(element.bounds) if isinstance(element, Dim) else OPAQUE
        return element

    def final(self, value: Value, trips: Dim) -> Value:
        """A carried value after the last trip: the head's claim at i = trips."""
        if isinstance(trips, Expr):
            value = value.replace({self.iteration: trips})
        return self.leave(value)


def stacked(
    loop: LoopBody, tag: str, value: Value, trips: Dim, certain: bool, axis: int, out: list[Statement]
) -> Value:
    """A scan output: the body's value of each trip along a new axis.

    Its inner dims are the body's only where a trip is certain: after zero trips runtimes give whatever they like.
    """
    if not isinstance(value, Tensor):
        return TOP
    if value.shape.is_top:
        return Tensor(value.dtype)
    dims: list[Dim] = []
    for at, d in enumerate(value.shape):
        inner = loop.outside(d)
        if not certain and isinstance(inner, Expr) and isinstance(trips, Expr):
            named = expr_of(Symbol(f"{HOLE}{tag}.inner{at}", 0, MAX_DIM))
            relation = implies(ge(trips, 1), eq(named, inner))
            if relation is not TRUE:
                out.append(Statement(relation, "the body's size, if there is a trip", "defined"))
            inner = named
        elif not certain:
            inner = UNKNOWN_SIZE
        dims.append(inner)
    position = axis + len(dims) + 1 if axis < 0 else axis
    if not 0 <= position <= len(dims):
        return Tensor(value.dtype)
    return Tensor(value.dtype, shape_of((*dims[:position], trips, *dims[position:])))


class LoopHead(LoopBody):
    """Head of an ONNX Loop: outputs the iteration number, the condition, and the carried values.

    `ranks` are those that the body declares of its inputs. `condition` is the element type of its condition: where the
    loop has none, inference takes the declared one and a runtime hands a BOOL over.
    """

    operator = "Loop"

    def __init__(self, count: int, ranks: tuple[int | None, ...], condition: DType = DType.BOOL) -> None:
        super().__init__(count + 2)
        self.count = count
        self.ranks = ranks
        self.condition = condition

    def handed(self, condition: Value) -> Value:
        """The condition that a runtime passes to the body, whatever type inference assumes."""
        return Tensor(DType.BOOL, condition.shape) if isinstance(condition, Tensor) else condition

    def counter(self, number: Element) -> Tensor:
        """The iteration number. onnxruntime gives it the rank that the body declares, [1] too."""
        return _single(DType.INT64, number, self.ranks[0] or 0)

    def going(self, condition: Value | None, back: Value | None) -> Tensor:
        """The condition inside, which is true: of the rank that the body declares, or of what it is at first; later of
        the rank that the body gives back."""
        rank = self.ranks[1] if self.ranks[1] is not None else _rank_of(condition)
        if back is not None and back is not BOTTOM and _rank_of(back) != rank:
            rank = None
        if self.condition is not DType.BOOL:
            return Tensor(self.condition, TOP_SHAPE if rank is None or rank > 1 else Shape((1,) * rank))
        return _single(DType.BOOL, TRUE, rank)

    def transfer(self, run: ShapeAnalysis, node: int, item: Node, states: Sequence[State]) -> State:
        self.first = node
        limit, condition, *starts = (run.operand(o, states) for o in item.operands)
        if limit is BOTTOM or condition is BOTTOM or BOTTOM in starts:
            return (BOTTOM,) * self.width
        backs = self.backs(run, states, self.back[1:])
        claims = run.carried.setdefault(node, Carried())
        carried = [claims.value(self, k, s or TOP, b) for k, (s, b) in enumerate(zip(starts, backs, strict=True))]
        if never_runs(run, item, limit, condition):
            return (BOTTOM, BOTTOM, *carried)
        number = expr_of(self.iteration)
        most = integer_of(limit)
        run.guard(node, le(number + 1, maximum(most, 0)) if isinstance(most, Expr) else TRUE)
        going = self.going(condition, run.operand(self.back[0], states))
        return (self.counter(number), going, *carried)


def _single(dtype: DType, element: Element, rank: int | None) -> Tensor:
    """One element in a tensor of rank 0 or 1; other ranks that are declared come out in several ways."""
    if rank is None or rank > 1:
        return Tensor(dtype, contents=Contents.fill(element))
    return Tensor(dtype, Shape((1,) * rank), Contents.of((1,) * rank, (element,)))


def _rank_of(value: Value | None) -> int | None:
    """The rank of a condition; 0 of one that is left out."""
    if value is None:
        return 0
    return value.shape.rank if isinstance(value, Tensor) else None


def never_runs(run: ShapeAnalysis, item: Node, limit: Value | None, condition: Value | None) -> bool:
    """No trip is taken in any run."""
    facts = run.facts_at(item.gate)
    initially = condition_of(condition)
    if initially is not None and facts.decide(initially) is NO:
        return True
    most = integer_of(limit)
    return isinstance(most, Expr) and facts.decide(le(most, 0)) is YES


@dataclass
class LoopExit(Control):
    """After an ONNX Loop: final carried values and scan outputs. `ranks` are those that the body declares of these."""

    head: int
    count: int
    ranks: tuple[int | None, ...]
    declared: tuple[Value, ...]
    """The types that the body declares of its scan outputs."""
    alike: dict[int, tuple[Alike, ...] | None] = field(default_factory=dict)
    """For scan outputs without a declared rank: the values whose ranks must agree for it to be inferred."""
    operator: str = "Loop"
    width: int = 1

    def transfer(self, run: ShapeAnalysis, node: int, item: Node, states: Sequence[State]) -> State:
        loop = run.nodes[self.head].control
        assert isinstance(loop, LoopHead)
        values = [run.operand(o, states) for o in item.operands]
        limit, condition = values[:2]
        finals, body_condition = values[2 + self.count : 2 + 2 * self.count], values[2 + 2 * self.count]
        scans = values[3 + 3 * self.count :]
        statements: list[Statement] = []
        never = never_runs(run, item, limit, condition)
        trips = self._trips(run, item, loop, limit, condition, body_condition, statements)
        facts = run.facts_at(item.gate)
        certain = isinstance(trips, Expr) and facts.decide(ge(trips, 1)) is YES
        doubts = [] if facts.decide(le(trips, 1)) is YES else slices_may_differ(loop, scans)
        outputs = [loop.final(v or TOP, trips) for v in finals]
        for k, scan in enumerate(scans):
            value = loop.leave(scan or TOP)
            if never:
                outputs.append(_of_no_trip(self.declared[k]))
                continue
            if value is BOTTOM or not (certain or self._has_rank(run, item, states, k)):
                value = Tensor(value.dtype) if isinstance(value, Tensor) else TOP
            outputs.append(stacked(loop, str(self.count + k), value, trips, certain, 0, statements))
        if not never and (not isinstance(trips, Constant) or any(map(is_vague, outputs))):
            found = self._trip_by_trip(run, item, loop, states, trips)
            if found is not None:
                trips, outputs = const(found.trips), [*found.finals, *found.scans]
                agree = (Statement(r, _ONE_SIZE, "required") for r in found.agree if r not in (TRUE, UNKNOWN_RELATION))
                statements = [*agree, *found.premises]
                doubts = [_ONE_SIZE] if UNKNOWN_RELATION in found.agree else []
        statements += premises(run, loop, trips)
        for required, open_ in (single("limit M", limit, DType.INT64), single("condition", condition, DType.BOOL)):
            statements, doubts = [*required, *statements], [*open_, *doubts]
        if loop.condition is not DType.BOOL and not never:
            doubts = [f"the body declares its condition {loop.condition}, and it is BOOL", *doubts]
        state = run.record(node, tuple(outputs[: max(1, len(item.outputs))]), statements, doubts)
        run.trips[self.head] = run.filled(node, trips)
        return state

    def _trip_by_trip(
        self, run: ShapeAnalysis, item: Node, loop: LoopHead, states: Sequence[State], trips: Dim
    ) -> Unrolled | None:
        """The loop trip by trip, if the first is certain and there are few."""
        initially = condition_of(run.operand(item.operands[1], states))
        most = integer_of(run.operand(item.operands[0], states))
        limit = trips.const if isinstance(trips, Expr) and trips.const is not None else None
        if limit is None and isinstance(most, Expr):
            limit = most.const
        starts = tuple(run.operand(o, states) or TOP for o in run.nodes[self.head].operands[2:])
        facts = run.facts_at(item.gate)
        certain = most is None or (isinstance(most, Expr) and facts.decide(ge(most, 1)) is YES)
        if initially is None or facts.decide(initially) is not YES or not certain or BOTTOM in starts:
            return None
        if limit is not None and limit < 1:
            return None
        if limit is None and most is not None:
            return None
        results = item.operands[2 + 2 * self.count :]
        body = loop.back[1:], results[0], results[1 + self.count :]
        return unrolled(run, loop, states, starts, body, limit)

    def _has_rank(self, run: ShapeAnalysis, item: Node, states: Sequence[State], k: int) -> bool:
        """After zero trips too, scan output k has the rank that the body gives it."""
        declared = self.ranks[k]
        if declared is not None:
            return declared == _rank_of(run.operand(item.operands[3 + 3 * self.count + k], states) or TOP)
        if k not in self.alike:
            self.alike[k] = inferred(run.nodes, item.operands[3 + 3 * self.count + k])
        alike = self.alike[k]
        return alike is not None and agree(alike, lambda operand: run.operand(operand, states))

    def _trips(
        self,
        run: ShapeAnalysis,
        item: Node,
        loop: LoopHead,
        limit: Value | None,
        condition: Value | None,
        body_condition: Value | None,
        statements: list[Statement],
    ) -> Dim:
        """The number of trips: exact where the conditions tell, else a symbol between 0 and max(M, 0)."""
        if never_runs(run, item, limit, condition):
            return ZERO_EXPR
        most = integer_of(limit)
        most = maximum(most, 0) if most is not None else None
        initially = condition_of(condition)
        facts = run.facts_at(item.gate)
        found = self._exact(loop, initially, condition_of(body_condition), most, facts)
        if isinstance(found, Expr):
            return found
        begins = conjunction(
            UNKNOWN_RELATION if initially is None else initially, TRUE if most is None else ge(most, 1)
        )
        certain = facts.decide(begins) is YES
        trips = expr_of(Symbol(f"{HOLE}trips", int(certain), MAX_DIM))
        claims = [(implies(begins, ge(trips, 1)), "a trip where M and the condition allow one")]
        if most is not None:
            claims.append((le(trips, most), "at most M trips"))
        if initially is not None:
            claims.append((implies(negation(initially), eq(trips, 0)), "no trip without the condition"))
        statements += [
            Statement(claim, why, "defined") for claim, why in claims if claim not in (TRUE, UNKNOWN_RELATION)
        ]
        return trips

    def _exact(
        self, loop: LoopHead, initially: Relation | None, after: Relation | None, most: Dim | None, facts: Facts
    ) -> Dim | None:
        """The number of trips, if both conditions are known for every iteration number."""
        if initially is None or after is None or (most is not None and not isinstance(most, Expr)):
            return None
        if any(s is not loop.iteration and (loop.is_inside(s) or _by_data(s)) for s in after.symbols):
            return None
        certain = facts.decide(initially) is YES
        if not certain and any(map(_by_data, initially.symbols)):
            return None
        return trips_by_condition(loop.iteration, initially, after, most, certain=certain)


_ONE_SIZE: Final = "a scan output has as many elements in each trip"


def slices_may_differ(loop: LoopBody, slices: Sequence[Value | None]) -> list[str]:
    """Why stacking the slices of several trips may fail: one of them is not known to have one shape in every trip."""
    return [] if all(_has_one_shape(loop, value) for value in slices) else [_ONE_SIZE]


def _has_one_shape(loop: LoopBody, value: Value | None) -> bool:
    """The value has the same shape in every trip."""
    if not isinstance(value, Tensor) or value.shape.is_top:
        return value is BOTTOM
    return all(isinstance(d, Expr) and not loop.mentions(d) for d in value.shape)


def _by_data(symbol: Symbol) -> bool:
    """A truth that the data decide: it is no part of a size."""
    return symbol.name.startswith("%") and symbol.bounds == (0, 1)


def _of_no_trip(declared: Value) -> Value:
    """A scan output of a loop that makes no trip: runtimes print the declared rank, with sizes of their own."""
    if not isinstance(declared, Tensor) or declared.shape.is_top:
        return Tensor(declared.dtype) if isinstance(declared, Tensor) else TOP
    return Tensor(declared.dtype, shape_of((ZERO_EXPR, *(UNKNOWN_SIZE for _ in declared.shape))))


__all__ = ["Carried", "LoopBody", "LoopExit", "LoopHead", "never_runs", "slices_may_differ", "stacked"]
