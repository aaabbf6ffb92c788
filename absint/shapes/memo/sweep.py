"""The visit of a graph without cycles, in one loop: most nodes need no more than a look-up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from absint.lattices.value import Value
from absint.program.graph import Node
from absint.shapes.memo.cache import Memo
from absint.shapes.memo.reuse import FirstRound
from absint.shapes.summaries import RuleSummary, State


def sweep(
    nodes: Sequence[Node],
    order: Sequence[int],
    states: list[State],
    applied: dict[int, RuleSummary],
    visit: Callable[[int, Sequence[State]], State],
    first: FirstRound | None,
    memo: Memo | None,
    stays: Callable[[Value], bool] | None,
) -> None:
    """Write the state of each node in turn, and its rule summary.

    `visit` computes the state of a node that neither the first round nor the memo knows. An input or initialiser whose
    value `stays` has it in this round too.
    """
    for node in order:
        item = nodes[node]
        operation = item.operation
        if operation is None:
            if item.value is not None and stays is not None and stays(item.value):
                states[node] = (item.value,)
                continue
        elif item.gate < 0:
            found = None if first is None else first.summary(node, item.operands)
            is_again = found is None
            if is_again and memo is not None:
                found = memo[operation].get(tuple([states[p][i] if p >= 0 else None for p, i in item.operands]))
            if found is not None and not found.holes:
                applied[node] = found
                states[node] = found.outputs
                if is_again and first is not None:
                    first.visited(node, found.outputs)
                continue
        states[node] = visit(node, states)


__all__ = ["sweep"]
