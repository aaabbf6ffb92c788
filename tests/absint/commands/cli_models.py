"""Small models for tests of the command line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info
node = helper.make_node


def save(
    path: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
) -> None:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def write_models() -> None:
    """Write all of them into the current folder."""
    # a requirement over symbols, and a size that data decide
    save(
        "product.onnx",
        [
            node("MatMul", ["x", "w"], ["y"], name="fc"),
            node("Relu", ["y"], ["z"], name="relu"),
            node("NonZero", ["z"], ["found"], name="nz"),
        ],
        [value("x", FLOAT, ["N", "K"]), value("w", FLOAT, ["D", 2])],
        [value("z", FLOAT, None), value("found", INT64, None)],
    )
    # H and W must be even
    save(
        "unet.onnx",
        [
            node("MaxPool", ["x"], ["down"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
            node("Resize", ["down", "", "scales"], ["up"], name="up", mode="nearest"),
            node("Concat", ["x", "up"], ["y"], name="cat", axis=1),
        ],
        [value("x", FLOAT, [1, 3, "H", "W"])],
        [value("y", FLOAT, None)],
        [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")],
    )
    # 4 against 5
    save(
        "never.onnx",
        [node("MatMul", ["x", "w"], ["y"], name="bad")],
        [value("x", FLOAT, ["N", 4]), value("w", FLOAT, [5, 2])],
        [value("y", FLOAT, None)],
    )
    # nothing required
    save(
        "free.onnx",
        [node("Relu", ["x"], ["y"], name="relu")],
        [value("x", FLOAT, ["N", "M", "K"])],
        [value("y", FLOAT, None)],
    )
    # no symbols
    save("fixed.onnx", [node("Relu", ["x"], ["y"])], [value("x", FLOAT, [2, 3])], [value("y", FLOAT, None)])
    # D must be a size that only data decide
    save(
        "matched.onnx",
        [
            node("NonZero", ["x"], ["found"], name="nz"),
            node("Cast", ["found"], ["floats"], name="cast", to=FLOAT),
            node("MatMul", ["floats", "w"], ["y"], name="fc"),
        ],
        [value("x", FLOAT, ["N"]), value("w", FLOAT, ["D", 2])],
        [value("y", FLOAT, None)],
    )
    # symbols with odd names, a symbol and a value of one name, a node that wants to steer the terminal
    save(
        "odd.onnx",
        [node("Relu", ["x"], ["y/0:1"], name="relu"), node("Add", ["y/0:1", "b"], ["N"], name="add\x1b[31m")],
        [value("x", FLOAT, ["batch size", "N"]), value("b", FLOAT, ["a=b"])],
        [value("y/0:1", FLOAT, None), value("N", FLOAT, None)],
    )
    # a requirement that holds where N is at least 4, and two inputs that share a symbol
    branches = [
        helper.make_graph([node("MatMul", ["x", "w"], ["p"], name="fc")], "then", [], [value("p", FLOAT, None)]),
        helper.make_graph([node("Identity", ["w"], ["q"], name="same")], "else", [], [value("q", FLOAT, None)]),
    ]
    save(
        "branches.onnx",
        [
            node("Shape", ["x"], ["n"], name="n", start=0, end=1),
            node("Squeeze", ["n"], ["n0"], name="n0"),
            node("Less", ["three", "n0"], ["many"], name="many"),
            node("If", ["many"], ["y"], name="if", then_branch=branches[0], else_branch=branches[1]),
            node("Gather", ["w", "ids"], ["picked"], name="pick"),
        ],
        [value("x", FLOAT, ["N", "K"]), value("w", FLOAT, ["D", 2]), value("ids", INT64, ["N"])],
        [value("y", FLOAT, None), value("picked", FLOAT, None)],
        [helper.make_tensor("three", INT64, [], [3])],
    )
