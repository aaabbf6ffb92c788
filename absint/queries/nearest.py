"""The legal sizes nearest to given ones: of all symbols together, and of each alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import SECONDS, Limits
from absint.lattices.logic.relation import Relation, eq, ge, gt, lt
from absint.program.limits import LIMITED
from absint.queries.neighbours import Alone, Nearest, Neighbour
from absint.queries.outcomes import Outcome
from absint.queries.provers import checked
from absint.queries.size_checks import check, sizes_of
from absint.solution.constraints import recorded
from absint.solver.constraints import ConstraintSet
from absint.solver.nearest.candidates import Candidates
from absint.solver.prove import Prover

if TYPE_CHECKING:
    from absint.shapes.sizes import Sizes
    from absint.solution.analysed import Analysed

_CHECKS: Final = 16
"""Sizes that meet all requirements of nodes and are refused by a check, before the search gives up."""


def nearest(analysed: Analysed, sizes: Sizes, limits: Limits | None = None) -> Nearest:
    """See `absint.Result.nearest`."""
    analysed.require_sound("a check of sizes")
    limits = checked(limits or Limits(SECONDS))
    search = LegalSearch(analysed, sizes_of(analysed, sizes), limits)
    with within(limits.seconds):
        return search.answer()


def nearest_line(analysed: Analysed, sizes: Mapping[str, int], seconds: float = SECONDS) -> str:
    """One line for a message that refuses sizes: the nearest legal ones, and how to reach them by one symbol."""
    return nearest(analysed, sizes, Limits(seconds)).line


class LegalSearch:
    """The search for legal sizes around given ones. Checks are kept: no sizes are checked twice."""

    def __init__(self, analysed: Analysed, given: Mapping[str, int], limits: Limits) -> None:
        self._analysed = analysed
        self._given = given
        self._prover = Prover(ConstraintSet(), order=tuple(analysed.parameters), limits=limits)
        self._symbols = {name: analysed.parameters[name] for name in given}
        self._requirements = requirements(analysed, given)
        self._checked: dict[tuple[int, ...], Outcome] = {}
        self.reason = ""
        """The limit that was reached, if one was."""

    def answer(self) -> Nearest:
        """The whole answer; past the deadline that is set, what was found by then."""
        legal, sizes, proved = False, None, False
        alone: list[Alone] = []
        try:
            legal = self._is_legal(self._given)
            sizes, proved = self._together()
            alone.extend(Alone(name, self._beside(name, -1), self._beside(name, 1)) for name in self._given)
        except DeadlineError as error:
            self.reason = str(error)
            unknown = Neighbour(None, proved=False)
            alone += [Alone(name, unknown, unknown) for name in list(self._given)[len(alone) :]]
        distance = None if sizes is None else sum(abs(size - self._given[name]) for name, size in sizes.items())
        return Nearest(self._given, legal, sizes, distance, proved, tuple(alone), self.reason)

    def _together(self) -> tuple[Mapping[str, int] | None, bool]:
        """The nearest legal sizes, without a 0 that is not given if there are any."""
        not_zero = tuple(ge(self._symbols[name], 1) for name in self._analysed.symbols if self._given[name])
        sizes, proved = self._first(not_zero)
        if sizes is None and not_zero:
            before, self.reason = self.reason, ""
            sizes, proved = self._first()
            self.reason = before or self.reason
            proved = proved and (sizes is None or not before)
        return sizes, proved

    def _first(self, extra: tuple[Relation, ...] = ()) -> tuple[Mapping[str, int] | None, bool]:
        """The first legal sizes that meet the extra relations; True if no nearer ones are left, or none at all."""
        found = next(self.legal(extra), None)
        return (None, not self.reason) if found is None else found

    def legal(self, extra: tuple[Relation, ...] = ()) -> Iterator[tuple[Mapping[str, int], bool]]:
        """Legal sizes that meet the extra relations too, nearest first; True if no nearer ones are left, proved.

        Where it ends with a `reason`, there may be more. Raises DeadlineError past the deadline that is set.
        """
        candidates = Candidates(self._given, self._symbols, [*self._requirements, *extra], self._prover)
        refused, undecided = 0, False
        for candidate in candidates:
            if self._is_legal(candidate.sizes):
                yield candidate.sizes, candidate.nearest and not undecided
                refused = 0
                continue
            refused += 1
            undecided |= self._outcome(candidate.sizes) is Outcome.UNKNOWN
            if undecided:
                self.reason = LIMITED
                return
            if refused == _CHECKS:
                self.reason = f"a check refused each of the {_CHECKS} nearest sizes that meet all stated requirements"
                return
        self.reason = candidates.reason or self.reason

    def _beside(self, name: str, side: int) -> Neighbour:
        """The nearest legal size of one symbol, above or below the given one."""
        symbol = self._symbols[name]
        others = tuple(eq(self._symbols[other], size) for other, size in self._given.items() if other != name)
        reason, self.reason = self.reason, ""
        beyond = gt(symbol, self._given[name]) if side > 0 else lt(symbol, self._given[name])
        sizes, proved = self._first((*others, beyond))
        self.reason = reason or self.reason
        return Neighbour(None if sizes is None else sizes[name], proved)

    def _is_legal(self, sizes: Mapping[str, int]) -> bool:
        return self._outcome(sizes) in (Outcome.RUNS, Outcome.HOLDS)

    def _outcome(self, sizes: Mapping[str, int]) -> Outcome:
        key = tuple(sizes.values())
        if key not in self._checked:
            self._checked[key] = check(self._analysed, sizes).outcome
        return self._checked[key]


def requirements(analysed: Analysed, names: Mapping[str, int]) -> list[Relation]:
    """The relations over these symbols that every run needs: premises of declarations, assumptions, requirements."""
    known = names.keys()
    stated = (c.formula for c in recorded(analysed).base if c.role == "required")
    every = (*analysed.declared_premises, *analysed.assumptions, *stated)
    return [relation for relation in dict.fromkeys(every) if relation.free_symbols <= known]


__all__ = ["LegalSearch", "nearest", "nearest_line", "requirements"]
