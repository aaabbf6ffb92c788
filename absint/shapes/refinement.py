"""Refinement: requirements of one round become facts of the next.

Round 0 rests on the declarations of the inputs and the user's assumptions alone. A requirement of a node that every run
computes holds in every run that succeeds, so where it solves or bounds a symbol (`d_model == 64`, `seq >= 1`), the next
round may use it. Round 0 is kept: contracts and checks of sizes use it, so that no requirement discharges itself.

The shape analysis and others in turns: each starts from what the other found, until nothing is added.

    round of shapes ──> adviser: other analyses run over it ──> Advice ──> the next round, interpreted with it ──> ...

Advice is facts about symbols, bounds of elements, and dead branches. It holds of every value that is computed, whether
or not the run succeeds later: so it may show that a node does not fail. Facts narrow symbols; a rule sees the bounds of
its inputs (`Op.within`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final

from absint.engine import fixpoint
from absint.lattices.limits import takes_shortcuts
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.terms.normal import Substitution, sole_atom
from absint.lattices.value import BOTTOM, Value
from absint.program.graph import Program
from absint.program.limits import ANALYSE, CHECK, REFINE
from absint.program.lowered import Lowered
from absint.program.steps import Operand
from absint.shapes.analysis import ShapeAnalysis, Trace, interpret
from absint.shapes.application import Bounds, computed
from absint.shapes.interpretation import Interpretation, Transfer
from absint.shapes.memo.cache import SHARED, FirstRound
from absint.shapes.memo.known_facts import facts_of
from absint.shapes.rounds import Learned, ResolvedChoices, Round, Rounds, Undecided, is_about_a_symbol, required_facts
from absint.shapes.summaries import State
from absint.transfer.stated import Within

if TYPE_CHECKING:
    from absint.shapes.timings import Timings


MAX_ROUNDS: Final = 4
"""Runs of the analysis beyond the first."""


def run_rounds(
    lowered: Lowered,
    facts: Facts,
    order: Sequence[str],
    *,
    memoise: bool,
    trace: Trace | None,
    refine: bool,
    timings: Timings | None = None,
    advice: Advice | None = None,
) -> Rounds:
    """Run the analysis until the requirements give no new facts. `order` are the input symbols; `advice` is what other
    analyses found. If a limit stops the first run, what it did not reach is unknown; a later run that is stopped is
    discarded.
    """
    refinement = _Refinement(lowered, facts, order, memoise, trace, timings, advice)
    refinement.run(facts, ANALYSE)
    rounds = refinement.rounds
    if not refine or (lowered.watch is not None and lowered.watch.reached):
        return Rounds(tuple(rounds))
    # A further round is run only if its facts could settle something that this one left open.
    undecided = Undecided.of(rounds[-1].states)
    for _ in range(MAX_ROUNDS):
        known = refinement.learn(undecided)
        if known is None:
            break
        if known.contradiction:
            return Rounds(tuple(rounds), refinement.clash())
        if not refinement.advance(known):
            break
        undecided = Undecided.of(rounds[-1].states)
    return Rounds(tuple(rounds), has_sums=undecided.has_sums())


class _Refinement:
    """Rounds as they come, and what they learned."""

    def __init__(
        self,
        lowered: Lowered,
        facts: Facts,
        order: Sequence[str],
        memoise: bool,
        trace: Trace | None,
        timings: Timings | None,
        advice: Advice | None,
    ) -> None:
        self.lowered, self.facts, self.order = lowered, facts, order
        self.memoise, self.trace, self.timings, self.advice = memoise, trace, timings, advice
        self.rounds: list[Round] = []
        self.learned: dict[Relation, Learned] = {}

    def run(
        self, known: Facts, phase: str, held: frozenset[Relation] = frozenset(), first_round: FirstRound | None = None
    ) -> bool:
        """A round under these facts, in which conditions `held` are true; False if a limit stopped it."""
        program = self.lowered.program
        analysis = ShapeAnalysis(
            program,
            known,
            simplify=ResolvedChoices.under(known, held),
            memoise=self.memoise,
            trace=self.trace,
            first_round=first_round,
            timings=self.timings,
            interpreter=interpreter(program, known, self.advice),
        )
        with nullcontext() if self.timings is None else self.timings.phase("fixpoint"):
            states = solved(self.lowered, analysis, phase)
        if states is None:
            return False
        self.rounds.append(Round(analysis, states, tuple(self.learned.values())))
        return True

    def advance(self, known: Facts) -> bool:
        """Another round under these facts; False if a limit stopped it."""
        held = frozenset(r.substitute(known.mapping) for r in self.learned if not is_about_a_symbol(r))
        renews = self.memoise and takes_shortcuts() and not self.facts and not known.remainders
        return self.run(known, REFINE, held, self._renewed(known) if renews else None)

    def clash(self) -> tuple[Learned, ...]:
        """A minimal set of requirements that contradict the facts, or each other."""
        from absint.solver.subsets import minimal

        def contradicts(rest: list[Relation], _: list[Relation]) -> bool:
            return Facts((*self.facts.relations, *rest), self.order).contradiction

        core = minimal(list(self.learned), contradicts, chunk=len(self.learned) // 2)
        return tuple(self.learned[relation] for relation in core)

    def learn(self, undecided: Undecided) -> Facts | None:
        """The facts of the next round, from requirements of the last one; None if they could settle nothing."""
        last = self.rounds[-1]
        wanted = undecided.conditions()
        requirements: dict[Relation, Learned] = {}
        for item in required_facts(last.analysis, self.lowered, wanted):
            requirements.setdefault(item.relation, item)
        # A choice of relations (`or`) teaches nothing unless a dim waits for it.
        new = {
            r: item
            for r, item in requirements.items()
            if r not in self.learned and (r.op != "or" or r in wanted or is_about_a_symbol(r))
        }
        if not new:
            return None
        known = self._with(new)
        # With the new facts, a choice may have one case left that is a fact about a symbol.
        left_open = {r: item for r, item in requirements.items() if r not in self.learned and _settles(known, r)}
        if left_open and not known.contradiction:
            known = self._with(left_open)
            new |= left_open
        if known.contradiction or any(r in wanted and not is_about_a_symbol(r) for r in new):
            return known
        # Facts that replace no symbol can change no dim.
        before = last.analysis.facts
        changed = known.mapping != before.mapping or known.remainders != before.remainders
        return known if changed and (undecided.gain_from(known) or undecided.decided_by(known)) else None

    def _with(self, new: Mapping[Relation, Learned]) -> Facts:
        self.learned |= new
        return facts_of((*self.facts.relations, *self.learned), self.order)

    def _renewed(self, known: Facts) -> FirstRound | None:
        """The results that the first round gives to one whose further facts only replace symbols."""
        # Only where new facts replace symbols, or what the old ones made of them: new terms follow from old ones.
        first = self.rounds[0]
        more: dict[Symbol, Dim] = {}
        for symbol, dim in first.analysis.facts.mapping.items():
            now = known.mapping.get(symbol)
            if now is dim or dim.is_concrete:
                continue
            narrowed = sole_atom(dim) if isinstance(dim, Expr) else None
            if now is None or not isinstance(narrowed, Symbol):
                return None
            if known.mapping.get(narrowed) is not now:
                more[narrowed] = now
        replaced = Substitution({**known.mapping, **more}) if more else known.replaced
        return FirstRound(SHARED.reuse(replaced), first.analysis.applied, first.states)


def run(
    lowered: Lowered,
    facts: Facts,
    *,
    inputs: Mapping[int, Value] | None = None,
    advice: Advice | None = None,
    simplify: Callable[[Value], Value] | None = None,
    learned: tuple[Learned, ...] = (),
    stops: bool = False,
) -> Round:
    """One round under these facts: at given sizes, with what others found, with choices that are settled.

    `inputs` are values for input nodes, `simplify` changes what rules give, and
    `learned` is what taught the facts. What a limit leaves out is unknown in it. If it `stops`, nodes behind one that
    cannot run may be left out.
    """
    how = interpreter(lowered.program, facts, advice)
    analysis = ShapeAnalysis(lowered.program, facts, inputs=inputs, simplify=simplify, interpreter=how)
    states = solved(lowered, analysis, CHECK, stops=stops)
    assert states is not None
    return Round(analysis, states, learned)


def solved(lowered: Lowered, analysis: ShapeAnalysis, phase: str, *, stops: bool = False) -> list[State] | None:
    """The states of a run of the analysis; None of one that refines and was stopped at a limit."""
    program, watch = lowered.program, lowered.watch
    if watch is None:
        may_stop = stops and not program.order.ends
        return fixpoint(program, analysis, proceed=analysis.may_go_on if may_stop else None).states
    if phase == CHECK:
        watch = watch.again()
    order = program.order.order
    total = len(order)
    end = watch.end(program.nodes, order)
    analysis.goes_on = watch.goes_on_inside
    solution = fixpoint(program, analysis, proceed=lambda done: watch.goes_on(done, total, phase), end=end)
    unfinished = sorted({*solution.unfinished, *analysis.cut})
    if unfinished and phase != REFINE:
        analysis.abandon(unfinished, solution.states)
    if phase == ANALYSE and unfinished:
        watch.stopped(program.nodes, unfinished)
    elif phase != CHECK and not watch.goes_on(total, total, phase):
        watch.not_refined()
    return None if phase == REFINE and unfinished else solution.states


def _settles(known: Facts, choice: Relation) -> bool:
    """The facts leave of the choice what is a fact about a symbol, as of `N % 2 == 0 or N == 0` where `N >= 1`."""
    sizes = [part for part in choice.parts if part.op == "==" and len(part.symbols) == 1]
    if not any(part.symbols <= known.mapping.keys() and part.map(known.replaced) is FALSE for part in sizes):
        return False
    settled = choice.map(known.replaced)
    return settled.op not in ("true", "false") and is_about_a_symbol(settled)


MAX_TURNS = 4
"""Runs of the shape analysis with more advice each."""


class Finding(NamedTuple):
    """A relation between symbols of values, the node that computes them, and the analyses that found it."""

    relation: Relation
    node: int
    by: tuple[str, ...]


class Advice(NamedTuple):
    """Findings over the symbols of an analysis without facts."""

    findings: tuple[Finding, ...]
    bounds: Mapping[Operand, Within]
    """Of all elements of a tensor."""
    sources: Mapping[Operand, tuple[str, ...]]
    """The analyses that found the bounds."""
    unreached: Mapping[int, tuple[str, ...]]
    """Gates of branches that no run takes, and the analyses that found it."""

    def of(self, operands: Sequence[Operand]) -> Bounds:
        """The bounds of the inputs of a node."""
        bounds = self.bounds
        each = tuple([bounds.get(operand) for operand in operands])
        return each if any(each) else ()

    def under(self, facts: Facts) -> Advice:
        """The advice over the symbols that the facts put in the place of others."""

        def simplified(bound: Dim | None) -> Dim | None:
            return None if bound is None else facts.simplify(bound)

        if not facts.mapping and not facts.remainders:
            return self
        bounds = {at: Within(simplified(least), simplified(most)) for at, (least, most) in self.bounds.items()}
        return self._replace(bounds=bounds)

    def with_facts(self, facts: Facts) -> Facts:
        """The facts and the findings; the facts alone if both cannot hold, as of what no run computes."""
        if not self.findings:
            return facts
        more = Facts((*facts.relations, *(finding.relation for finding in self.findings)), facts.order)
        return facts if more.contradiction else more

    def and_earlier(self, earlier: Advice) -> Advice:
        """This advice, with what only an earlier one has. What both say was found by those who said it first."""
        relations = {finding.relation for finding in self.findings}
        earlier_findings = (finding for finding in earlier.findings if finding.relation not in relations)
        bounds, sources = dict(earlier.bounds), dict(earlier.sources)
        for at, (least, most) in self.bounds.items():
            before = bounds.get(at, _NOTHING)
            bounds[at] = Within(before.least if least is None else least, before.most if most is None else most)
            if bounds[at] != before:
                also = sources.get(at, ()) if None in (least, most) else ()
                sources[at] = tuple(sorted({*self.sources[at], *also}))
        return Advice((*earlier_findings, *self.findings), bounds, sources, {**self.unreached, **earlier.unreached})


_NOTHING = Within(None, None)

NO_ADVICE = Advice((), {}, {}, {})

Adviser = Callable[[Round], Advice]
"""Runs other analyses on a round that rests on declarations alone."""


class Cooperation(NamedTuple):
    """The analyses that run together with that of shapes, and what they told it."""

    analyses: tuple[object, ...]
    adviser: Adviser
    advice: Advice
    """Before anything was refined."""


def interpreter(program: Program, facts: Facts, advice: Advice | None) -> Transfer:
    """The interpreter of the nodes of a program under the facts, with what other analyses found of them."""
    return interpret if advice is None or advice is NO_ADVICE else partial(_advised, program, advice.under(facts))


def _advised(program: Program, advice: Advice, run: Interpretation, node: int, states: Sequence[State]) -> State:
    if run.program is not program:  # the body of a folded call
        return interpret(run, node, states)
    if node in advice.unreached:
        return (BOTTOM,)
    item = run.nodes[node]
    bounds = () if item.operation is None else advice.of(item.operands)
    if item.operation is None or not bounds:
        return interpret(run, node, states)
    return computed(run, node, item, item.operation, states, bounds=bounds)


def in_turns(run: Callable[[Advice], Round], adviser: Adviser) -> tuple[Advice, Round]:
    """The last round, and the advice that it rests on."""
    advice, last = NO_ADVICE, run(NO_ADVICE)
    for _ in range(MAX_TURNS):
        more = adviser(last).and_earlier(advice)
        if more == advice:
            break
        advice, last = more, run(more)
    return advice, last
