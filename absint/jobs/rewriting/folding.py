"""Graphs at fixed sizes: constants in place of the nodes that compute them, decided bodies in place of Ifs and Loops.

What nothing needs any more goes: nodes that cannot fail, then initialisers and declarations. A node that may fail on
some data stays, needed or not, and so does a loop whose trips are not told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from absint.model.protos import (
    Captures,
    GraphMessage,
    NodeMessage,
    bodies,
    copied,
    domain_of,
    formals,
    graphs,
    put,
    remove,
)
from absint.model.wire import kinds
from absint.program.steps import LOWERED, Operand

if TYPE_CHECKING:
    from onnx import ModelProto

    from absint.jobs.rewriting.exact import Exact
    from absint.model.weights import Array
    from absint.program.graph import Scope
    from absint.solution.analysed import Analysed


# A decided branch in place of its If: its nodes, initialisers and declarations under names that nothing else has.


class ValueNames:
    """The names of the values of a graph and of all graphs in it."""

    def __init__(self, graph: GraphProto) -> None:
        self._defined = Counter(name for inner in graphs(graph) for name in defined(inner))
        self._taken = set(names_in(graph))

    def fresh(self, name: str, prefix: str) -> str:
        """A name for a value that comes out of a branch: its own if no other graph defines that."""
        if self._defined[name] == 1:
            return name
        options = (f"{prefix}/{name}" if number == 1 else f"{prefix}/{name}_{number}" for number in count(1))
        found = next(option for option in options if option not in self._taken)
        self._taken.add(found)
        self._defined[found] = 1
        return found


def defined(graph: GraphProto) -> Iterator[str]:
    """The names that a graph itself defines."""
    yield from (
        {tensor.name for tensor in graph.initializer}
        | {info.name for info in graph.input}
        | {sparse.values.name for sparse in graph.sparse_initializer}
    )
    for node in graph.node:
        yield from filter(None, node.output)


def names_in(graph: GraphProto) -> Iterator[str]:
    """All names that a graph and those in it define, read or declare, those of nodes included."""
    for inner in graphs(graph):
        yield from defined(inner)
        yield from (info.name for info in (*inner.output, *inner.value_info))
        yield from (name for node in inner.node for name in (node.name, *node.input))


def reads(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, those that its bodies take from outside included."""
    return filter(None, Captures().reads(node))


def renamings(
    branch: GraphProto, nodes: Iterable[NodeProto], outputs: Sequence[str], prefix: str, names: ValueNames
) -> tuple[dict[str, str], list[NodeProto]]:
    """New names for what a branch defines, and the nodes that copy what else the If gives out.

    What a node of the branch computes for one output takes the name of that. An initialiser, a value from outside of
    the branch and the second of two equal outputs are copied.
    """
    computed = {name for node in nodes for name in node.output if name}
    mapping: dict[str, str] = {}
    copies: list[NodeProto] = []
    for info, output in zip(branch.output, outputs, strict=True):
        if output and info.name in computed and info.name not in mapping:
            mapping[info.name] = output
        elif output:
            copies.append(NodeProto(op_type="Identity", input=[info.name], output=[output], name=f"{prefix}/{output}"))
    for name in (*defined(branch), *computed):
        if name not in mapping:
            mapping[name] = names.fresh(name, prefix)
    for node in copies:
        node.input[0] = mapping.get(node.input[0], node.input[0])
    return mapping, copies


def rename(node: NodeProto, mapping: Mapping[str, str]) -> None:
    """Rename what a node reads and computes; in its bodies what they take from outside."""
    for names in (node.input, node.output):
        for place, name in enumerate(names):
            if name in mapping:
                names[place] = mapping[name]
    for body in bodies(node):
        rename_captured(body, mapping)


def rename_captured(body: GraphProto, mapping: Mapping[str, str]) -> None:
    """Rename what a body takes from outside."""
    own = {*defined(body)}
    inner = {old: new for old, new in mapping.items() if old not in own}
    for info in body.output:
        info.name = inner.get(info.name, info.name)
    for node in body.node:
        rename(node, inner)


def _move_parts(branch: GraphProto, graph: GraphProto, mapping: Mapping[str, str]) -> None:
    """Initialisers and declarations of a branch come to the graph around it, renamed."""
    outputs = {info.name for info in branch.output}
    remove(branch.value_info, lambda info: info.name in outputs)
    for named in (*branch.initializer, *(sparse.values for sparse in branch.sparse_initializer), *branch.value_info):
        named.name = mapping.get(named.name, named.name)
    for annotation in branch.quantization_annotation:
        annotation.tensor_name = mapping.get(annotation.tensor_name, annotation.tensor_name)
        for entry in annotation.quant_parameter_tensor_names:
            entry.value = mapping.get(entry.value, entry.value)
    for part in ("initializer", "sparse_initializer", "value_info", "quantization_annotation"):
        getattr(graph, part).extend(getattr(branch, part))


INITIALISERS_ALONE: Final = 4
"""The version of the format from which an initialiser need not be an input too."""


@dataclass
class Item:
    """A node of a rewritten graph."""

    node: NodeProto
    may_go: bool = False
    """Nothing but its outputs is missed where the node is left out."""
    operands: dict[str, Operand] = field(default_factory=dict)
    """The outputs, each as the analysis knows it, if it may be a constant."""


@dataclass
class Passed:
    """What rounds of passes did to a model."""

    found: Analysed | None = None
    """The analysis of the copy, unless the last round changed it."""
    known: Exact | None = None
    """What is known of it, in the same way."""
    is_cut: bool = False
    """The time ended before the last round."""
    folded: int = 0
    """Nodes in place of which there is a constant."""
    inlined: int = 0
    """Ifs and Loops in place of which there is a body."""
    initialisers: list[TensorProto] = field(default_factory=list)
    """Initialisers that nothing needs any more."""
    nodes: list[NodeProto] = field(default_factory=list)
    """Nodes that may fail, and that nothing needs."""


def rewrite(analysed: Analysed, model: ModelProto, exact: Exact, kept: Collection[int], passed: Passed) -> None:
    """Rewrite the graphs of a copy of the analysed model, in place, except the nodes that are `kept`.

    Bodies of functions stay as they are, since each serves many calls; and so does all of a model with graphs for
    training, which may name any value.
    """
    if not model.training_info and any(domain_of(entry.domain) == "" for entry in model.opset_import):
        _Rewriter(analysed, model, exact, kept, passed).run(model.graph)


class _Rewriter:
    """Rewrites the graphs of one model, inner ones first."""

    def __init__(
        self, analysed: Analysed, model: ModelProto, exact: Exact, kept: Collection[int], passed: Passed
    ) -> None:
        self._analysed, self._exact, self._kept, self._passed = analysed, exact, kept, passed
        self._names = ValueNames(model.graph)
        self._bodies = {id(graph): (scope, path) for graph, scope, path in analysed.lowered.bodies}
        self._alone = model.ir_version >= INITIALISERS_ALONE

    def run(self, graph: GraphProto) -> None:
        """Rewrite the main graph, and all in it."""
        items = self._items(graph, self._analysed.loaded.model.graph, self._analysed.lowered.program.main, "")
        self._finished(graph, items)

    def _items(self, graph: GraphProto, lowered: GraphMessage, scope: Scope, path: str) -> list[Item]:
        """The nodes of a graph, each with what is known of it; initialisers of inlined branches come to the graph."""
        found: list[Item] = []
        for place, node in enumerate(graph.node):
            inner = self._inner(node, lowered.node[place]) if bodies(node) else {}
            taken, passed = self._taken(node, scope), self._trips(node, scope)
            if passed is not None and inner.keys() == {"body"} and _is_plain(node, inner["body"][0]):
                found += self._unrolled(graph, node, *inner["body"], passed)
                self._passed.inlined += 1
            elif taken is None or len(inner) < len(LOWERED["If"]):
                for body, items in inner.values():
                    self._finished(body, items)
                found.append(self._item(place, node, scope, path))
            else:
                name = "then_branch" if taken else "else_branch"
                found += self._inlined(graph, node, *inner[name])
                self._passed.inlined += 1
        return found

    def _inner(self, node: NodeProto, read: NodeMessage) -> dict[str, tuple[GraphProto, list[Item]]]:
        """The bodies of a node by the names of their attributes, each with its items."""
        found = {}
        for attribute, known in zip(node.attribute, read.attribute, strict=True):
            if attribute.type == AttributeProto.GRAPH and known.type == kinds.GRAPH and id(known.g) in self._bodies:
                scope, path = self._bodies[id(known.g)]
                found[attribute.name] = attribute.g, self._items(attribute.g, known.g, scope, path)
        return found

    def _taken(self, node: NodeProto, scope: Scope) -> bool | None:
        """The branch that an If takes in every run that reaches it."""
        end = self._end(node, scope) if node.op_type == "If" else None
        return None if end is None else self._exact.taken(end)

    def _trips(self, node: NodeProto, scope: Scope) -> int | None:
        """The trips that a Loop makes in every run that reaches it, if that is one or none."""
        end = self._end(node, scope) if node.op_type == "Loop" else None
        trips = None if end is None else self._exact.trips(end)
        return trips if trips in (0, 1) else None

    def _end(self, node: NodeProto, scope: Scope) -> int | None:
        """The step that gives the outputs of a node with bodies."""
        output = next((scope.names.get(name) for name in node.output if name), None)
        if domain_of(node.domain) or output is None or output[0] < 0 or output[0] in self._kept:
            return None
        return output[0]

    def _unrolled(
        self, graph: GraphProto, node: NodeProto, body: GraphProto, items: list[Item], trips: int
    ) -> Iterator[Item]:
        """What a Loop of one trip or none does: it hands on what it starts with, through its body."""
        prefix = node.name or next(filter(None, node.output))
        given = ["", *[*node.input, ""][1:2], *node.input[2:]]
        if not trips:
            for start, output in zip(given[2:], node.output, strict=False):
                name = f"{prefix}/{output}"
                yield Item(NodeProto(op_type="Identity", input=[start], output=[output], name=name), may_go=True)
            return
        entry = []
        for at, (info, source) in enumerate(zip(formals(body, len(given)), given, strict=True)):
            first = NodeProto(op_type="Identity", input=[source], output=[info.name], name=f"{prefix}/{info.name}")
            if not source:
                kind = TensorProto.BOOL if at else TensorProto.INT64
                first = constant_node(info.name, helper.make_tensor("", kind, [], [at]), first.name)
            entry.append(Item(first, may_go=True))
        del body.input[:]
        once = NodeProto(op_type="Loop", name=node.name, output=["", *node.output])
        yield from self._inlined(graph, once, body, [*entry, *items])

    def _inlined(self, graph: GraphProto, node: NodeProto, branch: GraphProto, items: list[Item]) -> Iterator[Item]:
        """The nodes of a branch as nodes of the graph around it."""
        prefix = node.name or next(filter(None, node.output))
        mapping, copies = renamings(branch, [item.node for item in items], node.output, prefix, self._names)
        _move_parts(branch, graph, mapping)
        for item in items:
            moved = copied(item.node)
            rename(moved, mapping)
            yield Item(moved, item.may_go, {mapping.get(name, name): at for name, at in item.operands.items()})
        for copy in copies:
            yield Item(copy, may_go=True)

    def _item(self, place: int, node: NodeProto, scope: Scope, path: str) -> Item:
        outputs = {name: scope.names.get(name) for name in node.output if name}
        operands = [operand for operand in outputs.values() if operand is not None and operand[0] >= 0]
        if bodies(node) or not operands or len(operands) < len(outputs) or operands[0][0] in self._kept:
            return Item(node)
        draws = node.op_type == "Dropout" and not domain_of(node.domain)
        may_go = not draws and self._exact.is_sure(node, place, scope, path)
        is_constant = may_go and node.op_type != "Constant"
        return Item(node, may_go, {n: at for n, at in outputs.items() if at is not None} if is_constant else {})

    def _finished(self, graph: GraphProto, items: Sequence[Item]) -> None:
        """Write the items that are needed into the graph, and drop what they do not need."""
        outputs = {info.name for info in graph.output}
        needed = set(outputs)
        kept: list[Item] = []
        for item in reversed(items):
            wanted = [name for name in item.node.output if name in needed]
            if item.may_go and not wanted:
                continue
            arrays = {name: self._exact.array(operand) for name, operand in item.operands.items()}
            constants = {name: array for name, array in arrays.items() if array is not None}
            if constants and len(constants) == len(arrays):
                kept += self._constants(graph, item.node, {name: constants[name] for name in wanted}, outputs)
                self._passed.folded += 1
            else:
                kept.append(item)
                needed.update(reads(item.node))
        kept.reverse()
        put(graph.node, (item.node for item in kept))
        self._passed.initialisers += prune(graph, needed)

    def _constants(
        self, graph: GraphProto, node: NodeProto, wanted: Mapping[str, Array], outputs: set[str]
    ) -> Iterator[Item]:
        """Constants for the wanted outputs of a node: initialisers, or nodes where those cannot be."""
        for name, array in wanted.items():
            tensor = numpy_helper.from_array(array, name)
            if self._alone and name not in outputs:
                graph.initializer.append(tensor)
                continue
            yield Item(constant_node(name, tensor, node.name), may_go=True)


def _is_plain(node: NodeProto, body: GraphProto) -> bool:
    """A Loop hands on what it carries and no more. (In the tensor of the iteration number onnxruntime counts on.)"""
    outputs = [info.name for info in body.output]
    is_carried = len(outputs) == len(body.input) - 1 == len(node.output) + 1 == max(len(node.input), 2) - 1
    return is_carried and body.input[0].name not in outputs and {*defined(body)}.isdisjoint(node.input)


def constant_node(output: str, tensor: TensorProto, name: str = "") -> NodeProto:
    """A Constant that gives a tensor, whose name says nothing there."""
    node = NodeProto(op_type="Constant", name=name, output=[output])
    node.attribute.add(name="value", type=AttributeProto.TENSOR).t.CopyFrom(tensor)
    node.attribute[0].t.ClearField("name")
    return node


def unnamed(tensor: TensorProto) -> bytes:
    """Type, dims and data of a tensor."""
    copy = copied(tensor)
    copy.ClearField("name")
    copy.ClearField("doc_string")
    found: bytes = copy.SerializeToString(deterministic=True)
    return found


def add_initialisers(model: ModelProto, graph: GraphProto, tensors: Sequence[TensorProto]) -> None:
    """Add initialisers to a graph of the model; those of an old format are inputs too."""
    graph.initializer.extend(tensors)
    if model.ir_version < INITIALISERS_ALONE:
        graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in tensors)


def prune(graph: GraphProto, needed: set[str]) -> list[TensorProto]:
    """Remove initialisers and declarations of values that are needed no more; these initialisers."""
    kept = needed | {info.name for info in graph.input}
    dropped = [copied(tensor) for tensor in reversed(graph.initializer) if tensor.name not in kept]
    remove(graph.initializer, lambda tensor: tensor.name not in kept)
    remove(graph.sparse_initializer, lambda sparse: sparse.values.name not in kept)
    computed = {*defined(graph)}
    remove(graph.value_info, lambda info: info.name not in computed)
    remove(graph.quantization_annotation, lambda annotation: annotation.tensor_name not in computed)
    return dropped
