"""The JSON Schemas of the documents that commands print. They allow keys that they do not name, since a newer version
of absint may add some.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final, cast

from absint.errors import UsageError
from absint.lattices.text.documents import json_schema as schema_of
from absint.lattices.text.escapes import Json, did_you_mean

_DOCUMENTS: Final[Mapping[str, str]] = {
    "analyze": "absint.show.document:ANALYZE",
    "audit": "absint.show.audit:AUDIT",
    "certificate": "absint.questions.certificates.certificate:CERTIFICATE",
    "certify": "absint.show.certificates:CERTIFY",
    "check": "absint.questions.sizes.outcomes:CHECK",
    "check-feeds": "absint.show.feeds:FED",
    "check-range": "absint.questions.sizes.outcomes:CHECK_RANGE",
    "classes": "absint.questions.proofs.equivalence:CLASSES",
    "compare": "absint.runs.comparison:COMPARISON",
    "contract": "absint.solver.contracts.contract:CONTRACT",
    "cost": "absint.show.costs:COST",
    "devices": "absint.show.analyses:DEVICES",
    "diff": "absint.jobs.diffing.comparison:DIFF",
    "dynamize": "absint.show.dynamizing:DYNAMIZED",
    "error": "absint.solution.naming:ERROR",
    "explain": "absint.questions.explain.explanation:EXPLANATION",
    "export-queries": "absint.research.study.smtlib_export:EXPORT_QUERIES",
    "freeze": "absint.show.freezing:FROZEN,REFUSED,FEWEST",
    "lint": "absint.show.lint:LINT",
    "nearest": "absint.questions.sizes.neighbours:NEAREST",
    "policies": "absint.show.study:POLICY_LIST",
    "profile": "absint.jobs.profiles.profile:PROFILE",
    "prove": "absint.questions.proofs.proof:PROVE",
    "proved-nodes": "absint.show.rules:PROVED_NODES",
    "queries": "absint.research.study.smtlib_export:QUERIES",
    "ranges": "absint.show.analyses:RANGES",
    "rows": "absint.show.rows:ROWS",
    "rules": "absint.show.rules:RULES",
    "samples": "absint.questions.sizes.contracts:SAMPLES",
    "simplify": "absint.show.simplifying:SIMPLIFIED",
    "study": "absint.research.study.study:STUDY",
}
"""Where the documents of a name are declared, in words: reading one imports no other. Several are one command's."""

_CONSTRAINTS: Final = "constraints"
"""absint.constraints/1, whose form is closed: `absint.solver.export` reads it back."""


def names() -> list[str]:
    """The documents that have a schema: `analyze` for `absint.analyze`, and so on."""
    return sorted((*_DOCUMENTS, _CONSTRAINTS))


def json_schema(name: str) -> dict[str, Json]:
    """The JSON Schema of a document, with all that it refers to. Raises UsageError for an unknown name."""
    if name == _CONSTRAINTS:
        return cast("dict[str, Json]", import_module("absint.solver.export").json_schema())
    if name not in _DOCUMENTS:
        hint = did_you_mean(name, names(), 1) or f"there are: {', '.join(names())}"
        raise UsageError(f"no document is called {name!r}; {hint}")
    module, _, declared = _DOCUMENTS[name].partition(":")
    return schema_of(*(getattr(import_module(module), each) for each in declared.split(",")))
