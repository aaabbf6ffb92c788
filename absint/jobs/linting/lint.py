"""Lint: the findings about many models, each checked in a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from absint.errors import ModelError, UsageError
from absint.jobs.linting.finding import FileReport, Finding, LintResult, fingerprints, in_order
from absint.jobs.linting.settings import Patterns, Selection, Settings, read_prefixes
from absint.lattices.limits import Limits
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, by_name
from absint.model import opening, writing
from absint.program.limits import LimitError, checked
from absint.program.rules.plugins import read_table
from absint.runs.allowance import explained
from absint.runs.pool import Done, Finished, Job, do, finished, kept
from absint.solution.analysed import Analysed

if TYPE_CHECKING:
    from absint.model.load import ModelLike
    from absint.transfer.rule import Table


# The models to check: files as they are given, and those below folders.

SUFFIX: Final = ".onnx"
PERFORM: Final = "absint.jobs.linting.lint:perform"
"""The function that checks one model."""


def models(given: Sequence[str | os.PathLike[str]], root: Path, exclude: Patterns, *, force: bool = False) -> list[str]:
    """The files, and the models below the folders in the order of their paths, each once.

    Patterns fit paths from `root`. They count for what is below folders; with `force` also for files that are given.
    Raises UsageError for a path that is not there, and if folders are given and no model is left.
    """
    found: dict[str, None] = {}
    for item in given:
        path = os.fspath(item)
        if os.path.isdir(path):
            found.update(dict.fromkeys(_below(path, root, exclude)))
        elif not os.path.lexists(path):
            raise UsageError(f"{path} {opening.absent(path)}")
        elif not (force and exclude.match(relative(path, root))):
            found[shown(path)] = None
    if not found and not force:
        folders = ", ".join(os.fspath(item) for item in given[:3])
        why = f"no file below {folders} ends with {SUFFIX}" if given else "none is given"
        raise UsageError(f"there is no model to check: {why}")
    return list(found)


def _below(folder: str, root: Path, exclude: Patterns) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not exclude.match_folder(relative(os.path.join(here, name), root))
        )
        for name in sorted(files):
            path = os.path.join(here, name)
            if name.lower().endswith(SUFFIX) and not exclude.match(relative(path, root)):
                yield shown(path)


def shown(path: str) -> str:
    """The path as findings show it, with slashes: from the working directory if it is below, else as it is given."""
    here = relative(path, Path.cwd())
    return Path(path).as_posix() if os.path.isabs(here) else here


def relative(path: str, root: Path) -> str:
    """The path from a root, with slashes; as it is, made absolute, if it is not below."""
    absolute = os.path.abspath(path)
    try:
        return Path(absolute).relative_to(root).as_posix()
    except ValueError:
        return Path(absolute).as_posix()


# Baselines: the findings of a day, so that a gate fails on new ones only.

Known = Mapping[str, Mapping[str, str]]
"""Fingerprints by file, each with what it was, for readers."""

BASELINE: Final = Document[Known](
    "lint-baseline",
    1,
    "the findings of a day (absint lint --write-baseline)",
    Key("files", by_name(by_name(str)), "fingerprints by file, each with what it was", lambda known: known),
    head=(),
    defines=False,
    versioned=False,
)


def read_baseline(path: Path) -> Known:
    """The findings of a baseline. Raises UsageError for a file that is none."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be read: {error.strerror}; --write-baseline writes one") from None
    except ValueError as error:
        raise UsageError(f"the baseline {path} is no JSON: {error}") from None
    files = data.get("files") if isinstance(data, dict) and data.get("schema") == BASELINE.form else None
    if not isinstance(files, dict) or not all(isinstance(found, dict) for found in files.values()):
        raise UsageError(f"{path} is no baseline of absint lint")
    return files


def write_baseline(path: Path, files: Sequence[FileReport]) -> None:
    """Write all findings as a baseline. Paths are relative to its folder."""
    found: dict[str, Mapping[str, str]] = {
        _key(file, path): {
            fingerprint: f"{item.code} {item.where}".rstrip()
            for fingerprint, item in zip(fingerprints(file.findings), file.findings, strict=True)
        }
        for file in files
        if file.findings
    }
    writing.write_file(BASELINE.text(found) + "\n", path)


def without_known(files: Sequence[FileReport], known: Known, path: Path) -> tuple[list[FileReport], int]:
    """The reports without the findings of the baseline, and how many of these files are there no more."""
    kept, stale = [], 0
    for file in files:
        mine = known.get(_key(file, path), {})
        marks = fingerprints(file.findings)
        new = tuple(item for mark, item in zip(marks, file.findings, strict=True) if mark not in mine)
        stale += len(mine.keys() - set(marks))
        kept.append(replace(file, findings=new, hidden=len(file.findings) - len(new)))
    return kept, stale


def _key(file: FileReport, path: Path) -> str:
    return relative(file.path, Path(os.path.abspath(path)).parent)


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
    analyses: Sequence[str | os.PathLike[str]] = (),
    jobs: int | None = None,
    seconds: float | None = None,
    run: bool = False,
    scheduler: str | None = None,
    progress: Progress | None = None,
    settings: Settings | None = None,
    perform: str = PERFORM,
) -> LintResult:
    """Check models: nodes that cannot run, false declarations, symbols that hide what the contract demands.

    `given` are paths of models and of folders, in which every `*.onnx` counts, or one model or `Result` in memory.
    `select` and `ignore` are codes of rules, prefixes of codes, or names; `exclude` has patterns as a
    .gitignore, which count for what is below folders, with `force_exclude` for paths that are given too.
    Findings of a `baseline` are left out. `rules` are Python files with transfer rules of one's own, `analyses` those
    with analyses of one's own; they are run. What the analyses report is among the findings, and has their codes.
    With `run` models whose rows are not proved to stay apart are run in onnxruntime.
    Models of files are checked in `jobs` processes, by default one for each core, or on
    the Dask cluster of a `scheduler`, and take at most `seconds` each: one that dies, hangs or cannot be read is a
    finding. `settings` are those of a project (`find_settings`), which the other arguments override.

    Raises UsageError for a path that is not there, folders without a model, an unknown code, a baseline that is none.
    """
    own = settings or Settings(Path.cwd())
    members = tuple(os.path.abspath(path) for path in (*own.analyses, *analyses))
    is_open = bool(members) or (isinstance(given, Analysed) and given.cooperation is not None)
    selection = replace(
        own.selection,
        select=read_prefixes(select, "select", is_open=is_open) or own.selection.select,
        ignore=(*own.selection.ignore, *read_prefixes(ignore, "ignore", is_open=is_open)),
    )
    operators = tuple(os.path.abspath(path) for path in rules)
    read_table(operators)
    if members:
        from absint.analyses.exchange import read_analyses

        read_analyses(members)
    if isinstance(given, str | os.PathLike):
        given = [given]
    seconds = checked(Limits(own.seconds if seconds is None else seconds)).seconds
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        from absint.jobs.linting.model import findings

        result = _analysed(given, read_table(operators), members)
        report = FileReport(result.origin, tuple(findings(result, seconds, run=run)))
        return LintResult((_selected(report, selection, Path.cwd()),))
    patterns = Patterns((*own.exclude.texts, *exclude))
    names = {os.path.abspath(path): path for path in models(given, own.root, patterns, force=force_exclude)}
    work = [job_of(path, name, seconds, operators, members, run=run) for path, name in names.items()]
    with closing(finished([[job] for job in work], perform, jobs, scheduler, limited=True)) as results:
        found = _reports(names, results, progress)
    files = [_selected(file, selection, own.root) for file in found]
    kept, stale = _without_known(files, own, baseline)
    return LintResult(tuple(kept), stale)


def lint_file(path: str, settings: Settings) -> FileReport:
    """The report of one file, checked in a process that is kept for the next one."""
    name = shown(path)
    done = do(kept(PERFORM), job_of(os.path.abspath(path), name, settings.seconds, (), settings.analyses))
    found = FileReport(name, tuple(findings_of(done)), seconds=done.seconds)
    (file,), _ = _without_known([_selected(found, settings.selection, settings.root)], settings, None)
    return file


def _without_known(
    files: list[FileReport], settings: Settings, baseline: str | os.PathLike[str] | None
) -> tuple[list[FileReport], int]:
    """The reports without the findings of the baseline, or of that of the project, and how many of it are gone."""
    known = baseline if baseline is not None else settings.root / settings.baseline if settings.baseline else None
    return (files, 0) if known is None else without_known(files, read_baseline(Path(known)), Path(known))


def _analysed(
    given: ModelLike | Analysed, table: Table | None, analyses: tuple[str, ...], seconds: float | None = None
) -> Analysed:
    if isinstance(given, Analysed):
        return given
    from absint.api import analyze

    return analyze(given, table=table, with_=analyses, max_seconds=seconds)


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


# The work of one model, in a process of its own.

_ANALYSIS: Final = 0.5
_CONTRACT: Final = 0.25
"""Parts of a model's time after which the analysis and the contract stop; what they found counts."""


def job_of(
    path: str, shown: str, seconds: float, rules: Sequence[str] = (), analyses: Sequence[str] = (), *, run: bool = False
) -> Job:
    """The job for a model, by its absolute path and the one that findings show; `rules` are files of transfer rules,
    `analyses` files of analyses, and with `run` onnxruntime may run it.
    """
    job: Job = {"path": path, "shown": shown, "seconds": seconds, "run": run}
    return {**job, "rules": list(rules), "analyses": list(analyses)}


def perform(job: Job) -> Sequence[Finding]:
    """The findings about the model."""
    path, seconds = cast(str, job["path"]), cast(float, job["seconds"])
    rules, analyses = (tuple(cast("list[str]", job[key])) for key in ("rules", "analyses"))
    try:
        from absint.jobs.linting.model import findings

        table = _kept_table(rules, tuple(os.stat(file).st_mtime_ns for file in rules))
        result = _analysed(path, table, analyses, seconds * _ANALYSIS)
        return findings(result, seconds * _CONTRACT, run=bool(job["run"]))
    except LimitError as error:
        return [Finding.of("ABS004", "", str(error))]
    except ModelError as error:
        return [Finding.of("ABS001", "", str(error).replace(path, cast(str, job["shown"])))]
    except MemoryError:
        return [Finding.of("ABS002", "", explained("MemoryError"))]


@lru_cache(maxsize=4)
def _kept_table(rules: tuple[str, ...], _: tuple[int, ...]) -> Table | None:
    """The table for all models that this process checks, while the files have these times."""
    return read_table(rules)


def findings_of(done: Done) -> Sequence[Finding]:
    """The findings about a model that its job gave, or why it gave none."""
    if done.outcome == "done":
        return cast("Sequence[Finding]", done.answer)
    code = {"timed out": "ABS003", "died": "ABS002", "unreadable": "ABS001"}.get(done.outcome, "ABS005")
    return [Finding.of(code, "", done.failure)]
