"""Questions about the dims of a model: is a relation entailed, refuted, or open, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from absint.errors import UsageError
from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import Limits
from absint.lattices.logic.definedness import computed, undivided
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, conjunction, eq
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of
from absint.lattices.value import Tensor
from absint.program.declarations import declared_in_main
from absint.queries.evidence import Evidence, Executions, chosen
from absint.queries.size_checks import Check, Outcome, check
from absint.queries.text import Query
from absint.shapes.summaries import State
from absint.solution.constraints import ASSUMPTION, DECLARATION, Recorder, all_names, recorded
from absint.solver.constraints import Constraint, ConstraintSet, Origin
from absint.solver.equivalence import legal_bindings
from absint.solver.prove import Decision, Proof, Prover, ShownBy, Stopwatch, Verdict, holds, meets

if TYPE_CHECKING:
    from absint.shapes.assumptions import Assumption
    from absint.solution.analysed import Analysed

Given = Literal["run", "inputs", "declared"]

_TRIES: Final = 6
"""Candidates that are examined before a relation counts as not entailed."""

_KEPT: Final = 16
"""Sizes known to run that are kept, to be tried first."""


class Proving:
    """Answers queries about one result; provers are kept, so that queries share their work."""

    def __init__(self, result: Analysed) -> None:
        self._result = result
        self._provers: dict[tuple[str, tuple[Relation, ...]], Prover] = {}
        self._run_sizes: list[Mapping[str, int]] = []
        self._limits = Limits()
        self._undivided = TRUE
        """The divisors of the query's text that its normal form does not have are not 0."""
        self._defined = TRUE
        """The same of the texts that are assumed. A part that divides by 0 may not count: nothing is proved from it."""
        self._checks: dict[tuple[tuple[str, int], ...], Check] = {}
        self._executions = Executions(result)
        self._examined: list[Mapping[str, int]] = []
        """The candidates of the last query."""

    def prove(
        self,
        query: str | Relation,
        *,
        given: Given = "run",
        assume: Sequence[Assumption] = (),
        confirm: bool = False,
        evidence: Evidence | None = None,
        limits: Limits,
    ) -> Proof:
        """See `absint.Result.prove`."""
        watch = Stopwatch()
        runs = chosen(evidence, confirm) == "run"
        if given not in ("run", "inputs", "declared"):
            raise UsageError(f"given={given!r}: it is 'run', 'inputs' or 'declared'")
        self._limits = checked(limits)
        try:
            with within(limits.seconds):
                found = self._answer(query, given, assume, confirm, runs)
        except DeadlineError as error:
            relation = UNKNOWN_RELATION if isinstance(query, str) else query
            found = Proof(relation, Verdict.UNKNOWN, given=given, reason=str(error))
        return replace(found, text=query if isinstance(query, str) else str(query), seconds=watch.seconds)

    def _answer(
        self, query: str | Relation, given: Given, assume: Sequence[Assumption], confirm: bool, runs: bool
    ) -> Proof:
        extra, defined = [], TRUE
        for item in assume:
            extra.append(self._read_first(item, given))
            defined = conjunction(defined, self._undivided)
        self._defined = defined
        known = self._contradicted_by_a_run(query, extra, runs) if given == "run" and not confirm else None
        if known is not None:
            return known
        relation, prover, decision = self._decide(query, given, tuple(extra))
        finding = self._judged(query, relation, prover, decision, given, confirm)
        if runs and finding.verdict is Verdict.NOT_ENTAILED and given != "inputs" and not confirm:
            finding = self._by_a_run(query, relation, prover, finding)
        return replace(
            finding,
            relation=relation.substitute(all_names(self._result)),
            given=given,
            tier=decision.tier,
            asked=decision.asked,
        )

    def _judged(
        self, query: str | Relation, relation: Relation, prover: Prover, decision: Decision, given: Given, confirm: bool
    ) -> Proof:
        if relation is UNKNOWN_RELATION:
            return Proof(relation, Verdict.UNKNOWN, reason="it mentions a size of which no expression is known")
        premises = prover.consistent
        if premises.entailed:
            return Proof(relation, Verdict.CONTRADICTION, because=self._shown(prover.because(premises.core)))
        if decision.entailed:
            because = self._because(prover, decision, given)
            consistent = premises.entailed is False
            return Proof(relation, Verdict.PROVED, because=because, premises_shown_consistent=consistent)
        if decision.entailed is None:
            return Proof(relation, Verdict.UNKNOWN, reason=decision.reason)
        verdict, sizes, invented, reason, confirmed = self._refuted(query, relation, prover, decision, given, confirm)
        shown: ShownBy = "" if verdict is not Verdict.REFUTED or given == "inputs" else "run" if confirmed else "rules"
        return Proof(
            relation,
            verdict,
            counterexample=sizes,
            invented=invented,
            reason=reason,
            confirmed=confirmed,
            evidence=shown,
        )

    def _by_a_run(self, query: str | Relation, relation: Relation, prover: Prover, finding: Proof) -> Proof:
        """The verdict on a relation that is not entailed, after runs at sizes that make it false."""
        if not self._is_by_sizes(relation, prover):
            return finding
        sizes, failure = self._executions.first_against(query, self._examined)
        if sizes is not None:
            return Proof(relation, Verdict.REFUTED, counterexample=sizes, evidence="run")
        return replace(finding, reason="; ".join(filter(None, (finding.reason, failure))))

    def _contradicted_by_a_run(self, query: str | Relation, extra: Sequence[Relation], runs: bool) -> Proof | None:
        """A refutation by sizes that are known to run, without asking any further."""
        known: list[tuple[Mapping[str, int], ShownBy]] = [(sizes, "rules") for sizes in self._run_sizes]
        if runs:
            known += [(sizes, "run") for sizes in self._executions.sizes]
        if not known:
            return None
        relation = self._read(query, self._result.states)
        if relation is UNKNOWN_RELATION or not relation.free_symbols <= set(self._result.symbols):
            return None
        for sizes, shown in known:
            if self._has_value(sizes) and holds(relation, sizes) is False and meets(extra, sizes):
                return Proof(relation, Verdict.REFUTED, counterexample=sizes, tier="evaluation", evidence=shown)
        return None

    def _read(self, query: str | Relation, states: Sequence[State]) -> Relation:
        """A query as a relation over internal symbols."""
        divisors: list[Expr] = []
        found = (
            Query(self._result, states).relation(query, divisors)
            if isinstance(query, str)
            else query.substitute(self._internal)
        )
        self._undivided = undivided(found, divisors) if divisors else TRUE
        return found

    def _read_first(self, query: str | Relation, given: Given) -> Relation:
        """As the first round has it; as the last one does where that alone knows a rank, and a run is given."""
        try:
            return self._read(query, self._result.base.states)
        except UsageError:
            if given == "inputs":
                raise
            return self._read(query, self._result.states)

    def _has_value(self, sizes: Mapping[str, int]) -> bool:
        """Neither the text of the query nor one that is assumed divides by 0 at these sizes."""
        return holds(self._undivided, sizes) is not False and holds(self._defined, sizes) is not False

    @cached_property
    def _internal(self) -> Mapping[Symbol, Dim]:
        """Printed symbols -> internal ones."""
        shown = all_names(self._result)
        return {next(iter(d.symbols)): expr_of(s) for s, d in shown.items() if isinstance(d, Expr)}

    def _decide(
        self, query: str | Relation, given: Given, extra: tuple[Relation, ...]
    ) -> tuple[Relation, Prover, Decision]:
        """The first round decides with an exact core; where it does not entail the query, the last one may."""
        try:
            relation = self._read(query, self._result.base.states)
        except UsageError:
            if given == "inputs":
                raise
            relation = UNKNOWN_RELATION  # the last round may know a rank that the first does not
            self._read(query, self._result.states)
        sizes = computed(relation) if given == "inputs" else TRUE
        first = self._prover("base" if given == "run" else given, extra, sizes)
        decision = first.decide(relation) if relation is not UNKNOWN_RELATION else Decision(None, "normal form")
        if decision.entailed or given == "inputs" or len(self._result.rounds.rounds) == 1:
            return relation, first, decision
        last = self._prover(given, extra)
        refined = self._read(query, self._result.states)
        if refined is UNKNOWN_RELATION:
            return relation, first, decision
        again = last.decide(refined)
        if again.entailed is None and decision.entailed is not None:
            return relation, first, decision
        return refined, last, again

    def prover(self, limits: Limits | None = None) -> Prover:
        """The prover of all rounds."""
        self._limits = limits or Limits()
        return self._prover("run", ())

    def _prover(self, given: str, extra: tuple[Relation, ...], sizes: Relation = TRUE) -> Prover:
        key = given, (*extra, sizes) if sizes is not TRUE else extra
        prover = self._provers.get(key)
        if prover is None:
            found = recorded(self._result)
            every = found.base if given == "base" else found.every
            kept: Iterable[Constraint] = every.of_needed
            if given == "inputs":
                kept = (c for c in every if c.origin.node < 0)
            elif given == "declared":
                kept = [*kept, *self._claims()]
            assumed = [Constraint(r, TRUE, ASSUMPTION, "assumed", "assumed in the query") for r in extra]
            if sizes is not TRUE:
                assumed.append(Constraint(sizes, TRUE, DECLARATION, "declared", "a size in the query is computed"))
            prover = Prover(ConstraintSet([*assumed, *kept], symbols=self._result.symbols))
            self._provers[key] = prover
        prover.limits = self._limits
        return prover

    def _claims(self) -> Iterable[Constraint]:
        """The author's declarations of outputs and inner values of the main graph.

        Those of bodies and functions speak of visits that a run may not make, and their names may mean other sizes.
        """
        result = self._result
        known = {*result.symbols, *(s.name for s in all_names(result))}
        for what, (node, at), claim in declared_in_main(result.lowered):
            if not what.startswith(("output ", "value_info ")):
                continue
            found = result.states[node][at] if node >= 0 else None
            if not isinstance(claim, Tensor) or not isinstance(found, Tensor) or claim.shape.rank != found.shape.rank:
                continue
            pairs = zip(claim.shape, found.shape, strict=True) if claim.shape.rank else ()
            for relation in (eq(stated, dim) for stated, dim in pairs):
                if relation not in (UNKNOWN_RELATION, TRUE) and relation.free_symbols <= known:
                    origin = Origin(-1, "", what, "", "")
                    yield Constraint(relation, TRUE, origin, "declared", "declared by the author")

    def _because(self, prover: Prover, decision: Decision, given: Given) -> tuple[Constraint, ...]:
        found = dict.fromkeys(prover.because(decision.core))
        if given != "inputs" and prover is not self._provers.get(("base", ())) and self._result.last.learned:
            found |= dict.fromkeys(self._learned())
        return self._shown(found)

    def _learned(self) -> Iterable[Constraint]:
        """The requirements that the last round took as facts."""
        recorder = Recorder(self._result.lowered, self._result.base)
        for item in self._result.last.learned:
            yield Constraint(item.relation, TRUE, recorder.origin(item.node), "required", item.reason)

    def _shown(self, constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
        names = all_names(self._result)
        return tuple(ConstraintSet(constraints).renamed(names))

    def _refuted(
        self, query: str | Relation, relation: Relation, prover: Prover, decision: Decision, given: Given, confirm: bool
    ) -> _Finding:
        """A candidate refutes the relation if sizes of the inputs alone make it false, and there is a run of them.

        The premises beyond the model must be about sizes of the inputs too, or the run may not meet them.
        """
        inputs = set(self._result.symbols)
        by_sizes = self._is_by_sizes(relation, prover)
        first: Mapping[str, int] = {}
        self._examined = []
        reason, confirmed = "", False
        for sizes in islice(self._candidates(relation, prover, decision, given), _TRIES):
            first = first or sizes
            self._examined.append(sizes)
            failure = self._executions.against(query, sizes) if confirm else ""
            confirmed = confirm and not failure
            if by_sizes and (given == "inputs" or confirmed):
                return _Finding(Verdict.REFUTED, sizes, reason=failure, confirmed=confirmed)
            if not by_sizes:
                seen = "a run at these sizes makes it false, but " if confirmed else ""
                reason = reason or failure or f"{seen}it rests on sizes that only data decide"
                break
            if failure:  # what a run contradicts is no refutation: another candidate may be
                reason = reason or failure
                continue
            if self._runs(sizes):
                return _Finding(Verdict.REFUTED, sizes)
            reason = reason or f"it is not shown that these sizes run: {self._why_not(sizes)}"
        if not first:
            model = {**prover.consistent.model, **decision.model}
            first = {name: model.get(name, 1) for name in self._result.symbols}
            reason = "the query divides by zero at these sizes"
        names = {s.name: str(d) for s, d in all_names(self._result).items()}
        invented = {names.get(s, s): v for s, v in decision.model.items() if s not in inputs}
        return _Finding(Verdict.NOT_ENTAILED, first, invented, reason, confirmed)

    def _is_by_sizes(self, relation: Relation, prover: Prover) -> bool:
        """The relation is about sizes of the inputs alone, and so are the premises beyond the model."""
        inputs = set(self._result.symbols)
        premises = (c.formula for c in prover.constraints if c.origin.node < 0)
        return all(formula.free_symbols <= inputs for formula in (relation, *premises))

    def _candidates(
        self, relation: Relation, prover: Prover, decision: Decision, given: Given
    ) -> Iterator[Mapping[str, int]]:
        """Sizes that meet the constraints and falsify the relation: known runs, the solver's, and mixtures of both.

        A run executes the nodes that no output needs, too: the solver is asked for sizes at which these do not fail.
        """
        symbols = self._result.symbols
        model = {**prover.consistent.model, **decision.model}
        own = {name: model.get(name, 1) for name in symbols}
        seen: list[Mapping[str, int]] = []
        formulas = list(prover.constraints.distinct)

        def fits(sizes: Mapping[str, int]) -> bool:
            values = {**model, **sizes}
            return (
                self._has_value(values)
                and sizes not in seen
                and holds(relation, values) is False
                and meets(formulas, values)
            )

        if not relation.free_symbols <= set(symbols):
            yield own
            return
        known = [*self._run_sizes, *self._executions.sizes]
        mixed = [{**run, **{n: own[n] for n in symbols if n in relation.free_symbols}} for run in known]
        drawn = ({n: at.get(n, own[n]) for n in symbols} for at in legal_bindings(prover, list(relation.symbols), 40))

        def running() -> Iterator[Mapping[str, int]]:
            unneeded = [c.formula for c in recorded(self._result).base if not c.needed and given != "inputs"]
            divided = conjunction(self._undivided, self._defined)
            if unneeded or divided is not TRUE:
                found = prover.decide(relation, [*unneeded, divided]).model
                yield {**own, **{n: found[n] for n in symbols if n in found}}

        for sizes in chain(known, [own], running(), mixed, drawn):
            if fits(sizes):
                seen.append(sizes)
                yield sizes

    def _checked(self, sizes: Mapping[str, int]) -> Check:
        """The check by the rules of these sizes, on data that are all 0."""
        key = tuple(sizes.items())
        found = self._checks.get(key)
        if found is None:
            if len(self._checks) >= _KEPT:
                self._checks.clear()
            found = self._checks[key] = check(self._result, sizes, zeros=True)
        return found

    def _runs(self, sizes: Mapping[str, int]) -> bool:
        """The rules promise that the model runs at these sizes, on data that are all 0."""
        if sizes in self._run_sizes:
            return True
        runs = self._checked(sizes).outcome is Outcome.RUNS
        if runs and len(self._run_sizes) < _KEPT:
            self._run_sizes.append(sizes)
        return runs

    def _why_not(self, sizes: Mapping[str, int]) -> str:
        found = self._checked(sizes)
        return str(found.failure or next(iter((*found.possible_failures, *found.premises)), ""))


def checked(limits: Limits) -> Limits:
    """The limits. Raises UsageError for one that makes no sense."""
    try:
        return limits.checked()
    except ValueError as error:
        raise UsageError(str(error)) from None


class _Finding(NamedTuple):
    """The outcome of examining a candidate."""

    verdict: Verdict
    counterexample: Mapping[str, int]
    invented: Mapping[str, int] = MappingProxyType({})
    reason: str = ""
    confirmed: bool = False


__all__ = ["Given", "Proving", "checked"]
