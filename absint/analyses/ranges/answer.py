"""The ranges of the values of one result, as an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

from absint.analyses.found import companions, found_by
from absint.analyses.ranges.analysis import Range, Ranges
from absint.analyses.ranges.findings import DOMAIN, TITLES, RangeFinding
from absint.errors import UsageError
from absint.lattices.domains import Span
from absint.lattices.text.nearest import did_you_mean
from absint.solution.analysed import Analysed


class ValueRanges:
    """Ranges of values, and faults that can occur. It is true if no fault is certain."""

    def __init__(self, result: Analysed, analysis: Ranges) -> None:
        self.result = result
        """The result that the ranges are of: their analysis ran with it."""
        self._analysis = analysis

    @cached_property
    def values(self) -> Mapping[str, Span]:
        """The range of each value by name: `lo`, `hi`, and `nan` if it may be NaN. Names are those of `found_by`."""
        return found_by(self.result, self._analysis)

    @cached_property
    def findings(self) -> tuple[RangeFinding, ...]:
        """Faults in execution order, with how certain each is."""
        return self._analysis.findings(self.result)

    def __bool__(self) -> bool:
        return all(finding.certainty != "always" for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        counts = Counter(finding.certainty for finding in self.findings)
        yield ", ".join(f"{counts[one]} {word}" for one, word in TITLES.items())
        for name in self.result.outputs:
            if name in self.values:
                yield f"{name} in {DOMAIN.text(self.values[name])}"
        yield from (str(finding) for finding in self.findings if finding.certainty in ("always", "may"))

    def __repr__(self) -> str:
        return f"<ValueRanges of {self.result.origin}: {len(self.values):,} values, {len(self.findings):,} findings>"


def value_ranges(analysed: Analysed, inputs: Mapping[str, Range], *, weights: bool) -> ValueRanges:
    """See `absint.Result.ranges`."""
    for name in inputs:
        if name not in analysed.inputs:
            hint = did_you_mean(name, analysed.inputs) or f"the inputs are {', '.join(analysed.inputs)}"
            raise UsageError(f"no input is named {name!r}; {hint}")
    analysis = Ranges(analysed.loaded.weights if weights else None, **inputs)
    return ValueRanges(analysed.under(with_=[*companions(analysed), analysis]), analysis)
