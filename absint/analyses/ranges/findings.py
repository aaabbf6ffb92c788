"""Faults of a node on values in their ranges: it may overflow, divide by 0, leave a domain or an axis, or saturate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isinf, isnan
from typing import Final, Literal

from absint.analyses.ranges.rules import ANY, Kind, any_of
from absint.lattices.domains import FloatIntervals, Span
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.records import record

Certainty = Literal["never", "may", "unknown", "always"]

TITLES: Final[Mapping[Certainty, str]] = {
    "always": "certain",
    "may": "possible",
    "unknown": "unknown",
    "never": "ruled out",
}
"""In the order of answers."""

_MARKS: Final = (0, 1, -1, 6, 10, 100, 1000, *(end for pair in INTEGER_RANGES.values() for end in pair))
_WIDE: Final = (1 << 31) - 1


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


@record()
class Noted:
    """The range that a rule gives a value, and whether it depends on unknown sizes."""

    kind: Kind
    found: Span
    allowed: Span
    is_fixed: bool
    is_known: bool
    """The ranges that it comes from say more than their types do."""

    @property
    def certainty(self) -> Certainty:
        found, allowed = self.found, self.allowed
        if self.kind == "division by zero":
            is_ruled_out, is_certain = not found.has(0), found.lo == found.hi == 0
        else:
            is_ruled_out = not found.is_empty and allowed.lo <= found.lo and found.hi <= allowed.hi
            is_certain = self.is_fixed and (found.hi < allowed.lo or found.lo > allowed.hi)
        if is_ruled_out:
            return "unknown" if found.nan and self.kind in ("overflow", "saturation") else "never"
        if is_certain and not found.nan:
            return "always"
        return "may" if self.is_fixed and self.is_known else "unknown"


def is_known(kind: Kind, found: Span, allowed: Span, operands: Collection[tuple[Span, DType]]) -> bool:
    """Evidence for a fault is an end of a range that is not merely the end of a type, nor the largest size.

    `operands` are those whose ranges are not given.
    """
    if kind == "overflow" and not any(dtype.is_float for _, dtype in operands):
        return not any(_is_vast(span, dtype) for span, dtype in operands)
    if kind == "division by zero":
        return not (isinf(found.lo) and isinf(found.hi))
    outside = [found.lo] * (found.lo < allowed.lo) + [found.hi] * (found.hi > allowed.hi)
    return any(abs(end) < _WIDE for end in outside)


def _is_vast(span: Span, dtype: DType) -> bool:
    """It reaches what a size can be, or the ends of its type; small types are used to their ends."""
    return any_of(dtype).hi >= _WIDE and (abs(span.lo) >= _WIDE or abs(span.hi) >= _WIDE)
