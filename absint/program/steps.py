"""Steps: the nodes that If, Loop, Scan and SequenceMap become. `absint.program.constructs` has those of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from absint.lattices.records import record
from absint.model.signatures import Signature

Operand = tuple[int, int]
"""Producing node and index among its outputs."""

ABSENT: Final[Operand] = (-1, 0)
"""An optional input that is left out."""

MAX_FIRST: Final = 1 << 16

FIRST: Final[list[Operand]] = []
"""The first outputs of the nodes 0, 1, ..., made once for all programs: young tuples cost the collector time."""


def first_output(node: int) -> Operand:
    """The first output of a node."""
    if node >= MAX_FIRST:
        return (node, 0)
    if node >= len(FIRST):
        start, end = len(FIRST), min(max(256, 2 * node), MAX_FIRST)
        FIRST[start:end] = [(number, 0) for number in range(start, end)]  # the same, if two threads do it
    return FIRST[node]


def first_outputs(count: int) -> frozenset[Operand]:
    """The first outputs of so many nodes."""
    return frozenset(map(first_output, range(count))) if count > len(FIRST) else frozenset(FIRST[:count])


LOWERED: Final[Mapping[str, tuple[str, ...]]] = {
    "If": ("then_branch", "else_branch"),
    "Loop": ("body",),
    "Scan": ("body",),
    "SequenceMap": ("body",),
}
"""Operators of ai.onnx that are lowered to steps, with the graph attributes they need."""


@record(eq=False, kw_only=True)
class Step:
    """A node that control flow was lowered to."""

    operator: ClassVar[str] = ""
    types: Signature | None = None
    """The types of the operator, at the node that ends it."""

    @property
    def width(self) -> int:
        """The number of values of a step inside a construct; the step that ends it has the outputs."""
        return 1

    @property
    def after(self) -> tuple[int, ...]:
        """Nodes that it depends on besides its operands."""
        return ()


@record(eq=False, kw_only=True)
class LoopBody(Step):
    """The head of a loop: the values at the start of iteration i, for every i up to and including the last."""

    first: int = -1
    """The head itself."""
    last: int = -1
    """The last node of the body, those of inner bodies included."""
    back: tuple[Operand, ...] = ()
    """The results of the body that return to the head."""

    def holds(self, node: int | None) -> bool:
        """It is the head or a node of the body: its outputs may differ from one iteration to the next."""
        return node is not None and self.first <= node <= self.last
