"""Backward analyses of the values of a model: what users need of a value flows back through branches, loops, functions.

The state of a node has an element for each output, what all users together need of it; then one for each operand, what
the node needs of it; then, of the head of a loop, one for each value that the body gives back.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from absint.analyses.exchange import called
from absint.analyses.frame import Frame
from absint.analyses.queries import Row, T
from absint.analyses.values import ValueAnalysis
from absint.program import steps
from absint.program.folded import Body
from absint.program.steps import Operand


class _Use(NamedTuple):
    """An element of the row of a user that says what it needs of an output."""

    output: int
    user: int
    place: int


class BackwardAnalysis(ValueAnalysis[T]):
    """An element of `domain` for each value of a model, of what follows: set `domain`, write `operator`, `sink`.

    Bottom says that nothing is needed; the join of what two users need is what both need together. Give it to
    `absint.analyze(model, with_=[...])` and read `Result.found_by`. A forward analysis that is given too may `ask` it,
    and it that one: both directions run in turns until no answer changes.

    It is sound if its methods are: whatever the users of the outputs need, the elements of the inputs say what the node
    needs of them. They must be monotone: who needs more of the outputs needs no less of the inputs.
    """

    direction = "backward"

    @abstractmethod
    def operator(self, node: int, outputs: Sequence[T]) -> Sequence[T]:
        """The needs of an operator of each input, from those of its outputs. For an input left out they are ignored."""

    def sink(self, node: int, output: int) -> T:
        """The need of an output of the model."""
        return self.domain.top

    def control(self, node: int, outputs: Sequence[T]) -> T:
        """The needs of an If or a loop of its conditions and of the limit M, from those of its outputs."""
        return self.domain.top

    # The solver

    _uses: Sequence[Sequence[_Use]] = ()
    _sinks: Mapping[Operand, T | None] = MappingProxyType({})
    _widths: Sequence[int] = ()

    def enter(self, frame: Frame | None) -> Frame | None:
        before = super().enter(frame)
        if frame is not None:
            self._find_uses(frame)
        return before

    def _find_uses(self, frame: Frame) -> None:
        widths = [max(1, len(n.outputs), n.step.width if n.step else 0) for n in frame.nodes]
        for producer, output in (operand for item in frame.nodes for operand in item.operands):
            if producer >= 0:
                widths[producer] = max(widths[producer], output + 1)
        uses: list[list[_Use]] = [[] for _ in frame.nodes]
        for user, item in enumerate(frame.nodes):
            backs = item.step.back if isinstance(item.step, steps.LoopBody) else ()
            for at, (producer, output) in enumerate((*item.operands, *backs)):
                if producer >= 0:
                    uses[producer].append(_Use(output, user, widths[user] + at))
        self._widths, self._uses = widths, uses
        if frame.call is not None:
            body, wanted = frame.call
            sinks: dict[Operand, T | None] = {}
            for operand, need in zip(body.outputs, wanted[frame.number_of(self)], strict=False):
                known = sinks.get(operand)
                sinks[operand] = need if known is None else self.domain.join(known, need)
            self._sinks = sinks
        else:
            self._sinks = dict.fromkeys(frame.outputs)

    def transfer(self, node: int, states: Sequence[tuple[T, ...]]) -> tuple[T, ...]:
        frame = self.frame
        if frame.is_alone:
            frame.visit(node, states)
        item, bottom, width = self.nodes[node], self.domain.bottom, self._widths[node]
        backs = item.step.back if isinstance(item.step, steps.LoopBody) else ()
        if item.gate >= 0 and frame.is_closed(item.gate):
            return (bottom,) * (width + len(item.operands) + len(backs))
        outputs = self._needed(node, states)
        if item.step is not None:
            needs = list(self._step(node, item.step, outputs))
        elif item.operation is None:
            needs = []
        elif item.operation.body is not None:
            needs = list(called(frame, self, node, item.operation.body))
        else:
            needs = list(self.operator(node, outputs[: max(1, len(item.outputs))]))
        count = len(item.operands) + len(backs)
        return (*outputs, *needs[:count], *[self.domain.top] * (count - len(needs)))

    def _needed(self, node: int, states: Sequence[tuple[T, ...]]) -> list[T]:
        join = self.domain.join
        outputs = [self.domain.bottom] * self._widths[node]
        for output, user, place in self._uses[node]:
            row = states[user]
            if place < len(row):
                outputs[output] = join(outputs[output], row[place])
        for output in range(len(outputs)):
            if (node, output) in self._sinks:
                given = self._sinks[node, output]
                outputs[output] = join(outputs[output], self.sink(node, output) if given is None else given)
        return outputs

    def _step(self, node: int, step: steps.Step, outputs: Sequence[T]) -> Iterator[T]:
        """The needs of a step of its operands, then of what its body gives back."""
        operands, bottom = self.nodes[node].operands, self.domain.bottom
        match step:
            case steps.Gate():
                yield bottom  # the join needs the condition
            case steps.IfJoin():
                yield self.control(node, outputs)
                width = len(step.branches(operands)[0])
                for gate in (step.then_gate, step.else_gate):
                    closed = self.frame.is_closed(gate)
                    yield from ([bottom] * width if closed else outputs[:width])
            case steps.LoopHead(count=count):
                yield from (bottom, outputs[1], *outputs[2 : 2 + count])  # the exit needs the limit
                yield from outputs[1 : 2 + count]
            case steps.LoopExit(count=count):
                control = self.control(node, outputs)
                yield from (control, control, *outputs[:count], *[bottom] * count, control, *outputs[:count])
                yield from self._parts(outputs[count:])
            case steps.ScanHead(settings=settings) if not settings.batched:
                yield from outputs[: settings.states]
                yield from self._parts(outputs[settings.states : settings.states + settings.scans])
                yield from outputs[: settings.states]
            case steps.ScanExit(settings=settings) if not settings.batched:
                states = outputs[: settings.states]
                yield from (*states, *[bottom] * settings.scans, *[bottom] * settings.states, *states)
                yield from self._parts(outputs[settings.states :])
            case steps.MapHead():
                yield from self._parts(outputs)
            case steps.MapExit(count=count):
                yield from [bottom] * count
                yield from self._parts(outputs)
            case _:  # the form of opset 8 of Scan, whose states are slices too
                backs = len(step.back) if isinstance(step, steps.LoopBody) else 0
                yield from [self.domain.top] * (len(operands) + backs)

    def _parts(self, needs: Sequence[T]) -> Iterator[T]:
        """The need of the slices of tensors, or of the whole from its slices; bottom where nobody needs any."""
        for need in needs:
            yield need if self.elementwise or self._is_bottom(need) else self.domain.top

    def is_closed(self, row: Row) -> bool:
        return False

    # Folded calls

    def arguments(self, node: int, rows: Sequence[Row]) -> Row:
        needed = self._needed(node, rows)
        return tuple(needed[: max(1, len(self.nodes[node].outputs))])

    def results(self, body: Body, rows: Sequence[Row]) -> Row:
        return tuple(rows[node][0] if node >= 0 else self.domain.bottom for node in body.inputs)
