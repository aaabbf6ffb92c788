"""The places of nodes and the copies between them, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from absint.analyses.devices import Copy, Devices, Placement, Side
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import AMOUNT, Key, Object, kind_of, many, maybe, one_of
from absint.lattices.text.sheets import Line, Part, Table
from absint.result import Result
from absint.show.text import assumed, cut


def report(result: Result, found: Devices, *, everything: bool = False) -> Iterator[Part]:
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
