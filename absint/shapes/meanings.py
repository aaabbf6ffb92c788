"""The meaning of control flow: step -> the function that interprets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from absint.program.constructs import Gate, IfJoin, LoopExit, LoopHead, MapExit, MapHead, ScanExit, ScanHead
from absint.program.nodes import Node
from absint.program.steps import Step
from absint.shapes import branches
from absint.shapes.body_types import check_types
from absint.shapes.interpretation import Interpretation
from absint.shapes.loops import loop, scan, sequence_map
from absint.shapes.summaries import State

Meaning = Callable[[Interpretation, int, Node, Sequence[State]], State]
"""The state of a step, from those of the nodes that it depends on."""

MEANINGS: Final[Mapping[type[Step], Meaning]] = {
    Gate: branches.enter_branch,
    IfJoin: branches.join_branches,
    LoopHead: loop.enter_loop,
    LoopExit: loop.leave_loop,
    ScanHead: scan.enter_scan,
    ScanExit: scan.leave_scan,
    MapHead: sequence_map.enter_map,
    MapExit: sequence_map.leave_map,
}


def reached(run: Interpretation, node: int, item: Node, step: Step, states: Sequence[State]) -> State:
    """The state of a step that some run reaches."""
    state = MEANINGS[type(step)](run, node, item, states)
    if step.types is not None:
        check_types(run, node, item, states)
    return state
