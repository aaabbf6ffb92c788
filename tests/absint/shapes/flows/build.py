"""Builders of the models, and their register."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

node = helper.make_node
Bindings = Sequence[Mapping[str, int]]


@dataclass(frozen=True)
class Flow:
    """A model, runs of it (bindings, each with every choice of data), and expected shapes by value."""

    model: ModelProto
    bindings: Bindings
    data: Sequence[Mapping[str, Any]] = ({},)
    expect: Mapping[str, str] = field(default_factory=dict)


FLOWS: dict[str, Callable[[], Flow]] = {}


def flow(build: Callable[[], Flow]) -> Callable[[], Flow]:
    """Register a model."""
    FLOWS[build.__name__] = build
    return build


def floats(name: str, *dims: int | str | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def ints(name: str, *dims: int | str | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, dims)


def boolean(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


def untyped(name: str, dtype: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, None)


def const(name: str, value: Any, dtype: Any = np.int64) -> NodeProto:
    return node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array(value, dtype=dtype)))


def body(nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> GraphProto:
    return helper.make_graph(list(nodes), "body", list(inputs), list(outputs))


def branch(nodes: Sequence[NodeProto], *outputs: ValueInfoProto) -> GraphProto:
    return body(nodes, [], outputs)


def loop_body(
    nodes: Sequence[NodeProto],
    carried: Sequence[str] = (),
    scans: Sequence[str] = (),
    cond: str = "",
    dtype: int = TensorProto.FLOAT,
) -> GraphProto:
    """A body over `i`, `c` and carried values x -> x_next, whose condition stays as it is unless one is named."""
    keep = [] if cond else [node("Identity", ["c"], ["c_next"])]
    outs = [*(f"{name}_next" for name in carried), *scans]
    return body(
        [*keep, *nodes],
        [ints("i"), boolean("c"), *(untyped(name, dtype) for name in carried)],
        [boolean(cond or "c_next"), *(untyped(name, dtype) for name in outs)],
    )


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[str],
    opset: int = 18,
    functions: Sequence[onnx.FunctionProto] = (),
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "graph", list(inputs), [ValueInfoProto(name=name) for name in outputs])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(f.domain, 1) for f in functions)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def sizes(*names: str, values: Sequence[int] = (0, 1, 2, 5)) -> list[dict[str, int]]:
    """Every combination, for few names."""
    result: list[dict[str, int]] = [{}]
    for name in names:
        result = [{**b, name: v} for b in result for v in values]
    return result


TRIPS = [{"m": m} for m in (0, 1, 3, -2)]


def size_is(value: str, axis: int, number: int, out: str = "is") -> list[NodeProto]:
    """out: size of an axis == number."""
    return [
        node("Shape", [value], [f"{out}_shape"]),
        const(f"{out}_axis", axis),
        node("Gather", [f"{out}_shape", f"{out}_axis"], [f"{out}_size"], axis=0),
        const(f"{out}_number", number),
        node("Equal", [f"{out}_size", f"{out}_number"], [out]),
    ]


def carry(
    step: Sequence[NodeProto],
    expect: str,
    inputs: Sequence[ValueInfoProto],
    names: Sequence[str],
    after: Sequence[NodeProto] = (),
    data: Sequence[Mapping[str, Any]] = TRIPS,
    values: Sequence[int] = (0, 1, 2, 5),
) -> Flow:
    """A loop over M that carries x from x0."""
    nodes = [node("Loop", ["m", "", "x0"], ["y"], body=loop_body(step, ["x"])), *after]
    out = "z" if after else "y"
    made = model(nodes, [ints("m"), *inputs], [out])
    return Flow(made, sizes(*names, values=values), data, {"y": expect})


def function(
    name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[NodeProto], **more: Any
) -> onnx.FunctionProto:
    return helper.make_function(
        "my",
        name,
        list(inputs),
        list(outputs),
        list(nodes),
        [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)],
        **more,
    )
