"""Makes bert.onnx and traced.onnx: a BERT of two layers with random weights, as exporters write it.

    python examples/bert/make.py [FOLDER]

The position table has 64 rows, as a real one has 512. In the second file the last Reshape has a constant where the
batch should be, as a tracer leaves it that saw a batch of 1, and the output is still declared `[batch, seq, 16]`.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, MLP, LAYERS, WORDS, POSITIONS = 16, 2, 32, 2, 50, 64


class Graph:
    """Nodes and weights in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)

    def add(self, scope: str, operator: str, *inputs: str, **attributes: object) -> str:
        """A node; the name of its output."""
        same = sum(node.op_type == operator and node.name.startswith(f"{scope}/{operator}") for node in self.nodes)
        name = f"{scope}/{operator}" + (f"_{same}" if same else "")
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=name, **attributes))
        return output

    def weight(self, name: str, *sizes: int) -> str:
        array = self.random.normal(0, 0.2, sizes).astype(np.float32)
        return self.constant(name, array)

    def constant(self, name: str, array: object) -> str:
        if all(weight.name != name for weight in self.weights):
            self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def integers(self, *numbers: int) -> str:
        return self.constant(f"int_{'_'.join(map(str, numbers))}", np.array(numbers, np.int64))


def linear(graph: Graph, scope: str, x: str, inner: int, outer: int) -> str:
    product = graph.add(scope, "MatMul", x, graph.weight(f"{scope[1:].replace('/', '.')}.weight", inner, outer))
    return graph.add(scope, "Add", product, graph.weight(f"{scope[1:].replace('/', '.')}.bias", outer))


def norm(graph: Graph, scope: str, x: str) -> str:
    scale = graph.constant("ones", np.ones(HIDDEN, np.float32))
    return graph.add(scope, "LayerNormalization", x, scale, graph.constant("zeros", np.zeros(HIDDEN, np.float32)))


def size_of(graph: Graph, scope: str, x: str, axis: int) -> str:
    """A size of x as a tensor of one element."""
    shape = graph.add(scope, "Shape", x)
    index = graph.constant(f"at_{axis}", np.array(axis, np.int64))
    size = graph.add(scope, "Gather", shape, index, axis=0)
    return graph.add(scope, "Unsqueeze", size, graph.integers(0))


def embeddings(graph: Graph) -> str:
    scope = "/embeddings"
    words = graph.add(scope, "Gather", graph.weight("embeddings.words", WORDS, HIDDEN), "input_ids")
    seq = size_of(graph, scope, "input_ids", 1)
    numbers = graph.constant("position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
    numbers = graph.add(scope, "Slice", numbers, graph.integers(0), seq, graph.integers(1))
    places = graph.add(scope, "Gather", graph.weight("embeddings.positions", POSITIONS, HIDDEN), numbers)
    return norm(graph, scope, graph.add(scope, "Add", words, places))


def attention(graph: Graph, scope: str, x: str, bias: str) -> str:
    batch, seq = size_of(graph, scope, x, 0), size_of(graph, scope, x, 1)
    width = HIDDEN // HEADS
    to = graph.add(scope, "Concat", batch, seq, graph.integers(HEADS), graph.integers(width), axis=0)

    def heads(part: str, order: list[int]) -> str:
        split = graph.add(scope, "Reshape", linear(graph, f"{scope}/{part}", x, HIDDEN, HIDDEN), to)
        return graph.add(scope, "Transpose", split, perm=order)

    query, key, value = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
    root = graph.constant("root", np.float32(width**0.5))
    scores = graph.add(scope, "Div", graph.add(scope, "MatMul", query, key), root)
    chances = graph.add(scope, "Softmax", graph.add(scope, "Add", scores, bias), axis=-1)
    mixed = graph.add(scope, "Transpose", graph.add(scope, "MatMul", chances, value), perm=[0, 2, 1, 3])
    back = graph.add(scope, "Concat", batch, seq, graph.integers(HIDDEN), axis=0)
    return linear(graph, f"{scope}/output", graph.add(scope, "Reshape", mixed, back), HIDDEN, HIDDEN)


def gelu(graph: Graph, scope: str, x: str) -> str:
    share = graph.add(scope, "Erf", graph.add(scope, "Div", x, graph.constant("root_of_2", np.float32(2**0.5))))
    share = graph.add(scope, "Add", share, graph.constant("one", np.float32(1)))
    return graph.add(scope, "Mul", graph.add(scope, "Mul", x, share), graph.constant("half", np.float32(0.5)))


def layer(graph: Graph, scope: str, x: str, bias: str) -> str:
    x = norm(graph, f"{scope}/attention", graph.add(scope, "Add", x, attention(graph, f"{scope}/attention", x, bias)))
    inner = linear(graph, f"{scope}/mlp/up", x, HIDDEN, MLP)
    inner = gelu(graph, f"{scope}/mlp", inner)
    return norm(
        graph, f"{scope}/mlp", graph.add(scope, "Add", x, linear(graph, f"{scope}/mlp/down", inner, MLP, HIDDEN))
    )


def bert(traced: bool) -> onnx.ModelProto:
    graph = Graph()
    mask = graph.add("/mask", "Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = graph.add("/mask", "Sub", graph.constant("one", np.float32(1)), mask)
    mask = graph.add("/mask", "Mul", mask, graph.constant("low", np.float32(-1e9)))
    bias = graph.add("/mask", "Unsqueeze", mask, graph.integers(1, 2))
    x = embeddings(graph)
    for number in range(LAYERS):
        x = layer(graph, f"/layer.{number}", x, bias)
    to = graph.integers(1, -1, HIDDEN) if traced else graph.integers(0, 0, HIDDEN)
    graph.nodes.append(helper.make_node("Reshape", [x, to], ["last_hidden_state"], name="/Reshape"))
    first = graph.add("/pooler", "Gather", "last_hidden_state", graph.constant("at_0", np.array(0, np.int64)), axis=1)
    pooled = linear(graph, "/pooler/dense", first, HIDDEN, HIDDEN)
    graph.nodes.append(helper.make_node("Tanh", [pooled], ["pooled"], name="/pooler/Tanh"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "seq", HIDDEN]),
        helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", HIDDEN]),
    ]
    made = helper.make_graph(graph.nodes, "bert", inputs, outputs, graph.weights)
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="absint examples"
    )
    onnx.checker.check_model(model)
    return model


def main(folder: Path) -> None:
    for name, traced in (("bert", False), ("traced", True)):
        onnx.save(bert(traced), folder / f"{name}.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
