"""Rows: the states of nodes in an analysis of values; and an analysis as operations on rows, whatever its domain.

Conditions of branches and loops: the comparisons that they are made of, and the values that these speak of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from absint.analyses.queries import Q
from absint.program.folded import Body
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.transfer.traits import RESHAPING

Row = tuple[object, ...]
"""The elements of the outputs of a node; empty if nothing has been computed."""

RowsOf = Sequence[Row]
"""The rows of one analysis by node."""


class RowAnalysis(ABC):
    """An analysis of the values of a model, as others see it."""

    direction: Literal["forward", "backward"]

    @property
    def label(self) -> str:
        """Its name in proofs and explanations; with what it takes for granted, if it is an assumption."""
        return type(self).__name__

    @abstractmethod
    def row(self, node: int, rows: RowsOf) -> Row:
        """The row of a node from those of the nodes that it depends on."""

    @abstractmethod
    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        """The answers that a row of the node gives."""

    @abstractmethod
    def is_closed(self, row: Row) -> bool:
        """No run enters a branch or the body of a Loop, by the row of its gate or head."""

    @abstractmethod
    def leq(self, a: Row, b: Row) -> bool:
        """Row `a` says no less than row `b`."""

    @abstractmethod
    def join(self, a: Row, b: Row) -> Row:
        """The row that holds of whatever one of the two holds of."""

    @abstractmethod
    def meet(self, a: Row, b: Row) -> Row:
        """The row that says what both say."""

    @abstractmethod
    def merged(self, node: int, old: Row, new: Row, widen: bool) -> Row:
        """The next row of the head of a cycle."""

    @abstractmethod
    def widened(self, old: Row, new: Row) -> Row:
        """A row above both, in a chain that ends."""

    @abstractmethod
    def arguments(self, node: int, rows: RowsOf) -> Row:
        """The row that a folded call gives to its body: of inputs, or backward of outputs."""

    @abstractmethod
    def results(self, body: Body, rows: RowsOf) -> Row:
        """The elements of the outputs of a body, or backward of its inputs."""

    @abstractmethod
    def unknown(self, count: int) -> Row:
        """A row of which nothing is known."""


SAME: Final = RESHAPING | {"Identity", "Cast"}
"""Operators of ai.onnx that give the truth of their first input."""

MAX_PARTS: Final = 16
"""Most comparisons of one condition that are followed."""


class ConditionPart(NamedTuple):
    """An operator with one truth as its output, and the truth that it has."""

    node: int
    truth: bool


def parts_of(nodes: Sequence[Node], condition: Operand, truth: bool) -> list[ConditionPart]:
    """The operators that a condition is made of, each with the truth that it has where the condition has this one."""
    found: list[ConditionPart] = []
    pending = [(condition, truth)]
    while pending and len(found) < MAX_PARTS:
        (node, output), truth = pending.pop()
        operation = nodes[node].operation if node >= 0 else None
        if operation is None or output != 0 or operation.domain:
            continue
        operands, kind = nodes[node].operands, operation.op_type
        if kind == "Not":
            pending.append((operands[0], not truth))
        elif kind == ("And" if truth else "Or"):
            pending += [(operand, truth) for operand in reversed(operands)]
        elif kind in SAME:
            pending.append((operands[0], truth))
        elif operands:
            found.append(ConditionPart(node, truth))
    return found


def spoken_of(nodes: Sequence[Node], condition: Operand, truth: bool) -> Iterator[Operand]:
    """The values that the condition speaks of, each once."""
    parts = parts_of(nodes, condition, truth)
    yield from dict.fromkeys(operand for part in parts for operand in nodes[part.node].operands if operand[0] >= 0)
