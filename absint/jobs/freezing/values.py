"""Inputs whose elements are given: they become constants of the copy, and no caller feeds them any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto
from onnx.numpy_helper import from_array

from absint.errors import UsageError
from absint.jobs.freezing.exact import TYPES
from absint.jobs.freezing.rewriting import INITIALISERS_ALONE, copied
from absint.lattices.value import Tensor
from absint.model.walk import graphs

if TYPE_CHECKING:
    from onnx import ModelProto

    from absint.solution.analysed import Analysed


def constants(analysed: Analysed, sizes: Mapping[str, int]) -> list[TensorProto]:
    """The inputs of which elements are given, as tensors. Raises UsageError if some of their elements are not."""
    inputs = analysed.declared_inputs
    found: dict[str, list[int]] = {}
    for element in inputs.elements.values():
        if element.name in sizes:
            found.setdefault(element.input, []).append(sizes[element.name])
    return [_constant(analysed, name, given, sizes) for name, given in found.items()]


def _constant(analysed: Analysed, name: str, given: Sequence[int], sizes: Mapping[str, int]) -> TensorProto:
    inputs = analysed.declared_inputs
    every = [element.name for element in inputs.elements.values() if element.input == name]
    missing = ", ".join(repr(other) for other in every if other not in sizes)
    if missing:
        raise UsageError(f"no value for {missing}: give all elements of {name!r}, or none")
    value = inputs.values[analysed.input_nodes[name]]
    assert isinstance(value, Tensor)
    kind = TYPES.get(value.dtype)
    if kind is None:
        raise UsageError(f"{name!r} is of type {value.dtype}, of which no constant can be made: leave its elements out")
    return from_array(np.array(given, dtype=kind).reshape(value.shape.concrete or ()), name)


def fill(model: ModelProto, tensors: Sequence[TensorProto]) -> None:
    """Put constants in the place of the inputs of their names, as far as something reads them."""
    graph = model.graph
    names = {tensor.name for tensor in tensors}
    for infos in (graph.input, graph.initializer):
        for at in range(len(infos) - 1, -1, -1):
            if infos[at].name in names:
                del infos[at]
    outputs = {info.name for inner in graphs(graph) for info in inner.output}
    used = outputs.union(name for inner in graphs(graph) for node in inner.node for name in node.input)
    if model.training_info:  # its graphs may name any value
        used |= names
    computed: list[NodeProto] = []
    for tensor in tensors:
        if tensor.name in used and tensor.name not in outputs and model.ir_version >= INITIALISERS_ALONE:
            graph.initializer.append(tensor)
        elif tensor.name in used:
            node = NodeProto(op_type="Constant", output=[tensor.name])
            node.attribute.add(name="value", type=AttributeProto.TENSOR).t.CopyFrom(tensor)
            node.attribute[0].t.ClearField("name")
            computed.append(node)
    if computed:
        nodes = [*computed, *map(copied, graph.node)]
        del graph.node[:]
        graph.node.extend(nodes)
