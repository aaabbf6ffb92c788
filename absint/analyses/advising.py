"""The advice of analyses of values to that of shapes: bounds of elements, facts about symbols, dead branches.

Only forward analyses tell it anything: what they claim holds of each value once it is computed, so it may show that the
node which reads the value does not fail. What flows backward holds of runs that succeed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from absint.analyses.exchange import Given, Member, read_analyses, run, solve
from absint.analyses.frame import Frame, Shapes
from absint.analyses.queries import ElementBounds, ElementOf, Q, Query, ShapeOf, TripCount
from absint.analyses.reporting import Reporting
from absint.analyses.rows import Row
from absint.diagnostics import Diagnostic
from absint.engine import Analysis, Solution
from absint.errors import UsageError
from absint.lattices.lattice import Lattice, Rows
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, ge, le, negation
from absint.lattices.logic.truth import YES
from absint.lattices.terms.expr import Dim, Expr, Symbol, const
from absint.lattices.terms.extremes import maximum, minimum
from absint.lattices.text.nearest import did_you_mean
from absint.lattices.value import Tensor
from absint.program.lowered import Lowered
from absint.program.nodes import Node
from absint.program.rules.files import blaming
from absint.program.steps import Gate, Operand
from absint.shapes.refinement import Advice, Cooperation, Finding, in_turns, run as shapes_run
from absint.shapes.rounds import Round, lasting
from absint.solution.analysed import Analysed
from absint.transfer.stated import Within

# The common part of analyses of values, forward and backward: a domain, the nodes, and questions to each other.

if TYPE_CHECKING:
    from absint.model.weights import Array

T = TypeVar("T")
U = TypeVar("U")


class ValueAnalysis(Analysis[tuple[T, ...]], Member, Reporting):
    """An element of `domain` for each value of a model."""

    domain: Lattice[T]
    """The domain of single values."""

    elementwise: bool = False
    """An element of the domain describes every element of a tensor or sequence, so it describes a slice, and a stack of
    slices, as well. Otherwise slices and stacks that loops make are unknown."""

    _frame: Frame | None = None
    _analysed: Analysed | None = None

    def __init__(self, result: Analysed | None = None) -> None:
        """With a result the analysis is run alone, by `fixpoint(result.graph, analysis)`."""
        if result is not None:
            self._analysed = result
            shapes = Shapes(result.analysis, result.states)
            outputs = outputs_of(result.lowered)
            self.enter(Frame(result.program, shapes, (self,), run=run, outputs=outputs, is_alone=True))

    @property
    def frame(self) -> Frame:
        """The program that the analysis runs over. Raises UsageError before it runs."""
        if self._frame is None:
            raise UsageError(f"{self.label} has no model yet: absint.analyze(model, with_=[...]) runs it")
        return self._frame

    @property
    def result(self) -> Analysed:
        """The result that the analysis was made with. Raises UsageError for one that was given to `absint.analyze`."""
        if self._analysed is None:
            raise UsageError(f"{self.label} runs within absint.analyze, so there is no result yet: use nodes and ask")
        return self._analysed

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes: `operator`, `operands` and names of `outputs`; of an operator, `operation.attributes`."""
        return self.frame.nodes

    def attribute(self, node: int, name: str, default: int) -> int:
        """An attribute of an operator that is a number; `default` if it is left out, or is something else."""
        operation = self.nodes[node].operation
        found = None if operation is None else operation.attributes.get(name)
        return found if isinstance(found, int) else default

    def given_name(self, node: int) -> str:
        """The name of an input, initialiser or constant of the main graph; empty for all other nodes.

        Bodies and functions may have others of the same name.
        """
        return fixed_name(self.nodes[node]) if self.frame.call is None else ""

    def constant(self, operand: Operand) -> Array | None:
        """The elements that a value has in every run, as an array; None if they are not all known.

        These are initialisers that no caller can replace and constants, of any size in the main graph, and what shapes
        know of small tensors anywhere, where a zero has lost its sign. Nothing is known of a value that is left out.
        """
        loaded = self.frame.program.loaded
        if operand[0] < 0 or loaded is None:
            return None
        return loaded.weights.constant(self.given_name(operand[0]), self.ask(ShapeOf, operand).value)

    def ask(self, query: type[Q], operand: Operand) -> Q:
        """The answer of all analyses that run together, that of shapes among them; sound even if none answers.

        The answer may be used for the values of the node that is being visited: when it changes, the node is visited
        again. Of values that are computed before it is exact; of others it is what the turn before found.
        """
        return self.frame.ask(query, *operand)

    def element_of(self, analysis: type[ValueAnalysis[U]], operand: Operand) -> U | None:
        """The finding of another analysis, of this class, about a value; None without one, or if none was given."""
        return cast("U | None", self.frame.element_of(analysis, *operand))

    def answers(self, element: T) -> Iterable[Query]:
        """The answers that an element gives to others, as `ElementBounds(0, 7)`. It is not asked of bottom."""
        return ()

    def reported(self, solution: Solution[tuple[T, ...]]) -> tuple[Diagnostic, ...]:
        """The findings of an analysis that ran alone; `Result.diagnostics` has those of one that ran with others."""
        return self.findings_at(solution.states)

    def findings_at(self, states: Sequence[Row]) -> tuple[Diagnostic, ...]:
        """The findings of one visit of each node under these final states."""
        return self._visited(self.row, states)

    def by_name(self, solution: Solution[tuple[T, ...]]) -> dict[str, T]:
        """The element of each value by its name; in a body or an inlined function, path and name (`loop1/body/x`)."""
        return self.named(solution.states)

    def named(self, states: Sequence[Row]) -> dict[str, T]:
        """The element of each value of the program by its path and name."""
        rows = cast("Sequence[tuple[T, ...]]", states)
        return {
            f"{path}/{name}" if path else name: self._of(operand, rows)
            for path, scope in self.frame.program.scopes.items()
            for name, operand in scope.names.items()
        }

    def _of(self, operand: Operand, states: Sequence[tuple[T, ...]]) -> T:
        node, output = operand
        if node < 0:
            return self.domain.top
        return states[node][output] if output < len(states[node]) else self.domain.bottom

    def _is_bottom(self, element: T) -> bool:
        return self.domain.leq(element, self.domain.bottom)

    # What the solver of several analyses calls

    def enter(self, frame: Frame | None) -> Frame | None:
        before, self._frame = self._frame, frame
        self.lattice = Rows(self.domain)
        return before

    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        element = cast("T", row[output]) if output < len(row) else self.domain.bottom
        if self._is_bottom(element):
            return
        if query is ElementOf:
            yield cast("Q", ElementOf(element))
            return
        for answer in self.answers(element):
            if type(answer) is query:
                yield answer

    def row(self, node: int, rows: Sequence[Row]) -> Row:
        return self.transfer(node, cast("Sequence[tuple[T, ...]]", rows))

    def leq(self, a: Row, b: Row) -> bool:
        return self.lattice.leq(cast("tuple[T, ...]", a), cast("tuple[T, ...]", b))

    def join(self, a: Row, b: Row) -> Row:
        return self.lattice.join(cast("tuple[T, ...]", a), cast("tuple[T, ...]", b))

    def meet(self, a: Row, b: Row) -> Row:
        if len(a) != len(b):
            return a
        return tuple(map(self.domain.meet, cast("tuple[T, ...]", a), cast("tuple[T, ...]", b)))

    def merged(self, node: int, old: Row, new: Row, widen: bool) -> Row:
        return self.merge(node, cast("tuple[T, ...]", old), cast("tuple[T, ...]", new), widen)

    def widened(self, old: Row, new: Row) -> Row:
        above = self.join(old, new)
        return self.lattice.widen(cast("tuple[T, ...]", old), cast("tuple[T, ...]", above))

    def unknown(self, count: int) -> Row:
        return (self.domain.top,) * count


def fixed_name(node: Node) -> str:
    """The name of an input, initialiser or constant of the main graph of a program; empty for all other nodes."""
    is_fixed = node.step is None and (node.operation is None or node.operator == "Constant")
    is_main = node.gate < 0 and not str(node.path)  # initialisers of bodies have no path
    return node.outputs[0] if is_fixed and is_main and node.outputs else ""


def outputs_of(lowered: Lowered) -> list[Operand]:
    """The values that the model gives back."""
    names = lowered.program.main.names
    return [names[name] for name in lowered.signature.outputs if name in names]


class Adviser:
    """Runs the forward ones of some analyses on a round, and tells what they found."""

    def __init__(self, lowered: Lowered, members: Sequence[Member]) -> None:
        self._lowered = lowered
        self._members = [one for one in members if one.direction == "forward"]

    def __call__(self, round_: Round) -> Advice:
        shapes = Shapes(round_.analysis, round_.states)
        finished = solve(self._lowered.program, shapes, self._members)
        return _Telling(self._lowered, shapes, self._members, finished).advice()


def begun(lowered: Lowered, facts: Facts, given: Sequence[Given]) -> tuple[Cooperation, Facts]:
    """The exchange between the shape analysis and others before anything is refined; the facts with their findings.

    Raises UsageError for what is no analysis, and for names of which one takes something for granted that are none of
    the model, and if code of a file that is given fails.
    """
    members = check_given(lowered, given)

    def turn(advice: Advice) -> Round:
        return shapes_run(lowered, advice.with_facts(facts), advice=advice)

    adviser = Adviser(lowered, members)
    with blaming("--analysis", [os.fspath(one) for one in given if isinstance(one, str | os.PathLike)]):
        advice, _ = in_turns(turn, adviser)
    return Cooperation(tuple(members), adviser, advice), advice.with_facts(facts)


def check_given(lowered: Lowered, given: Sequence[Given]) -> list[Member]:
    """The analyses that are given. Raises UsageError for what is none, and for names that the model does not have."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"with_={given!r}: expected a list of analyses")
    members = read_analyses(given)
    for one in members:
        if not isinstance(one, Member):
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
        self,
        lowered: Lowered,
        shapes: Shapes,
        members: Sequence[Member],
        finished: dict[int, list[Row]],
    ) -> None:
        self._lowered, self._shapes = lowered, shapes
        self._members, self._finished = members, finished
        self._frame = Frame(lowered.program, shapes, members, (), finished, run=run)
        self._restored = shapes.analysis.facts.restored
        self._findings: dict[Relation, Finding] = {}

    def advice(self) -> Advice:
        """All that may be told."""
        before = [one.enter(self._frame) for one in self._members]
        try:
            return self._told()
        finally:
            for one, frame in zip(self._members, before, strict=True):
                one.enter(frame)

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
        return bool(own) and all(_lasts(s) and s.origin_node == node for s in own)

    def _closed_by(self, gate: int, condition: Operand) -> tuple[str, ...]:
        """The analyses that know the condition, else those that find no value with which it holds."""
        known = self._frame.told(ElementBounds, *condition).truth if condition[0] >= 0 else None
        if known is not None:
            return self._by(ElementBounds, *condition)
        rows = ((one, self._finished.get(number)) for number, one in enumerate(self._members))
        return tuple(sorted({one.label for one, row in rows if row is not None and one.is_closed(row[gate])}))

    def _by(self, query: type[ElementBounds], node: int, output: int) -> tuple[str, ...]:
        """The analyses that answer, in the order of their names."""
        names = {
            one.label
            for number, one in enumerate(self._members)
            if any(one.told(query, node, output, self._finished[number][node]))
        }
        return tuple(sorted(names))


def _lasts(symbol: Symbol) -> bool:
    """It is the same number in every round of the shape analysis."""
    return lasting(symbol) or (symbol.origin is not None and symbol.origin.tag == "trips")
