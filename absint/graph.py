"""The lowered model: one directed graph of plain nodes for the main graph, all subgraphs and all inlined functions.

Nodes are integers in execution order; an edge says "depends on". What a node does is in `Program.nodes`, since operands
are ordered and may repeat, which edges cannot say. Control flow has been lowered to gate, join, head and exit nodes, so
that the engine needs to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import networkx as nx

from lattices.tensor import Value
from transfer.op import AttributeValue
from transfer.rule import Rule

if TYPE_CHECKING:
    from absint.control import Control
    from absint.shapes import Template

Operand = tuple[int, int]
"""Producing node and index among its outputs."""

ABSENT: Final[Operand] = (-1, 0)
"""An optional input that is left out."""


class Path:
    """Where a node stands: a chain of parent pointers to the main graph; printed as `loop1/body`."""

    __slots__ = ("label", "parent")

    def __init__(self, parent: Path | None = None, label: str = "") -> None:
        self.parent = parent
        self.label = label

    def __str__(self) -> str:
        labels = []
        path: Path | None = self
        while path is not None and path.parent is not None:
            labels.append(path.label)
            path = path.parent
        return "/".join(reversed(labels))


class Scope:
    """Names that are visible in one graph body, outer ones included."""

    __slots__ = ("names", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.names: dict[str, Operand] = {}

    def find(self, name: str) -> Operand | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None


class Kernel:
    """What equal operator instances share: operator, version, rule, decoded attributes, arity; with their memo."""

    __slots__ = ("attributes", "domain", "doubts", "is_standard", "memo", "op_type", "outputs", "rule", "version")

    def __init__(
        self,
        domain: str,
        op_type: str,
        version: int,
        rule: Rule | None,
        attributes: Mapping[str, AttributeValue],
        outputs: int,
        doubts: tuple[str, ...] = (),
        is_standard: bool = False,
    ) -> None:
        self.domain = domain
        self.op_type = op_type
        self.version = version
        self.rule = rule
        self.attributes = attributes
        self.outputs = outputs
        self.doubts = doubts
        """Why runtimes refuse every such node."""
        self.is_standard = is_standard
        """The rule is a shipped one, so the schema of the operator says what its nodes look like."""
        self.memo: dict[object, Template] = {}

    @property
    def operator(self) -> str:
        """Name with its domain, as users write it."""
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type


class Node:
    """One node: an operator (`kernel`), control flow (`control`), or an input or initialiser (`value`)."""

    __slots__ = ("control", "gate", "kernel", "name", "operands", "outputs", "path", "value")

    def __init__(
        self,
        name: str,
        path: Path,
        operands: list[Operand],
        outputs: tuple[str, ...],
        gate: int,
        kernel: Kernel | None = None,
        control: Control | None = None,
        value: Value | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.operands = operands
        self.outputs = outputs
        self.gate = gate
        self.kernel = kernel
        self.control = control
        self.value = value

    @property
    def operator(self) -> str:
        """What the node is, in words of the model."""
        if self.kernel is not None:
            return self.kernel.operator
        return "input" if self.control is None else self.control.operator

    def __str__(self) -> str:
        where = f"{self.path}/" if str(self.path) else ""
        return f"{self.operator} {where}{self.name}".rstrip()


class Program:
    """A lowered model."""

    __slots__ = ("edges", "main", "nodes", "scopes")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.edges: list[tuple[int, int]] = []
        self.main = Scope()
        self.scopes: dict[str, Scope] = {"": self.main}

    def add(self, node: Node) -> int:
        """Append a node with edges from its operands and its gate; its id."""
        number = len(self.nodes)
        self.nodes.append(node)
        edges = self.edges
        for producer, _ in node.operands:
            if producer >= 0:
                edges.append((producer, number))
        if node.gate >= 0:
            edges.append((node.gate, number))
        return number

    def connect_back(self, node: int, operands: list[Operand]) -> None:
        """Add the edges that close a loop."""
        self.edges.extend((producer, node) for producer, _ in operands if producer >= 0)

    def networkx(self) -> nx.DiGraph[int]:
        """The graph, built in bulk."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(self.nodes)))
        graph.add_edges_from(self.edges)
        return graph

    def values(self) -> Iterator[tuple[str, Operand]]:
        """Every named value of the main graph, in order of appearance."""
        return iter(self.main.names.items())
