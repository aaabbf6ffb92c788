"""What a loader sees of the nodes: types and shapes in every branch and body, also in those that no run enters.

The analysis follows values, so it computes nothing below a condition that is known to be false. Here it runs once more,
enters everything, and takes declared shapes as a loader does. It only finds nodes that may be refused: onnx's
inference, which onnxruntime runs as it loads a model, decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, overload

from absint.engine import fixpoint
from absint.lattices.shape import BOTTOM_SHAPE, Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Expr, reached
from absint.lattices.value import BOTTOM, SequenceOf, Tensor, Value
from absint.model.protos import bodies, graphs, sort_graph
from absint.packages import is_installed
from absint.program.steps import Gate, LoopBody, LoopExit, LoopHead, Operand, ScanExit
from absint.shapes.analysis import ShapeAnalysis, interpret
from absint.shapes.interpretation import Interpretation
from absint.shapes.rounds import Round
from absint.shapes.summaries import RuleSummary, State
from absint.solution.analysed import Analysed, once
from absint.transfer.semantics import RUNTIME

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto


SMALL: Final = 1 << 12
"""Bytes of constants that a body is shown of the graphs around it."""


@once
def entered(analysed: Analysed) -> Round | None:
    """The analysis that enters every body; None if the other one does."""
    nodes, states = analysed.nodes, analysed.base.states
    gates = {item.gate for item in nodes if item.gate >= 0} if len(analysed.scopes) > 1 else ()
    if not any(states[gate][0] is BOTTOM for gate in gates):
        return None
    program = analysed.program
    declared = program.declared

    def enter(run: Interpretation, node: int, states: Sequence[State]) -> State:
        item = nodes[node]
        if isinstance(item.step, Gate | LoopBody | LoopExit):
            states = _Opened(states, item.operands[: 2 if isinstance(item.step, LoopHead | LoopExit) else None])
        state = interpret(run, node, states)
        return tuple([_as_declared(value, declared.get((node, at), ())) for at, value in enumerate(state)])

    analysis = ShapeAnalysis(program, interpreter=enter)
    return Round(analysis, fixpoint(program, analysis).states)


class _Opened(Sequence["State"]):
    """States in which nothing keeps a step from entering its body: no condition, number of trips or length is known."""

    def __init__(self, states: Sequence[State], controls: Iterable[Operand]) -> None:
        self._states = states
        self._controls = frozenset(controls)

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[State]: ...
    def __getitem__(self, at: int | slice) -> State | Sequence[State]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return tuple([_opened(v) if (at, k) in self._controls else v for k, v in enumerate(self._states[at])])

    def __len__(self) -> int:
        return len(self._states)


def _opened(value: Value) -> Value:
    if isinstance(value, Tensor):
        return Tensor(value.dtype, value.shape.map(lambda dim: UNKNOWN_SIZE if dim is ZERO_EXPR else dim))
    if isinstance(value, SequenceOf):
        each = value.element
        is_none = isinstance(each, Tensor) and each.shape is BOTTOM_SHAPE
        return SequenceOf(Tensor(each.dtype) if isinstance(each, Tensor) and is_none else each)
    return value


def _as_declared(value: Value, shapes: Sequence[Shape]) -> Value:
    """The value; if its rank is unknown, the sizes that the author declares."""
    if not isinstance(value, Tensor) or not value.shape.is_top or not shapes:
        return value
    return Tensor(value.dtype, Shape([dim if dim.is_concrete else UNKNOWN_SIZE for dim in shapes[-1]]))


@once
def risks(analysed: Analysed) -> Mapping[int, str]:
    """Nodes that a loader may refuse for what it sees of shapes, in execution order, and why."""
    found: dict[int, str] = {}
    inner, gates, operations = entered(analysed), analysed.nodes.places, analysed.nodes.operations
    states = analysed.base.states
    for node, summary in analysed.base.analysis.applied.items():
        is_inside = summary.rejected is not None and not summary.refusal and gates[node][1] >= 0
        at_load = _at_load(summary)
        if at_load or (is_inside and operations[node] is not None):
            found[node] = next(iter(at_load), summary.rejected or "")
    for node, summary in inner.analysis.applied.items() if inner is not None else ():
        gate = gates[node][1]
        is_dead = gate >= 0 and states[gate][0] is BOTTOM
        if is_dead and not summary.refusal and operations[node] is not None:
            doubts = [failure.reason for failure in summary.possible_failures if failure.is_open]
            for reason in [*_at_load(summary), *filter(None, [summary.rejected]), *doubts][:1]:
                found.setdefault(node, reason)
    return dict(sorted(found.items()))


def _at_load(summary: RuleSummary) -> list[str]:
    return [failure.reason for failure in summary.possible_failures if failure.at_load]


@once
def refused(analysed: Analysed) -> set[str] | None:
    """Operators and names of the nodes that inference refuses, if there is a risk that it does; None if it gave no
    answer.

    onnxruntime infers the types of a function by the versions that it imports, and again by those of the model.
    """
    if not risks(analysed):
        return set()
    if not is_installed("onnx"):
        return None
    from absint.model.inference import MAX_INFERRED, refusals, skeleton

    if len(analysed.nodes) > MAX_INFERRED:
        return None
    seen = _as_seen(skeleton(analysed.loaded.outline()))
    found = [refusals(seen)]
    if analysed.program.semantics == RUNTIME and any(k.operation and k.operation.other for k in analysed.nodes):
        found.append(refusals(seen, analysed.loaded.imports()))
    if any(item.lost for item in found):
        return None
    texts = [text.partition(": ") for item in found for text in item.found]
    return {place for place, _, reason in texts if reason != _ELSEWHERE}


_ELSEWHERE: Final = "Inference error(s):"
"""What inference says of a node in whose body it refuses another."""


def _as_seen(model: ModelProto) -> ModelProto:
    """The model as onnxruntime infers its types, changed in place: nodes are sorted, constants reach bodies, and an
    initialiser that a caller may replace is none.
    """
    fixed = model.ir_version < 4  # there every initialiser has to be an input
    inputs = frozenset() if fixed else {info.name for info in model.graph.input}
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in inputs]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        tensors = model.graph.initializer if nodes is model.graph.node else ()
        _show(nodes, {tensor.name: tensor for tensor in tensors if tensor.ByteSize() < SMALL})
    for graph in graphs(model.graph):
        sort_graph(graph)
    return model


def _show(nodes: Iterable[NodeProto], around: Mapping[str, TensorProto]) -> None:
    """Give the bodies in the nodes the constants of the graphs around them that they read."""
    pending = [(nodes, around)]
    while pending:
        nodes, around = pending.pop()
        found = dict(around)
        for node in nodes:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
                found[node.output[0]] = node.attribute[0].t
        for node in nodes:
            for body in bodies(node):
                own = {item.name for items in (body.input, body.initializer) for item in items}
                own.update(name for inner in body.node for name in inner.output)
                shown = {name: tensor for name, tensor in found.items() if name not in own}
                read = {name for inner in body.node for name in inner.input}
                pending.append((body.node, {**shown, **{t.name: t for t in body.initializer if t.ByteSize() < SMALL}}))
                for name in sorted(read & shown.keys()):
                    body.initializer.add().CopyFrom(shown[name])
                    body.initializer[-1].name = name


# Loops that may make no trip: onnxruntime gives a scan output the sizes that it finds for the body's value then.


def idle_loops(analysed: Analysed) -> Iterator[tuple[int, LoopExit]]:
    """The ends of Loops that may make no trip."""
    for number, node in enumerate(analysed.nodes):
        if isinstance(node.step, LoopExit) and not _is_busy(analysed, node.step):
            yield number, node.step


def busy_loops(analysed: Analysed) -> set[str]:
    """The first outputs of Loops that make a trip in every run."""
    ends = (node for node in analysed.nodes if isinstance(node.step, LoopExit) and _is_busy(analysed, node.step))
    return {next(filter(None, node.outputs), "") for node in ends}


def _is_busy(analysed: Analysed, step: LoopExit) -> bool:
    trips = analysed.analysis.trips.get(step.head)
    return isinstance(trips, Expr) and (trips.bounds.lo or 0) >= 1


def sized_by(analysed: Analysed) -> set[int]:
    """The nodes with values from which scan outputs of loops without a trip may take sizes."""
    nodes = analysed.nodes
    stacked = [step.parts(nodes[number].operands).slices for number, step in idle_loops(analysed)]
    stacked += [node.operands for node in nodes if isinstance(node.step, ScanExit)]

    def before(number: int) -> list[int]:
        step = nodes[number].step
        operands = (*nodes[number].operands, *(step.back if isinstance(step, LoopBody) else ()))
        return [producer for producer, _ in operands if producer >= 0]

    return reached((number for operands in stacked for number, _ in operands if number >= 0), before)
