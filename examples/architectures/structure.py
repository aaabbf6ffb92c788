"""The digest of a model's structure: the same for other random weights, on other machines, and in other folders.

SHA-256 of a JSON text without spaces, keys sorted, that holds of the model: its opsets,
without their order; of the graph and of
each function the inputs, outputs, declared types and nodes in their order; of a node its operator, domain, inputs,
outputs and attributes; of a tensor its type and dims,
and its elements unless they are floats or complex numbers. These are
weights: they are left out. So are names of nodes, texts, the producer and the version of the IR.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, TensorProto, ValueInfoProto, numpy_helper

_WEIGHTS: Final = "fcV"
"""Kinds of arrays, by numpy; V has the floats of 8 and 16 bits that numpy lacks."""

Json = None | bool | int | str | Sequence["Json"] | dict[str, "Json"]


def digest(model: ModelProto) -> str:
    """SHA-256 of the structure, in hexadecimal."""
    whole = {
        "opsets": sorted([item.domain, item.version] for item in model.opset_import),
        "graph": _graph(model.graph),
        "functions": [_function(function) for function in model.functions],
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _graph(graph: GraphProto) -> Json:
    return {
        "inputs": [_value(value) for value in graph.input],
        "outputs": [_value(value) for value in graph.output],
        "declared": sorted((_value(value) for value in graph.value_info), key=str),
        "weights": sorted(([tensor.name, _tensor(tensor)] for tensor in graph.initializer), key=str),
        "nodes": [_node(node) for node in graph.node],
    }


def _function(function: FunctionProto) -> Json:
    return {
        "name": [function.domain, function.name],
        "inputs": list(function.input),
        "outputs": list(function.output),
        "attributes": list(function.attribute),
        "nodes": [_node(node) for node in function.node],
    }


def _value(value: ValueInfoProto) -> Json:
    return [value.name, value.type.SerializeToString(deterministic=True).hex()]


def _node(node: onnx.NodeProto) -> Json:
    attributes = {attribute.name: _attribute(attribute) for attribute in node.attribute}
    return [node.domain, node.op_type, list(node.input), list(node.output), attributes]


def _attribute(attribute: AttributeProto) -> Json:
    if attribute.ref_attr_name:
        return {"refers": attribute.ref_attr_name}
    found = onnx.helper.get_attribute_value(attribute)
    return [attribute.type, [_plain(item) for item in (found if _is_list(found) else [found])]]


def _is_list(found: object) -> bool:
    return not isinstance(found, bytes | str) and hasattr(found, "__len__") and not hasattr(found, "DESCRIPTOR")


def _plain(found: object) -> Json:
    match found:
        case TensorProto():
            return _tensor(found)
        case GraphProto():
            return _graph(found)
        case bytes():
            return found.hex()
        case int() | str():
            return found
        case float():
            return repr(found)
    return str(found)


def _tensor(tensor: TensorProto) -> Json:
    known: Json = None
    if not tensor.external_data:
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind not in _WEIGHTS:
            known = hashlib.sha256(str(array.tolist()).encode()).hexdigest()
    return [tensor.data_type, list(tensor.dims), known]


__all__ = ["digest"]
