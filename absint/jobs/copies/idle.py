"""Loops that may make no trip. onnxruntime then gives a scan output the sizes that it finds for the body's value."""

from __future__ import annotations

from collections.abc import Iterator

from absint.lattices.terms.expr import Expr, reached
from absint.program.steps import LoopBody, LoopExit, ScanExit
from absint.solution.analysed import Analysed


def idle_loops(analysed: Analysed) -> Iterator[tuple[int, LoopExit]]:
    """The ends of Loops that may make no trip."""
    for number, node in enumerate(analysed.nodes):
        if isinstance(node.step, LoopExit) and not _is_busy(analysed, node.step):
            yield number, node.step


def busy_loops(analysed: Analysed) -> set[str]:
    """The first outputs of Loops that make a trip in every run."""
    ends = (node for node in analysed.nodes if isinstance(node.step, LoopExit) and _is_busy(analysed, node.step))
    return {next(filter(None, node.outputs), "") for node in ends}


def _is_busy(analysed: Analysed, step: LoopExit) -> bool:
    trips = analysed.analysis.trips.get(step.head)
    return isinstance(trips, Expr) and (trips.bounds.lo or 0) >= 1


def sized_by(analysed: Analysed) -> set[int]:
    """The nodes with values from which scan outputs of loops without a trip may take sizes."""
    nodes = analysed.nodes
    stacked = [step.parts(nodes[number].operands).slices for number, step in idle_loops(analysed)]
    stacked += [node.operands for node in nodes if isinstance(node.step, ScanExit)]

    def before(number: int) -> list[int]:
        step = nodes[number].step
        operands = (*nodes[number].operands, *(step.back if isinstance(step, LoopBody) else ()))
        return [producer for producer, _ in operands if producer >= 0]

    return reached((number for operands in stacked for number, _ in operands if number >= 0), before)
