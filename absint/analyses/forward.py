"""Forward analyses of the values of a model: write what operators do; branches, loops and functions are followed here.

The state of a node has an element of the domain for each output. What a body gets from outside, what a loop carries
from one trip to the next, and what it gives back flow as `ForwardAnalysis.transfer` says. A branch or body that no run
enters, by any of the analyses that run together, adds nothing. The state of a gate or of the head of a Loop has, after
its outputs, the values that the condition speaks of, as they are where it holds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import combinations
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar, cast

from absint.analyses.exchange import called
from absint.analyses.frame import Frame
from absint.analyses.queries import ElementBounds, Q, Row, T, TripCount, parts_of
from absint.analyses.values import ValueAnalysis
from absint.errors import UsageError
from absint.program import steps
from absint.program.folded import Body
from absint.program.steps import Operand

F = TypeVar("F", bound=Callable[..., object])

MARK = "_handles"


class Handler(NamedTuple):
    """A method that handles an operator."""

    method: Callable[..., object]
    each: bool
    """It gives an element for each output, not one for all of them."""


def on(*operators: str, each: bool = False) -> Callable[[F], F]:
    """Mark a method of a `ForwardAnalysis` as the transfer function of these operators.

    It is called with the node and an element for each input, None for one that is left out. It gives the element of
    every output, or with `each` a list of one for each. Operators are named as models name them: `MatMul`,
    `com.microsoft::Gelu`. A subclass may handle an operator anew.
    """

    def mark(method: F) -> F:
        setattr(method, MARK, (operators, each))
        return method

    return mark


def handlers_of(kind: type, base: type) -> Mapping[str, Handler]:
    """The methods of a class that handle operators, inherited ones too. UsageError if one hides a method of `base`."""
    found: dict[str, Handler] = {}
    for one in reversed(kind.__mro__):
        for name, member in vars(one).items():
            operators, each = getattr(member, MARK, ((), False))
            if operators and hasattr(base, name):
                raise UsageError(
                    f"{one.__name__}.{name} handles {', '.join(operators)}: name it otherwise, since "
                    f"{base.__name__}.{name} is something else"
                )
            found.update(dict.fromkeys(operators, Handler(member, each)))
    return found


# Forward analyses: write what operators do; branches, loops and functions are followed here.


Rows = Sequence[tuple[T, ...]]

_LOOP: Final = ("what it begins with", "what its body gives back")
"""The paths that meet in the head of a loop."""


class ForwardAnalysis(ValueAnalysis[T]):
    """An element of `domain` for each value of a model: set `domain`, handle operators, and what else it knows.

    Give it to `absint.analyze(model, with_=[...])`, with others that it may `ask`, and read `Result.found_by`; or run
    it alone with `fixpoint(result.graph, analysis)`, and read `by_name`.

    It is sound if its methods are: whatever values the elements of the inputs allow, those of the outputs allow what is
    computed from them. They must be monotone: inputs that allow more, and answers that say less, give no less.

    Only data flow is followed: conditions and trip counts do not flow into the outputs of an If or a loop.
    """

    direction = "forward"

    def operator(self, node: int, inputs: Sequence[T | None]) -> Sequence[T]:
        """An element for each output of an operator. An input is None if it is left out, bottom if not computed yet.

        Override it, or mark methods with `@absint.on`, which are called here; nothing is known of other operators. If
        an input is bottom, so are the outputs. Only if the analysis is `elementwise` the method is called even so.
        """
        item = self.nodes[node]
        handler = self._handlers.get(item.operator)
        if handler is None:
            return [self.domain.top] * len(item.outputs)
        if not self.elementwise and any(one is not None and self._is_bottom(one) for one in inputs):
            return [self.domain.bottom] * len(item.outputs)
        found = handler.method(self, node, *inputs)
        if handler.each:
            return cast("Sequence[T]", found)[: len(item.outputs)]
        return [cast("T", found)] * len(item.outputs)

    _handlers: Mapping[str, Handler] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._handlers = handlers_of(cls, ForwardAnalysis)

    def source(self, node: int) -> T:
        """The element of a graph input or an initialiser; `ask(ShapeOf, (node, 0))` has its shape, and few elements."""
        return self.domain.top

    def within(self, bounds: ElementBounds) -> T:
        """The element of all tensors whose elements lie within these bounds.

        With it the analysis knows what that of shapes knows of elements, and the numbers of trips.
        """
        return self.domain.top

    def assume(self, node: int, inputs: Sequence[T | None], truth: bool) -> Sequence[T | None]:
        """The elements of the inputs of an operator whose output is one truth, where it has this truth.

        The condition of an If or a loop is taken apart at And, Or and Not; this is about one of the parts, as Less.
        Each input has one element. An input may be given back as it is; bottom says that no run gets there.
        """
        return inputs

    def trips(self, head: int) -> TripCount:
        """Bounds of the number of trips of a Loop; by default at most the greatest M."""
        limit = self.nodes[head].operands[0]
        if limit[0] < 0:
            return TripCount()
        most = self.ask(ElementBounds, limit).numbers[1]
        return TripCount(0, max(most, 0))

    def trip_number(self, head: int) -> T:
        """The element of the number of the trip, from 0; by default it is `within` 0 and the number of trips."""
        most = self.ask(TripCount, (head, 0)).numbers[1]
        return self.within(ElementBounds(0, most - 1))

    # Paths that meet

    disagreement: str = ""
    """The code of a finding that facts of two paths differ where they meet, in an If or a loop, or in an operator that
    asks for `together`; no such thing is reported if it is empty. Facts differ if neither is below the other."""

    def together(self, node: int, *inputs: T | None) -> T:
        """The join of the elements of inputs of an operator; a `disagreement` if two of them differ."""
        names = [self.frame.program.names.get(operand, "") for operand in self.nodes[node].operands]
        ways = {name or f"input {at}": one for at, (name, one) in enumerate(zip(names, inputs, strict=False))}
        known = {name: one for name, one in ways.items() if one is not None}
        return self._met(node, 0, list(known.values()), list(known))

    def _met(self, node: int, output: int, facts: Sequence[T], paths: Sequence[str]) -> T:
        """The join of the facts that paths bring to an output of a node."""
        if self.disagreement and self._reports is not None:
            self._compare(node, output, facts, paths)
        return reduce(self.domain.join, facts, self.domain.bottom)

    def _compare(self, node: int, output: int, facts: Sequence[T], paths: Sequence[str]) -> None:
        """Report facts that differ."""
        leq, text = self.domain.leq, getattr(self.domain, "text", str)
        if any(not leq(a, b) and not leq(b, a) for a, b in combinations(facts, 2)):
            ways = {path: text(fact) for path, fact in zip(paths, facts, strict=True)}
            told = ", ".join(f"{path} brings {fact}" for path, fact in ways.items())
            outputs = self.nodes[node].outputs
            of = f" about {outputs[output]!r}" if len(outputs) > 1 and output < len(outputs) else ""
            self.report(node, self.disagreement, f"paths disagree{of}: {told}", paths=ways)

    # The solver

    def transfer(self, node: int, states: Rows[T]) -> tuple[T, ...]:
        frame = self.frame
        if frame.is_alone:
            frame.visit(node, states)
        item = self.nodes[node]
        if item.gate >= 0 and frame.is_closed(item.gate):
            return (self.domain.bottom,) * self._width(node)
        if item.step is not None:
            return tuple(self._step(node, item.step, states))
        if item.operation is None:
            return (self._given[node],) if node in self._given else self._reduced(node, (self.source(node),))
        if item.operation.body is not None:
            return called(frame, self, node, item.operation.body)
        return self._reduced(node, self.operator(node, self._inputs(node, states)))

    def _inputs(self, node: int, states: Rows[T]) -> list[T | None]:
        item = self.nodes[node]
        return [None if o[0] < 0 else self._at(o, item.gate, states) for o in item.operands]

    def _reduced(self, node: int, found: Sequence[T]) -> tuple[T, ...]:
        """The outputs, with what the shape analysis knows of their elements."""
        if not self._reads_bounds:
            return tuple(found)
        meet, bounds = self.domain.meet, self.frame.bounds
        return tuple([meet(element, self.within(bounds((node, at)))) for at, element in enumerate(found)])

    @cached_property
    def _reads_bounds(self) -> bool:
        return type(self).within is not ForwardAnalysis.within

    @cached_property
    def _refines(self) -> bool:
        return type(self).assume is not ForwardAnalysis.assume

    def _width(self, node: int) -> int:
        item = self.nodes[node]
        width = max(1, len(item.outputs), item.step.width if item.step else 0)
        return width + len(self._spoken(node))

    def _step(self, node: int, step: steps.Step, states: Rows[T]) -> Iterator[T]:
        """The elements of the outputs of a branch or loop step."""
        operands = self.nodes[node].operands
        match step:
            case steps.Gate():
                yield from self._entered(node, operands[0], step.taken, states, (self.domain.top,))
            case steps.IfJoin():
                for output, (then, other) in enumerate(zip(*step.branches(operands), strict=True)):
                    ways = self._from(step.then_gate, then, states), self._from(step.else_gate, other, states)
                    yield self._met(node, output, ways, ("then_branch", "else_branch"))
            case steps.LoopHead():
                yield from self._loop_head(node, step, operands, states)
            case steps.LoopExit(head=head):
                yield from self._loop_results(head, step.parts(operands), states)
                yield from self._stacked(head, step.parts(operands).slices, states)
            case steps.ScanHead(settings=settings) if not settings.batched:
                for output, pair in enumerate(zip(operands[: settings.states], step.back, strict=False)):
                    yield self._met(node, output, [self._of(operand, states) for operand in pair], _LOOP)
                yield from self._parts(operands[settings.states :], states)
            case steps.ScanExit(head=head, settings=settings) if not settings.batched:
                yield from (self._of(o, states) for o in step.parts(operands).inside)
                yield from self._stacked(head, step.parts(operands).slices, states)
            case steps.MapHead():
                yield from self._parts(operands, states)
            case steps.MapExit(head=head, count=count):
                yield from self._stacked(head, operands[count:], states)
            case _:  # the form of opset 8 of Scan, whose states are slices too
                yield from [self.domain.top] * max(1, len(self.nodes[node].outputs), step.width)

    # Branches

    def _spoken(self, gate: int) -> Mapping[Operand, int]:
        """The values that the condition of a gate or Loop speaks of, with their places in its row."""
        return self.frame.spoken.get(gate, {}) if self._refines else {}

    def _at(self, operand: Operand, gate: int, states: Rows[T]) -> T:
        """The element of a value as a node below the gate sees it: where the conditions of its branches hold."""
        found = self._of(operand, states)
        while gate >= 0 and self._refines:
            place = self._spoken(gate).get(operand)
            if place is not None and place < len(states[gate]):
                return self.domain.meet(found, states[gate][place])
            gate = self.nodes[gate].gate
        return found

    def _from(self, gate: int, operand: Operand, states: Rows[T]) -> T:
        """The results of a branch; bottom if no run takes it."""
        return self.domain.bottom if self.frame.is_closed(gate) else self._at(operand, gate, states)

    def _may_be(self, condition: Operand, truth: bool) -> bool:
        """The condition may have this truth, by all analyses."""
        known = None if condition[0] < 0 else self.ask(ElementBounds, condition).truth
        return truth if condition[0] < 0 else known is None or known is truth

    def _where(self, condition: Operand, truth: bool, gate: int, states: Rows[T]) -> Mapping[Operand, T] | None:
        """The values that the condition speaks of where it has this truth; None if no run gets there."""
        if not self._may_be(condition, truth):
            return None
        found: dict[Operand, T] = {}
        for part in parts_of(self.nodes, condition, truth) if self._refines else ():
            operands = self.nodes[part.node].operands
            known = [None if o[0] < 0 else found.get(o, self._at(o, gate, states)) for o in operands]
            for operand, before, after in zip(operands, known, self.assume(part.node, known, part.truth), strict=True):
                if before is not None and after is not None:
                    found[operand] = self.domain.meet(found.get(operand, before), after)
                    if self._is_bottom(found[operand]):
                        return None
        return found

    def _entered(
        self, gate: int, condition: Operand, taken: bool, states: Rows[T], outputs: tuple[T, ...]
    ) -> Iterator[T]:
        """The row of a gate or head: its outputs, then the values that its condition speaks of."""
        around = self.nodes[gate].gate
        found = None if self.frame.is_dead(gate) else self._where(condition, taken, around, states)
        if found is None:
            yield from (self.domain.bottom,) * (len(outputs) + len(self._spoken(gate)))
            return
        yield from outputs
        for operand in self._spoken(gate):
            yield found.get(operand, self._at(operand, around, states))

    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        if query is not TripCount:
            yield from super().told(query, node, output, row)
        elif self._frame is not None and isinstance(self.nodes[node].step, steps.LoopHead):
            yield cast("Q", self.trips(node))

    def is_closed(self, row: Row) -> bool:
        return not row or self._is_bottom(row[0])

    # Loops

    def _loop_head(self, node: int, step: steps.LoopHead, operands: Sequence[Operand], states: Rows[T]) -> Iterator[T]:
        limit, condition, *starts = operands
        around = self.nodes[node].gate
        some_trip = limit[0] < 0 or self.ask(ElementBounds, limit).numbers[1] >= 1
        first = self._where(condition, True, around, states) if some_trip else None
        if first is None or self.frame.is_dead(node):
            bottom = self.domain.bottom
            yield from (bottom, bottom, *(self._at(start, around, states) for start in starts))
            yield from (bottom,) * len(self._spoken(node))
            return
        back = step.back[0] if condition[0] >= 0 else (-1, 0)
        again = self._where(back, True, around, states)
        carried = []
        for output, (start, end) in enumerate(zip(starts, step.back[1:], strict=True)):
            begun = first.get(start, self._at(start, around, states))
            given = self.domain.bottom if again is None else again.get(end, self._of(end, states))
            carried.append(self._met(node, output, (begun, given), _LOOP))
        yield from self._entered(node, condition, True, states, (self.trip_number(node), self.domain.top, *carried))

    def _loop_results(self, head: int, parts: steps.LoopParts[Operand], states: Rows[T]) -> Iterator[T]:
        """The carried values after the last trip: those that the loop starts with if there is none, and those that the
        last trip gives back. Without a limit the condition ended the loop.
        """
        condition, around, bottom = parts.condition, self.nodes[head].gate, self.domain.bottom
        by_limit = parts.limit[0] >= 0
        least = self.ask(TripCount, (head, 0)).numbers[0]
        none: Mapping[Operand, T] | None = {} if by_limit else self._where(condition, False, around, states)
        none = None if least >= 1 else none
        is_back = not by_limit and condition[0] >= 0
        last = self._where(parts.goes_on, False, around, states) if is_back else {}
        last = None if self.frame.is_closed(head) else last
        for start, end in zip(parts.starts, parts.backs, strict=True):
            before = bottom if none is None else none.get(start, self._at(start, around, states))
            after = bottom if last is None else last.get(end, self._of(end, states))
            yield self.domain.join(before, after)

    def _parts(self, operands: Sequence[Operand], states: Rows[T]) -> Iterator[T]:
        """Slices of tensors, elements of sequences."""
        return (self._of(operand, states) if self.elementwise else self.domain.top for operand in operands)

    def _stacked(self, head: int, operands: Sequence[Operand], states: Rows[T]) -> Iterator[T]:
        """Outputs that a loop gathers from its iterations. Without an iteration they are empty, not bottom."""
        known = self.elementwise and not self.frame.is_closed(head)
        return (self._of(operand, states) if known else self.domain.top for operand in operands)

    # Folded calls

    _given: Mapping[int, T] = MappingProxyType({})
    """The elements of the inputs of the body of a folded call, by node."""

    def enter(self, frame: Frame | None) -> Frame | None:
        self._given = {}
        if frame is not None and frame.call is not None:
            body, arguments = frame.call
            elements = arguments[frame.number_of(self)]
            self._given = {node: given for node, given in zip(body.inputs, elements, strict=False) if node >= 0}
        return super().enter(frame)

    def arguments(self, node: int, rows: Sequence[Row]) -> Row:
        top = self.domain.top
        known = self._inputs(node, rows)
        return tuple(top if element is None else element for element in known)

    def results(self, body: Body, rows: Sequence[Row]) -> Row:
        return tuple(self._of(operand, rows) for operand in body.outputs)
