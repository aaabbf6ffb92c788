"""The time that a comparison has."""

from __future__ import annotations

from contextlib import AbstractContextManager
from time import monotonic

from absint.lattices.deadline import within
from absint.lattices.limits import Limits

_LEAST = 1e-3


class Clock:
    """Limits of a whole comparison; its parts share the time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._end = monotonic() + limits.seconds

    def limited(self) -> AbstractContextManager[None]:
        """Work that raises DeadlineError once the time is over."""
        return within(self._end - monotonic())

    @property
    def left(self) -> Limits:
        """The limits of a part: the time that is left, at least a little."""
        return self.limits._replace(seconds=max(self._end - monotonic(), _LEAST))

    @property
    def over(self) -> str:
        """The reason why something is undecided once the time is over."""
        return f"the time limit of {self.limits.seconds:g} s was reached"
