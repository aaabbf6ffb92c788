"""Many jobs: in processes here, or on a Dask cluster, for corpora that outgrow one machine.

A group of jobs is one Dask task, so that a worker keeps what the jobs share. The worker does them in a process of its
own, as on one machine: a job that dies or hangs harms no other. If a worker is lost, Dask gives its group to another.
Only the client writes results, those of each group once.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError
from absint.runs.pool import Done, Finished, Job, Worker, build, do, run, worker_for
from absint.shapes.memo.gc_pause import uncollected

if TYPE_CHECKING:
    import distributed


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
