"""Attention, cache updates and sampling, executed."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import absint
from absint.questions.sizes.outcomes import Outcome
from absint.transfer.rule import PREVIEW
from tests.models import parsed
from tests.soundness.runs import ENGINE
from tests.transfer.harness import Arg, Case, run_case, sizes

I64 = TensorProto.INT64
SEQ = sizes(B=[1, 2], S=[1, 4], T=[1, 5], P=[0, 7], L=[5, 12])


def attend(
    *inputs: list[object] | None,
    expect: list[str] | None = None,
    outputs: int = 1,
    opset: int = 23,
    **attributes: object,
) -> Case:
    given = [None if dims is None else Arg(dims) for dims in inputs]
    return Case("Attention", given, attributes, outputs, SEQ, opset, expect=expect)


TURNED = sizes(B=[1, 2], S=[0, 1, 3], W=[0, 4, 8, 10], P=[0, 2, 3], A=[1, 2])
SCATTERED = sizes(B=[0, 2], M=[0, 2, 4], S=[0, 1, 4])

Q3, K3, V3 = ["B", "S", 24], ["B", "T", 8], ["B", "T", 6]
Q4, K4, V4 = ["B", 3, "S", 8], ["B", 3, "T", 8], ["B", 3, "T", 6]

ATTENTION = [
    attend(Q4, K4, V4, expect=["[B, 3, S, 6]"]),
    attend(Q4, K4, V4, expect=["[B, 3, S, 6]"], opset=24),
    attend(Q4, K4, V4, ["S", "T"]),
    attend(Q4, K4, V4, ["B", 1, "S", "P"]),
    attend(Q4, K4, V4, ["P"]),
    *(attend(Q4, K4, V4, mask, opset=o) for mask in (["P", "T"], ["B", "S", "T"], [3, 1, "T"]) for o in (23, 24, 25)),
    attend(Q4, K4, V4, ["P", 1, "S", "T"], ["B", 3, 0, 8], ["B", 3, 0, 6], outputs=3),
    attend(Q4, K4, V4, ["S", "L"], ["B", 3, "P", 8], ["B", 3, "P", 6], outputs=3),
    attend(Q4, K4, V4, ["S", "P"], opset=25),
    # Numbers of heads are of packed inputs: the function packs its output where they are given, whatever the ranks.
    attend(Q4, K4, V4, opset=25, q_num_heads=3, kv_num_heads=3, expect=["?"]),
    attend(Q4, K4, V4, None, ["B", 3, "P", 8], ["B", 3, "P", 6]),
    attend(Q4, K4, V4, q_num_heads=3, kv_num_heads=1),
    attend(Q4, K4, V4, scale=0.0),
    Case("Attention", [*map(Arg, (Q4, K4, V4)), None, None, None, Arg(["P"], I64)], {}, 1, SEQ, 24),
    attend(
        *(Q4, K4, V4, None, ["B", 3, "P", 8], ["B", 3, "P", 6]),
        outputs=4,
        expect=["[B, 3, S, 6]", "[B, 3, P + T, 8]", "[B, 3, P + T, 6]", "[B, 3, S, P + T]"],
    ),
    attend(
        *(Q3, K3, V3, None, ["B", 1, "P", 8], ["B", 1, "P", 6]),
        outputs=4,
        q_num_heads=3,
        kv_num_heads=1,
        expect=["[B, S, 18]", "[B, 1, P + T, 8]", "[B, 1, P + T, 6]", "[B, 3, S, P + T]"],
    ),
    attend(Q3, ["B", "T", 24], ["B", "T", 18], outputs=4, q_num_heads=3, kv_num_heads=3),
    attend(Q3, ["B", "T", 24], ["B", "T", 18], expect=["[B, S, 18]"], opset=25, q_num_heads=3, kv_num_heads=3),
    attend(["B", "S", "P"], ["B", "T", "P"], ["B", "T", "P"], q_num_heads=7, kv_num_heads=7),
    attend(["B", 4, "S", 8], ["B", 2, "T", 8], ["B", 2, "T", 6], expect=["[B, 4, S, 6]"]),
    attend(Q4, ["B", 2, "T", 8], ["B", 2, "T", 8]),
    attend(Q4, ["B", 3, "T", 9], ["B", 3, "T", 8]),
    attend(Q4, ["B", 3, "T", 8], ["B", 3, "P", 8]),
    attend(["P", 3, "S", 8], K4, V4),
    # Of version 25 onnxruntime runs the function body, which broadcasts heads of size 1.
    attend(["B", 1, 1, 2], ["B", 1, 1, "T"], ["B", 1, 1, "T"], opset=25),
    attend(["B", 4, "S", 8], ["B", 2, "T", 8], ["B", 2, "T", 6], opset=25, expect=["[B, 4, S, 6]"]),
    Case(
        "Attention",
        [Arg([2, 3, 4, 8], unknown_rank=True), Arg(K4), Arg(V4)],
        bindings=sizes(B=[2], T=[5]),
        opset=23,
        outputs=2,
    ),
    Case(
        "TensorScatter",
        [Arg(["B", 3, "M", 4]), Arg(["B", 3, "S", 4]), Arg(["B"], I64, low=0, high=1)],
        opset=24,
        bindings=sizes(B=[1, 2], M=[4, 8], S=[1, 4, 5]),
        expect=["[B, 3, M, 4]"],
    ),
    Case(
        "RotaryEmbedding",
        [Arg(["B", 2, "S", 4]), Arg([10, 2]), Arg([10, 2]), Arg(["B", "S"], I64)],
        opset=23,
        bindings=sizes(B=[1, 2], S=[1, 3]),
        expect=["[B, 2, S, 4]"],
    ),
    Case(
        "RotaryEmbedding",
        [Arg(["B", "S", 8]), Arg(["B", "S", 2]), Arg(["B", "S", 2])],
        {"num_heads": 2},
        opset=23,
        bindings=sizes(B=[1, 2], S=[1, 3]),
        expect=["[B, S, 8]"],
    ),
    *(
        Case(
            "RotaryEmbedding", [Arg(["B", "S", "W"]), Arg(table), Arg(table), position], {"num_heads": 2}, 1, TURNED, 23
        )
        for table, position in ((["P", "A"], Arg(["B", "S"], I64)), (["P", "S", "A"], None))
    ),
    *(
        Case(
            "RotaryEmbedding",
            [Arg(["B", 2, "S", "W"]), Arg(["P", 2]), Arg(["P", 2]), Arg(ids, I64)],
            more,
            1,
            TURNED,
            23,
        )
        for ids in (["P", "S"], ["B", "S"])
        for more in ({"rotary_embedding_dim": 4}, {"interleaved": 1, "num_heads": 5})
    ),
    *(
        Case("TensorScatter", [*map(Arg, shapes), Arg(["B"], I64, low=0, high=3)], more, 1, SCATTERED, 24)
        for shapes in ((["B", "M", 2], ["B", "S", 2]), ([2, 1, "M"], [2, 1, "S"]), (["B", 0, "M"], ["B", 0, "S"]))
        for more in ({}, {"axis": 2}, {"axis": -1, "mode": "circular"})
    ),
    Case("TensorScatter", [Arg(["M", 2]), Arg(["S", 2])], {"axis": 0}, 1, SCATTERED, 24),
]

REFERENCE = [
    Case(
        "LinearAttention",
        [Arg(["B", "S", 8]), Arg(["B", "S", 4]), Arg(["B", "S", 6]), Arg(["B", 1, 4, 6])],
        {"q_num_heads": 2, "kv_num_heads": 1, "update_rule": "linear"},
        outputs=2,
        opset=27,
        bindings=sizes(B=[1, 2], S=[1, 3]),
        expect=["[B, S, 12]", "[B, 1, 4, 6]"],
    ),
    Case(
        "CausalConvWithState",
        [Arg(["B", "C", "L"]), Arg(["C", 1, "K"]), None, Arg(["B", "C", "K - 1"])],
        outputs=2,
        opset=27,
        bindings=sizes(B=[1, 2], C=[1, 3], L=[1, 2, 5], K=[1, 3]),
        expect=["[B, C, L]", "[B, C, K - 1]"],
    ),
]

SAMPLING = [
    *(
        Case(
            "GridSample",
            [Arg(["N", 3, "H", 5]), Arg(["M", "P", "Q", 2])],
            bindings=sizes(N=[0, 1, 2], M=[1, 2], H=[0, 4], P=[0, 3], Q=[2]),
            opset=o,
            expect=["[N, 3, P, Q]"],
        )
        for o in (16, 20)
    ),
    Case(
        "GridSample",
        [Arg([1, 3, 4, 5, 6]), Arg([1, "P", "Q", "R", "S"])],
        bindings=sizes(P=[2], Q=[3], R=[4], S=[2, 3]),
        opset=20,
    ),
    Case("GridSample", [Arg([1, 3, 4, 5], unknown_rank=True), Arg([1, "P", 4, 2])], bindings=sizes(P=[2])),
    Case(
        "AffineGrid",
        [Arg(["N", 2, 3]), Arg(elements=["M", 3, "H", "W"], dtype=I64)],
        bindings=sizes(N=[1, 2], M=[1, 2], H=[0, 4], W=[5]),
        expect=["[N, H, W, 2]"],
    ),
    Case(
        "AffineGrid",
        [Arg(["N", 3, 4]), Arg(elements=["N", 3, 2, "H", "W"], dtype=I64)],
        bindings=sizes(N=[1, 2], H=[4], W=[5]),
        expect=["[N, 2, H, W, 3]"],
    ),
    Case(
        "AffineGrid",
        [Arg(["N", 2, 3]), Arg(elements=["N", 3, "H", "W"], dtype=I64, hidden=True)],
        bindings=sizes(N=[1, 2], H=[4], W=[5]),
    ),
    Case(
        "AffineGrid",
        [Arg(["N", 2, 3], TensorProto.FLOAT16), Arg(elements=["N", 3, 4, 5], dtype=I64)],
        bindings=sizes(N=[1, 2]),
    ),
    Case(
        "AffineGrid",
        [Arg(["N", 2, 3], TensorProto.FLOAT16), Arg(elements=["N", 3, 4, 5], dtype=I64)],
        bindings=sizes(N=[1, 2]),
        opset=21,
    ),
    Case("AffineGrid", [Arg(["N", 3, 3]), Arg(elements=["N", 3, 4, 5], dtype=I64)], bindings=sizes(N=[1, 2])),
    *(
        Case(
            "RoiAlign",
            [Arg([1, "C", 8, 8]), Arg(["R", "K"]), Arg(["S"], I64, low=0, high=1)],
            {"output_height": 2, "output_width": 3},
            opset=o,
            bindings=sizes(C=[0, 3], R=[0, 1, 5], K=[3, 4], S=[0, 1, 5]),
            expect=["[R, C, 2, 3]"],
        )
        for o in (10, 16)
    ),
    Case(
        "RoiAlign",
        [
            Arg([1, "C", 8, 8]),
            Arg(["R", 4], data=lambda s, r: r.random(s), unknown_rank=True),
            Arg(["R"], I64, low=0, high=1),
        ],
        bindings=sizes(C=[3], R=[5]),
        expect=["[R, C, 1, 1]"],
    ),
    Case(
        "MaxRoiPool",
        [Arg([1, "C", 8, 8]), Arg(["R", "K"], data=lambda s, r: r.integers(0, 1, s))],
        {"pooled_shape": [2, 3]},
        bindings=sizes(C=[1, 3], R=[0, 1, 5], K=[4, 5]),
        expect=["[R, C, 2, 3]"],
    ),
]


def flex(*inputs: list[object], expect: str | None) -> Case:
    given = [Arg(dims) for dims in inputs]
    return Case("FlexAttention", given, bindings=SEQ, opset=1, domain=PREVIEW, expect=[expect])


FLEX = [
    flex(Q4, K4, V4, expect="[B, 3, S, 6]"),
    flex(["B", 6, "S", 8], ["B", 2, "T", 8], ["B", 2, "T", 8], expect="[B, 6, S, 8]"),
    flex([2, 3, "S", "T"], [2, 3, 4, "T"], [2, 3, 4, "T"], expect="[2, 3, S, T]"),
]


@pytest.mark.parametrize("case", ATTENTION + REFERENCE + SAMPLING + FLEX, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)


@pytest.mark.parametrize(("opset", "outcome"), [(20, Outcome.ILLEGAL), (21, Outcome.RUNS)])
def test_a_grid_of_one_image_in_half_precision_fails_at_opset_20_alone(opset: int, outcome: Outcome) -> None:
    model = parsed("(float16[N, 2, 3] t) => (y) <int64[4] s = {1, 3, 4, 5}> { y = AffineGrid(t, s) }", opset)
    assert absint.analyze(model, semantics="onnxruntime").check({"N": 1}).outcome is outcome
    ran = ""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        assert session.run(None, {"t": np.ones((1, 2, 3), np.float16)})[0].shape == (1, 4, 5, 2)
    except Exception as error:
        ran = str(error)
    assert ("axis 1 is not in valid range" in ran) == (outcome is Outcome.ILLEGAL)
    assert not ran or outcome is Outcome.ILLEGAL


def test_a_past_of_another_length_makes_a_causal_convolution_longer() -> None:
    """onnxruntime runs the defining function, which takes a past of any length."""
    shapes = {"x": ["B", 2, "L"], "w": [2, 1, 3], "past": ["B", 2, "P"], "y": None, "state": None}
    x, w, past, y, state = (helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in shapes.items())
    node = helper.make_node("CausalConvWithState", ["x", "w", "", "past"], ["y", "state"])
    opsets = [helper.make_opsetid("", 27)]
    model = helper.make_model(helper.make_graph([node], "g", [x, w, past], [y, state]), opset_imports=opsets)
    for length in (2, 4):
        feeds = {"x": np.ones((1, 2, 5)), "w": np.ones((2, 1, 3)), "past": np.ones((1, 2, length))}
        ok, values = ENGINE.run(
            model.SerializeToString(), {name: array.astype(np.float32) for name, array in feeds.items()}
        )
        assert ok, values
        shape = absint.analyze(model, semantics="onnxruntime").shapes["y"]
        assert shape.rank is None or shape.evaluate({"B": 1, "L": 5, "P": length}) == values[0].shape
