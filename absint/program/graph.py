"""The lowered model: one directed graph of plain nodes for the main graph, all subgraphs and all inlined functions.

Nodes are integers in execution order; an edge says "depends on". What a node does is in `Program.nodes`, since operands
are ordered and may repeat, which edges cannot say. Control flow has been lowered to gate, join, head and exit nodes:
the engine needs no notion of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from absint.engine import WeakTopologicalOrder, weak_topological_order
from absint.lattices.logic.relation import Relation
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import reached
from absint.program.nodes import Node, Nodes, Path
from absint.program.steps import LoopBody, Operand, Step
from absint.transfer.semantics import EITHER, Semantics

if TYPE_CHECKING:
    from absint.model.load import Loaded
    from absint.program.digraph import ProgramGraph


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


class Program:
    """A lowered model."""

    def __init__(self, *, premises: bool | Callable[[Relation], bool] = True, semantics: Semantics = EITHER) -> None:
        self.nodes = Nodes()
        self.premises = premises
        """Rules may assume numeric premises (`Op.assume`): all of them, or those of which this is true."""
        self.semantics = semantics
        """The runs that rules are about."""
        self.main = Scope()
        self.scopes: dict[str, Scope] = {"": self.main}
        self.loaded: Loaded | None = None
        """The model that was lowered."""
        self.read_declared: Callable[[], Mapping[Operand, tuple[Shape, ...]]] = dict
        """Reads the shapes that the file declares for values."""
        self._loops: dict[int, LoopBody] = {}
        """By their heads."""

    def alike(self) -> Program:
        """An empty program for rules that are about the same runs."""
        found = Program(premises=self.premises, semantics=self.semantics)
        found.loaded = self.loaded
        return found

    def add(self, node: Node) -> int:
        """Append a node, which depends on its operands and its gate; its id."""
        nodes = self.nodes
        nodes.append(node)
        return len(nodes) - 1

    def enter(self, parent: Path, label: str, scope: Scope, construct: str, attribute: str) -> Path:
        """The path of a body; a second one of the same name gets a number. See `Path` for `construct`."""
        path = Path(parent, label, construct, attribute)
        numbers = count(2)
        while str(path) in self.scopes:
            path = Path(parent, f"{label}@{next(numbers)}", construct, attribute)
        self.scopes[str(path)] = scope
        return path

    def complete(self, node: int, step: Step) -> None:
        """Replace a step by its complete form, once its branch or body has been lowered."""
        self.nodes[node].step = step
        if isinstance(step, LoopBody):
            self._loops[node] = step

    def edges(self) -> Iterator[tuple[int, int]]:
        """From each node to those that depend on it, always to a higher number, except where they close a loop."""
        return ((operand[0], after) for operand, after, _ in self._flows())

    def _flows(self) -> Iterator[tuple[Operand, int, str]]:
        """The edges, each as what it comes from, where it leads, and its role."""
        for number, node in enumerate(self.nodes):
            for operand in node.operands:
                if operand[0] >= 0:
                    yield operand, number, "operand"
            if node.gate >= 0:
                yield (node.gate, -1), number, "gate"
            if node.step is not None:
                for before in node.step.after:
                    yield (before, -1), number, "step"
        for head, loop in self._loops.items():
            for operand in loop.back:
                if operand[0] >= 0:
                    yield operand, head, "back"

    @cached_property
    def graph(self) -> ProgramGraph:
        """The program as a NetworkX graph, made on first use."""
        from absint.program.digraph import ProgramGraph

        names = self.names
        nodes = (
            {"name": item.name, "operator": item.operator, "path": str(item.path), "outputs": list(item.outputs)}
            for item in self.nodes
        )
        edges = ((operand[0], after, role, names.get(operand, "")) for operand, after, role in self._flows())
        return ProgramGraph.of(nodes, edges, self)

    def precedes(self, operand: Operand, node: int) -> bool:
        """Every order of the nodes computes the value before the node: it needs nothing, or the node needs it."""
        places, operands = self.nodes.places, self.nodes.operands
        if all(producer < 0 or not operands[producer] for producer, _ in operands[operand[0]]):
            return True

        def before(node: int) -> list[int]:
            producers = (*(producer for producer, _ in operands[node]), places[node][1])
            return [producer for producer in producers if producer >= operand[0]]

        return operand[0] in reached([node], before)

    @cached_property
    def declared(self) -> Mapping[Operand, tuple[Shape, ...]]:
        """The shapes that the file declares for values other than its inputs: claims, which may be false."""
        return self.read_declared()

    @cached_property
    def names(self) -> Mapping[Operand, str]:
        """Names of values, after the path of their body; a value without a name is never computed."""
        found: dict[Operand, str] = {}
        for path, scope in self.scopes.items():
            for name, operand in scope.names.items():
                found.setdefault(operand, f"{path}/{name}" if path else name)
        return found

    @cached_property
    def order(self) -> WeakTopologicalOrder:
        """The order of forward analyses: that of the nodes, each loop a component from its head to its last node."""
        ends = {head: loop.last + 1 for head, loop in self._loops.items()}
        return WeakTopologicalOrder(range(len(self.nodes)), ends)

    def visiting_order(self, *, reverse: bool = False) -> WeakTopologicalOrder:
        """The order in which the engine visits the nodes. Against that of the nodes, loops need a search."""
        if not reverse:
            return self.order
        count = len(self.nodes)
        if not self._loops:
            return WeakTopologicalOrder(range(count - 1, -1, -1))
        neighbours: list[list[int]] = [[] for _ in range(count)]
        for number in self._in_loops():
            node = self.nodes[number]
            before = [producer for producer, _ in node.operands]
            if node.step is not None:
                before += node.step.after
            if number in self._loops:
                before += [producer for producer, _ in self._loops[number].back]
            neighbours[number] = [producer for producer in (*before, node.gate) if producer >= 0]
        return weak_topological_order(count, neighbours, reverse=True)

    def _in_loops(self) -> Iterator[int]:
        """The nodes of the loops, inner ones included: only their edges lead back."""
        done = -1
        for head, loop in sorted(self._loops.items()):
            if head > done:
                done = loop.last
                yield from range(head, done + 1)

    def values(self) -> Iterator[tuple[str, Operand]]:
        """Every named value of the main graph, in order of appearance."""
        return iter(self.main.names.items())
