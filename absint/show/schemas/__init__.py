"""JSON Schemas of the documents that commands print, one file each; common.json has what several of them share.

They allow keys that they do not name, since a newer version of absint may add some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from typing import Final, cast

from absint.errors import UsageError
from absint.lattices.text import forms
from absint.lattices.text.escapes import Json
from absint.lattices.text.nearest import did_you_mean

_COMMON: Final = "common"
_DOCUMENTS: Final[Mapping[str, str]] = {
    "analyze": "absint.show.document:ANALYZE",
    "cost": "absint.show.costs:COST",
    "devices": "absint.show.devices:DEVICES",
    "prove": "absint.show.proofs:PROVE",
    "ranges": "absint.show.ranges:RANGES",
    "audit": "absint.show.audit:AUDIT",
    "certificate": "absint.questions.certificates.certificate:CERTIFICATE",
    "certify": "absint.show.certificates:CERTIFY",
    "check": "absint.questions.sizes.outcomes:CHECK",
    "check-feeds": "absint.show.feeds:FED",
    "check-range": "absint.questions.sizes.outcomes:CHECK_RANGE",
    "classes": "absint.show.classes:CLASSES",
    "compare": "absint.runs.comparison:COMPARISON",
    "contract": "absint.solver.contracts.contract:CONTRACT",
    "diff": "absint.jobs.diffing.document:DIFF",
    "dynamize": "absint.show.dynamizing:DYNAMIZED",
    "explain": "absint.questions.explain.document:EXPLANATION",
    "error": "absint.show.documents:ERROR",
    "export-queries": "absint.research.study.smtlib_export:EXPORT_QUERIES",
    "freeze": "absint.show.freezing:FROZEN,REFUSED,FEWEST",
    "lint": "absint.show.lint:LINT",
    "nearest": "absint.questions.sizes.neighbours:NEAREST",
    "profile": "absint.jobs.profiles.profile:PROFILE",
    "policies": "absint.show.policies:DOCUMENT",
    "rules": "absint.show.rules:RULES",
    "study": "absint.research.study.tables:STUDY",
}
"""Where the documents of a name are declared."""
_CONSTRAINTS: Final = "constraints"


def names() -> list[str]:
    """The documents that have a schema: `analyze` for `absint.analyze`, and so on."""
    found = [entry.name.removesuffix(".json") for entry in files(__name__).iterdir() if entry.name.endswith(".json")]
    return sorted([*(name for name in found if name != _COMMON), *_DOCUMENTS, _CONSTRAINTS])


def json_schema(name: str) -> dict[str, Json]:
    """The JSON Schema of a document, with all that it refers to. Raises UsageError for an unknown name."""
    if name == _CONSTRAINTS:
        from absint.solver.export import json_schema as constraints_schema

        return constraints_schema()
    if name not in names():
        hint = did_you_mean(name, names(), 1) or f"there are: {', '.join(names())}"
        raise UsageError(f"no document is called {name!r}; {hint}")
    if name in _DOCUMENTS:
        module, _, attributes = _DOCUMENTS[name].partition(":")
        return forms.json_schema(*(getattr(import_module(module), item) for item in attributes.split(",")))
    schema = _read(name)
    shared = cast("dict[str, Json]", _read(_COMMON)["$defs"])
    needed: dict[str, Json] = {}
    pending = list(_references(schema))
    while pending:
        reference = pending.pop()
        if reference not in needed:
            needed[reference] = shared[reference]
            pending += _references(shared[reference])
    return {**schema, "$defs": {key: shared[key] for key in shared if key in needed}} if needed else schema


def _read(name: str) -> dict[str, Json]:
    return cast("dict[str, Json]", json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8")))


def _references(schema: Json) -> list[str]:
    """The names under `$defs` that a schema mentions."""
    found: list[str] = []
    pending: list[Json] = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            reference = item.get("$ref")
            if isinstance(reference, str):
                found.append(reference.rpartition("/")[2])
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return found


__all__ = ["json_schema", "names"]
