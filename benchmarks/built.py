"""Models that show growth: stacks of decoder layers, a chain, a nest of calls, a decoder beside 1 GB of weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from transformer import decoder


def chain(length: int) -> onnx.ModelProto:
    """One value through many nodes."""
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"x{i + 1}"]) for i in range(length)]
    ends = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, ["N", 4]) for i in (0, length)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def nest(depth: int) -> onnx.ModelProto:
    """Functions that call each other, so many deep."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = [helper.make_node("Relu", ["x"], ["y"])]
    functions = [helper.make_function("local", "f0", ["x"], ["y"], inner, imports)]
    for level in range(1, depth):
        call = [helper.make_node(f"f{level - 1}", ["x"], ["y"], domain="local")]
        functions.append(helper.make_function("local", f"f{level}", ["x"], ["y"], call, imports))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4]) for name in "xy"]
    nodes = [helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="local")]
    graph = helper.make_graph(nodes, "nest", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions)


def heavy(folder: Path) -> onnx.ModelProto:
    """A decoder beside 1 GB of weights in a file."""
    model = decoder(4)
    with (folder / "heavy.weights").open("wb") as file:
        file.truncate(1 << 30)
    weight = TensorProto(name="heavy", data_type=TensorProto.FLOAT, dims=[1 << 14, 1 << 14])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "heavy.weights"), ("offset", "0"), ("length", str(1 << 30))):
        weight.external_data.add(key=key, value=value)
    model.graph.initializer.append(weight)
    model.graph.node.append(helper.make_node("MatMul", ["heavy", "heavy"], ["squared"]))
    return model


def built(folder: Path) -> Iterator[Path]:
    """The models of --built."""
    models = {f"decoder_{layers}_layers": decoder(layers) for layers in (67, 333, 1667)}
    models |= {"chain_100k": chain(100_000), "nest_2000": nest(2000), "weights_1gb": heavy(folder)}
    for name, model in models.items():
        path = folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        yield path
