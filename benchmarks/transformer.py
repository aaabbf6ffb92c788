"""A decoder with a KV cache as exporters write it: shape arithmetic in the graph, past and present of every layer."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, VOCABULARY = 64, 4, 100


class Builder:
    """Collects the nodes and constants of one graph."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{op}/{output}", **attributes))
        return output

    def integers(self, *values: int) -> str:
        name = "i_" + "_".join(map(str, values)).replace("-", "m")
        self.constants.setdefault(name, numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def weight(self, name: str, *shape: int) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.zeros(shape, np.float32), name))
        return name

    def size(self, value: str, axis: int, output: str) -> str:
        shape = self.node("Shape", [value], f"{output}/shape")
        return self.node("Gather", [shape, self.integers(axis)], output, axis=0)


def decoder(layers: int = 48) -> onnx.ModelProto:
    """`input_ids` (batch, seq) and caches (batch, heads, past, width/heads) to logits and longer caches."""
    b = Builder()
    head = WIDTH // HEADS
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "seq"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)]
    x = b.node("Gather", [b.weight("table", VOCABULARY, WIDTH), "input_ids"], "embedded", axis=0)
    for layer in range(layers):
        at = f"layer{layer}"
        batch, seq = b.size(x, 0, f"{at}/batch"), b.size(x, 1, f"{at}/seq")
        split = b.node("Concat", [batch, seq, b.integers(HEADS), b.integers(-1)], f"{at}/split", axis=0)
        whole = b.node("Concat", [batch, seq, b.integers(WIDTH)], f"{at}/whole", axis=0)
        normed = b.node("LayerNormalization", [x, b.weight("scale", WIDTH)], f"{at}/normed")
        heads = {}
        for part in ("query", "key", "value"):
            flat = b.node("MatMul", [normed, b.weight(part, WIDTH, WIDTH)], f"{at}/{part}/flat")
            parted = b.node("Reshape", [flat, split], f"{at}/{part}/parted")
            heads[part] = b.node("Transpose", [parted], f"{at}/{part}", perm=[0, 2, 1, 3])
        for part in ("key", "value"):
            cache = [f"past.{layer}.{part}", f"present.{layer}.{part}"]
            inputs.append(helper.make_tensor_value_info(cache[0], TensorProto.FLOAT, ["batch", HEADS, "past", head]))
            outputs.append(helper.make_tensor_value_info(cache[1], TensorProto.FLOAT, None))
            heads[part] = b.node("Concat", [cache[0], heads[part]], cache[1], axis=2)
        turned = b.node("Transpose", [heads["key"]], f"{at}/turned", perm=[0, 1, 3, 2])
        scores = b.node("MatMul", [heads["query"], turned], f"{at}/scores")
        weights = b.node("Softmax", [scores], f"{at}/weights", axis=-1)
        mixed = b.node("MatMul", [weights, heads["value"]], f"{at}/mixed")
        back = b.node("Transpose", [mixed], f"{at}/back", perm=[0, 2, 1, 3])
        joined = b.node("Reshape", [back, whole], f"{at}/joined")
        projected = b.node("MatMul", [joined, b.weight("project", WIDTH, WIDTH)], f"{at}/projected")
        x = b.node("Add", [x, projected], f"{at}/attended")
        wide = b.node("MatMul", [x, b.weight("wide", WIDTH, 4 * WIDTH)], f"{at}/wide")
        active = b.node("Relu", [wide], f"{at}/active")
        narrow = b.node("MatMul", [active, b.weight("narrow", 4 * WIDTH, WIDTH)], f"{at}/narrow")
        x = b.node("Add", [x, narrow], f"{at}/out")
    b.node("MatMul", [x, b.weight("head", WIDTH, VOCABULARY)], "logits")
    graph = helper.make_graph(b.nodes, "decoder", inputs, outputs, list(b.constants.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
