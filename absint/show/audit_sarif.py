"""The outcome of an audit as SARIF 2.1.0, the format in which CI systems take findings.

A refuted claim is a failed error, one that is not entailed needs review, and an undecided one is open. Proved claims
are counted in the properties of the run. A place is a logical location: the value, by its name in the model, and its
axis. Each source is a run of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.jobs.auditing import Audit, Judged, Judgement, Place
from absint.lattices.text.escapes import Json, format_sizes
from absint.show.sarif import driver, in_file, log, uri_of

if TYPE_CHECKING:
    from absint.result import Result


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


def document(result: Result, audits: Sequence[Audit]) -> str:
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
