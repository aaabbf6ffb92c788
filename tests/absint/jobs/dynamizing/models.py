"""Static models, and runs of what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import absint
from absint.jobs.dynamizing.dynamize import Dynamized

Array = np.ndarray
Axes = Mapping[str, Mapping[int, str]]


def static(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str] | None],
    constants: Mapping[str, Array] | None = None,
    *,
    opset: int = 18,
    ir_version: int = 8,
    kinds: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of float inputs and outputs, unless `kinds` says otherwise."""
    kinds = kinds or {}

    def info(name: str, dims: Sequence[int | str] | None) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), dims)

    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    ins = [info(name, dims) for name, dims in inputs.items()]
    if ir_version < 4:
        ins += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in tensors]
    graph = helper.make_graph(nodes, "g", ins, [info(name, dims) for name, dims in outputs.items()], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    onnx.checker.check_model(model, full_check=True)
    return model


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def node(operator: str, inputs: str, outputs: str, **attributes: object) -> onnx.NodeProto:
    """A node; its name is that of its first output."""
    names = outputs.split()
    made = helper.make_node(operator, [i if i != "-" else "" for i in inputs.split()], names, name=names[0])
    made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return made


class Mended(NamedTuple):
    """A mended model."""

    found: Dynamized
    path: Path

    @property
    def model(self) -> onnx.ModelProto:
        return onnx.load(self.path)

    def run(self, **feeds: Array) -> list[Array]:
        """The outputs in onnxruntime."""
        return run(self.path.read_bytes(), feeds)


def run(model: bytes, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    outputs: list[Array] = session.run(None, dict(feeds))
    return outputs


def refused(model: onnx.ModelProto, axes: Axes, tmp_path: Path) -> Dynamized:
    """The answer about a model that is not written, since a constant has more than one reading, or rows differ."""
    path = tmp_path / "refused.onnx"
    found = absint.dynamize(model, axes, path, fix=True)
    assert found.refusal
    assert not path.exists()
    assert not found.fixed
    assert not found.is_free
    assert found.path == ""
    return found


def mended(model: onnx.ModelProto, axes: Axes, tmp_path: Path) -> Mended:
    """The model made dynamic and mended. It is a model for the checker, and at the old sizes it computes the same."""
    path = tmp_path / "dynamic.onnx"
    found = absint.dynamize(model, axes, path, fix=True)
    made = onnx.load(path)
    onnx.checker.check_model(made, full_check=True)
    assert not found.differing
    rng = np.random.default_rng(0)
    feeds = {}
    for info in model.graph.input:
        if any(info.name == tensor.name for tensor in model.graph.initializer):
            continue
        dims = [d.dim_value if d.HasField("dim_value") else 5 for d in info.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        data = rng.standard_normal(dims) if dtype.kind == "f" else rng.integers(0, 2, dims)
        feeds[info.name] = data.astype(dtype)
    before, after = run(model.SerializeToString(), feeds), run(path.read_bytes(), feeds)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    return Mended(found, path)
