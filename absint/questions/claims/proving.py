"""Judging claims with all means: trivially equal dims first, then runs at sizes that tell most claims apart, then Z3.

Equal relations are judged once. A claim is refuted by a run in which it is false, so a wrong answer of the solver can
refute nothing. Where there is no run at some size, the analysis at that very size takes its place, if the rules of all
operators promise that a run succeeds. So the verdicts are the same without onnxruntime, as far as rules are complete.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from time import perf_counter
from typing import Final

from absint.diagnostics import Severity
from absint.lattices.logic.relation import FALSE, NO, TRUE, UNKNOWN_RELATION, Relation, conjunction, negation
from absint.lattices.terms.expr import Symbol
from absint.lattices.value import Tensor
from absint.questions.claims.claims import Claim, Effort, Finding, Judgement, Observed, Sizes, Verdicts
from absint.questions.claims.conditions import Conditions
from absint.questions.claims.reading import Reader, claimed, groups
from absint.questions.proofs.proof import prover as prover_of
from absint.solution.analysed import Analysed
from absint.solution.constraints import recorded
from absint.solution.loading import beside_declarations, can_run, default_diagnostics
from absint.solver.candidates import coprime, equal
from absint.solver.constraints import Constraint, Origin, meets
from absint.solver.prove import Decision, Prover, legal_bindings

# The claims of the author as premises.


def declared_premises(analysed: Analysed) -> list[Constraint]:
    """What the author declares of the dims of outputs and inner values of the main graph.

    The declarations of bodies and functions are about visits that a run may not make.
    """
    inputs = analysed.lowered.signature.inputs
    tensors = (group for group in groups(analysed) if isinstance(group.value, Tensor))
    firsts = ((group, group.members[0]) for group in tensors)
    shapes = [claimed(group) for group, first in firsts if not first.path and first.name not in inputs]
    claims = Reader(analysed).read([shape for shape in shapes if shape is not None])
    return [
        Constraint(c.relation, TRUE, Origin(-1, "", c.shape.where, "", ""), "declared", "declared by the author")
        for c in claims
        if c.axis is not None and c.relation is not UNKNOWN_RELATION
    ]


QUESTION: Final = 5.0
"""Seconds for one question."""

MAX_ROUNDS: Final = 8
"""Most runs at sizes that the solver proposes."""

POOL: Final = 60
"""Legal sizes that are drawn."""

CHOSEN: Final = 4
"""Of these, the number that is run at a time."""

MOST: Final = 500
"""Relations that sizes are chosen for."""

_OPEN: Final = Finding(Judgement.UNPROVED, because=("the analysis has no expression for the size",))
_LATE: Final = Finding(Judgement.UNPROVED, because=("the time for proofs is used up",))


def judge(analysed: Analysed, claims: Sequence[Claim], effort: Effort) -> Verdicts:
    """The verdicts on claims, as far as the effort goes."""
    return _Proving(analysed, claims, effort).run()


class _Proving:
    """Judges claims about one model."""

    def __init__(self, analysed: Analysed, claims: Sequence[Claim], effort: Effort) -> None:
        self._analysed = analysed
        self._effort, self._trials = effort, effort.trials
        self._conditions = Conditions(analysed)
        groups: dict[tuple[Relation, int | None], list[Claim]] = {}
        for claim in claims:
            if claim.relation is not TRUE:
                groups.setdefault((claim.relation, claim.shape.gate), []).append(claim)
        self._groups = list(groups.values())
        self._findings = dict.fromkeys(claims, Finding(Judgement.PROVED))
        self._refuted: dict[Claim, Finding] = {}
        self._decisions: dict[Relation, Decision] = {}
        self._rounds = 0

    def run(self) -> Verdicts:
        """The verdict on every claim."""
        if not can_run(self._analysed):
            told = (*beside_declarations(self._analysed), *default_diagnostics(self._analysed))
            return self._never(str(d) for d in told if d.severity is Severity.ERROR)
        if not self._groups:
            return Verdicts(self._findings)
        self._prover = prover = prover_of(self._analysed)
        if prover.consistent.entailed:
            return self._never(["; ".join(str(c) for c in prover.because(prover.consistent.core))])
        self._sampler = Sampler(self._analysed, prover)
        known = [first for first, *_ in self._groups if first.relation is not UNKNOWN_RELATION]
        self._false_at = {claim: at for claim, (at, _) in self._conditions.false_at(known).items()}
        self._explore()
        self._decide()
        calls = sum(decision.tier == "z3" for decision in self._decisions.values())
        return Verdicts({**self._findings, **self._refuted}, calls)

    def _never(self, because: Iterable[str]) -> Verdicts:
        first, *others = because
        more = (f"and {len(others):,} more {'error' if len(others) == 1 else 'errors'}",) if others else ()
        never = Finding(Judgement.UNPROVED, because=("no run of the model succeeds", first, *more))
        return Verdicts(dict.fromkeys(self._findings, never))

    # Runs

    def _explore(self) -> None:
        """Run at legal sizes that make the most claims false."""
        if self._trials is None:
            return
        self._apply(self._trials.observed)
        found = {tuple(at.items()): at for at in self._false_at.values()}
        self._apply(self._trials.at(list(islice(found.values(), CHOSEN))))
        for _ in range(2):
            open_ = [claims[0].relation for claims in self._groups if not self._is_refuted(claims)]
            self._apply(self._trials.at(self._sampler.telling(open_, self._trials.tried)))

    def _is_refuted(self, claims: Sequence[Claim]) -> bool:
        return all(claim in self._refuted for claim in claims)

    def _apply(self, observed: Sequence[Observed]) -> None:
        for run in observed:
            for claims in self._groups:
                for claim in claims:
                    if claim not in self._refuted and (seen := run.contradicts(claim)):
                        self._refuted[claim] = Finding(Judgement.REFUTED, run.sizes, True, (seen,))

    # The solver

    def _decide(self) -> None:
        limits = self._effort.limits
        end = min(perf_counter() + limits.seconds, self._effort.end)
        self._prover.limits = limits._replace(seconds=min(QUESTION, limits.seconds))
        for number, claims in enumerate(self._groups):
            if self._effort.advance is not None:
                self._effort.advance(number, len(self._groups))
            if not self._is_refuted(claims):
                self._findings |= dict.fromkeys(claims, self._decided(claims[0], perf_counter() > end))

    def _decided(self, claim: Claim, is_late: bool) -> Finding:
        if claim.relation is UNKNOWN_RELATION:
            return _OPEN
        at = self._false_at.get(claim)
        if at is not None and self._rests_on_rules(claim, at):
            return Finding(Judgement.REFUTED, at, False, (self._by_proof(),))
        if is_late:
            return _LATE
        decision = self._decisions.get(claim.relation)
        if decision is None:
            decision = self._decisions[claim.relation] = self._sampler.decide(claim.relation)
        if decision.entailed:
            return Finding(Judgement.PROVED, because=tuple(map(str, self._prover.because(decision.core))))
        if decision.entailed is None:
            return Finding(Judgement.UNPROVED, because=(decision.reason or "it was not decided",))
        sizes = self._sampler.sizes_of(decision)
        if self._trials is not None and self._rounds < MAX_ROUNDS and not self._trials.tried(sizes):
            self._rounds += 1
            self._apply(self._trials.at([sizes]))
        sizes = at or sizes
        if self._rests_on_rules(claim, sizes):
            return Finding(Judgement.REFUTED, sizes, False, (self._by_proof(),))
        return Finding(Judgement.NOT_ENTAILED, sizes, False, (self._why_not(claim.relation, sizes),))

    def _by_proof(self) -> str:
        why = self._trials and (self._trials.missing or self._trials.failure)
        return "by proof alone: " + (f"the model cannot be run here: {why}" if why else "it was not run at these sizes")

    def _rests_on_rules(self, claim: Claim, sizes: Sizes) -> bool:
        """Without a run: the sizes alone make it false where it is surely made, and complete rules promise a run."""
        trials = self._trials
        if trials is None or (trials.tried(sizes) and (trials.observed or trials.refused)):
            return False  # a run there failed, or did not contradict it
        return any(c.breaks(sizes) for c in self._conditions.of(claim)) and self._conditions.sizes.runs(sizes)

    def _why_not(self, relation: Relation, sizes: Sizes) -> str:
        if not relation.free_symbols <= sizes.keys():
            return "it rests on data-dependent sizes"
        if self._trials is None:
            return "no run was asked for"
        if any(run.sizes == sizes for run in self._trials.observed):
            return "a run at these sizes does not contradict it"
        if self._trials.tried(sizes):
            return f"a run at these sizes fails: {self._trials.failure_at(sizes)}"
        return "sizes were run often enough"


# Sizes to run a model at


class Sampler:
    """Draws legal sizes of the inputs of a model."""

    def __init__(self, analysed: Analysed, prover: Prover) -> None:
        self._analysed = analysed
        self._prover = prover

    @cached_property
    def _pool(self) -> list[Sizes]:
        """Values of all symbols that meet the constraints, the ones with the most distinct sizes first."""
        symbols = [s for name in self._analysed.symbols for s in (Symbol(name, 0),)]
        found = list(islice(legal_bindings(self._prover, symbols, POOL), POOL))
        spread = self._spread(found[0] if found else {})
        formulas = list(self._prover.constraints.distinct)
        found += [at for at in spread if meets(formulas, at)]
        unneeded = [c.formula for c in recorded(self._analysed).base if not c.needed]
        if unneeded:  # a run executes these nodes too
            at_once = self._prover.decide(negation(conjunction(TRUE, *unneeded))).model
            running = {**(found[0] if found else {}), **at_once}
            found = [at for at in [*found, running] if meets([*formulas, *unneeded], at)] or found
        names = self._analysed.symbols
        return sorted(found, key=lambda at: -len({at.get(name, 1) for name in names} - {0, 1}))

    def _spread(self, base: Sizes) -> Iterator[Sizes]:
        """Sizes that differ from each other and share no factor, and those where ranks and dims may vanish."""
        names = self._analysed.symbols
        for sizes in (coprime(names), *equal(names, (1, 0))):
            yield {**base, **sizes}

    def own(self, values: Sizes) -> Sizes:
        """The sizes of the inputs among values of all symbols, and those elements of inputs that have values."""
        elements = self._analysed.declared_inputs.elements
        chosen = {name: values[name] for name in elements if name in values}
        return {name: values.get(name, 1) for name in self._analysed.symbols} | chosen

    def sizes_of(self, decision: Decision) -> Sizes:
        """The sizes of the inputs at which a decision says that a relation is false."""
        return self.own({**(self._pool[0] if self._pool else {}), **decision.model})

    def decide(self, relation: Relation) -> Decision:
        """Decide whether the constraints entail a relation. One that is false at all sizes is so at any of them."""
        if relation is FALSE:
            return Decision(False, "normal form", model=self._prover.consistent.model)
        known = next((at for at in self._pool if _is_false(relation, at)), None)
        return Decision(False, "evaluation", model=known) if known is not None else self._prover.decide(relation)

    def telling(self, relations: Iterable[Relation], tried: Callable[[Sizes], bool]) -> list[Sizes]:
        """A few legal sizes that have not been run, each with relations that are false there.

        If input sizes do not decide some relation, also distinct sizes, and the smallest.
        """
        rest = list(islice(relations, MOST))
        inputs = self._analysed.parameters.keys()
        decidable = [r for r in rest if r not in (FALSE, UNKNOWN_RELATION) and r.free_symbols <= inputs]
        blind = len(decidable) < len(rest)
        pool = {tuple(own.values()): own for at in self._pool if not tried(own := self.own(at))}
        false_at = {key: {r for r in decidable if _is_false(r, at)} for key, at in pool.items()}
        chosen = (
            [next(iter(pool)), min(pool, key=lambda key: (0 in key, sum(key))), min(pool, key=sum)]
            if blind and pool
            else []
        )
        while len(chosen) < CHOSEN and false_at:
            best = max(false_at, key=lambda key: len(false_at[key]))
            told = false_at.pop(best)
            if not told:
                break
            chosen.append(best)
            false_at = {key: rest - told for key, rest in false_at.items()}
        return [pool[key] for key in dict.fromkeys(chosen)]


def _is_false(relation: Relation, values: Sizes) -> bool:
    return relation is not UNKNOWN_RELATION and relation.at(values) is NO
