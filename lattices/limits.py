"""The limits of one answer: time for all of it, and Z3's own budgets."""

from __future__ import annotations

from math import inf
from typing import Final

from absint.lattices.records import NamedTuple

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
        if not 0 < self.seconds < inf:
            raise ValueError(f"seconds={self.seconds:g}: expected a number above 0")
        if not 0 <= self.rlimit < 1 << 32:
            raise ValueError(f"rlimit={self.rlimit}: expected a number from 0 (no limit) to {(1 << 32) - 1}")
        if self.memory < LEAST_MEMORY:
            raise ValueError(f"memory={self.memory}: Z3 needs at least {LEAST_MEMORY} bytes")
        return self


LEAST_MEMORY: Final = 256 << 20
