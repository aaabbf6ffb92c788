"""The meaning of control flow: step -> the function that interprets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, NO, TRUE, UNKNOWN_RELATION, YES, conjunction, ge, negation
from absint.lattices.value import BOTTOM, OptionalOf, Tensor, Value
from absint.model.signatures import Signature, agree, type_text
from absint.program.nodes import Node
from absint.program.steps import Gate, IfJoin, LoopExit, LoopHead, MapExit, MapHead, ScanExit, ScanHead, Step
from absint.shapes import branches
from absint.shapes.branches import condition_of, integer_of
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops import loop, scan
from absint.shapes.summaries import State
from absint.transfer.stated import PossibleFailure, Statement

# Types of control flow: conditions, trip counts, and the results of branches and bodies.
#
# Each node that ends a construct knows the types of its operator. A result of a branch or a body must have the type of
# the other branch's, or the type that the construct carries; without a trip nothing can violate it.

Values = Sequence[Value | None]


def check_types(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> None:
    """State the violations of a construct's types, at the node that ends it."""
    step = item.step
    if step is None or step.types is None:
        return
    wrong = _wrong_types(step, step.types, run, item, states)
    if wrong is None and isinstance(step, LoopExit):
        wrong = _wrong_condition(run, node, item, [run.operand(operand, states) for operand in item.operands])
    if wrong is not None:
        summary = run.applied[node]
        statements = (*summary.statements, Statement(FALSE, wrong, "required"))
        run.applied[node] = summary._replace(statements=statements, rejected=wrong, refusal="ill-typed")


def _wrong_condition(run: Interpretation, node: int, item: Node, values: Values) -> str | None:
    """A body that gives a condition that is no BOOL: runtimes check it only after the first trip."""
    assert isinstance(item.step, LoopExit)
    parts, loop = item.step.parts(values), run.nodes[item.step.head].step
    back = parts.goes_on
    if not isinstance(back, Tensor) or back.dtype in (DType.BOOL, DType.UNDEFINED):
        return None
    if isinstance(loop, LoopHead) and loop.condition is not DType.BOOL:
        return None  # it may be the BOOL that the body got; `may fail` is stated
    wrong = f"the body must give a BOOL as its condition, found {back.dtype}"
    initially, most = condition_of(parts.condition), integer_of(parts.limit)
    enters = TRUE if most is None else ge(most, 1)
    begins = UNKNOWN_RELATION if initially is None else conjunction(initially, enters)
    decided = run.facts_at(item.gate).decide(begins)
    if decided is YES:
        return wrong
    summary = run.applied[node]
    if begins is UNKNOWN_RELATION:
        run.applied[node] = summary._replace(
            possible_failures=(*summary.possible_failures, PossibleFailure(wrong)), notes=(*summary.notes, wrong)
        )
    elif decided is not NO:
        required = Statement(negation(begins), wrong, "required")
        run.applied[node] = summary._replace(statements=(*summary.statements, required))
    return None


def _wrong_types(step: Step, types: Signature, run: Interpretation, item: Node, states: Sequence[State]) -> str | None:
    values = [run.operand(operand, states) for operand in item.operands]
    if isinstance(step, IfJoin):
        return types.wrong_input(values[:1]) or _wrong_branches(item, *step.branches(values))
    if isinstance(step, LoopExit):
        loop = step.parts(values)
        results = (*loop.backs, *loop.slices)
        return types.wrong_input(values[: 2 + step.count]) or _wrong_body(item, loop.starts, results)
    if isinstance(step, ScanExit):
        scan = step.parts(values)
        given, results = (*scan.starts, *scan.scanned), (*scan.backs, *scan.slices)
        if step.settings.batched:
            return types.wrong_input([None, *given])
        return types.wrong_input(given) or _wrong_body(item, scan.starts, results)
    return types.wrong_input(values[: step.count]) if isinstance(step, MapExit) else None


def _wrong_branches(item: Node, then: Values, other: Values) -> str | None:
    for name, a, b in zip(item.outputs, then, other, strict=False):
        if a is not None and b is not None and not agree(a, b):
            return f"output {name!r}: the branches must give one type, found {type_text(a)} and {type_text(b)}"
    return None


def _wrong_body(item: Node, starts: Values, results: Values) -> str | None:
    """Carried values keep their type, and scan outputs are tensors."""
    for at, (name, back) in enumerate(zip(item.outputs, results, strict=False)):
        if back is None or back is BOTTOM:
            continue
        start = starts[at] if at < len(starts) else Tensor(DType.UNDEFINED)
        if start is None or _carries(start, back):
            continue
        if at < len(starts):
            found = f"it starts as {type_text(start)} and the body gives {type_text(back)}"
            return f"output {name!r}: what is carried must keep its type, but {found}"
        return f"output {name!r}: the body must give a tensor, found {type_text(back)}"
    return None


def _carries(start: Value, back: Value) -> bool:
    """A body may give back the element of the optional that it starts with; runtimes then compare nothing."""
    return isinstance(start, OptionalOf) or isinstance(back, OptionalOf) or agree(start, back)


Meaning = Callable[[Interpretation, int, Node, Sequence[State]], State]
"""The state of a step, from those of the nodes that it depends on."""

MEANINGS: Final[Mapping[type[Step], Meaning]] = {
    Gate: branches.enter_branch,
    IfJoin: branches.join_branches,
    LoopHead: loop.enter_loop,
    LoopExit: loop.leave_loop,
    ScanHead: scan.enter_scan,
    ScanExit: scan.leave_scan,
    MapHead: scan.enter_map,
    MapExit: scan.leave_map,
}


def reached(run: Interpretation, node: int, item: Node, step: Step, states: Sequence[State]) -> State:
    """The state of a step that some run reaches."""
    state = MEANINGS[type(step)](run, node, item, states)
    if step.types is not None:
        check_types(run, node, item, states)
    return state
