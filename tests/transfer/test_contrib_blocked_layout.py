"""Images with channels in blocks: single nodes, and models as onnxruntime's optimiser leaves them.

Sizes are such that the nodes run whether a block has 8 or 16 channels.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from absint.transfer.contrib.image_layouts import NCHWC
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes
from tests.transfer.optimised import check_every_value, check_same_outputs, optimised

BLOCKED = partial(Case, domain=NCHWC, opset=1)
NCH = sizes(N=[0, 1, 2], C=[16, 32], H=[3, 4, 7])
X = Arg(["N", "C", "H", 6])
STRIDED = {"kernel_shape": [3, 3], "strides": [2, 2]}


def conv(channels: object, *rest: Arg | None, expect: str, weights: int = 16, **attributes: object) -> Case:
    bindings = sizes(N=[0, 1, 2], C=[16, 3, 32], H=[3, 4, 7], M=[16, 32])
    inputs = [Arg(["N", channels, "H", 6]), Arg(["M", weights, 3, 3]), *rest]  # type: ignore[list-item]
    return BLOCKED("Conv", inputs, attributes, bindings=bindings, expect=[expect])


def pool(name: str, expect: str, **attributes: object) -> Case:
    return BLOCKED(name, [X], attributes, bindings=NCH, expect=[expect])


def reorder(name: str, dims: list[object], expect: str, **attributes: int) -> Case:
    bindings = sizes(N=[0, 1, 2], C=[0, 4, 3, 12, 16, 20], H=[0, 3], P=[16, 32])
    return BLOCKED(name, [Arg(dims)], attributes, bindings=bindings, expect=[expect])  # type: ignore[arg-type]


EXECUTED = [
    reorder("ReorderInput", ["N", "C", "H", 2], "[N, ?, H, 2]"),
    reorder("ReorderInput", ["N", "H", 2, "C"], "[N, ?, H, 2]", channels_last=1),
    reorder("ReorderInput", ["N", 12, "H", 2], "[N, 16, H, 2]"),
    reorder("ReorderInput", ["N", "16*C", "H", 2], "[N, 16*C, H, 2]"),
    reorder("ReorderOutput", ["N", "P", "H", 2], "[N, 32, H, 2]", channels=32),
    reorder("ReorderOutput", ["N", "P", "H", 2], "[N, H, 2, 12]", channels=12, channels_last=1),
    conv("C", expect="[N, M, H - 2, 4]"),
    conv("C", weights=3, expect="[N, M, H - 2, 4]"),
    conv(16, Arg(["M"]), Arg(["N", "M", "H - 2", 4]), expect="[N, M, H - 2, 4]", activation="Relu"),
    conv("C", expect="[N, M, (H + 1)//2, 3]", pads=[1, 1, 1, 1], strides=[2, 2]),
    conv(32, weights=1, expect="[N, M, H, 6]", group=32, auto_pad="SAME_UPPER"),
    pool("MaxPool", "[N, C, H - 2, 5]", kernel_shape=[3, 2]),
    pool("MaxPool", "[N, C, H - 2, 4]", kernel_shape=[2, 2], dilations=[2, 2]),
    pool("MaxPool", "[N, C, max((H + 1)//2, 1), 3]", pads=[1, 1, 1, 1], **STRIDED),
    pool("AveragePool", "[N, C, H//2, 3]", ceil_mode=1, **STRIDED),
    pool("AveragePool", "[N, C, H - 1, 5]", kernel_shape=[2, 2], count_include_pad=1),
    pool("GlobalAveragePool", "[N, C, 1, 1]"),
    pool("GlobalMaxPool", "[N, C, 1, 1]"),
    pool("Upsample", "[N, C, 2*H, 18]", scales=[1, 1, 2, 3]),
    pool("Upsample", "[N, C, 2*H, 6]", scales=[1, 1, 2, 1], mode="linear"),
]


@pytest.mark.parametrize("case", EXECUTED, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    BLOCKED("ReorderInput", [Arg([1, 3, 4, 5])]),
    BLOCKED("ReorderInput", [Arg([1, 16, 4])]),
    BLOCKED("ReorderOutput", [Arg([1, 32, 4, 5])]),
    BLOCKED("ReorderOutput", [Arg([1, 32, 4, 5])], {"channels": 15}),
    BLOCKED("ReorderOutput", [Arg([1, 32, 4, 5])], {"channels": 33}),
    BLOCKED("Conv", [Arg([1, 18, 4, 5]), Arg([16, 18, 3, 3])]),
    BLOCKED("MaxPool", [Arg([1, 18, 4, 5])], {"kernel_shape": [2, 2]}),
    BLOCKED("Upsample", [Arg([1, 16, 4, 5])], {"scales": [1, 2, 2, 2]}),
    BLOCKED("Upsample", [Arg([1, 16, 4, 5])], {"scales": [2, 2]}),
    BLOCKED("Upsample", [Arg([1, 16, 4, 5])]),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def network() -> onnx.ModelProto:
    """Convolutions of 20 and 12 channels with a residual sum, pools and an upsampling."""
    weights = {"w1": (20, 3, 3, 3), "b1": (20,), "w2": (20, 20, 3, 3), "w3": (12, 20, 3, 3)}
    rng = np.random.default_rng(0)
    values = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), k) for k, s in weights.items()]
    scales = numpy_helper.from_array(np.array([1, 1, 2, 3], np.float32), "scales")
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        node("Add", ["c2", "r1"], ["s"]),
        node("MaxPool", ["s"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["m", "w3"], ["c3"], auto_pad="SAME_UPPER", strides=[2, 2]),
        node("Resize", ["c3", "", "scales"], ["u"], coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        node("AveragePool", ["u"], ["a"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["a"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "H", "W"])
    outputs = [onnx.ValueInfoProto(name=name) for name in ("y", "a", "u", "s")]
    graph = helper.make_graph(nodes, "network", [x], outputs, [*values, scales])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_an_optimised_model(tmp_path: Path) -> None:
    model = network()
    fused = optimised(model, tmp_path)
    assert {n.op_type for n in fused.graph.node if n.domain == NCHWC} >= {"Conv", "ReorderOutput"}
    check_same_outputs(model, fused)
    assert set(check_every_value(fused, 3, sizes(N=[1, 2], H=[6, 7, 13], W=[5, 8]))) <= {"ReorderInput"}
