"""Summaries of folded calls for analyses of values: a body is run once for equal elements of its inputs.

After a few different ones the body is run for elements that are above all that come, widened so that few are needed:
2**k calls take time in k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.analyses.rows import Row, RowAnalysis

if TYPE_CHECKING:
    from absint.program.folded import Body
    from absint.shapes.interpretation import Interpretation
    from absint.shapes.summaries import State

MAX_PRECISE: Final = 4
"""Different arguments for which one body is run as they are."""

MAX_RUNS: Final = 12
"""Most runs of one body; further calls are run for arguments of which nothing is known."""

MAX_DEPTH: Final = 32
"""Folded calls in each other; of the innermost nothing is known."""

Arguments = Mapping[int, Row]
"""The rows that each analysis gives to a body, or gets back from it, by its number."""


class Shapes(NamedTuple):
    """The findings of the shape analysis about a program."""

    analysis: Interpretation
    states: Sequence[State]


class Summary(NamedTuple):
    """The results of a body for these arguments, or any below them."""

    arguments: Arguments
    results: Arguments


class Summaries:
    """The summaries of one run of the analyses."""

    def __init__(self) -> None:
        self.shapes: dict[Body, Shapes] = {}
        """Of bodies, for inputs of which nothing is known."""
        self._exact: dict[Body, list[Summary]] = {}
        self._general: dict[Body, Summary] = {}
        self._runs: dict[Body, int] = {}
        self._depth = 0

    def of(
        self,
        analyses: Sequence[RowAnalysis],
        body: Body,
        arguments: Arguments,
        run: Callable[[Body, Arguments], Arguments],
    ) -> Arguments | None:
        """The results of a call; None if calls are too deep. `run` gives those of a body for arguments."""
        exact = self._exact.setdefault(body, [])
        for summary in exact:
            if summary.arguments == arguments:
                return summary.results
        general = self._general.get(body)
        if general is not None and _leq(analyses, arguments, general.arguments):
            return general.results
        if self._depth >= MAX_DEPTH:
            return None
        runs = self._runs[body] = self._runs.get(body, 0) + 1
        if runs > MAX_PRECISE:
            arguments = _above(analyses, arguments if general is None else general.arguments, arguments, runs)
        self._depth += 1
        results = run(body, arguments)
        self._depth -= 1
        if runs <= MAX_PRECISE:
            exact.append(Summary(arguments, results))
        else:
            self._general[body] = Summary(arguments, results)
        return results


def _leq(analyses: Sequence[RowAnalysis], a: Arguments, b: Arguments) -> bool:
    return all(analyses[number].leq(row, b[number]) for number, row in a.items())


def _above(analyses: Sequence[RowAnalysis], old: Arguments, new: Arguments, runs: int) -> Arguments:
    """Arguments above both, in a chain that ends."""
    if runs > MAX_RUNS:
        return {number: analyses[number].unknown(len(row)) for number, row in new.items()}
    return {number: analyses[number].widened(old[number], row) for number, row in new.items()}
