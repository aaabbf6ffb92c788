"""The meaning of SequenceMap: a body run on each element of a sequence, its results gathered again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, ge
from absint.lattices.shape import BOTTOM_SHAPE
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.value import BOTTOM, TOP, Cut, SequenceOf, Tensor, Value
from absint.program.nodes import Node
from absint.program.steps import MapExit, MapHead
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import BodySymbols
from absint.shapes.loops.conditions import premises
from absint.shapes.loops.unrolling import MAX_TRIPS, Trial, named
from absint.shapes.summaries import State
from absint.transfer.stated import Statement

_LENGTHS = "no sequence must be shorter than the first"


def enter_map(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A head: one element of each sequence, and tensors as they are."""
    head = item.step
    assert isinstance(head, MapHead)
    values = [run.operand(o, states) for o in item.operands]
    length = length_of(values)
    if BOTTOM in values or length is ZERO_EXPR:
        return (BOTTOM,) * head.width
    run.guard(node, ge(length, 1) if isinstance(length, Expr) else TRUE)
    return named(node, [v.element if isinstance(v, SequenceOf) else v or TOP for v in values])


def length_of(values: Sequence[Value | None]) -> Dim:
    """The length of the first operand, which is the number of runs of the body."""
    first = values[0] if values else None
    return first.length if isinstance(first, SequenceOf) else UNKNOWN_SIZE


def leave_map(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """An exit: a sequence for each result of the body."""
    step = item.step
    assert isinstance(step, MapExit)
    loop = run.nodes[step.head].step
    assert isinstance(loop, MapHead)
    body = BodySymbols(loop)
    values = [run.operand(o, states) for o in item.operands]
    inputs, results = values[: step.count], values[step.count :]
    length = length_of(inputs)
    statements: list[Statement] = []
    for other in inputs[1:]:
        relation = ge(other.length, length) if isinstance(other, SequenceOf) else TRUE
        if relation not in (TRUE, UNKNOWN_RELATION):
            statements.append(Statement(relation, _LENGTHS, "required"))
    run.trips[step.head] = length
    statements += premises(run, body, length)
    each = _each(run, item, body, states, inputs, statements)
    outputs: list[Value] = []
    for k, result in enumerate(results):
        declared = step.declared[k]
        empty = Tensor(declared.dtype if isinstance(declared, Tensor) else DType.UNDEFINED, BOTTOM_SHAPE)
        if each is not None:
            outputs.append(SequenceOf.of((trip[k] for trip in each), empty))
        else:
            element = empty if result is BOTTOM else body.leave(result or TOP)
            outputs.append(SequenceOf(element, length, None, _cut(inputs[0], states[step.head][0], result)))
    state = run.record(node, tuple(outputs), statements)
    if any(s.relation is FALSE for s in statements):
        run.applied[node] = run.applied[node]._replace(rejected=_LENGTHS)
    return state


def _cut(first: Value | None, element: Value, result: Value | None) -> Cut | None:
    """The results are parts as the elements of the first sequence are: each has the size of its own along an axis."""
    cut = first.cut if isinstance(first, SequenceOf) else None
    if cut is None or not isinstance(element, Tensor) or not isinstance(result, Tensor):
        return None
    size = element.shape[cut.axis] if element.shape.rank is not None else UNKNOWN_SIZE
    axes = [] if result.shape.rank is None else [axis for axis, dim in enumerate(result.shape) if dim is size]
    if not isinstance(size, Expr) or not axes:
        return None
    return cut._replace(axis=cut.axis if cut.axis in axes else axes[0])


def _each(
    run: Interpretation,
    item: Node,
    symbols: BodySymbols,
    states: Sequence[State],
    inputs: Sequence[Value | None],
    statements: list[Statement],
) -> list[State] | None:
    """The results for each element of a short sequence; None if it is not short, or its elements do not differ."""
    sequences = [v for v in inputs if isinstance(v, SequenceOf)]
    first = inputs[0] if inputs else None
    count = len(first.each or ()) if isinstance(first, SequenceOf) else 0
    if not 0 < count <= MAX_TRIPS or all(v.items is None for v in sequences):
        return None
    if any(len(v.each or ()) < count for v in sequences):
        return None
    trial = Trial(run, symbols, states)
    trips = []
    for trip in range(count):
        if not trial.trip(trial.named(list(_elements(inputs, trip)))):
            return None
        trips.append(tuple(trial.value(o) for o in item.operands[len(inputs) :]))
    statements += trial.premises
    return None if any(BOTTOM in results for results in trips) else trips


def _elements(inputs: Sequence[Value | None], trip: int) -> Iterator[Value]:
    for value in inputs:
        each = value.each if isinstance(value, SequenceOf) else None
        yield each[trip] if each else value or TOP
