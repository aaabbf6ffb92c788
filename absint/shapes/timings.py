"""Times of an analysis, of its phases and of the rules by operator; and no time for garbage collection meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from time import perf_counter
from typing import ParamSpec, TypeVar

from absint.lattices.limits import takes_shortcuts


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


P = ParamSpec("P")
R = TypeVar("R")


def uncollected(work: Callable[P, R]) -> Callable[P, R]:
    """The function, run while Python's cycle collector pauses, unless its keyword `memoise` is False.

    An analysis allocates long-lived objects and hardly any cyclic garbage, so collections find nothing and walk the
    whole heap again and again: half of the time on a model of 10,000 nodes.
    """

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled() or not takes_shortcuts() or kwargs.get("memoise") is False:
            return work(*args, **kwargs)
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            gc.enable()

    return run
