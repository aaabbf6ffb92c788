"""Models for tests: from onnx's text format (`parsed`), or from nodes (`model`, `body`, `loop_body`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
    parser,
)

node = helper.make_node


def parsed(
    graph: str, opset: int | str = 18, *, functions: str = "", domains: Mapping[str, int | str] = {}
) -> ModelProto:
    """The model of a graph, `(float[N] x) => (float[M] y) {...}`; domain `my` is imported where it is used.

    The graph may begin with a name; else it is called `graph`.
    """
    own = {"my": 1} if "my." in graph or functions else {}
    imports = ", ".join(f'"{domain}": {version}' for domain, version in {"": opset, **own, **domains}.items())
    name = "graph " if graph.lstrip().startswith("(") else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the parser, about types that it leaves unknown
        return parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> {name}{graph} {functions}")


def floats(name: str, *dims: int | str | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def ints(name: str, *dims: int | str | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, dims)


def boolean(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


def untyped(name: str, dtype: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, None)


def const(name: str, value: Any, dtype: Any = np.int64) -> NodeProto:
    return node("Constant", [], [name], value=numpy_helper.from_array(np.array(value, dtype=dtype)))


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
    outputs: Sequence[str] | None = None,
    opset: int = 18,
    *,
    functions: Sequence[FunctionProto] = (),
    declared: Sequence[ValueInfoProto] = (),
    **constants: Any,
) -> ModelProto:
    """A model of nodes over inputs and constants. By default each value is an output; no output declares its type."""
    names = outputs if outputs is not None else dict.fromkeys(name for n in nodes for name in n.output if name)
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(
        list(nodes), "graph", list(inputs), [ValueInfoProto(name=name) for name in names], tensors, value_info=declared
    )
    domains = dict.fromkeys([*(f.domain for f in functions), *(n.domain for n in nodes if n.domain)])
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def function(
    name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[NodeProto], **more: Any
) -> FunctionProto:
    """A function of domain `my`."""
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    return helper.make_function("my", name, list(inputs), list(outputs), list(nodes), imports, **more)
