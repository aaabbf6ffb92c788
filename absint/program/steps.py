"""Steps: the nodes that If, Loop, Scan and SequenceMap become, as data. Each analysis gives them their meaning; that of
shapes is in `absint.shapes.branches` and `absint.shapes.loops`.

An If becomes two gates and a join; a loop becomes a head, which its body leads back to, and an exit:

    condition ─> Gate ─> then_branch ─┐                   starts ─> head ─> body ─> exit ─> outputs
              ─> Gate ─> else_branch ─┴> join ─> outputs             ^───────┘ back
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, Final, Generic, TypeVar, cast

from absint.lattices.dtype import DType
from absint.lattices.records import NamedTuple, record
from absint.lattices.value import Value
from absint.model.signatures import Signature
from absint.transfer.stating import AttributeValue

T = TypeVar("T")

Operand = tuple[int, int]
"""Producing node and index among its outputs."""

ABSENT: Final[Operand] = (-1, 0)
"""An optional input that is left out."""

MAX_FIRST: Final = 1 << 16

FIRST: Final[list[Operand]] = []
"""The first outputs of the nodes 0, 1, ..., made once for all programs: young tuples cost the collector time."""


def first_output(node: int) -> Operand:
    """The first output of a node."""
    if node >= MAX_FIRST:
        return (node, 0)
    if node >= len(FIRST):
        start, end = len(FIRST), min(max(256, 2 * node), MAX_FIRST)
        FIRST[start:end] = [(number, 0) for number in range(start, end)]  # the same, if two threads do it
    return FIRST[node]


def first_outputs(count: int) -> frozenset[Operand]:
    """The first outputs of so many nodes."""
    return frozenset(map(first_output, range(count))) if count > len(FIRST) else frozenset(FIRST[:count])


LOWERED: Final[Mapping[str, tuple[str, ...]]] = {
    "If": ("then_branch", "else_branch"),
    "Loop": ("body",),
    "Scan": ("body",),
    "SequenceMap": ("body",),
}
"""Operators of ai.onnx that are lowered to steps, with the graph attributes they need."""


@record(eq=False, kw_only=True)
class Step:
    """A node that control flow was lowered to."""

    operator: ClassVar[str] = ""
    types: Signature | None = None
    """The types of the operator, at the node that ends it."""

    @property
    def width(self) -> int:
        """The number of values of a step inside a construct; the step that ends it has the outputs."""
        return 1

    @property
    def after(self) -> tuple[int, ...]:
        """Nodes that it depends on besides its operands."""
        return ()


@record(eq=False, kw_only=True)
class LoopBody(Step):
    """The head of a loop: the values at the start of iteration i, for every i up to and including the last."""

    first: int = -1
    """The head itself."""
    last: int = -1
    """The last node of the body, those of inner bodies included."""
    back: tuple[Operand, ...] = ()
    """The results of the body that return to the head."""

    def holds(self, node: int | None) -> bool:
        """It is the head or a node of the body: its outputs may differ from one iteration to the next."""
        return node is not None and self.first <= node <= self.last


@record(eq=False)
class Exit(Step):
    """The outputs of a loop, from the results of its body."""

    head: int

    @property
    def after(self) -> tuple[int, ...]:
        return (self.head,)


# If


@record(eq=False)
class Gate(Step):
    """The entry of a branch: it is reached where the condition is `taken`."""

    operator = "If"
    taken: bool
    join: int = -1
    """The node that joins the branches."""


@record(eq=False)
class IfJoin(Step):
    """The outputs of an If from those of its branches."""

    operator = "If"
    then_gate: int
    else_gate: int
    declared: tuple[Value, ...] = ()
    """The types that the branches declare of their outputs, one branch after the other."""

    @property
    def after(self) -> tuple[int, ...]:
        return self.then_gate, self.else_gate

    @staticmethod
    def branches(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
        """Of the operands of a join, or of one item for each: those of the two branches. The condition is the first."""
        width = (len(items) - 1) // 2
        return items[1 : 1 + width], items[1 + width :]


# Loops


class LoopParts(NamedTuple, Generic[T]):
    """The operands of the exit of a Loop by their roles, or one item for each."""

    limit: T
    condition: T
    """The one that the loop begins with."""
    starts: Sequence[T]
    inside: Sequence[T]
    """The carried values in a trip, which the head gives."""
    goes_on: T
    """The condition that the body gives."""
    backs: Sequence[T]
    """The carried values that the body gives back."""
    slices: Sequence[T]
    """The body's values of the scan outputs."""


@record(eq=False)
class LoopExit(Exit):
    """The outputs of a Loop: final carried values, then scan outputs."""

    operator = "Loop"
    count: int
    """The number of carried values."""
    ranks: tuple[int | None, ...]
    """The declared ranks of the scan outputs of the body, None where undeclared."""
    declared: tuple[Value, ...]
    """The declared types of the scan outputs of the body."""

    def parts(self, items: Sequence[T]) -> LoopParts[T]:
        """The operands, or one item for each, by their roles."""
        (limit, condition), carried, end = items[:2], items[2:], 2 * self.count
        starts, inside, back = carried[: self.count], carried[self.count : end], carried[end:]
        return LoopParts(limit, condition, starts, inside, back[0], back[1 : 1 + self.count], back[1 + self.count :])


@record(eq=False)
class LoopHead(LoopBody):
    """The head of a Loop: the iteration number, the condition, and the carried values."""

    operator = "Loop"
    count: int
    """The number of carried values."""
    ranks: tuple[int | None, ...]
    """The declared ranks of the inputs of the body, None where undeclared."""
    declared: tuple[Value, ...] = ()
    """Their declared types."""
    condition: DType = DType.BOOL
    """The element type of the condition in the body. Without a condition operand, type inference takes the declared
    type, and a runtime passes a BOOL.
    """

    @property
    def width(self) -> int:
        return self.count + 2


@record()
class ScanSettings:
    """The attributes of a Scan. `batched` is the form of opset 8, in which every input has a leading batch axis."""

    states: int
    scans: int
    input_axes: tuple[int, ...]
    output_axes: tuple[int, ...]
    batched: bool
    forwards: bool = True
    """No input is read, and no output written, from the end on."""

    @staticmethod
    def read(attributes: Mapping[str, AttributeValue], operands: int, results: int, batched: bool) -> ScanSettings:
        """From the attributes of a Scan with these numbers of operands and outputs. Raises ScanError if they do not
        fit.
        """
        scans = attributes.get("num_scan_inputs")
        if not isinstance(scans, int) or not 0 < scans <= operands:
            raise ScanError(f"num_scan_inputs is {scans}, of {operands} inputs")
        states = operands - scans
        if results < states:
            raise ScanError(f"it has {states} state variables and {results} outputs")
        lists = {
            name: _one_each(attributes, name, what, count)
            for what, count, names in (("inputs", scans, _OF_INPUTS), ("outputs", results - states, _OF_OUTPUTS))
            for name in names
        }
        for name, ways in lists.items():
            if name.endswith("directions") and not {*ways} <= {0, 1}:
                raise ScanError(f"{name} is {list(ways)}; a direction is 0 or 1")
        forwards = not any(any(ways) for name, ways in lists.items() if name.endswith("directions"))
        return ScanSettings(states, scans, lists["scan_input_axes"], lists["scan_output_axes"], batched, forwards)


class ScanError(Exception):
    """The attributes of a Scan contradict each other or the number of its operands."""


_OF_INPUTS: Final = ("scan_input_axes", "scan_input_directions", "directions")
_OF_OUTPUTS: Final = ("scan_output_axes", "scan_output_directions")


def _one_each(attributes: Mapping[str, AttributeValue], name: str, what: str, count: int) -> tuple[int, ...]:
    """An attribute with one integer for each scan input or output; zeros if it is left out or empty."""
    found = attributes.get(name) or [0] * count
    if not isinstance(found, list) or not all(isinstance(n, int) for n in found):
        raise ScanError(f"{name} must be a list of integers")
    if len(found) != count:
        raise ScanError(f"{name} needs one element for each of the {count} scan {what}, found {len(found)}")
    return tuple(cast("list[int]", found))


@record(eq=False)
class ScanHead(LoopBody):
    """The head of a Scan: state variables and one slice of each scan input."""

    operator = "Scan"
    settings: ScanSettings

    @property
    def width(self) -> int:
        return self.settings.states + self.settings.scans


class ScanParts(NamedTuple, Generic[T]):
    """The operands of the exit of a Scan by their roles, or one item for each."""

    starts: Sequence[T]
    scanned: Sequence[T]
    """The inputs that the trips go along."""
    inside: Sequence[T]
    """The states in a trip, which the head gives."""
    backs: Sequence[T]
    """The states that the body gives back."""
    slices: Sequence[T]
    """The body's values of the scan outputs."""


@record(eq=False)
class ScanExit(Exit):
    """The outputs of a Scan: final states, then stacked outputs."""

    operator = "Scan"
    settings: ScanSettings
    declared: tuple[Value, ...] = ()
    """The types that the body declares of its inputs and outputs."""

    @property
    def of_results(self) -> tuple[Value, ...]:
        """The types that the body declares of its outputs."""
        return self.declared[self.settings.states + self.settings.scans :]

    def parts(self, items: Sequence[T]) -> ScanParts[T]:
        """The operands, or one item for each, by their roles."""
        states, first = self.settings.states, self.settings.states + self.settings.scans
        ends = [0, states, first, first + states, first + 2 * states, len(items)]
        return ScanParts(*(items[start:end] for start, end in pairwise(ends)))


@record(eq=False)
class MapHead(LoopBody):
    """The head of a SequenceMap: one element of each sequence, and tensors as they are."""

    operator = "SequenceMap"
    count: int
    """The number of operands."""

    @property
    def width(self) -> int:
        return self.count


@record(eq=False)
class MapExit(Exit):
    """The outputs of a SequenceMap: a sequence for each result of the body."""

    operator = "SequenceMap"
    count: int
    """The number of operands."""
    declared: tuple[Value, ...]
    """The types that the body declares of its results."""
