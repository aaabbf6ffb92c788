"""The outcome of an audit, as text and as JSON.

The JSON form is versioned: a key is added without notice, but none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from absint.jobs.auditing.audit import Audit, Judged, Judgement
from absint.lattices.text.escapes import Json, json_text, plain
from absint.show.documents import head
from absint.show.relations import plural, sizes
from absint.show.text import Line, aligned, wrapped

if TYPE_CHECKING:
    from absint.result import Result

SCHEMA: Final = "absint.audit/1"
SHOWN: Final = 20
"""Claims of one judgement that the text lists."""

_STYLES: Final = {
    Judgement.REFUTED: "bold red",
    Judgement.NOT_ENTAILED: "bold yellow",
    Judgement.UNPROVED: "yellow",
    Judgement.PROVED: "green",
}


def report(audits: Sequence[Audit], width: int, *, everything: bool = False) -> Iterator[Line]:
    """A section for each source."""
    for number, audit in enumerate(audits):
        if number:
            yield Line("")
        yield Line(_title(audit), "bold")
        if audit.failure:
            yield Line(f"  failed: {plain(audit.failure)}", "bold yellow")
        if audit.needs:
            yield Line(f"  {plain(audit.needs)}", "bold yellow")
        for judgement, style in _STYLES.items():
            found = audit.of(judgement) if everything or judgement is not Judgement.PROVED else ()
            shown = found if everything else found[:SHOWN]
            for _, same in groupby(enumerate(shown), key=_together):
                for _, item in same:
                    yield from _claimed(item, style, width)
                rows = [(name, text) for name, text in _rows(item) if text]
                yield from (Line(f"  {text}") for text in aligned(rows, width - 2))
            if len(found) > len(shown):
                yield Line(f"  and {len(found) - len(shown):,} more {judgement.value} (--all shows them)", style)


def _title(audit: Audit) -> str:
    total = len(audit.judged)
    found = [f"{count:,} {judgement.value}" for judgement, count in audit.counts.items() if count]
    if audit.unconfirmed:
        found.append(f"{audit.unconfirmed:,} of the refuted by proof alone")
    return f"{plain(audit.source)}: {total:,} {plural('claim', total)}" + (f": {', '.join(found)}" if found else "")


def _claimed(item: Judged, style: str, width: int) -> Iterator[Line]:
    verdict = item.judgement.value
    for text in wrapped(f"  {verdict}  {plain(item.relation)}", width, len(verdict) + 4):
        yield Line(text, style)


def _together(numbered: tuple[int, Judged]) -> int | tuple[str, ...]:
    """A key, equal for unproved neighbours with one reason, which is shown once, below the last."""
    number, item = numbered
    return item.because if item.judgement is Judgement.UNPROVED else number


def _rows(item: Judged) -> Iterator[tuple[str, str]]:
    at = "" if item.counterexample is None else sizes(item.counterexample)
    match item.judgement:
        case Judgement.REFUTED:
            yield "false at", at or "the sizes of the inputs, which are fixed"
            yield ("a run shows" if item.confirmed else "refuted"), "; ".join(item.because)
        case Judgement.NOT_ENTAILED:
            yield "perhaps false at", at
            yield "but", "; ".join(item.because)
        case Judgement.UNPROVED:
            yield "because", "; ".join(item.because)
        case Judgement.PROVED:
            for text in item.because:
                yield "because", text


def document(result: Result, audits: Iterable[Audit]) -> str:
    """All claims of all sources, one a line."""
    lines = [f"{json_text(key)}: {json_text(text)}" for key, text in head(SCHEMA, result.origin).items()]
    found = ",\n".join(map(_audit, audits))
    return "{\n" + ",\n".join([*lines, f'"audits": [\n{found}\n]']) + "\n}"


def _audit(audit: Audit) -> str:
    whole: dict[str, Json] = {
        "source": audit.source,
        "failure": audit.failure,
        "needs": audit.needs,
        "seconds": round(audit.seconds, 6),
        "judging": round(audit.judging, 6),
        "dims": audit.dims,
        "resolved": audit.resolved,
        "solver_calls": audit.solver_calls,
        "counts": {judgement.value: count for judgement, count in audit.counts.items()},
        "unconfirmed": audit.unconfirmed,
    }
    claims = ",\n  ".join(json_text(_claim(item)) for item in audit.judged)
    return f'{json_text(whole)[:-1]}, "claims": [\n  {claims}\n]}}'


def _claim(item: Judged) -> dict[str, Json]:
    """A place without an axis is a whole value."""
    return {
        "relation": item.relation,
        "places": [{"value": place.value, "axis": place.axis} for place in item.places],
        "judgement": item.judgement.value,
        "counterexample": None if item.counterexample is None else dict(item.counterexample),
        "confirmed": item.confirmed,
        "because": list(item.because),
    }


__all__ = ["SCHEMA", "document", "report"]
