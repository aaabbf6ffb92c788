"""A time limit for all the work behind one answer; each layer checks it where work can grow.

>>> with within(3600.0):
...     on_time()
...     remaining(10.0)
10.0

Nothing depends on the limit until it is reached, so answers are the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Lock, local
from time import monotonic


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
