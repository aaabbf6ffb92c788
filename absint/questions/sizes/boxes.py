"""Boxes of sizes: checks that every size in a box is legal."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import inf
from typing import Final

from absint.errors import UsageError
from absint.lattices.limits import LONG, DeadlineError, Limits, within
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, Relation, ge, le, negation
from absint.lattices.terms.expr import MAX_DIM
from absint.program.limits import LIMITED, checked
from absint.questions.sizes.checking import broken_requirement, check, may_refuse
from absint.questions.sizes.outcomes import Failure, Outcome, RangeCheck
from absint.shapes.sizes import Sizes, given
from absint.solution.analysed import Analysed
from absint.solution.constraints import ASSUMPTION, NOT_NEGATIVE, all_names, recorded
from absint.solver.candidates import alone, coprime
from absint.solver.constraints import Constraint, ConstraintSet, PossibleFailure
from absint.solver.prove import Prover

_MOST_TRIED: Final = 8
_MOST_NODES: Final = 4_000
"""Limits of what is checked one by one: sizes, and nodes analysed in total."""


def check_range(analysed: Analysed, box: Sizes, limits: Limits | None = None) -> RangeCheck:
    """Check every size of the box against the requirements of round 0.

    A requirement is discharged from the box and from the statements of earlier nodes, so that none proves itself.
    Symbols that the box leaves out may have any size. Assumptions of the caller narrow the box.
    """
    analysed.require_sound("a check of sizes")
    limits = checked(limits or Limits(LONG))
    ends = _narrowed(analysed, box_of(analysed, box))
    found = _Range(analysed, ends, Prover(recorded(analysed).base, order=tuple(analysed.parameters), limits=limits))
    try:
        with within(limits.seconds):
            answer = found.answer()
            return replace(answer if answer.failure else found.tried(answer), assuming=analysed.assumptions)
    except DeadlineError as error:
        found.reason = str(error)
        return replace(found.undecided(), assuming=analysed.assumptions)


def _narrowed(analysed: Analysed, ends: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The box without the sizes at its ends that the assumptions exclude; all of it if they exclude all of it."""
    if not analysed.assumptions:
        return ends
    facts = Facts([*analysed.assumptions, *_inside(analysed, ends)], tuple(analysed.parameters))
    if facts.contradiction:
        return ends
    found = {}
    for name, (lo, hi) in ends.items():
        least, most = facts.simplify(analysed.parameters[name]).bounds
        found[name] = max(lo, least if least is not None else lo), min(hi, most if most is not None else hi)
    return found


def _inside(analysed: Analysed, ends: Mapping[str, tuple[int, int]]) -> list[Relation]:
    numbers = ((analysed.parameters[name], lo, hi) for name, (lo, hi) in ends.items())
    return [relation for number, lo, hi in numbers for relation in (ge(number, lo), le(number, hi))]


class _Range:
    """The answer about a box, found node by node."""

    def __init__(self, analysed: Analysed, ends: Mapping[str, tuple[int, int]], prover: Prover) -> None:
        self._result, self._ends, self._prover = analysed, ends, prover
        self._open: list[Constraint] = []
        self._premises: list[Constraint] = []
        self._possible_failures: list[PossibleFailure] = []
        self._held: dict[Relation, None] = {}
        self._waiting: deque[PossibleFailure] = deque()
        self._is_point = all(lo == hi for lo, hi in ends.values())
        self.reason = ""

    def answer(self) -> RangeCheck:
        """Raises DeadlineError past the deadline that is set."""
        result, prover = self._result, self._prover
        inside = _inside(result, self._ends)
        premises = [c.formula for c in prover.constraints if c.origin.node < 0]
        excluded = _excluded(prover, self._ends, inside)
        excluded = excluded if excluded is not None else self._single()
        if excluded is not None:
            return excluded
        stated = stated_within(result, prover, [*inside, *premises])
        self._possible_failures += [d for d in stated.possible_failures if d.guard is TRUE]
        self._waiting.extend(
            sorted((d for d in stated.possible_failures if d.guard is not TRUE), key=lambda d: d.origin.node)
        )
        self._held |= dict.fromkeys([*inside, *premises])
        failed = self._stated(stated)
        if failed is not None:
            return failed
        self._weigh(inf)
        if result.base.analysis.unfinished:
            self.reason = LIMITED
        return self.undecided()

    def undecided(self) -> RangeCheck:
        """The answer if nothing is known to fail."""
        complete = not self._possible_failures and not self._premises and self._result.is_complete
        settled = Outcome.LEGAL if self._open else Outcome.RUNS if complete else Outcome.LEGAL
        return RangeCheck(
            self._ends,
            Outcome.UNDECIDED if self.reason else settled,
            open=_shown(self._result, self._open),
            possible_failures=tuple(self._possible_failures),
            premises=_shown(self._result, self._premises),
            reason=self.reason,
        )

    def tried(self, found: RangeCheck) -> RangeCheck:
        """The answer, unless it leaves something open and a check refuses some sizes of the box."""
        if found.outcome is not Outcome.RUNS:
            with suppress(DeadlineError):
                for sizes in _tried(self._ends, len(self._result.nodes)):
                    if not (self._is_point or may_refuse(self._result, sizes)):
                        continue
                    refused = check(self._result, sizes)
                    if refused.failure is not None and refused.failure.origin.node >= 0:
                        return replace(found, outcome=Outcome.ILLEGAL, failure=refused.failure, sizes=sizes)
        return found

    def _single(self) -> RangeCheck | None:
        """The failure of a box with one size, where a requirement may divide by zero."""
        sizes = {name: lo for name, (lo, hi) in self._ends.items()}
        failure = broken_requirement(self._result, sizes) if self._is_point else None
        return None if failure is None else RangeCheck(self._ends, Outcome.ILLEGAL, failure, sizes)

    def _weigh(self, upto: float) -> None:
        """Keep the possible failures of the nodes up to this one, except those that the relations held rule out."""
        while self._waiting and self._waiting[0].origin.node <= upto:
            failure = self._waiting.popleft()
            if not self._prover.entails(list(self._held), negation(failure.guard)).entailed:
                self._possible_failures.append(failure)

    def _stated(self, stated: ConstraintSet) -> RangeCheck | None:
        """Check the statements of the nodes in order; the answer if one of them fails."""
        pending: list[Relation] = []
        last = -1
        for c in stated:
            if c.origin.node < 0:
                continue
            if c.origin.node != last:
                self._held.update(dict.fromkeys(pending))
                pending, last = [], c.origin.node
                self._weigh(last)
            if c.formula in self._held:
                continue
            if c.role == "defined":
                if c.reason == NOT_NEGATIVE and not self._prover.entails(list(self._held), c.formula).entailed:
                    self._possible_failures.append(PossibleFailure(c.origin, TRUE, f"it is not shown that {c.formula}"))
                pending.append(c.formula)
                continue
            failed = self._required(c)
            if failed is not None:
                return failed
            self._held[c.formula] = None
        return None

    def _required(self, c: Constraint) -> RangeCheck | None:
        decision = self._prover.entails(list(self._held), c.formula, small=True)
        if decision.entailed is None:
            self.reason = decision.reason
            self._open.append(c)
        elif not decision.entailed:
            if c.role == "assumed":
                self._premises.append(c)
                return None
            for part in c.formula.parts if c.formula.op == "and" else (c.formula,):
                if not part.free_symbols <= self._ends.keys():  # an element that the caller leaves open
                    continue
                broken = decision if part is c.formula else self._prover.entails(list(self._held), part, small=True)
                if broken.entailed is False:
                    sizes = {name: broken.model.get(name, lo) for name, (lo, _) in self._ends.items()}
                    found = check(self._result, sizes)
                    if found.failure is not None:
                        return RangeCheck(self._ends, Outcome.ILLEGAL, found.failure, sizes)
            self._open.append(c)
        return None


def _tried(ends: Mapping[str, tuple[int, int]], nodes: int) -> Iterator[dict[str, int]]:
    """Sizes of a box that are checked one by one: its corners, its middle, and those where one symbol alone is small.

    Fewer in a model of many nodes.
    """
    least, greatest = ({name: pair[side] for name, pair in ends.items()} for side in (0, 1))
    middle = {name: (lo + hi) // 2 for name, (lo, hi) in ends.items()}
    apart = {name: max(ends[name][0], min(prime, ends[name][1])) for name, prime in coprime(ends).items()}
    small = (sizes for name, (lo, _) in ends.items() for sizes in alone(apart, [name], [lo]))
    wanted = [least, greatest, apart, middle, *small]
    distinct = {tuple(sizes.values()): sizes for sizes in wanted}
    yield from islice(distinct.values(), max(2, min(_MOST_TRIED, _MOST_NODES // max(1, nodes))))


def _shown(analysed: Analysed, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    return tuple(ConstraintSet(constraints).renamed(all_names(analysed)))


def _excluded(prover: Prover, ends: Mapping[str, tuple[int, int]], within: Sequence[Relation]) -> RangeCheck | None:
    """The answer for a box with a size that no input can have, or without one that is assumed."""
    premises = [c for c in prover.constraints if c.origin.node < 0]
    assumed = [c.formula for c in premises if c.role == "assumed"]
    for c in premises:
        if c.role == "declared":
            decision = prover.entails([*within, *assumed], c.formula, small=True)
            if decision.entailed is False:
                sizes = {name: decision.model.get(name, lo) for name, (lo, _) in ends.items()}
                return RangeCheck(ends, Outcome.ILLEGAL, Failure(c.origin, c.reason, str(c.formula)), sizes)
    if assumed and prover.entails([*within, *assumed], FALSE).entailed:
        nowhere = Failure(ASSUMPTION, "no size in the box is one that is assumed")
        return RangeCheck(ends, Outcome.ILLEGAL, nowhere, {name: lo for name, (lo, _) in ends.items()})
    return None


def stated_within(analysed: Analysed, prover: Prover, premises: Sequence[Relation]) -> ConstraintSet:
    """The statements of the nodes; those of the last round if the premises entail what that round assumes.

    Else a requirement could be used to prove itself, or to show that a node before it does not fail.
    """
    learned = (item.relation for item in analysed.last.learned)
    sound = all(prover.entails(premises, relation).entailed for relation in learned)
    return recorded(analysed).every if sound else recorded(analysed).base


def box_of(analysed: Analysed, box: Sizes) -> dict[str, tuple[int, int]]:
    """Both ends for every symbol, and for the elements that the box has.

    Raises UsageError for an unknown name, an empty or negative range, and a shape that does not settle its symbols.
    """
    found = given(box, analysed.declared_inputs)
    if found.equations:
        raise UsageError(f"{found.equations[0]}: give sizes of {', '.join(sorted(found.equations[0].free_symbols))}")
    ends: dict[str, tuple[int, int]] = {}
    for name, parameter in analysed.parameters.items():
        if name in found.ends or name in analysed.symbols:
            low, high, _ = found.ends.get(name, (None, None, ""))
            least, most = parameter.bounds
            ends[name] = (low if low is not None else least or 0, high if high is not None else most or MAX_DIM)
    return ends
