"""Protobuf messages as lowering reads them: names, domains, captured values, attributes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import Final

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from absint.model.declared_types import read_type
from absint.model.initialisers import dtype_of
from absint.transfer.op import AttributeValue

_ALIASES: Final = {"ai.onnx": ""}
_TENSOR: Final = int(AttributeProto.TENSOR)
_GRAPH: Final = int(AttributeProto.GRAPH)


def decode_attribute(attribute: AttributeProto, constant: Callable[[TensorProto], Tensor]) -> AttributeValue:
    """The value of an attribute as rules see it; `constant` reads a tensor."""
    kind = attribute.type
    if kind == _TENSOR:
        return constant(attribute.t)
    read = _READ.get(kind)
    return None if read is None else read(attribute)


def _sparse(attribute: AttributeProto) -> Tensor:
    sparse = attribute.sparse_tensor
    return Tensor(dtype_of(sparse.values.data_type), Shape(tuple(sparse.dims)))


_READ: Final[Mapping[int, Callable[[AttributeProto], AttributeValue]]] = {
    AttributeProto.INT: lambda attribute: attribute.i,
    AttributeProto.FLOAT: lambda attribute: attribute.f,
    AttributeProto.STRING: lambda attribute: attribute.s.decode("utf-8", "replace"),
    AttributeProto.INTS: lambda attribute: list(attribute.ints),
    AttributeProto.FLOATS: lambda attribute: list(attribute.floats),
    AttributeProto.STRINGS: lambda attribute: [s.decode("utf-8", "replace") for s in attribute.strings],
    AttributeProto.SPARSE_TENSOR: _sparse,
    AttributeProto.TYPE_PROTO: lambda attribute: read_type(attribute.tp),
}


def name_of(node: NodeProto, number: int) -> str:
    """The name of a node, or its number in its body."""
    return node.name or f"#{number}"


def domain_of(domain: str) -> str:
    """The canonical name of the domain: empty for ai.onnx."""
    return _ALIASES.get(domain, domain)


def overload_of(function: FunctionProto) -> str:
    """The overload of a function; empty in files too old to have any."""
    return getattr(function, "overload", "")


def declared_rank(declared: onnx.TypeProto) -> int | None:
    """The rank that a tensor's type gives."""
    return len(declared.tensor_type.shape.dim) if declared.tensor_type.HasField("shape") else None


class Captures:
    """Names that nodes read, including those that their bodies take from outside; each body is scanned once."""

    def __init__(self) -> None:
        self._free: dict[int, tuple[GraphProto, frozenset[str]]] = {}  # by id: the graphs outlive this

    def reads(self, node: NodeProto) -> set[str]:
        """Names that the node reads, its subgraphs' outer references included."""
        return {*node.input, *self.of(node)}

    def of(self, node: NodeProto) -> set[str]:
        """Names that the subgraphs of a node read and do not define."""
        found: set[str] = set()
        for graph in _bodies(node):
            found |= self._of_graph(graph)
        return found

    def _of_graph(self, graph: GraphProto) -> frozenset[str]:
        stack = [(graph, False)]
        while stack:
            graph, is_open = stack.pop()
            if id(graph) in self._free:
                continue
            inner = [body for node in graph.node for body in _bodies(node)]
            if inner and not is_open:
                stack.append((graph, True))
                stack += [(body, False) for body in inner]
                continue
            read = {info.name for info in graph.output}.union(*(self._free[id(body)][1] for body in inner))
            defined = {"", *(item.name for items in (graph.input, graph.initializer) for item in items)}
            defined.update(sparse.values.name for sparse in graph.sparse_initializer)
            for node in graph.node:
                read.update(node.input)
                defined.update(node.output)
            self._free[id(graph)] = graph, frozenset(read - defined)
        return self._free[id(graph)][1]


def _bodies(node: NodeProto) -> list[GraphProto]:
    return [a.g for a in node.attribute if a.type == _GRAPH]


def attribute_key(
    op_type: str, family: Hashable, outputs: int, attributes: Sequence[AttributeProto]
) -> tuple[object, ...]:
    """Equal for instances whose attributes are equal byte for byte; a large tensor counts by its type and dims."""
    parts: list[object] = [op_type, family, outputs]
    for attribute in attributes:
        kind = attribute.type
        if kind == _TENSOR and prod(attribute.t.dims[:]) > MAX_ELEMENTS:
            parts.append((attribute.name, attribute.t.data_type, tuple(attribute.t.dims)))
        elif kind == _GRAPH:
            parts.append(attribute.name)
        else:
            parts.append(attribute.SerializeToString())
    return tuple(parts)


def is_elsewhere(attribute: AttributeProto) -> bool:
    """The attribute is a tensor whose elements are in another file."""
    return attribute.type == _TENSOR and attribute.t.data_location == TensorProto.EXTERNAL


def resolved(attributes: Sequence[AttributeProto], given: Mapping[str, AttributeProto]) -> list[AttributeProto]:
    """Attributes of a function's node with references to the function's attributes replaced by what the call gives."""
    result = []
    for attribute in attributes:
        if not attribute.ref_attr_name:
            result.append(attribute)
        elif attribute.ref_attr_name in given:
            copy = AttributeProto()
            copy.CopyFrom(given[attribute.ref_attr_name])
            copy.name = attribute.name
            result.append(copy)
    return result
