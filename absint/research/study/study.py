"""A study: every model of a folder, every source of claims."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from absint.research.study.results import Record, Store, record
from absint.research.study.tables import Row, rows
from absint.research.study.tasks import PERFORM, Pair, Task, pairs, read_sources
from absint.runs.pool import finished

SECONDS: Final = 120.0
"""Time limit of a pair."""

Progress = Callable[[int, int, str], None]
"""Called with the number of finished pairs, that of all pairs, and the pair finished last."""


@dataclass(frozen=True)
class Study:
    """The records of a study, one for each pair, model by model."""

    records: tuple[Record, ...]
    reused: int = 0
    """Records from an earlier run."""
    damaged: int = 0
    """Lines in the file of results that are no record, and were ignored."""

    def __repr__(self) -> str:
        return f"<Study: {len(self.records):,} records, {len(self.lost):,} lost>"

    @property
    def table(self) -> list[Row]:
        """One row a source."""
        return rows(self.records)

    @property
    def lost(self) -> list[Record]:
        """The pairs at which the study failed."""
        return [found for found in self.records if found.is_lost]


def study(
    folder: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    sources: Sequence[str] = (),
    jobs: int | None = None,
    seconds: float = SECONDS,
    confirm: bool = True,
    at_least: int = 0,
    retry: bool = False,
    scheduler: str | None = None,
    progress: Progress | None = None,
    perform: str = PERFORM,
) -> Study:
    """Judge the claims of each source about each model below a folder.

    With `at_least`, claims are judged under the assumption that every size of the inputs is at least this number.

    `sources` are `declared`, names of policies and of tools; by default all that are available. Pairs run in `jobs`
    processes, by default one per core, or on the Dask cluster of a `scheduler`, whose workers see the same files. A
    pair that takes more than `seconds` is given up. Results go to a file in `out`; those already there are not computed
    again, unless the model or a version changed; `retry` repeats pairs at which the study failed.

    Raises UsageError for a folder without models, an unknown source, a scheduler that does not answer.
    """
    groups = pairs(folder, read_sources(sources), seconds=seconds, confirm=confirm, at_least=at_least)
    with closing(Store(Path(out))) if out is not None else nullcontext() as store:
        tasks = {task.key: task for group in groups for task in group}
        found: dict[Pair, Record] = {}
        if store is not None:
            known = {key: old for key, task in tasks.items() if (old := store.of(task)) is not None}
            found = {key: old for key, old in known.items() if not (retry and old.is_lost)}
        reused = len(found)
        missing = [[task.to_job() for task in group if task.key not in found] for group in groups]
        if progress is not None:
            progress(reused, len(tasks), "")
        with closing(finished(missing, perform, jobs, scheduler)) as results:
            for job, done in results:
                task = Task.from_job(job)
                new = record(task, done)
                if new.key in found:  # a cluster may do a job twice
                    continue
                found[new.key] = new
                if store is not None:
                    store.add(new)
                if progress is not None:
                    progress(len(found), len(tasks), f"{task.model}, {task.source}")
        return Study(tuple(found[key] for key in tasks), reused, store.damaged if store is not None else 0)
