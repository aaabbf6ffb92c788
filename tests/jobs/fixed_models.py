"""Models with fixed sizes: shape subgraphs folded into constants, as exporters and folders write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import from_array

import absint
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import TRUE
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value


def fixed(model: Path, sizes: Mapping[str, int]) -> onnx.ModelProto:
    """The model at these sizes, without the nodes whose outputs are the same in every run."""
    proto = onnx.load(model, load_external_data=False)
    result = absint.analyze(model, bind=dict(sizes))
    graph = proto.graph
    for info in (*graph.input, *graph.output):
        value = result.values.get(info.name)
        if isinstance(value, Tensor) and info.type.HasField("tensor_type") and value.shape.rank is not None:
            del info.type.tensor_type.shape.dim[:]
            for dim in value.shape:
                added = info.type.tensor_type.shape.dim.add()
                if isinstance(dim, Expr) and dim.const is not None:
                    added.dim_value = dim.const
    outputs = {info.name for info in graph.output}
    nodes = []
    for node in graph.node:
        arrays = {name: _array(result[name]) for name in node.output if name}
        is_fixed = (
            all(array is not None for array in arrays.values())
            and not outputs & arrays.keys()
            and node.op_type not in ("If", "Loop")
        )
        if is_fixed:
            graph.initializer.extend(from_array(array, name) for name, array in arrays.items() if array is not None)
        else:
            nodes.append(node)
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(_reads(node))
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(kept)]
    tensors = [t for t in graph.initializer if t.name in needed]
    tensors = [onnx.TensorProto.FromString(t.SerializeToString()) for t in tensors]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(copies)
    graph.initializer.extend(tensors)
    return proto


def _array(value: Value) -> np.ndarray | None:
    """The elements that a value has in every run."""
    if not isinstance(value, Tensor) or value.shape.concrete is None or value.contents is None or value.contents.open:
        return None
    block = value.contents.block(value.shape.concrete)
    if block is None or value.dtype is DType.STRING:
        return None
    numbers: list[object] = []
    for element in block.elements:
        if isinstance(element, Expr):
            numbers.append(element.const)
        elif isinstance(element, Real):
            numbers.append(None if element.fraction is None else float(element.fraction))
        else:
            numbers.append(element is TRUE)
    if None in numbers:
        return None
    return np.array(numbers, tensor_dtype_to_np_dtype(int(value.dtype))).reshape(value.shape.concrete)


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from (info.name for info in attribute.g.output)
            for inner in attribute.g.node:
                yield from _reads(inner)
