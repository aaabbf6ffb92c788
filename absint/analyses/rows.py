"""Rows: the states of nodes in an analysis of values; and an analysis as those see it that run together with it.

Conditions of branches and loops: the comparisons that they are made of, and the values that these speak of.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from absint.analyses.queries import Q
from absint.engine import Analysis
from absint.lattices.lattice import Lattice
from absint.program.folded import Body
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.transfer.traits import RESHAPING

T = TypeVar("T")

Row = tuple[Any, ...]
"""The elements of the outputs of a node; empty if nothing has been computed."""


class Member(Analysis[tuple[T, ...]]):
    """An analysis of values, as others see it that run together with it."""

    domain: Lattice[T]
    """The domain of single values."""

    @property
    def label(self) -> str:
        """Its name in proofs, explanations and findings; with what it takes for granted, if it is an assumption."""
        return type(self).__name__

    def names_given(self) -> Collection[str]:
        """The names of inputs, initialisers and constants of which something is taken for granted."""
        return ()

    @abstractmethod
    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        """The answers that a row of the node gives."""

    @abstractmethod
    def is_closed(self, row: Row) -> bool:
        """No run enters a branch or the body of a Loop, by the row of its gate or head."""

    @abstractmethod
    def arguments(self, node: int, rows: Sequence[Row]) -> Row:
        """The row that a folded call gives to its body: of inputs, or backward of outputs."""

    @abstractmethod
    def results(self, body: Body, rows: Sequence[Row]) -> Row:
        """The elements of the outputs of a body, or backward of its inputs."""

    def meet(self, a: Row, b: Row) -> Row:
        """The row that says what both say."""
        return tuple(map(self.domain.meet, a, b)) if len(a) == len(b) else a

    def unknown(self, count: int) -> Row:
        """A row of which nothing is known."""
        return (self.domain.top,) * count


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
