"""Several analyses in one solver: a product over one graph, iterated until no answer changes; what they found."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from inspect import isabstract
from typing import Any, Final, Union, cast

from absint.analyses.frame import Arguments, Call, Frame, framed, outputs_of, shapes_of
from absint.analyses.queries import Member, Row, T
from absint.analyses.values import AnyAnalysis, ValueAnalysis
from absint.diagnostics import Diagnostic
from absint.engine import Analysis, fixpoint
from absint.errors import UsageError
from absint.program.folded import Body
from absint.program.graph import Program
from absint.program.nodes import Callee
from absint.program.rules.plugins import run_file
from absint.program.steps import Operand
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.rounds import Round
from absint.solution.analysed import Analysed, once


@lru_cache(maxsize=16)
def _defined(path: str, _: int) -> tuple[AnyAnalysis, ...]:
    """The analyses of a file while it has this time: those that it makes, else one of each class that it defines."""
    module = run_file(path, "--analysis")
    found = list(vars(module).values())
    made = [one for one in found if isinstance(one, ValueAnalysis)]
    own = [one for one in found if isinstance(one, type) and issubclass(one, ValueAnalysis)]
    own = [one for one in own if one.__module__ == module.__name__ and not isabstract(one)]
    if not made and not own:
        raise UsageError(f"--analysis {path}: defines no analysis: write a subclass of absint.ForwardAnalysis")
    try:
        return tuple(made or [one() for one in dict.fromkeys(own)])
    except TypeError as error:
        raise UsageError(f"--analysis {path}: {error}; make the analysis in the file, and it is taken") from None


Given = Union[AnyAnalysis, str, "os.PathLike[str]"]
"""An analysis, or the path of a Python file that defines some."""


def read_analyses(given: Iterable[Given]) -> list[AnyAnalysis]:
    """The analyses, and for a path of a Python file those that it defines; the file is run.

    Raises UsageError, with the line, for a file that cannot be run, and for one that defines no analysis.
    """
    found: list[AnyAnalysis] = []
    for one in given:
        if isinstance(one, str | os.PathLike):
            path = os.fspath(one)
            found += _defined(path, os.stat(path).st_mtime_ns if os.path.exists(path) else 0)
        else:
            found.append(one)
    return found


Parts = tuple[Row, ...]
"""A row for each live analysis; empty if nothing has been computed."""

MAX_TURNS: Final = 4

MAX_PASSES: Final = 3
"""Passes over one node, whose analyses ask each other about it."""


class PartsLattice:
    """Rows of several analyses, each in its own order."""

    bottom: Parts = ()

    def __init__(self, analyses: Sequence[Member[Any]]) -> None:
        self._analyses = analyses
        self.top: Parts = tuple(analysis.unknown(1) for analysis in analyses)

    def leq(self, a: Parts, b: Parts) -> bool:
        if a is b or not a or not b:
            return not a or a is b
        return all(analysis.lattice.leq(x, y) for analysis, x, y in zip(self._analyses, a, b, strict=True))

    def join(self, a: Parts, b: Parts) -> Parts:
        if not a or not b:
            return a or b
        return tuple(analysis.lattice.join(x, y) for analysis, x, y in zip(self._analyses, a, b, strict=True))

    def meet(self, a: Parts, b: Parts) -> Parts:
        if not a or not b:
            return ()
        return tuple(analysis.meet(x, y) for analysis, x, y in zip(self._analyses, a, b, strict=True))

    def widen(self, old: Parts, new: Parts) -> Parts:
        return self.join(old, new)  # each analysis widens its own rows, in `Exchange.merge`


class Exchange(Analysis[Parts]):
    """The live analyses of a frame as one."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._analyses = [frame.members[number] for number in frame.live]
        self.direction = self._analyses[0].direction
        self.lattice = PartsLattice(self._analyses)

    def transfer(self, node: int, states: Sequence[Parts]) -> Parts:
        frame = self._frame
        frame.visit(node, states)
        rows = [frame.rows(number) for number in frame.live]
        frame.draft, frame.asked_itself = (), False
        found = tuple([analysis.transfer(node, own) for analysis, own in zip(self._analyses, rows, strict=True)])
        for _ in range(MAX_PASSES):
            if not frame.asked_itself:
                break
            frame.draft, frame.asked_itself = found, False
            again = tuple([analysis.transfer(node, own) for analysis, own in zip(self._analyses, rows, strict=True)])
            if again == found:
                break
            found = again
        return found

    def merge(self, node: int, old: Parts, new: Parts, widen: bool) -> Parts:
        if not old or not new:
            return old or new
        return tuple(
            before if analysis.lattice.leq(after, before) else analysis.merge(node, before, after, widen)
            for analysis, before, after in zip(self._analyses, old, new, strict=True)
        )


def solve(
    program: Program, shapes: Round, members: Sequence[AnyAnalysis], outputs: Sequence[Operand] = ()
) -> dict[int, list[Row]]:
    """The rows of each analysis by node, by its place among the members. `outputs` are those of the model."""
    groups = [[n for n, p in enumerate(members) if p.direction == way] for way in ("forward", "backward")]
    groups = [group for group in groups if group]
    finished: dict[int, list[Row]] = {}
    for _ in range(MAX_TURNS):
        frames = []
        for group in groups:
            frame = Frame(program, shapes, members, group, dict(finished), outputs=outputs)
            frames.append(frame)
            for number, rows in enumerate(run(frame)):
                place, member = group[number], members[group[number]]
                before = finished.get(place)
                finished[place] = rows if before is None else list(map(member.meet, rows, before))
        if not any(frame.is_outdated(finished) for frame in frames):
            break
    return finished


def run(frame: Frame) -> list[list[Row]]:
    """The states of the live analyses of a frame, in their order."""
    analyses = cast("list[AnyAnalysis]", [frame.members[number] for number in frame.live])
    with entered(frame, analyses):
        states = fixpoint(frame.program, Exchange(frame)).states
    return [[state[place] if state else () for state in states] for place in range(len(analyses))]


@contextmanager
def entered(frame: Frame, analyses: Sequence[AnyAnalysis]) -> Iterator[None]:
    """The analyses run over the program of the frame; then over what they ran over before."""
    before = [analysis.enter(frame) for analysis in analyses]
    try:
        yield
    finally:
        for analysis, outer in zip(analyses, before, strict=True):
            analysis.enter(outer)


def called(frame: Frame, member: Member[Any], node: int, body: Callee) -> Row:
    """The row of a folded call, from its summary; of nothing known if there is none."""
    assert isinstance(body, Body)
    arguments = {number: frame.members[number].arguments(node, frame.rows(number)) for number in frame.live}
    found = frame.summaries.of(frame.members, body, arguments, partial(_inside, frame))
    number = frame.number_of(member)
    return member.unknown(max(1, len(frame.nodes[node].outputs))) if found is None else found[number]


def _inside(frame: Frame, body: Body, arguments: Arguments) -> Arguments:
    """The results of a body for these arguments."""
    assert body.program is not None
    summaries, members = frame.summaries, frame.members
    shapes = summaries.shapes.get(body)
    if shapes is None:
        analysis = ShapeAnalysis(body.program)
        shapes = summaries.shapes[body] = Round(analysis, fixpoint(body.program, analysis).states)
    inner = Frame(body.program, shapes, members, frame.live, call=Call(body, arguments), summaries=summaries)
    return {number: members[number].results(body, own) for number, own in zip(frame.live, run(inner), strict=True)}


# What was found: the element of each value, and what the analyses report


def found_by(analysed: Analysed, analysis: ValueAnalysis[T]) -> dict[str, T]:
    """See `absint.Result.found_by`."""
    with finished(analysed, analysis) as rows:
        return analysis.named(rows)


@once
def reported(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """The findings of all analyses that ran with that of shapes, each once."""
    found: list[Diagnostic] = []
    for one in companions(analysed):
        with finished(analysed, one) as rows:
            found += one.findings_at(rows)
    return tuple(found)


@contextmanager
def finished(analysed: Analysed, analysis: ValueAnalysis[T]) -> Iterator[Sequence[Row]]:
    """The final rows of an analysis, which sees the program and the others as they were left.

    Raises UsageError if it did not run.
    """
    members = companions(analysed)
    number = next((number for number, one in enumerate(members) if one is analysis), None)
    if number is None:
        raise UsageError(f"{analysis.label} did not run: give it to absint.analyze(model, with_=[...])")
    solved = _solved(analysed)
    frame = framed(analysed, members, number, solved)
    frame.visit(-1, [(row,) for row in solved[number]])
    with entered(frame, [analysis]):
        yield solved[number]


def companions(analysed: Analysed) -> tuple[AnyAnalysis, ...]:
    """The analyses that ran together with that of shapes."""
    known = analysed.cooperation
    return () if known is None else cast("tuple[AnyAnalysis, ...]", known.analyses)


@once
def _solved(analysed: Analysed) -> dict[int, list[Row]]:
    members = companions(analysed)
    return solve(analysed.program, shapes_of(analysed), members, outputs_of(analysed.lowered))
