"""States beside the analysis: those of one body are a trial's, all others those of the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from absint.shapes.summaries import State


class BodyStates(Sequence[State]):
    """States of all nodes, with separate ones for the nodes `first` to `last`, the head among them.

    Only the states that are asked for are read from the outside: those of nodes that lead to the loop.
    """

    def __init__(self, outer: Sequence[State], first: int, last: int) -> None:
        self._outer, self._first, self._last = outer, first, last
        self._inner: list[State] = []
        self.clear()

    def clear(self) -> None:
        self._inner = [()] * (self._last - self._first + 1)

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[State]: ...
    def __getitem__(self, at: int | slice) -> State | Sequence[State]:
        if isinstance(at, slice):
            return [self[k] for k in range(*at.indices(len(self)))]
        return self._inner[at - self._first] if self._first <= at <= self._last else self._outer[at]

    def __setitem__(self, at: int, state: State) -> None:
        self._inner[at - self._first] = state

    def __len__(self) -> int:
        return len(self._outer)
