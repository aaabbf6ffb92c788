"""Known runs of the models of a folder: `sizes.json` in it gives their sizes and data.

    {"decoder": {"sizes": [{"batch": 1, "seq": 4}], "data": [{"use_cache": true}, {"use_cache": false}]}}

is about `decoder.onnx`: every size with every choice of data; inputs that a choice leaves out get random data. Judging
tries these runs before any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from absint.errors import UsageError
from absint.jobs.auditing.runs import Feeds
from absint.runs.pool import Json
from absint.runs.run import feeds_for

if TYPE_CHECKING:
    from absint.result import Result

FILE: Final = "sizes.json"

_HINT: Final = (
    'expected {"MODEL": {"sizes": [{"SYMBOL": SIZE}], "data": [{"INPUT": VALUES}]}}, where data may be missing'
)


def known_runs(folder: Path) -> Mapping[str, dict[str, Json]]:
    """Model without suffix -> its sizes and data. Raises UsageError for a file that says something else."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {str(error)[:100]}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {_HINT}")
    return {name: _checked(path, name, entry) for name, entry in found.items()}


def _checked(path: Path, name: str, entry: object) -> dict[str, Json]:
    if isinstance(entry, dict):
        sizes, data = entry.get("sizes", 0), entry.get("data", [{}])
        if _is_list_of_objects(data) and _is_list_of_objects(sizes) and all(map(_is_binding, sizes)):
            return {"sizes": sizes, "data": data or [{}]}
    raise UsageError(f"{path}: {name[:60]!r}: {_HINT}")


def _is_list_of_objects(items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)


def _is_binding(sizes: Mapping[str, object]) -> bool:
    return all(type(size) is int and size >= 0 for size in sizes.values())


def feeds_of(result: Result, runs: Mapping[str, Any]) -> Iterator[Feeds]:
    """The inputs of the known runs of a model; one that cannot be made is left out."""
    for sizes in runs.get("sizes", ()):
        for data in runs.get("data", ()):
            try:
                feeds = feeds_for(result, {name: sizes.get(name, 1) for name in result.symbols}, seed=0)
                given = {name: np.asarray(value, feeds[name].dtype) for name, value in data.items() if name in feeds}
            except (ValueError, TypeError, OverflowError):  # UsageError too: an input that has no such array
                continue
            yield {**feeds, **given}
