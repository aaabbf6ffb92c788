"""Loop heads and exits: the fixpoint of what a loop carries.

A loop head keeps, for each carried dim and element, a claim that gets weaker in at most three steps: the initial
term; `d0 + i*c` for iteration number i, found by running the body once on a fresh symbol and proved by running it on
the claim itself (an induction); a symbol for "its value in this iteration". So a head is stable after finitely many
visits without any widening by the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from absint.graph import Operand
from absint.plain_rank import is_plain
from lattices.contents import OPAQUE, Contents, Element, element_symbols
from lattices.dtype import DTYPES, INTEGER_RANGES, DType
from lattices.expr import (
    MAX_DIM,
    UNKNOWN_DIM,
    UNKNOWN_SIZE,
    ZERO_EXPR,
    Dim,
    Expr,
    Symbol,
    expr_of,
    mul,
    sub,
    substitute,
)
from lattices.normal import maximum
from lattices.relation import (
    OPEN,
    TRUE,
    conjunction,
    eq,
    ge,
    implies,
    ite,
    le,
    negation,
)
from lattices.shape import Shape, shape_of
from lattices.tensor import BOTTOM, TOP, VALUES, Map, Optional, SparseTensor, Tensor, Value
from lattices.tensor import Sequence as SequenceValue
from lattices.truth import NO, YES
from transfer.op import HOLE, Statement

if TYPE_CHECKING:
    from absint.graph import Node
    from absint.shapes import ShapeAnalysis, State

from absint.control import Control, condition_of, integer_of


@dataclass
class _Claim:
    """What a head says of one carried dim or element in iteration i."""

    start: Dim
    step: Dim | None = None
    kind: str = "start"
    """`start`: start; `probe`, `symbol`: the head's symbol; `linear`: start + i*step."""


@dataclass
class Carried:
    """The carried values of one loop."""

    claims: dict[tuple[object, ...], _Claim] = field(default_factory=dict)
    lost: set[tuple[object, ...]] = field(default_factory=set)
    joined: dict[int, Value] = field(default_factory=dict)

    def value(self, loop: LoopBody, k: int, start: Value, back: Value | None) -> Value:
        """What carried value k is at the head: its start joined with what the body gives back."""
        if back is None or back is BOTTOM or start is BOTTOM:
            return start
        if isinstance(start, Tensor) and isinstance(back, Tensor):
            return self._tensor(loop, k, start, back)
        if isinstance(start, SequenceValue) and isinstance(back, SequenceValue):
            element = self._widened(loop, k, start.element, back.element)
            return SequenceValue(element, self._number(loop, (k, "length"), start.length, back.length, (0, MAX_DIM)))
        return self._widened(loop, k, start, back)

    def _widened(self, loop: LoopBody, k: int, start: Value, back: Value) -> Value:
        """For what is not a tensor: no symbol of the body, since what was carried stems from several trips."""
        old = self.joined.get(k, start)
        self.joined[k] = VALUES.widen(old, VALUES.join(start, loop.leave(back)))
        return self.joined[k]

    def _tensor(self, loop: LoopBody, k: int, start: Tensor, back: Tensor) -> Tensor:
        dtype = DTYPES.join(start.dtype, back.dtype)
        if start.shape.is_top or back.shape.is_top or len(start.shape) != len(back.shape):
            self.lost.add((k, "shape"))
        if (k, "shape") in self.lost:
            return Tensor(dtype)
        pairs = enumerate(zip(start.shape, back.shape, strict=True))
        dims = [self._number(loop, (k, "dim", axis), a, b, (0, MAX_DIM)) for axis, (a, b) in pairs]
        return Tensor(dtype, shape_of(tuple(dims)), self._contents(loop, k, start, back))

    def _contents(self, loop: LoopBody, k: int, start: Tensor, back: Tensor) -> Contents | None:
        x, y = start.contents, back.contents
        if x is None or y is None or x.shape != y.shape or (x.is_fill and x is not y):
            self.lost.add((k, "contents"))
        if (k, "contents") in self.lost or x is None or y is None:
            return None
        if x.is_fill:
            return x
        elements: list[Element] = []
        for at, (a, b) in enumerate(zip(x.elements, y.elements, strict=True)):
            place = (k, "element", at)
            if isinstance(a, Dim) and isinstance(b, Dim) and start.dtype in INTEGER_RANGES:
                elements.append(self._number(loop, place, a, b, INTEGER_RANGES[start.dtype]))
                continue
            if a != b:
                self.lost.add(place)
            elements.append(OPAQUE if place in self.lost else a)
        return Contents.of(x.shape or (), elements)

    def _number(
        self, loop: LoopBody, place: tuple[object, ...], start: Dim, back: Dim, bounds: tuple[int | None, int | None]
    ) -> Dim:
        claim = self.claims.setdefault(place, _Claim(start))
        if claim.start is not start:
            # An outer loop has come round with another start: keep the form; the next visit proves it again.
            claim.start = start
            return self._form(loop, place, claim, bounds)
        symbol = loop.symbol(place, bounds)
        if claim.kind == "start" and back is not start:
            claim.kind = "probe"
        elif claim.kind == "probe":
            step = sub(back, symbol)
            exact = isinstance(step, Expr) and isinstance(start, Expr) and not loop.mentions(step)
            claim.kind, claim.step = ("linear", step) if exact else ("symbol", None)
        elif claim.kind == "linear":
            form = self._form(loop, place, claim, bounds)
            after = substitute(form, {loop.iteration: expr_of(loop.iteration) + 1}) if isinstance(form, Expr) else form
            if back is not after:
                claim.kind = "symbol"
        return self._form(loop, place, claim, bounds)

    def _form(
        self, loop: LoopBody, place: tuple[object, ...], claim: _Claim, bounds: tuple[int | None, int | None]
    ) -> Dim:
        if claim.kind == "start":
            return claim.start
        if claim.kind == "linear" and claim.step is not None:
            return claim.start + mul(expr_of(loop.iteration), claim.step)
        return loop.symbol(place, bounds)


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
        from absint.shapes import born

        return born(self.first, "i", 0, MAX_DIM)

    def symbol(self, place: tuple[object, ...], bounds: tuple[int | None, int | None]) -> Expr:
        """The head's symbol for a carried number: its value in this iteration."""
        from absint.shapes import born

        return expr_of(born(self.first, "/".join(map(str, place)), *bounds))

    def is_inside(self, symbol: Symbol) -> bool:
        """The symbol was invented in the body (or by the head): it means another number each trip."""
        from absint.shapes import birthplace

        place = birthplace(symbol)
        return place is not None and self.first <= place <= self.last

    def mentions(self, dim: Expr) -> bool:
        return any(map(self.is_inside, dim.symbols))

    def outside(self, dim: Dim) -> Dim:
        """The dim, or unknown if it mentions a symbol of the body."""
        return UNKNOWN_SIZE if isinstance(dim, Expr) and self.mentions(dim) else dim

    def leave(self, value: Value) -> Value:
        """What of a body value still has a meaning after the loop."""
        if isinstance(value, Tensor):
            contents = value.contents and value.contents.map(self._leave_element)
            return Tensor(value.dtype, value.shape.map(self.outside), contents)
        if isinstance(value, SparseTensor):
            return SparseTensor(value.dtype, value.shape.map(self.outside))
        if isinstance(value, SequenceValue):
            return SequenceValue(self.leave(value.element), self.outside(value.length))
        if isinstance(value, Optional):
            return Optional(self.leave(value.element), value.present)
        if isinstance(value, Map):
            return Map(value.key, self.leave(value.element))
        return value

    def _leave_element(self, element: Element) -> Element:
        if any(map(self.is_inside, element_symbols(element))):
            return UNKNOWN_DIM if isinstance(element, Dim) else OPAQUE
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

    `ranked`: the body declares the rank of that input.
    """

    operator = "Loop"

    def __init__(self, count: int, ranked: tuple[bool, ...]) -> None:
        super().__init__(count + 2)
        self.count = count
        self.ranked = (True, True, *ranked)

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
        iteration = Tensor(DType.INT64, Shape(()), Contents.scalar(number))
        going = Tensor(DType.BOOL, Shape(()), Contents.scalar(TRUE))
        return (iteration, going, *carried)


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
    """After an ONNX Loop: final carried values and scan outputs. `ranked`: the body declares the output's rank."""

    head: int
    count: int
    ranked: tuple[bool, ...]
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
        trips = self._trips(run, item, loop, limit, condition, body_condition, statements)
        facts = run.facts_at(item.gate)
        certain = isinstance(trips, Expr) and facts.decide(ge(trips, 1)) is YES
        outputs = [loop.final(v or TOP, trips) for v in finals]
        for k, scan in enumerate(scans):
            value = loop.leave(scan or TOP)
            if value is BOTTOM or not (certain or self._has_rank(run, item, k)):
                value = Tensor(value.dtype) if isinstance(value, Tensor) else TOP
            outputs.append(stacked(loop, str(self.count + k), value, trips, certain, 0, statements))
        state = run.record(node, tuple(outputs[: max(1, len(item.outputs))]), statements)
        run.trips[self.head] = run.filled(node, trips)
        return state

    def _has_rank(self, run: ShapeAnalysis, item: Node, k: int) -> bool:
        """After zero trips too, scan output k has the rank that the body gives it."""
        if not self.ranked[k]:
            known = is_plain(run.nodes, item.operands[3 + 3 * self.count + k])
            self.ranked = (*self.ranked[:k], known, *self.ranked[k + 1 :])
        return self.ranked[k]

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
        """The number of trips: exact where both conditions are true, else a symbol between 0 and max(M, 0)."""
        if never_runs(run, item, limit, condition):
            return ZERO_EXPR
        most = integer_of(limit)
        most = maximum(most, 0) if most is not None else None
        initially = condition_of(condition)
        if condition_of(body_condition) is TRUE and isinstance(most, Expr) and initially is not None:
            if run.facts_at(item.gate).decide(initially) is YES:
                return most
            if not any(s.name.startswith("%") for s in initially.symbols):
                return ite(initially, most, 0)
        begins = conjunction(OPEN if initially is None else initially, TRUE if most is None else ge(most, 1))
        certain = run.facts_at(item.gate).decide(begins) is YES
        trips = expr_of(Symbol(f"{HOLE}trips", int(certain), MAX_DIM))
        claims = [(implies(begins, ge(trips, 1)), "a trip where M and the condition allow one")]
        if most is not None:
            claims.append((le(trips, most), "at most M trips"))
        if initially is not None:
            claims.append((implies(negation(initially), eq(trips, 0)), "no trip without the condition"))
        statements += [Statement(claim, why, "defined") for claim, why in claims if claim not in (TRUE, OPEN)]
        return trips
