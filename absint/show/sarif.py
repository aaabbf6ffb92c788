"""The parts that all SARIF 2.1.0 documents share: the log, the tool, and places in model files.

A model has no lines. A place is the file, with the line that GitHub's code scanning demands, and a logical location.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from absint.lattices.text.escapes import Json, json_text
from absint.version import VERSION

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF: Final = "2.1.0"


def log(runs: Sequence[Json]) -> str:
    """The whole document."""
    return json_text({"$schema": SCHEMA, "version": SARIF, "runs": list(runs)}, indent=1)


def driver(rules: Sequence[Json]) -> Json:
    """The tool, with its rules."""
    return {"driver": {"name": "absint", "version": VERSION, "semanticVersion": VERSION, "rules": list(rules)}}


def in_file(path: str, index: int) -> Json:
    """A place in the file that stands at this index of the artifacts."""
    return {"artifactLocation": {"uri": uri_of(path), "index": index}, "region": {"startLine": 1}}


def uri_of(path: str) -> str:
    """The path of a file as a URI, relative if the path is."""
    found = Path(path)
    return found.as_uri() if found.is_absolute() else quote(found.as_posix())
