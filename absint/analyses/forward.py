"""Forward analyses of the values of a model: write what operators do; branches and loops are followed here.

The state of a node has an element of the domain for each output. What a body gets from outside, what a loop carries
from one trip to the next, and what it gives back flow as `ForwardAnalysis.transfer` says; a branch or body that no run
enters, by the shape analysis, adds nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from absint.engine import Analysis, Solution
from absint.lattices.lattice import Lattice
from absint.lattices.rows import Rows
from absint.lattices.value import BOTTOM
from absint.program.constructs import Gate, IfJoin, LoopExit, LoopHead, MapExit, MapHead, ScanExit, ScanHead
from absint.program.steps import Operand

if TYPE_CHECKING:
    from absint.program.steps import Step
    from absint.solution.analysed import Analysed

T = TypeVar("T")


class ForwardAnalysis(Analysis[tuple[T, ...]]):
    """An element of `domain` for each value of a model: set `domain`, write `operator`, and perhaps `source`.

    Run it with `fixpoint(result.graph, analysis)`, and read the solution with `by_name`. It is sound if `source` and
    `operator` are: whatever values the elements of the inputs allow, those of the outputs allow what is computed from
    them. `operator` must be monotone: inputs that allow more give outputs that allow no less.

    Only data flow is followed: conditions and trip counts do not flow into the outputs of an If or a loop.
    """

    domain: Lattice[T]
    """The domain of single values."""

    elementwise: bool = False
    """An element of the domain describes every element of a tensor or sequence, so it describes a slice, and a stack of
    slices, as well. Otherwise slices and stacks that loops make are unknown."""

    def __init__(self, result: Analysed) -> None:
        self.result = result
        """The analysis whose model this one follows."""
        self.nodes = result.nodes
        """The nodes: `operator`, `operands` and names of `outputs`; of an operator, `operation.attributes`."""
        self.lattice = Rows(self.domain)

    @abstractmethod
    def operator(self, node: int, inputs: Sequence[T | None]) -> Sequence[T]:
        """An element for each output of an operator. An input is None if it is left out, bottom if not computed yet."""

    def source(self, node: int) -> T:
        """The element of a graph input or an initialiser; its shape and contents are `result.states[node][0]`."""
        return self.domain.top

    def by_name(self, solution: Solution[tuple[T, ...]]) -> dict[str, T]:
        """The element of each value by its name; in a body or an inlined function, path and name (`loop1/body/x`)."""
        return {
            f"{path}/{name}" if path else name: self._of(operand, solution.states)
            for path, scope in self.result.scopes.items()
            for name, operand in scope.names.items()
        }

    def transfer(self, node: int, states: Sequence[tuple[T, ...]]) -> tuple[T, ...]:
        item = self.nodes[node]
        if item.gate >= 0 and self._never(item.gate):
            return (self.domain.bottom,) * max(1, len(item.outputs), item.step.width if item.step else 0)
        if item.step is not None:
            return tuple(self._step(node, item.step, states))
        if item.operation is None:
            return (self.source(node),)
        return tuple(self.operator(node, [None if o[0] < 0 else self._of(o, states) for o in item.operands]))

    def _step(self, node: int, step: Step, states: Sequence[tuple[T, ...]]) -> Iterator[T]:
        """The elements of the outputs of a branch or loop step."""
        operands = self.nodes[node].operands
        match step:
            case Gate():
                yield self.domain.top
            case IfJoin():
                width = (len(operands) - 1) // 2
                yield from self._joined(operands[1 : 1 + width], operands[1 + width :], states)
            case LoopHead():
                yield from (self.domain.top, self.domain.top)  # the number of the trip, and the condition
                yield from self._joined(operands[2:], step.back[1:], states)
            case LoopExit(head=head, count=count):
                yield from self._carried(operands[2 + count : 2 + 2 * count], states)
                yield from self._stacked(head, operands[3 + 3 * count :], states)
            case ScanHead(settings=settings) if not settings.batched:
                yield from self._joined(operands[: settings.states], step.back, states)
                yield from self._parts(operands[settings.states :], states)
            case ScanExit(head=head, settings=settings) if not settings.batched:
                first = settings.states + settings.scans
                yield from self._carried(operands[first : first + settings.states], states)
                yield from self._stacked(head, operands[first + 2 * settings.states :], states)
            case MapHead():
                yield from self._parts(operands, states)
            case MapExit(head=head, count=count):
                yield from self._stacked(head, operands[count:], states)
            case _:  # the form of opset 8 of Scan, whose states are slices too
                yield from [self.domain.top] * max(1, len(self.nodes[node].outputs), step.width)

    def _joined(
        self, some: Sequence[Operand], others: Sequence[Operand], states: Sequence[tuple[T, ...]]
    ) -> Iterator[T]:
        """Joins of two sources: the branches of an If, or the start of a loop and its back edge."""
        for one, other in zip(some, others, strict=False):
            yield self.domain.join(self._of(one, states), self._of(other, states))

    def _carried(self, operands: Sequence[Operand], states: Sequence[tuple[T, ...]]) -> Iterator[T]:
        return (self._of(operand, states) for operand in operands)

    def _parts(self, operands: Sequence[Operand], states: Sequence[tuple[T, ...]]) -> Iterator[T]:
        """Slices of tensors, elements of sequences."""
        return (self._of(operand, states) if self.elementwise else self.domain.top for operand in operands)

    def _stacked(self, head: int, operands: Sequence[Operand], states: Sequence[tuple[T, ...]]) -> Iterator[T]:
        """Outputs that a loop gathers from its iterations. Without an iteration they are empty, not bottom."""
        known = self.elementwise and not self._never(head)
        return (self._of(operand, states) if known else self.domain.top for operand in operands)

    def _never(self, gate: int) -> bool:
        """No run enters the branch or body."""
        return self.result.states[gate][:1] == (BOTTOM,)

    def _of(self, operand: Operand, states: Sequence[tuple[T, ...]]) -> T:
        node, output = operand
        if node < 0:
            return self.domain.top
        return states[node][output] if output < len(states[node]) else self.domain.bottom


__all__ = ["ForwardAnalysis"]
