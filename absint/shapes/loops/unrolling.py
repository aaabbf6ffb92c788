"""Interpreting a loop trip by trip, if the number of trips is a small constant.

The fixpoint holds for every trip; a value after exactly three of them may be more exact. The body is run on the value
of each trip, in a trial beside the analysis, and only the values after the last trip are kept. No node is duplicated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO, TRUE, UNKNOWN_RELATION, YES, Relation, eq
from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import spliced
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Expr, const
from absint.lattices.value import BOTTOM, TOP, SequenceOf, Tensor, Value
from absint.program.steps import LoopBody, LoopHead, LoopParts, Operand
from absint.shapes.branches import condition_of
from absint.shapes.interpretation import STATES, Budget, Interpretation
from absint.shapes.loops.body import BodyStates, BodySymbols
from absint.shapes.summaries import RuleSummary, State, name_unknowns, own_symbols
from absint.transfer.stated import Statement

# The values that the head of a Loop passes to its body besides carried ones: iteration number and condition.


def counter(head: LoopHead, number: Element) -> Tensor:
    """The iteration number. onnxruntime gives it the rank that the body declares, [1] too."""
    return _single(DType.INT64, number, head.ranks[0] or 0)


def going(head: LoopHead, condition: Value | None, back: Value | None) -> Tensor:
    """The condition inside, which is true: its rank is the declared one, or that of the initial condition; later the
    one that the body gives back.
    """
    rank = head.ranks[1] if head.ranks[1] is not None else rank_of(condition)
    if back is not None and back is not BOTTOM and rank_of(back) != rank:
        rank = None
    if head.condition is not DType.BOOL:
        return Tensor(head.condition, TOP_SHAPE if rank is None or rank > 1 else Shape((1,) * rank))
    return _single(DType.BOOL, TRUE, rank)


def condition_at_runtime(condition: Value) -> Value:
    """The condition that a runtime passes to the body, whatever type inference assumes."""
    return Tensor(DType.BOOL, condition.shape) if isinstance(condition, Tensor) else condition


def rank_of(value: Value | None) -> int | None:
    """The rank of a condition; 0 of one that is left out."""
    if value is None:
        return 0
    return value.shape.rank if isinstance(value, Tensor) else None


def _single(dtype: DType, element: Element, rank: int | None) -> Tensor:
    """One element in a tensor of rank 0 or 1; runtimes differ on other declared ranks."""
    if rank is None or rank > 1:
        return Tensor(dtype, contents=Contents.fill(element))
    return Tensor(dtype, Shape((1,) * rank), Contents.of((1,) * rank, (element,)))


MAX_TRIPS: Final = 16
MAX_STEPS: Final = 4096
"""Most nodes to run in all trips together, those of inner loops included."""


class Trial:
    """The body of a loop, run on states of its head."""

    def __init__(self, run: Interpretation, symbols: BodySymbols, states: Sequence[State]) -> None:
        self.run = run.fork()
        self._budget = self.run.budget = self.run.budget or Budget(MAX_STEPS)
        self._outer = run
        self._symbols = symbols
        self._loop = symbols.body
        self._states = BodyStates(states, self._loop.first, self._loop.last)
        self.premises: list[Statement] = []
        """Numeric premises of all trips so far, over symbols of the outside."""

    def trip(self, head: State) -> bool:
        """One trip from this state of the head. False if it takes too long."""
        loop, states, trial = self._loop, self._states, self.run
        states.clear()
        states[loop.first] = head
        trial.guard(loop.first, TRUE)
        before = trial.applications
        open_loops: list[tuple[int, int]] = []
        node = loop.first + 1
        while node <= loop.last:
            self._budget.left -= 1
            if self._budget.left < 0:
                return False
            states[node] = trial.transfer(node, states) if self._is_begun(node) else self._nothing(node)
            step = trial.nodes[node].step
            if isinstance(step, LoopBody):
                open_loops.append((node, step.last))
            while open_loops and node == open_loops[-1][1]:
                inner = open_loops[-1][0]
                again = trial.transfer(inner, states)
                if STATES.leq(again, states[inner]):
                    open_loops.pop()
                else:
                    states[inner] = again
                    node = inner
                    break
            node += 1
        self._outer.applications += trial.applications - before
        for number in range(loop.first + 1, loop.last + 1):
            summary = trial.applied.get(number)
            if summary is not None and any(s.role == "assumed" for s in summary.statements):
                assumed = (s for s in trial.statements(number) if s.role == "assumed")
                self.premises += [s for s in assumed if not any(map(self._symbols.has, s.relation.symbols))]
        return True

    def _is_begun(self, node: int) -> bool:
        """All that the node reads has a state. What it reads from outside may not, if no result needs the node."""
        return all(producer < 0 or self._states[producer] for producer, _ in self.run.nodes[node].operands)

    def _nothing(self, node: int) -> State:
        item = self.run.nodes[node]
        return (BOTTOM,) * max(1, len(item.outputs), item.step.width if item.step else 0)

    def value(self, operand: Operand) -> Value:
        """A result of the trip, without symbols whose number changes with the trip."""
        return self._symbols.leave(self.run.operand(operand, self._states) or TOP)

    def condition(self, operand: Operand) -> Relation | None:
        """The condition that the trip gives."""
        return condition_of(self.run.operand(operand, self._states))

    def named(self, values: Sequence[Value]) -> State:
        """The values with a symbol of the head for each unknown size: its value in one trip."""
        return named(self._loop.first, values, SymbolKind.ITERATION)


def named(head: int, values: Sequence[Value], kind: SymbolKind = SymbolKind.FRESH) -> State:
    """The values with a symbol of a loop head for each unknown size."""
    summary = name_unknowns(RuleSummary(tuple(values)))
    mapping = own_symbols(head, summary, kind)
    return tuple(value.replace(mapping) for value in summary.outputs) if mapping else summary.outputs


class Unrolled(NamedTuple):
    """The result of interpreting all trips."""

    trips: int
    finals: State
    scans: tuple[Value, ...]
    agree: tuple[Relation, ...]
    """Requirements on the scan outputs of all trips together."""
    premises: tuple[Statement, ...]
    """Numeric premises of the trips."""


def unrolled(
    run: Interpretation,
    loop: LoopHead,
    states: Sequence[State],
    starts: State,
    body: LoopParts[Operand],
    limit: int | None,
) -> Unrolled | None:
    """Interpret the trips of an ONNX Loop from carried values `starts`; None if they are too many, or unknown.

    `body` has the operands of its exit, `limit` is the number of trips that the limit allows.
    """
    trial = Trial(run, BodySymbols(loop), states)
    carried, slices = starts, []
    going = states[loop.first][1]
    for trip in range(MAX_TRIPS + 1):
        if trip == limit:
            break
        if trip == MAX_TRIPS or not trial.trip((counter(loop, const(trip)), going, *trial.named(carried))):
            return None
        carried = tuple(map(trial.value, body.backs))
        slices.append(tuple(map(trial.value, body.slices)))
        if BOTTOM in carried or BOTTOM in slices[-1]:
            return None
        if trip + 1 == limit:
            continue
        condition = trial.condition(body.goes_on)
        goes_on = trial.run.facts_at(loop.first).decide(condition) if condition is not None else None
        if goes_on is NO:
            break
        if goes_on is not YES:
            return None
    agree: list[Relation] = []
    scans = tuple(_stacked([values[k] for values in slices], agree) for k in range(len(body.slices)))
    return Unrolled(len(slices), carried, scans, tuple(agree), tuple(dict.fromkeys(trial.premises)))


def _stacked(values: Sequence[Value], agree: list[Relation]) -> Value:
    """The values of all trips along a new first axis.

    onnxruntime takes the shape of the first trip, and demands as many elements of the others.
    """
    tensors = [value for value in values if isinstance(value, Tensor)]
    if not tensors or len(tensors) < len(values):
        agree.append(UNKNOWN_RELATION)
        return TOP
    first = tensors[0]
    agree.extend(_one_size(first, other) for other in tensors[1:])
    if first.shape.is_top:
        return Tensor(first.dtype, spliced((const(len(values)),), first.shape, ()))
    return Tensor(first.dtype, shape_of((const(len(values)), *first.shape)), _joined(tensors))


def _one_size(a: Tensor, b: Tensor) -> Relation:
    """They have as many elements; undecided if a shape is unknown."""
    if a.shape.is_top or b.shape.is_top:
        one = a.shape is b.shape and a.shape.variable is not None and not any(d.is_unknown for d in a.shape.known)
        return TRUE if one else UNKNOWN_RELATION
    return eq(a.shape.size, b.shape.size)


def _joined(tensors: Sequence[Tensor]) -> Contents | None:
    elements: list[Element] = []
    shape: tuple[int, ...] | None = None
    for tensor in tensors:
        contents = tensor.contents
        if contents is None or contents.is_fill or (shape is not None and contents.shape != shape):
            return None
        shape = contents.shape
        elements += contents.elements
    return None if shape is None else Contents.of((len(tensors), *shape), elements)


def is_vague(value: Value) -> bool:
    """Interpreting the trips may make it more exact."""
    if isinstance(value, SequenceOf):
        return True
    if not isinstance(value, Tensor) or value.shape.is_top or not all(isinstance(d, Expr) for d in value.shape):
        return True
    if not value.dtype.is_integer and value.dtype is not DType.BOOL:
        return False
    if value.contents is None:
        return value.shape.concrete is not None
    return not value.contents.is_fill and not all(isinstance(e, (Expr, Relation)) for e in value.contents.elements)
