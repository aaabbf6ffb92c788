"""Jobs in processes of their own: one that dies or hangs costs the job it was at, and another takes its place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final, Literal, NamedTuple, cast

from absint.errors import UsageError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Job = dict[str, Json]
Outcome = Literal["done", "unreadable", "error", "timed out", "died"]

START: Final = 120.0
"""Seconds in which a process must have started; they are not the job's."""

STARTS: Final = 3
"""So often a process is started that something kills before it is ready."""

_ENDING: Final = 5.0


@dataclass(frozen=True)
class Done:
    """What became of a job."""

    outcome: Outcome
    answer: Json = None
    """What it gave, if it is done."""
    failure: str = ""
    """In one line why it gave nothing."""
    seconds: float = 0.0


class Finished(NamedTuple):
    """A job and what became of it."""

    job: Job
    done: Done


class Worker:
    """A process that does one job after the other; it is started when it is needed, and again when it has ended."""

    def __init__(self, perform: str) -> None:
        self._perform = perform
        self._process: subprocess.Popen[bytes] | None = None

    def do(self, job: Job, seconds: float) -> Done:
        """Do a job in the process; past the seconds it is killed. Raises UsageError if no process can be started."""
        start = time.monotonic()
        process = self._started()
        if process is None:
            took = time.monotonic() - start
            return Done("died", failure=f"its process was killed {STARTS} times while it started", seconds=took)
        start = time.monotonic()
        expired, line = self._exchange(process, json.dumps(job).encode() + b"\n", seconds)
        took = time.monotonic() - start
        if line.endswith(b"\n"):
            message = json.loads(line)
            return Done(message["outcome"], message.get("answer"), message.get("failure", ""), took)
        if expired:
            return Done("timed out", failure=f"no result within {seconds:g} s", seconds=took)
        return Done("died", failure=f"the process ended ({_ending(process)})", seconds=took)

    def end(self) -> None:
        """Kill the process, and whatever it started in its group."""
        process, self._process = self._process, None
        if process is not None:
            _kill(process)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast(BinaryIO, stream).close()

    def _started(self) -> subprocess.Popen[bytes] | None:
        """The process, which is tried again if it is killed while it starts; None if that happens every time."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        for _ in range(STARTS):
            self.end()
            process = self._process = _spawn(self._perform)
            expired, line = self._exchange(process, b"", START)
            if line:
                return process
            if expired or process.wait() >= 0:  # it ended by itself
                raise UsageError(f"a process of the study does not start: {sys.executable} cannot load {self._perform}")
        return None

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes, seconds: float) -> tuple[bool, bytes]:
        """Send a line and wait for one. Whether the time was up, and the line; not a whole one if the process ended."""
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            _kill(process)

        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), expire)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):  # it has ended, as the empty line will tell
                cast(BinaryIO, process.stdin).write(line)
                cast(BinaryIO, process.stdin).flush()
            reply = cast(BinaryIO, process.stdout).readline()
        finally:
            timer.cancel()
            timer.join()
        if expired.is_set() or not reply.endswith(b"\n"):
            with suppress(subprocess.TimeoutExpired):  # it is about to end by itself, in a way of its own
                process.wait(_ENDING)
            self.end()
        return expired.is_set(), reply


def seconds_of(job: Job) -> float:
    """What a job may take: its own `seconds`."""
    return cast(float, job["seconds"])


def run(groups: Iterable[Sequence[Job]], perform: str, *, jobs: int) -> Generator[Finished]:
    """Do all jobs in that many processes; they are given as they finish.

    Jobs of a group are done by one process, in their order, which can so keep what they share; one that has nothing
    else to do takes from the longest group that is left.
    """
    schedule, finished = Schedule(groups), SimpleQueue[Finished | BaseException | None]()
    workers = [Worker(perform) for _ in range(max(1, min(jobs, schedule.count)))]
    threads = [
        threading.Thread(target=_drive, args=(number, worker, schedule, finished), daemon=True)
        for number, worker in enumerate(workers)
    ]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            item = finished.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        schedule.stop()
        for worker in workers:
            worker.end()


def _drive(
    number: int, worker: Worker, schedule: Schedule, finished: SimpleQueue[Finished | BaseException | None]
) -> None:
    try:
        while (job := schedule.next(number)) is not None:
            finished.put(Finished(job, worker.do(job, seconds_of(job))))
    except BaseException as error:
        finished.put(error)
    finally:
        worker.end()
        finished.put(None)


class Schedule:
    """Which worker does which job; threads may ask at once."""

    def __init__(self, groups: Iterable[Sequence[Job]]) -> None:
        self._waiting = deque(deque(group) for group in groups)
        self._begun: dict[int, deque[Job]] = {}
        self._lock = threading.Lock()
        self.count = sum(map(len, self._waiting))

    def next(self, worker: int) -> Job | None:
        """The next job of the worker's group; of a new group; the last one of the longest group; None."""
        with self._lock:
            own = self._begun.get(worker)
            if own:
                return own.popleft()
            while self._waiting:
                own = self._begun[worker] = self._waiting.popleft()
                if own:
                    return own.popleft()
            longest = max(self._begun.values(), key=len, default=None)
            return longest.pop() if longest else None

    def stop(self) -> None:
        """Give out no more jobs."""
        with self._lock:
            self._waiting.clear()
            self._begun.clear()


_PROGRAM: Final = """\
import sys
sys.path[:] = {path!r}
from absint.runs.pool_child import main
main({perform!r})
"""


def _spawn(perform: str) -> subprocess.Popen[bytes]:
    """A Python that finds the modules that this one finds. Nothing it prints reaches the terminal."""
    path = [os.path.abspath(entry) for entry in sys.path]
    home = str(Path(__file__).resolve().parents[2])
    if home not in path:
        path.append(home)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=path, perform=perform)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is for the parent; a group of its own to kill
        )
    except OSError as error:
        raise UsageError(f"a process of the study cannot be started: {error}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:  # its number may be another's by now
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    return f"signal {-code}" if code < 0 else f"exit code {code}"


__all__ = ["Done", "Finished", "Job", "Json", "Outcome", "Worker", "run", "seconds_of"]
