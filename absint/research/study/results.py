"""The records of a study, in an append-only file: an interrupted study continues from it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final, Literal, TypedDict, cast, get_args

from absint.errors import UsageError
from absint.research.study.tasks import Pair, Task
from absint.runs.pool import Done

Outcome = Literal["judged", "tool failed", "unreadable", "error", "timed out", "died"]
"""`judged`: its claims were judged. `tool failed`: the source says nothing or not all, and says why. `unreadable`: the
model cannot be read. `error`, `timed out`, `died`: the study itself failed at this pair."""

LOST: Final = ("error", "timed out", "died")
"""Outcomes of pairs without a result; another run may give one."""

FILE: Final = "results.jsonl"


class Refutation(TypedDict):
    """A refuted claim."""

    relation: str
    places: list[str]
    counterexample: dict[str, int]
    """Sizes at which it is false."""
    confirmed: bool
    """A run showed that it is false."""
    operator: str
    """The operator of the node that it comes from."""
    cause: str
    """The first node that it comes from."""


@dataclass(frozen=True)
class Record:
    """The claims of one source about one model, counted. Counts are 0 where nothing was judged."""

    model: str
    source: str
    kind: str
    sha256: str
    versions: str
    confirm: bool
    outcome: Outcome
    failure: str = ""
    seconds: float = 0.0
    """Seconds of the whole pair: of the source, of the analysis if this pair had to make it, and of judging."""
    tool_seconds: float = 0.0
    """Seconds of the source alone."""
    dims: int = 0
    resolved: int = 0
    claimed: int = 0
    proved: int = 0
    refuted: int = 0
    confirmed: int = 0
    not_entailed: int = 0
    unproved: int = 0
    solver_calls: int = 0
    refutations: list[Refutation] = field(default_factory=list)
    """Every refuted claim."""
    needs: str = ""
    """One line if claims are open because nothing could run the model."""
    causes: int = 0
    """Nodes that refuted claims come from."""

    @property
    def key(self) -> Pair:
        return Pair(self.model, self.source)

    @property
    def is_lost(self) -> bool:
        """The study failed at the pair."""
        return self.outcome in LOST

    @property
    def failed(self) -> bool:
        """The source gave no complete answer."""
        return self.outcome != "judged"

    def answers(self, task: Task) -> bool:
        """It is a result for this pair, with the same model file and the same versions."""
        same = (self.sha256, self.versions, self.confirm) == (task.sha256, task.versions, task.confirm)
        return same and bool(task.sha256)


def record(task: Task, done: Done) -> Record:
    """The record of a pair."""
    base = Record(
        task.model, str(task.source), task.source.kind, task.sha256, task.versions, task.confirm,
        outcome="judged", seconds=round(done.seconds, 3),
    )  # fmt: skip
    known = asdict(base)
    if done.outcome == "done":
        known |= cast("dict[str, Any]", done.answer)
        known["outcome"] = "tool failed" if known["failure"] else "judged"
    else:
        known |= {"outcome": done.outcome, "failure": done.failure}
    return Record(**known)


class Store:
    """Records in a file, one a line. A line that is cut off, because a study was killed, is ignored."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError if the folder cannot be made, or another study is writing to it."""
        self.path = folder / FILE
        self.damaged = 0
        """Lines that are no record."""
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"--output {folder} is a file: give a folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self.path.open("a+b")
        except OSError as error:
            raise UsageError(f"--output {folder} cannot be written: {error.strerror or error}") from None
        if not _locked(self._file):
            self._file.close()
            raise UsageError(f"--output {folder}: another study is writing there")
        self._known = {found.key: found for found in self._read()}

    def of(self, task: Task) -> Record | None:
        """The result for a pair, if there is one for this model file and these versions."""
        found = self._known.get(task.key)
        return found if found is not None and found.answers(task) else None

    def add(self, found: Record) -> None:
        """Write a record. It replaces the earlier ones of its pair."""
        self._known[found.key] = found
        line = json.dumps(asdict(found), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def close(self) -> None:
        """Let others write."""
        _unlock(self._file)
        self._file.close()

    def _read(self) -> Iterator[Record]:
        self._file.seek(0)
        content = self._file.read()
        for line in content.splitlines():
            found = _parsed(line)
            if found is not None:
                yield found
            else:
                self.damaged += 1
        self._file.seek(0, os.SEEK_END)
        if content and not content.endswith(b"\n"):
            self._file.write(b"\n")


def read_records(path: Path) -> list[Record]:
    """The last record of each pair in a file. Raises UsageError if it cannot be read."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    return list({found.key: found for found in map(_parsed, lines) if found is not None}.values())


def by_source(records: Iterable[Record]) -> Mapping[str, list[Record]]:
    """Records by source, in order of appearance."""
    found: dict[str, list[Record]] = {}
    for item in records:
        found.setdefault(item.source, []).append(item)
    return found


_FIELDS: Final = {f.name: str(f.type) for f in fields(Record)}
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "str": str,
    "Outcome": str,
    "bool": bool,
    "int": int,
    "float": (int, float),
}


def _parsed(line: bytes) -> Record | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if found.keys() != _FIELDS.keys():
        return None
    if not all(isinstance(found[name], _TYPES.get(kind, list)) for name, kind in _FIELDS.items()):
        return None
    record = Record(**found)
    return record if _is_consistent(record) else None


def _is_consistent(found: Record) -> bool:
    """A study can have written the record: a line may have been changed since."""
    counts = [getattr(found, name) for name, kind in _FIELDS.items() if kind == "int"]
    if any(type(count) is not int or count < 0 for count in counts):
        return False
    if not all(isfinite(seconds) and seconds >= 0 for seconds in (found.seconds, found.tool_seconds)):
        return False
    if found.outcome not in get_args(Outcome) or (found.outcome == "judged") == bool(found.failure):
        return False
    if found.is_lost or found.outcome == "unreadable":
        return not any(counts) and not found.refutations
    return (
        found.proved + found.refuted + found.not_entailed + found.unproved == found.claimed
        and found.confirmed <= found.refuted
        and len(found.refutations) == found.refuted
        and bool(found.causes) == bool(found.refuted)
        and found.causes <= found.refuted
        and found.resolved <= found.dims
        and all(map(_is_refutation, found.refutations))
    )


def _is_refutation(found: object) -> bool:
    if not isinstance(found, dict) or found.keys() != Refutation.__annotations__.keys():
        return False
    sizes = found["counterexample"]
    return (
        all(isinstance(found[name], str) for name in ("relation", "operator", "cause"))
        and isinstance(found["places"], list)
        and all(isinstance(place, str) for place in found["places"])
        and isinstance(found["confirmed"], bool)
        and isinstance(sizes, dict)
        and all(type(size) is int and size >= 0 for size in sizes.values())
    )


def _locked(file: IO[bytes]) -> bool:
    """Lock the file until it is closed; False if another process holds it."""
    try:
        import fcntl
    except ImportError:  # a platform without file locks
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _unlock(file: IO[bytes]) -> None:
    """Give up the lock, which a process that another thread is about to start would keep until it has started."""
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)
