"""The models to check: files as they are given, and those below folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from absint.errors import UsageError
from absint.jobs.linting.patterns import Patterns
from absint.model.opening import absent

SUFFIX: Final = ".onnx"


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
            raise UsageError(f"{path} {absent(path)}")
        elif not (force and exclude.match(relative(path, root))):
            found[shown(path)] = None
    if not found and not force:
        why = f"no file below {_listed(given)} ends with {SUFFIX}" if given else "none is given"
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


def _listed(given: Sequence[str | os.PathLike[str]]) -> str:
    return ", ".join(os.fspath(item) for item in given[:3])
