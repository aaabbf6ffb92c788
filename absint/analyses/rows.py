"""Rows: the states of nodes in an analysis of values; and an analysis as operations on rows, whatever its domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal

from absint.analyses.queries import Q
from absint.program.folded import Body

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
