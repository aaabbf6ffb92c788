"""The folder that a certificate is written to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from absint.errors import UsageError
from absint.lattices.text.nearest import bounded

MANIFEST: Final = "manifest.json"
LEMMAS: Final = "lemmas"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raises UsageError for a file, and for a folder with something in it that is no certificate."""
    root = Path(folder)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{bounded(os.fspath(folder))} is a file: name a folder")
    if root.is_dir() and any(root.iterdir()) and not _is_certificate(root):
        raise UsageError(f"{bounded(os.fspath(folder))} is not empty and holds no certificate: name another folder")


def _is_certificate(root: Path) -> bool:
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads((root / MANIFEST).read_text("utf-8")).get("schema")).startswith("absint.certificate/")
    return False


def write_folder(folder: str | os.PathLike[str], texts: Mapping[str, str], lemmas: Mapping[str, str]) -> int:
    """Write the files and the lemmas, each by its name, and remove older lemmas; the number of bytes.

    The manifest is written last, so that a folder which is not complete does not check. Raises as `check_folder`.
    """
    check_folder(folder)
    root = Path(folder)
    (root / LEMMAS).mkdir(parents=True, exist_ok=True)
    (root / MANIFEST).unlink(missing_ok=True)
    for old in (root / LEMMAS).glob("*.smt2"):
        if old.name not in lemmas:
            old.unlink()
    files = {root / LEMMAS / name: text for name, text in lemmas.items()}
    files |= {root / name: text for name, text in sorted(texts.items(), key=lambda item: item[0] == MANIFEST)}
    for path, text in files.items():
        path.write_bytes(text.encode())
    return sum(len(text.encode()) for text in files.values())


__all__ = ["LEMMAS", "MANIFEST", "check_folder", "write_folder"]
