"""Models as onnxruntime's optimiser leaves them: every value of them held against real runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

import absint
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from tests.transfer.harness import Binding


def optimised(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """The model as onnxruntime would run it on this machine."""
    path = folder / "optimised.onnx"
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(path)


def check_same_outputs(model: onnx.ModelProto, fused: onnx.ModelProto) -> None:
    """The outputs have the same shapes before and after the optimiser."""
    before, after = absint.analyze(model), absint.analyze(fused)
    for output in model.graph.output:
        assert str(after.shapes[output.name]) == str(before.shapes[output.name])


def check_every_value(model: onnx.ModelProto, channels: int, bindings: Sequence[Binding]) -> list[str]:
    """Hold each node's outputs against runs with x (N, channels, H, W), where N, H and W tell a dim.

    Gives the operators of the outputs of which they do not tell every dim.
    """
    model = with_all_outputs(model)
    names = [output.name for output in model.graph.output]
    result = absint.analyze(model)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    partly: dict[str, None] = {}
    for binding in bindings:
        x = np.zeros((binding["N"], channels, binding["H"], binding["W"]), np.float32)
        for name, array in zip(names, session.run(None, {"x": x}), strict=True):
            if check_sizes(name, result.values[name], binding, array.shape) < array.ndim:
                partly[name] = None
    return [node.op_type for node in model.graph.node for name in node.output if name in partly]


def with_all_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the outputs of all nodes as its own."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.output[:]
    result.graph.output.extend(onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output)
    return result


def check_sizes(name: str, value: object, binding: Binding, sizes: Sequence[int]) -> int:
    """The number of dims that the value determines; each must be as it ran."""
    assert isinstance(value, Tensor)
    assert value.shape.rank == len(sizes)
    known = [d if isinstance(d, Expr) and {s.name for s in d.symbols} <= set(binding) else None for d in value.shape]
    for dim, size in zip(known, sizes, strict=True):
        assert dim is None or dim.evaluate(binding) == size, f"{name}: {dim} at {binding}, ran {sizes}"
    return sum(dim is not None for dim in known)
