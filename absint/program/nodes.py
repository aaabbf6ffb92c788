"""The nodes of a program.

What the shape analysis reads lies in columns, one list for each: most nodes are visited once or twice and never looked
at again, and an object would take longer to make than to visit. A `Node` is made when somebody asks for it; those of
control flow are there from the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from absint.lattices.text.escapes import plain
from absint.lattices.value import Value
from absint.program.operations import Operation
from absint.program.steps import Operand, Step


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
        node = Node(
            self.names[at],
            path,
            self.operands[at],
            self.outputs[at],
            gate,
            self.operations[at],
            None,
            self.values.get(at),
        )
        self._made[at] = node
        return node
