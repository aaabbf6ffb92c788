"""The reason why a size or an element has no expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.value import TOP, AnyTensor
from absint.program.operations import Operation
from absint.questions.explain.places import Place
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.readability import place as place_of
from absint.shapes.summaries import State

BY_DATA: Final = "only a run decides it"
"""The rule of the operator knows no more: the number is data-dependent."""

BY_CALLEE: Final = "a node of the function that is called decides it"


def why_open(analysis: ShapeAnalysis, states: Sequence[State], node: int, output: int, place: Place) -> str:
    """The reason why a number in an output of an operator has no expression."""
    item = analysis.nodes[node]
    operation = item.operation
    assert operation is not None
    if operation.body is not None:
        return BY_CALLEE
    rule = operation.rule
    if rule is None or rule.is_missing:
        return "the operator has no rule"
    if rule.inferred:
        return f"the operator has no rule; what is known is from {rule.origin}"
    if node in analysis.crashes:
        return "the rule of the operator failed"
    summary = analysis.applied[node]
    if summary.rejected is not None:
        return "the node cannot run"
    here = place_of(output, place.at, "axis" if place.kind == "axis" else "element")
    for note in summary.notes:
        if note.startswith(here):
            return note.removeprefix(here).strip()
    for position, operand in enumerate(item.operands):
        value = analysis.operand(operand, states)
        if value is TOP or (isinstance(value, AnyTensor) and value.shape.rank is None):
            return f"the rank of its input {formal(operation, position) or position} is unknown"
    return BY_DATA


def formal(operation: Operation, position: int) -> str:
    """The operator's name for an input; empty where it has none."""
    formals = operation.rule.inputs if operation.rule is not None else ()
    name = formals[position] if position < len(formals) else ""
    return "" if name.endswith("*") else name
