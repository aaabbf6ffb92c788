"""A decided branch in place of its If: its nodes, initialisers and declarations under names that nothing else has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from onnx import GraphProto, NodeProto, TensorAnnotation, TensorProto, ValueInfoProto

from absint.model.protos import Captures
from absint.model.walk import bodies, graphs

if TYPE_CHECKING:
    from onnx import SparseTensorProto


class Names:
    """The names of the values of a graph and of all graphs in it."""

    def __init__(self, graph: GraphProto) -> None:
        self._defined = Counter(name for inner in graphs(graph) for name in defined(inner))
        self._taken = set(self._defined)
        for inner in graphs(graph):
            self._taken.update(name for node in inner.node for name in node.input)
            self._taken.update(info.name for info in inner.output)

    def fresh(self, name: str, prefix: str) -> str:
        """A name for a value that comes out of a branch: its own if no other graph defines that."""
        if self._defined[name] == 1:
            return name
        options = (f"{prefix}/{name}" if number == 1 else f"{prefix}/{name}_{number}" for number in count(1))
        found = next(option for option in options if option not in self._taken)
        self._taken.add(found)
        self._defined[found] = 1
        return found


class Parts(NamedTuple):
    """The contents of a graph that may move into the one around it."""

    initialisers: list[TensorProto]
    sparse: list[SparseTensorProto]
    infos: list[ValueInfoProto]
    annotations: list[TensorAnnotation]


def defined(graph: GraphProto) -> Iterator[str]:
    """The names that a graph itself defines."""
    yield from (
        {tensor.name for tensor in graph.initializer}
        | {info.name for info in graph.input}
        | {sparse.values.name for sparse in graph.sparse_initializer}
    )
    for node in graph.node:
        yield from filter(None, node.output)


def reads(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, those that its bodies take from outside included."""
    return filter(None, Captures().reads(node))


def renamings(
    branch: GraphProto, nodes: Iterable[NodeProto], outputs: Sequence[str], prefix: str, names: Names
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
        own = {*defined(body)}
        inner = {old: new for old, new in mapping.items() if old not in own}
        for info in body.output:
            info.name = inner.get(info.name, info.name)
        for item in body.node:
            rename(item, inner)


def rename_parts(parts: Parts, mapping: Mapping[str, str]) -> None:
    """Rename initialisers and declarations."""
    for tensor in (*parts.initialisers, *(sparse.values for sparse in parts.sparse)):
        tensor.name = mapping.get(tensor.name, tensor.name)
    for info in parts.infos:
        info.name = mapping.get(info.name, info.name)
    for annotation in parts.annotations:
        annotation.tensor_name = mapping.get(annotation.tensor_name, annotation.tensor_name)
        for entry in annotation.quant_parameter_tensor_names:
            entry.value = mapping.get(entry.value, entry.value)
