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

import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Final, Literal, cast

from absint.lattices.limits import MEMORY
from absint.solver.smtlib import unquote


class SolverError(RuntimeError):
    """Z3 cannot be used here: it is not installed, does not load, or there is no Python to run it with."""


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
        self._memory = memory
        self._lock = threading.Lock()
        self._process: _Process | None = None

    def start(self) -> None:
        """Start the process without waiting for it, so that it is warm when the first query comes.

        Raises SolverError if there is no Python to run it with.
        """
        if self._lock.acquire(blocking=False):  # else a query has started it
            try:
                self._started()
            finally:
                self._lock.release()

    def check(self, script: str, *, rlimit: int, seconds: float, core: bool = True, minimize: bool = False) -> Answer:
        """Ask whether the assertions of an SMT-LIB 2 script are satisfiable together.

        `rlimit` is Z3's own budget, the same on every machine; 0 is none. Past `seconds` the process is killed and the
        answer is unknown; the next query starts another. `minimize` spends more on a core without redundant members.

        Raises SolverError if Z3 cannot be used, ValueError for a script that it cannot read or an rlimit out of range.
        """
        if not 0 <= rlimit < 1 << 32:
            raise ValueError(f"an rlimit is a number from 0 to {(1 << 32) - 1}, not {rlimit}")
        start = time.monotonic()
        limit = min(max(seconds, 0.0), threading.TIMEOUT_MAX)
        line = json.dumps({"script": script, "rlimit": rlimit, "core": core, "minimize": minimize}).encode() + b"\n"
        message: Message = {"gave up": "the solver was busy with another query until the time limit"}
        if self._lock.acquire(timeout=limit):
            try:
                message = self._exchange(line, limit, start + limit)
            except BaseException:
                self._end()  # its answer may still come, and is not the next query's
                raise
            finally:
                self._lock.release()
        return replace(_read(message, rlimit), seconds=time.monotonic() - start)

    @property
    def pid(self) -> int | None:
        """The number of the running process."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def close(self) -> None:
        """End the process. A later query starts another."""
        with self._lock:
            self._end()

    def __enter__(self) -> Backend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, line: bytes, limit: float, deadline: float) -> Message:
        """The answer of the process, or the reason why there is none."""
        process = self._started()
        if not process.ready:
            first = process.receive(deadline)
            if first is None:
                return {"gave up": f"the solver did not start within {limit:g} s"}
            if not first:
                return self._died("before it was ready")
            if "error" in first:
                raise SolverError(first["error"])
            process.ready = True
        process.send(line)
        found = process.receive(deadline)
        if found is None:
            self._end()
            return {"gave up": f"the time limit of {limit:g} s was reached"}
        if "gave up" in found:
            self._end()
        return found or self._died("before it answered")

    def _started(self) -> _Process:
        if self._process is None or not self._process.alive:
            self._end()
            self._process = _Process(self._memory)
        return self._process

    def _died(self, when: str) -> Message:
        """The message about a process that ended by itself."""
        process = cast(_Process, self._process)
        self._end()
        return {"gave up": f"the solver process ended {when} ({process.ending})"}

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


Message = dict[str, Any]


def _read(message: Message, rlimit: int) -> Answer:
    if "gave up" in message:
        return Answer("unknown", reason=message["gave up"])
    if "error" in message:
        raise ValueError(f"Z3 cannot read the script: {message['error']}")
    reason = message["reason"]
    return Answer(
        message["verdict"],
        {unquote(name): value for name, value in message["model"].items() if not name.startswith("$")},
        tuple(unquote(label) for label in message["core"]),
        _at_limit(rlimit) if reason in _LIMIT_REACHED else reason,
        message["spent"],
    )


def _at_limit(rlimit: int) -> str:
    return f"the resource limit of {rlimit} was reached; rlimit= (--rlimit) raises it"


_LIMIT_REACHED: Final = ("canceled", "max. resource limit exceeded")


class _Process:
    """A running child. A thread writes queries and reads answers, so that the caller can stop waiting."""

    def __init__(self, memory: int) -> None:
        self.ready = False
        self._owner = os.getpid()
        self._popen = _spawn(memory)
        self._queries: SimpleQueue[bytes | None] = SimpleQueue()
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        thread = threading.Thread(
            target=_converse, args=(self._popen, self._queries, self._answers), name="solver", daemon=True
        )
        thread.start()
        self.end = weakref.finalize(self, _end, self._popen, self._queries, thread, self._owner)
        """Kill the child and wait for it; called too when this object is garbage, and when the interpreter ends."""

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """It runs, and is a child of this process, not of one that this was forked from."""
        return self._owner == os.getpid() and self._popen.poll() is None

    @property
    def ending(self) -> str:
        """The signal or exit code with which it ended."""
        code = self._popen.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def send(self, line: bytes) -> None:
        self._queries.put(line)

    def receive(self, deadline: float) -> Message | None:
        """The next message, empty if the process has ended; None if there is none in time."""
        try:
            line = self._answers.get(timeout=max(deadline - time.monotonic(), 0))
        except Empty:
            return None
        if not line.endswith(b"\n"):
            return {}
        try:
            return cast(Message, json.loads(line))
        except ValueError as error:
            raise SolverError(f"no Python to run Z3 with: {sys.executable} does not answer as one") from error


def _spawn(memory: int) -> subprocess.Popen[bytes]:
    """A Python that finds the modules that this one finds. Nothing it prints reaches the terminal."""
    if not sys.executable or getattr(sys, "frozen", False):
        raise SolverError("no Python to run Z3 with: set sys.executable to the path of a Python interpreter")
    path = [os.path.abspath(entry) for entry in sys.path]
    home = str(Path(__file__).absolute().parents[2])
    if home not in path:
        path.append(home)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=path, memory=memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is for the parent
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        raise SolverError(f"Z3 cannot be started: {error}") from error


_PROGRAM: Final = """\
import sys
sys.path[:] = {path!r}
try:
    from absint.solver.z3_process import main
except Exception as error:
    import json
    missing = isinstance(error, ModuleNotFoundError) and error.name == "z3"
    print(json.dumps({{"error": "z3-solver is not installed: pip install z3-solver" if missing else
        f"Z3 does not load: {{type(error).__name__}}: {{error}}"}}), flush=True)
else:
    main({memory})
"""


def _converse(popen: subprocess.Popen[bytes], queries: SimpleQueue[bytes | None], answers: SimpleQueue[bytes]) -> None:
    """Pass on the first message, then one for each query; an incomplete line means that the process has ended."""
    stdin, stdout = cast(BinaryIO, popen.stdin), cast(BinaryIO, popen.stdout)
    line = stdout.readline()
    answers.put(line)
    while line and (query := queries.get()) is not None:
        with suppress(OSError):  # it has ended, as the next line will tell
            stdin.write(query)
            stdin.flush()
        line = stdout.readline()
        answers.put(line)
    with suppress(OSError):
        stdin.close()
    stdout.close()


def _end(
    popen: subprocess.Popen[bytes], queries: SimpleQueue[bytes | None], thread: threading.Thread, owner: int
) -> None:
    if os.getpid() != owner:  # a fork: the process is its parent's
        return
    popen.kill()
    popen.wait()
    queries.put(None)
    if thread is not threading.current_thread():
        thread.join()


_shared: dict[tuple[int, int], Backend] = {}


def shared(memory: int = MEMORY) -> Backend:
    """The backend that this process shares, one for each limit of memory."""
    return _shared.setdefault((os.getpid(), memory), Backend(memory=memory))


__all__ = ["MEMORY", "Answer", "Backend", "SolverError", "shared"]
