"""Many jobs: in processes here, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence

from absint.runs.pool import Finished, Job, run


def finished(
    groups: Sequence[Sequence[Job]], perform: str, jobs: int | None, scheduler: str | None, *, limited: bool = False
) -> Generator[Finished]:
    """Do the jobs of all groups with the function `perform`, `package.module:function`, and yield them as they finish.

    They run in that many processes, by default one for each core, or on the cluster of a scheduler. `seconds` of a job
    is its time limit; with `limited`, a process may hold as much memory as a run of a model.
    """
    groups = [group for group in groups if group]
    if scheduler is not None:
        from absint.runs.distributed import run_distributed

        return run_distributed(groups, perform, scheduler, limited=limited)

    return run(groups, perform, jobs=jobs or cores(), limited=limited)


def check_scheduler(scheduler: str | None) -> None:
    """Raises UsageError if there is to be a cluster, and its scheduler does not answer."""
    if scheduler is not None:
        from absint.runs import distributed

        distributed.check_scheduler(scheduler)


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
