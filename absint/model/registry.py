"""Schemas of operators: those of the installed onnx package, which is not imported for them if it need not be.

`schemas.txt` holds the schemas of one version of onnx, as `python -m tests.schema_table` writes them. It is read if
that version is installed and nobody has imported onnx yet: once it is imported, schemas may be registered with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from typing import Final

from absint.lattices.records import NamedTuple
from absint.model.schema import Schema, described, read
from absint.packages import is_installed

TABLE: Final = os.path.join(os.path.dirname(__file__), "schemas.txt")


class Table(NamedTuple):
    """The schemas of one version of onnx, a line each."""

    newest: int
    """The newest opset of ai.onnx."""
    sets: Sequence[str]
    lines: Mapping[tuple[str, str], Sequence[str]]
    """(domain, operator) -> its lines, oldest first."""

    def in_force(self, domain: str, name: str, version: int) -> Schema | None:
        """The schema of an operator at an opset version."""
        until = [line for line in self.lines.get((domain, name), ()) if int(line.split(" ", 2)[1]) <= version]
        return read(until[-1], domain, self.sets) if until else None


def parsed(text: str) -> Table:
    """The table in a text: version and newest opset, the sets of types, and for each domain its name and schemas."""
    head, sets, *domains = text.rstrip("\n").split("\n\n")
    lines: dict[tuple[str, str], list[str]] = {}
    for domain, *schemas in (part.split("\n") for part in domains):
        for line in schemas:
            lines.setdefault(("" if domain == "ai.onnx" else domain, line[: line.index(" ")]), []).append(line)
    return Table(int(head.split()[1]), sets.split("\n"), lines)


@cache
def shipped() -> Table | None:
    """The table, if it is of the installed version of onnx or none is installed."""
    with open(TABLE, encoding="ascii") as file:
        text = file.read()
    return parsed(text) if not is_installed("onnx") or text.split(None, 1)[0] == installed_version() else None


def installed_version() -> str | None:
    """The version of the onnx package by the metadata beside it; None if that leaves a doubt."""
    spec = PathFinder.find_spec("onnx")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if len(places) != 1:
        return None
    beside = os.listdir(os.path.dirname(places[0]))
    found = [name for name in beside if name.startswith("onnx-") and name.endswith((".dist-info", ".egg-info"))]
    return found[0].split("-")[1].removesuffix(".dist") if len(found) == 1 else None


def in_force(domain: str, name: str, version: int) -> Schema | None:
    """The schema of an operator at an opset version, deprecated or not."""
    table = _table()
    if table is not None:
        return table.in_force(domain, name, version)
    from onnx import defs

    try:
        return described(defs.get_schema(name, _bounded(version), domain))
    except defs.SchemaError:
        return None


def is_known(domain: str, name: str) -> bool:
    """Some opset has the operator."""
    table = _table()
    if table is not None:
        return (domain, name) in table.lines
    from onnx import defs

    return defs.has(name, domain)


def newest_opset() -> int:
    """The newest opset of ai.onnx."""
    table = _table()
    if table is not None:
        return table.newest
    from onnx import defs

    return defs.onnx_opset_version()


def _table() -> Table | None:
    return None if "onnx.defs" in sys.modules else shipped()


def _bounded(version: int) -> int:
    """The version within the range of schemas: a file may hold any 64 bits."""
    return max(min(version, (1 << 31) - 1), -1)
