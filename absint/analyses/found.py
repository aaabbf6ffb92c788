"""The findings of analyses that ran together with that of shapes: the element of each value, and what they report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import cast

from absint.analyses.advising import T, ValueAnalysis, outputs_of
from absint.analyses.exchange import Member, run, solve
from absint.analyses.frame import Frame, Shapes
from absint.analyses.rows import Row
from absint.diagnostics import Diagnostic
from absint.errors import UsageError
from absint.solution.analysed import Analysed


def found_by(analysed: Analysed, analysis: ValueAnalysis[T]) -> dict[str, T]:
    """See `absint.Result.found_by`."""
    with finished(analysed, analysis) as rows:
        return analysis.named(rows)


def reported(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """The findings of all analyses that ran with that of shapes, each once."""
    members = (one for one in companions(analysed) if isinstance(one, ValueAnalysis))
    return tuple(chain.from_iterable(_reported(analysed, one) for one in members))


def _reported(analysed: Analysed, analysis: ValueAnalysis[object]) -> tuple[Diagnostic, ...]:
    with finished(analysed, analysis) as rows:
        return analysis.findings_at(rows)


@contextmanager
def finished(analysed: Analysed, analysis: ValueAnalysis[T]) -> Iterator[Sequence[Row]]:
    """The final rows of an analysis, which sees the program and the others as they were left.

    Raises UsageError if it did not run.
    """
    members = companions(analysed)
    number = next((number for number, one in enumerate(members) if one is analysis), None)
    if number is None:
        raise UsageError(f"{analysis.label} did not run: give it to absint.analyze(model, with_=[...])")
    solved, shapes = analysed.once(_solved), Shapes(analysed.analysis, analysed.states)
    outputs = outputs_of(analysed.lowered)
    frame = Frame(analysed.program, shapes, members, (number,), solved, run=run, outputs=outputs)
    frame.visit(-1, [(row,) for row in solved[number]])
    before = analysis.enter(frame)
    try:
        yield solved[number]
    finally:
        analysis.enter(before)


def companions(analysed: Analysed) -> tuple[Member, ...]:
    """The analyses that ran together with that of shapes."""
    known = analysed.cooperation
    return () if known is None else cast("tuple[Member, ...]", known.analyses)


def _solved(analysed: Analysed) -> dict[int, list[Row]]:
    members = companions(analysed)
    shapes = Shapes(analysed.analysis, analysed.states)
    return solve(analysed.program, shapes, members, outputs_of(analysed.lowered))
