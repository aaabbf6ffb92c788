"""A model written layer by layer; weights are small random numbers, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

Dims = Sequence[int | str | None]


class Net:
    """The nodes of one graph. Every method that adds a node gives the name of its output."""

    def __init__(self, opset: int = 18) -> None:
        self._opset = opset
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._initializers: list[Any] = []
        self._random = np.random.default_rng(0)

    def input(self, name: str, *dims: int | str | None, dtype: int = FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        name = f"const{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weight(self, *shape: int) -> str:
        return self.constant(self._random.standard_normal(shape) * 0.1, np.float32)

    def add(self, operator: str, name: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node of the name; its outputs are `name:0`, `name:1`, ... or just the name."""
        names = [name] if outputs == 1 else [f"{name}:{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, name, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, *outputs: str) -> ModelProto:
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self._nodes, "net", self._inputs, results, self._initializers)
        opsets = [helper.make_opsetid("", self._opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    # Layers

    def conv(
        self, name: str, x: str, cin: int, cout: int, kernel: int = 3, *, stride: int = 1, pad: int | None = None,
        axes: int = 2, group: int = 1,
    ) -> str:  # fmt: skip
        """A convolution; by default it keeps the size where the stride is 1."""
        pad = kernel // 2 if pad is None else pad
        weight = self.weight(cout, cin // group, *[kernel] * axes)
        return self._window("Conv", name, [x, weight], kernel, stride, pad, axes, group=group)

    def pool(self, operator: str, name: str, x: str, kernel: int, stride: int, pad: int = 0) -> str:
        return self._window(operator, name, [x], kernel, stride, pad, 2)

    def _window(
        self, operator: str, name: str, inputs: Sequence[str], kernel: int, stride: int, pad: int, axes: int,
        **attributes: Any,
    ) -> str:  # fmt: skip
        window = {"kernel_shape": [kernel] * axes, "strides": [stride] * axes, "pads": [pad] * (2 * axes)}
        return str(self.add(operator, name, *inputs, **window, **attributes))

    def linear(self, name: str, x: str, cin: int, cout: int) -> str:
        product = self.add("MatMul", f"{name}.matmul", x, self.weight(cin, cout))
        return str(self.add("Add", name, product, self.weight(cout)))

    def size(self, name: str, x: str, axis: int) -> str:
        """The size of an axis, as a vector of one element."""
        return str(self.add("Shape", name, x, start=axis, end=axis + 1))

    def number(self, name: str, operator: str, *operands: str | int) -> str:
        """Integer arithmetic on vectors of one element."""
        return str(self.add(operator, name, *(self.constant([o]) if isinstance(o, int) else o for o in operands)))

    def reshape(self, name: str, x: str, *target: str | int, **attributes: Any) -> str:
        parts = [self.constant([t]) if isinstance(t, int) else t for t in target]
        return str(self.add("Reshape", name, x, self.add("Concat", f"{name}.target", *parts, axis=0), **attributes))
