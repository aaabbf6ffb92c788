"""The parts that all SARIF 2.1.0 documents share: the log, the tool, and places in model files.

A model has no lines. A place is the file, with the line that GitHub's code scanning demands, and a logical location.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from absint.diagnostics import Severity
from absint.jobs.auditing import Audit, Judged, Judgement, Place
from absint.jobs.linting import FileReport, Finding, LintResult
from absint.jobs.linting.codes import RULES
from absint.jobs.linting.finding import fingerprints
from absint.lattices.text.escapes import Json, format_sizes, json_text
from absint.version import VERSION

if TYPE_CHECKING:
    from absint.result import Result


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


# The outcome of an audit as SARIF 2.1.0, the format in which CI systems take findings.
#
# A refuted claim is a failed error, one that is not entailed needs review, and an undecided one is open. Proved claims
# are counted in the properties of the run. A place is a logical location: the value, by its name in the model, and its
# axis. Each source is a run of its own.


class _Rule(NamedTuple):
    """A rule in the words of SARIF: one for each judgement."""

    id: str
    name: str
    text: str
    kind: str
    level: str


_RULES: Final = {
    Judgement.REFUTED: _Rule(
        "shape-claim-refuted", "ShapeClaimRefuted", "A claim about a shape that some run makes false.", "fail", "error"
    ),
    Judgement.NOT_ENTAILED: _Rule(
        "shape-claim-not-entailed",
        "ShapeClaimNotEntailed",
        "A claim about a shape that may be false, though no run has shown it.",
        "review",
        "none",
    ),
    Judgement.UNPROVED: _Rule(
        "shape-claim-unproved", "ShapeClaimUnproved", "A claim about a shape that was not decided.", "open", "none"
    ),
}


def audit_document(result: Result, audits: Sequence[Audit]) -> str:
    """The log, with a run for each source."""
    return log([_run(result, audit) for audit in audits])


def _run(result: Result, audit: Audit) -> Json:
    told = [item for item in audit.judged if item.judgement in _RULES]
    failures: list[Json] = [{"level": "error", "message": {"text": audit.failure}}] if audit.failure else []
    failures += [{"level": "warning", "message": {"text": audit.needs}}] if audit.needs else []
    return {
        "tool": driver(
            [
                {
                    "id": rule.id,
                    "name": rule.name,
                    "shortDescription": {"text": rule.text},
                    "defaultConfiguration": {"level": rule.level},
                }
                for rule in _RULES.values()
            ]
        ),
        "automationDetails": {"id": f"absint-audit/{audit.source}"},
        "invocations": [{"executionSuccessful": not audit.failure, "toolExecutionNotifications": failures}],
        "artifacts": [{"location": {"uri": uri_of(result.origin)}}],
        "results": [_result(result, audit, item) for item in told],
        "properties": {
            "source": audit.source,
            "counts": {judgement.value: count for judgement, count in audit.counts.items()},
        },
    }


def _result(result: Result, audit: Audit, item: Judged) -> Json:
    rule = _RULES[item.judgement]
    at = "" if item.counterexample is None else format_sizes(item.counterexample)
    text = f"{audit.source} says {item.relation}: {item.judgement.value}" + (f" at {at}" if at else "")
    return {
        "ruleId": rule.id,
        "ruleIndex": list(_RULES).index(item.judgement),
        "kind": rule.kind,
        "level": rule.level,
        "message": {"text": "; ".join([text, *item.because])},
        "locations": [
            {
                "physicalLocation": in_file(result.origin, 0),
                "logicalLocations": [_location(item.places[0])],
            }
        ],
        "relatedLocations": [{"logicalLocations": [_location(place)]} for place in item.places[1:]],
        "partialFingerprints": {"claim/v1": sha256(f"{audit.source}\n{item.relation}".encode()).hexdigest()},
        "properties": {
            "counterexample": None if item.counterexample is None else dict(item.counterexample),
            "confirmed": item.confirmed,
        },
    }


def _location(place: Place) -> Json:
    return {"name": place.value, "fullyQualifiedName": str(place), "kind": "value"}


# The result of a lint as SARIF 2.1.0, as GitHub's code scanning takes it: one run, a rule for each code.

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_INDEX: Final = {code: index for index, code in enumerate(RULES)}


def lint_document(result: LintResult) -> str:
    """The log with one run."""
    artifacts: list[Json] = [{"location": {"uri": uri_of(file.path)}} for file in result.files]
    results: list[Json] = [item for index, file in enumerate(result.files) for item in _results(file, index)]
    return log(
        [
            {
                "tool": driver([_rule(code) for code in RULES]),
                "automationDetails": {"id": "absint-lint/"},
                "invocations": [{"executionSuccessful": True}],
                "artifacts": artifacts,
                "results": results,
            }
        ]
    )


def _rule(code: str) -> Json:
    rule = RULES[code]
    name = "".join(part.capitalize() for part in rule.name.split("-"))
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{rule.summary} {rule.why}"},
        "help": {"text": f"{rule.summary} {rule.why}", "markdown": f"**{rule.name}**: {rule.summary}\n\n{rule.why}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "tags": ["onnx", rule.name],
            "precision": "very-high",
            "problem.severity": _problem(rule.severity),
        },
    }


def _problem(severity: Severity) -> str:
    """The severity in the words of GitHub."""
    return "recommendation" if severity is Severity.INFO else severity.value


def _results(file: FileReport, index: int) -> list[Json]:
    marks = fingerprints(file.findings)
    return [_lint_result(file, index, item, mark) for item, mark in zip(file.findings, marks, strict=True)]


def _lint_result(file: FileReport, index: int, item: Finding, mark: str) -> Json:
    place: dict[str, Json] = {"physicalLocation": in_file(file.path, index)}
    if item.where:
        place["logicalLocations"] = [_logical(item.where)]
    text = f"{item.where}: {item.message}{item.more}" if item.where else f"{item.message}{item.more}"
    others: list[Json] = [
        {"id": number, "physicalLocation": in_file(file.path, index), "logicalLocations": [_logical(other)]}
        for number, other in enumerate(item.others, 1)
    ]
    return {
        "ruleId": item.code,
        "ruleIndex": _INDEX[item.code],
        "kind": "fail",
        "level": _LEVELS[item.severity],
        "message": {"text": text},
        "locations": [place],
        "relatedLocations": others,
        "partialFingerprints": {
            "absintLint/v1": mark,
            "primaryLocationLineHash": sha256(f"{file.path}\n{mark}".encode()).hexdigest()[:32],
        },
        "properties": {"count": item.count, "sizes": None if item.sizes is None else dict(item.sizes)},
    }


def _logical(where: str) -> Json:
    return {"name": where, "fullyQualifiedName": where, "kind": "element"}
