"""The rounds of a refinement: runs of the analysis, each with the facts that it started from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Expr, Symbol

if TYPE_CHECKING:
    from absint.shapes.analysis import ShapeAnalysis
    from absint.shapes.summaries import State

Run = tuple["ShapeAnalysis", "list[State]"]
"""Summaries of the rules, and the values of the nodes."""


class Learned(NamedTuple):
    """A requirement that became a fact, and the node that states it."""

    relation: Relation
    node: int
    reason: str


class Round:
    """One run of the analysis to its fixpoint, and the facts it started from."""

    __slots__ = ("_later", "_run", "learned")

    def __init__(self, analysis: ShapeAnalysis, states: list[State], learned: tuple[Learned, ...] = ()) -> None:
        self._run: Run | None = (analysis, states)
        self._later: Callable[[], Run] | None = None
        self.learned = learned

    @classmethod
    def deferred(cls, run: Callable[[], Run]) -> Round:
        """A round that is run when somebody asks for it."""
        self = object.__new__(cls)
        self._run, self._later, self.learned = None, run, ()
        return self

    @property
    def is_deferred(self) -> bool:
        """Nobody has asked for it yet."""
        return self._run is None

    @property
    def analysis(self) -> ShapeAnalysis:
        """The summaries of its nodes."""
        return self._done()[0]

    @property
    def states(self) -> list[State]:
        """The values of its nodes."""
        return self._done()[1]

    def _done(self) -> Run:
        if self._run is None:
            assert self._later is not None
            self._run, self._later = self._later(), None
        return self._run


class Rounds(NamedTuple):
    """All rounds, the most exact last."""

    rounds: tuple[Round, ...]
    conflict: tuple[Learned, ...] = ()
    """Requirements that contradict each other or what is given, if any do: the model can never run."""
    choices: tuple[Relation, ...] = ()
    """Conditions of the choices that are left in sizes."""
    adopted: tuple[Expr, ...] = ()
    """Declared dims that an unsound policy shows in place of inferred ones."""

    @property
    def originals(self) -> Mapping[Symbol, Dim]:
        """Symbols that facts narrowed -> the symbols of round 0."""
        return self.rounds[-1].analysis.facts.originals
