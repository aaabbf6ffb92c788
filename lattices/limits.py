"""What one answer may take: time, which each layer checks where work can grow, Z3's own budgets, and shortcuts.

>>> with within(3600.0):
...     on_time()
...     remaining(10.0)
10.0

Nothing depends on the time limit until it is reached, so answers are the same in every run. They are the same without
shortcuts too, which are there for speed alone: kept results of rules, facts and nodes (`absint.shapes.memo`,
`absint.program.shared_prefix`), results that a round takes over from another, the loop that visits plain nodes, the
short ways of reading usual messages of a file (`_usual` in `absint.model.wire`) and texts of plain arithmetic, and the
pause of garbage collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Lock, local
from time import monotonic
from typing import Final, SupportsFloat, SupportsIndex, cast

from absint.lattices.records import NamedTuple


class DeadlineError(BaseException):
    """The time limit was reached. The code that set it answers with the findings so far.

    Not an `Exception`: an interrupted transfer rule has not failed.
    """


class _Current(local):
    """The deadline of a thread."""

    end: float = inf
    seconds: float = inf


_current = _Current()
_lock = Lock()
_set = 0
"""Deadlines set in any thread; with none, a check costs next to nothing."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the work of this thread; an earlier deadline around it still holds."""
    global _set
    before = _current.end, _current.seconds
    end = monotonic() + seconds
    if end < _current.end:
        _current.end, _current.seconds = end, seconds
    with _lock:
        _set += 1
    try:
        yield
    finally:
        with _lock:
            _set -= 1
        _current.end, _current.seconds = before


def on_time() -> None:
    """Raises DeadlineError once the time is over."""
    if _set and monotonic() >= _current.end:
        raise DeadlineError(f"the time limit of {_current.seconds:g} s was reached")


def remaining(most: float = inf) -> float:
    """Seconds left, but no more than `most`. Raises DeadlineError once the time is over."""
    on_time()
    return min(most, _current.end - monotonic())


MEMORY: Final = 4 << 30
"""Bytes that the Z3 process may allocate, where the platform can limit them."""

RLIMIT: Final = 3_000_000
"""Z3's budget for one question: steps, the same on every machine."""

SECONDS: Final = 10.0
"""Seconds of one query."""

LONG: Final = 60.0
"""Seconds of an answer that takes many questions: a contract, a box of sizes, classes."""


class Limits(NamedTuple):
    """Limits of an answer. Past `seconds` the answer is the one found by then; the rest bounds Z3 alone."""

    seconds: float = SECONDS
    rlimit: int = RLIMIT
    """Z3's steps for one question; 0 is no limit."""
    memory: int = MEMORY
    """Bytes that the Z3 process may allocate."""

    def checked(self) -> Limits:
        """These limits. Raises ValueError for one that is out of range."""
        seconds, rlimit, memory = cast("tuple[object, ...]", self)
        if not isinstance(seconds, SupportsFloat) or not 0 < self.seconds < inf:
            raise ValueError(f"seconds={self.seconds}: expected a number above 0")
        if not isinstance(rlimit, SupportsIndex) or not 0 <= self.rlimit < 1 << 32:
            raise ValueError(f"rlimit={self.rlimit}: expected a number from 0 (no limit) to {(1 << 32) - 1}")
        if not isinstance(memory, SupportsIndex) or self.memory < LEAST_MEMORY:
            raise ValueError(f"memory={self.memory}: Z3 needs at least {LEAST_MEMORY} bytes")
        return self


LEAST_MEMORY: Final = 256 << 20


_off = False


def takes_shortcuts() -> bool:
    """What is there for speed alone is in use."""
    return not _off


@contextmanager
def without_shortcuts() -> Iterator[None]:
    """Only the plain way within the block, in all threads."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before
