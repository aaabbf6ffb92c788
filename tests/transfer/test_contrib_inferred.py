"""Contrib operators that onnxruntime's CPU build has no kernel for: held against what it infers for a node."""

from __future__ import annotations

from functools import partial

import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, sizes
from tests.transfer.inference import check_inferred

MS = partial(Case, domain="com.microsoft", opset=1)
EXPERIMENTAL = partial(Case, opset=9)
I32, I64, F16, U8, BOOL = (
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.FLOAT16,
    TensorProto.UINT8,
    TensorProto.BOOL,
)
HEADS, GROUPS = {"num_heads": 4}, {"num_heads": 4, "kv_num_heads": 2}
ROWS = sizes(B=[1, 2, 3], S=[1, 5])
TOKENS = sizes(N=[1, 7], B=[1, 2, 3])


def ints(*dims: object) -> Arg:
    return Arg(dims, I32)  # type: ignore[arg-type]


def half(*dims: object) -> Arg:
    return Arg(dims, F16)  # type: ignore[arg-type]


FLAG = Arg([1], BOOL)
PAST = sizes(B=[1, 2, 3], P=[0, 1, 7])
MASKED = [Arg(["B", 1, 16]), Arg([16, 48]), Arg([48]), None, Arg([2, "B", 4, "P", 4]), None, ints(1)]

DECODERS = [
    *(
        MS(
            "CausalConvWithState",
            [Arg(["B", "S", 6]), Arg([channels, 1, 2])],
            {"channels_last": 1, **attributes},
            2,
            ROWS,
            expect=expect,
        )
        for attributes, channels, expect in (
            ({"state_length": 5}, 6, ["[B, S, 6]", "[B, 5, 6]"]),
            ({"input_channels": 4, "input_channel_offset": 1}, 4, ["[B, S, 4]", "[B, 1, 4]"]),
            ({"state_channels_last": 1}, 6, ["[B, S, 6]", "[B, 1, 6]"]),
        )
    ),
    MS("DecoderMaskedSelfAttention", MASKED, HEADS, 2, PAST, expect=["[B, 1, 16]", "[2, B, 4, P + 1, 4]"]),
    MS(
        "DecoderMaskedSelfAttention",
        MASKED,
        {**HEADS, "past_present_share_buffer": 1},
        2,
        PAST,
        expect=["[B, 1, 16]", "[2, B, 4, P, 4]"],
    ),
    MS(
        "DecoderAttention",
        [
            *(Arg(["S", "B", 16]), Arg(["L", "B", 16]), Arg([16, 16]), Arg([16, 32]), Arg([48])),
            *(None, None, None, FLAG, FLAG, FLAG, FLAG),
        ],
        HEADS,
        3,
        sizes(B=[1, 2], S=[1, 5], L=[3]),
        expect=["[S, B, 16]", "[B, 4, ?, 4]", "[B, 4, ?, 4]"],
    ),
    MS(
        "LongformerAttention",
        [
            *(Arg(["B", "S", 16]), Arg([16, 48]), Arg([48]), Arg(["B", "S"])),
            *(Arg([16, 48]), Arg([48]), ints("B", "S")),
        ],
        {**HEADS, "window": 2},
        bindings=ROWS,
        expect=["[B, S, 16]"],
    ),
    *(
        MS("MultiHeadAttention", inputs, HEADS, bindings=sizes(B=[1, 2], S=[1, 5], L=[3]), expect=["[B, S, 16]"])
        for inputs in ([Arg(["B", "S", 4, 3, 4])], [Arg(["B", "S", 16]), Arg(["B", "L", 4, 2, 4])])
    ),
    MS(
        "RelativePositionBias",
        [Arg([32, 4]), Arg(elements="S", dtype=I64), Arg(elements="L", dtype=I64)],
        {"max_distance": 128},
        bindings=sizes(S=[1, 5], L=[3]),
        expect=["[1, 4, S, L]"],
    ),
    *(
        MS(
            "GatedRelativePositionBias",
            [query, Arg([16]), Arg([1, 4, "S", "S"]), Arg([4, 6]), Arg([6]), Arg([1, 4, 1, 1]), offsets],
            HEADS,
            bindings=ROWS,
            expect=["[B, 4, S, S]"],
        )
        for query, offsets in ((Arg(["B", "S", 16]), None), (Arg([7, 16]), ints("B", "S")))
    ),
    MS(
        "GemmaRotaryEmbedding",
        [Arg(["B", "S", 8]), *[half("B", 4, "S", 8)] * 4],
        outputs=2,
        bindings=ROWS,
        expect=["[B, 4, S, 8]", "[B, 4, S, 8]"],
    ),
]

PAGES = [half("K", 4, 2, 8)] * 2
LENGTHS = [ints("B + 1"), ints("B"), ints("B", 3)]
PAGED = sizes(N=[1, 7], B=[1, 3], K=[5])
EXPECT_PAGED = ["[N, 32]", "[K, 4, 2, 8]", "[K, 4, 2, 8]"]
LATENT = {"num_heads": 4, "kv_num_heads": 1, "kv_cache_layout": "LATENT", "scale": 1.0}

PACKED = [
    MS(
        "PackedMultiHeadAttention",
        [Arg(["N", 16]), Arg(["N", 16]), Arg(["N", 24]), None, ints("B", 9), ints("B + 1")],
        HEADS,
        bindings=TOKENS,
        expect=["[N, 24]"],
    ),
    MS(
        "PackedMultiHeadAttention",
        [Arg(["N", 4, 3, "D"]), None, None, None, ints("B", 9), ints("B + 1")],
        HEADS,
        bindings=sizes(N=[1, 7], B=[2], D=[2, 5]),
        expect=["[N, 4*D]"],
    ),
    MS(
        "PackedAttention",
        [Arg(["N", 16]), Arg([16, 56]), Arg([56]), ints("B", 9), ints("B + 1")],
        {**HEADS, "qkv_hidden_sizes": [16, 16, 24]},
        bindings=TOKENS,
        expect=["[N, 24]"],
    ),
    *(
        MS(op, [*query, *PAGES, *LENGTHS, *rest], GROUPS, 3, PAGED, expect=EXPECT_PAGED)
        for op, rest in (("PagedAttention", []), ("SparsePagedAttention", [None, ints("N", 4), ints("N")]))
        for query in ([half("N", 32), half("N", 16), half("N", 16)], [half("N", 64), None, None])
    ),
    MS(
        "PagedAttention",
        [half("N", 32), half("N", 8), None, half("K", 4, 1, 8), None, *LENGTHS],
        {**LATENT, "v_head_size": 6},
        2,
        PAGED,
        expect=["[N, 24]", "[K, 4, 1, 8]"],
    ),
    MS("PagedAttention", [half("N", 32), None, None, half("K", 4, 1, 8), None, *LENGTHS], LATENT, 2, PAGED),
    MS(
        "PagedAttention",
        [
            half("N", 32),
            half("N", 8),
            half("N", 8),
            *[Arg(["K", 4, 1, 4], U8)] * 2,
            *LENGTHS,
            *[None] * 6,
            Arg([1]),
            Arg([1]),
        ],
        {
            **{"num_heads": 4, "kv_num_heads": 1},
            **{f"{name}_quant_type": "PER_TENSOR" for name in "kv"},
            **{f"{name}_cache_dtype": "int4" for name in "kv"},
        },
        3,
        PAGED,
        expect=["[N, 32]", "[K, 4, 1, 4]", "[K, 4, 1, 4]"],
    ),
    MS(
        "RemovePadding",
        [Arg(["B", "S", 8]), ints("B")],
        outputs=4,
        bindings=ROWS,
        expect=["[?, 8]", "[B, S]", "[B + 1]", "[1]"],
    ),
    MS("RestorePadding", [Arg(["N", 8]), ints("B", 5)], bindings=TOKENS, expect=["[B, 5, 8]"]),
]

CACHED = [Arg(["B", 2, "P", 8])] * 2
SELECTED = [None, None, ints("B*S", 5), ints("B*S"), ints("B"), ints(1)]
GROWING = sizes(B=[1, 2], S=[1, 4], P=[0, 6])
NORMS = [Arg([8]), Arg([8]), Arg([50, 2]), Arg([50, 2])]
QSA = {"policy_mode": "qsa", "compress_ratio": 3, "token_budget": 6}
CSA = {"policy_mode": "csa", "compress_ratio": 3, "index_topk": 5}
PENDING = sizes(B=[1, 2], S=[0, 1, 2, 3, 4, 7], P=[2], L=[0, 1, 2, 3, 4, 5])
WAITING = [Arg(["B", "S", 32]), Arg(["B", "S", 16]), *NORMS, None, Arg(["B", "P", 8]), Arg(["B", "S", 16])]
GATES = [Arg([3, 16]), Arg(["B", "S", 4]), Arg(["B", "S"], I64)]
STATES = [Arg(["B", 10, 8]), ints("B", 2)]

SPARSE = [
    *(
        MS(
            "DynamicSparseAttention",
            [*query, *CACHED, *SELECTED],
            GROUPS,
            3,
            GROWING,
            expect=["[B, S, 32]", "[B, 2, P, 8]", "[B, 2, P, 8]"],
        )
        for query in ([Arg(["B", "S", 32]), *[Arg(["B", "S", 16])] * 2], [Arg(["B", "S", 64]), None, None])
    ),
    MS(
        "DynamicSparseAttention",
        [Arg(["B", "S", 64]), None, None, None, None, *SELECTED],
        GROUPS,
        3,
        ROWS,
        expect=["[B, S, 32]", "[B, 2, ?, 8]", "[B, 2, ?, 8]"],
    ),
    MS(
        "SparseAttentionIndexer",
        [Arg(["B", "S", 32]), Arg(["B", "S", 8]), *NORMS, None, Arg(["B", "P", 8])],
        QSA,
        2,
        GROWING,
        expect=["[B, S, 8]", "[B, P + S, 8]"],
    ),
    MS(
        "SparseAttentionIndexer",
        [Arg(["B", "S", 32]), Arg(["B", "S", 8]), *NORMS, None, Arg(["B", "P", 8]), *[None] * 4, ints(1)],
        QSA,
        2,
        GROWING,
        expect=["[B, S, 8]", "[B, P, 8]"],
    ),
    MS("SparseAttentionIndexer", [*WAITING, *GATES, None, Arg([2, "B", "L", 16])], CSA, 3, PENDING),
    MS(
        "SparseAttentionIndexer",
        [*WAITING, *GATES, ints(1), Arg([2, "B", "L", 16])],
        CSA,
        3,
        PENDING[:4],
        expect=["[B, S, 5]", "[B, P, 8]", None],
    ),
]

INDEXERS = [
    (
        MS(
            "PackedSparseAttentionIndexer",
            [
                *(Arg(["N", 32]), Arg(["N", 16]), *NORMS, ints("B + 1"), ints("B")),
                *(Arg(["N", 16]), Arg([3, 16]), Arg(["N", 4]), Arg(["N"], I64)),
                *(STATES[0], Arg(["B", 5, 16]), Arg(["B", 5, 16]), STATES[1]),
            ],
            {**CSA, "state_capacity": 10},
            6,
            TOKENS,
            expect=["[N, 5]", "[N]", "[B, 10, 8]", "[B, 5, 16]", "[B, 5, 16]", "[B, 2]"],
        ),
        (),
    ),
    (
        MS(
            "PackedSparseAttentionIndexer",
            [
                *(Arg(["N", 32]), Arg(["N", 8]), *NORMS, ints("B + 1"), ints("B"), None, None, None, None),
                *(STATES[0], Arg(["B", 5, 8]), None, STATES[1], ints("B")),
            ],
            {**QSA, "state_capacity": 10, "state_update_capacity": 3},
            7,
            TOKENS,
            expect=["[N, 8]", "[N]", "[B, 10, 8]", "[B, 5, 8]", None, "[B, 2]", "[B, 3, 8]"],
        ),
        (4,),
    ),
]

STATE = Arg(["B", 4, 6, 8])
STATEFUL = [
    MS(
        "GatedDeltaNet",
        [
            *(Arg(["N", 2, 8]), Arg(["N", 2, 8]), Arg(["N", 4, 6]), ints("B + 1"), Arg(["N", 4]), Arg(["N", 4])),
            *(STATE, None, None, ints("B")),
        ],
        {"state_update_capacity": 3},
        3,
        TOKENS,
        expect=["[N, 4, 6]", "[B, 4, 6, 8]", "[B, 132]"],
    ),
    MS(
        "GatedDeltaNet",
        [Arg(["N", 2, 8]), Arg(["N", 2, 8]), Arg(["N", 4, 6]), ints("B + 1"), Arg(["N", 4]), Arg(["N", 4])],
        {},
        2,
        TOKENS,
        expect=["[N, 4, 6]", "[B, 4, 6, 8]"],
    ),
    MS(
        "VarlenCausalConvWithState",
        [Arg(["N", 6]), Arg([6, 1, "K"]), ints("B + 1"), None, Arg(["B", 6, "2*K - 2"]), ints("B")],
        {"dilation": 2, "state_update_capacity": 3},
        3,
        sizes(N=[2, 7], B=[1, 2], K=[1, 4]),
        expect=["[N, 6]", "[B, 6, 2*K - 2]", "[B, 3, 6]"],
    ),
    *(
        MS("CausalConvWithState", [Arg(x), Arg(w)], attributes, 2, sizes(B=[1, 2], S=[0, 1, 5]), expect=expect)
        for x, w, attributes, expect in (
            (["B", 6, 3, "S"], [6, 1, 3, 4], {"ndim": 2}, ["[B, 6, 3, S]", "[B, 6, 3, 3]"]),
            (["B", 6, "S"], [6, 1, 4], {"state_window": 3}, ["[B, 6, S]", "[3, B, 6, 3]"]),
            (
                ["B", 6, 3, 4, "S"],
                [6, 1, 3, 4, 2],
                {"ndim": 3, "dilation": 2, "state_window": 1},
                ["[B, 6, 3, 4, S]", "[1, B, 6, 3, 4, 2]"],
            ),
            (
                ["B", "S", 4, 5],
                [20, 1, 3],
                {"channels_last": 1, "state_window": 2},
                ["[B, S, 4, 5]", "[2, B, 2, 4, 5]"],
            ),
        )
    ),
    MS(
        "LinearAttention",
        [half("B", "S", 16), half("B", "S", 8), half("B", "S", 12)],
        {"q_num_heads": 4, "kv_num_heads": 2, "state_window": 3, "update_rule": "linear"},
        2,
        ROWS,
        expect=["[B, S, 24]", "[3, B, 2, 4, 6]"],
    ),
]

BOXES = sizes(B=[0, 1, 2], R=[0, 1, 50])
DETECTOR = {
    **{"max_output_boxes": 9, "score_threshold": 0.1, "iou_threshold": 0.1, "plugin_version": "1"},
    **{"score_activation": 0, "box_coding": 0, "background_class": -1},
}
PYRAMID = [Arg(["B", "R", 4]), *[Arg(["B", "C", 16, 16])] * 4]
NUMBERS = sizes(N=[0, 1, 33], M=[1, 4])

OTHERS = [
    *(
        MS(op, [Arg(["N", "M"]), *bias], outputs=2, bindings=NUMBERS, expect=["[N, M]", "[(M*N + 31)//32]"])
        for op, bias in (("BitmaskDropout", []), ("BitmaskBiasDropout", [Arg(["M"])]))
    ),
    MS(
        "GroupNorm",
        [Arg(["N", "H", 6, 8]), Arg([8]), Arg([8])],
        {"groups": 4, "activation": 0},
        bindings=sizes(N=[0, 1, 2], H=[1, 5]),
        expect=["[N, H, 6, 8]"],
    ),
    *(
        MS(op, [Arg(["N", 1, 2]), Arg(["M", 2])], bindings=NUMBERS, expect=["[N, M, 2]"])
        for op in ("ComplexMul", "ComplexMulConj")
    ),
    MS("Rfft", [Arg(["N", "M"])], {"signal_ndim": 1}, bindings=NUMBERS, expect=["[N, M//2 + 1, 2]"]),
    MS("Irfft", [Arg(["N", "M", 2])], {"signal_ndim": 1}, bindings=NUMBERS, expect=["[N, ?]"]),
    MS("Snpe", [Arg(["N"])], {"DLC": "model"}, 2, NUMBERS, expect=["?", "?"]),
    MS("TorchEmbedding", [Arg([9, "M"]), Arg(["N", 3], I64)], bindings=NUMBERS, expect=["[N, 3, M]"]),
    EXPERIMENTAL("GRUUnit", [Arg([1, "N", 3]), Arg([1, "N", 9]), Arg(["N"]), Arg([1])], bindings=NUMBERS, expect=["?"]),
    *(
        EXPERIMENTAL("GivenTensorFill", [Arg(["N", 3])], {"values": [0.0], **attributes}, 1, NUMBERS, expect=[expect])
        for attributes, expect in (
            ({"extra_shape": [5]}, "[N, 3, 5]"),
            ({"shape": [2, 3], "extra_shape": [5]}, "[2, 3]"),
            ({"input_as_shape": 1}, "?"),
        )
    ),
    Case(
        "DisentangledAttention_TRT",
        [Arg(["B", "R", "R"]), Arg(["B", "R", 8]), Arg(["B", "R", 8])],
        {"factor": 1.0, "span": 4},
        bindings=BOXES,
        expect=["[B, R, R]"],
    ),
    Case(
        "EfficientNMS_TRT",
        [Arg(["B", "R", 4]), Arg(["B", "R", 7])],
        DETECTOR,
        4,
        BOXES,
        expect=["[B, 1]", "[B, 9, 4]", "[B, 9]", "[B, 9]"],
    ),
    *(
        Case(
            op,
            PYRAMID,
            {"plugin_version": "1", "pooled_size": 7, **more},
            bindings=sizes(B=[1, 2], R=[0, 50], C=[3]),
            expect=["[B, R, C, 7, 7]"],
        )
        for op, more in (("PyramidROIAlign_TRT", {}), ("MultilevelCropAndResize_TRT", {"image_size": [64, 64, 3]}))
    ),
]

SILENT = ("ComplexMul", "ComplexMulConj", "GRUUnit", "Irfft", "Rfft", "Snpe")
"""onnxruntime infers a type for these, and no dim. The dims are those that its CUDA kernels allocate."""


@pytest.mark.parametrize("case", [*DECODERS, *PACKED, *SPARSE, *STATEFUL, *OTHERS], ids=str)
def test_onnxruntime_infers_the_same(case: Case) -> None:
    dims = check_inferred(case)
    assert (dims == 0) == (case.op in SILENT or case.attributes.get("input_as_shape") == 1)


@pytest.mark.parametrize(("case", "without"), INDEXERS, ids=str)
def test_onnxruntime_infers_the_same_for_the_outputs_there_are(case: Case, without: tuple[int, ...]) -> None:
    assert check_inferred(case, without=without) > 0


def test_all_finite_is_one_boolean() -> None:
    case = MS("IsAllFinite", [Arg(["N"]), Arg(["N", 2])], bindings=NUMBERS)
    assert str(apply_case(case).outputs[0]) == "Tensor(BOOL[])"
