"""A model and a changed copy of it, as changes to the bytes of the model: what is equal stays byte for byte as it was.

Compared are metadata, opsets and functions of the model, and its main graph: types, tensors and nodes, in the graphs of
attributes too. A copy that was made of an `Outline` lacks the data of large tensors, and its `pieces` bring them
back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from onnx.onnx_pb import AttributeProto, GraphProto, ModelProto, NodeProto

from absint.model.wire.splicing import Changes, Content

if TYPE_CHECKING:
    from google.protobuf.message import Message


Write = Callable[["Message"], "Content"]
"""Gives the bytes of a message of the copy."""

Key = Callable[[Any], str]
"""Gives what an item of a list is known by."""

_OF_MODEL: Final[Mapping[str, Key]] = {
    "metadata_props": attrgetter("key"),
    "functions": lambda item: f"{item.domain}::{item.name}",
    "opset_import": attrgetter("domain"),
}
_OF_GRAPH: Final[Mapping[str, Key]] = {
    **dict.fromkeys(("input", "output", "value_info", "initializer"), attrgetter("name")),
    "sparse_initializer": attrgetter("values.name"),
    "quantization_annotation": attrgetter("tensor_name"),
}
"""The lists of a graph without its nodes."""


def serialised(message: Message) -> bytes:
    """The bytes of a message that has the data of its tensors."""
    content: bytes = message.SerializeToString()
    return content


def differences(before: ModelProto, after: ModelProto, write: Write = serialised) -> Changes:
    """The changes that make `after` of the bytes of `before`."""
    found = Changes()
    _listed(found, _OF_MODEL, before, after, write)
    graph = _graph(before.graph, after.graph, write)
    if graph:
        found.inside[ModelProto.GRAPH_FIELD_NUMBER] = graph
    return found


def _graph(before: GraphProto, after: GraphProto, write: Write) -> Changes:
    found = Changes()
    _listed(found, _OF_GRAPH, before, after, write)
    _nodes(found, before.node, after.node, write)
    return found


def _listed(found: Changes, lists: Mapping[str, Key], before: Message, after: Message, write: Write) -> None:
    """Items may have been removed and changed, and added at the end."""
    for name, key in lists.items():
        number, olds, news = before.DESCRIPTOR.fields_by_name[name].number, getattr(before, name), getattr(after, name)
        kept = 0
        for place, old in enumerate(olds):
            if kept == len(news) or key(news[kept]) != key(old):
                found.removed.add((number, place))
                continue
            if news[kept] != old:
                found.replaced[number, place] = write(news[kept])
            kept += 1
        if kept < len(news):
            found.added[number] = [write(new) for new in news[kept:]]


def _nodes(found: Changes, before: Sequence[NodeProto], after: Sequence[NodeProto], write: Write) -> None:
    """Nodes keep their order; where there are new ones, they come before the next of the old ones."""
    number = GraphProto.NODE_FIELD_NUMBER
    same = _matched(before, after)
    start = 0
    for place, old in enumerate(before):
        end = same.get(place, -1)
        if end < 0:
            found.removed.add((number, place))
            continue
        if end > start:
            found.instead[number, place] = [write(node) for node in after[start : end + 1]]
        elif after[end] != old:
            changes = _node(old, after[end], write)
            if changes is None:
                found.replaced[number, place] = write(after[end])
            else:
                found.within[number, place] = changes
        start = end + 1
    if start < len(after):
        found.added[number] = [write(node) for node in after[start:]]


def _matched(before: Sequence[NodeProto], after: Sequence[NodeProto]) -> dict[int, int]:
    """The places of nodes of one list in the other, both in order: those that compute the same values."""
    if len(before) == len(after) and all(old.output == new.output for old, new in zip(before, after, strict=True)):
        return {place: place for place in range(len(before))}
    places: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for place in range(len(before) - 1, -1, -1):
        places[tuple(before[place].output)].append(place)
    found: dict[int, int] = {}
    latest = -1
    for at, node in enumerate(after):
        left = places[tuple(node.output)]
        if left and left[-1] > latest:
            latest = left.pop()
            found[latest] = at
    return found


def _node(before: NodeProto, after: NodeProto, write: Write) -> Changes | None:
    """The changes to a node of which only graphs differ; None if more does."""
    if len(before.attribute) != len(after.attribute) or _without(before, "attribute") != _without(after, "attribute"):
        return None
    found = Changes()
    for place, (old, new) in enumerate(zip(before.attribute, after.attribute, strict=True)):
        if old == new:
            continue
        if len(old.graphs) != len(new.graphs) or _without(old, "graphs", "g") != _without(new, "graphs", "g"):
            return None
        attribute = Changes()
        if old.HasField("g") and (graph := _graph(old.g, new.g, write)):
            attribute.inside[AttributeProto.G_FIELD_NUMBER] = graph
        for at, (one, other) in enumerate(zip(old.graphs, new.graphs, strict=True)):
            if graph := _graph(one, other, write):
                attribute.within[AttributeProto.GRAPHS_FIELD_NUMBER, at] = graph
        if attribute:
            found.within[NodeProto.ATTRIBUTE_FIELD_NUMBER, place] = attribute
    return found or None


def _without(message: Message, several: str, single: str = "") -> Message:
    """A copy without the items of one field, and without what is in another."""
    found = type(message)()
    found.CopyFrom(message)
    found.ClearField(several)
    if single and found.HasField(single):
        found.ClearField(single)
        getattr(found, single).SetInParent()
    return found
