"""Findings of other analyses that the shape analysis uses: facts about symbols, bounds of elements, dead branches.

They hold of every value that is computed, whether or not the run succeeds later: so they may show that a node does not
fail. Facts narrow symbols; a rule sees the bounds of its inputs (`Op.within`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim
from absint.program.steps import Operand
from absint.transfer.stated import Within

Bounds = tuple[Within | None, ...]
"""Of the inputs of a node; empty if there are none."""

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
        found = tuple([bounds.get(operand) for operand in operands])
        return found if any(found) else ()

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
        found = Facts((*facts.relations, *(finding.relation for finding in self.findings)), facts.order)
        return facts if found.contradiction else found

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
