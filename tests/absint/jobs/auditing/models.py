"""Models in ONNX's text syntax, for claims about them."""

from __future__ import annotations

import warnings

from onnx import ModelProto, parser


def model(text: str, opset: int = 18) -> ModelProto:
    """The model of a graph, from its inputs on; local functions of domain `my` follow it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}, "my": 1]>\ngraph {text}')


SUM = "(float[N] x, float[M] y) => (z) {z = Add(x, y)}"
"""Neither operand decides the size."""

LIE = "(float[N] x) => (float[N] z) <float[N] y> {y = Concat<axis = 0>(x, x) z = Relu(x)}"
"""The declared `y` is false, and `z` is true."""
