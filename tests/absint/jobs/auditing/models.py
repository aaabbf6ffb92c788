"""Models in ONNX's text syntax, for claims about them."""

from __future__ import annotations

from onnx import ModelProto

from tests.models import parsed


def model(text: str, opset: int = 18) -> ModelProto:
    """The model of a graph, from its inputs on; local functions of domain `my` follow it."""
    return parsed(text, opset)


SUM = "(float[N] x, float[M] y) => (z) {z = Add(x, y)}"
"""Neither operand decides the size."""

LIE = "(float[N] x) => (float[N] z) <float[N] y> {y = Concat<axis = 0>(x, x) z = Relu(x)}"
"""The declared `y` is false, and `z` is true."""
