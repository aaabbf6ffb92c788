"""The client of the Z3 process, which stays warm between queries and can be killed in the middle of one.

>>> from absint.lattices.text import parse_relation
>>> from absint.solver.smtlib import query
>>> premises = {"even": parse_relation("N % 2 == 0"), "big": parse_relation("N >= 9")}
>>> backend = Backend()
>>> backend.check(query(premises, parse_relation("N // 2 * 2 != N")), rlimit=100_000, seconds=60).core
('even',)
>>> backend.check(query(premises, parse_relation("N <= 10")), rlimit=100_000, seconds=60).model
{'N': 10}
>>> backend.close()
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, cast

from absint.lattices.limits import MEMORY
from absint.packages import is_installed, missing
from absint.runs.process import Process, ProcessError
from absint.solver.smtlib import unquote

if TYPE_CHECKING:
    from absint.solver.z3_process import Reply


@dataclass(frozen=True)
class Answer:
    """Z3's answer to a script. It depends on the script and the rlimit alone, unless the time limit cuts it short."""

    verdict: Literal["sat", "unsat", "unknown"]
    model: Mapping[str, int] = field(default_factory=dict)
    """If sat, a value of every symbol of the script."""
    core: tuple[str, ...] = ()
    """If unsat, the names of assertions that contradict each other and the assertions without a name."""
    reason: str = ""
    """The reason why it is unknown."""
    spent: int = 0
    """Steps of the rlimit that it took, reading included."""
    seconds: float = 0.0


class Backend:
    """One Z3 process, started on first use. Threads take turns."""

    def __init__(self, *, memory: int = MEMORY) -> None:
        self._process = Process(f"{_Z3}:answered", between=f"{_Z3}:prepare", memory=memory, subject="Z3")
        self._broken = ""

    def start(self) -> None:
        """Start the process without waiting for it, so that it is warm when the first query comes."""
        if not self.lost:
            try:
                self._process.start()
            except ProcessError as error:
                self._broken = str(error)

    @property
    def lost(self) -> str:
        """The reason why Z3 cannot be used here, as far as that is known; empty if it can."""
        return self._broken if is_installed("z3") else missing("z3")

    def check(self, script: str, *, rlimit: int, seconds: float, core: bool = True, minimize: bool = False) -> Answer:
        """Ask whether the assertions of an SMT-LIB 2 script are satisfiable together.

        `rlimit` is Z3's own budget, the same on every machine; 0 is none. Past `seconds` the process is killed and the
        answer is unknown; the next query starts another. `minimize` spends more on a core without redundant members.
        Where Z3 is `lost`, every answer is unknown.

        Raises ValueError for a script that Z3 cannot read or an rlimit out of range.
        """
        if not 0 <= rlimit < 1 << 32:
            raise ValueError(f"an rlimit is a number from 0 to {(1 << 32) - 1}, not {rlimit}")
        if self.lost:
            return Answer("unknown", reason=self.lost)
        start = time.monotonic()
        query = {"script": script, "rlimit": rlimit, "core": core, "minimize": minimize}
        try:
            answer = _read(cast("Reply", self._process.ask((query, self._process.memory), seconds)), rlimit)
        except ProcessError as error:
            answer = Answer("unknown", reason=self._reason(error, seconds))
        return replace(answer, seconds=time.monotonic() - start)

    @property
    def pid(self) -> int | None:
        """The number of the running process."""
        return self._process.pid

    def close(self) -> None:
        """End the process. A later query starts another."""
        self._process.end()

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reason(self, error: ProcessError, seconds: float) -> str:
        """The reason why Z3 gave no answer. Raises ValueError as `check` does."""
        failure = error.failure
        if error.outcome == "not started":
            self._broken = str(error) if failure is None else f"Z3 does not load: {failure}"
            return self._broken
        if error.outcome == "timed out":
            return f"the time limit of {seconds:g} s was reached"
        if error.outcome == "busy":
            return "Z3 was busy with another query until the time limit"
        if failure is None:
            return str(error)
        if failure.is_a("ScriptError"):
            raise ValueError(f"Z3 cannot read the script: {failure.text}")
        self.close()  # once out of memory, it may do anything
        return f"Z3 gave up: {failure.text}"


_Z3: Final = "absint.solver.z3_process"


def _read(reply: Reply, rlimit: int) -> Answer:
    at_limit = f"the resource limit of {rlimit} was reached; rlimit= (--rlimit) raises it"
    return Answer(
        cast("Literal['sat', 'unsat', 'unknown']", reply["verdict"]),
        {unquote(name): value for name, value in reply["model"].items() if not name.startswith("$")},
        tuple(map(unquote, reply["core"])),
        at_limit if reply["reason"] in _LIMIT_REACHED else reply["reason"],
        reply["spent"],
    )


_LIMIT_REACHED: Final = ("canceled", "max. resource limit exceeded")

_shared: dict[tuple[int, int], Backend] = {}


def shared(memory: int = MEMORY) -> Backend:
    """The backend that this process shares, one for each limit of memory."""
    return _shared.setdefault((os.getpid(), memory), Backend(memory=memory))
