"""The cost of one run of a node, counted on its arrays. Written from the definitions, apart from the product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto, helper

Arrays = Sequence[Any]
Attributes = dict[str, Any]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


MOVED = names(
    """Cast CastLike EyeLike ReverseSequence
    Concat Constant ConstantOfShape Dropout Expand Flatten Gather GatherElements GatherND Identity Pad Reshape
    Shape Slice Split Squeeze Tile Transpose Unsqueeze OneHotEncoder ZipMap StringNormalizer Tokenizer Size
    ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty
    SequenceErase SequenceInsert SequenceLength SplitToSequence Compress DepthToSpace OneHot SpaceToDepth Trilu
    ReorderInput ReorderOutput"""
)
UNCOSTED = names("TopK NonMaxSuppression TreeEnsembleClassifier TreeEnsembleRegressor TfIdfVectorizer Unique")
ONE = names(
    """BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
    Acos Elu
    Abs Add And Ceil Cos CumSum Div Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Imputer
    IsInf IsNaN
    Less LessOrEqual Log Mod Mul Neg Not Or Pow Range Reciprocal Relu Round Sigmoid Sign Sin Softplus Sqrt Sub
    Tanh Where Xor"""
)


def arithmetic(node: NodeProto, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    """Multiply-accumulates, and FLOPs with two for each of them."""
    if node.op_type in MOVED | UNCOSTED:
        return 0, 0
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type in ONE:
        return 0, outputs[0].size
    macs, other = COUNTS[node.op_type](attributes, inputs, outputs)
    return macs, 2 * macs + other


def matmul(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    a, b = inputs[0], inputs[3] if len(inputs) == 8 else inputs[1]
    pairs = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows = a.shape[-2] if a.ndim > 1 else 1
    columns = b.shape[-1] if b.ndim > 1 else 1
    return prod(pairs) * rows * columns * a.shape[-1], 0


def fused_matmul(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    a, b = (x.swapaxes(-1, -2) if attributes.get(f"trans{n}") else x for n, x in zip("AB", inputs, strict=True))
    return matmul({}, (a, b), outputs)


def matmul_n_bits(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    return outputs[0].size * attributes["K"], 0


def gemm(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    a = inputs[0].T if attributes.get("transA") else inputs[0]
    b = inputs[1].T if attributes.get("transB") else inputs[1]
    return sum(b.shape[1] for _ in range(a.shape[0])) * a.shape[1], outputs[0].size * (len(inputs) > 2)


def conv(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    """Each output element is a sum over the channels of its group and over the window."""
    weight, group = inputs[1], attributes.get("group", 1)
    channels = inputs[0].shape[1] // group
    more = sum(array is not None for array in inputs[2:]) + ("activation" in attributes)
    return outputs[0].size * channels * prod(weight.shape[2:]), outputs[0].size * more


def conv_transpose(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    """Each input element is spread over the outputs of its group and over the window."""
    channels = outputs[0].shape[1] // attributes.get("group", 1)
    return inputs[0].size * channels * prod(inputs[1].shape[2:]), outputs[0].size * (len(inputs) > 2)


def lstm(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    steps, batch, width = inputs[0].shape
    hidden = attributes["hidden_size"]
    directions = 2 if attributes.get("direction", b"forward") == b"bidirectional" else 1
    macs = other = 0
    for _ in range(steps * directions):
        macs += 4 * batch * hidden * (width + hidden)
        other += batch * hidden * 13 + (batch * 8 * hidden if len(inputs) > 3 and inputs[3] is not None else 0)
    return macs, other


def attention(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    """com.microsoft::Attention without a past: the projection, then scores and sums for each head."""
    x, weights = inputs[:2]
    batch, length, width = x.shape
    heads = attributes["num_heads"]
    size = weights.shape[1] // 3 // heads
    macs, other = batch * length * width * weights.shape[1], batch * length * weights.shape[1]
    masks = sum(len(inputs) > k and inputs[k] is not None for k in (3, 5))
    for _ in range(batch * heads):
        macs += length * length * size * 2
        other += length * length * (6 + masks)
    return macs, other


def pool(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    return 0, outputs[0].size * prod(attributes["kernel_shape"])


def resize(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    mode = attributes.get("mode", b"nearest").decode()
    taps = {"nearest": 0, "linear": 2, "cubic": 4}[mode]
    # The axes that are resized are the spatial ones.
    return 0, outputs[0].size * 2 * taps**2 if taps else 0


def grid_sample(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    taps = {"linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}.get(attributes.get("mode", b"linear").decode())
    return 0, outputs[0].size * 2 * taps ** (inputs[0].ndim - 2) if taps else 0


def linear_classifier(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    rows = inputs[0].shape[0]
    return rows * len(attributes["coefficients"]), rows * len(attributes.get("intercepts", ()))


def einsum(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    """The nest of loops, run."""
    left, right = attributes["equation"].decode().replace(" ", "").split("->")
    sizes = {
        label: n
        for term, array in zip(left.split(","), inputs, strict=True)
        for label, n in zip(term, array.shape, strict=True)
    }
    turns = sum(1 for _ in product(*map(range, sizes.values()))) * (len(inputs) - 1)
    return (turns, 0) if set(sizes) - set(right) else (0, turns)


def scattered(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
    return 0, inputs[2].size if attributes.get("reduction", b"none") != b"none" else 0


def per_input(flops: int, output: int = 0) -> Callable[[Attributes, Arrays, Arrays], tuple[int, int]]:
    return lambda attributes, inputs, outputs: (0, inputs[0].size * flops + outputs[0].size * output)


def per_output(flops: int, *given: int) -> Callable[[Attributes, Arrays, Arrays], tuple[int, int]]:
    def count(attributes: Attributes, inputs: Arrays, outputs: Arrays) -> tuple[int, int]:
        more = sum(len(inputs) > k and inputs[k] is not None for k in given)
        return 0, outputs[0].size * (flops + more)

    return count


COUNTS: dict[str, Callable[[Attributes, Arrays, Arrays], tuple[int, int]]] = {
    "MatMul": matmul,
    "MatMulInteger": matmul,
    "FusedMatMul": fused_matmul,
    "MatMulNBits": matmul_n_bits,
    "Gemm": gemm,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "LSTM": lstm,
    "Attention": attention,
    "Einsum": einsum,
    "LinearClassifier": linear_classifier,
    "LinearRegressor": linear_classifier,
    "Max": lambda attributes, inputs, outputs: (0, outputs[0].size * (len(inputs) - 1)),
    "Min": lambda attributes, inputs, outputs: (0, outputs[0].size * (len(inputs) - 1)),
    "Sum": lambda attributes, inputs, outputs: (0, outputs[0].size * (len(inputs) - 1)),
    "Clip": per_output(0, 1, 2),
    "QuantizeLinear": per_output(1, 2),
    "DequantizeLinear": per_output(1, 2),
    "DynamicQuantizeLinear": per_input(4),
    "Scaler": per_output(2),
    "Normalizer": per_output(3),
    "FastGelu": per_output(1, 1),
    "BiasGelu": per_output(2),
    "ReduceSum": per_input(1),
    "ReduceMax": per_input(1),
    "ReduceSumSquare": per_input(2),
    "ReduceMin": per_input(1),
    "ReduceProd": per_input(1),
    "ReduceL2": per_input(2, 1),
    "ReduceMean": per_input(1, 1),
    "GlobalAveragePool": per_input(1, 1),
    "GlobalMaxPool": per_input(1),
    "ArgMax": per_input(1),
    "ArgMin": per_input(1),
    "NonZero": per_input(1),
    "Softmax": per_input(5),
    "LogSoftmax": per_input(5),
    "LayerNormalization": per_output(6, 2),
    "InstanceNormalization": per_output(7),
    "SkipLayerNormalization": per_output(7, 3, 4),
    "EmbedLayerNormalization": per_output(8, 1),
    "BatchNormalization": per_input(2),
    "MaxPool": pool,
    "AveragePool": pool,
    "Resize": resize,
    "GridSample": grid_sample,
    "ScatterElements": scattered,
    "ScatterND": scattered,
}
