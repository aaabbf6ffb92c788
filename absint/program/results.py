"""Results of a loop's body that onnxruntime gives other elements than the body does.

A Loop counts on in the tensor of the iteration number, so a result that is this tensor holds a later number. A Scan
lets the body write into its outputs: of a value that is two results it gets one, and none of an input that is handed
through. Such a result becomes a node that keeps the shape alone, unless the documents of ONNX decide.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from absint.lattices.value import Value
from absint.program.nodes import Node
from absint.program.operations import Operation
from absint.program.steps import Operand
from absint.transfer.op import Op
from absint.transfer.rule import rule
from absint.transfer.semantics import ONNX

if TYPE_CHECKING:
    from absint.program.graph import Program
    from absint.program.lowered import Call


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
    found = []
    for operand in results:
        if operand in doubtful:
            node = Node(call.name, call.frame.path, [operand], (), head, operation)
            operand = (program.add(node), 0)
        found.append(operand)
    return found
