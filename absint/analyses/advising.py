"""The advice of analyses of values to that of shapes: bounds of elements, facts about symbols, dead branches.

Only forward analyses tell it anything: what they claim holds of each value once it is computed, so it may show that the
node which reads the value does not fail. What flows backward holds of runs that succeed.
"""

import os
from collections.abc import Sequence

from absint.analyses.exchange import Given, entered, read_analyses, solve
from absint.analyses.frame import Frame
from absint.analyses.queries import ElementBounds, Row, TripCount
from absint.analyses.values import AnyAnalysis, ValueAnalysis, fixed_name
from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, YES, Relation, ge, le, negation
from absint.lattices.terms.expr import Dim, Expr, const
from absint.lattices.terms.extremes import maximum, minimum
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.value import Tensor
from absint.program.lowered import Lowered
from absint.program.rules.plugins import blaming
from absint.program.steps import Gate, Operand
from absint.shapes.refinement import Advice, Cooperation, Finding, in_turns, run as shapes_run
from absint.shapes.rounds import Round, lasting
from absint.transfer.stated import Within


def begun(lowered: Lowered, facts: Facts, given: Sequence[Given]) -> tuple[Cooperation, Facts]:
    """The exchange between the shape analysis and others before anything is refined; the facts with their findings.

    Raises UsageError for what is no analysis, and for names of which one takes something for granted that are none of
    the model, and if code of a file that is given fails.
    """
    members = check_given(lowered, given)

    def turn(advice: Advice) -> Round:
        return shapes_run(lowered, advice.with_facts(facts), advice=advice)

    forward = [one for one in members if one.direction == "forward"]

    def adviser(round_: Round) -> Advice:
        return _Telling(lowered, round_, forward, solve(lowered.program, round_, forward)).advice()

    with blaming("--analysis", [os.fspath(one) for one in given if isinstance(one, str | os.PathLike)]):
        advice, _ = in_turns(turn, adviser)
    return Cooperation(tuple(members), adviser, advice), advice.with_facts(facts)


def check_given(lowered: Lowered, given: Sequence[Given]) -> list[AnyAnalysis]:
    """The analyses that are given. Raises UsageError for what is none, and for names that the model does not have."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"with_={given!r}: expected a list of analyses")
    members = read_analyses(given)
    for one in members:
        if not isinstance(one, ValueAnalysis):
            raise UsageError(f"with_=[{one!r}]: expected an analysis, as Ranges(x=(0, 1))")
        if one.names_given():
            names = {*map(fixed_name, lowered.program.nodes)} - {""}
            for name in one.names_given():
                if name not in names:
                    hint = did_you_mean(name, names) or "names are those of inputs, initialisers and constants"
                    raise UsageError(f"{one.label}: the model has no input {name!r}; {hint}")
    return members


class _Telling:
    """The advice of analyses that have come to their fixpoint."""

    def __init__(
        self, lowered: Lowered, shapes: Round, members: Sequence[AnyAnalysis], finished: dict[int, list[Row]]
    ) -> None:
        self._lowered, self._shapes = lowered, shapes
        self._members, self._finished = members, finished
        self._frame = Frame(lowered.program, shapes, members, (), finished)
        self._restored = shapes.analysis.facts.restored
        self._findings: dict[Relation, Finding] = {}

    def advice(self) -> Advice:
        """All that may be told."""
        with entered(self._frame, self._members):
            return self._told()

    def _told(self) -> Advice:
        bounds: dict[Operand, Within] = {}
        sources: dict[Operand, tuple[str, ...]] = {}
        unreached: dict[int, tuple[str, ...]] = {}
        nodes = self._lowered.program.nodes
        for node, item in enumerate(nodes):
            if isinstance(item.step, Gate) and self._frame.is_closed(node) and not self._frame.is_dead(node):
                unreached[node] = self._closed_by(node, item.operands[0])
            for output, value in enumerate(self._shapes.states[node]):
                if not isinstance(value, Tensor) or value.dtype.is_float:
                    continue
                found = self._frame.told(ElementBounds, node, output)
                least, most = found.numbers
                if least > most:
                    continue
                low, high = map(self._original, found.whole)
                if low is not None or high is not None:
                    bounds[node, output] = Within(low, high)
                    sources[node, output] = self._by(ElementBounds, node, output)
                    self._learn(node, output, value, low, high)
        for head, trips in self._shapes.analysis.trips.items():
            low, high = map(self._original, self._frame.told(TripCount, head, 0).whole)
            if isinstance(trips, Expr):
                self._bound(head, trips, low, high, self._by(TripCount, head, 0))
        return Advice(tuple(self._findings.values()), bounds, sources, unreached)

    def _original(self, bound: Dim | None) -> Dim | None:
        """A bound over the symbols of the analysis without facts; None if it is not known."""
        found = self._restored(bound) if isinstance(bound, Expr) else None
        return found if isinstance(found, Expr) else None

    def _learn(self, node: int, output: int, value: Tensor, low: Dim | None, high: Dim | None) -> None:
        contents = value.contents
        if contents is None or not contents.open or contents.is_fill:
            return
        by = self._by(ElementBounds, node, output)
        for element in dict.fromkeys(contents.open):
            if isinstance(element, Expr):
                self._bound(node, element, low, high, by)
            elif isinstance(element, Relation):
                if low is not None and low.bounds.lo == 1:
                    self._add(node, element, by)
                elif high is not None and high.bounds.hi == 0:
                    self._add(node, negation(element), by)

    def _bound(self, node: int, number: Expr, low: Dim | None, high: Dim | None, by: tuple[str, ...]) -> None:
        """Bounds of a number, in a form that says nothing of other ones: a place below a size shows that the size is at
        least 1 only to those that come after it.
        """
        own = number.bounds
        least = (const(own.lo) if own.lo is not None else None) if low is None else low
        most = (const(own.hi) if own.hi is not None else None) if high is None else high
        if least is not None and most is not None and self._shapes.analysis.facts.decide(le(least, most)) is not YES:
            low = low if low is None or low.is_concrete else minimum(low, most)
            high = high if high is None or high.is_concrete else maximum(least, high)
        if low is not None:
            self._add(node, ge(number, low), by)
        if high is not None:
            self._add(node, le(number, high), by)

    def _add(self, node: int, relation: Relation, by: tuple[str, ...]) -> None:
        relation = relation.map(self._restored)
        if relation in (TRUE, FALSE, UNKNOWN_RELATION) or relation in self._findings:
            return
        if self._may_be_told(node, relation) and self._shapes.analysis.facts.decide(relation) is not YES:
            self._findings[relation] = Finding(relation, node, by)

    def _may_be_told(self, node: int, relation: Relation) -> bool:
        """It is about numbers that the node computes, which each round names alike.

        A claim about a number that an earlier node computes would hold only of runs that come as far as this one. They
        may end at a node between the two, which the claim must not show safe.
        """
        own = [symbol for symbol in relation.symbols if symbol.origin_node is not None]
        lasts = [lasting(s) or (s.origin is not None and s.origin.tag == "trips") for s in own]
        return bool(own) and all(lasts) and all(s.origin_node == node for s in own)

    def _closed_by(self, gate: int, condition: Operand) -> tuple[str, ...]:
        """The analyses that know the condition, else those that find no value with which it holds."""
        known = self._frame.told(ElementBounds, *condition).truth if condition[0] >= 0 else None
        if known is not None:
            return self._by(ElementBounds, *condition)
        rows = ((one, self._finished.get(number)) for number, one in enumerate(self._members))
        return tuple(sorted({one.label for one, row in rows if row is not None and one.is_closed(row[gate])}))

    def _by(self, query: type[ElementBounds], node: int, output: int) -> tuple[str, ...]:
        """The analyses that answer, in the order of their names."""
        rows = ((one, self._finished[number][node]) for number, one in enumerate(self._members))
        return tuple(sorted({one.label for one, row in rows if any(one.told(query, node, output, row))}))
