"""Questions about the dims of a model: a relation is entailed, refuted or open, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Final

from absint.errors import UsageError
from absint.lattices.limits import DeadlineError, Limits, within
from absint.lattices.logic.relation import NO, TRUE, UNKNOWN_RELATION, Relation, conjunction, undivided
from absint.lattices.terms.atoms import INTERNAL, SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, expr_of, symbol
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.program.limits import checked
from absint.questions.proofs.evidence import Evidence, Executions, chosen
from absint.questions.proofs.proof import Given, Proof, Provers, ShownBy, Verdict, with_premises
from absint.questions.proofs.text import Query
from absint.questions.sizes.checking import Judge
from absint.shapes.sizes import Assumption, listed
from absint.shapes.summaries import State
from absint.solution.analysed import Analysed, once
from absint.solution.constraints import all_names, recorded
from absint.solver.constraints import Constraint, meets
from absint.solver.prove import Decision, Prover, Stopwatch, legal_bindings

_TRIES: Final = 6
"""Candidates that are examined before a relation counts as not entailed."""


@dataclass
class _Question:
    """One query about an analysis. Questions share its provers, and the sizes that are known to run."""

    analysed: Analysed
    query: str | Relation
    given: Given
    assume: Sequence[Assumption]
    confirm: bool
    runs: bool
    """The model may be run."""
    limits: Limits
    declared: Callable[[], Sequence[Constraint]]

    _unknown_rank = ""
    """The reason why nothing can be said of the query: a rank is unknown."""
    _undivided = TRUE
    """The divisors of the query's text that its normal form lacks are not 0."""
    _defined = TRUE
    """The same for the assumed texts. A part that divides by 0 must not count: nothing may be proved from it."""
    _examined: Sequence[Mapping[str, int]] = ()
    """The candidates for a counterexample."""

    def __post_init__(self) -> None:
        self._provers = self.analysed.once(Provers)
        self._judge = self.analysed.once(Judge)
        self._executions = self.analysed.once(Executions)

    def answer(self) -> Proof:
        """The answer, without its text. Raises DeadlineError past the deadline that is set."""
        extra, defined = [], TRUE
        for item in self.assume:
            extra.append(self._assumed(item))
            defined = conjunction(defined, self._undivided)
        self._defined = defined
        known = self._contradicted_by_a_run(extra) if self.given == "run" and not self.confirm else None
        if known is not None:
            return known
        self._relation, self._prover, self._decision = relation, _, decision = self._decide(tuple(extra))
        finding = self._judged()
        if self.runs and finding.verdict is Verdict.NOT_ENTAILED and self.given != "inputs" and not self.confirm:
            finding = self._by_a_run(finding)
        return replace(
            finding,
            relation=relation.substitute({**all_names(self.analysed), **self._hidden(relation)}),
            given=self.given,
            tier=decision.tier,
            asked=decision.asked,
        )

    def _hidden(self, relation: Relation) -> Mapping[Symbol, Dim]:
        """The ranks and sizes of shape variables in a relation, with the names to show: `rank(*X)`."""
        names, found = all_names(self.analysed), {}
        for hidden in relation.symbols:
            if hidden.kind is SymbolKind.PLACEHOLDER:
                what, _, variable = hidden.name.removeprefix(INTERNAL).partition(" of ")
                shown = names.get(ShapeVariable(variable))
                text = variable if shown is None else next(iter(shown.free_symbols))
                found[hidden] = symbol(f"{what}({text})")
        return found

    def _judged(self) -> Proof:
        relation, prover, decision = self._relation, self._prover, self._decision
        if relation is UNKNOWN_RELATION:
            reason = self._unknown_rank or "it mentions a size of which no expression is known"
            return Proof(relation, Verdict.UNKNOWN, reason=reason)
        premises = prover.consistent
        if premises.entailed:
            return Proof(relation, Verdict.CONTRADICTION, because=self._provers.shown(prover.because(premises.core)))
        if decision.entailed:
            because = self._provers.because(prover, decision, self.given)
            consistent = premises.entailed is False
            return Proof(relation, Verdict.PROVED, because=because, premises_shown_consistent=consistent)
        if decision.entailed is None:
            return Proof(relation, Verdict.UNKNOWN, reason=decision.reason)
        if hidden := self._hidden(relation):
            return Proof(relation, Verdict.UNKNOWN, reason=f"{min(map(str, hidden.values()))} is unknown")
        found = self._refuted()
        if found.verdict is not Verdict.REFUTED or self.given == "inputs":
            return found
        return replace(found, evidence="run" if found.confirmed else "rules")

    def _by_a_run(self, finding: Proof) -> Proof:
        """The verdict on a relation that is not entailed, after runs at sizes that make it false."""
        if not self._is_by_sizes:
            return finding
        sizes, failure = self._executions.first_against(self.query, self._examined)
        if sizes is not None:
            return Proof(self._relation, Verdict.REFUTED, counterexample=sizes, evidence="run")
        return replace(finding, reason="; ".join(filter(None, (finding.reason, failure))))

    def _contradicted_by_a_run(self, extra: Sequence[Relation]) -> Proof | None:
        """A refutation by sizes that are known to run, without the solver."""
        known: list[tuple[Mapping[str, int], ShownBy]] = [(sizes, "rules") for sizes in self._judge.sizes]
        if self.runs:
            known += [(sizes, "run") for sizes in self._executions.sizes]
        if not known:
            return None
        relation = self._read(self.query, self.analysed.states)
        if relation is UNKNOWN_RELATION or not relation.free_symbols <= self.analysed.parameters.keys():
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
            reading = Query(self.analysed, states)
            found = reading.relation(query, divisors)
            self._unknown_rank = reading.undecided
        else:
            found, self._unknown_rank = query.substitute(_internal(self.analysed)), ""
        self._undivided = undivided(found, divisors) if divisors else TRUE
        return found

    def _assumed(self, item: Assumption) -> Relation:
        """An assumption in the first round; in the last one if only that knows a rank, and a run is given."""
        try:
            found = self._read(item, self.analysed.base.states)
        except UsageError:
            if self.given == "inputs":
                raise
            found = self._read(item, self.analysed.states)
        if self._unknown_rank:
            raise UsageError(
                f"assumption {item!s}: {self._unknown_rank}: state the shape of an input with the model, as "
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

    def _decide(self, extra: tuple[Relation, ...]) -> tuple[Relation, Prover, Decision]:
        """The first round decides with an exact core; where it does not entail the query, the last one may."""
        query, given = self.query, self.given
        try:
            relation = self._read(query, self.analysed.base.states)
        except UsageError:
            if given == "inputs":
                raise
            relation = UNKNOWN_RELATION  # the last round may know a rank that the first does not
            self._read(query, self.analysed.states)
        first = self._provers.of("base" if given == "run" else given, self.limits, extra, self.declared)
        decision = first.decide(relation) if relation is not UNKNOWN_RELATION else Decision(None, "normal form")
        if decision.entailed or given == "inputs" or len(self.analysed.rounds.rounds) == 1:
            return relation, first, decision
        last = self._provers.of(given, self.limits, extra, self.declared)
        refined = self._read(query, self.analysed.states)
        if refined is UNKNOWN_RELATION:
            return relation, first, decision
        again = last.decide(refined)
        if again.entailed is None and decision.entailed is not None:
            return relation, first, decision
        return refined, last, again

    def _refuted(self) -> Proof:
        """A candidate refutes the relation if input sizes alone make it false, and a run at them exists.

        Premises beyond the model must be about input sizes too, or the run may not meet them.
        """
        relation, prover, decision = self._relation, self._prover, self._decision
        first: Mapping[str, int] = {}
        reason, confirmed = "", False
        for sizes in islice(self._candidates(), _TRIES):
            first = first or sizes
            self._examined = (*self._examined, sizes)
            failure = self._executions.against(self.query, sizes) if self.confirm else ""
            confirmed = self.confirm and not failure
            if self._is_by_sizes and (self.given == "inputs" or confirmed):
                return Proof(relation, Verdict.REFUTED, counterexample=sizes, reason=failure, confirmed=confirmed)
            if not self._is_by_sizes:
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
            first = {name: model.get(name, 1) for name in self._chosen()}
            if not meets(list(prover.constraints.distinct), {**model, **first}):
                return Proof(relation, Verdict.UNKNOWN, reason="every counterexample that was found divides by zero")
            reason = "the query divides by zero at these sizes"
        names = {s.name: str(d) for s, d in all_names(self.analysed).items()}
        inputs = self.analysed.parameters.keys()
        invented = {names.get(s, s): v for s, v in decision.model.items() if s not in inputs}
        return Proof(
            relation, Verdict.NOT_ENTAILED, counterexample=first, invented=invented, reason=reason, confirmed=confirmed
        )

    @cached_property
    def _is_by_sizes(self) -> bool:
        """The relation is about sizes of the inputs alone, and so are the premises beyond the model."""
        inputs = self.analysed.parameters.keys()
        premises = (c.formula for c in self._prover.constraints if c.origin.node < 0)
        return all(formula.free_symbols <= inputs for formula in (self._relation, *premises))

    def _chosen(self) -> Sequence[str]:
        """Symbols that a candidate assigns: all sizes, and the elements of inputs that matter."""
        elements = self.analysed.declared_inputs.elements
        if not elements:
            return self.analysed.symbols
        formulas = [self._relation, self._divided, *self._prover.constraints.distinct]
        if self.given != "inputs":  # a run also executes nodes that no output needs
            formulas += recorded(self.analysed).base.distinct
        mentioned = set().union(*(formula.free_symbols for formula in formulas))
        return (*self.analysed.symbols, *(name for name in elements if name in mentioned))

    def _candidates(self) -> Iterator[Mapping[str, int]]:
        """Sizes that meet the constraints and falsify the relation: known runs, the solver's, and mixtures of both.

        A run also executes nodes that no output needs: the solver looks for sizes at which these do not fail.
        """
        relation, prover, decision = self._relation, self._prover, self._decision
        symbols = self._chosen()
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
            unneeded = [c.formula for c in recorded(self.analysed).base if not c.needed and self.given != "inputs"]
            if unneeded or self._divided is not TRUE:
                found = prover.decide(relation, [*unneeded, self._divided]).model
                yield {**own, **{n: found[n] for n in symbols if n in found}}

        for sizes in chain(known, [own], running(), mixed, drawn):
            if fits(sizes):
                seen.append(sizes)
                yield sizes


@once
def _internal(analysed: Analysed) -> Mapping[Symbol, Dim]:
    """Printed symbols -> internal ones."""
    shown = all_names(analysed)
    found = {next(iter(d.symbols)): expr_of(s) for s, d in shown.items() if isinstance(d, Expr)}
    return found | {Symbol(e.name): e.expr for e in analysed.declared_inputs.elements.values()}


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
    watch = Stopwatch()
    runs = chosen(evidence, confirm, analysed.semantics) == "run"
    if given not in ("run", "inputs", "declared"):
        raise UsageError(f"given={given!r}: it is 'run', 'inputs' or 'declared'")
    if not isinstance(query, str | Relation):
        raise UsageError(f"{query!r} is no relation: write a text, as 'past >= 1', or eq(a, b), not a == b")
    listed(assume)
    question = _Question(analysed, query, given, assume, confirm, runs, checked(limits), declared)
    try:
        with within(limits.seconds):
            found = question.answer()
    except DeadlineError as error:
        relation = UNKNOWN_RELATION if isinstance(query, str) else query
        found = Proof(relation, Verdict.UNKNOWN, given=given, reason=str(error))
    found = replace(found, text=query if isinstance(query, str) else str(query), seconds=watch.seconds)
    return with_premises(analysed, query, found)
