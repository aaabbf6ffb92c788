"""The meaning of If: gates at the entry of branches, and the join; and the operands of steps as relations and
integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, NO, TRUE, UNKNOWN_RELATION, Relation, eq, negation
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.program.nodes import Node
from absint.program.steps import Gate, IfJoin
from absint.shapes.interpretation import Interpretation
from absint.shapes.joining import Join
from absint.shapes.summaries import State
from absint.transfer.stated import Statement


def condition_of(value: Value | None) -> Relation | None:
    """A condition tensor as a relation, or None if unknown. A condition that is left out is true."""
    if value is None:
        return TRUE
    if isinstance(value, Tensor) and value.contents is not None:
        elements = value.contents.elements
        if len(elements) == 1 and isinstance(elements[0], Relation):
            return elements[0]
    return None


def integer_of(value: Value | None) -> Dim | None:
    """The element of an integer scalar; None if the operand is left out."""
    if value is None:
        return None
    if isinstance(value, Tensor) and value.contents is not None and len(value.contents.elements) == 1:
        element = value.contents.elements[0]
        if isinstance(element, Dim):
            return element
    return UNKNOWN_DIM


def single(what: str, value: Value | None, dtype: DType) -> tuple[list[Statement], list[str]]:
    """Require that an operand, if given, is one element of this type; the reasons why that may fail."""
    reason = f"the {what} must be one element of type {dtype}"
    if value is None or value is BOTTOM:
        return [], []
    if not isinstance(value, Tensor):
        return [], [reason]
    relation = eq(value.shape.size, 1) if value.dtype in (dtype, DType.UNDEFINED) else FALSE
    if relation in (TRUE, UNKNOWN_RELATION):
        return [], [reason] if relation is UNKNOWN_RELATION else []
    return [Statement(relation, reason, "required")], []


ALLOCATED: Final = "onnxruntime allocates memory from the sizes that a body declares, which may be wrong"


def may_lie(declared: Value, actual: Value | None) -> bool:
    """The declared type states a size, or an element type, that the value is not known to have."""
    if not isinstance(declared, Tensor) or not isinstance(actual, Tensor):
        return False
    if DType.UNDEFINED not in (declared.dtype, actual.dtype) and declared.dtype is not actual.dtype:
        return True
    if declared.shape.is_top or actual.shape.rank != declared.shape.rank:
        return not declared.shape.is_top and any(d.is_concrete for d in declared.shape)
    return any(d.is_concrete and d != e for d, e in zip(declared.shape, actual.shape, strict=True))


def enter_branch(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A gate: its reachability, and the facts below it."""
    gate = item.step
    assert isinstance(gate, Gate)
    value = run.operand(item.operands[0], states)
    if value is BOTTOM:
        return (BOTTOM,)
    condition = condition_of(value)
    condition = TRUE if condition is None else condition if gate.taken else negation(condition)
    if run.facts_at(item.gate).decide(condition) is NO:
        return (BOTTOM,)
    run.guard(node, condition)
    return (TOP,)


def join_branches(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """The outputs of an If from those of its branches."""
    step = item.step
    assert isinstance(step, IfJoin)
    condition, *values = (run.operand(o, states) for o in item.operands)
    then, other = step.branches((condition, *values))
    required, possible_failures = single("condition", condition, DType.BOOL)
    if any(map(may_lie, step.declared, values)):
        possible_failures.append(ALLOCATED)
    then_is_reached, other_is_reached = (states[gate][0] is not BOTTOM for gate in step.after)
    if not (then_is_reached and other_is_reached):
        taken = then if then_is_reached else other if other_is_reached else [BOTTOM] * len(then)
        return run.record(node, tuple(value or TOP for value in taken), required, possible_failures)
    join = Join(condition_of(condition), step.then_gate, node)
    outputs = tuple(join.value(str(k), a or TOP, b or TOP) for k, (a, b) in enumerate(zip(then, other, strict=True)))
    return run.record(node, outputs, [*required, *join.statements], possible_failures)
