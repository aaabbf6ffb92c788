"""The difference between a model and a copy of it in which types and metadata were changed, as changes to its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnx.onnx_pb import AttributeProto, GraphProto, ModelProto, NodeProto

from absint.model.wire.splicing import Changes

if TYPE_CHECKING:
    from onnx import StringStringEntryProto, ValueInfoProto


def differences(before: ModelProto, after: ModelProto) -> Changes:
    """The changes that make `after` of the bytes of `before`.

    Compared are inputs, `value_info` and outputs of the main graph and of the graphs in attributes of nodes, and the
    metadata of the model. Neither needs the data of its tensors.
    """
    found = Changes()
    entries(found, before.metadata_props, after.metadata_props)
    graph = _graph(before.graph, after.graph)
    if graph:
        found.inside[ModelProto.GRAPH_FIELD_NUMBER] = graph
    return found


def _graph(before: GraphProto, after: GraphProto) -> Changes:
    found = Changes()
    _infos(found, GraphProto.VALUE_INFO_FIELD_NUMBER, before.value_info, after.value_info)
    _infos(found, GraphProto.INPUT_FIELD_NUMBER, before.input, after.input)
    _infos(found, GraphProto.OUTPUT_FIELD_NUMBER, before.output, after.output)
    for place, (old, new) in enumerate(zip(before.node, after.node, strict=True)):
        node = _node(old, new)
        if node:
            found.within[GraphProto.NODE_FIELD_NUMBER, place] = node
    return found


def _node(before: NodeProto, after: NodeProto) -> Changes:
    found = Changes()
    for place, (old, new) in enumerate(zip(before.attribute, after.attribute, strict=True)):
        attribute = Changes()
        if old.HasField("g") and (graph := _graph(old.g, new.g)):
            attribute.inside[AttributeProto.G_FIELD_NUMBER] = graph
        for at, (one, other) in enumerate(zip(old.graphs, new.graphs, strict=True)):
            if graph := _graph(one, other):
                attribute.within[AttributeProto.GRAPHS_FIELD_NUMBER, at] = graph
        if attribute:
            found.within[NodeProto.ATTRIBUTE_FIELD_NUMBER, place] = attribute
    return found


def _infos(found: Changes, number: int, before: Sequence[ValueInfoProto], after: Sequence[ValueInfoProto]) -> None:
    """More may have been added, and none removed."""
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            found.replaced[number, place] = new.SerializeToString()
    if added := after[len(before) :]:
        found.added[number] = [new.SerializeToString() for new in added]


def entries(found: Changes, before: Sequence[StringStringEntryProto], after: Sequence[StringStringEntryProto]) -> None:
    """Entries may have been removed, changed and added; the others keep their order."""
    number = ModelProto.METADATA_PROPS_FIELD_NUMBER
    kept = 0
    for place, old in enumerate(before):
        if kept == len(after) or after[kept].key != old.key:
            found.removed.add((number, place))
            continue
        if after[kept] != old:
            found.replaced[number, place] = after[kept].SerializeToString()
        kept += 1
    if kept < len(after):
        found.added[number] = [new.SerializeToString() for new in after[kept:]]


__all__ = ["differences", "entries"]
