"""The findings of analyses that ran together with that of shapes."""

from __future__ import annotations

from typing import cast

from absint.analyses.advising import T, ValueAnalysis, outputs_of
from absint.analyses.exchange import Member, run, solve
from absint.analyses.frame import Frame, Shapes
from absint.analyses.rows import Row
from absint.errors import UsageError
from absint.solution.analysed import Analysed


def found_by(analysed: Analysed, analysis: ValueAnalysis[T]) -> dict[str, T]:
    """See `absint.Result.found_by`."""
    number, solved, _ = solved_rows(analysed, analysis)
    rows = solved[number]
    before = analysis.enter(Frame(analysed.program, None, (analysis,), run=run))
    try:
        return analysis.named(rows)
    finally:
        analysis.enter(before)


def solved_rows(analysed: Analysed, analysis: ValueAnalysis[T]) -> tuple[int, dict[int, list[Row]], tuple[Member, ...]]:
    """The number of an analysis, the rows of all by their numbers, and all. Raises UsageError if it did not run."""
    members = companions(analysed)
    number = next((number for number, one in enumerate(members) if one is analysis), None)
    if number is None:
        raise UsageError(f"{analysis.label} did not run: give it to absint.analyze(model, with_=[...])")
    return number, analysed.once(_solved), members


def companions(analysed: Analysed) -> tuple[Member, ...]:
    """The analyses that ran together with that of shapes."""
    known = analysed.cooperation
    return () if known is None else cast("tuple[Member, ...]", known.analyses)


def _solved(analysed: Analysed) -> dict[int, list[Row]]:
    members = companions(analysed)
    shapes = Shapes(analysed.analysis, analysed.states)
    return solve(analysed.program, shapes, members, outputs_of(analysed.lowered))
