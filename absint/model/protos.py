"""Messages of protobuf and of `wire` as lowering reads them: names, domains, graphs, captured values, attributes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from copy import deepcopy
from math import prod
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, overload

from absint.errors import ModelError
from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from absint.model.declared_types import read_type
from absint.model.initialisers import dtype_of, has_another_length
from absint.model.wire import kinds
from absint.model.wire.graphs import (
    Attribute,
    AttributeMessage,
    FunctionMessage,
    GraphMessage,
    ModelMessage,
    NodeMessage,
    TensorMessage,
    TypeMessage,
    ValueInfoMessage,
)
from absint.model.wire.tensors import EXTERNAL
from absint.transfer.stating import AttributeValue

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

__all__ = ["AttributeMessage", "GraphMessage", "ModelMessage", "NodeMessage", "TensorMessage", "TypeMessage"]

G = TypeVar("G", bound=GraphMessage)
H = TypeVar("H", bound=GraphMessage)

Declaring: TypeAlias = Literal["input", "output", "value_info"]
DECLARING: Final[tuple[Declaring, ...]] = ("input", "output", "value_info")
"""The fields of a graph that declare types."""

_ALIASES: Final = {"ai.onnx": ""}

copied: Final = deepcopy
"""A copy of a message of protobuf, which outlives the list that the message is in."""


def put(messages: MutableSequence[Any], new: Iterable[Any]) -> None:
    """Let a list of a message hold these, some of which may be its own."""
    copies = list(map(copied, new))
    del messages[:]
    messages.extend(copies)


def remove(messages: MutableSequence[Any], is_gone: Callable[[Any], bool]) -> None:
    """Remove messages from a list of a message, in place."""
    for place in range(len(messages) - 1, -1, -1):
        if is_gone(messages[place]):
            del messages[place]


def decode_attribute(attribute: AttributeMessage, constant: Callable[[TensorMessage], Tensor]) -> AttributeValue:
    """The value of an attribute as rules see it; `constant` reads a tensor."""
    kind = attribute.type
    if kind == kinds.TENSOR:
        return constant(attribute.t)
    read = _READ.get(kind)
    return None if read is None else read(attribute)


def _sparse(attribute: AttributeMessage) -> Tensor:
    sparse = attribute.sparse_tensor
    return Tensor(dtype_of(sparse.values.data_type), Shape(tuple(sparse.dims)))


_READ: Final[Mapping[int, Callable[[AttributeMessage], AttributeValue]]] = {
    kinds.INT: lambda attribute: attribute.i,
    kinds.FLOAT: lambda attribute: attribute.f,
    kinds.STRING: lambda attribute: attribute.s.decode("utf-8", "replace"),
    kinds.INTS: lambda attribute: list(attribute.ints[:]),
    kinds.FLOATS: lambda attribute: list(attribute.floats[:]),
    kinds.STRINGS: lambda attribute: [s.decode("utf-8", "replace") for s in attribute.strings],
    kinds.SPARSE_TENSOR: _sparse,
    kinds.TYPE_PROTO: lambda attribute: read_type(attribute.tp),
}


def name_of(node: NodeMessage, number: int) -> str:
    """The name of a node, or its number in its body."""
    return node.name or f"#{number}"


def domain_of(domain: str) -> str:
    """The canonical name of the domain: empty for ai.onnx."""
    return _ALIASES.get(domain, domain)


def overload_of(function: FunctionMessage) -> str:
    """The overload of a function; empty in files too old to have any."""
    return getattr(function, "overload", "")


def declared_types(graph: GraphMessage | FunctionMessage, field: Declaring) -> Sequence[ValueInfoMessage]:
    """The declared types of the inputs, the outputs or the values of a graph; a function names its inputs and outputs
    only.
    """
    if field != "value_info" and hasattr(graph, "opset_import"):
        return ()
    found: Sequence[ValueInfoMessage] = getattr(graph, field, ())
    return found


def declared_rank(declared: TypeMessage) -> int | None:
    """The rank that a tensor's type gives."""
    return len(declared.tensor_type.shape.dim) if declared.tensor_type.HasField("shape") else None


def formals(body: GraphMessage, count: int) -> Sequence[ValueInfoMessage]:
    """The inputs of a body that its node gives, so many if they fit.

    onnxruntime leaves out those that are initialisers too, as onnx does before IR version 4; since then it does not.
    """
    tensors = {tensor.name for tensor in body.initializer}
    free = [info for info in body.input if info.name not in tensors]
    return free if len(free) == count else body.input


# Walks over the graphs in attributes of nodes, lists of them too, at any depth. They go in the order of the file, outer
# graphs first, without recursion.


@overload
def graphs_in(attribute: AttributeProto) -> Sequence[GraphProto]: ...
@overload
def graphs_in(attribute: AttributeMessage) -> Sequence[GraphMessage]: ...
def graphs_in(attribute: AttributeMessage) -> Sequence[GraphMessage]:
    """The graphs that an attribute holds."""
    return (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs


@overload
def bodies(node: NodeProto) -> Sequence[GraphProto]: ...
@overload
def bodies(node: NodeMessage) -> Sequence[GraphMessage]: ...
def bodies(node: NodeMessage) -> Sequence[GraphMessage]:
    """The graphs in the attributes of a node."""
    return [graph for attribute in node.attribute for graph in graphs_in(attribute)]


def graphs(root: G) -> Iterator[G]:
    """The graph and all graphs in it."""
    pending = [root]
    while pending:
        graph = pending.pop()
        yield graph
        inner = [cast("G", body) for node in graph.node if node.attribute for body in bodies(node)]
        pending += reversed(inner)


def graphs_below(nodes: Iterable[NodeMessage]) -> Iterator[GraphMessage]:
    """All graphs in some nodes."""
    return (graph for node in nodes for body in bodies(node) for graph in graphs(body))


def pairs(first: G, second: H) -> Iterator[tuple[G, H]]:
    """Two graphs with the same nodes, as a model and its copy have, and each graph in them with its counterpart."""
    pending = [(first, second)]
    while pending:
        pair = pending.pop()
        yield pair
        inner: list[tuple[G, H]] = []
        for one, other in zip(pair[0].node, pair[1].node, strict=True):
            if one.attribute:
                found = zip(bodies(one), bodies(other), strict=True)
                inner += cast("Iterator[tuple[G, H]]", found)
        pending += reversed(inner)


@overload
def holders(model: ModelProto) -> Iterator[GraphProto | FunctionProto]: ...
@overload
def holders(model: ModelMessage) -> Iterator[GraphMessage | FunctionMessage]: ...
def holders(model: ModelMessage) -> Iterator[GraphMessage | FunctionMessage]:
    """Whatever holds nodes: the main graph, functions, graphs for training, and all graphs in these."""
    yield from graphs(model.graph)
    for function in model.functions:
        yield function
        yield from graphs_below(function.node)
        for default in function.attribute_proto:
            for graph in graphs_in(default):
                yield from graphs(graph)
    for training in getattr(model, "training_info", ()):
        yield from graphs(training.initialization)
        yield from graphs(training.algorithm)


class Captures:
    """Names that nodes read, including those that their bodies take from outside; each body is scanned once."""

    def __init__(self) -> None:
        self._free: dict[int, tuple[GraphMessage, frozenset[str]]] = {}  # by id: the graphs outlive this

    def reads(self, node: NodeMessage) -> set[str]:
        """Names that the node reads, its subgraphs' outer references included."""
        return {*node.input, *self.of(node)}

    def of(self, node: NodeMessage) -> set[str]:
        """Names that the subgraphs of a node read and do not define."""
        found: set[str] = set()
        for graph in bodies(node):
            found |= self._of_graph(graph)
        return found

    def _of_graph(self, graph: GraphMessage) -> frozenset[str]:
        stack = [(graph, False)]
        while stack:
            graph, is_open = stack.pop()
            if id(graph) in self._free:
                continue
            nodes = graph.node[:]  # read once, for lowering too
            inner = [body for node in nodes for body in bodies(node)]
            if inner and not is_open:
                stack.append((graph, True))
                stack += [(body, False) for body in inner]
                continue
            read = {info.name for info in graph.output}.union(*(self._free[id(body)][1] for body in inner))
            defined = {"", *(item.name for items in (graph.input, graph.initializer) for item in items)}
            defined.update(sparse.values.name for sparse in graph.sparse_initializer)
            for node in nodes:
                read.update(node.input)
                defined.update(node.output)
            self._free[id(graph)] = graph, frozenset(read - defined)
        return self._free[id(graph)][1]


def attribute_key(
    op_type: str, family: Hashable, outputs: Hashable, attributes: Sequence[AttributeMessage]
) -> tuple[object, ...]:
    """Equal for instances whose attributes are equal byte for byte; large tensors count by type, dims and length."""
    if not family and op_type not in HOLDING:
        return (op_type, family, outputs, *map(serialised, attributes))
    return (op_type, family, outputs, *map(_attribute_key, attributes))


def outputs_key(outputs: Sequence[str]) -> Hashable:
    """Equal for nodes with as many outputs of which the same are left out."""
    return len(outputs) if "" not in outputs else tuple(map(bool, outputs))


serialised: Final[Callable[[object], bytes]] = methodcaller("SerializeToString")
HOLDING: Final = frozenset({"Constant", "If", "Loop", "Scan", "SequenceMap"})
"""Operators of ai.onnx with graphs, or tensors of any size, in their attributes."""


def _attribute_key(attribute: AttributeMessage) -> object:
    kind = attribute.type
    if kind == kinds.TENSOR:
        tensor = attribute.t
        dims = tensor.dims[:]
        if prod(dims) > MAX_ELEMENTS:
            return attribute.name, tensor.data_type, tuple(dims), has_another_length(tensor)
    elif kind == kinds.GRAPH:
        return attribute.name
    return attribute.SerializeToString()


def is_elsewhere(attribute: AttributeMessage) -> bool:
    """The attribute is a tensor whose elements are in another file."""
    return attribute.type == kinds.TENSOR and attribute.t.data_location == EXTERNAL


def resolved(attributes: Sequence[AttributeMessage], given: Mapping[str, AttributeMessage]) -> list[AttributeMessage]:
    """Attributes of a function's node with references to the function's attributes replaced by what the call gives."""
    result = []
    for attribute in attributes:
        if not attribute.ref_attr_name:
            result.append(attribute)
        elif attribute.ref_attr_name in given:
            result.append(_renamed(given[attribute.ref_attr_name], attribute.name))
    return result


def _renamed(attribute: AttributeMessage, name: str) -> AttributeMessage:
    if isinstance(attribute, Attribute):
        return attribute.renamed(name)
    copy = type(attribute)()
    copy.CopyFrom(attribute)
    copy.name = name
    return copy


# Nodes of a graph that are not in topological order, sorted.


def sorted_nodes(
    nodes: Sequence[NodeMessage], reads: Callable[[NodeMessage], Iterable[str]], where: str
) -> list[NodeMessage]:
    """Kahn's algorithm, stable. `reads` gives the names that a node needs, those of its subgraphs included.

    Raises ModelError naming a node on the cycle, if there is one.
    """
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    waiting = []
    users: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        needs = {producer[name] for name in reads(node) if name in producer}
        waiting.append(len(needs))
        for need in needs:
            users.setdefault(need, []).append(i)
    ready = [i for i, needs in enumerate(waiting) if needs == 0]
    order: list[int] = []
    for i in ready:
        order.append(i)
        for user in users.get(i, ()):
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(order) < len(nodes):
        stuck = next(i for i, needs in enumerate(waiting) if needs)
        raise ModelError(
            f"{where} has a cycle through node {name_of(nodes[stuck], stuck)!r} "
            f"(output {next(iter(nodes[stuck].output), '')!r}): a graph must be acyclic"
        )
    return [nodes[i] for i in order]


def sort_graph(graph: GraphProto) -> bool:
    """Sort the nodes of a graph in place, if some read what stands below them; False if it stays as it is."""
    nodes, captures, seen = list(graph.node), Captures(), set[str]()
    made = {name for node in nodes for name in node.output if name}
    for node in nodes:
        if not made.isdisjoint(captures.reads(node) - seen):
            break
        seen.update(node.output)
    else:
        return False
    places = {id(item): at for at, item in enumerate(nodes)}
    try:
        order = [places[id(item)] for item in sorted_nodes(nodes, captures.reads, "")]
    except ModelError:  # a cycle: no runtime takes it
        return False
    put(graph.node, [graph.node[at] for at in order])
    return True
