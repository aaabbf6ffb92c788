"""The meaning of Scan: a loop over the slices of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, conjunction, eq, ge
from absint.lattices.logic.truth import YES
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.starred import place, without
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.lowering_control import origin
from absint.program.nodes import Node
from absint.program.steps import Operand, ScanExit, ScanHead, ScanSettings
from absint.shapes.branches import ALLOCATED, may_lie
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops.body import BodySymbols
from absint.shapes.loops.conditions import premises
from absint.shapes.loops.inferred_ranks import agree, inferred
from absint.shapes.loops.loop import CERTAIN, OneSided, returned, slices_may_differ, stacked
from absint.shapes.summaries import State
from absint.transfer.semantics import EITHER, ONNX, RUNTIME
from absint.transfer.stated import Statement


def enter_scan(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A head: state variables of every iteration, and one slice of each scan input."""
    head = item.step
    assert isinstance(head, ScanHead)
    settings = head.settings
    values = [run.operand(o, states) for o in item.operands]
    if BOTTOM in values:
        return (BOTTOM,) * head.width
    count = settings.states
    backs, invariants = returned(run, head, states, head.back)
    starts = [drop_axis(v, 0) if settings.batched else v or TOP for v in values[:count]]
    body = BodySymbols(head)
    carried = [invariants.value(body, k, s, b) for k, (s, b) in enumerate(zip(starts, backs, strict=True))]
    slices = enumerate(_slices(settings, values[count:]), count)
    return (*carried, *(_named(body, k, value) for k, value in slices))


def _slices(settings: ScanSettings, values: Sequence[Value | None]) -> Iterator[Value]:
    for value, axis in zip(values, settings.input_axes, strict=True):
        if settings.batched:
            yield drop_axis(drop_axis(value, 0), 0)
        else:
            yield drop_axis(value, axis)


def _named(body: BodySymbols, k: int, value: Value) -> Value:
    """A slice; where its rank is unknown, the head names its shape."""
    is_any = isinstance(value, Tensor) and value.shape is TOP_SHAPE
    return Tensor(value.dtype, body.any_shape(k)) if isinstance(value, Tensor) and is_any else value


def drop_axis(value: Value | None, axis: int) -> Value:
    """A slice along an axis."""
    if not isinstance(value, Tensor):
        return TOP
    if value.shape.is_top:
        return Tensor(value.dtype, _without_axis(value.shape, axis))
    if not -len(value.shape) <= axis < len(value.shape):
        return Tensor(value.dtype)
    dims = list(value.shape.dims)
    del dims[axis]
    return Tensor(value.dtype, shape_of(tuple(dims)))


def _without_axis(shape: Shape, axis: int) -> Shape:
    """A shape of unknown rank without an axis that is known; else any shape."""
    at = place(shape, axis)
    return TOP_SHAPE if at is None else without(shape, [at])


def axis_size(value: Value | None, axis: int) -> Dim:
    """The size of an axis, unknown if there is no such axis."""
    if not isinstance(value, Tensor):
        return UNKNOWN_SIZE
    known = value.shape.head if axis >= 0 or value.shape.rank is not None else value.shape.tail
    return known[axis] if -len(known) <= axis < len(known) else UNKNOWN_SIZE


def leave_scan(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """An exit: final states, and stacked outputs."""
    step = item.step
    assert isinstance(step, ScanExit)
    loop = run.nodes[step.head].step
    assert isinstance(loop, ScanHead)
    body = BodySymbols(loop)
    s = step.settings
    values = [run.operand(o, states) for o in item.operands]
    inputs, finals = values[: s.states + s.scans], values[s.states + s.scans : 2 * s.states + s.scans]
    results = values[2 * s.states + s.scans :][s.states :]
    statements: list[Statement] = []
    sizes = [axis_size(v, 1 if s.batched else a) for v, a in zip(inputs[s.states :], s.input_axes, strict=True)]
    trips = next((d for d in sizes if isinstance(d, Expr)), sizes[0])
    for size in sizes:
        relation = eq(size, trips)
        if not s.batched and relation not in (TRUE, UNKNOWN_RELATION):
            statements.append(Statement(relation, _ONE_LENGTH, "required"))
    semantics = run.program.semantics
    needs_trip = not s.batched and (semantics == RUNTIME or (semantics == EITHER and bool(results)))
    if needs_trip and ge(trips, 1) not in (TRUE, UNKNOWN_RELATION):
        statements.append(Statement(ge(trips, 1), _A_TRIP, "required"))
    # In the form of opset 8, sequence_lens may end a batch early, but outputs have the length of the inputs.
    outputs = [body.final(v or TOP, UNKNOWN_SIZE if s.batched else trips) for v in finals]
    if not s.batched:
        one_sided = OneSided(body, run.facts_at(step.head))
        backs = values[2 * s.states + s.scans :]
        for k, (start, final, back) in enumerate(zip(inputs[: s.states], finals, backs, strict=False)):
            outputs[k] = one_sided.named(k, start, final, back, outputs[k])
        statements += one_sided.statements
    certain = not s.batched or run.facts_at(item.gate).decide(ge(trips, 1)) is YES
    for k, result in enumerate(results):
        # No runtime runs an unbatched scan over an empty axis, so there is a trip.
        value = body.leave(result or TOP)
        outputs.append(stacked(body, str(s.states + k), value, trips, s.output_axes[k], CERTAIN if certain else None))
    sources = [origin(run.nodes, operand) for operand in item.operands[2 * s.states + s.scans :]]
    outputs = [*_handed_through(sources, step, values, outputs)]
    if s.batched:
        outputs = [_batched(inputs, v) for v in outputs]
        some = conjunction(ge(trips, 1), *(ge(axis_size(v, 0), 1) for v in inputs[s.states :]))
        if run.program.semantics == RUNTIME and run.facts_at(item.gate).decide(some) is not YES:
            # Without a trip, of no batch too, it gives the sizes that the body declares.
            outputs = [Tensor(v.dtype) if isinstance(v, Tensor) else v for v in outputs]
    run.trips[step.head] = UNKNOWN_SIZE if s.batched else trips
    possible_failures = _possible_failures(body, s, values, sizes)
    facts = run.facts_at(item.gate)
    if not s.batched and facts.decide(ge(trips, 1)) is not YES and not (needs_trip and isinstance(trips, Expr)):
        possible_failures.append(_A_TRIP)
    moved = _moves_empty(run.facts_at(item.gate), s, inputs[s.states :], results)
    if moved and not s.batched and run.program.semantics != ONNX:
        possible_failures.append("onnxruntime may end the process where it moves an axis of an empty tensor")
    inside = (*states[step.head], *values[2 * s.states + s.scans :])
    if any(map(may_lie, step.declared, inside)):
        possible_failures.append(ALLOCATED)
    if any(map(_may_differ_in_rank, step.declared, states[step.head])):
        possible_failures.append("a body must declare the ranks that its inputs have")
    given = step.declared[s.states + s.scans :]
    backs = values[2 * s.states + s.scans :]
    found = list(zip(given, backs, sources, strict=True))
    if not all(
        _is_ranked(declared, value) if _states_rank(declared) else _is_inferred(run, states, operand)
        for declared, value, operand in found
    ):
        possible_failures.append("onnxruntime must know the ranks of the body's outputs before it runs")
    stacks = sources[s.states :]
    copied = (declared for declared, _, o in found[s.states :] if o[0] == step.head or stacks.count(o) > 1)
    if not all(map(_is_sized, copied)):
        possible_failures.append("onnxruntime copies a value of the body into an output only if its sizes are declared")
    statements += premises(run, body, trips)
    state = run.record(node, tuple(outputs), statements, possible_failures)
    problem = _problem(s, inputs[s.states :], results, statements)
    if problem:
        refused = Statement(FALSE, problem, "required")
        kept = run.applied[node]
        run.applied[node] = kept._replace(rejected=problem, statements=(*kept.statements, refused))
    return state


def _handed_through(
    sources: Sequence[Operand], step: ScanExit, values: Sequence[Value | None], outputs: Sequence[Value]
) -> Iterator[Value]:
    """The outputs without the sizes that onnxruntime takes from elsewhere.

    It gives the output of a value that a body passes through, or gives twice, the declared sizes, or those of the
    initial state.
    """
    s = step.settings
    first = 2 * s.states + s.scans
    backs = values[first : first + s.states]
    starts = [drop_axis(v, 0) if s.batched else v for v in values[: s.states]]
    change = any(map(_may_reshape, starts, backs))
    for k, output in enumerate(outputs):
        operand, stated = sources[k], step.declared[s.states + s.scans + k]
        twice = sources.count(operand) > 1
        if (operand[0] != step.head and not twice) or not isinstance(output, Tensor) or output.shape is TOP_SHAPE:
            yield output
            continue
        back = values[first + k]
        if (change and (twice or operand[1] < s.states)) or may_lie(stated, back):
            output = Tensor(output.dtype, output.shape.map(lambda dim: UNKNOWN_SIZE))
        yield output


def _possible_failures(
    body: BodySymbols, s: ScanSettings, values: Sequence[Value | None], lengths: Sequence[Dim]
) -> list[str]:
    """The reasons why the node may fail at sizes that meet its requirements."""
    results = 2 * s.states + s.scans
    if s.batched:
        return ["the form of opset 8 needs batches of one size, no longer than sequence_lens allow"]
    possible_failures = slices_may_differ(body, values[results + s.states :])
    if not all(isinstance(length, Expr) for length in lengths):
        possible_failures.append(_ONE_LENGTH)
    if any(map(_may_reshape, values[: s.states], values[results : results + s.states])):
        possible_failures.append("a state variable must keep its shape")
    return possible_failures


def _moves_empty(
    facts: Facts, s: ScanSettings, scanned: Sequence[Value | None], results: Sequence[Value | None]
) -> bool:
    """Some scan axis may be moved to the front or from there, across or before an axis without elements."""
    for value, axis in zip(scanned, s.input_axes, strict=True):
        shape = value.shape if isinstance(value, Tensor) else TOP_SHAPE
        if axis in (0, -1) or -axis == shape.rank:
            continue
        if shape.rank is None or _may_be_empty(facts, shape.dims[axis:][1:]):
            return True
    for value, axis in zip(results, s.output_axes, strict=True):
        shape = value.shape if isinstance(value, Tensor) else TOP_SHAPE
        rank = shape.rank
        if axis == 0 or (rank is not None and (axis == -1 - rank or (rank > 1 and axis in (-1, rank)))):
            continue
        if rank is None or _may_be_empty(facts, shape.dims):
            return True
    return False


def _may_be_empty(facts: Facts, dims: Sequence[Dim]) -> bool:
    return any(facts.decide(ge(dim, 1)) is not YES for dim in dims)


def _problem(
    s: ScanSettings, scanned: Sequence[Value | None], results: Sequence[Value | None], statements: Sequence[Statement]
) -> str | None:
    """The reason why the node can never run."""
    if any(statement.relation is FALSE for statement in statements):
        return _ONE_LENGTH
    if s.batched:
        return None
    for value, axis in zip(scanned, s.input_axes, strict=True):
        rank = value.shape.rank if isinstance(value, Tensor) else None
        if rank is not None and not -rank <= axis < rank:
            return f"scan input axis {axis} is out of range for rank {rank}"
    for value, axis in zip(results, s.output_axes, strict=True):
        rank = value.shape.rank if isinstance(value, Tensor) else None
        if rank is not None and not -rank - 1 <= axis <= rank:
            return f"scan output axis {axis} is out of range for rank {rank + 1}"
    return None


def _is_inferred(run: Interpretation, states: Sequence[State], operand: Operand) -> bool:
    alike = inferred(run.nodes, operand)
    return alike is not None and agree(alike, lambda one: run.operand(one, states))


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
