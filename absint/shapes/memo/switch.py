"""The switch of this room: without it every analysis does all of its work itself, and gives the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_off = False


def is_on() -> bool:
    """The room is in use."""
    return not _off


@contextmanager
def switched_off() -> Iterator[None]:
    """Do without results of earlier work, and with garbage collection, within the block. In all threads."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before


__all__ = ["is_on", "switched_off"]
