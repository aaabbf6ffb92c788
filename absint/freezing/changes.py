"""A rewritten model as changes to the bytes of the original: what stays does so byte for byte, weights included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto

from absint.model.differences import entries
from absint.model.wire.splicing import Changes

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from absint.freezing.rewriting import Rewritten
    from absint.model.outlines import Outline


def changes(outline: Outline, after: Rewritten) -> Changes:
    """The changes that make the rewritten model of the bytes of the one that the outline is of."""
    before, model = outline.model, after.model
    found = Changes()
    entries(found, before.metadata_props, model.metadata_props)
    graph = _nodes(outline, after)
    for number, old, new in (
        (GraphProto.INPUT_FIELD_NUMBER, before.graph.input, model.graph.input),
        (GraphProto.OUTPUT_FIELD_NUMBER, before.graph.output, model.graph.output),
        (GraphProto.VALUE_INFO_FIELD_NUMBER, before.graph.value_info, model.graph.value_info),
        (GraphProto.INITIALIZER_FIELD_NUMBER, before.graph.initializer, model.graph.initializer),
    ):
        _named(outline, graph, number, {i.name: i for i in new}, [i.name for i in old], old)
    sparse = {item.values.name: item for item in model.graph.sparse_initializer}
    old_sparse = before.graph.sparse_initializer
    names = [item.values.name for item in old_sparse]
    _named(outline, graph, GraphProto.SPARSE_INITIALIZER_FIELD_NUMBER, sparse, names, old_sparse)
    notes = {note.tensor_name: note for note in model.graph.quantization_annotation}
    old_notes = before.graph.quantization_annotation
    names = [note.tensor_name for note in old_notes]
    _named(outline, graph, GraphProto.QUANTIZATION_ANNOTATION_FIELD_NUMBER, notes, names, old_notes)
    if graph:
        found.inside[ModelProto.GRAPH_FIELD_NUMBER] = graph
    return found


def _nodes(outline: Outline, after: Rewritten) -> Changes:
    """The changes to the nodes of the main graph."""
    found = Changes()
    number = GraphProto.NODE_FIELD_NUMBER
    at: dict[int, list[Message]] = {}
    for place, node in zip(after.places, after.model.graph.node, strict=True):
        at.setdefault(place, []).append(node)
    for place, old in enumerate(outline.model.graph.node):
        nodes = at.get(place, [])
        if not nodes:
            found.removed.add((number, place))
        elif nodes != [old]:
            found.instead[number, place] = [outline.pieces(node) for node in nodes]
    return found


def _named(
    outline: Outline,
    found: Changes,
    number: int,
    after: Mapping[str, Message],
    names: Sequence[str],
    before: Sequence[Message],
) -> None:
    """The changes to a list of messages, each with a name; of several with one name the last is compared."""
    last = {name: place for place, name in enumerate(names)}
    for place, name in enumerate(names):
        if name not in after:
            found.removed.add((number, place))
        elif last[name] == place and after[name] != before[place]:
            found.replaced[number, place] = outline.pieces(after[name])
    found.added[number] += [outline.pieces(message) for name, message in after.items() if name not in last]
    if not found.added[number]:
        del found.added[number]


__all__ = ["changes"]
