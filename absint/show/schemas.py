"""The JSON Schemas of the documents that commands print. They allow keys that they do not name, since a newer version
of absint may add some.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from absint.errors import UsageError
from absint.jobs.diffing.document import DIFF
from absint.jobs.profiles.profile import PROFILE
from absint.lattices.text.documents import Document
from absint.lattices.text.documents import json_schema as schema_of
from absint.lattices.text.escapes import Json
from absint.lattices.text.nearest import did_you_mean
from absint.questions.certificates.certificate import CERTIFICATE
from absint.questions.explain.document import EXPLANATION
from absint.questions.sizes.neighbours import NEAREST
from absint.questions.sizes.outcomes import CHECK, CHECK_RANGE
from absint.questions.sizes.samples import SAMPLES
from absint.research.study.smtlib_export import EXPORT_QUERIES, QUERIES
from absint.research.study.tables import STUDY
from absint.runs.comparison import COMPARISON
from absint.show.audit import AUDIT
from absint.show.certificates import CERTIFY
from absint.show.classes import CLASSES
from absint.show.costs import COST
from absint.show.devices import DEVICES
from absint.show.document import ANALYZE
from absint.show.documents import ERROR
from absint.show.dynamizing import DYNAMIZED
from absint.show.feeds import FED
from absint.show.freezing import FEWEST, FROZEN, REFUSED
from absint.show.lint import LINT
from absint.show.policies import DOCUMENT as POLICIES
from absint.show.proofs import PROVE
from absint.show.ranges import RANGES
from absint.show.rules import RULES
from absint.solver.contracts.contract import CONTRACT
from absint.solver.export import json_schema as constraints_schema

DOCUMENTS: Final[tuple[Document[Any], ...]] = (
    ANALYZE, AUDIT, CERTIFICATE, CERTIFY, CHECK, CHECK_RANGE, CLASSES, COMPARISON, CONTRACT, COST, DEVICES, DIFF,
    DYNAMIZED, ERROR, EXPLANATION, EXPORT_QUERIES, FED, FROZEN, REFUSED, FEWEST, LINT, NEAREST, POLICIES, PROFILE,
    PROVE, QUERIES, RANGES, RULES, SAMPLES, STUDY,
)  # fmt: skip
"""All documents. Several of one name are the answers of one command."""

_CONSTRAINTS: Final = "constraints"
"""absint.constraints/1, whose form is closed: `absint.solver.export` reads it back."""


def _name(document: Document[Any]) -> str:
    return document.document


_BY_NAME: Final = {name: tuple(found) for name, found in groupby(sorted(DOCUMENTS, key=_name), _name)}


def names() -> list[str]:
    """The documents that have a schema: `analyze` for `absint.analyze`, and so on."""
    return sorted((*_BY_NAME, _CONSTRAINTS))


def json_schema(name: str) -> dict[str, Json]:
    """The JSON Schema of a document, with all that it refers to. Raises UsageError for an unknown name."""
    if name == _CONSTRAINTS:
        return constraints_schema()
    if name not in _BY_NAME:
        hint = did_you_mean(name, names(), 1) or f"there are: {', '.join(names())}"
        raise UsageError(f"no document is called {name!r}; {hint}")
    return schema_of(*_BY_NAME[name])


__all__ = ["DOCUMENTS", "json_schema", "names"]
