"""The outcome of an audit as text, as JSON, and as SARIF 2.1.0, the format in which CI systems take findings.

In SARIF a refuted claim is a failed error, one that is not entailed needs review, and an undecided one is open. Proved
claims are counted in the properties of the run. A place is a logical location: the value, by its name in the model, and
its axis. Each source is a run of its own.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Final

from absint.jobs.auditing import Audit, Judged, Judgement, Place
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import Json, format_sizes
from absint.lattices.text.forms import SECONDS, Key, Object, keys_of, many, tally
from absint.lattices.text.sheets import Line, Part, Table, so_many
from absint.result import Result
from absint.show.lint import driver, in_file, log, uri_of

SHOWN: Final = 20
"""Claims of one judgement that the text lists."""

_STYLES: Final = {
    Judgement.REFUTED: "bold red",
    Judgement.NOT_ENTAILED: "bold yellow",
    Judgement.UNPROVED: "yellow",
    Judgement.PROVED: "green",
}


def report(audits: Sequence[Audit], *, everything: bool = False) -> Iterator[Part]:
    """A section for each source."""
    for number, audit in enumerate(audits):
        if number:
            yield Line("")
        yield Line(_title(audit), "bold")
        if audit.failure:
            yield Line(f"  failed: {audit.failure}", "bold yellow")
        if audit.needs:
            yield Line(f"  {audit.needs}", "bold yellow")
        for judgement, style in _STYLES.items():
            found = audit.of(judgement) if everything or judgement is not Judgement.PROVED else ()
            shown = found if everything else found[:SHOWN]
            for _, same in groupby(enumerate(shown), key=_together):
                alike = [item for _, item in same]
                for item in alike:
                    yield Line(f"  {item.judgement.value}  {item.relation}", style)
                    yield Table("", [(f"  {name}", text) for name, text in _rows(item, item is alike[-1]) if text])
            if len(found) > len(shown):
                yield Line(f"  and {len(found) - len(shown):,} more {judgement.value} (--all shows them)", style)


def _title(audit: Audit) -> str:
    found = [f"{count:,} {judgement.value}" for judgement, count in audit.counts.items() if count]
    if audit.unconfirmed:
        found.append(f"{audit.unconfirmed:,} of the refuted by proof alone")
    return f"{audit.source}: {so_many(len(audit.judged), 'claim')}" + (f": {', '.join(found)}" if found else "")


def _together(numbered: tuple[int, Judged]) -> int | tuple[str, ...]:
    """A key, equal for undecided neighbours with one reason, which is shown once, below the last."""
    number, item = numbered
    return item.because if item.judgement in (Judgement.UNPROVED, Judgement.NOT_ENTAILED) else number


def _rows(item: Judged, is_last: bool) -> Iterator[tuple[str, str]]:
    at = "" if item.counterexample is None else format_sizes(item.counterexample)
    match item.judgement:
        case Judgement.REFUTED:
            yield "false at", at or "the sizes of the inputs, which are fixed"
            yield ("a run shows" if item.confirmed else "refuted"), "; ".join(item.because)
        case Judgement.NOT_ENTAILED:
            yield "perhaps false at", at
            yield "but", "; ".join(item.because) if is_last else ""
        case Judgement.UNPROVED:
            yield "because", "; ".join(item.because) if is_last else ""
        case Judgement.PROVED:
            for text in item.because:
                yield "because", text


_PLACES, _RELATION, *_VERDICT = keys_of(
    Judged,
    places="what the claim is about, and what it refers to, if anything; without an axis a whole value",
    counterexample="sizes at which it is false, or may be if it is not entailed; null without any",
    confirmed="a run at these sizes showed that it is false",
    because="the constraints behind a proof, what a run showed, or why there is no answer",
)
_AUDIT: Final = Object[Audit](
    Key("source", str, "who makes the claims"),
    Key("failure", str, "why the source failed; empty if it did not"),
    Key("needs", str, "what is missing for a verdict; empty if nothing is"),
    Key("seconds", SECONDS, "the time that the source took"),
    Key("judging", SECONDS, "the time that the judgement took"),
    Key("dims", int, "dims of the main graph that the source speaks of"),
    Key("resolved", int, "of these, dims that it gives, refuted ones left out"),
    Key("solver_calls", int, "questions to Z3"),
    Key("counts", tally(Judgement), "claims by judgement"),
    Key("unconfirmed", int, "refuted by proof alone"),
    Key("claims", many(Object[Judged](_RELATION, _PLACES, *_VERDICT)), of=lambda audit: audit.judged),
)
AUDIT: Final = Document[Sequence[Audit]](
    "audit",
    1,
    "claims of others, judged (absint audit)",
    Key("audits", many(_AUDIT), of=lambda audits: audits),
    head=("model",),
    defines=False,
    lines=True,
)


# SARIF


_RULES: Final = {
    Judgement.REFUTED: ("that some run makes false", "fail", "error"),
    Judgement.NOT_ENTAILED: ("that may be false, though no run has shown it", "review", "none"),
    Judgement.UNPROVED: ("that was not decided", "open", "none"),
}
"""The rule for each judgement in the words of SARIF: the claim, its kind, and its level."""


def _code(judgement: Judgement) -> str:
    return f"shape-claim-{judgement.value.replace(' ', '-')}"


def sarif(result: Result, audits: Sequence[Audit]) -> str:
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
                    "id": _code(judgement),
                    "name": "".join(part.capitalize() for part in _code(judgement).split("-")),
                    "shortDescription": {"text": f"A claim about a shape {what}."},
                    "defaultConfiguration": {"level": level},
                }
                for judgement, (what, _, level) in _RULES.items()
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
    _, kind, level = _RULES[item.judgement]
    at = "" if item.counterexample is None else format_sizes(item.counterexample)
    text = f"{audit.source} says {item.relation}: {item.judgement.value}" + (f" at {at}" if at else "")
    return {
        "ruleId": _code(item.judgement),
        "ruleIndex": list(_RULES).index(item.judgement),
        "kind": kind,
        "level": level,
        "message": {"text": "; ".join([text, *item.because])},
        "locations": [{"physicalLocation": in_file(result.origin, 0), "logicalLocations": [_location(item.places[0])]}],
        "relatedLocations": [{"logicalLocations": [_location(place)]} for place in item.places[1:]],
        "partialFingerprints": {"claim/v1": sha256(f"{audit.source}\n{item.relation}".encode()).hexdigest()},
        "properties": {
            "counterexample": None if item.counterexample is None else dict(item.counterexample),
            "confirmed": item.confirmed,
        },
    }


def _location(place: Place) -> Json:
    return {"name": place.value, "fullyQualifiedName": str(place), "kind": "value"}
