"""The result of a lint as SARIF 2.1.0, as GitHub's code scanning takes it: one run, a rule for each code."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from absint.diagnostics import Severity
from absint.jobs.linting import FileReport, Finding, LintResult
from absint.jobs.linting.codes import RULES
from absint.jobs.linting.finding import fingerprints
from absint.lattices.text.escapes import Json
from absint.show.sarif import driver, in_file, log, uri_of

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_INDEX: Final = {code: index for index, code in enumerate(RULES)}


def document(result: LintResult) -> str:
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
    return [_result(file, index, item, mark) for item, mark in zip(file.findings, marks, strict=True)]


def _result(file: FileReport, index: int, item: Finding, mark: str) -> Json:
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
