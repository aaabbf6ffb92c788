"""Lowering of If, Loop, Scan and SequenceMap: their bodies between gates or heads, and joins or exits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from absint.lattices.dtype import DType
from absint.lattices.records import changed
from absint.lattices.value import Tensor, Value
from absint.model import schemas
from absint.model.declared_types import read_type
from absint.model.protos import GraphMessage, declared_rank, formals
from absint.model.wire.kinds import GRAPH
from absint.program import steps
from absint.program.graph import Program
from absint.program.lowered import Call
from absint.program.lowering import Lowerer
from absint.program.nodes import Node, Operation
from absint.program.steps import Operand
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX

# Results of a loop's body that onnxruntime gives other elements than the body does.
#
# A Loop counts on in the tensor of the iteration number, so a result that is this tensor holds a later number. A Scan
# lets the body write into its outputs: of a value that is two results it gets one, and none of an input that is handed
# through. Such a result becomes a node that keeps the shape alone, unless the documents of ONNX decide.


@rule("Loop Scan", inputs="x", complete=True, starred=True)
def unwritten(op: Op) -> Value:
    """The shape of a result, without elements."""
    return op.tensor("x")


def origin(nodes: Sequence[Node], operand: Operand) -> Operand:
    """The value that the body computes for a result."""
    operation = nodes[operand[0]].operation if operand[0] >= 0 else None
    return nodes[operand[0]].operands[0] if operation is not None and operation.rule is unwritten else operand


def _marked(
    program: Program, call: Call, head: int, results: list[Operand], doubtful: Collection[Operand]
) -> list[Operand]:
    """The results, with a node in the place of each doubtful one."""
    if program.semantics == ONNX:
        return results
    operation = Operation("", call.node.op_type, _version(call), unwritten, {}, 1)
    return [
        (program.add(Node(call.name, call.frame.path, [operand], (), head, operation)), 0)
        if operand in doubtful
        else operand
        for operand in results
    ]


def lower_control(lowerer: Lowerer, call: Call) -> None:
    """Lower an instance of one of `absint.program.steps.LOWERED`."""
    operator = call.node.op_type
    graphs = {a.name: a.g for a in call.attributes if a.type == GRAPH}
    missing = [name for name in steps.LOWERED[operator] if name not in graphs]
    if missing:
        lowerer.give_up(call, "missing-attribute", f"attribute {missing[0]!r} (a graph) is missing")
        return
    if "" in call.outputs:
        lowerer.report.fault("empty-name", call.place, "each of its outputs must have a name", documents=False)
    form = schemas.form("", operator, _version(call))
    given = [None if operand == steps.ABSENT else operand for operand in call.operands]
    wrong = None if form is None else form.refused_arity(given, len(call.outputs))
    optional = 2 if operator == "Loop" else int(operator == "Scan" and _version(call) < 9)
    if wrong is not None:
        lowerer.report.fault("ill-formed", call.place, wrong)
    elif None in given[optional:]:
        lowerer.report.fault("missing-input", call.place, "one of its inputs has no name", documents=False)
    if operator == "If":
        _lower_if(lowerer, call, graphs["then_branch"], graphs["else_branch"])
    else:
        {"Loop": _lower_loop, "Scan": _lower_scan, "SequenceMap": _lower_map}[operator](lowerer, call, graphs["body"])


def _version(call: Call) -> int:
    return call.frame.imports.get("", 1)


def _lower_if(lowerer: Lowerer, call: Call, then: GraphMessage, otherwise: GraphMessage) -> None:
    if given := [*formals(then, 0), *formals(otherwise, 0)]:
        lowerer.give_up(call, "branch-inputs", f"a branch takes no inputs, found {given[0].name!r}")
        return
    condition = call.operands[0] if call.operands else steps.ABSENT
    gates = steps.Gate(taken=True), steps.Gate(taken=False)
    then_gate, else_gate = (lowerer.add_step(call, [condition], gate, inner=True) for gate in gates)

    def close(then_results: list[Operand], else_results: list[Operand]) -> None:
        if not len(then_results) == len(else_results) == len(call.outputs):
            lowerer.give_up(call, "branch-outputs", "the branches have other numbers of outputs")
            return
        types = tuple(read_type(info.type) for info in (*then.output, *otherwise.output))
        join = lowerer.add_step(
            call, [condition, *then_results, *else_results], steps.IfJoin(then_gate, else_gate, types)
        )
        for node, gate in zip((then_gate, else_gate), gates, strict=True):
            lowerer.program.complete(node, changed(gate, join=join))

    def after_then(then_results: list[Operand]) -> None:
        lowerer.body(otherwise, call, "else_branch", else_gate, {}, lambda results: close(then_results, results))

    lowerer.body(then, call, "then_branch", then_gate, {}, after_then)


def _lower_loop(lowerer: Lowerer, call: Call, body: GraphMessage) -> None:
    operands = call.operands + [steps.ABSENT] * (2 - len(call.operands))
    carried, inputs = len(operands) - 2, formals(body, len(operands))
    if len(inputs) != len(operands) or not max(carried, len(call.outputs)) < len(body.output):
        lowerer.give_up(call, "loop-arity", "the body's inputs or outputs do not fit the loop's")
        return
    if len(call.outputs) < len(body.output) - 1:
        text = f"it must have {len(body.output) - 1} outputs, found {len(call.outputs)}"
        lowerer.report.fault("loop-arity", call.place, text, documents=False)
    ranks = tuple(declared_rank(info.type) for info in inputs)
    types = tuple(read_type(info.type) for info in inputs)
    condition = types[1] if operands[1] == steps.ABSENT else None
    stated = condition.dtype if isinstance(condition, Tensor) else DType.UNDEFINED
    step = steps.LoopHead(carried, ranks, types, DType.BOOL if stated is DType.UNDEFINED else stated)

    def leave(head: int) -> steps.Step:
        declared = [info.type for info in body.output[carried + 1 :]]
        return steps.LoopExit(head, carried, tuple(map(declared_rank, declared)), tuple(map(read_type, declared)))

    states = range(2, 2 + carried)
    _lower_body(lowerer, call, body, operands, step, states, carried + 1, lambda head, _: {(head, 0)}, leave)


def _lower_scan(lowerer: Lowerer, call: Call, body: GraphMessage) -> None:
    batched, others = _version(call) < 9, call.frame.others
    if others and (others.get("", 1) < 9) != batched:
        text = (
            "function and model import versions of Scan of two forms, before and since opset 9; the node is left opaque"
        )
        lowerer.report.warn("node-form", call.place, text)
        lowerer.opaque(call)
        return
    operands = call.operands[1:] if batched else call.operands
    inputs = formals(body, len(operands))
    try:
        settings = steps.ScanSettings.read(lowerer.decoded(call.attributes), len(operands), len(call.outputs), batched)
        if len(inputs) != len(operands) or len(body.output) != len(call.outputs):
            raise steps.ScanError("the body's inputs or outputs do not fit the scan's")
    except steps.ScanError as error:
        lowerer.give_up(call, "scan-arity", str(error))
        return

    def doubtful(head: int, results: list[Operand]) -> Collection[Operand]:
        return {o for o in results if o[0] == head or results.count(o) > 1}

    def leave(head: int) -> steps.Step:
        return steps.ScanExit(head, settings, tuple(read_type(info.type) for info in (*inputs, *body.output)))

    states, step = settings.states, steps.ScanHead(settings)
    _lower_body(lowerer, call, body, operands, step, range(states), states, doubtful, leave)


def _lower_map(lowerer: Lowerer, call: Call, body: GraphMessage) -> None:
    count = len(call.operands)
    if len(formals(body, count)) != count or len(body.output) != len(call.outputs):
        lowerer.give_up(call, "map-arity", "the body's inputs or outputs do not fit the map's")
        return

    def leave(head: int) -> steps.Step:
        return steps.MapExit(head, count, tuple(read_type(info.type) for info in body.output))

    _lower_body(lowerer, call, body, call.operands, steps.MapHead(count), range(0), 0, lambda head, _: (), leave)


def _lower_body(
    lowerer: Lowerer,
    call: Call,
    body: GraphMessage,
    operands: Sequence[Operand],
    step: steps.LoopBody,
    states: range,
    back: int,
    doubtful: Callable[[int, list[Operand]], Collection[Operand]],
    leave: Callable[[int], steps.Step],
) -> None:
    """Lower the body of a loop between its head, which is `step`, and its exit, which `leave` makes.

    The exit takes the operands, the head's outputs that are `states`, and the results of the body, of which the first
    go `back` to the head.
    """
    program = lowerer.program
    head = lowerer.add_step(call, [*operands], step, inner=True)
    bindings = {info.name: (head, index) for index, info in enumerate(formals(body, len(operands)))}

    def done(results: list[Operand]) -> None:
        results = _marked(program, call, head, results, doubtful(head, results))
        program.complete(head, changed(step, first=head, last=len(program.nodes) - 1, back=tuple(results[:back])))
        lowerer.add_step(call, [*operands, *((head, at) for at in states), *results], leave(head))

    lowerer.body(body, call, "body", head, bindings, done)
