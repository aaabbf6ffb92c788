"""The nodes of a graph without cycles in turn: what `Analysis.sweep` does with `interpret`, faster. Speed only.

Most time of an analysis goes into nodes whose result is known. So columns are read in place of nodes, the inputs are
looked up in the memo at once, facts below a gate are asked for once in a run of nodes below it, and nothing is called
where the summary has no holes. `tests/absint/shapes/test_memo_room.py` compares the answers with those of the plain
path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from absint.lattices.logic.facts import Facts
from absint.lattices.value import BOTTOM, Tensor
from absint.shapes.application import ruled
from absint.shapes.interpretation import Interpretation
from absint.shapes.memo.cache import Memo
from absint.shapes.summaries import Inputs, RuleSummary, State


def swept(
    run: Interpretation,
    memo: Memo,
    order: Sequence[int],
    states: list[State],
    trace: Callable[[int, State], None] | None = None,
) -> None:
    """Write the state of each node of the order; `trace` hears of it."""
    nodes, first, applied = run.nodes, run.first_round, run.applied
    operations, rows, places, values = nodes.operations, nodes.operands, nodes.places, nodes.values
    stays, always = not run.inputs, not run.inputs and not run.facts
    changed, known_before, before = (first.changed, first.known, first.applied) if first is not None else _NOTHING
    facts, under, shut = run.facts, run.under, False  # below the gate that was asked last
    asked = -1
    for node in order:
        operation = operations[node]
        if operation is None:
            asked = -2  # it may change what holds below a gate
            value = values.get(node)
            if value is not None and (always or (stays and isinstance(value, Tensor) and is_constant(value))):
                states[node] = (value,)
                if trace is not None:
                    trace(node, states[node])
            else:
                states[node] = run.transfer(node, states)
            continue
        operands, gate = rows[node], places[node][1]
        # A result of the first round that this one need not compute again.
        if first is not None and gate < 0:
            pair = None if changed or node not in before else known_before.get(id(before[node]))
            renewed = pair[1] if pair is not None else None
            if pair is None or (renewed is None and first.settled.numbers):
                renewed = first.summary(node, operands)
            if renewed is not None:
                applied[node] = renewed
                states[node] = renewed.outputs
                if trace is not None:
                    trace(node, states[node])
                continue
        inputs: Inputs
        if len(operands) == 1:
            ((p, i),) = operands
            inputs = (states[p][i] if p >= 0 else None,)
        elif len(operands) == 2:
            (p, i), (q, j) = operands
            inputs = (states[p][i] if p >= 0 else None, states[q][j] if q >= 0 else None)
        else:
            inputs = tuple([states[p][i] if p >= 0 else None for p, i in operands])
        if gate != asked:
            asked = gate
            facts, under, shut = _at(run, gate, states)
        # What the rule gave to equal inputs, under facts that make no difference to it or under the same ones.
        if shut:
            summary = RuleSummary((BOTTOM,) * operation.outputs)
        else:
            results = memo[operation]
            known = results.get(inputs)
            if under is not None and (known is None or not run.holds(known)):
                known = results.get((inputs, under))
            summary = ruled(run, node, operation, inputs, facts, under) if known is None else known
        applied[node] = summary
        state = states[node] = run.outputs(node, summary) if summary.holes else summary.outputs
        if first is not None:
            first.visited(node, state)
        if trace is not None:
            trace(node, state)


_NOTHING: Final[tuple[set[int], dict[int, tuple[RuleSummary, RuleSummary | None]], Mapping[int, RuleSummary]]] = (
    set(), {}, {}
)  # fmt: skip


def _at(run: Interpretation, gate: int, states: Sequence[State]) -> tuple[Facts, object, bool]:
    """The facts below a gate, what they add to the key of the memo, and whether nothing comes through the gate."""
    if gate < 0:
        return run.facts, run.under, False
    return *run.under_gate(gate), states[gate][0] is BOTTOM


def is_constant(value: Tensor) -> bool:
    """No symbol occurs in it, and no size is unknown."""
    contents = value.contents
    return value.shape.concrete is not None and not value.ramps and (contents is None or not contents.open)
