"""A folder of SMT-LIB 2 files with an index: a benchmark family for solvers.

Each text is one file, `LOGIC/STATUS-DIGEST.smt2`; the index lists the claims that it stands for.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, cast

from absint.errors import UsageError
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import json_text
from absint.lattices.text.forms import ANYTHING, Key, Object, by_name, keys_of, many
from absint.model.writing import write_file
from absint.research.study.queries import PERFORM, Status
from absint.research.study.solvers import Checked
from absint.research.study.study import SECONDS, Progress
from absint.research.study.tasks import Pair, Task, pairs, read_sources
from absint.runs.pool import Done, Json, finished
from absint.version import VERSION

INDEX: Final = "index.json"


@dataclass
class Entry:
    """A script and the claims that it stands for."""

    body: str
    logic: str
    status: Status
    tier: str
    premises: int
    symbols: int
    occurrences: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    """By model and claim."""

    @property
    def file(self) -> str:
        """Its path below the folder."""
        return f"{self.logic}/{self.status}-{hashlib.sha256(self.body.encode()).hexdigest()[:16]}.smt2"


@dataclass(frozen=True)
class Export:
    """The queries of a study."""

    entries: Sequence[Entry]
    """By file."""
    claims: int
    """Equalities that they stand for; one that several sources claim counts for each."""
    left_out: Mapping[str, int]
    """Claims without a query, by reason."""
    failures: Sequence[str]
    """Pairs of model and source without all of their queries, one line each."""

    def count(self, status: Status) -> int:
        """Files of a status."""
        return sum(entry.status == status for entry in self.entries)


def export(
    folder: str | os.PathLike[str],
    *,
    sources: Sequence[str] = (),
    jobs: int | None = None,
    seconds: float = SECONDS,
    scheduler: str | None = None,
    progress: Progress | None = None,
    perform: str = PERFORM,
) -> Export:
    """The queries behind the claims of each source about each model below a folder; arguments as for `study`.

    Raises UsageError as `study` does.
    """
    groups = pairs(folder, read_sources(sources), seconds=seconds)
    order = [task.key for group in groups for task in group]
    found: dict[Pair, tuple[Task, Done]] = {}
    jobs_of = [[task.to_job() for task in group] for group in groups]
    with closing(finished(jobs_of, perform, jobs, scheduler)) as results:
        for job, done in results:
            task = Task.from_job(job)
            found[task.key] = task, done
            if progress is not None:
                progress(len(found), len(order), f"{task.model}, {task.source}")
    return _gathered([found[key] for key in order])


def _gathered(found: Sequence[tuple[Task, Done]]) -> Export:
    entries: dict[str, Entry] = {}
    left_out = Counter[str]()
    failures = []
    claims = 0
    for task, done in found:
        answer = cast("dict[str, Any]", done.answer or {"failure": done.failure, "queries": [], "left_out": {}})
        if answer["failure"]:
            failures.append(f"{task.source} failed on {task.model}: {answer['failure']}")
        left_out.update(answer["left_out"])
        for query in answer["queries"]:
            claims += query["count"]
            _add(entries, task, query)
    ordered = sorted(entries.values(), key=lambda entry: entry.file)
    return Export(ordered, claims, dict(sorted(left_out.items())), failures)


def _add(entries: dict[str, Entry], task: Task, query: Mapping[str, Any]) -> None:
    entry = entries.setdefault(
        query["body"],
        Entry(query["body"], query["logic"], query["status"], query["tier"], query["premises"], len(query["names"])),
    )
    key = task.model, query["claim"]
    known = entry.occurrences.setdefault(
        key,
        {
            "model": task.model,
            "claim": query["claim"],
            "places": query["places"],
            "count": query["count"],
            "symbols": query["names"],
            "sources": [],
        },
    )
    cast("list[Json]", known["sources"]).append(str(task.source))


# Files


def write_export(found: Export, folder: Path) -> None:
    """Write the files, then the index, and remove outdated files of an earlier export.

    Raises UsageError for a folder that holds something else.
    """
    old = check_folder(folder)
    for entry in found.entries:
        path = folder / entry.file
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(script(entry), path)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(QUERIES.text(found) + "\n", folder / INDEX)
    for file in old.keys() - {entry.file for entry in found.entries}:
        with suppress(OSError):
            (folder / file).unlink()


def check_folder(folder: Path) -> Mapping[str, Status]:
    """The files of an earlier export in the folder, with their status.

    Raises UsageError if it is no folder, or has files but no index of an export.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--output {folder} is a file: give a folder")
    if not folder.exists() or not any(folder.iterdir()):
        return {}
    if not is_export(folder):
        raise UsageError(f"--output {folder} has files that are no export: give another folder")
    return read_index(folder)


def is_export(folder: Path) -> bool:
    """The folder has an index."""
    return (folder / INDEX).is_file()


def read_index(folder: Path) -> dict[str, Status]:
    """File -> status of an export. Raises UsageError for an invalid index."""
    path = folder / INDEX
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["schema"] != QUERIES.form:
            raise UsageError(f"{path}: expected the schema {QUERIES.form}, found {str(found['schema'])[:60]}")
        statuses = {str(item["file"]): item["status"] for item in found["queries"]}
    except UsageError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{path} is no index of an export") from None
    for file, status in statuses.items():
        parts = Path(file).parts
        if status not in ("sat", "unsat") or Path(file).is_absolute() or ".." in parts:
            raise UsageError(f"{path} is no index of an export: {file[:60]!r}")
    return statuses


def script(entry: Entry) -> str:
    """The text of a file."""
    first = next(iter(entry.occurrences.values()))
    notes: dict[str, Json] = {
        "model": first["model"], "claim": first["claim"], "places": first["places"], "claimed by": first["sources"],
        "models and claims": len(entry.occurrences),
    }  # fmt: skip
    doubled = json_text(notes).replace('"', '""')
    return "\n".join(
        [
            "(set-info :smt-lib-version 2.6)",
            f"(set-info :source |{_SOURCE}|)",
            '(set-info :category "industrial")',
            f"(set-info :status {entry.status})",
            f'(set-info :notes "{doubled}")',
            f"(set-logic {entry.logic})",
            entry.body,
            "(check-sat)",
            "(exit)",
            "",
        ]
    )


_SOURCE: Final = f"""
Generated by absint {VERSION} from an ONNX model: what a run of the model requires, what holds of the sizes that it
computes, and the negation of an equality of two sizes that somebody claims.
unsat: the equality is proved. sat: it does not follow.
"""


_ENTRY: Final = Object[Entry](
    Key("file", str, "its path below the folder"),
    Key("status", str),
    Key("logic", str),
    Key("decided_by", str, of=lambda entry: entry.tier),
    Key("premises", int),
    Key("symbols", int),
    Key("occurrences", many(ANYTHING), "the claims that it stands for", lambda entry: entry.occurrences.values()),
)
QUERIES: Final = Document[Export](
    "queries",
    1,
    "index.json of exported queries (absint export-queries --output DIR)",
    Key("claims", int),
    Key("left_out", by_name(int), "claims without a query, by reason"),
    Key("failures", many(str), "pairs of model and source without all of their queries"),
    Key("queries", many(_ENTRY), of=lambda found: found.entries),
    head=(),
    defines=False,
)


_EXPORT: Final = Object[Export](
    Key("files", int, "these keys are left out if nothing was written", lambda found: len(found.entries)),
    Key("unsat", int, "files whose claim is proved", lambda found: found.count("unsat")),
    Key("sat", int, "files whose claim does not follow from the premises", lambda found: found.count("sat")),
    Key("claims", int, "equalities that the files stand for; one that several sources claim counts for each"),
    Key("left_out", by_name(int), "claims without a query, by reason"),
    Key("failures", many(str), "pairs of model and source without all of their queries"),
)
_CHECKED: Final = Object[Checked](
    *keys_of(Checked, status="that the file states", verdicts="by solver", reasons="of solvers without a verdict"),
    Key("agrees", bool, "no solver contradicts the status"),
)
EXPORT_QUERIES: Final = Document[tuple[Export | None, Sequence[Checked] | None]](
    "export-queries",
    1,
    "queries behind a study (absint export-queries)",
    _EXPORT.spread(itemgetter(0), itemgetter(0)),
    Key(
        "check",
        many(_CHECKED),
        "with `--check`: what the solvers say of each file",
        lambda pair: pair[1] or (),
        lambda pair: pair[1] is not None,
    ),
    head=(),
    defines=False,
)
