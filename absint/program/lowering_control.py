"""Lowering of If, Loop, Scan and SequenceMap: their bodies between gates or heads, and joins or exits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from absint.lattices.dtype import DType
from absint.lattices.records import changed
from absint.lattices.value import Tensor, Value
from absint.model import schemas
from absint.model.declared_types import read_type
from absint.model.messages import GraphMessage
from absint.model.protos import declared_rank, formals
from absint.model.wire.kinds import GRAPH
from absint.program import steps
from absint.program.lowered import Call, Lowerer
from absint.program.nodes import Node, Operation
from absint.program.steps import Operand
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX

if TYPE_CHECKING:
    from absint.program.graph import Program


# Results of a loop's body that onnxruntime gives other elements than the body does.
#
# A Loop counts on in the tensor of the iteration number, so a result that is this tensor holds a later number. A Scan
# lets the body write into its outputs: of a value that is two results it gets one, and none of an input that is handed
# through. Such a result becomes a node that keeps the shape alone, unless the documents of ONNX decide.


@rule("Loop Scan", inputs="x", complete=True, starred=True)
def unwritten(op: Op) -> Value:
    """The shape of a result, without elements."""
    return op.tensor("x")


def of_loop(program: Program, call: Call, head: int, results: list[Operand]) -> list[Operand]:
    """The results of the body of a Loop."""
    return _marked(program, call, head, results, {(head, 0)})


def of_scan(program: Program, call: Call, head: int, results: list[Operand]) -> list[Operand]:
    """The results of the body of a Scan."""
    return _marked(program, call, head, results, {o for o in results if o[0] == head or results.count(o) > 1})


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
    operation = Operation("", call.node.op_type, call.frame.imports.get("", 1), unwritten, {}, 1)
    marked = []
    for operand in results:
        if operand in doubtful:
            node = Node(call.name, call.frame.path, [operand], (), head, operation)
            operand = (program.add(node), 0)
        marked.append(operand)
    return marked


def lower_control(lowerer: Lowerer, call: Call) -> None:
    """Lower an instance of one of `absint.program.steps.LOWERED`."""
    graphs = {a.name: a.g for a in call.attributes if a.type == GRAPH}
    missing = [name for name in steps.LOWERED[call.node.op_type] if name not in graphs]
    if missing:
        lowerer.report.error("missing-attribute", call.place, f"attribute {missing[0]!r} (a graph) is missing")
        lowerer.opaque(call)
        return
    if call.node.op_type != "SequenceMap" and ("" in call.outputs):
        lowerer.report.fault("empty-name", call.place, "each of its outputs must have a name", documents=False)
    form = schemas.form("", call.node.op_type, _version(call))
    given = [None if operand == steps.ABSENT else operand for operand in call.operands]
    wrong = None if form is None else form.refused_arity(given, len(call.outputs))
    if wrong is not None:
        lowerer.report.fault("ill-formed", call.place, wrong)
    elif None in given[_optional(call) :]:
        lowerer.report.fault("missing-input", call.place, "one of its inputs has no name", documents=False)
    if call.node.op_type == "If":
        _lower_if(lowerer, call, graphs)
    elif call.node.op_type == "Loop":
        _lower_loop(lowerer, call, graphs["body"])
    elif call.node.op_type == "Scan":
        _lower_scan(lowerer, call, graphs["body"])
    else:
        _lower_map(lowerer, call, graphs["body"])


def _version(call: Call) -> int:
    return call.frame.imports.get("", 1)


def _optional(call: Call) -> int:
    """The number of leading inputs without which the node runs."""
    operator = call.node.op_type
    return 2 if operator == "Loop" else int(operator == "Scan" and _version(call) < 9)


def _lower_if(lowerer: Lowerer, call: Call, graphs: Mapping[str, GraphMessage]) -> None:
    if given := [*formals(graphs["then_branch"], 0), *formals(graphs["else_branch"], 0)]:
        lowerer.report.error("branch-inputs", call.place, f"a branch takes no inputs, found {given[0].name!r}")
        lowerer.opaque(call)
        return
    condition = call.operands[0] if call.operands else steps.ABSENT
    gates = steps.Gate(taken=True), steps.Gate(taken=False)
    then_gate, else_gate = (lowerer.add_step(call, [condition], gate, inner=True) for gate in gates)

    def close(then_results: list[Operand], else_results: list[Operand]) -> None:
        if not len(then_results) == len(else_results) == len(call.outputs):
            lowerer.report.error("branch-outputs", call.place, "the branches have other numbers of outputs")
            lowerer.opaque(call)
            return
        infos = (*graphs["then_branch"].output, *graphs["else_branch"].output)
        types = tuple(read_type(info.type) for info in infos)
        join = lowerer.add_step(
            call, [condition, *then_results, *else_results], steps.IfJoin(then_gate, else_gate, types)
        )
        for node, gate in zip((then_gate, else_gate), gates, strict=True):
            lowerer.program.complete(node, changed(gate, join=join))

    def after_then(then_results: list[Operand]) -> None:
        lowerer.body(
            graphs["else_branch"],
            call,
            "else_branch",
            else_gate,
            {},
            lambda results: close(then_results, results),
        )

    lowerer.body(graphs["then_branch"], call, "then_branch", then_gate, {}, after_then)


def _lower_loop(lowerer: Lowerer, call: Call, body: GraphMessage) -> None:
    operands = call.operands + [steps.ABSENT] * (2 - len(call.operands))
    carried, inputs = len(operands) - 2, formals(body, len(operands))
    if len(inputs) != len(operands) or not max(carried, len(call.outputs)) < len(body.output):
        lowerer.report.error("loop-arity", call.place, "the body's inputs or outputs do not fit the loop's")
        lowerer.opaque(call)
        return
    if len(call.outputs) < len(body.output) - 1:
        text = f"it must have {len(body.output) - 1} outputs, found {len(call.outputs)}"
        lowerer.report.fault("loop-arity", call.place, text, documents=False)
    ranks = tuple(declared_rank(info.type) for info in inputs)
    types = tuple(read_type(info.type) for info in inputs)
    condition = types[1] if operands[1] == steps.ABSENT else None
    stated = condition.dtype if isinstance(condition, Tensor) else DType.UNDEFINED
    head_step = steps.LoopHead(carried, ranks, types, DType.BOOL if stated is DType.UNDEFINED else stated)
    head = lowerer.add_step(call, list(operands), head_step, inner=True)
    bindings = {info.name: (head, index) for index, info in enumerate(inputs)}

    def done(results: list[Operand]) -> None:
        results = of_loop(lowerer.program, call, head, results)
        _close(lowerer, head, head_step, results[: carried + 1])
        declared = [info.type for info in body.output[carried + 1 :]]
        ranks, types = tuple(map(declared_rank, declared)), tuple(map(read_type, declared))
        given = [*operands, *((head, 2 + k) for k in range(carried)), *results]
        lowerer.add_step(call, given, steps.LoopExit(head, carried, ranks, types))

    lowerer.body(body, call, "body", head, bindings, done)


def _lower_scan(lowerer: Lowerer, call: Call, body: GraphMessage) -> None:
    batched, others = call.frame.imports.get("", 1) < 9, call.frame.others
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
        lowerer.report.error("scan-arity", call.place, str(error))
        lowerer.opaque(call)
        return
    head_step = steps.ScanHead(settings)
    head = lowerer.add_step(call, list(operands), head_step, inner=True)
    bindings = {info.name: (head, index) for index, info in enumerate(inputs)}

    def done(results: list[Operand]) -> None:
        results = of_scan(lowerer.program, call, head, results)
        _close(lowerer, head, head_step, results[: settings.states])
        given = [*operands, *((head, k) for k in range(settings.states)), *results]
        types = tuple(read_type(info.type) for info in (*inputs, *body.output))
        lowerer.add_step(call, given, steps.ScanExit(head, settings, types))

    lowerer.body(body, call, "body", head, bindings, done)


def _lower_map(lowerer: Lowerer, call: Call, body: GraphMessage) -> None:
    inputs = formals(body, len(call.operands))
    if len(inputs) != len(call.operands) or len(body.output) != len(call.outputs):
        lowerer.report.error("map-arity", call.place, "the body's inputs or outputs do not fit the map's")
        lowerer.opaque(call)
        return
    head_step = steps.MapHead(len(call.operands))
    head = lowerer.add_step(call, list(call.operands), head_step, inner=True)
    bindings = {info.name: (head, index) for index, info in enumerate(inputs)}

    def done(results: list[Operand]) -> None:
        _close(lowerer, head, head_step, [])
        types = tuple(read_type(info.type) for info in body.output)
        lowerer.add_step(call, [*call.operands, *results], steps.MapExit(head, len(call.operands), types))

    lowerer.body(body, call, "body", head, bindings, done)


def _close(lowerer: Lowerer, head: int, step: steps.LoopBody, back: list[Operand]) -> None:
    """Complete the head of a loop whose body has just been lowered."""
    program = lowerer.program
    program.complete(head, changed(step, first=head, last=len(program.nodes) - 1, back=tuple(back)))
