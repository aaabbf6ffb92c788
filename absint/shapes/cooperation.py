"""The shape analysis and others in turns: each starts from what the other found, until nothing is added.

    round of shapes ──> adviser: other analyses run over it ──> Advice ──> the next round, interpreted with it ──> ...

Advice is facts about symbols, bounds of elements, and dead branches. It holds of every value that is computed, whether
or not the run succeeds later: so it may show that a node does not fail. Facts narrow symbols; a rule sees the bounds of
its inputs (`Op.within`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim
from absint.lattices.value import BOTTOM
from absint.program.graph import Program
from absint.program.steps import Operand
from absint.shapes.analysis import interpret
from absint.shapes.application import Bounds, computed_within
from absint.shapes.interpretation import Interpretation, Transfer
from absint.shapes.rounds import Round
from absint.shapes.summaries import State
from absint.transfer.stated import Within

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
        kept = (finding for finding in earlier.findings if finding.relation not in relations)
        bounds, sources = dict(earlier.bounds), dict(earlier.sources)
        for at, (least, most) in self.bounds.items():
            before = bounds.get(at, _NOTHING)
            bounds[at] = Within(before.least if least is None else least, before.most if most is None else most)
            if bounds[at] != before:
                also = sources.get(at, ()) if None in (least, most) else ()
                sources[at] = tuple(sorted({*self.sources[at], *also}))
        return Advice((*kept, *self.findings), bounds, sources, {**self.unreached, **earlier.unreached})


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
    return interpret if advice is None or advice is NO_ADVICE else _Advised(program, advice.under(facts))


class _Advised:
    """Interprets the nodes of which other analyses found something with that."""

    def __init__(self, program: Program, advice: Advice) -> None:
        self._program, self._advice = program, advice

    def __call__(self, run: Interpretation, node: int, states: Sequence[State]) -> State:
        if run.program is not self._program:  # the body of a folded call
            return interpret(run, node, states)
        if node in self._advice.unreached:
            return (BOTTOM,)
        item = run.nodes[node]
        bounds = () if item.operation is None else self._advice.of(item.operands)
        if item.operation is None or not bounds:
            return interpret(run, node, states)
        return computed_within(run, node, item, item.operation, states, bounds)


def in_turns(run: Callable[[Advice], Round], adviser: Adviser) -> tuple[Advice, Round]:
    """The last round, and the advice that it rests on."""
    advice, last = NO_ADVICE, run(NO_ADVICE)
    for _ in range(MAX_TURNS):
        more = adviser(last).and_earlier(advice)
        if more == advice:
            break
        advice, last = more, run(more)
    return advice, last
