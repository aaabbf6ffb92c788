"""Scan as it was in opset 8 only: the first axis of all inputs and outputs is a batch."""

from __future__ import annotations

from tests.absint.shapes.flows.build import Flow, sizes
from tests.models import body, floats, model, node, untyped


def scan_8() -> Flow:
    """Running sums of each element of a batch."""
    step = body(
        [node("Add", ["s", "x"], ["t"]), node("Identity", ["t"], ["y"])],
        [untyped("s"), untyped("x")],
        [untyped("t"), untyped("y")],
    )
    scan = node("Scan", ["", "initial", "xs"], ["last", "every"], body=step, num_scan_inputs=1)
    made = model([scan], [floats("initial", "B", 3), floats("xs", "B", "T", 3)], ["last", "every"])
    return Flow(made, sizes("B", "T", values=(1, 2, 4)), expect={"last": "[B, 3]", "every": "[B, T, 3]"})
