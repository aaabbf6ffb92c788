"""Models around one custom operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

Dims = Sequence[int | str | None] | None


def around(
    op: str, *inputs: Dims, domain: str = "my", outputs: int = 1, version: int = 1, nodes: int = 1, **attributes: Any
) -> onnx.ModelProto:
    """X0, X1, ... -> op -> Y0, Y1, ...; and Relu of X0, which any fault of the operator must leave alone."""
    names = [f"X{k}" for k in range(len(inputs))]
    found = [f"Y{k}" for k in range(outputs)]
    own = [helper.make_node(op, names, found, domain=domain, name="own", **attributes)]
    own += [helper.make_node(op, names, [f"{f}_{k}" for f in found], domain=domain) for k in range(1, nodes)]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in zip(names, inputs, strict=True)]
    ends = [onnx.ValueInfoProto(name=name) for name in (*found, "Z")]
    graph = helper.make_graph([*own, helper.make_node("Relu", ["X0"], ["Z"])], "custom", infos, ends)
    opsets = [helper.make_opsetid("", version if not domain else 18)]
    if domain:
        opsets.append(helper.make_opsetid(domain, version))
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
