"""Legal sizes of two models: does each requirement of one follow from those of the other?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Final, NamedTuple

from absint.jobs.diffing.answers import Apart, Contracts, Evidence, Unmet
from absint.jobs.diffing.correspondence import Correspondence, plain_relation
from absint.jobs.diffing.witness import Both, Numbers, Side
from absint.lattices.limits import DeadlineError, Limits, within
from absint.lattices.logic.relation import FALSE, NO, TRUE, Relation, ge
from absint.lattices.text.escapes import format_sizes
from absint.questions.sizes import checking, start
from absint.solution.analysed import Analysed
from absint.solution.constraints import DECLARATION
from absint.solver.constraints import Constraint, ConstraintSet, meets
from absint.solver.contracts.contract import Contract
from absint.solver.prove import Decision, Prover

# The time that a comparison has.

_LEAST = 1e-3


class Clock:
    """Limits of a whole comparison; its parts share the time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._end = monotonic() + limits.seconds

    def limited(self) -> AbstractContextManager[None]:
        """Work that raises DeadlineError once the time is over."""
        return within(self._end - monotonic())

    @property
    def left(self) -> Limits:
        """The limits of a part: the time that is left, at least a little."""
        return self.limits._replace(seconds=max(self._end - monotonic(), _LEAST))

    @property
    def over(self) -> str:
        """The reason why something is undecided once the time is over."""
        return f"the time limit of {self.limits.seconds:g} s was reached"


# The facts about the sizes compared, and the prover that knows them.


class Grounds:
    """Relations over the symbols of one model that all sizes in question meet."""

    def __init__(self, analysed: Analysed, premises: Sequence[Relation], clock: Clock) -> None:
        self._analysed, self.clock = analysed, clock
        self.premises = [relation for relation in dict.fromkeys(premises) if relation is not TRUE]
        stated = (Constraint(relation, TRUE, DECLARATION, "declared", "") for relation in self.premises)
        order = tuple(analysed.parameters)
        self._prover = Prover(ConstraintSet(stated, symbols=order), order=order, limits=clock.limits)

    def with_more(self, premises: Sequence[Relation]) -> Grounds:
        """These and further ones."""
        return Grounds(self._analysed, [*self.premises, *premises], self.clock)

    @property
    def contradict(self) -> bool:
        """No sizes meet them, as is shown."""
        return self._prover.consistent.entailed is True

    def decide(self, relation: Relation) -> Decision:
        """They entail the relation, or not, or that is not decided."""
        return self._prover.decide(relation)

    def entail_unless_empty(self, relation: Relation, sizes: start.Sizes) -> bool:
        """One of the sizes is 0, and where none is, the relation is entailed."""
        if all(sizes.get(name) != 0 for name in self._analysed.symbols):
            return False
        full = [ge(self._analysed.parameters[name], 1) for name in self._analysed.symbols]
        return self.with_more(full).decide(relation).entailed is True

    def small(self, most: int) -> list[start.Sizes]:
        """A few small sizes that meet them all; what Z3 knows if none are found one by one."""
        chosen = self.chosen()
        found = list(islice(start.legal_sizes(self.premises, chosen), most))
        model = self._prover.consistent.model
        known = {name: model.get(name, 1) for name in chosen}
        return found or ([known] if meets(self.premises, known) else [])

    def model(self, decision: Decision) -> start.Sizes:
        """Sizes that meet them all and falsify what was decided."""
        return {**self._prover.consistent.model, **decision.model}

    def chosen(self, relation: Relation = TRUE) -> start.Parameters:
        """Symbols that sizes are given for: all sizes of the inputs, and those of their elements that matter."""
        mentioned = relation.free_symbols.union(*(premise.free_symbols for premise in self.premises))
        every = self._analysed.parameters
        return {n: e for n, e in every.items() if n in self._analysed.symbols or n in mentioned}


_TRIES: Final = 4
"""Sizes at which a model is tried before it counts as not shown to run there."""

_BEYOND: Final = 12
"""Sizes at which both models are checked, where requirements alone do not tell them apart."""

_NO_KERNEL: Final = "Could not find an implementation"
"""Part of the message of onnxruntime about an operator that it does not have."""


@dataclass(frozen=True)
class Model:
    """One of the two models, with its contract."""

    side: Side
    analysed: Analysed
    contract: Contract

    def premises(self) -> Iterator[Relation]:
        """All that is taken for granted of its symbols: requirements, declarations, assumptions, numeric premises."""
        clauses = (clause.relation for clause in self.contract.clauses)
        return self._plain((*clauses, *(c.formula for c in self.contract.premises)))

    def numeric(self) -> Iterator[Relation]:
        """Numeric premises and the caller's assumptions, which no run requires."""
        return self._plain(c.formula for c in self.contract.premises if c.origin != DECLARATION)

    def _plain(self, stated: Iterable[Relation]) -> Iterator[Relation]:
        known = self.analysed.parameters.keys()
        return (plain_relation(self.analysed, r) for r in stated if r.free_symbols <= known)


class _Demand(NamedTuple):
    """A requirement of the target."""

    relation: Relation
    """Over its symbols."""
    over: Relation
    """Over those of the source."""
    text: str
    because: tuple[str, ...]
    is_declared: bool
    is_placed: bool
    """Axes of the source give all its symbols."""


class Direction:
    """Requirements of a target, each entailed by those of a source or broken at sizes that are legal there."""

    def __init__(
        self,
        source: Model,
        target: Model,
        over: Correspondence,
        runs: Both,
        clock: Clock,
        assume: Sequence[Relation],
        numbers: Callable[[bool], Numbers],
    ) -> None:
        """`over` expresses the target's symbols over those of the source; `assume` is over the source's."""
        self._source, self._target, self._over, self._runs = source, target, over, runs
        self._numbers = numbers
        granted = (over.relation(r) for r in target.numeric() if over.covers(r))
        self.grounds = Grounds(source.analysed, [*source.premises(), *granted, *assume], clock)
        self.broken: list[Unmet] = []
        self.undecided: list[Unmet] = []

    def run(self) -> Direction:
        """Decide every requirement of the target."""
        if self._source.contract.possible is False:
            return self  # no size is legal
        for demand in self._demands():
            try:
                with self.grounds.clock.limited():
                    self._decide(demand)
            except DeadlineError:
                self._leave(demand, self.grounds.clock.over)
        self._leave_what_is_not_stated()
        with suppress(DeadlineError), self.grounds.clock.limited():
            self._look_beyond()
        return self

    def both(self) -> Grounds:
        """The facts about sizes that are legal in both models."""
        return self.grounds.with_more([d.over for d in self._demands() if d.is_placed])

    def _demands(self) -> Iterator[_Demand]:
        for placed in self._over.demands:
            text = f"{placed.place} == {placed.target}"
            yield _Demand(placed.relation, placed.relation, text, (f"input {placed.place}",), True, True)
        clauses = [(clause.relation, clause.because) for clause in self._target.contract.clauses]
        declared = [c for c in self._target.contract.premises if c.origin == DECLARATION]
        for stated, because in (*((c.formula, (c,)) for c in declared), *clauses):
            relation = plain_relation(self._target.analysed, stated)
            nodes = tuple(dict.fromkeys(str(c.origin) for c in because))
            covered, over = self._over.covers(relation), self._over.relation(relation)
            yield _Demand(relation, over, str(relation), nodes, not nodes, covered)

    def _decide(self, demand: _Demand) -> None:
        if not demand.is_placed:
            missing = ", ".join(sorted(demand.relation.free_symbols - self._over.symbols.keys()))
            self._leave(demand, f"no axis of an input that both models have gives {missing}")
            return
        known = next((u.apart for u in self.broken if u.apart and demand.over.at(u.apart.sizes) is NO), None)
        if known is not None:
            self.broken.append(self._unmet(demand, known))
            return
        decision = self.grounds.decide(demand.over)
        if decision.entailed is None:
            self._leave(demand, decision.reason)
        elif not decision.entailed:
            self._examine(demand, self.grounds.model(decision))

    def _examine(self, demand: _Demand, model: start.Sizes) -> None:
        """Look for sizes that break the requirement, and at which the source runs."""
        reason = "no sizes are known that break it"
        chosen = self.grounds.chosen(demand.over)
        for sizes in islice(start.small_sizes(demand.over, self.grounds.premises, chosen, model), _TRIES):
            apart, reason = self._tried(demand, sizes)
            if apart is not None:
                only = self.grounds.entail_unless_empty(demand.over, sizes)
                self.broken.append(self._unmet(demand, apart._replace(is_only_empty=only)))
                return
        self._leave(demand, reason)

    def _tried(self, demand: _Demand, sizes: start.Sizes) -> tuple[Apart | None, str]:
        """The evidence that the source runs at these sizes, which break the requirement; else the reason."""
        side = self._source.side
        shown = self._runs.at(side, sizes)
        at = format_sizes(sizes, "any size")
        if shown is None or (isinstance(shown.source, str) and _NO_KERNEL in shown.source):
            if demand.is_declared:
                return self._apart(sizes, "is legal", f"declares {demand.text}", "declarations"), ""
            if self._runs.promised(side, sizes):
                return self._apart(sizes, "runs", f"fails: it needs {demand.text}", "rules"), ""
            why = self._runs.why_not if shown is None else str(shown.source)
            return None, f"{side} is not shown to run at {at}: {why}"
        if isinstance(shown.source, str):
            return None, f"{side} fails at {at} too: {shown.source}"
        if isinstance(shown.target, str):
            return self._apart(sizes, "runs", f"fails: {shown.target}", "run"), ""
        if demand.is_declared:
            lenient = f"runs too: onnxruntime does not enforce that {demand.text}"
            return self._apart(sizes, "runs", lenient, "declarations"), ""
        return None, f"both run at {at}, though {self._target.side} requires {demand.text}"

    def _look_beyond(self) -> None:
        """Look for sizes that a check refuses in the target alone, where its requirements are not all it needs."""
        target = self._target.analysed
        if self.broken or self._numbers_cover() or not checking.may_refuse(target):
            return
        here, there = self._source.analysed.once(checking.Judge), target.once(checking.Judge)
        symbols = {name: self._source.analysed.parameters[name] for name in self._source.analysed.symbols}
        for sizes in islice(start.legal_sizes(self.grounds.premises, symbols), _BEYOND):
            over = {name: expr.at(sizes) for name, expr in self._over.symbols.items() if name in target.symbols}
            known = {name: size for name, size in over.items() if size is not None}
            if len(known) < len(target.symbols):
                return
            refused = there.check(known)
            if refused.failure is not None and here.check(sizes).ok:
                text = str(refused.failure)
                node = (str(refused.failure.origin),)
                apart, reason = self._tried(_Demand(FALSE, FALSE, text, node, False, True), sizes)
                (self.broken if apart else self.undecided).append(Unmet(text, text, node, apart, reason))
                return

    def _numbers_cover(self) -> bool:
        """Both models compute the same by the same nodes."""
        return self._numbers(False).is_covered(self._target.side)

    def _apart(self, sizes: start.Sizes, source: str, target: str, evidence: Evidence) -> Apart:
        first, second = (source, target) if self._source.side == "A" else (target, source)
        return Apart(sizes, self._source.side, first, second, evidence)

    def _unmet(self, demand: _Demand, apart: Apart | None, reason: str = "") -> Unmet:
        return Unmet(demand.text, str(demand.over), demand.because, apart, reason)

    def _leave(self, demand: _Demand, reason: str) -> None:
        self.undecided.append(self._unmet(demand, None, reason))

    def _leave_what_is_not_stated(self) -> None:
        """A node without a rule states no requirements."""
        target, source = self._target.analysed, self._source.analysed
        found = (target.unruled + target.inferred) - (source.unruled + source.inferred)
        unfinished = target.base.analysis.unfinished
        if not (found or unfinished) or self._numbers_cover():
            return
        if found:
            names = tuple(sorted(found))
            self.undecided.append(Unmet("", "", names, None, f"{', '.join(names)}: no rule says what it requires"))
        if unfinished:
            self.undecided.append(Unmet("", "", (), None, f"the analysis of {self._target.side} was cut short"))


def contracts(
    there: Direction, back: Direction, first: Model, second: Model, numbers: Callable[[bool], Numbers]
) -> Contracts:
    """Both directions as one answer."""
    legal = set(first.premises()) - set(first.numeric())
    premises = dict.fromkeys(str(relation) for relation in there.grounds.premises if relation not in legal)
    return Contracts(
        tuple(there.broken),
        tuple(back.broken),
        tuple(there.undecided),
        tuple(back.undecided),
        (len(first.contract.clauses), len(second.contract.clauses)),
        (first.contract.possible, second.contract.possible),
        tuple(premises),
        tuple(_provisos(first, second, numbers)),
    )


def _provisos(first: Model, second: Model, numbers: Callable[[bool], Numbers]) -> Iterator[str]:
    """The parts of either model that its clauses leave out."""
    if first.contract.beyond or second.contract.beyond:
        yield "as far as sizes of the inputs alone decide what is legal"
    kinds = {f.kind for model in (first, second) for f in model.contract.possible_failures}
    if "data" in kinds and not (first.contract.beyond or second.contract.beyond):
        yield "nodes may fail on data"
    if "rule" in kinds:
        yield "not all requirements are known"
    without = sorted({*first.analysed.unruled, *second.analysed.unruled})
    if without and not (numbers(False).is_covered("A") and numbers(False).is_covered("B")):
        yield f"as far as there are rules ({', '.join(without)} {'has' if len(without) == 1 else 'have'} none)"
