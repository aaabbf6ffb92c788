"""Small models with bodies, for tests of types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

import absint

FLOAT, INT, LONG, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
Typed = tuple[str, int | None]
"""A name with its declared element type, None for no declaration."""


def info(item: Typed) -> ValueInfoProto:
    """The declaration, of unknown shape."""
    name, dtype = item
    return ValueInfoProto(name=name) if dtype is None else helper.make_tensor_value_info(name, dtype, None)


def body(nodes: Sequence[NodeProto], outputs: Sequence[Typed], inputs: Sequence[Typed] = (), **more: Any) -> GraphProto:
    """A subgraph."""
    return helper.make_graph(list(nodes), "body", [*map(info, inputs)], [*map(info, outputs)], **more)


def model(
    nodes: Sequence[NodeProto],
    outputs: Sequence[Typed] = (("y", None),),
    value_info: Sequence[Typed] = (),
    opset: int = 17,
    functions: Sequence[onnx.FunctionProto] = (),
) -> ModelProto:
    """A model over `x` (float[N]), `k` (int64[N]), `m` (int64) and `c` (bool)."""
    inputs = [helper.make_tensor_value_info("x", FLOAT, ["N"]), helper.make_tensor_value_info("k", LONG, ["N"])]
    inputs += [helper.make_tensor_value_info("m", LONG, []), helper.make_tensor_value_info("c", BOOL, [])]
    graph = helper.make_graph(list(nodes), "g", inputs, [*map(info, outputs)], value_info=[*map(info, value_info)])
    imports = [helper.make_opsetid(domain, 1) for domain in ("com.microsoft", "own")]
    imports += [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def told(made: ModelProto) -> list[str]:
    """The errors of a model, which every answer must agree with."""
    result = absint.analyze(made)
    errors = [str(d) for d in result.diagnostics if d.severity.value == "error"]
    sizes = dict.fromkeys(result.symbols, 2)
    outcomes = {result.check(sizes).outcome.value == "illegal", result.check_range({}).outcome.value == "illegal"}
    assert outcomes == {bool(errors)} == {not result.can_run}
    assert str(result.contract()).startswith("false") == bool(errors)
    return errors
