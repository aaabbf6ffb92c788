"""Grids of quantisation and of products and convolutions of quantised tensors."""

from __future__ import annotations

import random

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import dims, near
from tests.transfer.harness import Arg, Case

F, F16, I8, U8, I32 = (
    TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32
)  # fmt: skip
I16, U16 = TensorProto.INT16, TensorProto.UINT16


def parameters(rng: random.Random, x: list[int], axis: int) -> list[int]:
    """The shape of a scale or zero point: mostly a single value, or one for each slice."""
    kind = rng.choice(("scalar", "scalar", "one", "vector", "vector", "blocks", "odd"))
    if kind == "vector":
        return [near(rng, x[axis] if -len(x) <= axis < len(x) else 1)]
    return {"scalar": [], "one": [1], "blocks": [(d + 1) // 2 for d in x], "odd": [1, 1]}[kind]


def quantize_linear(rng: random.Random) -> Case:
    return _linear(rng, quantize=True)


def dequantize_linear(rng: random.Random) -> Case:
    return _linear(rng, quantize=False)


def _linear(rng: random.Random, *, quantize: bool) -> Case:
    opset = rng.choice((10, 13, 19, 21, 21, 23))
    x = dims(rng, rng.choice((0, 1, 2, 2, 3, 4)))
    axis = rng.randint(-len(x) - 1, len(x)) if rng.random() < 0.5 and opset >= 13 else 1
    attributes: dict[str, object] = {} if axis == 1 else {"axis": axis}
    shape = parameters(rng, x, axis)
    if opset >= 21 and (len(shape) == len(x) > 1 or rng.random() < 0.05):
        attributes["block_size"] = rng.choice((2, 2, 1, 0, -1, 3))
        inner = axis % len(x) if x else 0
        shape = [(d + 1) // 2 if i == inner else d for i, d in enumerate(x)] if rng.random() < 0.8 else shape
    zero = shape if rng.random() < 0.93 else parameters(rng, x, axis)
    real = rng.choice((F, F, F16)) if opset >= 19 else F
    small = rng.choice((U8, I8, U8, *((I16, U16) if opset >= 21 else ())))
    given = rng.random() < 0.7
    if quantize:
        if opset >= 21:
            attributes |= subset(rng, {"output_dtype": [int(small)]}, 0.2)
        data, scale = Arg(x, real if rng.random() < 0.95 or opset >= 19 else I32), Arg(shape, real)
        return Case("QuantizeLinear", [data, scale, *([Arg(zero, small)] if given else [])], attributes, opset=opset)
    small = rng.choice((small, small, I32))
    return Case(
        "DequantizeLinear",
        [Arg(x, small), Arg(shape, real), *([Arg(zero, small)] if given else [])],
        attributes,
        opset=opset,
    )


def matmul_integer(rng: random.Random) -> Case:
    a, b, inner = _matrices(rng)
    dtypes = rng.choice(((U8, U8), (U8, I8), (I8, U8), (I8, I8)))
    inputs: list[Arg | None] = [Arg(a, dtypes[0]), Arg(b, dtypes[1])]
    choices_a = ([], [], [1], a[-2:-1], [*a[:-1], 1], [inner])
    choices_b = ([], [], [1], b[-1:], [*b[:-2], 1, *b[-1:]], [inner])
    more = [
        Arg(rng.choice(choices), dtype) if rng.random() < 0.5 else None
        for choices, dtype in zip((choices_a, choices_b), dtypes, strict=True)
    ]
    inputs += more
    while inputs[-1] is None:
        inputs.pop()
    return Case("MatMulInteger", inputs, opset=rng.choice((10, 20)))


def _matrices(rng: random.Random) -> tuple[list[int], list[int], int]:
    rows, inner, columns = dims(rng, 3)
    batch = dims(rng, rng.choice((0, 0, 1, 2)))
    a, b = [*batch, rows, inner], [*(batch if rng.random() < 0.5 else []), near(rng, inner), columns]
    if rng.random() < 0.1:
        a = a[-1:]
    if rng.random() < 0.1:
        b = b[-2:-1]
    return a, b, inner


def qlinear_matmul(rng: random.Random) -> Case:
    a, b, _ = _matrices(rng)
    dtypes = rng.choice(((U8, U8), (U8, I8), (I8, I8), (I8, U8)))
    out = rng.choice((U8, I8)) if rng.random() < 0.3 else dtypes[0]
    slices = ([[], [1], a[-2:-1]], [[], [1], b[-1:]], [[], [1], a[-2:-1]])
    inputs = []
    for tensor, choices, dtype in ((a, slices[0], dtypes[0]), (b, slices[1], dtypes[1]), (None, slices[2], out)):
        shape = rng.choice(choices) if rng.random() < 0.3 else []
        if tensor is not None:
            inputs.append(Arg(tensor, dtype))
        inputs += [Arg(shape), Arg(shape if rng.random() < 0.95 else [1], dtype)]
    return Case("QLinearMatMul", inputs, opset=rng.choice((10, 21)))


def conv_integer(rng: random.Random) -> Case:
    x, w, attributes = _convolution(rng)
    dtypes = rng.choice(((U8, U8), (U8, I8), (I8, I8), (I8, U8)))
    inputs: list[Arg | None] = [Arg(x, dtypes[0]), Arg(w, dtypes[1])]
    inputs.append(Arg(rng.choice(([], [], [1])), dtypes[0]) if rng.random() < 0.5 else None)
    inputs.append(Arg(rng.choice(([], [], [1], w[:1])), dtypes[1]) if rng.random() < 0.5 else None)
    while inputs[-1] is None:
        inputs.pop()
    return Case("ConvInteger", inputs, attributes, opset=rng.choice((10, 20)))


def qlinear_conv(rng: random.Random) -> Case:
    x, w, attributes = _convolution(rng)
    dtypes = rng.choice(((U8, U8), (U8, I8), (I8, I8), (I8, U8)))
    out = dtypes[0] if rng.random() < 0.9 else rng.choice((U8, I8))
    scalar: list[int] = [] if rng.random() < 0.9 else [1]
    weights = rng.choice(([], [], [1], [near(rng, w[0])]))
    inputs = [
        Arg(x, dtypes[0]), Arg(scalar), Arg(scalar, dtypes[0]),
        Arg(w, dtypes[1]), Arg(weights), Arg(weights if rng.random() < 0.9 else [], dtypes[1]),
        Arg(scalar), Arg(scalar, out),
    ]  # fmt: skip
    if rng.random() < 0.4:
        inputs.append(Arg([near(rng, w[0])], I32))
    return Case("QLinearConv", inputs, attributes, opset=rng.choice((10, 20)))


def _convolution(rng: random.Random) -> tuple[list[int], list[int], dict[str, object]]:
    spatial = rng.choice((0, 1, 2, 2, 2, 3))
    group = rng.choice((1, 1, 1, 2))
    channels, outputs = group * rng.choice((0, 1, 2, 2)), group * rng.choice((0, 1, 2, 2))
    x = [rng.choice((0, 1, 2)), channels, *dims(rng, spatial)]
    w = [outputs, near(rng, channels // group), *(rng.choice((1, 2, 3)) for _ in range(spatial))]
    choices = {
        "strides": [[rng.choice((1, 1, 2, 3)) for _ in range(spatial)]],
        "dilations": [[rng.choice((1, 1, 2)) for _ in range(spatial)]],
        "pads": [[rng.choice((0, 0, 1, 2)) for _ in range(2 * spatial)]],
        "kernel_shape": [w[2:], w[2:]],
    }
    attributes = {k: v for k, v in subset(rng, choices, 0.3).items() if v}
    if "pads" not in attributes:
        attributes |= subset(rng, {"auto_pad": ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]}, 0.2)
    return x, w, attributes | ({"group": group} if group != 1 else {})


GRIDS = {
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
}
