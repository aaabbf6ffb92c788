"""Ranges of values and what can go wrong, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isinf
from typing import TYPE_CHECKING, Final

from absint.lattices.text.escapes import Json, json_text, plain
from absint.show.documents import head_of
from absint.show.relations import plural
from absint.show.text import Line, aligned, assumed, wrapped

if TYPE_CHECKING:
    from absint.analyses.ranges import Certainty, RangeFinding, Ranges
    from absint.lattices.domains import Span
    from absint.result import Result

_SHOWN: Final = 20
_TITLES: Final[Mapping[Certainty, str]] = {
    "always": "certain",
    "may": "possible",
    "unknown": "unknown",
    "never": "ruled out",
}


def report(result: Result, analysis: Ranges, width: int, *, everything: bool = False) -> Iterator[Line]:
    """The counts of faults, the ranges of the outputs, and the findings, certain ones first."""
    findings = analysis.findings(result)
    counts = Counter(finding.certainty for finding in findings)
    total = ", ".join(f"{counts[certainty]} {title}" for certainty, title in _TITLES.items())
    yield from map(Line, wrapped(f"{plain(result.origin)}: what can go wrong: {total}", width, 2))
    yield from assumed(result, width)
    values = result.found_by(analysis)
    outputs = values if everything else {name: values[name] for name in result.outputs if name in values}
    yield Line("")
    yield Line("values" if everything else "outputs", "bold")
    yield from map(Line, aligned([(plain(name), analysis.domain.text(span)) for name, span in outputs.items()], width))
    shown: tuple[Certainty, ...] = tuple(_TITLES) if everything else ("always", "may")
    for certainty in shown:
        group = [finding for finding in findings if finding.certainty == certainty]
        if group:
            yield Line("")
            yield Line(_TITLES[certainty], "bold")
            yield from _group(group, width, everything)
    if counts["unknown"] and not everything:
        yield Line("")
        yield from (Line(part, "dim") for part in wrapped(_HINT, width, 1))


_HINT: Final = "(unknown: no range is known that would decide it; --input and sizes give ranges, --all lists the nodes)"


def _group(group: list[RangeFinding], width: int, everything: bool) -> Iterator[Line]:
    shown = group if everything else group[:_SHOWN]
    yield from map(Line, aligned([(plain(one.node), plain(f"{one.kind}: {one.grounds}")) for one in shown], width))
    left = len(group) - len(shown)
    if left:
        yield Line(f"  and {left:,} more {plural('node', left)} (all: --all)")


def document(result: Result, analysis: Ranges) -> str:
    """The ranges as JSON."""
    whole: dict[str, Json] = head_of("absint.ranges/1", result)
    whole["values"] = [{"value": name, **_span(span)} for name, span in result.found_by(analysis).items()]
    whole["findings"] = [
        {
            "node": one.node,
            "kind": one.kind,
            "certainty": one.certainty,
            "found": _span(one.found),
            "allowed": _span(one.allowed),
        }
        for one in analysis.findings(result)
    ]
    return json_text(whole, indent=1)


def _span(span: Span) -> dict[str, Json]:
    least, most = (None if isinf(end) else end for end in (span.lo, span.hi))
    return {"least": least, "most": most, "nan": span.nan}


__all__ = ["document", "report"]
