"""Other forms of a model that compute the same: names, order, constants, symbols, functions, an optimiser's work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, helper, inliner

Change = Callable[[ModelProto], ModelProto | None]
"""Another form of a model, or None where there is none."""


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and its bodies, at any depth."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs(attribute.g)
            for body in attribute.graphs:
                yield from graphs(body)


def renamed_values(model: ModelProto) -> ModelProto:
    """Every value and node but inputs, outputs and initialisers that are inputs has another name."""
    kept = {value.name for value in (*model.graph.input, *model.graph.output)} | {""}
    names: dict[str, str] = {}

    def new(name: str) -> str:
        return name if name in kept else names.setdefault(name, f"v{len(names)}")

    for graph in graphs(model.graph):
        for node in graph.node:
            node.input[:] = [new(name) for name in node.input]
            node.output[:] = [new(name) for name in node.output]
            node.name = f"n_{node.name}" if node.name else ""
        for tensor in graph.initializer:
            tensor.name = new(tensor.name)
        for sparse in graph.sparse_initializer:
            sparse.values.name = new(sparse.values.name)
        for value in (*graph.value_info, *graph.input, *graph.output):
            value.name = new(value.name)
        del graph.quantization_annotation[:]
    return model


def reordered_nodes(model: ModelProto) -> ModelProto:
    """The nodes of each graph in another topological order."""
    draw = Random(0)
    for graph in graphs(model.graph):
        made_by = {name: number for number, node in enumerate(graph.node) for name in node.output if name}
        needs = [
            {made_by[name] for name in _read(node) if name in made_by and made_by[name] != number}
            for number, node in enumerate(graph.node)
        ]
        users: dict[int, list[int]] = {}
        for number, before in enumerate(needs):
            for producer in before:
                users.setdefault(producer, []).append(number)
        ready = [number for number, before in enumerate(needs) if not before]
        order = []
        while ready:
            number = ready.pop(draw.randrange(len(ready)))
            order.append(number)
            for user in users.get(number, ()):
                needs[user].discard(number)
                if not needs[user]:
                    ready.append(user)
        assert len(order) == len(graph.node)
        nodes = [graph.node[number] for number in order]
        copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)
    return model


def _read(node: onnx.NodeProto) -> Iterator[str]:
    """All names that a node reads, in its bodies too."""
    yield from node.input
    for attribute in node.attribute:
        for body in (*attribute.graphs, *((attribute.g,) if attribute.type == AttributeProto.GRAPH else ())):
            for inner in body.node:
                yield from _read(inner)
            yield from (value.name for value in body.output)


def initialisers_as_constants(model: ModelProto) -> ModelProto | None:
    """Initialisers that the file holds are Constant nodes."""
    graph = model.graph
    fed = {value.name for value in graph.input}
    moved = [t for t in graph.initializer if t.name not in fed and t.data_location != onnx.TensorProto.EXTERNAL]
    if not moved:
        return None
    nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in moved]
    kept = [t for t in graph.initializer if t.name in fed or t.data_location == onnx.TensorProto.EXTERNAL]
    rest = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*nodes, *rest])
    return model


def constants_as_initialisers(model: ModelProto) -> ModelProto | None:
    """Constant nodes of tensors are initialisers."""
    graph = model.graph
    found = [n for n in graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"]
    outputs = {value.name for value in graph.output}
    found = [node for node in found if node.output[0] not in outputs]
    if not found or model.ir_version < 4:
        return None
    for node in found:
        tensor = onnx.TensorProto.FromString(node.attribute[0].t.SerializeToString())
        tensor.name = node.output[0]
        graph.initializer.append(tensor)
        graph.node.remove(node)
    return model


def renamed_symbols(model: ModelProto) -> ModelProto | None:
    """Symbols of inputs and outputs have other names."""
    names: dict[str, str] = {}
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param.isidentifier():
                dim.dim_param = names.setdefault(dim.dim_param, f"size{len(names)}")
            elif dim.dim_param:
                dim.ClearField("dim_param")
    return model if names else None


def without_symbols_of_outputs(model: ModelProto) -> ModelProto:
    """Nothing is declared of values but the inputs."""
    del model.graph.value_info[:]
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return model


def inlined(model: ModelProto) -> ModelProto | None:
    """Calls of functions are their bodies."""
    return inliner.inline_local_functions(model) if model.functions else None


FORMS: Final[dict[str, Change]] = {
    "values renamed": renamed_values,
    "nodes reordered": reordered_nodes,
    "initialisers as Constant nodes": initialisers_as_constants,
    "Constant nodes as initialisers": constants_as_initialisers,
    "symbols renamed": renamed_symbols,
    "declarations dropped": without_symbols_of_outputs,
    "functions inlined": inlined,
}


def optimised(path: Path, level: str, to: Path) -> bool:
    """The model as onnxruntime writes it after its optimisations; False if it does not load it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level.upper()}")
    options.optimized_model_filepath = str(to)
    try:
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


def quantised(path: Path, to: Path) -> bool:
    """The model with dynamic quantisation; False if onnxruntime's tool fails."""
    import logging

    from onnxruntime.quantization import quantize_dynamic

    logging.disable(logging.WARNING)
    try:
        quantize_dynamic(str(path), str(to))
    except Exception:
        return False
    finally:
        logging.disable(logging.NOTSET)
    return True


def quantised_statically(path: Path, feeds: Mapping[str, object], to: Path) -> bool:
    """The model in QDQ form, calibrated on one run; False if onnxruntime's tool fails."""
    import logging

    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Once(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = [dict(feeds)]

        def get_next(self) -> dict[str, object] | None:
            return self._left.pop() if self._left else None

    logging.disable(logging.WARNING)
    try:
        quantize_static(str(path), str(to), Once())
    except Exception:
        return False
    finally:
        logging.disable(logging.NOTSET)
    return True
