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
from absint.model.writing import write_files

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

    The manifest comes last, so that a folder which is not complete does not check, and an older certificate stays whole
    if there is no room for the new one. Raises as `check_folder`, and for what cannot be written.
    """
    check_folder(folder)
    files = {f"{LEMMAS}/{name}": text for name, text in lemmas.items()}
    files |= dict(sorted(texts.items(), key=lambda item: item[0] == MANIFEST))
    size = write_files(folder, files)
    for old in (Path(folder) / LEMMAS).glob("*.smt2"):
        if old.name not in lemmas:
            old.unlink()
    return size
