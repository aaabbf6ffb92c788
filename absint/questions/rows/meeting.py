"""The first node where rows meet, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from absint.analyses.independence import CLAIMS, SHARED, Claims, Independence, strongest, text_of
from absint.analyses.independence.table import RULES, is_random
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.solution.analysed import Analysed

States = Sequence[tuple[Claims, ...]]


class Meeting(NamedTuple):
    """A node and what happens there."""

    node: str
    reason: str

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"


def first_meeting(analysed: Analysed, analysis: Independence, states: States, output: str) -> Meeting | None:
    """The first node on the way to an output that loses what is claimed of its inputs; None if none does."""
    operand = analysed.operands[output]
    for keeps in (bool, _is_free):
        if not keeps(_of(operand, states)):
            number = _first(analysed.nodes, states, operand, keeps)
            return Meeting(str(analysed.nodes[number]), _reason(analysed, analysis, states, number, keeps))
    return None


def _is_free(claims: Claims) -> bool:
    return SHARED in claims or claims == CLAIMS.bottom or any(claim.is_free for claim in strongest(claims))


def _of(operand: Operand, states: States) -> Claims:
    state = states[operand[0]]
    return state[operand[1]] if operand[1] < len(state) else CLAIMS.bottom


def _first(nodes: Sequence[Node], states: States, output: Operand, keeps: Callable[[Claims], bool]) -> int:
    pending, seen, first = [output[0]], {output[0]}, []
    while pending:
        number = pending.pop()
        lost = {o[0] for o in nodes[number].operands if o[0] >= 0 and not keeps(_of(o, states))} - {number}
        if not lost:
            first.append(number)
        pending += lost - seen
        seen |= lost
    return min(first, default=min(seen))


def _reason(
    analysed: Analysed, analysis: Independence, states: States, number: int, keeps: Callable[[Claims], bool]
) -> str:
    node = analysed.nodes[number]
    if node.operation is None:
        if node.step is None:
            return "its rows are on no single axis"
        return "rows decide its condition or the number of its trips, or it joins values whose rows differ in place"
    known = [(at, o) for at, o in enumerate(node.operands) if o[0] >= 0]
    inputs: list[Claims | None] = [None if o[0] < 0 else _of(o, states) for o in node.operands]
    if is_random(analysis.seen(number, inputs)):
        return "its numbers are random"
    if keeps is not bool:
        return "from here on rows depend on their number, or on how many there are"
    if node.operator not in RULES:
        return "no rule says what it does with rows"
    texts = []
    for _, operand in known:
        claims = _of(operand, states)
        if SHARED not in claims:
            where = ", ".join(map(text_of, strongest(claims)[:1])) or "counts rows"
            texts.append(f"{_name(analysed, operand)} ({where})")
    return f"rows of {' and '.join(texts) or 'its inputs'} meet"


def _name(analysed: Analysed, operand: Operand) -> str:
    node = analysed.nodes[operand[0]]
    return node.outputs[operand[1]] if operand[1] < len(node.outputs) else str(node)
