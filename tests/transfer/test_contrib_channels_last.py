"""Images with the channels as the last axis: executed where onnxruntime has a CPU kernel, else inferred by it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from absint.transfer.contrib.image_layouts import IMAGES, NHWC, image
from absint.transfer.rule import ONNX
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes
from tests.transfer.inference import check_inferred
from tests.transfer.optimised import check_every_value, check_same_outputs, optimised

MS = partial(Case, domain="com.microsoft", opset=1)
U8, I8, I32, I64, F32 = (TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT)
S, Z, ZI = Arg([], data=lambda s, r: np.full(s, 0.5)), Arg([], U8, high=1), Arg([], I8, high=1)
NHW = sizes(N=[0, 1, 2], H=[3, 4, 7], W=[5])


def pool(x: list[object], expect: str, bindings: list[dict[str, int]] = NHW, **attributes: object) -> Case:
    return MS("QLinearAveragePool", [Arg(x, U8), S, Z, S, Z], attributes, bindings=bindings, expect=[expect])  # type: ignore[arg-type]


def max_pool(x: list[object], expect: str, bindings: list[dict[str, int]] = NHW, **attributes: object) -> Case:
    return MS("NhwcMaxPool", [Arg(x, U8)], attributes, bindings=bindings, expect=[expect])  # type: ignore[arg-type]


def conv(x: list[object], w: list[object], expect: str, bias: Arg | None = None, **settings: object) -> Case:
    attributes = {"channels_last": 1, **settings}
    bindings = sizes(N=[0, 1, 2], H=[2, 3, 8], M=[6], B=[6, 5], C=[4, 3])
    inputs = [Arg(x, U8), S, Z, Arg(w, I8), S, ZI, S, Z, bias]  # type: ignore[arg-type]
    return MS("QLinearConv", inputs, attributes, bindings=bindings, expect=[expect])


WEIGHT = Arg(elements=np.arange(108).reshape(4, 3, 3, 3), dtype=I8)


def scaled(w_scale: Arg, w_zero_point: Arg, w: Arg = WEIGHT) -> Case:
    inputs = [Arg(["N", "H", 5, 3], U8), S, Z, w, w_scale, w_zero_point, S, Z]
    bindings = sizes(N=[0, 1, 2], H=[2, 3, 8], P=[1, 3, 4])
    return MS("QLinearConv", inputs, {"channels_last": 1}, bindings=bindings, expect=["[N, H - 2, 3, 4]"])


def zeros(*values: int) -> Arg:
    return Arg(elements=list(values), dtype=I8)


def masked(x: list[object], mask: list[object], expect: str, **attributes: object) -> Case:
    return MS("MaxpoolWithMask", [Arg(x), Arg(mask, I32)], attributes, bindings=NHW, expect=[expect])  # type: ignore[arg-type]


def padded(pads: Arg | None, expect: str, **attributes: object) -> Case:
    inputs = [Arg(["N", "C", "H", 6]), Arg([3, 4, 3, 3]), pads, Arg([4])]
    bindings = sizes(N=[0, 1, 2], C=[3, 2], H=[1, 4, 7])
    return MS("ConvTransposeWithDynamicPads", inputs, attributes, bindings=bindings, expect=[expect])


def pads(*elements: int, hidden: bool = False) -> Arg:
    return Arg(elements=list(elements), dtype=I64, hidden=hidden)


def mean(x: list[object], expect: str, **attributes: object) -> Case:
    bindings = sizes(N=[0, 1, 2], C=[0, 3], H=[0, 1, 4])
    return MS("QLinearGlobalAveragePool", [Arg(x, U8), S, Z, S, Z], attributes, bindings=bindings, expect=[expect])  # type: ignore[arg-type]


STRIDED = {"kernel_shape": [3, 3], "strides": [2, 2]}
EXECUTED = [
    pool(["N", 2, "H", "W"], "[N, 2, H - 2, W - 1]", kernel_shape=[3, 2]),
    pool(["N", "H", "W", 2], "[N, H - 2, W - 1, 2]", kernel_shape=[3, 2], channels_last=1),
    pool(
        ["N", "H", "W", 2], "[N, max((H + 1)//2, 1), max((W + 1)//2, 1), 2]", channels_last=1, pads=[1] * 4, **STRIDED
    ),
    pool(["N", "H", "W", 2], "[N, H//2, W//2, 2]", channels_last=1, ceil_mode=1, **STRIDED),
    pool(["N", "H", "W", 2], "[N, (H + 1)//2, (W + 1)//2, 2]", channels_last=1, auto_pad="SAME_UPPER", **STRIDED),
    pool(["N", "H", 2], "[N, H - 1, 2]", kernel_shape=[2], channels_last=1),
    pool(["N", "H", "W", 4, 2], "[N, H - 1, W - 1, 3, 2]", kernel_shape=[2, 2, 2], channels_last=1),
    max_pool(["N", "H", "W", 2], "[N, H - 2, W - 1, 2]", kernel_shape=[3, 2]),
    max_pool(["N", "H", "W", 2], "[N, H, W - 2, 2]", kernel_shape=[1, 2], dilations=[2, 2]),
    max_pool(["N", "H", "W", 2], "[N, H//2, W//2, 2]", ceil_mode=1, **STRIDED),
    max_pool(["N", "H", 2], "[N, H - 1, 2]", kernel_shape=[2]),
    max_pool(
        ["N", "H", "W", "C"], "[N, H, W, C]", sizes(N=[1], H=[0, 1, 2], W=[1, 3], C=[0, 1, 4]), kernel_shape=[1, 1]
    ),
    mean(["N", "C", "H", 2], "[N, C, 1, 1]"),
    mean(["N", "H", 2, "C"], "[N, 1, 1, C]", channels_last=1),
    mean(["N", "H", "C"], "[N, 1, C]", channels_last=1),
    mean(["N", "C", "H", 2, 3, 1], "[N, C, 1, 1, 1, 1]"),
    conv(["N", "H", 5, "C"], ["M", 3, 3, 3], "[N, H - 2, 3, M]"),
    conv(["N", "H", 5, 3], ["M", 3, 3, 3], "[N, (H + 1)//2, 3, M]", Arg(["B"], I32), pads=[1, 1, 1, 1], strides=[2, 2]),
    conv(["N", 3, "H", 5], ["M", 3, 3, 3], "[N, M, H - 2, 3]", channels_last=0),
    conv(["N", "H", 3], ["M", 3, 3], "[N, H - 2, M]"),
    conv(["N", "H", 5, 4, 6], ["M", 1, 2, 2, 2], "[N, H - 1, 4, 3, M]", group=6),
    scaled(Arg(["P"]), ZI),
    scaled(Arg([4]), zeros(1, 1, 1, 1)),
    scaled(S, zeros(0, 1, 0, 2)),
    scaled(Arg([4]), zeros(0, 1, 0, 2), Arg([4, 3, 3, 3], I8)),
    scaled(Arg([1]), Arg([1], I8)),
    scaled(S, Arg(["P"], I8, high=1)),
    masked(["N", 2, "H", "W"], ["N", 2, "H", "W"], "[N, 2, H - 2, W - 1]", kernel_shape=[3, 2]),
    masked(
        ["N", 2, "H", "W"],
        ["N", 1, "H", "W"],
        "[N, 2, max((H + 1)//2, 1), max((W + 1)//2, 1)]",
        pads=[1] * 4,
        **STRIDED,
    ),
    masked(["N", 2, "H"], ["N", 2, "H"], "[N, 2, H - 1]", kernel_shape=[2]),
    padded(pads(1, 0, 2, 1), "[N, 4, H - 1, 7]"),
    padded(pads(1, 0, 2, 1, hidden=True), "[N, 4, ?, ?]"),
    padded(pads(1, 0, 2, 1), "[N, 4, 2*H - 1, 13]", strides=[2, 2], output_padding=[1, 1]),
    padded(pads(1, 0, 2, 1), "[N, 4, 2*H, 12]", strides=[2, 2], auto_pad="SAME_UPPER"),
    padded(pads(4, 0, 4, 0), "[N, 4, H - 6, 8]"),
]


@pytest.mark.parametrize("case", EXECUTED, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    conv(["N", "H", 5, 4], ["M", 3, 3, 3], "?"),
    pool(["N", 2, "H", "W"], "?", kernel_shape=[3]),
    padded(pads(1, 1), "?"),
    padded(pads(), "?"),
    padded(pads(-1, 0, 0, 0), "?"),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def quantised_network() -> onnx.ModelProto:
    """Quantised convolutions and pools."""
    rng = np.random.default_rng(0)
    constants = {
        "s": np.array(0.5, np.float32),
        "z": np.array(3, np.uint8),
        "w1": rng.integers(-5, 5, (8, 4, 3, 3)).astype(np.int8),
        "w2": rng.integers(-5, 5, (6, 8, 3, 3)).astype(np.int8),
        "zw": np.array(0, np.int8),
    }
    node, quantise = helper.make_node, partial(helper.make_node, "QuantizeLinear")
    nodes = [
        quantise(["x", "s", "z"], ["q"]),
        node("QLinearConv", ["q", "s", "z", "w1", "s", "zw", "s", "z"], ["c"], pads=[1, 1, 1, 1]),
        node("MaxPool", ["c"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        node("QLinearConv", ["m", "s", "z", "w2", "s", "zw", "s", "z"], ["c2"], strides=[2, 2]),
        node("DequantizeLinear", ["c2", "s", "z"], ["d"]),
        node("AveragePool", ["d"], ["a"], kernel_shape=[2, 2]),
        quantise(["a", "s", "z"], ["qa"]),
        node("DequantizeLinear", ["qa", "s", "z"], ["da"]),
        node("GlobalAveragePool", ["da"], ["g"]),
        quantise(["g", "s", "z"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, "H", "W"])
    outputs = [onnx.ValueInfoProto(name=name) for name in ("y", "qa")]
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "network", [x], outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_an_optimised_model(tmp_path: Path) -> None:
    model = quantised_network()
    fused = optimised(model, tmp_path)
    names = {n.op_type for n in fused.graph.node if n.domain == "com.microsoft"}
    assert names >= {"QLinearConv", "QLinearAveragePool", "QLinearGlobalAveragePool"}
    check_same_outputs(model, fused)
    assert check_every_value(fused, 4, sizes(N=[1, 2], H=[16, 17, 23], W=[15, 18])) == []


# No kernel of these operators is in onnxruntime's CPU build: its shape inference is what there is.

SIZES = sizes(N=[1, 2], H=[5, 8], W=[6])
X = Arg(["N", "H", "W", 8])
VECTOR = Arg([8])


def nhwc(name: str, opset: int, inputs: list[Arg | None], expect: str, **attributes: object) -> Case:
    return Case(name, inputs, attributes, domain=NHWC, opset=opset, bindings=SIZES, expect=[expect])


def nhwc_conv(name: str, *rest: Arg) -> Case:
    inputs = [X, Arg([6, 8, 3, 3]), Arg([6]), *rest]
    return MS(name, inputs, {"strides": [1, 2]}, bindings=SIZES, expect=["[N, H - 2, (W + 1)//2 - 1, 6]"])


BY_FUNCTION = [
    nhwc("DepthToSpace", 28, [Arg(["N", 8, "H", "W"])], "?", blocksize=2),
    nhwc("SpaceToDepth", 28, [Arg(["N", 3, "2*H", 4])], "?", blocksize=2),
]


@pytest.mark.parametrize("case", BY_FUNCTION, ids=str)
def test_functions_move_other_axes(case: Case) -> None:
    assert run_case(case) > 0


INFERRED = [
    *(nhwc("AveragePool", v, [X], "[N, H - 2, W - 1, 8]", kernel_shape=[3, 2]) for v in (7, 10, 11, 19)),
    *(nhwc("BatchNormalization", v, [X, *[VECTOR] * 4], "[N, H, W, 8]") for v in (7, 9, 14, 15)),
    *(nhwc("Conv", v, [X, Arg([6, 8, 3, 3])], "[N, H - 2, W - 2, 6]") for v in (1, 11)),
    nhwc("Conv", 11, [X, Arg([6, 4, 3, 3])], "[N, (H + 1)//2, (W + 1)//2, 6]", group=2, pads=[1] * 4, strides=[2, 2]),
    *(nhwc("ConvTranspose", v, [X, Arg([8, 6, 3, 3])], "[N, 2*H + 1, 2*W + 1, 6]", strides=[2, 2]) for v in (1, 11)),
    *(nhwc("DepthToSpace", v, [X], "[N, 2*H, 2*W, 2]", blocksize=2) for v in (1, 11, 13)),
    nhwc("GlobalAveragePool", 1, [X], "[N, 1, 1, 8]"),
    nhwc("GlobalLpPool", 2, [X], "[N, 1, 1, 8]"),
    nhwc("GlobalMaxPool", 1, [X], "[N, 1, 1, 8]"),
    *(nhwc("GridSample", v, [X, Arg(["N", 3, 4, 2])], "[N, 3, 4, 8]") for v in (16, 20)),
    nhwc("InstanceNormalization", 6, [X, VECTOR, VECTOR], "[N, H, W, 8]"),
    *(nhwc("LRN", v, [X], "[N, H, W, 8]", size=3) for v in (1, 13)),
    *(nhwc("LpPool", v, [X], "[N, H - 2, W - 1, 8]", kernel_shape=[3, 2]) for v in (11, 18)),
    *(nhwc("MaxPool", v, [X], "[N, H - 2, W - 1, 8]", kernel_shape=[3, 2]) for v in (1, 8, 10, 11, 12)),
    *(
        nhwc("MaxUnpool", v, [X, Arg(["N", 8, "H", "W"], I64)], "[N, 2*H, 2*W, 8]", kernel_shape=[2, 2], strides=[2, 2])
        for v in (9, 11)
    ),
    *(
        nhwc("Resize", v, [X, Arg(elements=[], dtype=F32), Arg(elements=[1, 2, 3, 1], dtype=F32)], "[N, 2*H, 3*W, 8]")
        for v in (11, 13, 18, 19)
    ),
    *(nhwc("SpaceToDepth", v, [Arg(["N", "2*H", "2*W", 8])], "[N, H, W, 32]", blocksize=2) for v in (1, 13)),
    nhwc(
        "QLinearAveragePool", 1, [Arg(["N", "H", "W", 8], U8), S, Z, S, Z], "[N, H - 2, W - 1, 8]", kernel_shape=[3, 2]
    ),
    nhwc(
        "QLinearConv",
        10,
        [Arg(["N", "H", "W", 8], U8), S, Z, Arg([6, 8, 3, 3], U8), S, Z, S, Z],
        "[N, H - 2, W - 2, 6]",
    ),
    nhwc_conv("NhwcConv"),
    nhwc_conv("NhwcFusedConv", Arg(["N", "H - 2", "(W - 1)//2", 6])),
]


@pytest.mark.parametrize("case", INFERRED, ids=str)
def test_inference_agrees(case: Case) -> None:
    assert check_inferred(case) > 0


def test_every_operator_of_the_domain_has_the_rule_of_onnx() -> None:
    for name in image.names:
        for version in range(1, 29):
            assert IMAGES.lookup(ONNX, name, version) is not None


# Of these onnxruntime infers no shape either.
ALONE = [
    nhwc(
        "QLinearConvTranspose",
        1,
        [Arg(["N", "H", "W", 8], U8), S, Z, Arg([8, 6, 3, 3], U8), S, Z, S, Z, Arg([6], I32)],
        "[N, H + 2, W + 2, 6]",
    ),
    nhwc("MaxUnpool", 11, [X, Arg(["N", 8, "H", "W"], I64), pads(1, 8, 9, 9)], "[?, ?, ?, ?]", kernel_shape=[2, 2]),
    nhwc("Resize", 19, [X, None, Arg(elements=[1, 2, 3, 1], dtype=F32, hidden=True)], "[?, ?, ?, ?]"),
]


@pytest.mark.parametrize("case", ALONE, ids=str)
def test_claims_without_a_runtime(case: Case) -> None:
    applied = apply_case(case)
    assert applied.rejected is None
    assert case.expect == [str(value.shape).replace('"', "") for value in applied.outputs]  # type: ignore[attr-defined]


def test_indices_of_a_pool_are_not_placed() -> None:
    """The optimiser moves the first output alone to the new layout."""
    case = Case("MaxPool", [X], {"kernel_shape": [3, 2]}, outputs=2, domain=NHWC, opset=12)
    pooled, indices = apply_case(case).outputs
    assert str(pooled) == "Tensor(FLOAT[N, H - 2, W - 1, 8])"
    assert str(indices) == "Tensor(INT64[?, ?, ?, ?])"
