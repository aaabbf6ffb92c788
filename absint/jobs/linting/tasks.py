"""The work of one model, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from absint.errors import ModelError
from absint.jobs.linting.codes import RULES
from absint.jobs.linting.finding import Finding
from absint.runs.allowance import explained
from absint.runs.pool import Done, Job, Json

if TYPE_CHECKING:
    from absint.transfer.table import Table

PERFORM: Final = "absint.jobs.linting.tasks:perform"
"""The function that checks one model."""

_ANALYSIS: Final = 0.5
_CONTRACT: Final = 0.25
"""Parts of a model's time after which the analysis and the contract stop; what they found counts."""


def job_of(path: str, shown: str, seconds: float, rules: Sequence[str] = ()) -> Job:
    """The job for a model, by its absolute path and the one that findings show; `rules` are files of transfer rules."""
    return {"path": path, "shown": shown, "seconds": seconds, "rules": list(rules)}


def perform(job: Job) -> Json:
    """The findings about the model."""
    try:
        rules = tuple(cast("list[str]", job["rules"]))
        return [item.to_json() for item in _findings(cast(str, job["path"]), cast(float, job["seconds"]), rules)]
    except ModelError as error:
        return [_failed("ABS001", str(error).replace(cast(str, job["path"]), cast(str, job["shown"]))).to_json()]
    except MemoryError:
        return [_failed("ABS002", explained("MemoryError")).to_json()]


def _findings(path: str, seconds: float, rules: tuple[str, ...]) -> Sequence[Finding]:
    from absint.api import analyze
    from absint.jobs.linting.model import findings
    from absint.program.limits import LimitError

    try:
        result = analyze(path, table=_kept_table(rules, _times(rules)), max_seconds=seconds * _ANALYSIS)
    except LimitError as error:
        return [_failed("ABS004", str(error))]
    return findings(result, seconds * _CONTRACT)


def table_of(rules: Sequence[str]) -> Table | None:
    """The shipped rules and those of the files, which are run; None without a file.

    Raises UsageError as `absint.program.rules.files.read_rules` does.
    """
    if not rules:
        return None
    from absint.program.rules.files import read_rules
    from absint.transfer.families import shipped

    return shipped().extended(read_rules(rules))


@lru_cache(maxsize=4)
def _kept_table(rules: tuple[str, ...], _: tuple[int, ...]) -> Table | None:
    """The table for all models that this process checks, while the files have these times."""
    return table_of(rules)


def _times(rules: Sequence[str]) -> tuple[int, ...]:
    return tuple(os.stat(path).st_mtime_ns for path in rules)


def findings_of(done: Done) -> list[Finding]:
    """The findings about a model that its job gave, or why it gave none."""
    match done.outcome:
        case "done":
            return [Finding.from_json(item) for item in cast("list[Json]", done.answer)]
        case "timed out":
            return [_failed("ABS003", done.failure)]
        case "died":
            return [_failed("ABS002", done.failure)]
        case "unreadable":
            return [_failed("ABS001", done.failure)]
    return [_failed("ABS005", done.failure)]


def _failed(code: str, reason: str) -> Finding:
    return Finding(code, RULES[code].severity, "", reason)
