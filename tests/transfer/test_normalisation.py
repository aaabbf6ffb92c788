"""Normalisations and the softmax family, executed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

NCD = sizes(N=[0, 1, 2], C=[0, 1, 3], D=[0, 1, 4])

SOFTMAX = [
    Case(op, [Arg(["N", "C"])], attributes, opset=opset, bindings=sizes(N=[0, 2], C=[0, 1, 3]), expect=expect)
    for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
    for opset in (8, 11, 13)
    for attributes, expect in (({}, ["[N, C]"]), ({"axis": 0}, ["[N, C]"]), ({"axis": 2}, None), ({"axis": -3}, None))
] + [
    *(Case(op, [Arg([])], {"axis": -1}) for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")),
    Case("Softmax", [Arg([], TensorProto.FLOAT16)], opset=13, expect=["[]"]),
    Case("Softmax", [Arg(["N"])], opset=13, bindings=sizes(N=[0, 1, 3]), expect=["[N]"]),
    Case("Softmax", [Arg(["N"])], opset=11, bindings=sizes(N=[3])),  # the default axis 1 is out of range
    Case("Softmax", [Arg([2, 3], TensorProto.DOUBLE, unknown_rank=True)], expect=["?"]),
]


def batch(dims: list[object], size: object, outputs: int = 1, opset: int = 15, **attributes: object) -> Case:
    vectors = [Arg([size]), Arg([size]), Arg([size]), Arg([size], data=lambda s, r: r.random(s) + 1)]
    bindings = [{**b, "B": c} for b in NCD for c in (0, 1, 3)]
    return Case("BatchNormalization", [Arg(dims), *vectors], attributes, outputs, bindings, opset)


BATCH = [
    batch(["N", "C", "D"], "B"),
    batch(["N", "C"], "C"),
    batch(["N"], "B"),
    batch([], 1),
    batch(["N", 3, "D"], 3, 3, training_mode=1),
    batch(["N", 3, "D"], 3, 3),
    batch(["N", "C", "D"], "C", 5, 9),
    batch(["N", "C", "D"], "C", 1, 7),
    batch(["N", 3, "D"], 3, 3, 14, training_mode=1),
    Case(
        "BatchNormalization", [Arg([2, "C", 4])] + [Arg(["C", 4])] * 4, {"spatial": 0}, opset=7, bindings=sizes(C=[3])
    ),
    Case("BatchNormalization", [Arg([2, 3, 4], unknown_rank=True)] + [Arg([3])] * 4, opset=15),
]


def layer(
    dims: list[object], scale: list[object], axis: int, bias: list[object] | None = None, outputs: int = 3
) -> Case:
    given = [Arg(dims), Arg(scale)] + ([] if bias is None else [Arg(bias)])
    bindings = sizes(N=[0, 1, 2], D=[0, 1, 3], E=[1, 3])
    return Case("LayerNormalization", given, {"axis": axis}, outputs, bindings)


LAYER = [
    layer(["N", "D", "E"], ["E"], -1),
    layer(["N", "D", 3], ["E"], -1),
    layer(["N", "D", 3], ["D", 3], 1, [3]),
    layer(["N", "D", "E"], ["N", "D", "E"], 0),
    layer(["N", 3, "E"], ["D", "E"], -1),
    layer(["N", "D", "E"], [1, "N", "D", "E"], -1),
    layer(["N", "D", "E"], ["E"], 3),
    layer(["N", "D", "E"], ["E"], -1, ["D"]),
    layer(["N", "D"], [], -1),
    layer([], [], -1),
    layer(["D"], ["D"], 0),
    Case(
        "LayerNormalization",
        [Arg(["N", 4], TensorProto.FLOAT16), Arg([4], TensorProto.FLOAT16)],
        outputs=3,
        bindings=sizes(N=[2]),
    ),
    Case(
        "LayerNormalization",
        [Arg(["N", 4], TensorProto.DOUBLE), Arg([4], TensorProto.DOUBLE)],
        outputs=3,
        bindings=sizes(N=[2]),
    ),
    Case("LayerNormalization", [Arg([2, 4], unknown_rank=True), Arg([4])], outputs=3, expect=["?"] * 3),
    *(
        Case(
            "RMSNormalization",
            [Arg(["N", "D", 4]), Arg(scale)],
            {"axis": -1},
            opset=23,
            bindings=sizes(N=[0, 2], D=[0, 1, 3]),
        )
        for scale in ([4], [1], ["D", 4], [3, 4], [5], [1, "N", "D", 4])
    ),
]

OTHERS = [
    *(
        Case(
            "InstanceNormalization",
            [Arg(dims), Arg(["B"]), Arg(["B"])],
            bindings=[{**b, "B": c} for b in NCD for c in (0, 1, 3)],
        )
        for dims in (["N", "C", "D"], ["N", "C"], ["N", "C", "D", 2], ["N"])
    ),
    *(
        Case(
            "GroupNormalization",
            [Arg(["N", "C", "D"]), Arg(["B"]), Arg(["B"])],
            {"num_groups": 2},
            opset=opset,
            bindings=sizes(N=[0, 2], C=[2, 3, 4], D=[0, 4], B=[2, 4]),
            expect=["[N, ite(C >= 1, C, ?), D]"],
        )
        for opset in (18, 21)
    ),
    Case("MeanVarianceNormalization", [Arg(["N", "C", "D", 2])], bindings=NCD, expect=["[N, C, D, 2]"]),
    Case("MeanVarianceNormalization", [Arg(["N", "C", "D"])], {"axes": [0, 2]}, bindings=NCD, expect=["[N, C, D]"]),
    Case("LRN", [Arg(["N", "C", "D", 2])], {"size": 3}, bindings=NCD, expect=["[N, C, D, 2]"]),
    Case("LRN", [Arg(["N", "C"])], {"size": 3}, bindings=sizes(N=[1], C=[2])),
]


@pytest.mark.parametrize("case", SOFTMAX + BATCH + LAYER + OTHERS, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)


@pytest.mark.parametrize(("name", "opset"), [("LayerNormalization", 17), ("RMSNormalization", 23)])
def test_a_constant_scale_without_elements_is_not_found_in_float16(name: str, opset: int) -> None:
    scale = Arg(elements=np.zeros((0, 2, 3)), dtype=TensorProto.FLOAT16)
    case = Case(name, [Arg([0, 2, 3], TensorProto.FLOAT16), scale], opset=opset)
    assert run_case(case) == 0
    assert apply_case(case).doubts
