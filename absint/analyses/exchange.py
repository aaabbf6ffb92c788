"""Several analyses in one solver: a product over one graph, iterated until no answer changes, in turns."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from inspect import isabstract
from typing import Final, Union

from absint.analyses.frame import Frame, Shapes
from absint.analyses.rows import Row, RowAnalysis
from absint.engine import Analysis, fixpoint
from absint.errors import UsageError
from absint.program.graph import Program
from absint.program.rules.files import run_file
from absint.program.steps import Operand


class Member(RowAnalysis):
    """An analysis that can run together with others, over one program after another: `absint.analyze(with_=...)`."""

    @abstractmethod
    def enter(self, frame: Frame | None) -> Frame | None:
        """Run over the program of this frame from now on; the frame that it ran over before."""

    def names_given(self) -> Collection[str]:
        """The names of inputs, initialisers and constants of which something is taken for granted."""
        return ()


@lru_cache(maxsize=16)
def _defined(path: str, _: int) -> tuple[Member, ...]:
    """The analyses of a file while it has this time: those that it makes, else one of each class that it defines."""
    module = run_file(path, "--analysis")
    found = list(vars(module).values())
    made = [one for one in found if isinstance(one, Member)]
    own = [one for one in found if isinstance(one, type) and issubclass(one, Member)]
    own = [one for one in own if one.__module__ == module.__name__ and not isabstract(one)]
    if not made and not own:
        raise UsageError(f"--analysis {path}: defines no analysis: write a subclass of absint.ForwardAnalysis")
    try:
        return tuple(made or [one() for one in dict.fromkeys(own)])
    except TypeError as error:
        raise UsageError(f"--analysis {path}: {error}; make the analysis in the file, and it is taken") from None


Given = Union[Member, str, "os.PathLike[str]"]
"""An analysis, or the path of a Python file that defines some."""


def read_analyses(given: Iterable[Given]) -> list[Member]:
    """The analyses, and for a path of a Python file those that it defines; the file is run.

    Raises UsageError, with the line, for a file that cannot be run, and for one that defines no analysis.
    """
    found: list[Member] = []
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

    def __init__(self, analyses: Sequence[RowAnalysis]) -> None:
        self._analyses = analyses
        self.top: Parts = tuple(analysis.unknown(1) for analysis in analyses)

    def leq(self, a: Parts, b: Parts) -> bool:
        if a is b or not a or not b:
            return not a or a is b
        return all(analysis.leq(x, y) for analysis, x, y in zip(self._analyses, a, b, strict=True))

    def join(self, a: Parts, b: Parts) -> Parts:
        if not a or not b:
            return a or b
        return tuple(analysis.join(x, y) for analysis, x, y in zip(self._analyses, a, b, strict=True))

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
        found = tuple([analysis.row(node, own) for analysis, own in zip(self._analyses, rows, strict=True)])
        for _ in range(MAX_PASSES):
            if not frame.asked_itself:
                break
            frame.draft, frame.asked_itself = found, False
            again = tuple([analysis.row(node, own) for analysis, own in zip(self._analyses, rows, strict=True)])
            if again == found:
                break
            found = again
        return found

    def merge(self, node: int, old: Parts, new: Parts, widen: bool) -> Parts:
        if not old or not new:
            return old or new
        return tuple(
            before if analysis.leq(after, before) else analysis.merged(node, before, after, widen)
            for analysis, before, after in zip(self._analyses, old, new, strict=True)
        )


def solve(
    program: Program,
    shapes: Shapes | None,
    members: Sequence[Member],
    outputs: Sequence[Operand] = (),
) -> dict[int, list[Row]]:
    """The rows of each analysis by node, by its place among the members. `outputs` are those of the model."""
    groups = [[n for n, p in enumerate(members) if p.direction == way] for way in ("forward", "backward")]
    groups = [group for group in groups if group]
    finished: dict[int, list[Row]] = {}
    for _ in range(MAX_TURNS):
        frames = []
        for group in groups:
            frame = Frame(program, shapes, members, group, dict(finished), run=run, outputs=outputs)
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
    live = (frame.members[number] for number in frame.live)
    analyses = [analysis for analysis in live if isinstance(analysis, Member)]
    before = [analysis.enter(frame) for analysis in analyses]
    try:
        states = fixpoint(frame.program, Exchange(frame)).states
    finally:
        for analysis, outer in zip(analyses, before, strict=True):
            analysis.enter(outer)
    return [[state[place] if state else () for state in states] for place in range(len(analyses))]
