"""Claims as conditions that legal sizes may break: where the graph of a claim is reached, and in which trip.

In a loop a claim is about each trip. What symbols of the body stand for in the first two is known, as far as the
start and the body decide them.
"""

from collections.abc import Iterable, Iterator, Mapping

from absint.lattices.logic.relation import FALSE, TRUE, Relation, conjunction, ge
from absint.lattices.terms.expr import Dim, Expr, Symbol, const
from absint.lattices.terms.normal import sole_atom, substitute
from absint.lattices.value import Tensor, Value
from absint.program.steps import LoopBody, LoopHead, ScanHead
from absint.questions.claims.claims import Claim
from absint.questions.claims.reading import Inferred
from absint.questions.sizes.falsifying import Condition, FalsifyingSizes
from absint.shapes.loops.body import BodySymbols
from absint.solution.analysed import Analysed
from absint.solution.constraints import Recorder


class Conditions:
    """The conditions of claims about one model."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._recorder = Recorder(analysed.lowered, analysed.base)
        self._trips: dict[int, tuple[Mapping[Symbol, Dim], ...]] = {}
        self.sizes = FalsifyingSizes(analysed)

    def is_reached(self, claim: Claim) -> bool:
        """Some run may visit its graph."""
        return self._reached(claim) is not FALSE

    def _reached(self, claim: Claim) -> Relation:
        gate = claim.shape.gate
        return TRUE if gate is None or gate < 0 else self._recorder.path_condition(gate)

    def false_at(self, claims: Iterable[Claim]) -> Mapping[Claim, tuple[Mapping[str, int], Condition]]:
        """For each claim that some legal size makes false, such sizes, and what they break."""
        asked = {claim: list(self.of(claim)) for claim in claims}
        found = self.sizes.falsifying(condition for conditions in asked.values() for condition in conditions)
        broken = {claim: next((c for c in conditions if c in found), None) for claim, conditions in asked.items()}
        return {claim: (found[condition], condition) for claim, condition in broken.items() if condition is not None}

    def of(self, claim: Claim) -> Iterator[Condition]:
        """The claim where its graph is reached; of one that changes with the trips of a loop, in the first two."""
        relation, reached = claim.relation, self._reached(claim)
        loops = self._analysed.nodes.loops(-1 if claim.shape.gate is None else claim.shape.gate)
        loop = next((loop for loop in loops if any(map(BodySymbols(loop).has, relation.symbols))), None)
        if loop is not None:
            if loop.first not in self._trips:
                self._trips[loop.first] = self._first_trips(loop)
            trips: Dim = self._analysed.base.analysis.trips.get(loop.first, Dim(None))
            for trip, known in enumerate(self._trips[loop.first], start=1):
                when = f" in the {'first' if trip == 1 else 'second'} trip"
                yield Condition(relation.substitute(known), conjunction(reached, ge(trips, trip)), when)
        elif claim.shape.gate is not None:
            yield Condition(relation, reached)

    def _first_trips(self, loop: LoopBody) -> tuple[Mapping[Symbol, Dim], ...]:
        """The terms that symbols of the body stand for in either trip; other symbols are left out."""
        symbols, inferred = BodySymbols(loop), Inferred(self._analysed)
        operands = self._analysed.nodes[loop.first].operands
        if isinstance(loop, LoopHead):
            pairs = [(2 + k, operands[2 + k], loop.back[1 + k]) for k in range(loop.count)]
        elif isinstance(loop, ScanHead) and not loop.settings.batched:
            pairs = [(k, operands[k], loop.back[k]) for k in range(loop.settings.states)]
        else:
            pairs = []
        first: dict[Symbol, Dim] = {symbols.iteration: const(0)}
        second: dict[Symbol, Dim] = {symbols.iteration: const(1)}
        for at, start, _ in pairs:
            if start[0] >= 0:
                first |= dict(_told(symbols, inferred[loop.first, at], inferred[start]))
        for at, _, back in pairs:
            if back[0] >= 0:
                for symbol, number in _told(symbols, inferred[loop.first, at], inferred[back]):
                    after = substitute(number, first) if isinstance(number, Expr) else number
                    if isinstance(after, Expr) and not symbols.occur_in(after):
                        second[symbol] = after
        return first, second


def _told(symbols: BodySymbols, head: Value, value: Value) -> Iterator[tuple[Symbol, Dim]]:
    """The symbols that the head has for a carried value, where it is this value."""
    if not isinstance(head, Tensor) or not isinstance(value, Tensor):
        return
    if head.shape.rank is not None and head.shape.rank == value.shape.rank:
        yield from _pairs(symbols, zip(head.shape.dims, value.shape.dims, strict=True))
    mine, other = head.contents, value.contents
    if mine is not None and other is not None and mine.shape == other.shape and not mine.is_fill and not other.is_fill:
        yield from _pairs(symbols, zip(mine.elements, other.elements, strict=True))


def _pairs(symbols: BodySymbols, pairs: Iterator[tuple[object, object]]) -> Iterator[tuple[Symbol, Dim]]:
    for mine, other in pairs:
        if isinstance(mine, Expr) and isinstance(other, Expr):
            atom = sole_atom(mine)
            if isinstance(atom, Symbol) and symbols.has(atom):
                yield atom, other
