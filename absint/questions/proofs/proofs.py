"""Questions about the dims of a model: a relation is entailed, refuted or open, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Final

from absint.errors import UsageError
from absint.lattices.limits import DeadlineError, Limits, within
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, conjunction, undivided
from absint.lattices.logic.truth import NO
from absint.lattices.terms.atoms import INTERNAL, SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, symbol
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.questions.limits import checked
from absint.questions.proofs.evidence import Evidence, Executions, chosen
from absint.questions.proofs.proof import Given, Proof, Provers, ShownBy, Verdict, with_premises
from absint.questions.proofs.text import Query
from absint.questions.sizes.checking import Judge
from absint.shapes.sizes import Assumption, listed
from absint.shapes.summaries import State
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names, recorded
from absint.solver.constraints import Constraint, meets
from absint.solver.prove import Decision, Prover, Stopwatch, legal_bindings

_TRIES: Final = 6
"""Candidates that are examined before a relation counts as not entailed."""


class Proving:
    """Answers queries about one analysis, which share its provers and the sizes that are known to run."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._provers = analysed.once(Provers)
        self._judge = analysed.once(Judge)
        self._limits = Limits()
        self._declared: Callable[[], Sequence[Constraint]] = tuple
        self._unknown_rank = ""
        """The reason why nothing can be said of the query: a rank is unknown."""
        self._undivided = TRUE
        """The divisors of the query's text that its normal form lacks are not 0."""
        self._defined = TRUE
        """The same for the assumed texts. A part that divides by 0 must not count: nothing may be proved from it."""
        self._executions = Executions(analysed)
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
        declared: Callable[[], Sequence[Constraint]] = tuple,
    ) -> Proof:
        """See `absint.Result.prove`; `declared` reads what the author declares, if that is given."""
        watch = Stopwatch()
        runs = chosen(evidence, confirm, self._analysed.semantics) == "run"
        if given not in ("run", "inputs", "declared"):
            raise UsageError(f"given={given!r}: it is 'run', 'inputs' or 'declared'")
        if not isinstance(query, str | Relation):
            raise UsageError(f"{query!r} is no relation: write a text, as 'past >= 1', or eq(a, b), not a == b")
        listed(assume)
        self._limits, self._declared = checked(limits), declared
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
            relation=relation.substitute({**all_names(self._analysed), **self._hidden(relation)}),
            given=given,
            tier=decision.tier,
            asked=decision.asked,
        )

    def _hidden(self, relation: Relation) -> Mapping[Symbol, Dim]:
        """The ranks and sizes of shape variables in a relation, with the names to show: `rank(*X)`."""
        names, found = all_names(self._analysed), {}
        for hidden in relation.symbols:
            if hidden.kind is SymbolKind.PLACEHOLDER:
                what, _, variable = hidden.name.removeprefix(INTERNAL).partition(" of ")
                shown = names.get(ShapeVariable(variable))
                text = variable if shown is None else next(iter(shown.free_symbols))
                found[hidden] = symbol(f"{what}({text})")
        return found

    def _judged(
        self, query: str | Relation, relation: Relation, prover: Prover, decision: Decision, given: Given, confirm: bool
    ) -> Proof:
        if relation is UNKNOWN_RELATION:
            reason = self._unknown_rank or "it mentions a size of which no expression is known"
            return Proof(relation, Verdict.UNKNOWN, reason=reason)
        premises = prover.consistent
        if premises.entailed:
            return Proof(relation, Verdict.CONTRADICTION, because=self._provers.shown(prover.because(premises.core)))
        if decision.entailed:
            because = self._provers.because(prover, decision, given)
            consistent = premises.entailed is False
            return Proof(relation, Verdict.PROVED, because=because, premises_shown_consistent=consistent)
        if decision.entailed is None:
            return Proof(relation, Verdict.UNKNOWN, reason=decision.reason)
        if hidden := self._hidden(relation):
            return Proof(relation, Verdict.UNKNOWN, reason=f"{min(map(str, hidden.values()))} is unknown")
        found = self._refuted(query, relation, prover, decision, given, confirm)
        if found.verdict is not Verdict.REFUTED or given == "inputs":
            return found
        return replace(found, evidence="run" if found.confirmed else "rules")

    def _by_a_run(self, query: str | Relation, relation: Relation, prover: Prover, finding: Proof) -> Proof:
        """The verdict on a relation that is not entailed, after runs at sizes that make it false."""
        if not self._is_by_sizes(relation, prover):
            return finding
        sizes, failure = self._executions.first_against(query, self._examined)
        if sizes is not None:
            return Proof(relation, Verdict.REFUTED, counterexample=sizes, evidence="run")
        return replace(finding, reason="; ".join(filter(None, (finding.reason, failure))))

    def _contradicted_by_a_run(self, query: str | Relation, extra: Sequence[Relation], runs: bool) -> Proof | None:
        """A refutation by sizes that are known to run, without the solver."""
        known: list[tuple[Mapping[str, int], ShownBy]] = [(sizes, "rules") for sizes in self._judge.sizes]
        if runs:
            known += [(sizes, "run") for sizes in self._executions.sizes]
        if not known:
            return None
        relation = self._read(query, self._analysed.states)
        if relation is UNKNOWN_RELATION or not relation.free_symbols <= self._analysed.parameters.keys():
            return None
        for sizes, shown in known:
            told = relation.free_symbols | self._divided.free_symbols <= sizes.keys()
            if told and self._has_value(sizes) and relation.at(sizes) is NO and meets(extra, sizes):
                return Proof(relation, Verdict.REFUTED, counterexample=sizes, tier="evaluation", evidence=shown)
        return None

    def _read(self, query: str | Relation, states: Sequence[State]) -> Relation:
        """A query as a relation over internal symbols."""
        divisors: list[Expr] = []
        if isinstance(query, str):
            reading = Query(self._analysed, states)
            found = reading.relation(query, divisors)
            self._unknown_rank = reading.undecided
        else:
            found, self._unknown_rank = query.substitute(self._internal), ""
        self._undivided = undivided(found, divisors) if divisors else TRUE
        return found

    def _read_first(self, query: str | Relation, given: Given) -> Relation:
        """The query in the first round; in the last one if only that knows a rank, and a run is given."""
        try:
            found = self._read(query, self._analysed.base.states)
        except UsageError:
            if given == "inputs":
                raise
            found = self._read(query, self._analysed.states)
        if self._unknown_rank:
            raise UsageError(
                f"assumption {query!s}: {self._unknown_rank}: state the shape of an input with the model, as "
                "analyze(..., assume=['shape(X) == [*s, 64]'])"
            )
        return found

    @property
    def _divided(self) -> Relation:
        """The query's text and the assumed ones divide by something other than 0."""
        return conjunction(self._undivided, self._defined)

    def _has_value(self, sizes: Mapping[str, int]) -> bool:
        """Neither the query's text nor an assumed one divides by 0 at these sizes."""
        return self._divided.at(sizes) is not NO

    @cached_property
    def _internal(self) -> Mapping[Symbol, Dim]:
        """Printed symbols -> internal ones."""
        shown = all_names(self._analysed)
        found = {next(iter(d.symbols)): expr_of(s) for s, d in shown.items() if isinstance(d, Expr)}
        return found | {Symbol(e.name): e.expr for e in self._analysed.declared_inputs.elements.values()}

    def _decide(
        self, query: str | Relation, given: Given, extra: tuple[Relation, ...]
    ) -> tuple[Relation, Prover, Decision]:
        """The first round decides with an exact core; where it does not entail the query, the last one may."""
        try:
            relation = self._read(query, self._analysed.base.states)
        except UsageError:
            if given == "inputs":
                raise
            relation = UNKNOWN_RELATION  # the last round may know a rank that the first does not
            self._read(query, self._analysed.states)
        first = self._provers.of("base" if given == "run" else given, self._limits, extra, self._declared)
        decision = first.decide(relation) if relation is not UNKNOWN_RELATION else Decision(None, "normal form")
        if decision.entailed or given == "inputs" or len(self._analysed.rounds.rounds) == 1:
            return relation, first, decision
        last = self._provers.of(given, self._limits, extra, self._declared)
        refined = self._read(query, self._analysed.states)
        if refined is UNKNOWN_RELATION:
            return relation, first, decision
        again = last.decide(refined)
        if again.entailed is None and decision.entailed is not None:
            return relation, first, decision
        return refined, last, again

    def _refuted(
        self, query: str | Relation, relation: Relation, prover: Prover, decision: Decision, given: Given, confirm: bool
    ) -> Proof:
        """A candidate refutes the relation if input sizes alone make it false, and a run at them exists.

        Premises beyond the model must be about input sizes too, or the run may not meet them.
        """
        inputs = self._analysed.parameters.keys()
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
                return Proof(relation, Verdict.REFUTED, counterexample=sizes, reason=failure, confirmed=confirmed)
            if not by_sizes:
                seen = "a run at these sizes makes it false, but " if confirmed else ""
                reason = reason or failure or f"{seen}it rests on data-dependent sizes"
                break
            if failure:  # a run contradicts this candidate; another one may refute
                reason = reason or failure
                continue
            if self._judge.runs(sizes):
                return Proof(relation, Verdict.REFUTED, counterexample=sizes)
            reason = reason or f"it is not shown that these sizes run: {self._judge.why_not(sizes)}"
        if not first:
            model = {**prover.consistent.model, **decision.model}
            first = {name: model.get(name, 1) for name in self._chosen(relation, prover, given)}
            if not meets(list(prover.constraints.distinct), {**model, **first}):
                return Proof(relation, Verdict.UNKNOWN, reason="every counterexample that was found divides by zero")
            reason = "the query divides by zero at these sizes"
        names = {s.name: str(d) for s, d in all_names(self._analysed).items()}
        invented = {names.get(s, s): v for s, v in decision.model.items() if s not in inputs}
        return Proof(
            relation, Verdict.NOT_ENTAILED, counterexample=first, invented=invented, reason=reason, confirmed=confirmed
        )

    def _is_by_sizes(self, relation: Relation, prover: Prover) -> bool:
        """The relation is about sizes of the inputs alone, and so are the premises beyond the model."""
        inputs = self._analysed.parameters.keys()
        premises = (c.formula for c in prover.constraints if c.origin.node < 0)
        return all(formula.free_symbols <= inputs for formula in (relation, *premises))

    def _chosen(self, relation: Relation, prover: Prover, given: Given) -> Sequence[str]:
        """Symbols that a candidate assigns: all sizes, and the elements of inputs that matter."""
        elements = self._analysed.declared_inputs.elements
        if not elements:
            return self._analysed.symbols
        formulas = [relation, self._divided, *prover.constraints.distinct]
        if given != "inputs":  # a run also executes nodes that no output needs
            formulas += recorded(self._analysed).base.distinct
        mentioned = set().union(*(formula.free_symbols for formula in formulas))
        return (*self._analysed.symbols, *(name for name in elements if name in mentioned))

    def _candidates(
        self, relation: Relation, prover: Prover, decision: Decision, given: Given
    ) -> Iterator[Mapping[str, int]]:
        """Sizes that meet the constraints and falsify the relation: known runs, the solver's, and mixtures of both.

        A run also executes nodes that no output needs: the solver looks for sizes at which these do not fail.
        """
        symbols = self._chosen(relation, prover, given)
        model = {**prover.consistent.model, **decision.model}
        own = {name: model.get(name, 1) for name in symbols}
        seen: list[Mapping[str, int]] = []
        formulas = list(prover.constraints.distinct)

        def fits(sizes: Mapping[str, int]) -> bool:
            values = {**model, **sizes}
            return (
                relation.free_symbols <= sizes.keys()
                and self._has_value(values)
                and sizes not in seen
                and relation.at(values) is NO
                and meets(formulas, values)
            )

        if not relation.free_symbols <= set(symbols):
            yield own
            return
        known = [{**own, **run} for run in (*self._judge.sizes, *self._executions.sizes)]
        mixed = [{**run, **{n: own[n] for n in symbols if n in relation.free_symbols}} for run in known]
        drawn = ({n: at.get(n, own[n]) for n in symbols} for at in legal_bindings(prover, list(relation.symbols), 40))

        def running() -> Iterator[Mapping[str, int]]:
            unneeded = [c.formula for c in recorded(self._analysed).base if not c.needed and given != "inputs"]
            if unneeded or self._divided is not TRUE:
                found = prover.decide(relation, [*unneeded, self._divided]).model
                yield {**own, **{n: found[n] for n in symbols if n in found}}

        for sizes in chain(known, [own], running(), mixed, drawn):
            if fits(sizes):
                seen.append(sizes)
                yield sizes


# Proofs about an analysed model, whose provers are kept, so that queries share their work.


def prove(
    analysed: Analysed,
    query: str | Relation,
    *,
    given: Given = "run",
    assume: Sequence[Assumption] = (),
    confirm: bool = False,
    evidence: Evidence | None = None,
    limits: Limits,
    declared: Callable[[], Sequence[Constraint]] = tuple,
) -> Proof:
    """See `absint.Result.prove`; `declared` reads what the author declares, if that is given."""
    analysed.require_sound("a proof")
    found = analysed.once(Proving).prove(
        query, given=given, assume=assume, confirm=confirm, evidence=evidence, limits=limits, declared=declared
    )
    return with_premises(analysed, query, found)
