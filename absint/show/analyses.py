"""Places of nodes with the copies between them, and ranges of values with what can go wrong, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator
from math import isinf
from operator import itemgetter
from typing import Final

from absint.analyses.devices import Copy, Devices, Placement, Side
from absint.analyses.ranges import RangeFinding, ValueRanges
from absint.analyses.ranges.seen import DOMAIN, TITLES, Certainty, Kind
from absint.lattices.domains import Span
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import AMOUNT, Key, Object, kind_of, many, maybe, one_of
from absint.lattices.text.sheets import Line, Part, Table
from absint.result import Result
from absint.show.text import assumed, cut
from absint.solution.naming import about


def of_devices(result: Result, found: Devices, *, everything: bool = False) -> Iterator[Part]:
    """The totals, why nodes are on the host, and the copies, those that wait for the device first."""
    yield Line(f"{result.origin}: {found}")
    yield from assumed(result)
    reasons = Counter((p.reason, p.node.partition(" ")[0]) for p in found.placements if p.side == "host")
    operators: dict[str, list[str]] = {}
    for (reason, operator), count in reasons.most_common():
        operators.setdefault(reason, []).append(f"{count:,} {operator}")
    yield Table("on the host", [(reason, ", ".join(names)) for reason, names in operators.items()])
    for to, title in (("host", "copied to the host"), ("device", "copied to the device")):
        copies = [(copy.value, _copied(copy)) for copy in found.copies if copy.to == to]
        yield Table(title, cut(copies, "value", everything=everything))
    if everything:
        yield Table("nodes", [(p.node, ": ".join(filter(None, (p.side, p.reason)))) for p in found.placements])


def _copied(copy: Copy) -> str:
    size = "size unknown" if copy.size is None else f"{copy.size} bytes"
    return f"{size}, for {', '.join(copy.readers)}"


def _bytes(copy: Copy) -> int | str | None:
    return None if copy.size is None else copy.size.const if copy.size.const is not None else str(copy.size)


_AMOUNT: Final = maybe(AMOUNT)
DEVICES: Final = Document[Devices](
    "devices",
    1,
    "where nodes run and what is copied (absint devices)",
    Key(
        "nodes",
        many(
            Object[Placement](Key("node", str), Key("side", kind_of(Side)), Key("reason", str, "why it is on the host"))
        ),
        "operators in execution order",
        lambda found: found.placements,
    ),
    Key(
        "copies",
        many(
            Object[Copy](
                Key("value", str, "its name, in a body with its path"),
                Key("node", str, "the node that computes it"),
                Key("to", one_of("host", "device")),
                Key("readers", many(str)),
                Key("bytes", _AMOUNT, "null if unknown", _bytes),
            )
        ),
    ),
    defines=False,
)


def of_ranges(found: ValueRanges, *, everything: bool = False) -> Iterator[Part]:
    """The counts of faults, the ranges of the outputs, and the findings, certain ones first."""
    findings, result = found.findings, found.result
    counts = Counter(finding.certainty for finding in findings)
    total = ", ".join(f"{counts[certainty]} {title}" for certainty, title in TITLES.items())
    yield Line(f"{result.origin}: what can go wrong: {total}")
    yield from assumed(result)
    values = found.values
    outputs = values if everything else {name: values[name] for name in result.outputs if name in values}
    yield Table(
        "values" if everything else "outputs", [(name, DOMAIN.text(span)) for name, span in outputs.items()] or [("",)]
    )
    shown: tuple[Certainty, ...] = tuple(TITLES) if everything else ("always", "may")
    for certainty in shown:
        rows = [(one.node, f"{one.kind}: {one.grounds}") for one in findings if one.certainty == certainty]
        yield Table(TITLES[certainty], cut(rows, "node", everything=everything))
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


RANGES: Final = Document[ValueRanges](
    "ranges",
    1,
    "ranges of values and what can go wrong (absint ranges)",
    Key(
        "values",
        many(
            Object[tuple[str, Span]](
                Key("value", str, "its name, in a body with its path", itemgetter(0)), _SPAN.spread(itemgetter(1))
            )
        ),
        of=lambda found: found.values.items(),
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
    head_of=lambda found: about(found.result),
)
