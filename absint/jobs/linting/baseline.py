"""Baselines: the findings of a day, so that a gate fails on new ones only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from absint.errors import UsageError
from absint.jobs.linting.files import relative
from absint.jobs.linting.finding import FileReport, fingerprints
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, by_name
from absint.model.writing import write_file

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
    write_file(BASELINE.text(found) + "\n", path)


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
