"""The view of analyses that run over one program: its nodes, the findings of the shape analysis, and each other.

A question about a value is answered from one of three states. Of a node that the engine has visited before the one it
is at, and of one that leads to it: the state of the iteration under way, which is final when the engine leaves the node
for the last time. Of the node itself: the pass before. Of all others: the turn before. Only the first is optimistic,
and it is about values that a run computed earlier: so no claim rests on itself.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, cast, overload

from absint.analyses import queries
from absint.analyses.queries import ElementBounds, ElementOf, Member, Q, Query, Reachable, Row, ShapeOf, TripCount
from absint.lattices.terms.expr import Expr
from absint.lattices.value import BOTTOM, TOP, Value
from absint.program.folded import Body
from absint.program.graph import Program
from absint.program.lowered import Lowered
from absint.program.steps import Gate, LoopBody, LoopHead, Operand
from absint.shapes.rounds import Round
from absint.solution.analysed import Analysed

# Summaries of folded calls for analyses of values: a body is run once for equal elements of its inputs.
#
# After a few different ones the body is run for elements that are above all that come, widened so that few are needed:
# 2**k calls take time in k.

MAX_PRECISE: Final = 4
"""Different arguments for which one body is run as they are."""

MAX_RUNS: Final = 12
"""Most runs of one body; further calls are run for arguments of which nothing is known."""

MAX_DEPTH: Final = 32
"""Folded calls in each other; of the innermost nothing is known."""

Arguments = Mapping[int, Row]
"""The rows that each analysis gives to a body, or gets back from it, by its number."""

Run = Callable[[Body, Arguments], Arguments]
Members = Sequence[Member[Any]]


class Summary(NamedTuple):
    """The results of a body for these arguments, or any below them."""

    arguments: Arguments
    results: Arguments


class Summaries:
    """The summaries of one run of the analyses."""

    def __init__(self) -> None:
        self.shapes: dict[Body, Round] = {}
        """Of bodies, for inputs of which nothing is known."""
        self._exact: dict[Body, list[Summary]] = {}
        self._general: dict[Body, Summary] = {}
        self._runs: dict[Body, int] = {}
        self._depth = 0

    def of(self, analyses: Members, body: Body, arguments: Arguments, run: Run) -> Arguments | None:
        """The results of a call; None if calls are too deep. `run` gives those of a body for arguments."""
        exact = self._exact.setdefault(body, [])
        for summary in exact:
            if summary.arguments == arguments:
                return summary.results
        general = self._general.get(body)
        if general is not None and all(
            analyses[n].lattice.leq(row, general.arguments[n]) for n, row in arguments.items()
        ):
            return general.results
        if self._depth >= MAX_DEPTH:
            return None
        runs = self._runs[body] = self._runs.get(body, 0) + 1
        # From here on one summary serves all calls; it grows until it covers them.
        if runs > MAX_PRECISE:
            arguments = _above(analyses, arguments if general is None else general.arguments, arguments, runs)
        self._depth += 1
        results = run(body, arguments)
        self._depth -= 1
        if runs <= MAX_PRECISE:
            exact.append(Summary(arguments, results))
        else:
            self._general[body] = Summary(arguments, results)
        return results


def _above(analyses: Members, old: Arguments, new: Arguments, runs: int) -> Arguments:
    """Arguments above both, in a chain that ends."""
    if runs > MAX_RUNS:
        return {number: analyses[number].unknown(len(row)) for number, row in new.items()}
    rows = ((number, analyses[number].lattice, old[number], row) for number, row in new.items())
    return {number: lattice.widen(before, lattice.join(before, row)) for number, lattice, before, row in rows}


Finished = Mapping[int, Sequence[Row]]
"""The states of analyses that have come to their fixpoint: for each, by its number, those of the nodes."""


class Late(NamedTuple):
    """A question whose answer is of the turn before."""

    query: type[Query]
    of: int
    node: int
    output: int


class Call(NamedTuple):
    """A call of a folded body: what each analysis gives to it, by number."""

    body: Body
    arguments: Arguments


class Rows(Sequence[Row]):
    """The rows of one of the analyses whose states the engine holds together."""

    def __init__(self, states: Sequence[Sequence[Row]], place: int) -> None:
        self._states, self._place = states, place

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, node: int) -> Row: ...
    @overload
    def __getitem__(self, node: slice) -> Sequence[Row]: ...
    def __getitem__(self, node: int | slice) -> Row | Sequence[Row]:
        if isinstance(node, slice):
            return [self[at] for at in range(*node.indices(len(self)))]
        state = self._states[node]
        return state[self._place] if state else ()


class Frame:
    """A program that some analyses run over together, all in one direction."""

    def __init__(
        self,
        program: Program,
        shapes: Round,
        members: Members,
        live: Sequence[int] = (0,),
        finished: Finished | None = None,
        *,
        call: Call | None = None,
        summaries: Summaries | None = None,
        outputs: Sequence[Operand] = (),
        is_alone: bool = False,
    ) -> None:
        """`live` are the numbers of the members that run; `finished` are the states of the turn before.

        `call` is set in the body of a folded call; `outputs` are those of the model. One analysis that `is_alone` gets
        its states from the engine as they are.
        """
        self.program = program
        self.nodes = program.nodes
        self.shapes = shapes
        self.members = tuple(members)
        self.live = tuple(live)
        self.finished: Finished = finished or {}
        self.call = call
        self.outputs = outputs
        self.summaries = summaries if summaries is not None else Summaries()
        self.is_alone = is_alone
        self.late: dict[Late, tuple[Query, ...]] = {}
        """The answers of the turn before that somebody got."""
        self.asked_itself = False
        """Somebody asked about the node that is being visited."""
        self.draft: Sequence[Row] = ()
        """Rows of the node that is being visited, of the pass before."""
        self._places = {number: place for place, number in enumerate(self.live)}
        self._node = -1
        self._states: Sequence[Sequence[Any]] = ()

    def visit(self, node: int, states: Sequence[Sequence[Any]]) -> None:
        """The engine is at the node; the state of a node has a row for each live analysis."""
        self._node, self._states = node, states

    # The shape analysis

    def value(self, operand: Operand) -> Value:
        """The value as the shape analysis knows it."""
        node, output = operand
        if node < 0:
            return TOP
        state = self.shapes.states[node]
        return state[output] if output < len(state) else BOTTOM

    def bounds(self, operand: Operand) -> ElementBounds:
        """Bounds of the elements of a value, by the shape analysis."""
        return queries.bounds_of(self.value(operand))

    def is_dead(self, gate: int) -> bool:
        """The shape analysis knows that no run enters the branch or body."""
        return self.shapes.states[gate][:1] == (BOTTOM,)

    def is_closed(self, gate: int) -> bool:
        """No run enters the branch or body, by some analysis."""
        if self.is_dead(gate):
            return True
        if not isinstance(self.nodes[gate].step, (Gate, LoopHead)):
            return False
        known = (n for n in range(len(self.members)) if n in self.finished or self._is_early(n, gate))
        return any(self.members[number].is_closed(self._row(number, gate)) for number in known)

    @cached_property
    def spoken(self) -> Mapping[int, Mapping[Operand, int]]:
        """For each gate and head of a Loop, the values that its condition speaks of, with their places in its row."""
        found = {}
        for number, item in enumerate(self.nodes):
            step = item.step
            if isinstance(step, Gate):
                condition, truth, width = item.operands[0], step.taken, 1
            elif isinstance(step, LoopHead):
                condition, truth, width = item.operands[1], True, step.width
            else:
                continue
            found[number] = {o: width + at for at, o in enumerate(queries.spoken_of(self.nodes, condition, truth))}
        return found

    def _by_shapes(self, query: type[Query], node: int, output: int) -> Query | None:
        if query is ShapeOf:
            return ShapeOf(self.value((node, output)))
        if query is ElementBounds:
            return queries.bounds_of(self.value((node, output)))
        if query is Reachable:
            gate = node if isinstance(self.nodes[node].step, (Gate, LoopBody)) else self.nodes[node].gate
            return Reachable(not any(map(self.is_closed, self.nodes.around(gate))))
        trips = self.shapes.analysis.trips.get(node) if query is TripCount else None
        return TripCount(trips, trips) if isinstance(trips, Expr) else None

    # Each other

    def ask(self, query: type[Q], node: int, output: int) -> Q:
        """The knowledge of all analyses together about an output of a node."""
        if node < 0:
            return query()
        known = self._by_shapes(query, node, output)
        told = self.told(query, node, output)
        return told if known is None else told.meet(cast("Q", known))

    def told(self, query: type[Q], node: int, output: int) -> Q:
        """The knowledge of the analyses besides that of shapes."""
        answer = query()
        for number in range(len(self.members)):
            for found in self._told_by(number, query, node, output):
                answer = answer.meet(found)
        return answer

    def element_of(self, kind: type[Member[Any]], node: int, output: int) -> object:
        """The finding of the first analysis of a class, in its own domain; None without one."""
        for number, member in enumerate(self.members):
            if isinstance(member, kind):
                return next((one.element for one in self._told_by(number, ElementOf, node, output)), None)
        return None

    def _told_by(self, number: int, query: type[Q], node: int, output: int) -> tuple[Q, ...]:
        found = tuple(self.members[number].told(query, node, output, self._row(number, node)))
        if query is not TripCount and not self._is_early(number, node):
            self.late[Late(query, number, node, output)] = found
        return found

    def _row(self, number: int, node: int) -> Row:
        """The row of a node that may be used now."""
        if not self._is_early(number, node):
            rows = self.finished.get(number)
            return () if rows is None else rows[node]
        if node == self._node:
            self.asked_itself = True
            return self.draft[self._places[number]] if self.draft else ()
        return self.rows(number)[node]

    def rows(self, number: int) -> Sequence[Row]:
        """The rows of one analysis in the iteration under way."""
        return cast("Sequence[Row]", self._states) if self.is_alone else Rows(self._states, self._places[number])

    def number_of(self, member: Member[Any]) -> int:
        """The number of one of the members."""
        return next(number for number, one in enumerate(self.members) if one is member)

    def _is_early(self, number: int, node: int) -> bool:
        if number not in self._places:
            return False
        # Visited before in this iteration, or on the way back to the head that is being visited.
        now = self._node
        return now in (-1, node) or self._positions[node] < self._positions[now] or node in self._backs.get(now, ())

    @cached_property
    def _positions(self) -> Sequence[int]:
        order = self.program.visiting_order(reverse=self.members[self.live[0]].direction != "forward").order
        positions = [0] * len(order)
        for position, node in enumerate(order):
            positions[node] = position
        return positions

    @cached_property
    def _backs(self) -> Mapping[int, frozenset[int]]:
        """For each head of a loop the nodes of the body that lead back to it."""
        steps = ((number, item.step) for number, item in enumerate(self.nodes))
        return {n: frozenset(p for p, _ in step.back) for n, step in steps if isinstance(step, LoopBody)}

    def is_outdated(self, finished: Finished) -> bool:
        """Some answer of the turn before is another one now."""
        for late, before in self.late.items():
            rows = finished.get(late.of)
            row = () if rows is None else rows[late.node]
            if before != tuple(self.members[late.of].told(late.query, late.node, late.output, row)):
                return True
        return False


def framed(
    analysed: Analysed, members: Members, live: int = 0, finished: Finished | None = None, *, is_alone: bool = False
) -> Frame:
    """The frame of the program of a result, over which one of the analyses runs."""
    shapes, outputs = shapes_of(analysed), outputs_of(analysed.lowered)
    return Frame(analysed.program, shapes, members, (live,), finished, outputs=outputs, is_alone=is_alone)


def shapes_of(analysed: Analysed) -> Round:
    """What the shape analysis found, over the symbols of the first round."""
    return Round(analysed.analysis, analysed.states)


def outputs_of(lowered: Lowered) -> list[Operand]:
    """The values that the model gives back."""
    names = lowered.program.main.names
    return [names[name] for name in lowered.signature.outputs if name in names]
