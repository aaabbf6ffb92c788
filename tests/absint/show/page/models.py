"""Models for tests of pages."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto, TensorProto, helper

from tests.models import parsed

EXAMPLES = Path(__file__).parents[4] / "examples"
DECODER = EXAMPLES / "tiny_decoder.onnx"
DETECTOR = EXAMPLES / "tiny_detector.onnx"


def needs_a_multiple() -> ModelProto:
    """A model that runs at even sizes only."""
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "target"], ["out"], name="halves")],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, "K"])],
        [helper.make_tensor("target", TensorProto.INT64, [3], [2, 7, -1])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def needs_two_changes() -> ModelProto:
    """N must be even, and its half M or 1: from N=9, M=6 the nearest legal sizes change both."""
    return parsed(
        """(float[N, 3] x, float[M, 2, 3] y) => (float[K, 2, 3] z)
        <int64[3] to = {-1, 2, 3}> { pairs = Reshape (x, to) z = Add (pairs, y) }"""
    )


def squeezed_if_one() -> ModelProto:
    """The rank of the output is 1 where C is 1, else 2."""
    return parsed(
        """(float[N, C] x) => (float[] y)
        <int64 one = {1}, int64[1] last = {1}> {
            size = Shape <start = 1, end = 2> (x)
            c = Squeeze (size)
            is_one = Equal (c, one)
            y = If (is_one) <
                then_branch = yes () => (float[N] s) { s = Squeeze (x, last) },
                else_branch = no () => (float[N, C] t) { t = Identity (x) }
            >
        }"""
    )


def flat(count: int) -> ModelProto:
    """A model of many nodes whose names say nothing."""
    operators = ("Relu", "Abs", "Neg", "Sigmoid", "Tanh")
    nodes = [helper.make_node(operators[at % 5], [f"v{at}"], [f"v{at + 1}"]) for at in range(count)]
    graph = helper.make_graph(
        nodes,
        "flat",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info(f"v{count}", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
