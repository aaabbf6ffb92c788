"""The switch of this room: without it every analysis does all of its work again, and gives the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_off = False


def is_on() -> bool:
    """The room is in use."""
    return not _off


@contextmanager
def switched_off() -> Iterator[None]:
    """No results of earlier work, and garbage collection as usual, within the block. In all threads."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before
