"""Ranges of values and what can go wrong, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isinf
from operator import attrgetter
from typing import Final, NamedTuple

from absint.analyses.ranges import RangeFinding, Ranges
from absint.analyses.ranges.findings import TITLES
from absint.analyses.ranges.seen import Certainty, Kind
from absint.lattices.domains import Span
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, Object, kind_of, many, maybe
from absint.lattices.text.sheets import Line, Part, Table, plural
from absint.result import Result
from absint.show.text import assumed
from absint.solution.naming import about

_SHOWN: Final = 20


def report(result: Result, analysis: Ranges, *, everything: bool = False) -> Iterator[Part]:
    """The counts of faults, the ranges of the outputs, and the findings, certain ones first."""
    findings = analysis.findings(result)
    counts = Counter(finding.certainty for finding in findings)
    total = ", ".join(f"{counts[certainty]} {title}" for certainty, title in TITLES.items())
    yield Line(f"{result.origin}: what can go wrong: {total}")
    yield from assumed(result)
    values = result.found_by(analysis)
    outputs = values if everything else {name: values[name] for name in result.outputs if name in values}
    yield Table(
        "values" if everything else "outputs",
        [(name, analysis.domain.text(span)) for name, span in outputs.items()] or [("",)],
    )
    shown: tuple[Certainty, ...] = tuple(TITLES) if everything else ("always", "may")
    for certainty in shown:
        group = [finding for finding in findings if finding.certainty == certainty]
        listed = group if everything else group[:_SHOWN]
        rows: list[tuple[str, ...]] = [(one.node, f"{one.kind}: {one.grounds}") for one in listed]
        left = len(group) - len(listed)
        more: list[tuple[str, ...]] = [(f"and {left:,} more {plural('node', left)} (all: --all)",)] if left else []
        yield Table(TITLES[certainty], rows + more)
    if counts["unknown"] and not everything:
        yield from (Line(""), Line(_HINT, "dim"))


_HINT: Final = "(unknown: no range is known that would decide it; --input and sizes give ranges, --all lists the nodes)"


def _finite(end: float) -> float | None:
    return None if isinf(end) else end


_SPAN: Final = Object[Span](
    Key("least", maybe(float), "null if it has none", lambda span: _finite(span.lo)),
    Key("most", maybe(float), "null if it has none", lambda span: _finite(span.hi)),
    Key("nan", bool, "it may be NaN"),
)


class _Value(NamedTuple):
    value: str
    span: Span


class _Found(NamedTuple):
    values: list[_Value]
    findings: Sequence[RangeFinding]


RANGES: Final = Document[_Found](
    "ranges",
    1,
    "ranges of values and what can go wrong (absint ranges)",
    Key(
        "values",
        many(Object[_Value](Key("value", str, "its name, in a body with its path"), _SPAN.spread(attrgetter("span")))),
    ),
    Key(
        "findings",
        many(
            Object[RangeFinding](
                Key("node", str),
                Key("kind", kind_of(Kind)),
                Key("certainty", kind_of(Certainty)),
                Key("found", _SPAN, "what the value can be"),
                Key("allowed", _SPAN, "what it must be; of a divisor what it must not be"),
            )
        ),
    ),
    defines=False,
)


def document(result: Result, analysis: Ranges) -> str:
    """The ranges as JSON."""
    values = [_Value(name, span) for name, span in result.found_by(analysis).items()]
    return RANGES.text(_Found(values, analysis.findings(result)), head=about(result))
