"""Inferred types on the values of an onnx_ir model, in place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from absint.errors import UsageError
from absint.jobs.copies.annotate import annotated
from absint.jobs.copies.dialects import Style
from absint.model.onnx_ir_models import outline_of

if TYPE_CHECKING:
    import onnx_ir
    from onnx import GraphProto, TypeProto

    from absint.solution.analysed import Analysed


def annotate_values(analysed: Analysed, model: onnx_ir.Model, style: Style, *, load: bool = True) -> int:
    """Write types onto the values of the analysed model, and definitions into its metadata; the number of changes.

    No tensor is touched. Raises UsageError for another model than the analysed one, and as `Result.annotate` does.
    """
    original = outline_of(model)
    if [node.name for node in original.graph.node] != [node.name for node in analysed.loaded.model.graph.node]:
        raise UsageError("the onnx_ir model is not the one that was analysed: analyze it again after it has changed")
    copy = annotated(analysed, style, model=original, load=load).model
    changed = sum(_write(value, proto) for value, proto in _typed(model.graph, copy.graph))
    for entry in copy.metadata_props:
        if model.metadata_props.get(entry.key) != entry.value:
            model.metadata_props[entry.key] = entry.value
            changed += 1
    return changed


def _typed(graph: onnx_ir.Graph, annotated_graph: GraphProto) -> Iterator[tuple[onnx_ir.Value, TypeProto]]:
    """The values of the graph and of the bodies in it, with their types."""
    import onnx_ir

    pending = [(graph, annotated_graph)]
    while pending:
        graph, proto = pending.pop()
        infos = chain(proto.value_info, proto.input, proto.output)
        types = {info.name: info.type for info in infos if info.HasField("type")}
        values = chain(graph.inputs, (output for node in graph for output in node.outputs))
        yield from ((value, types[value.name]) for value in values if value.name and value.name in types)
        for node, node_proto in zip(graph, proto.node, strict=True):
            for attribute in node_proto.attribute:
                own = node.attributes[attribute.name]
                if own.type is onnx_ir.AttributeType.GRAPH:
                    pending.append((own.as_graph(), attribute.g))
                elif own.type is onnx_ir.AttributeType.GRAPHS:
                    pending += zip(own.as_graphs(), attribute.graphs, strict=True)


def _write(value: onnx_ir.Value, proto: TypeProto) -> bool:
    """Write a type onto a value; True if that changes it."""
    import onnx_ir

    shape = onnx_ir.serde.deserialize_type_proto_for_shape(proto)
    kind = onnx_ir.serde.deserialize_type_proto_for_type(proto)
    before = value.type, value.shape
    if kind is not None:
        value.type = kind
    if shape is not None:
        value.shape = shape
    return before != (value.type, value.shape)
