"""The places of nodes if an accelerator takes all that it can, and the values copied between it and the host.

This follows onnxruntime with its CUDA provider, as its sources say; there is no run to hold it against without such a
device. A node without a kernel runs on the host. Shape, Size and SequenceLength give their output there. A node that
reads host values alone runs on the host too, so that computations of sizes stay there: initialisers of at most 100
elements and inputs of its graph may be among its operands, a 16-bit or 8-bit float, an operand that its kernel reads on
the host anyway, and one that is left out may not. Nobody follows the output of a node without a kernel that read no
such host value. What a node reads on the other side is copied; a copy to the host waits for the device.

Nodes of ai.onnx whose inputs are all constant are folded before. Inputs and outputs of the model may be on either
side, and initialisers are placed once: they count as no copies. The outputs of an If or a loop are on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from absint.analyses.cuda_kernels import host_inputs, host_outputs, missing_kernel
from absint.analyses.liveness import bytes_of, elements_of
from absint.lattices.dtype import DType
from absint.lattices.records import record
from absint.lattices.terms.expr import Expr
from absint.lattices.value import BOTTOM, AnyTensor
from absint.program.nodes import Node
from absint.program.steps import Gate, IfJoin, LoopBody, LoopExit, LoopHead, MapExit, Operand, ScanExit
from absint.solution.analysed import Analysed
from absint.transfer.traits import RANDOM, SHAPE_ALONE

Side = Literal["device", "host", "folded"]

SMALL: Final = 100
"""Most elements of an initialiser that a node on the host reads."""

_NARROW: Final = frozenset(
    {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ}
)


@record()
class Placement:
    """The place where an operator runs, and the reason if it is not the device."""

    node: str
    side: Side
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.node}: {self.side}{f' ({self.reason})' if self.reason else ''}"


@record()
class Copy:
    """A value that is copied to the other side, in a loop at each trip."""

    value: str
    """Its name, in a body with its path."""

    node: str
    """The node that computes it."""

    to: Literal["host", "device"]
    readers: tuple[str, ...]
    """The nodes that read it there."""

    size: Expr | None
    """Bytes; None if unknown."""

    def __str__(self) -> str:
        size = "size unknown" if self.size is None else f"{self.size} bytes"
        return f"{self.value} of {self.node} to the {self.to}, {size}, for {', '.join(self.readers)}"


@record()
class Devices:
    """The operators with their sides, and the copies between them, in execution order."""

    placements: tuple[Placement, ...]
    copies: tuple[Copy, ...]

    @property
    def to_host(self) -> tuple[Copy, ...]:
        """The copies that wait for the device."""
        return tuple(copy for copy in self.copies if copy.to == "host")

    def count(self, side: Side) -> int:
        """The number of operators of a side."""
        return sum(placement.side == side for placement in self.placements)

    def __str__(self) -> str:
        rest = len(self.copies) - len(self.to_host)
        return (
            f"{self.count('device')} nodes on the device, {self.count('host')} on the host, {self.count('folded')} "
            f"folded; {len(self.to_host)} copies to the host, {rest} to the device"
        )


def devices(analysed: Analysed) -> Devices:
    """See `absint.Result.devices`."""
    analysed.require_sound("the placement of nodes")
    return _Placing(analysed).run()


class _Value(NamedTuple):
    on_host: bool
    source: Literal["", "constant", "input"] = ""
    """`constant` is an initialiser or folded, `input` an input of the graph that it is in."""

    leads: bool = False
    """Its readers may follow it to the host."""

    outputs: tuple[int, ...] = ()
    """Of a node on the device that gives some outputs on the host: those, by index."""


class _Placing:
    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._nodes = analysed.nodes
        self._inputs = set(analysed.input_nodes.values())
        self._values: dict[int, _Value] = {}
        self._needed: dict[tuple[Operand, bool], list[str]] = {}
        self._placements: list[Placement] = []

    def run(self) -> Devices:
        for number, node in enumerate(self._nodes):
            if node.value is not None:
                self._values[number] = _Value(False, "input" if number in self._inputs else "constant")
            elif node.step is not None:
                self._values[number] = _Value(False, "input" if isinstance(node.step, LoopBody) else "")
                self._control(node)
            elif node.gate < 0 or self._analysed.states[node.gate][:1] != (BOTTOM,):
                self._place(number, node)
        return Devices(tuple(self._placements), tuple(self._copies()))

    def _place(self, number: int, node: Node) -> None:
        assert node.operation is not None
        domain, operator = node.operation.domain, node.operation.op_type
        operands = [operand for operand in node.operands if operand[0] >= 0]
        is_constant = all(self._at(operand).source == "constant" for operand in operands)
        if not domain and operator not in RANDOM and (is_constant or self._is_fixed_shape(node)):
            self._values[number] = _Value(False, "constant")
            self._placements.append(Placement(str(node), "folded"))
            return
        values = [self._analysed.value_of(operand) for operand in node.operands]
        types = [value.dtype if isinstance(value, AnyTensor) else DType.UNDEFINED for value in values]
        wanted = host_inputs(domain, operator)
        reason = missing_kernel(domain, operator, types)
        if not reason and self._stays_on_host(node, types, wanted):
            reason = "reads host values alone"
        self._placements.append(Placement(str(node), "host" if reason else "device", reason))
        outputs = () if reason else host_outputs(domain, operator)
        leads = bool(outputs) or (bool(reason) and any(self._at(operand).leads for operand in operands))
        self._values[number] = _Value(bool(reason) or leads, leads=leads, outputs=outputs)
        for index, operand in enumerate(node.operands):
            self._read(operand, on_host=bool(reason) or index in wanted, reader=str(node))

    def _is_fixed_shape(self, node: Node) -> bool:
        """A Shape or Size of a tensor whose sizes are numbers, which is folded too."""
        if node.operator not in SHAPE_ALONE or node.operands[0][0] < 0:
            return False
        value = self._analysed.value_of(node.operands[0])
        return isinstance(value, AnyTensor) and value.shape.concrete is not None

    def _stays_on_host(self, node: Node, types: list[DType], wanted: tuple[int, ...]) -> bool:
        """The node reads some host value, and nothing that keeps it on the device."""
        reads_host = False
        for index, operand in enumerate(node.operands):
            if operand[0] < 0 or types[index] in _NARROW:
                return False
            value = self._at(operand)
            if value.source == "input" or (value.source == "constant" and self._is_small(operand)):
                continue
            if not value.leads or index in wanted:
                return False
            reads_host = True
        return reads_host

    def _control(self, node: Node) -> None:
        """The inputs of an If or a loop: its condition and limit on the host, all else on the device."""
        match node.step:
            case Gate():
                self._read(node.operands[0], on_host=True, reader=f"If {node.name}")
            case LoopHead():
                for operand in (*node.operands[:2], node.step.back[0]):
                    self._read(operand, on_host=True, reader=str(node))
                for operand in (*node.operands[2:], *node.step.back[1:]):
                    self._read(operand, on_host=False, reader=str(node))
            case IfJoin() | LoopExit() | ScanExit() | MapExit():
                skipped = 1 if isinstance(node.step, IfJoin) else 2 if isinstance(node.step, LoopExit) else 0
                for operand in node.operands[skipped:]:
                    if operand not in self._condition_of(node):
                        self._read(operand, on_host=False, reader=str(node))
            case _:
                for operand in node.operands:
                    self._read(operand, on_host=False, reader=str(node))

    def _condition_of(self, node: Node) -> tuple[Operand, ...]:
        """The condition that the body of a Loop gives back."""
        if not isinstance(node.step, LoopExit):
            return ()
        head = self._nodes[node.step.head].step
        return (head.back[0],) if isinstance(head, LoopHead) else ()

    def _at(self, operand: Operand) -> _Value:
        found = self._values.get(operand[0], _Value(False))
        step = self._nodes[operand[0]].step
        if isinstance(step, LoopHead) and operand[1] < 2:  # the number of the trip, and the condition
            return _Value(True, "input")
        return _Value(False) if found.outputs and operand[1] not in found.outputs else found

    def _read(self, operand: Operand, *, on_host: bool, reader: str) -> None:
        if operand[0] < 0:
            return
        readers = self._needed.setdefault((operand, on_host), [])
        if reader not in readers:
            readers.append(reader)

    def _copies(self) -> Iterator[Copy]:
        for (operand, on_host), readers in sorted(self._needed.items(), key=lambda item: item[0]):
            value = self._at(operand)
            if operand[0] in self._values and not value.source and value.on_host is not on_host:
                node = self._nodes[operand[0]]
                name = node.outputs[operand[1]] if operand[1] < len(node.outputs) else ""
                path = f"{node.path}/" if str(node.path) else ""
                size = bytes_of(self._analysed.value_of(operand))
                yield Copy(path + name, str(node), "host" if on_host else "device", tuple(readers), size)

    def _is_small(self, operand: Operand) -> bool:
        count = elements_of(self._analysed.value_of(operand))
        return count is not None and count.const is not None and count.const <= SMALL
