"""The folder of the page: every file by its name."""

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from absint.errors import UsageError
from absint.model import writing
from absint.show.page.frame import hashes
from absint.version import VERSION

PYODIDE: Final = "314.0.7"
"""The version of Pyodide whose files are copied."""

NPM: Final = "build/pyodide"
"""The folder that npm installs it to, as docs/light.md says."""

_HASHES: Final[Mapping[str, str]] = {
    "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
    "pyodide.asm.mjs": "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635",
    "pyodide.asm.wasm": "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6",
    "python_stdlib.zip": "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a",
    "pyodide-lock.json": "5dc2fc119108bc148c7457dc86e7675b5c87e1cafd420b9c34c1eaef7b36c010",
}
"""SHA-256 of the files of that version which a browser loads."""

_ARCHIVE: Final = "absint.zip"
_PAGE: Final = "index.html"
_ASSETS: Final = ("site.css", "site.js", "worker.js")
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)


def site(pyodide: str | os.PathLike[str] | None = None) -> dict[str, bytes]:
    """The files by their names, the page last.

    `pyodide` is a folder with Pyodide, by default where npm puts it. Raises UsageError unless it has the files of the
    version that this was written for, with their hashes.
    """
    content = dict(_runtime(Path(pyodide or f"{NPM}/node_modules/pyodide")))
    content[_ARCHIVE] = _archive()
    content |= {name: _asset(name) for name in _ASSETS}
    script, style = hashes()
    page = Template(_asset(_PAGE).decode()).substitute(script=script, style=style, version=VERSION)
    return {**content, _PAGE: page.encode()}


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raises UsageError for a file, and for a folder with something in it that is no such page."""
    writing.check_folder(
        folder, lambda root: (root / _PAGE).is_file() and (root / _ARCHIVE).is_file(), "page of absint"
    )


def _runtime(folder: Path) -> Iterator[tuple[str, bytes]]:
    way_out = f"npm install --prefix {NPM} pyodide@{PYODIDE}"
    for name, expected in _HASHES.items():
        path = folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            reason = "is not there" if isinstance(error, FileNotFoundError) else error.strerror
            raise UsageError(f"Pyodide: {path} {reason}: {way_out}, or name its folder with --pyodide") from None
        if sha256(content).hexdigest() != expected:
            raise UsageError(f"{path} is not that of Pyodide {PYODIDE}, its SHA-256 is another one: {way_out}")
        yield name, content


def _archive() -> bytes:
    """The files of this package, without compiled ones; equal files make an equal archive."""
    root = Path(__file__).parents[2]
    found = [Path(home) / name for home, _, names in os.walk(root, followlinks=True) for name in names]
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for path in sorted(path for path in found if path.suffix != ".pyc"):
            entry = ZipInfo(path.relative_to(root.parent).as_posix(), _LONG_AGO)
            archive.writestr(entry, path.read_bytes(), ZIP_DEFLATED)
    return data.getvalue()


def _asset(name: str) -> bytes:
    return files("absint.show.site").joinpath("assets", name).read_bytes()
