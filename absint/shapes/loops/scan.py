"""The meaning of Scan, a loop over slices of its inputs, and of SequenceMap, one over the elements of a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, YES, conjunction, eq, ge
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, shape_of
from absint.lattices.starred import place, without
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.value import BOTTOM, TOP, Cut, SequenceOf, Tensor, Value
from absint.program.lowering_control import origin
from absint.program.nodes import Node
from absint.program.steps import MapExit, MapHead, Operand, ScanExit, ScanHead, ScanParts, ScanSettings
from absint.shapes.branches import ALLOCATED, may_lie
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import CERTAIN, BodySymbols, slices_may_differ, stacked
from absint.shapes.loops.conditions import premises
from absint.shapes.loops.invariants import visited
from absint.shapes.loops.monotone import growth, monotone
from absint.shapes.loops.unrolling import MAX_TRIPS, Trial, named
from absint.shapes.loops.zero_trip_ranks import is_inferred
from absint.shapes.summaries import State
from absint.transfer.semantics import EITHER, ONNX, RUNTIME
from absint.transfer.stated import Statement

_Parts = ScanParts[Value | None]


def enter_scan(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A head: state variables of every iteration, and one slice of each scan input."""
    head = item.step
    assert isinstance(head, ScanHead)
    settings = head.settings
    values = [run.operand(o, states) for o in item.operands]
    if BOTTOM in values:
        return (BOTTOM,) * head.width
    count = settings.states
    backs = [run.operand(o, states) for o in head.back]
    starts = [drop_axis(v, 0) if settings.batched else v or TOP for v in values[:count]]
    body = BodySymbols(head)
    invariants = visited(run.invariants, node, backs, growth(run, states, body))
    carried = [invariants.value(body, k, s, b) for k, (s, b) in enumerate(zip(starts, backs, strict=True))]
    scanned = zip(values[count:], settings.input_axes, strict=True)
    each = (drop_axis(drop_axis(v, 0), 0) if settings.batched else drop_axis(v, axis) for v, axis in scanned)
    return (*carried, *(_named(body, k, value) for k, value in enumerate(each, count)))


def _named(body: BodySymbols, k: int, value: Value) -> Value:
    """A slice; where its rank is unknown, the head names its shape."""
    is_any = isinstance(value, Tensor) and value.shape is TOP_SHAPE
    return Tensor(value.dtype, body.any_shape(k)) if isinstance(value, Tensor) and is_any else value


def drop_axis(value: Value | None, axis: int) -> Value:
    """A slice along an axis."""
    if not isinstance(value, Tensor):
        return TOP
    at = place(value.shape, axis)
    return Tensor(value.dtype) if at is None else Tensor(value.dtype, without(value.shape, [at]))


def axis_size(value: Value | None, axis: int) -> Dim:
    """The size of an axis, unknown if there is no such axis."""
    at = place(value.shape, axis) if isinstance(value, Tensor) else None
    return value.shape.known[at] if isinstance(value, Tensor) and at is not None else UNKNOWN_SIZE


def leave_scan(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """An exit: final states, and stacked outputs."""
    step = item.step
    assert isinstance(step, ScanExit)
    head = run.nodes[step.head].step
    assert isinstance(head, ScanHead)
    body, settings, facts = BodySymbols(head), step.settings, run.facts_at(item.gate)
    operands = step.parts(item.operands)
    parts = step.parts([run.operand(o, states) for o in item.operands])

    # The number of trips is the length that all inputs have; most runtimes need one.
    axes = [1] * settings.scans if settings.batched else settings.input_axes
    lengths = [axis_size(value, axis) for value, axis in zip(parts.scanned, axes, strict=True)]
    trips = next((length for length in lengths if isinstance(length, Expr)), lengths[0])
    run.trips[step.head] = UNKNOWN_SIZE if settings.batched else trips
    has_trip, semantics = facts.decide(ge(trips, 1)) is YES, run.program.semantics
    needs_trip = not settings.batched and (semantics == RUNTIME or (semantics == EITHER and bool(parts.slices)))
    required = [] if settings.batched else [(eq(length, trips), _ONE_LENGTH) for length in lengths]
    required += [(ge(trips, 1), _A_TRIP)] if needs_trip else []
    statements = [Statement(r, why, "required") for r, why in required if r not in (TRUE, UNKNOWN_RELATION)]

    # The claims of the head after the last trip. In the form of opset 8, sequence_lens may end a batch early.
    finals = [body.final(v or TOP, UNKNOWN_SIZE if settings.batched else trips) for v in parts.inside]
    if not settings.batched:
        finals, sides = monotone(run, states, body, parts, finals, trips)
        statements += sides

    # The slices of all trips, as many as the inputs have. No runtime runs an unbatched scan over an empty axis.
    without = CERTAIN if has_trip or not settings.batched else None
    slices = enumerate(zip(parts.slices, settings.output_axes, strict=True), settings.states)
    scans = [stacked(body, str(k), body.leave(v or TOP), trips, axis, without) for k, (v, axis) in slices]
    sources = [origin(run.nodes, operand) for operand in (*operands.backs, *operands.slices)]
    outputs = [*_handed_through(sources, step, parts, (*finals, *scans))]
    if settings.batched:
        outputs = [_batched((*parts.starts, *parts.scanned), v) for v in outputs]
        some = conjunction(ge(trips, 1), *(ge(axis_size(v, 0), 1) for v in parts.scanned))
        if semantics == RUNTIME and facts.decide(some) is not YES:
            # Without a trip, of no batch too, it gives the sizes that the body declares.
            outputs = [Tensor(v.dtype) if isinstance(v, Tensor) else v for v in outputs]

    possible_failures = _possible_failures(step, body, parts, lengths)
    if not settings.batched and not has_trip and not (needs_trip and isinstance(trips, Expr)):
        possible_failures.append(_A_TRIP)
    possible_failures += _runtime_failures(run, item, states, step, parts, sources)
    statements += premises(run, body, trips)
    state = run.record(node, tuple(outputs), statements, possible_failures)
    problem = _problem(settings, parts, statements)
    if problem:
        summary = run.applied[node]
        refused = (*summary.statements, Statement(FALSE, problem, "required"))
        run.applied[node] = summary._replace(rejected=problem, statements=refused)
    return state


def _handed_through(
    sources: Sequence[Operand], step: ScanExit, parts: _Parts, outputs: Sequence[Value]
) -> Iterator[Value]:
    """The outputs without the sizes that onnxruntime takes from elsewhere.

    It gives the output of a value that a body passes through, or gives twice, the declared sizes, or those of the
    initial state.
    """
    states, declared = step.settings.states, step.of_results
    starts = [drop_axis(v, 0) if step.settings.batched else v for v in parts.starts]
    change = any(map(_may_reshape, starts, parts.backs))
    results = zip(sources, declared, (*parts.backs, *parts.slices), outputs, strict=True)
    for source, stated, back, output in results:
        twice = sources.count(source) > 1
        if (source[0] != step.head and not twice) or not isinstance(output, Tensor) or output.shape is TOP_SHAPE:
            yield output
        elif (change and (twice or source[1] < states)) or may_lie(stated, back):
            yield Tensor(output.dtype, output.shape.map(lambda dim: UNKNOWN_SIZE))
        else:
            yield output


def _possible_failures(step: ScanExit, body: BodySymbols, parts: _Parts, lengths: Sequence[Dim]) -> list[str]:
    """The reasons why the node may fail at sizes that meet its requirements."""
    if step.settings.batched:
        return ["the form of opset 8 needs batches of one size, no longer than sequence_lens allow"]
    possible_failures = slices_may_differ(body, parts.slices)
    if not all(isinstance(length, Expr) for length in lengths):
        possible_failures.append(_ONE_LENGTH)
    if any(map(_may_reshape, parts.starts, parts.backs)):
        possible_failures.append("a state variable must keep its shape")
    return possible_failures


def _runtime_failures(
    run: Interpretation, item: Node, states: Sequence[State], step: ScanExit, parts: _Parts, sources: Sequence[Operand]
) -> Iterator[str]:
    """The reasons why onnxruntime may fail, most of them about what the body declares."""
    inside, results, known = states[step.head], (*parts.backs, *parts.slices), partial(run.operand, states=states)
    moves = not step.settings.batched and run.program.semantics != ONNX
    if moves and _moves_empty(run.facts_at(item.gate), step.settings, parts):
        yield "onnxruntime may end the process where it moves an axis of an empty tensor"
    if any(map(may_lie, step.declared, (*inside, *results))):
        yield ALLOCATED
    if any(map(_may_differ_in_rank, step.declared, inside)):
        yield "a body must declare the ranks that its inputs have"
    declared = list(zip(step.of_results, results, sources, strict=True))
    if not all(
        _is_ranked(stated, value) if _states_rank(stated) else is_inferred(run.nodes, source, known)
        for stated, value, source in declared
    ):
        yield "onnxruntime must know the ranks of the body's outputs before it runs"
    stacks = sources[step.settings.states :]
    copied = (t for t, _, o in declared[step.settings.states :] if o[0] == step.head or stacks.count(o) > 1)
    if not all(map(_is_sized, copied)):
        yield "onnxruntime copies a value of the body into an output only if its sizes are declared"


def _moves_empty(facts: Facts, s: ScanSettings, parts: _Parts) -> bool:
    """Some scan axis may be moved to the front or from there, across or before an axis without elements."""
    for value, axis in zip(parts.scanned, s.input_axes, strict=True):
        shape = value.shape if isinstance(value, Tensor) else TOP_SHAPE
        if axis in (0, -1) or -axis == shape.rank:
            continue
        if shape.rank is None or _may_be_empty(facts, shape.dims[axis:][1:]):
            return True
    for value, axis in zip(parts.slices, s.output_axes, strict=True):
        shape = value.shape if isinstance(value, Tensor) else TOP_SHAPE
        rank = shape.rank
        if axis == 0 or (rank is not None and (axis == -1 - rank or (rank > 1 and axis in (-1, rank)))):
            continue
        if rank is None or _may_be_empty(facts, shape.dims):
            return True
    return False


def _may_be_empty(facts: Facts, dims: Sequence[Dim]) -> bool:
    return any(facts.decide(ge(dim, 1)) is not YES for dim in dims)


def _problem(s: ScanSettings, parts: _Parts, statements: Sequence[Statement]) -> str | None:
    """The reason why the node can never run."""
    if any(statement.relation is FALSE for statement in statements):
        return _ONE_LENGTH
    if s.batched:
        return None
    places = [("input", *place, 0) for place in zip(parts.scanned, s.input_axes, strict=True)]
    places += [("output", *place, 1) for place in zip(parts.slices, s.output_axes, strict=True)]
    for what, value, axis, more in places:
        rank = value.shape.rank if isinstance(value, Tensor) else None
        if rank is not None and not -rank - more <= axis < rank + more:
            return f"scan {what} axis {axis} is out of range for rank {rank + more}"
    return None


def _states_rank(declared: Value) -> bool:
    return isinstance(declared, Tensor) and not declared.shape.is_top


def _is_ranked(declared: Value, actual: Value | None) -> bool:
    """The declared rank is right; onnxruntime ignores one that is not."""
    return actual is BOTTOM or (
        isinstance(declared, Tensor) and isinstance(actual, Tensor) and declared.shape.rank == actual.shape.rank
    )


def _is_sized(declared: Value) -> bool:
    return isinstance(declared, Tensor) and not declared.shape.is_top and all(d.is_concrete for d in declared.shape)


def _may_differ_in_rank(declared: Value, actual: Value) -> bool:
    """The body declares a rank of its input that is not known to be right."""
    if not isinstance(declared, Tensor) or not isinstance(actual, Tensor) or declared.shape.is_top:
        return False
    return declared.shape.rank != actual.shape.rank


def _may_reshape(start: Value | None, back: Value | None) -> bool:
    """The body may give back another shape than the scan starts with."""
    if not isinstance(start, Tensor) or not isinstance(back, Tensor):
        return back is not BOTTOM
    if start.shape.form is None or start.shape.form != back.shape.form:
        return True
    return any(eq(a, b) is not TRUE for a, b in zip(start.shape.known, back.shape.known, strict=True))


_ONE_LENGTH: Final = "scan inputs must have the same length"
_A_TRIP: Final = "onnxruntime needs a scan axis that is not empty"


def _batched(inputs: Sequence[Value | None], value: Value) -> Value:
    """The value with the batch axis in front again."""
    if not isinstance(value, Tensor):
        return value
    if value.shape.is_top:
        return Tensor(value.dtype)
    batch = next((axis_size(v, 0) for v in inputs if isinstance(v, Tensor) and v.shape.rank), UNKNOWN_SIZE)
    return Tensor(value.dtype, shape_of((batch, *value.shape.dims)))


# SequenceMap: a body run on each element of a sequence, its results gathered again

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
