"""The legal sizes nearest to given ones: of all symbols together, and of each alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from absint.lattices.limits import SECONDS, DeadlineError, Limits, within
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, YES, Relation, eq, ge, gt, lt
from absint.lattices.terms.expr import MAX_DIM, Expr
from absint.lattices.terms.interval import ANY, Congruence
from absint.program.limits import LIMITED, checked
from absint.questions.sizes.checking import Judge, sizes_of
from absint.questions.sizes.neighbours import Alone, Nearest, Neighbour
from absint.questions.sizes.outcomes import Outcome
from absint.shapes.sizes import Sizes
from absint.solution.analysed import Analysed
from absint.solution.constraints import recorded
from absint.solver.candidates import USUAL, alone, equal
from absint.solver.constraints import ConstraintSet
from absint.solver.contracts.simplification import simplified
from absint.solver.nearest.search import Candidates
from absint.solver.prove import Prover

_CHECKS: Final = 128
_NODES: Final = 2_000
"""Sizes that meet all requirements of nodes and are refused by a check, and nodes analysed in these, before the search
for the nearest gives up."""

_FAR: Final = 32
"""Most usual sizes, of all symbols and of one, that are checked then."""


def nearest(analysed: Analysed, sizes: Sizes, limits: Limits | None = None) -> Nearest:
    """See `absint.Result.nearest`."""
    analysed.require_sound("a check of sizes")
    limits = checked(limits or Limits(SECONDS))
    given = sizes_of(analysed, sizes)
    with within(limits.seconds):
        return _Answer(LegalSizes(analysed, given, limits), given).found()


class SizeRange(NamedTuple):
    """A range that the legal sizes of a symbol do not leave, and their remainder."""

    low: int
    high: int | None
    congruence: Congruence


class LegalSizes:
    """The legal sizes of some symbols: all sizes, and the elements that are chosen."""

    def __init__(self, analysed: Analysed, names: Iterable[str], limits: Limits) -> None:
        self.symbols = {name: analysed.parameters[name] for name in names}
        self.reason = ""
        """The limit that was reached, if one was."""
        self._analysed = analysed
        self._prover = Prover(ConstraintSet(), order=tuple(analysed.parameters), limits=limits)
        self._judge = analysed.once(Judge)

    @cached_property
    def requirements(self) -> list[Relation]:
        """The relations that all of them meet."""
        return requirements(self._analysed, self.symbols)

    def ranges(self, extra: Sequence[Relation] = ()) -> dict[str, SizeRange]:
        """The bounds of each symbol alone that follow from the requirements and the extra relations."""
        facts = Facts([*self.requirements, *extra], tuple(self.symbols))
        found = {}
        for name, symbol in self.symbols.items():
            value = facts.simplify(symbol)
            known = facts.congruence(value) if isinstance(value, Expr) else ANY
            lo, hi = value.bounds
            found[name] = SizeRange(lo or 0, None if hi is None or hi >= MAX_DIM else hi, known)
        return found

    def near(
        self, given: Mapping[str, int], extra: Sequence[Relation] = ()
    ) -> Iterator[tuple[Mapping[str, int], bool]]:
        """Legal sizes that meet the extra relations too, nearest first; True if no nearer ones are left, proved.

        Where it ends with a `reason`, there may be more. Raises DeadlineError past the deadline that is set.
        """
        candidates = Candidates(given, self.symbols, [*self.requirements, *extra], self._prover)
        refused, undecided = 0, False
        most = max(_CHECKS // 8, min(_CHECKS, _NODES // max(1, len(self._analysed.nodes))))
        for candidate in candidates:
            if self.is_legal(candidate.sizes):
                yield candidate.sizes, candidate.nearest and not undecided
                refused = 0
                continue
            refused += 1
            undecided |= self._judge.check(candidate.sizes).outcome is Outcome.UNDECIDED
            if undecided:
                self.reason = LIMITED
                return
            if refused == most:
                yield from ((sizes, False) for sizes in self._far(given, extra) if self.is_legal(sizes))
                self.reason = f"a check refused each of the {most} nearest sizes that meet all stated requirements"
                return
        self.reason = candidates.reason or self.reason

    def solved(self, extra: Sequence[Relation] = ()) -> Mapping[str, int] | None:
        """Some legal sizes that meet the extra relations too, as Z3 finds them; None if a check refuses these."""
        model = self._prover.entails([*self.requirements, *extra], FALSE, small=True).model
        sizes = {name: model.get(name, 1) for name in self.symbols}
        return sizes if self.is_legal(sizes) else None

    def _far(self, given: Mapping[str, int], extra: Sequence[Relation]) -> Sequence[Mapping[str, int]]:
        """Ordinary sizes that meet the requirements, the nearest first."""
        needed = [*self.requirements, *extra]
        usual = (*equal(given, USUAL), *alone(given, given, USUAL))
        found = [sizes for sizes in usual if all(r.at(sizes) is YES for r in needed)]
        return sorted(found, key=lambda sizes: sum(abs(sizes[n] - given[n]) for n in given))[:_FAR]

    def not_empty(self, given: Mapping[str, int]) -> tuple[Relation, ...]:
        """Every size is 1 or more that is so in the given ones."""
        return tuple(ge(self.symbols[name], 1) for name in self._analysed.symbols if given[name])

    def with_elements(self, given: Mapping[str, int]) -> tuple[Relation, ...]:
        """The given elements of inputs stay: another size is nearer than another value."""
        chosen = given.keys() - set(self._analysed.symbols)
        return tuple(eq(self.symbols[name], given[name]) for name in given if name in chosen)

    def is_legal(self, sizes: Mapping[str, int]) -> bool:
        """A check confirms the sizes."""
        return self._judge.is_legal(sizes)


class _Answer:
    """The nearest of legal sizes; past the deadline that is set, what was found by then."""

    def __init__(self, legal: LegalSizes, given: Mapping[str, int]) -> None:
        self._legal, self._given = legal, given

    def found(self) -> Nearest:
        is_legal, sizes, proved = False, None, False
        alone: list[Alone] = []
        try:
            is_legal = self._legal.is_legal(self._given)
            sizes, proved = self._together()
            alone.extend(Alone(name, self._beside(name, -1), self._beside(name, 1)) for name in self._given)
        except DeadlineError as error:
            self._legal.reason = str(error)
            unknown = Neighbour(None, proved=False)
            alone += [Alone(name, unknown, unknown) for name in list(self._given)[len(alone) :]]
        distance = None if sizes is None else sum(abs(size - self._given[name]) for name, size in sizes.items())
        return Nearest(self._given, is_legal, sizes, distance, proved, tuple(alone), self._legal.reason)

    def _together(self) -> tuple[Mapping[str, int] | None, bool]:
        """The nearest legal sizes: with the given elements if there are any, and without a 0 that is not given."""
        not_empty, kept = self._legal.not_empty(self._given), self._legal.with_elements(self._given)
        undecided = False
        for extra in dict.fromkeys(((*not_empty, *kept), kept, not_empty, ())):
            sizes, proved = self._first(extra)
            if sizes is not None or not extra:
                break
            undecided |= not proved
        return sizes, proved and (sizes is None or not undecided)

    def _first(self, extra: Sequence[Relation] = ()) -> tuple[Mapping[str, int] | None, bool]:
        """The first legal sizes that meet the extra relations; True if no nearer ones are left, or none at all."""
        reason, self._legal.reason = self._legal.reason, ""
        sizes, proved = next(self._legal.near(self._given, extra), (None, False))
        if sizes is None:
            proved = not self._legal.reason
        self._legal.reason = reason or self._legal.reason
        return sizes, proved

    def _beside(self, name: str, side: int) -> Neighbour:
        """The nearest legal size of one symbol, above or below the given one."""
        symbols = self._legal.symbols
        others = tuple(eq(symbols[other], size) for other, size in self._given.items() if other != name)
        beyond = gt(symbols[name], self._given[name]) if side > 0 else lt(symbols[name], self._given[name])
        sizes, proved = self._first((*others, beyond))
        return Neighbour(None if sizes is None else sizes[name], proved)


def requirements(analysed: Analysed, names: Mapping[str, object]) -> list[Relation]:
    """Relations over these symbols that every run needs, simplified by each other: premises of declarations,
    assumptions of the caller, requirements of nodes."""
    known = names.keys()
    stated = (c.formula for c in recorded(analysed).base if c.role == "required")
    every = (*analysed.declared_premises, *analysed.assumptions, *stated)
    return list(simplified({r: {} for r in every if r.free_symbols <= known}, (), tuple(names)))
