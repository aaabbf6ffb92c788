"""The identity of this installation: processes that work together, and results that are kept, need the same one."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from absint.version import VERSION


def build() -> str:
    """The version of this package, and eight digits of its source, which changes within a version."""
    return f"absint {VERSION} {_digest()}"


@cache
def _digest() -> str:
    home = Path(__file__).absolute().parents[1]
    folders = (home, *(home / name for name in ("lattices", "solver", "transfer")))  # links in a checkout
    found = hashlib.sha256()
    for file in sorted({file for folder in folders for file in folder.rglob("*.py")}):
        found.update(f"{file.relative_to(home).as_posix()}\n".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:8]
