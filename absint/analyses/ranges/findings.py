"""Faults of a node on values in their ranges: it may overflow, divide by 0, leave a domain or an axis, or saturate."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Final

from absint.analyses.ranges.seen import ANY, Certainty, Kind
from absint.lattices.domains import FloatIntervals, Span
from absint.lattices.dtype import INTEGER_RANGES
from absint.lattices.records import record

TITLES: Final[Mapping[Certainty, str]] = {
    "always": "certain",
    "may": "possible",
    "unknown": "unknown",
    "never": "ruled out",
}
"""In the order of answers."""

_MARKS: Final = (0, 1, -1, 6, 10, 100, 1000, *(end for pair in INTEGER_RANGES.values() for end in pair))


class NumberRanges(FloatIntervals):
    """Ranges of integers and floats, with NaN or without. An end that is an integer keeps its digits."""

    def __init__(self) -> None:
        super().__init__("float64", thresholds=_MARKS)

    def allows(self, element: Span, value: object) -> bool:
        if isinstance(value, float | int):
            return element.nan if isnan(value) else element.has(value)
        return element == ANY

    def text(self, element: Span) -> str:
        if element.is_empty:
            return "NaN" if element.nan else "no number"
        ends = (str(end) if isinstance(end, int) else f"{end + 0.0:.9g}" for end in (element.lo, element.hi))
        return f"[{', '.join(ends)}]{' or NaN' if element.nan else ''}"


DOMAIN: Final = NumberRanges()


@record()
class RangeFinding:
    """The kind of fault of a node on values in their ranges."""

    node: str
    kind: Kind
    certainty: Certainty
    """`always`: every element does; `may`: some number in a range that is known does; `unknown`: it is not ruled out,
    but nothing that is known speaks for it; `never`: it is ruled out."""

    found: Span
    """The range of the value: the exact result, the divisor, the argument, the index, the number before it is cut."""

    allowed: Span
    """The allowed range; of a divisor the forbidden one."""

    @property
    def grounds(self) -> str:
        """The range found, and the one allowed."""
        found = DOMAIN.text(self.found)
        if self.kind == "division by zero":
            return f"the divisor is in {found}"
        return f"found {found}, allowed {DOMAIN.text(self.allowed)}"

    def __str__(self) -> str:
        return f"{self.node}: {self.kind}: {self.certainty}, {self.grounds}"
