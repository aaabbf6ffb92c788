"""Limits of one analysis: a deadline, a number of nodes, and a callback that reports progress and may cancel.

At a limit the analysis stops between two nodes. The states so far are a fixpoint of the nodes before that place; an
unfinished cycle counts as not computed. What has not been computed is unknown, and its nodes may fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from time import monotonic
from typing import Final, TypeVar

from absint.diagnostics import Diagnostic, Severity
from absint.engine import STEP
from absint.errors import AbsintError, UsageError
from absint.lattices.limits import Limits
from absint.program.nodes import Node

Progress = Callable[[int, int, str], object]
"""Called with the number of nodes done, that of all nodes, and the phase: `lower`, `analyse`, `refine` or `settle`."""

LOWER: Final = "lower"
ANALYSE: Final = "analyse"
REFINE: Final = "refine"
SETTLE: Final = "settle"
CHECK: Final = "check"
"""An analysis at given sizes, under limits of its own."""

LIMIT_REACHED: Final = "limit"
"""The code of the diagnostic of a partial result."""

LIMITED: Final = "the analysis stopped at a limit before it had seen every node"

UNFINISHED: Final = "the analysis stopped before it"
"""The reason why a node that was not analysed, because of a limit, may fail."""

WITHOUT_RULE: Final = "no rule for the operator"
RULE_FAILED: Final = "its rule failed"
TOO_MANY_CALLS: Final = "calls of it are too many to be analysed"
RULELESS: Final = frozenset({UNFINISHED, WITHOUT_RULE, RULE_FAILED, TOO_MANY_CALLS})
"""Reasons why nothing is known of what a node needs."""

Item = TypeVar("Item")


def checked(limits: Limits) -> Limits:
    """The limits of an answer. Raises UsageError for one that makes no sense."""
    try:
        return limits.checked()
    except ValueError as error:
        raise UsageError(str(error)) from None


class LimitError(AbsintError):
    """A limit was reached before there was a result."""


class Watch:
    """The limits of one analysis, and whether one was reached."""

    def __init__(
        self, max_seconds: float | None = None, max_nodes: int | None = None, on_progress: Progress | None = None
    ) -> None:
        """Start the clock. Raises UsageError for an invalid limit."""
        if max_seconds is not None and not 0 < max_seconds < inf:
            raise UsageError(f"max_seconds={max_seconds:g} (--seconds): expected a number above 0")
        if max_nodes is not None and max_nodes < 0:
            raise UsageError(f"max_nodes={max_nodes} (--max-nodes): expected a number of nodes, 0 or more")
        self.max_nodes = max_nodes
        self._on_progress = on_progress
        self._seconds = max_seconds
        self._deadline = inf if max_seconds is None else monotonic() + max_seconds
        self._last = (0, 0, LOWER)
        self.reached = ""
        """The limit that was reached, in words; empty while there is none."""
        self.diagnostics: list[Diagnostic] = []
        """One for each part of the result that is missing because of the limit."""

    def again(self) -> Watch:
        """The same limits for another run of the analysis."""
        return Watch(self._seconds, self.max_nodes)

    @property
    def is_off(self) -> bool:
        """There is no limit and no callback."""
        return self._seconds is None and self.max_nodes is None and self._on_progress is None

    def goes_on(self, done: int, total: int, phase: str) -> bool:
        """Report progress. True if the analysis may go on."""
        self._last = done, total, phase
        if not self.reached:
            if self._on_progress is not None and self._on_progress(done, total, phase) is False:
                self.reached = "cancelled by on_progress"
            elif monotonic() > self._deadline:
                self.reached = f"the time limit of {self._seconds:g} s is over"
        return not self.reached

    def goes_on_inside(self) -> bool:
        """As `goes_on`, asked within a node: the progress is that of the last report."""
        return self.goes_on(*self._last)

    def end(self, nodes: Sequence[Node], order: Sequence[int]) -> int | None:
        """The place in the order before which `max_nodes` operators lie; None if there are no more."""
        if self.max_nodes is not None:
            count = 0
            for place, node in enumerate(order):
                count += nodes[node].value is None
                if count > self.max_nodes:
                    return place
        return None

    def through(self, items: Iterable[Item], done: Callable[[], int], origin: str) -> Iterator[Item]:
        """The items as they are lowered. Raises LimitError if the time is over, or the callback cancels."""
        for number, item in enumerate(items):
            if number % STEP == 0 and not self.goes_on(found := done(), found, LOWER):
                raise LimitError(f"{origin}: {self.reached} before the model was read to its end: there is no result")
            yield item

    def stopped(self, nodes: Sequence[Node], unfinished: Iterable[int]) -> None:
        """Record that the analysis did not finish some of the nodes; constants do not count."""
        total = sum(node.value is None for node in nodes)
        done = total - sum(nodes[number].value is None for number in unfinished)
        self.reached = self.reached or f"max_nodes={self.max_nodes}"
        text = f"{self.reached}: {done:,} of {total:,} nodes were analysed, and what the others compute is unknown"
        self.diagnostics.append(Diagnostic(Severity.WARNING, LIMIT_REACHED, "the analysis", text))

    def not_refined(self) -> None:
        """Record that the analysis stopped while it was refined."""
        text = f"{self.reached}: every node was analysed, but shapes may be less exact than they could be"
        self.diagnostics.append(Diagnostic(Severity.WARNING, LIMIT_REACHED, "the analysis", text))
