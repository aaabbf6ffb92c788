"""Sizes and ranges of symbols as arguments: `batch=4`, `seq=1..2048`, `seq=1..`, `seq=..64`.

The name is what stands before the last `=`, so a symbol may have any name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from absint.errors import UsageError

_SIZE: Final = re.compile(r"-?[0-9]{1,1000}")
_RANGE: Final = re.compile(r"(-?[0-9]{1,1000})?\s*\.\.\s*(-?[0-9]{1,1000})?")
_SHOWN: Final = 60


class Sizes(NamedTuple):
    """The sizes that an argument gives a symbol, both ends included; None where it leaves an end out."""

    text: str
    """The argument, for messages."""
    name: str
    low: int | None
    high: int | None
    is_range: bool


def read_bindings(texts: Sequence[str]) -> dict[str, int]:
    """The symbols and sizes that `--set` gives.

    Raises UsageError for one that is no size, and for a symbol that is given twice.
    """
    found: dict[str, int] = {}
    for text in texts:
        name, sign, size = text.rpartition("=")
        name = name.strip()
        if not sign or not name or not _SIZE.fullmatch(size.strip()):
            raise UsageError(f"--set {_cut(text)}: expected a symbol and a size, as batch=4")
        number = int(size)
        if found.setdefault(name, number) != number:
            raise UsageError(f"--set {_cut(text)}: {_cut(name)} is already given, as {found[name]}")
    return found


def read_sizes(texts: Sequence[str]) -> list[Sizes]:
    """The sizes and ranges of the arguments, in their order.

    Raises UsageError for one that is neither a size nor a range, for a range that is empty, and for a symbol that is
    given twice.
    """
    found: dict[str, Sizes] = {}
    for text in texts:
        item = _read(text)
        if item.name in found:
            raise UsageError(f"{_cut(text)}: {_cut(item.name)} is already given, as {_cut(found[item.name].text)}")
        found[item.name] = item
    return list(found.values())


def _read(text: str) -> Sizes:
    name, found, size = text.rpartition("=")
    name, size = name.strip(), size.strip()
    ends = _RANGE.fullmatch(size)
    if not found or not name or not (ends or _SIZE.fullmatch(size)):
        raise UsageError(
            f"{_cut(text)}: expected a symbol with a size, as batch=4, or with a range of sizes, as seq=1..2048"
        )
    low, high = (None if end is None else int(end) for end in (ends.groups() if ends else (size, size)))
    if low is not None and high is not None and 0 <= high < low:
        raise UsageError(f"{_cut(text)}: the range is empty, its first size is above its last")
    return Sizes(text, name, low, high, ends is not None)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


__all__ = ["Sizes", "read_bindings", "read_sizes"]
