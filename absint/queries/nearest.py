"""The legal sizes nearest to given ones: of all symbols together, and of each alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import SECONDS, Limits
from absint.lattices.logic.relation import Relation, eq, gt, lt
from absint.lattices.text.escapes import excerpt, json_text, plain
from absint.program.limits import LIMITED
from absint.queries.outcomes import Outcome
from absint.queries.provers import checked
from absint.queries.size_checks import check, sizes_of
from absint.solution.constraints import recorded
from absint.solver.constraints import ConstraintSet
from absint.solver.nearest.candidates import Candidates
from absint.solver.prove import Prover

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_CHECKS: Final = 16
"""Sizes that meet all requirements of nodes and are refused by a check, before the search gives up."""

_OFFERED: Final = 3
"""Most choices in one line."""


@dataclass(frozen=True)
class Neighbour:
    """The nearest legal size of one symbol on one side, the others unchanged."""

    size: int | None
    """None: there is none, or none was found."""
    proved: bool
    """No legal size is nearer; without a size, there is none on this side. False: a limit was reached."""

    def __str__(self) -> str:
        if self.size is None:
            return "none" if self.proved else "none found"
        return str(self.size) if self.proved else f"{self.size} (a nearer one is not ruled out)"


@dataclass(frozen=True)
class Alone:
    """The nearest legal sizes of one symbol if no other changes."""

    symbol: str
    below: Neighbour
    above: Neighbour


@dataclass(frozen=True)
class Nearest:
    """The legal sizes nearest to given ones. Legal sizes break no requirement, and a check confirms each of these.

    Distance is the sum of the changes of all symbols. Of several sizes at the least distance, those that change the
    fewest symbols are chosen, and then the smallest, in the order of the symbols.
    """

    given: Mapping[str, int]
    legal: bool
    """The given sizes are legal themselves."""
    sizes: Mapping[str, int] | None
    """The nearest legal sizes, of all symbols together; None: there are none, or none was found."""
    distance: int | None
    """Their distance from the given ones."""
    proved: bool
    """No legal sizes are nearer; without sizes, there are no legal ones at all. False: a limit was reached."""
    alone: tuple[Alone, ...] = ()
    """For each symbol the nearest legal sizes if it changes alone."""
    reason: str = ""
    """The limit that was reached, if one was."""

    @property
    def choices(self) -> tuple[Mapping[str, int], ...]:
        """The changes that make the sizes legal, fewest steps first: all together, then each symbol alone."""
        if self.legal or self.sizes is None:
            return ()
        changed = {name: size for name, size in self.sizes.items() if size != self.given[name]}
        singles = [{a.symbol: n.size} for a in self.alone for n in (a.below, a.above) if n.size is not None]
        singles.sort(key=lambda change: sum(abs(size - self.given[name]) for name, size in change.items()))
        return changed, *(change for change in singles if change != changed)

    @property
    def line(self) -> str:
        """One line for a message about illegal sizes: `nearest legal: seq=128 (others unchanged); or seq=192`."""
        if self.legal:
            return "the sizes are legal"
        if self.sizes is None:
            return "no sizes are legal" if self.proved else f"no legal sizes were found: {self.reason}"
        first, *others = self.choices
        text = f"nearest legal: {_sizes(first)}"
        if len(first) < len(self.given):
            text += " (others unchanged)" if len(self.given) - len(first) > 1 else " (the other unchanged)"
        return "; or ".join([text, *map(_sizes, others[: _OFFERED - 1])])

    def __str__(self) -> str:
        if self.sizes is None:
            lines = [f"{_sizes(self.given)}: {self.line}"]
        elif self.legal:
            lines = [f"{_sizes(self.given)}: legal"]
        else:
            doubt = "" if self.proved else "; nearer ones are not ruled out"
            lines = [f"nearest legal to {_sizes(self.given)}: {_sizes(self.sizes)} (distance {self.distance}{doubt})"]
        lines += [f"  {plain(a.symbol)} alone: {a.below} below, {a.above} above" for a in self.alone]
        return "\n".join([*lines, f"  ({self.reason})"] if self.reason and self.sizes is not None else lines)

    def __repr__(self) -> str:
        return f"<Nearest: {excerpt(str(self))}>"

    def document(self) -> dict[str, object]:
        """The fields as JSON has them, without a schema."""
        return {
            "given": dict(self.given),
            "legal": self.legal,
            "sizes": None if self.sizes is None else dict(self.sizes),
            "distance": self.distance,
            "proved": self.proved,
            "alone": {
                a.symbol: {
                    side: {"size": found.size, "proved": found.proved}
                    for side, found in (("below", a.below), ("above", a.above))
                }
                for a in self.alone
            },
            "reason": self.reason,
        }

    def to_json(self) -> str:
        """As a JSON object, schema `absint.nearest/1`."""
        return json_text({"schema": "absint.nearest/1", **self.document()}, indent=1)


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{plain(name)}={size}" for name, size in sizes.items()) or "no symbols"


def nearest(analysed: Analysed, sizes: Mapping[str, int], limits: Limits | None = None) -> Nearest:
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
            sizes, proved = next(self.legal(), (None, not self.reason))
            for name in self._given:
                alone.append(Alone(name, self._beside(name, -1), self._beside(name, 1)))
        except DeadlineError as error:
            self.reason = str(error)
            unknown = Neighbour(None, proved=False)
            alone += [Alone(name, unknown, unknown) for name in list(self._given)[len(alone) :]]
        distance = None if sizes is None else sum(abs(size - self._given[name]) for name, size in sizes.items())
        return Nearest(self._given, legal, sizes, distance, proved, tuple(alone), self.reason)

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
        sizes, proved = next(self.legal((*others, beyond)), (None, not self.reason))
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


__all__ = ["Alone", "LegalSearch", "Nearest", "Neighbour", "nearest", "nearest_line", "requirements"]
