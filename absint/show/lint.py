"""The result of a lint as text, as JSON, as annotations for GitHub, and as SARIF 2.1.0; what all SARIF documents share.

GitHub's code scanning takes SARIF: one run, a rule for each code. A model has no lines, so a place is the file, with
the line that code scanning demands, and a logical location.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Final, cast
from urllib.parse import quote

from absint.diagnostics import Severity
from absint.jobs.linting import FileReport, Finding, LintResult
from absint.jobs.linting.finding import FINDING, RULES, LintRule, fingerprints, rule_of
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import Json, json_text
from absint.lattices.text.forms import Key, Object, many, tally
from absint.lattices.text.sheets import Line
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


_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_WIDEST: Final = 300


def report(result: LintResult, *, verbose: bool = False) -> Iterator[Line]:
    """The findings of each file, and a summary; if `verbose`, infos too, and the further places of each finding."""
    for file in result.files:
        findings = [item for item in file.findings if verbose or item.severity is not Severity.INFO]
        if findings:
            yield Line(file.path, "bold")
            for item in findings:
                yield Line(f"  {item.severity.value:<7} {_cut(str(item), verbose)}", _STYLES[item.severity])
                if verbose:
                    yield from (Line(f"          {other}", "dim") for other in item.others)
    if result.stale:
        gone = f"{result.stale:,} finding{'s' * (result.stale > 1)}"
        yield Line(f"no longer found: {gone} of the baseline (--write-baseline brings it up to date)", "dim")
    infos = result.counts[Severity.INFO]
    yield Line(result.summary + (" (--verbose shows infos)" if infos and not verbose else ""), "bold")


def _cut(text: str, verbose: bool) -> str:
    return text if verbose or len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def rules() -> Iterator[Line]:
    """One line for each rule."""
    for rule in RULES.values():
        yield Line(f"{rule.code}  {rule.severity.value:<7}  {rule.name:<24}  {rule.summary}")


def explanation(rule: LintRule) -> Iterator[Line]:
    """The text of a rule: its findings, why they matter, and what to do."""
    yield Line(f"{rule.code}: {rule.name} ({rule.severity.value})", "bold")
    yield Line("")
    yield Line(rule.summary)
    yield Line(rule.why)


def workflow_commands(result: LintResult, *, verbose: bool = False) -> Iterator[Line]:
    """Workflow commands that GitHub shows as annotations of files, and the summary. It shows few of them, so infos
    are left out unless `verbose`.
    """
    for file in result.files:
        for item in file.findings:
            if item.severity is Severity.INFO and not verbose:
                continue
            title = f"{item.code} {item.rule.name}"
            properties = f"file={_property(file.path)},title={_property(title)}"
            place = f"{item.where}: " if item.where else ""
            yield Line(f"::{_COMMANDS[item.severity]} {properties}::{_data(f'{place}{item.message}{item.more}')}")
    yield Line(result.summary)


def _data(text: str) -> str:
    """The text of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """The value of a property of a workflow command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_FINDING: Final = Object[tuple[Finding, str]](
    FINDING.spread(itemgetter(0)),
    Key("fingerprint", str, "stays the same while the rule and the place do", lambda pair: pair[1]),
)
_FILE: Final = Object[FileReport](
    Key("model", str, "its path", lambda file: file.path),
    Key("in_baseline", int, "findings that were left out", lambda file: file.hidden),
    Key(
        "findings",
        many(_FINDING),
        "the most severe first",
        lambda file: zip(file.findings, fingerprints(file.findings), strict=True),
    ),
)
LINT: Final = Document[LintResult](
    "lint",
    1,
    "one gate for many models (absint lint)",
    Key("counts", tally(Severity), "findings by severity"),
    Key("stale", int, "findings of the baseline that are gone"),
    Key("models", many(_FILE), "in the order of the files", lambda result: result.files),
    head=(),
    defines=False,
)


# SARIF


_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(result: LintResult) -> str:
    """The log with one run."""
    artifacts: list[Json] = [{"location": {"uri": uri_of(file.path)}} for file in result.files]
    codes = list(dict.fromkeys([*RULES, *(item.code for item in result.findings)]))
    results: list[Json] = [
        _result(file, index, item, mark, codes)
        for index, file in enumerate(result.files)
        for item, mark in zip(file.findings, fingerprints(file.findings), strict=True)
    ]
    return log(
        [
            {
                "tool": driver([_rule(code) for code in codes]),
                "automationDetails": {"id": "absint-lint/"},
                "invocations": [{"executionSuccessful": True}],
                "artifacts": artifacts,
                "results": results,
            }
        ]
    )


def _rule(code: str) -> Json:
    rule = rule_of(code)
    text = f"{rule.summary} {rule.why}"
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": f"**{rule.name}**: {rule.summary}\n\n{rule.why}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "tags": ["onnx", rule.name],
            "precision": "very-high",
            "problem.severity": "recommendation" if rule.severity is Severity.INFO else rule.severity.value,
        },
    }


def _result(file: FileReport, index: int, item: Finding, mark: str, codes: list[str]) -> Json:
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
        "ruleIndex": codes.index(item.code),
        "kind": "fail",
        "level": _LEVELS[item.severity],
        "message": {"text": text},
        "locations": [place],
        "relatedLocations": others,
        "partialFingerprints": {
            "absintLint/v1": mark,
            "primaryLocationLineHash": sha256(f"{file.path}\n{mark}".encode()).hexdigest()[:32],
        },
        "properties": {
            "count": item.count,
            "sizes": None if item.sizes is None else dict(item.sizes),
            **({} if item.data is None else {"data": cast("Json", dict(item.data))}),
        },
    }


def _logical(where: str) -> Json:
    return {"name": where, "fullyQualifiedName": where, "kind": "element"}
