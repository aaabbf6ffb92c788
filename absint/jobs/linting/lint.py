"""Lint: the findings about many models, each checked in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from absint.jobs.linting.baseline import read_baseline, without_known
from absint.jobs.linting.files import models, relative, shown
from absint.jobs.linting.finding import FileReport, Finding, LintResult, in_order
from absint.jobs.linting.patterns import Patterns
from absint.jobs.linting.selection import Selection, read_prefixes
from absint.jobs.linting.settings import SECONDS, Settings
from absint.jobs.linting.tasks import PERFORM, findings_of, job_of, table_of
from absint.runs.jobs import finished
from absint.runs.pool import Finished, do
from absint.runs.worker import kept

if TYPE_CHECKING:
    from absint.model.load import ModelLike
    from absint.solution.analysed import Analysed

Progress = Callable[[int, int, str], None]
"""Called with the number of finished models, that of all, and the model finished last."""


def lint(
    given: ModelLike | Analysed | Sequence[str | os.PathLike[str]],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    exclude: Sequence[str] = (),
    force_exclude: bool = False,
    baseline: str | os.PathLike[str] | None = None,
    rules: Sequence[str | os.PathLike[str]] = (),
    jobs: int | None = None,
    seconds: float | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    settings: Settings | None = None,
    perform: str = PERFORM,
) -> LintResult:
    """Check models: nodes that cannot run, false declarations, symbols that hide what the contract demands.

    `given` are paths of models and of folders, in which every `*.onnx` counts, or one model or `Result` in memory.
    `select` and `ignore` are codes of rules, prefixes of codes, or names; `exclude` has patterns as a
    .gitignore, which count for what is below folders, with `force_exclude` for paths that are given too.
    Findings of a `baseline` are left out. `rules` are Python files with transfer rules of one's own, which are run.
    Models of files run in `jobs` processes, by default one for each core, or on
    the Dask cluster of a `scheduler`, and take at most `seconds` each: one that dies, hangs or cannot be read is a
    finding. `settings` are those of a project (`find_settings`), which the other arguments override.

    Raises UsageError for a path that is not there, folders without a model, an unknown code, a baseline that is none.
    """
    own = settings or Settings(Path.cwd())
    selection = replace(
        own.selection,
        select=read_prefixes(select, "select") or own.selection.select,
        ignore=(*own.selection.ignore, *read_prefixes(ignore, "ignore")),
    )
    operators = tuple(os.path.abspath(path) for path in rules)
    table_of(operators)
    if isinstance(given, str | os.PathLike):
        given = [given]
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        return LintResult((_in_memory(given, own.seconds if seconds is None else seconds, selection, operators),))
    patterns = Patterns((*own.exclude.texts, *exclude))
    names = {os.path.abspath(path): path for path in models(given, own.root, patterns, force=force_exclude)}
    work = [job_of(path, name, own.seconds if seconds is None else seconds, operators) for path, name in names.items()]
    with closing(finished([[job] for job in work], perform, jobs, scheduler, limited=True)) as results:
        found = _reports(names, results, progress)
    files = [_selected(file, selection, own.root) for file in found]
    kept, stale = _without_known(files, own, baseline)
    return LintResult(tuple(kept), stale)


def lint_file(path: str, settings: Settings) -> FileReport:
    """The report of one file, checked in a process that is kept for the next one."""
    name = shown(path)
    done = do(kept(PERFORM), job_of(os.path.abspath(path), name, settings.seconds))
    found = FileReport(name, tuple(findings_of(done)), seconds=done.seconds)
    (file,), _ = _without_known([_selected(found, settings.selection, settings.root)], settings, None)
    return file


def _without_known(
    files: list[FileReport], settings: Settings, baseline: str | os.PathLike[str] | None
) -> tuple[list[FileReport], int]:
    """The reports without the findings of the baseline, or of that of the project, and how many of it are gone."""
    known = baseline if baseline is not None else settings.root / settings.baseline if settings.baseline else None
    return (files, 0) if known is None else without_known(files, read_baseline(Path(known)), Path(known))


def _in_memory(given: ModelLike | Analysed, seconds: float, selection: Selection, rules: tuple[str, ...]) -> FileReport:
    """The report of a model that is in memory, or of its analysis."""
    from absint.jobs.linting.model import findings
    from absint.solution.analysed import Analysed

    if isinstance(given, Analysed):
        result = given
    else:
        from absint.api import analyze

        result = analyze(given, table=table_of(rules))
    return _selected(FileReport(result.origin, tuple(findings(result, seconds))), selection, Path.cwd())


def _reports(names: Mapping[str, str], results: Iterable[Finished], progress: Progress | None) -> list[FileReport]:
    """A report for each file, in the order of `names`, which maps absolute paths to those that findings show."""
    found: dict[str, FileReport] = {}
    if progress is not None:
        progress(0, len(names), "")
    for job, done in results:
        path = str(job["path"])
        found[path] = FileReport(names[path], tuple(findings_of(done)), seconds=done.seconds)
        if progress is not None:
            progress(len(found), len(names), names[path])
    return [found[path] for path in names]


def _selected(file: FileReport, selection: Selection, root: Path) -> FileReport:
    """The report with the rules that count, and with severities of one's own."""
    path = relative(file.path, root)
    kept: list[Finding] = [
        replace(item, severity=selection.severity(item.code, item.severity))
        for item in file.findings
        if selection.has(item.code, path)
    ]
    return replace(file, findings=in_order(kept))


__all__ = ["SECONDS", "Progress", "lint", "lint_file"]
