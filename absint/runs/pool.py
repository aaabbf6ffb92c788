"""Many jobs: in processes of their own here, under the memory limit of runs, or on a Dask cluster.

A process that dies or hangs loses its current job only, and another takes its place.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from absint.errors import UsageError
from absint.runs.allowance import allowed, explained
from absint.runs.process import Child, Process, ProcessError, ending
from absint.shapes.memo.gc_pause import uncollected
from absint.version import VERSION

if TYPE_CHECKING:
    import distributed

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Job = dict[str, Json]
Outcome = Literal["done", "unreadable", "error", "timed out", "died"]


@dataclass(frozen=True)
class Done:
    """The outcome of a job."""

    outcome: Outcome
    answer: object = None
    """The result, if it is done."""
    failure: str = ""
    """One line on why it gave nothing."""
    seconds: float = 0.0


class Finished(NamedTuple):
    """A job and its outcome."""

    job: Job
    done: Done


def do(worker: Worker, job: Job) -> Done:
    """Do a job in a process of `worker_for`. Raises UsageError if it cannot be started."""
    seconds = seconds_of(job)
    start = time.monotonic()
    try:
        worker.wait()
        start = time.monotonic()
        answer = worker.ask(job, seconds)
    except ProcessError as error:
        return _lost(worker, error, seconds, time.monotonic() - start)
    return Done("done", answer, seconds=time.monotonic() - start)


def _lost(worker: Worker, error: ProcessError, seconds: float, took: float) -> Done:
    match error.outcome:
        case "not started":
            why = f"{sys.executable} cannot load {worker.function}: {error}" if error.failure else error
            raise UsageError(f"a worker process does not start: {why}") from None
        case "timed out":
            return Done("timed out", failure=f"no result within {seconds:g} s", seconds=took)
        case "died":
            failure = str(error) if error.code is None else f"the process ended ({ending(error.code)})"
            return Done("died", failure=failure, seconds=took)
    assert error.failure is not None
    outcome: Outcome = "unreadable" if error.failure.is_a("ModelError") else "error"
    return Done(outcome, failure=str(error), seconds=took)


def worker_for(perform: str, *, limited: bool = False) -> Worker:
    """A process that does jobs with this function, `package.module:function`."""
    return Worker(perform, subject="its process", limited=limited)


def seconds_of(job: Job) -> float:
    """The time limit that a job carries."""
    return cast(float, job["seconds"])


def run(groups: Iterable[Sequence[Job]], perform: str, *, jobs: int, limited: bool = False) -> Generator[Finished]:
    """Do all jobs in that many processes, and yield each as it finishes.

    One process does the jobs of a group in order, and so can keep what they share; an idle one takes jobs from the
    longest group that is left.
    """
    schedule, finished = Schedule(groups), SimpleQueue[Finished | BaseException | None]()
    workers = [worker_for(perform, limited=limited) for _ in range(max(1, min(jobs, schedule.count)))]
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
            finished.put(Finished(job, do(worker, job)))
    except BaseException as error:
        finished.put(error)
    finally:
        worker.end()
        finished.put(None)


class Schedule:
    """The assignment of jobs to workers; safe for threads."""

    def __init__(self, groups: Iterable[Sequence[Job]]) -> None:
        self._waiting = deque(deque(group) for group in groups)
        self._begun: dict[int, deque[Job]] = {}
        self._lock = threading.Lock()
        self.count = sum(map(len, self._waiting))

    def next(self, worker: int) -> Job | None:
        """The next job of the worker's group, else of a new one, else the last of the longest; None if none is left."""
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
        """Assign no more jobs."""
        with self._lock:
            self._waiting.clear()
            self._begun.clear()


@cache
def build() -> str:
    """The version of this package, and eight digits of its source, which changes within a version.

    Processes that work together, and results that are kept, need the same one.
    """
    home = Path(__file__).absolute().parents[1]
    folders = (home, *(home / name for name in ("lattices", "solver", "transfer")))  # links in a checkout
    digest = hashlib.sha256()
    for file in sorted({file for folder in folders for file in folder.rglob("*.py")}):
        digest.update(f"{file.relative_to(home).as_posix()}\n".encode())
        digest.update(file.read_bytes())
    return f"absint {VERSION} {digest.hexdigest()[:8]}"


_LONGEST: Final = 300


class Worker(Process):
    """A process with a folder of its own. The time that it takes to start does not count.

    One that is not `limited` may hold any amount of memory.
    """

    def __init__(self, function: str, *, between: str = "", subject: str = "it", limited: bool = True) -> None:
        super().__init__(function, between=between, subject=subject, own_folder=True)
        self._limited = limited

    def _running(self) -> Child:
        """As for any process, under the limit of memory that is in force."""
        self.memory = allowed() if self._limited else 0
        return super()._running()

    def ask(self, request: object, seconds: float) -> object:
        """As for any process, but the message of an AbsintError is the whole text, without the name of its class."""
        self.wait()
        try:
            return super().ask(request, seconds)
        except ProcessError as error:
            if error.failure is None:
                raise
            reason = one_line(error.failure.text if error.failure.is_a("AbsintError") else str(error))
            raise ProcessError(
                explained(reason) if self._limited else reason, error.outcome, failure=error.failure
            ) from None


def ask_once(function: str, request: object, seconds: float, *, subject: str = "it") -> object:
    """The reply of a process that serves nothing else. Raises ProcessError as `Worker.ask` does."""
    worker = Worker(function, subject=subject)
    try:
        return worker.ask(request, seconds)
    finally:
        worker.end()


@cache
def kept(function: str) -> Worker:
    """The process for a function that is kept until this one ends."""
    return Worker(function)


def one_line(message: str) -> str:
    """A message without line breaks, and not too long."""
    text = " ".join(message.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


# Many jobs here, or on a Dask cluster, for corpora that outgrow one machine.
#
# A group of jobs is one Dask task, so that a worker keeps what the jobs share. The worker does them in a process of its
# own, as on one machine: a job that dies or hangs harms no other. If a worker is lost, Dask gives its group to another.
# Only the client writes results, those of each group once.

TIMEOUT: Final = "20s"
"""Seconds in which the scheduler must answer."""


class OtherVersionError(RuntimeError):
    """A worker has another version of this package."""


def finished(
    groups: Sequence[Sequence[Job]], perform: str, jobs: int | None, scheduler: str | None, *, limited: bool = False
) -> Generator[Finished]:
    """Do the jobs of all groups with the function `perform`, `package.module:function`, and yield them as they finish.

    They run in that many processes, by default one for each core, or on the cluster of a scheduler. `seconds` of a job
    is its time limit; with `limited`, a process may hold as much memory as a run of a model.
    """
    groups = [group for group in groups if group]
    if scheduler is not None:
        return run_distributed(groups, perform, scheduler, limited=limited)
    return run(groups, perform, jobs=jobs or cores(), limited=limited)


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_distributed(
    groups: Sequence[Sequence[Job]], perform: str, scheduler: str, *, limited: bool = False
) -> Generator[Finished]:
    """Do all jobs on the cluster of a scheduler, and yield them as groups finish.

    Raises UsageError if Dask is not installed, the scheduler does not answer, or a worker has another version.
    """
    client = _client(scheduler)
    try:
        yield from _results(client, groups, perform, limited)
    finally:
        client.close()


def check_scheduler(scheduler: str | None) -> None:
    """Raises UsageError if there is to be a cluster, and Dask is not installed or its scheduler does not answer."""
    if scheduler is not None:
        _client(scheduler).close()


def _client(scheduler: str) -> distributed.Client:
    try:
        import distributed
    except ImportError:
        raise UsageError("--scheduler: Dask is not installed: pip install 'absint[distributed]'") from None
    try:
        # A dead client that the collector finds while this one starts would wait for a lock that this one holds.
        return uncollected(distributed.Client)(scheduler, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
    gc.collect()  # the client that did not start
    raise UsageError(f"--scheduler {scheduler}: no Dask scheduler answers there ({reason})")


def _results(
    client: distributed.Client, groups: Sequence[Sequence[Job]], perform: str, limited: bool
) -> Generator[Finished]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    futures = {client.submit(do_group, list(group), perform, build(), limited, pure=False): group for group in groups}
    for future in as_completed(list(futures), loop=client.loop):
        group = futures.pop(future)
        try:
            done = future.result()
        except KilledWorker:
            done = [Done("died", failure="every worker of the cluster that began it was lost")] * len(group)
        except Exception as error:
            raise UsageError(f"the cluster cannot do the work: {type(error).__name__}: {error}") from None
        yield from map(Finished, group, done)
        future.release()


_own = threading.local()


def do_group(group: Sequence[Job], perform: str, version: str, limited: bool = False) -> list[Done]:
    """Do the jobs in a process that this thread of a Dask worker keeps."""
    if build() != version:
        raise OtherVersionError(f"the client has {version}, a worker {build()}")
    worker: Worker | None = getattr(_own, perform, None)
    if worker is None:
        worker = worker_for(perform, limited=limited)
        setattr(_own, perform, worker)
    return [do(worker, job) for job in group]
