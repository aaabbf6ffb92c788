"""Sizes alone decide whether onnxruntime runs these nodes: each that fails is illegal, and no other is."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import absint
from absint.questions.sizes.outcomes import Outcome
from tests.models import parsed


class Node(NamedTuple):
    """A graph of one node with sizes N and M."""

    text: str
    opset: int = 20
    doubtful: bool = False
    """Some nodes that run are legal at best."""


NODES = {
    "an output of a transposed convolution": Node(
        "(float[1, 1, N] x, float[1, 1, M] w) => (y) { y = ConvTranspose<strides = [2], output_shape = [5]>(x, w) }"
    ),
    "a padded output of a transposed convolution": Node(
        "(float[1, 1, N] x, float[1, 1, M] w) => (y) "
        "{ y = ConvTranspose<strides = [3], output_padding = [1], output_shape = [6]>(x, w) }"
    ),
    "padding of an output": Node(
        "(float[1, 1, N] x, float[1, 1, M] w) => (y) { y = ConvTranspose<strides = [2], output_padding = [1]>(x, w) }"
    ),
    "wrapped": Node('(float[N, M] x) => (y) <int64[4] p = {0, 1, 0, 0}> { y = Pad<mode = "wrap">(x, p) }'),
    "cropped at one end": Node(
        '(float[N, M] x) => (y) <int64[4] p = {-2, 0, 2, 0}> { y = Pad<mode = "edge">(x, p) }', doubtful=True
    ),
    "reflected": Node(
        '(float[N, M] x) => (y) <int64[4] p = {1, 0, 2, -1}> { y = Pad<mode = "reflect">(x, p) }', doubtful=True
    ),
    "one constant": Node("(float[N] x, float[M] c) => (y) <int64[2] p = {1, 1}> { y = Pad(x, p, c) }"),
    "a row of pads": Node("(float[N, M] x) => (y) <int64[1, 4] p = {1, 0, 0, 1}> { y = Pad(x, p) }", doubtful=True),
    "one target": Node("(float[N, M] x) => (y) <int64[1] t = {2}> { y = CenterCropPad(x, t) }"),
    "too many targets": Node("(float[N, M] x) => (y) <int64[3] t = {2, 2, 2}> { y = CenterCropPad(x, t) }"),
    "a value for each place": Node(
        "(float[2, N, M] x, float[M, N] s) => (y) { y = BatchNormalization<spatial = 0>(x, s, s, s, s) }", opset=8
    ),
    "a scalar without channels": Node("(float x, float[N] s) => (y) { y = BatchNormalization(x, s, s, s, s) }"),
    "empty groups": Node(
        "(float[N, M, M, 2] x) => (y) <float[1] s = {1.0}> { y = GroupNormalization<num_groups = 2>(x, s, s) }",
        opset=21,
        doubtful=True,
    ),
    "a matrix of scales": Node(
        "(float[1, 4, 2] x, float[N, M] s) => (y) { y = GroupNormalization<num_groups = 2>(x, s, s) }",
        opset=21,
        doubtful=True,
    ),
    "outer axes": Node(
        '(float[N, M, 2, 2] x) => (y) <int64[4] s = {1, 1, 4, 4}> { y = Resize<mode = "linear">(x, , , s) }'
    ),
    "a kept ratio": Node(
        '(float[N, M] x) => (y) <int64[2] s = {2, 3}> { y = Resize<keep_aspect_ratio_policy = "not_larger">(x, , , s) }'
    ),
    "too many scales": Node("(float[N] x) => (y) <float[2] s = {0.5, 1.0}> { y = Resize(x, , s) }", 13, doubtful=True),
    "a region": Node(
        "(float[N, 1] x, float[M] r) => (y) <float[2] s = {1.0, 2.0}> "
        '{ y = Resize<coordinate_transformation_mode = "tf_crop_and_resize">(x, r, s) }',
        doubtful=True,
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_what_fails_is_illegal(name: str) -> None:
    text, opset, doubtful = NODES[name]
    made = parsed(f"{text}", opset)
    result = absint.analyze(made, semantics="onnxruntime")
    for info in made.graph.input:  # type inference would refuse some as the model is loaded
        info.type.tensor_type.ClearField("shape")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    original = parsed(f"{text}", opset)
    for n, m in product(range(5), range(5)):
        sizes = {"N": n, "M": m}
        found = result.check({symbol: sizes[symbol] for symbol in result.symbols})
        feeds = {
            info.name: np.ones([sizes.get(d.dim_param, d.dim_value) for d in info.type.tensor_type.shape.dim], "f")
            for info in original.graph.input
        }
        try:
            (y,) = session.run(None, feeds)
        except (Fail, InvalidArgument, RuntimeException):
            assert found.outcome is Outcome.ILLEGAL, sizes
            continue
        assert found.outcome is Outcome.RUNS or (doubtful and found.outcome is Outcome.LEGAL), sizes
        known = found.shapes.get("y") or ()
        assert all(size in (None, ran) for size, ran in zip(known, y.shape, strict=False)), sizes


REFUSED = {
    "Conv": "(uint8[1, 1, N] x, uint8[1, 1, 2] w) => (y) "
    '{ y = ConvInteger<auto_pad = "SAME_UPPER", dilations = [2]>(x, w) }',
    "Conv without a spatial axis": "(float[1, N] x, float[1, N] w) => (y) { y = Conv(x, w) }",
    "a mean of all that is not there": "(float[1, N] x) => (y) { y = GlobalAveragePool(x) }",
    "further strides": "(float[1, 2, 4] x) => (y) <int64[1] i = {5}, int64[1] b = {2}> "
    "{ y = Col2Im<strides = [1, 1]>(x, i, b) }",
    "bands beyond the spectrum": "() => (y) <int64 bins = {8}, int64 length = {17}, int64 rate = {8192}, "
    "float low = {0.0}, float high = {4096.0}> { y = MelWeightMatrix(bins, length, rate, low, high) }",
    "no sizes to unpool to": "(float[1, 1, N] x, int64[1, 1, N] i) => (y) <int64[2] s = {1, 1}> "
    "{ y = MaxUnpool<kernel_shape = [2]>(x, i, s) }",
    "further strides of a transposed convolution": "(float[1, 1, N] x, float[1, 1, 2] w) => (y) "
    "{ y = ConvTranspose<strides = [1, 1]>(x, w) }",
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_size_helps(name: str) -> None:
    made = parsed(f"{REFUSED[name]}", 20)
    assert not absint.analyze(made, semantics="onnxruntime").can_run


def test_the_places_show_the_shape() -> None:
    text = "(float x, int64[1, N, 4] i) => (y) { y = MaxUnpool<kernel_shape = [2], strides = [2]>(x, i) }"
    made = parsed(f"{text}", 20)
    made.graph.input[0].type.tensor_type.ClearField("shape")
    assert str(absint.analyze(made, semantics="onnxruntime")["y"].shape) == "[1, N, 8]"
