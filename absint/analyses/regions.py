"""The bodies of a lowered program as a tree: the main graph, branches of Ifs, bodies of loops.

A node stands in the region of its gate. The regions of one If or loop end at one node, the join or the exit, which
stands in the region around them and computes the outputs. Inlined functions have no region of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, ge, negation
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Symbol
from absint.lattices.terms.kinds import SymbolKind
from absint.lattices.terms.substitution import substitute
from absint.lattices.value import BOTTOM
from absint.program.steps import Gate, LoopBody, LoopExit, MapExit, ScanExit
from absint.shapes.branches import condition_of
from absint.shapes.loops.body import BodySymbols
from absint.shapes.rounds import teachings
from absint.solution.analysed import Analysed

EXITS = (LoopExit, ScanExit, MapExit)
"""The nodes that compute the outputs of a loop."""


@dataclass(eq=False)
class Region:
    """A body. `gate` is its gate or loop head, -1 for the main graph; `close` is the join or exit that follows it."""

    gate: int
    parent: Region | None
    close: int
    members: list[int] = field(default_factory=list)
    """Its nodes in execution order; of an If or loop inside, the gates or the head, and the join or exit."""
    condition: Relation | None = TRUE
    """The condition under which the region around it enters it; None if data-dependent."""
    number: Symbol | None = None
    """Of a loop: the iteration number, from 0."""
    trips: Dim | None = None
    """Of a loop: its trip count at each visit."""
    runs: bool = True
    """Some run may reach it."""
    inner: dict[int, list[Region]] = field(default_factory=dict)
    """The bodies directly in it that some run may reach, by the join or exit that follows them."""

    @property
    def last(self) -> int:
        """The last node of the body, those of inner bodies included."""
        return self.members[-1] if self.members else self.gate


class Regions:
    """The regions of a result."""

    def __init__(self, analysed: Analysed) -> None:
        self._nodes = analysed.nodes
        self._analysed = analysed
        self._originals = analysed.rounds.originals
        self.facts = facts_of_runs(analysed)
        self.main = Region(-1, None, len(self._nodes))
        self.by_gate: dict[int, Region] = {-1: self.main}
        closes: dict[int, int] = {}
        for number, node in enumerate(self._nodes):
            if isinstance(node.step, EXITS):
                closes[node.step.head] = number
        for number, node in enumerate(self._nodes):
            around = self.by_gate[node.gate]
            around.members.append(number)
            if isinstance(node.step, Gate):
                self._add(self._branch(number, node.step, around))
            elif isinstance(node.step, LoopBody):
                self._add(self._loop(number, node.step, around, closes.get(number, -1)))

    def _add(self, region: Region) -> None:
        self.by_gate[region.gate] = region
        if region.runs and region.parent is not None:
            region.parent.inner.setdefault(region.close, []).append(region)

    def of(self, node: int) -> Region:
        """The region that the node stands in."""
        return self.by_gate[self._nodes[node].gate]

    def home(self, node: int) -> Region:
        """The region whose visits the node's outputs belong to: a loop head computes its outputs anew in each trip."""
        return self.by_gate[node] if isinstance(self._nodes[node].step, LoopBody) else self.of(node)

    def label(self, region: Region) -> str:
        """The If or loop that the region is a body of."""
        return str(self._nodes[region.close])

    def runs(self, node: int) -> bool:
        """Some run may reach the node."""
        return self.home(node).runs

    def _branch(self, number: int, gate: Gate, around: Region) -> Region:
        region = Region(number, around, gate.join, runs=gate.join >= 0 and self._reached(number, around))
        producer, index = self._nodes[number].operands[0]
        state = self._analysed.states[producer] if producer >= 0 else ()
        condition = condition_of(state[index]) if index < len(state) else None
        if condition is not None:
            condition = condition if gate.taken else negation(condition)
            by_data = any(symbol.kind is not SymbolKind.INPUT for symbol in condition.symbols)
            condition = None if by_data or condition is UNKNOWN_RELATION else condition
        region.condition = condition
        return region

    def _loop(self, number: int, head: LoopBody, around: Region, close: int) -> Region:
        region = Region(number, around, close, runs=close >= 0 and self._reached(number, around))
        if not region.runs:
            return region
        region.number = BodySymbols(head).iteration
        trips = self._analysed.analysis.trips.get(number, UNKNOWN_SIZE)
        region.trips = substitute(trips, self._originals) if isinstance(trips, Expr) else trips
        at_least_one = ge(region.trips, 1)
        certain = self.facts.decide(at_least_one) is YES
        region.condition = TRUE if certain else None if at_least_one is UNKNOWN_RELATION else at_least_one
        return region

    def _reached(self, gate: int, around: Region) -> bool:
        state = self._analysed.states[gate]
        return around.runs and bool(state) and state[0] is not BOTTOM


def carried(step: LoopExit | ScanExit | MapExit) -> int:
    """The number of loop outputs that are carried values; the others are gathered from all iterations."""
    return step.count if isinstance(step, LoopExit) else step.settings.states if isinstance(step, ScanExit) else 0


def facts_of_runs(analysed: Analysed) -> Facts:
    """Facts about single symbols in every run that succeeds: more than a further round of the analysis needs."""
    known = analysed.analysis.facts
    taught = {item.relation: None for item in teachings(analysed.base.analysis, analysed.lowered)}
    found = Facts((*known.relations, *taught), analysed.symbols)
    return known if found.contradiction else found
