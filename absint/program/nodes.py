"""The nodes of a program, and their operations: what equal operator instances share.

What the shape analysis reads lies in columns, one list for each: most nodes are visited once or twice and never looked
at again, and an object would take longer to make than to visit. A `Node` is made when somebody asks for it; those of
control flow are there from the start.

Equal operations are one object. One of a shipped rule depends on the operator, its version, its attributes and its
arity alone: it serves all models that a process reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, overload

from absint.lattices.dtype import DType
from absint.lattices.records import record
from absint.lattices.text.escapes import plain
from absint.lattices.value import Value
from absint.model.schemas import Form
from absint.model.signatures import Signature
from absint.program.steps import LoopBody, Operand, Step
from absint.transfer.rule import Rule
from absint.transfer.stating import AttributeValue


class Path:
    """The body that a node belongs to: a chain of parent pointers to the main graph; printed as `loop1/body`.

    `site` says which body it is, by names that are unique in the file: for each construct on the way its first output
    and the attribute of the body, `()` for a call.
    """

    __slots__ = ("_text", "label", "parent", "site")

    def __init__(self, parent: Path | None = None, label: str = "", construct: str = "", attribute: str = "") -> None:
        self.parent = parent
        self.label = label
        self.site: tuple[str, ...] = () if parent is None else (*parent.site, construct, attribute)
        outer = "" if parent is None else str(parent)
        self._text: str = f"{outer}/{label}" if outer else label

    def __str__(self) -> str:
        return self._text


class Node:
    """One node: an operator (`operation`), control flow (`step`), or an input or initialiser (`value`).

    Operators and values are changed by `Nodes.replace_operation` and `Nodes.replace_value`.
    """

    __slots__ = ("gate", "name", "operands", "operation", "outputs", "path", "step", "value")

    def __init__(
        self,
        name: str,
        path: Path,
        operands: list[Operand],
        outputs: tuple[str, ...],
        gate: int,
        operation: Operation | None = None,
        step: Step | None = None,
        value: Value | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.operands = operands
        self.outputs = outputs
        self.gate = gate
        self.operation = operation
        self.step = step
        self.value = value

    @property
    def operator(self) -> str:
        """The operator, in words of the model; `input` for a source."""
        if self.operation is not None:
            return self.operation.operator
        return "input" if self.step is None else self.step.operator

    def __str__(self) -> str:
        where = f"{self.path}/" if str(self.path) else ""
        return plain(f"{self.operator} {where}{self.name}".rstrip())


Place = tuple[Path, int]
"""The body of a node and its gate (-1: none)."""


class Nodes(Sequence[Node]):
    """Nodes by number, in columns."""

    __slots__ = ("_made", "has_steps", "names", "operands", "operations", "outputs", "places", "values")

    def __init__(self) -> None:
        self.operations: list[Operation | None] = []
        """None for control flow, inputs and initialisers."""
        self.operands: list[list[Operand]] = []
        self.names: list[str] = []
        self.outputs: list[tuple[str, ...]] = []
        self.places: list[Place] = []
        self.values: dict[int, Value] = {}
        """Those of inputs and initialisers."""
        self.has_steps = False
        """There is control flow."""
        self._made: dict[int, Node] = {}

    def append(self, node: Node) -> None:
        """Add a node that has been made."""
        number = len(self.operations)
        self._made[number] = node
        if node.value is not None:
            self.values[number] = node.value
        self.has_steps |= node.step is not None
        self.operations.append(node.operation)
        self.operands.append(node.operands)
        self.names.append(node.name)
        self.outputs.append(node.outputs)
        self.places.append((node.path, node.gate))

    def replace_operation(self, number: int, operation: Operation) -> None:
        """Let a node be another operator."""
        self[number].operation = self.operations[number] = operation

    def add_source(self, name: str, path: Path, gate: int, value: Value) -> int:
        """Add an input or an initialiser; its number."""
        number = len(self.operations)
        self.values[number] = value
        self.operations.append(None)
        self.operands.append([])
        self.names.append(name)
        self.outputs.append((name,))
        self.places.append((path, gate))
        return number

    def around(self, gate: int) -> Iterator[int]:
        """A gate and those around it, the innermost first."""
        while gate >= 0:
            yield gate
            gate = self.places[gate][1]

    def loops(self, gate: int) -> list[LoopBody]:
        """The loops around nodes below a gate, the innermost first."""
        return [step for around in self.around(gate) if isinstance(step := self[around].step, LoopBody)]

    def replace_value(self, number: int, value: Value) -> None:
        """Let an input or initialiser stand for another value."""
        self.values[number] = value
        if number in self._made:
            self._made[number].value = value

    def __len__(self) -> int:
        return len(self.operations)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> list[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | list[Node]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self.operations)))]
        found = self._made.get(at)
        return self._make(at) if found is None else found

    def __iter__(self) -> Iterator[Node]:
        made = self._made
        for number in range(len(self.operations)):
            yield made[number] if number in made else self._make(number)

    def _make(self, at: int) -> Node:
        if at < 0:
            return self[range(len(self.operations))[at]]
        path, gate = self.places[at]
        kind = self.operations[at], None, self.values.get(at)
        node = Node(self.names[at], path, self.operands[at], self.outputs[at], gate, *kind)
        self._made[at] = node
        return node


MAX_OPERATIONS: Final = 1 << 12
"""Most operations kept; then all are forgotten."""


class Callee:
    """The function that a folded call calls."""

    def __init__(self, name: str, nodes: int) -> None:
        """`nodes` are those that a call stands for."""
        self.name = name
        self.nodes = nodes


@record(eq=False, frozen=False)
class Operation:
    """The common part of equal operator instances: operator, version, rule, decoded attributes, arity."""

    domain: str
    op_type: str
    version: int
    rule: Rule | None
    attributes: Mapping[str, AttributeValue]
    outputs: int
    possible_failures: tuple[str, ...] = ()
    """The reason why a run may fail, as far as the attributes decide it."""
    malformed: tuple[str, ...] = ()
    """The reason why no runtime loads such a node."""
    is_standard: bool = False
    """The rule is a shipped one."""
    form: Form | None = None
    """The form that the schema of the operator demands of its nodes."""
    types: Signature | None = None
    """The types that the operator takes and gives; None for a rule of the user."""
    body: Callee | None = None
    """The function that a folded call calls; it has no rule."""
    other: Operation | None = None
    """The same node of another version: of two that a function and its model import, the one that is not here."""
    absent: frozenset[int] = frozenset()
    """The outputs that the node leaves out, by index."""

    def __post_init__(self) -> None:
        self.taken: set[tuple[DType | None, ...]] = set()
        """Types of inputs, all tensors, that it was found to take."""
        self.is_interned = False
        """It is kept for later models."""

    def fits(self, inputs: Sequence[object]) -> bool:
        """Its schema finds no fault in a node with these inputs (None: left out)."""
        return self.form is None or (not self.malformed and self.form.fits(inputs, self.outputs))

    @property
    def has_rule(self) -> bool:
        """Something is known of the operator."""
        return self.rule is not None and not self.rule.is_missing

    @property
    def is_complete(self) -> bool:
        """Its rule promises to state all that a run needs."""
        return self.rule is not None and self.rule.complete and (self.other is None or self.other.is_complete)

    @property
    def operator(self) -> str:
        """Name with its domain, as users write it."""
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type


Versions = tuple[tuple[str, int], ...]
"""The versions of the domains that a graph imports; for a function with two readings, those of either one."""

NO_OTHERS: Final[Mapping[str, int]] = MappingProxyType({})
"""There is one reading."""


def versions_of(imports: Mapping[str, int], others: Mapping[str, int] = NO_OTHERS) -> Versions:
    """The versions of a graph in order, then those of its other reading."""
    return (*sorted(imports.items()), *sorted(others.items()))


_NONE: Final[Mapping[object, Operation]] = {}


class Operations:
    """Interned operations by key."""

    def __init__(self) -> None:
        self._operations: dict[object, Operation] = {}
        self._under: dict[Versions, dict[object, Operation]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._operations)

    def find(self, key: object) -> Operation | None:
        """The operation of this key, if there is one."""
        return self._operations.get(key)

    def under(self, versions: Versions) -> Mapping[object, Operation]:
        """The operations that were added under these versions, by their keys there."""
        return self._under.get(versions, _NONE)

    def add(self, versions: Versions, key: object, operation: Operation) -> None:
        """Keep an interned operation under versions, for models that import the same."""
        self._count += 1
        if self._count > MAX_OPERATIONS:
            self._under, self._count = {}, 1
        self._under.setdefault(versions, {})[key] = operation

    def intern(self, key: object, operation: Operation) -> None:
        """Keep an operation for later models."""
        if len(self._operations) >= MAX_OPERATIONS:
            self.purge()
        operation.is_interned = True
        self._operations[key] = operation

    def purge(self) -> None:
        """Forget all; programs keep theirs."""
        self._operations = {}
        self._under, self._count = {}, 0


INTERNED: Final = Operations()
