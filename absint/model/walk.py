"""Walks over the graphs of a model: those in attributes of nodes too, lists of them among these, at any depth.

They take messages of protobuf and of `wire`. They go in the order of the file, outer graphs first, without recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, cast, overload

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

    from absint.model.messages import AttributeMessage, FunctionMessage, GraphMessage, ModelMessage, NodeMessage

G = TypeVar("G", bound="GraphMessage")
H = TypeVar("H", bound="GraphMessage")


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
    return (graph for graph, _ in pairs(root, root))


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
