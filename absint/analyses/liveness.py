"""Liveness: when each value dies, if nodes run in the order of the file. A backward analysis on the engine.

The schedule has a step for each node, in execution order, and one before them at which the inputs are available. A
value is live from the step that computes it to the last step that reads it; one that nothing reads dies at once, and
graph outputs live to the end. All inputs and outputs of a node are live while it runs: nothing is computed in place.

An If or Loop is one node of the body around it: its operands, and what its bodies read from outside, live until it
ends. Its bodies have steps of their own, at which everything live around them is live too. One of the branches runs.
The body of a loop runs once per trip: the iteration number, the condition, carried values and slices are values of the
trip. What a body gives back lives to the end of the body; then it becomes, without a copy, an output of the If or Loop.
Scan outputs have their full size while the loop runs.

Initialisers and the outputs of Constant nodes are parameters: they exist before the run and after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

from absint.engine import Analysis, fixpoint
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.piecewise import product_settled
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, YES, Relation, ge, negation
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr, Symbol, mul
from absint.lattices.terms.normal import ceildiv, substitute
from absint.lattices.value import BOTTOM, AnyTensor, OptionalOf, SequenceOf, Value
from absint.program.nodes import Node
from absint.program.steps import Gate, LoopBody, LoopExit, MapExit, Operand, ScanExit
from absint.shapes.branches import condition_of
from absint.shapes.loops.body import BodySymbols
from absint.shapes.rounds import required_facts
from absint.solution.analysed import Analysed
from absint.transfer.traits import RESHAPING

# Sizes of values in elements and bytes, as expressions; None where unknown or not fixed


def elements_of(value: Value) -> Expr | None:
    """The number of elements of a tensor; of a sparse one, all that it stands for."""
    if not isinstance(value, AnyTensor) or value.shape.rank is None:
        return None
    return _known(value.shape.size)


def bytes_of(value: Value) -> Expr | None:
    """The bytes of a tensor, of a sequence of tensors of known sizes, or of an optional that is known to be present.

    Elements of less than a byte are packed. Strings and maps have no fixed size; a sparse tensor counts as a dense one.
    """
    if isinstance(value, OptionalOf):
        return ZERO_EXPR if value.present is False else bytes_of(value.element) if value.present else None
    if isinstance(value, SequenceOf):
        return _of_sequence(value)
    count = elements_of(value)
    bits = value.dtype.bits if isinstance(value, AnyTensor) else 0
    if count is None or not bits:
        return None
    return _known(ceildiv(count * bits, 8) if bits % 8 else count * (bits // 8))


def _of_sequence(value: SequenceOf) -> Expr | None:
    if value.items is None:
        each = bytes_of(value.element)
        return ZERO_EXPR if value.length is ZERO_EXPR else None if each is None else _known(mul(value.length, each))
    total: Dim = ZERO_EXPR
    for item in value.items:
        size = bytes_of(item)
        if size is None:
            return None
        total = total + size
    return _known(total)


def _known(size: Dim) -> Expr | None:
    settled = product_settled(size)
    return settled if isinstance(settled, Expr) else None


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
        self.numbers: set[Symbol] = set()
        """The iteration numbers of all loops."""
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

    @property
    def terms(self) -> Iterator[Dim | Relation | None]:
        """The numbers of trips and the conditions of all bodies."""
        for region in self.by_gate.values():
            yield from (region.trips, region.condition)

    def _add(self, region: Region) -> None:
        self.by_gate[region.gate] = region
        if region.number is not None:
            self.numbers.add(region.number)
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
    taught = {item.relation: None for item in required_facts(analysed.base.analysis, analysed.lowered)}
    found = Facts((*known.relations, *taught), analysed.symbols)
    return known if found.contradiction else found


# Liveness


Moments = tuple[int, ...]
"""For each output of a node the last step at which it is needed."""

InputPolicy = Literal["freed", "kept", "apart"]
ViewPolicy = Literal["copied", "shared"]

START: Final = -1
"""The step before the first node."""

_NEVER: Final = -2

VIEWS: Final = RESHAPING | {"Identity"}
"""Operators of ai.onnx whose output has the elements of their first input, in the same order."""


class MomentLattice:
    """Moments of up to `width` outputs, pointwise; one that is missing is before all others."""

    bottom: Moments = ()

    def __init__(self, width: int, end: int) -> None:
        self.top: Moments = (end,) * width

    def leq(self, a: Moments, b: Moments) -> bool:
        return len(a) <= len(b) and all(x <= y for x, y in zip(a, b, strict=False))

    def join(self, a: Moments, b: Moments) -> Moments:
        return tuple(max(x, y) for x, y in zip_longest(a, b, fillvalue=_NEVER))

    def meet(self, a: Moments, b: Moments) -> Moments:
        return tuple(map(min, a, b))

    def widen(self, old: Moments, new: Moments) -> Moments:
        return self.join(old, new)  # there are finitely many steps


class Reader(NamedTuple):
    """A node that reads an output, the step until which it needs the output, and whether it renames the output."""

    output: int
    node: int
    until: int
    renames: bool


class LastUses(Analysis[Moments]):
    """For each output of each node the last step at which it, or a view of it that shares its memory, is read."""

    direction = "backward"

    def __init__(self, analysed: Analysed, regions: Regions, *, views: ViewPolicy = "copied") -> None:
        self._nodes = analysed.nodes
        self._regions = regions
        self._end = len(self._nodes)
        self.shared = self._shared() if views == "shared" else set()
        """The nodes whose output is a view of their first operand."""
        self._readers: list[list[Reader]] = [[] for _ in self._nodes]
        for (producer, index), reader in self._reads():
            if producer >= 0:
                renames = reader in self.shared and self._nodes[reader].operands[0] == (producer, index)
                until = self._until(regions.home(producer), reader)
                self._readers[producer].append(Reader(index, reader, until, renames))
        names = analysed.operands
        self._outputs = {names[name] for name in analysed.outputs if name in names}
        self._widths = [max(1, len(node.outputs), node.step.width if node.step else 0) for node in self._nodes]
        for operand in (o for node in self._nodes for o in node.operands if o[0] >= 0):
            self._widths[operand[0]] = max(self._widths[operand[0]], operand[1] + 1)
        self.lattice = MomentLattice(max(self._widths, default=1), self._end)

    def transfer(self, node: int, states: Sequence[Moments]) -> Moments:
        first = node if self._nodes[node].value is None else START
        latest = [self._end if (node, k) in self._outputs else first for k in range(self._widths[node])]
        for output, reader, until, renames in self._readers[node]:
            latest[output] = max(latest[output], until, *(states[reader][:1] if renames else ()))
        return tuple(latest)

    def _shared(self) -> set[int]:
        """Views of what the same body computes."""
        found = set()
        for number, node in enumerate(self._nodes):
            operation = node.operation
            if operation is not None and not operation.domain and operation.op_type in VIEWS and node.operands:
                viewed = node.operands[0][0]
                if viewed >= 0 and self._regions.home(viewed) is self._regions.of(number):
                    found.add(number)
        return found

    def _reads(self) -> Iterator[tuple[Operand, int]]:
        """Operands with the nodes that read them. What a body gives back is read by the join, exit or head."""
        for number, node in enumerate(self._nodes):
            operands = list(node.operands)
            if isinstance(node.step, EXITS):
                for claim in _claims(node.step):
                    operands.remove(claim)
            for operand in operands:
                yield operand, number
            if isinstance(node.step, LoopBody):
                for operand in node.step.back:
                    yield operand, number

    def _until(self, home: Region, reader: int) -> int:
        """The last step at which a reader needs a value of the region: the end of the body that gives it back, or of
        the If or loop that reads it from inside.
        """
        region: Region | None = self._regions.of(reader)
        if region is home:
            return reader
        while region is not None and region.parent is not home:
            region = region.parent
        return home.last if region is None else region.close


def _claims(step: LoopExit | ScanExit | MapExit) -> list[Operand]:
    """Operands of an exit that say what the head claims of carried values after the last trip: no run reads them."""
    first = 2 if isinstance(step, LoopExit) else 0
    return [(step.head, first + k) for k in range(carried(step))]


@dataclass(frozen=True)
class Lifetime:
    """A value of a run: what computes it, its size (None if it is not known, or not fixed), its first and last step."""

    name: str
    node: int
    output: int
    size: Expr | None
    first: int
    last: int


def lifetimes(analysed: Analysed, regions: Regions, inputs: InputPolicy, views: ViewPolicy) -> list[Lifetime]:
    """Every value that takes memory, in execution order. Values that no run computes, parameters, and views that share
    memory take none."""
    analysis = LastUses(analysed, regions, views=views)
    moments = fixpoint(analysed.program, analysis).states
    fed = set(analysed.input_nodes.values())
    names = analysed.program.names
    end = len(analysed.nodes)
    found = []
    for number, node in enumerate(analysed.nodes):
        is_input = number in fed
        if number in analysis.shared or is_parameter(node, is_input) or not regions.runs(number):
            continue
        if is_input and inputs == "apart":
            continue
        for index, value in enumerate(analysed.states[number]):
            name = names.get((number, index))
            if name is None or value is BOTTOM:
                continue
            last = end if is_input and inputs == "kept" else moments[number][index]
            found.append(Lifetime(name, number, index, bytes_of(value), _first(analysed.nodes, number, index), last))
    return found


def is_parameter(node: Node, is_input: bool) -> bool:
    """The node stands for an initialiser, or is a Constant."""
    if node.operation is None:
        return node.value is not None and not is_input
    return node.operation.op_type == "Constant" and not node.operation.domain


def _first(nodes: Sequence[Node], number: int, index: int) -> int:
    """The step that allocates an output."""
    node = nodes[number]
    if node.value is not None:
        return START
    step = node.step
    return step.head if isinstance(step, EXITS) and index >= carried(step) else number
