"""Times of an analysis: of its phases, and of the rules by operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Tally:
    """A number of runs, and their time altogether."""

    count: int = 0
    seconds: float = 0.0


@dataclass
class Timings:
    """Give one to `analyze(timings=...)`, and read it afterwards."""

    phases: dict[str, Tally] = field(default_factory=dict)
    """`load`, `lower`, `rounds`, and of these `fixpoint`: the visits of nodes."""
    rules: dict[str, Tally] = field(default_factory=dict)
    """Operator -> the runs of its rules."""
    visits: int = 0
    """Visits of operators, in all rounds."""

    def __repr__(self) -> str:
        times = ", ".join(f"{name} {1000 * tally.seconds:,.1f} ms" for name, tally in self.phases.items())
        return f"<Timings: {times or 'nothing yet'}; {self.visits:,} visits>"

    @property
    def applications(self) -> int:
        """The number of rules run, remembered results not counted."""
        return sum(tally.count for tally in self.rules.values())

    @property
    def remembered(self) -> float:
        """The share of visits that needed no rule, between 0 and 1."""
        return 1 - self.applications / self.visits if self.visits else 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of the block."""
        with _timed(self.phases.setdefault(name, Tally())):
            yield

    @contextmanager
    def rule(self, operator: str) -> Iterator[None]:
        """Count the time of the block."""
        with _timed(self.rules.setdefault(operator, Tally())):
            yield


@contextmanager
def _timed(tally: Tally) -> Iterator[None]:
    start = perf_counter()
    try:
        yield
    finally:
        tally.count += 1
        tally.seconds += perf_counter() - start
