"""The switch of all that is there for speed alone: without it each analysis does all of its work, for the same answers.

Off are: kept results of rules, facts and nodes (`absint.shapes.memo`, `absint.program.sections`), results that a round
takes over from another, the loop that visits plain nodes, the short ways of reading usual messages of a
file (`_usual` in `absint.model.wire`) and texts of plain arithmetic, and the pause of garbage collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_off = False


def is_on() -> bool:
    """What is there for speed alone is in use."""
    return not _off


@contextmanager
def switched_off() -> Iterator[None]:
    """Only the plain way within the block, in all threads."""
    global _off
    before, _off = _off, True
    try:
        yield
    finally:
        _off = before
