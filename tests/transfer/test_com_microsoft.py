"""The com.microsoft domain, executed by onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from onnx import TensorProto

from absint.lattices.dtype import DType
from absint.lattices.value import Tensor
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

MS = partial(Case, domain="com.microsoft", opset=1)
I32, I64, U8, I8, F32, STRING = (
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.INT8,
    TensorProto.FLOAT,
    TensorProto.STRING,
)
BS = sizes(B=[0, 1, 2], S=[0, 1, 3])
X, VECTOR = Arg(["B", "S", 8]), Arg([8])
SCALE, ZERO = Arg(elements=0.5, dtype=F32), Arg(elements=1, dtype=U8)
WEIGHTS, BIAS = Arg([8, 24]), Arg([24])
IDS = Arg(["B", "S"], I32, high=2)
TABLES = [Arg([10, 8]), Arg([3, 8]), Arg([2, 8]), VECTOR, VECTOR]
TOKENS = {"mark": 0, "mincharnum": 1, "pad_value": "#", "tokenexp": "[a-z]+"}


def words(dims: list[object], text: str = "a b") -> Arg:
    return Arg(dims, STRING, data=lambda shape, rng: np.full(shape, text, dtype=object))  # type: ignore[arg-type]


FUSED = [
    MS("Gelu", [Arg(["N", "M"])], bindings=sizes(N=[0, 2], M=[1]), expect=["[N, M]"]),
    MS("QuickGelu", [Arg([])], expect=["[]"]),
    MS(
        "BiasGelu", [Arg(["N", "M"]), Arg(["K"])], bindings=sizes(N=[0, 2], M=[0, 1, 3], K=[0, 1, 3]), expect=["[N, M]"]
    ),
    MS(
        "BiasGelu",
        [Arg(["N", "M"], unknown_rank=True), Arg(["K"])],
        bindings=sizes(N=[2], M=[3], K=[3, 1]),
        expect=["?"],
    ),
    MS("FastGelu", [Arg(["N", "M"]), Arg(["M"])], bindings=sizes(N=[0, 2], M=[0, 3]), expect=["[N, M]"]),
    MS("FastGelu", [Arg(["N"])], bindings=sizes(N=[0, 2]), expect=["[N]"]),
    MS(
        "SkipLayerNormalization",
        [X, X, VECTOR, VECTOR, VECTOR],
        outputs=4,
        bindings=BS,
        expect=["[B, S, 8]", "[B, S, 1]", "[B, S, 1]", "[B, S, 8]"],
    ),
    MS(
        "SkipLayerNormalization",
        [X, Arg(["A", "T", 8]), VECTOR],
        bindings=sizes(B=[1, 2, 3], S=[2], A=[1, 2], T=[1, 2]),
        expect=["[B, S, 8]"],
    ),
    MS(
        "SkipLayerNormalization",
        [X, Arg(["T", 8]), VECTOR],
        bindings=sizes(B=[1, 2], S=[2], T=[1, 2]),
        expect=["[B, S, 8]"],
    ),
    MS(
        "SkipLayerNormalization",
        [Arg(["S", "H"]), Arg(["S", "H"]), Arg(["G"])],
        outputs=2,
        bindings=sizes(S=[0, 2], H=[1, 4], G=[1, 4]),
        expect=["[S, H]", "[S, 1]"],
    ),
    MS(
        "SkipSimplifiedLayerNormalization",
        [X, X, VECTOR, VECTOR],
        outputs=4,
        bindings=BS,
        expect=["[B, S, 8]", "[B, S, 1]", "[B, S, 1]", "[B, S, 8]"],
    ),
    Case(
        "SimplifiedLayerNormalization", [X, VECTOR], outputs=2, opset=17, bindings=BS, expect=["[B, S, 8]", "[B, S, 1]"]
    ),
    MS(
        "EmbedLayerNormalization",
        [IDS, IDS, *TABLES, IDS],
        outputs=2,
        bindings=[*BS, {"B": 1, "S": 4}, {"B": 0, "S": 4}],
        expect=["[B, S, 8]", "[B]"],
    ),
    MS(
        "EmbedLayerNormalization",
        [IDS, None, *TABLES[:2], None, *TABLES[3:]],
        outputs=3,
        bindings=BS,
        expect=["[B, S, 8]", "[B]", "[B, S, 8]"],
    ),
    MS(
        "EmbedLayerNormalization",
        [IDS, IDS, Arg([10, "H"]), *TABLES[1:], None, IDS],
        outputs=2,
        bindings=sizes(B=[2], S=[2], H=[8, 4]),
        expect=["[B, S, 8]", "[B]"],
    ),
    MS(
        "FusedMatMul",
        [Arg(["B", "K", "M"]), Arg(["B", "N", "L"])],
        {"transA": 1, "transB": 1, "alpha": 0.5},
        bindings=sizes(B=[1, 2], K=[0, 3], L=[3], M=[2], N=[0, 4]),
        expect=["[B, M, N]"],
    ),
    MS(
        "FusedMatMul",
        [Arg(["M", "B", "K"]), Arg(["B", "K", "N"])],
        {"transBatchA": 1},
        bindings=sizes(B=[1, 2], K=[3], M=[5], N=[4]),
        expect=["[B, M, N]"],
    ),
    MS(
        "FusedMatMul",
        [Arg(["M", "B", "C", "K"]), Arg(["B", "C", "K", "N"])],
        {"transBatchA": 1},
        bindings=sizes(B=[2], C=[3], K=[4], M=[5], N=[6]),
        expect=["[B, C, M, N]"],
    ),
    MS(
        "FusedMatMul",
        [Arg(["K", "B", "M"]), Arg(["B", "K", "N"])],
        {"transBatchA": 1, "transA": 1},
        bindings=sizes(B=[1, 2], K=[3], M=[5], N=[4]),
    ),
    MS("FusedMatMul", [Arg(["K"]), Arg(["K", "N"])], {"transA": 1}, bindings=sizes(K=[3], N=[4])),
    MS(
        "FusedGemm",
        [Arg(["M", "K"]), Arg(["N", "K"]), Arg(["N"])],
        {"transB": 1, "activation": "Relu"},
        bindings=sizes(M=[1, 2], K=[3], N=[4]),
        expect=["[M, N]"],
    ),
    MS(
        "DynamicQuantizeMatMul",
        [Arg(["B", "M", "K"]), Arg(["K", "N"], U8), SCALE, ZERO],
        bindings=sizes(B=[2], M=[0, 3], K=[1, 4], N=[2]),
        expect=["[B, M, N]"],
    ),
    MS(
        "MatMulIntegerToFloat",
        [Arg(["M", "K"], U8), Arg(["K", "N"], U8), SCALE, SCALE, ZERO, ZERO],
        bindings=sizes(M=[0, 3], K=[1, 4], N=[2]),
        expect=["[M, N]"],
    ),
    MS(
        "MatMulNBits",
        [Arg(["B", "M", 32]), Arg([5, 1, 16], U8), Arg([5])],
        {"K": 32, "N": 5, "bits": 4, "block_size": 32},
        bindings=sizes(B=[1, 2], M=[1, 3]),
        expect=["[B, M, 5]"],
    ),
    MS(
        "QLinearAdd",
        [Arg(["N", 1], U8), SCALE, ZERO, Arg(["M"], U8), SCALE, ZERO, SCALE, ZERO],
        bindings=sizes(N=[1, 2], M=[1, 3]),
        expect=["[N, M]"],
    ),
    MS(
        "QLinearMul",
        [Arg(["N"], U8), SCALE, ZERO, Arg(["M"], U8), SCALE, ZERO, SCALE, ZERO],
        bindings=sizes(N=[1, 2, 3], M=[1, 3]),
    ),
    MS(
        "QLinearSigmoid",
        [Arg(["N", "M"], U8), SCALE, ZERO, SCALE, ZERO],
        bindings=sizes(N=[0, 2], M=[3]),
        expect=["[N, M]"],
    ),
    MS(
        "QLinearLeakyRelu",
        [Arg(["N", "M"], U8), SCALE, ZERO, SCALE, ZERO],
        {"alpha": 0.1},
        bindings=sizes(N=[0, 2], M=[3]),
        expect=["[N, M]"],
    ),
    MS(
        "QLinearGlobalAveragePool",
        [Arg(["N", "C", "H", "W"], U8), SCALE, ZERO, SCALE, ZERO],
        bindings=sizes(N=[1, 2], C=[3], H=[1, 4], W=[5]),
        expect=["[N, C, 1, 1]"],
    ),
    MS(
        "QLinearWhere",
        [Arg(["N"], TensorProto.BOOL), Arg(["N"], U8), SCALE, ZERO, Arg([1], U8), SCALE, ZERO, SCALE, ZERO],
        bindings=sizes(N=[1, 2]),
        expect=["[N]"],
    ),
    MS(
        "CDist",
        [Arg(["N", "K"]), Arg(["M", "L"])],
        {"metric": "euclidean"},
        bindings=sizes(N=[1, 2], M=[3], K=[2, 4], L=[2]),
        expect=["[N, M]"],
    ),
    MS(
        "QuantizeLinear", [Arg(["N", 2]), SCALE, Arg(elements=1, dtype=I8)], bindings=sizes(N=[0, 2]), expect=["[N, 2]"]
    ),
    MS("DequantizeLinear", [Arg(["N", 2], U8), SCALE, ZERO], bindings=sizes(N=[0, 2]), expect=["[N, 2]"]),
    MS(
        "GatherND",
        [Arg(["N", "M"]), Arg(["I", 1], I64, high=1)],
        bindings=sizes(N=[1, 2], M=[3], I=[0, 2]),
        expect=["[I, M]"],
    ),
    MS(
        "Unique",
        [Arg(["N"], F32, data=lambda s, r: r.integers(0, 3, s))],
        outputs=3,
        bindings=sizes(N=[1, 6]),
        expect=["[?]", "[N]", "[?]"],
    ),
    *(
        MS("MurmurHash3", [Arg(["N"], I32)], attributes, bindings=sizes(N=[1, 6]), expect=["[N]"])
        for attributes in ({}, {"positive": 0}, {"positive": 1}, {"positive": 2})
    ),
    MS("Trilu", [Arg(["N", "M"])], {"upper": 0}, bindings=sizes(N=[1, 6], M=[2]), expect=["[N, M]"]),
    MS("Inverse", [Arg(["B", 2, 2])], bindings=sizes(B=[1, 3]), expect=["[B, 2, 2]"]),
    MS(
        "FusedConv",
        [Arg(["N", 3, "H", 7]), Arg([4, 3, 3, 3]), Arg([4])],
        {"activation": "Relu", "strides": [2, 2], "pads": [1, 1, 1, 1]},
        bindings=sizes(N=[1, 2], H=[1, 2, 5, 8]),
    ),
    MS(
        "Pad",
        [Arg(["N", "M"]), Arg(elements=[0, "k", 1, 2], dtype=I64)],
        bindings=sizes(N=[1, 2], M=[3], k=[0, 4]),
        expect=["[N + 1, M + k + 2]"],
    ),
    # Without strings onnxruntime leaves out the axis of tokens.
    MS("Tokenizer", [words(["N"])], TOKENS, bindings=sizes(N=[0, 1, 3]), expect=["?"]),
    MS("Tokenizer", [words(["N", "C"])], TOKENS, bindings=sizes(N=[0, 1, 3], C=[0, 2]), expect=["?"]),
    MS("Tokenizer", [words(["N + 1", 2])], TOKENS, bindings=sizes(N=[0, 1, 3]), expect=["[N + 1, 2, ?]"]),
    MS(
        "Tokenizer",
        [words(["N + 1", 2], "12")],
        {**TOKENS, "mark": 1},
        bindings=sizes(N=[0, 1, 3]),
        expect=["[N + 1, 2, ?]"],
    ),
    MS("Tokenizer", [words(["N", 0])], TOKENS, bindings=sizes(N=[0, 1, 3]), expect=["[N, 0]"]),
    MS("Tokenizer", [words([0])], TOKENS, expect=["[0]"]),
]

PAST = sizes(B=[1, 2], S=[1, 3], P=[0, 5])
BSL = sizes(B=[1, 2], S=[1, 3], L=[1, 4])
LK = Arg(["B", "L", 8])
MHA = {"num_heads": 4}
GQA = {"num_heads": 4, "kv_num_heads": 2}
LENGTHS = Arg(["B"], I32, data=lambda s, r: np.full(s, 2))
CACHE = Arg(["B", 2, "P", 16])
ATTENTION = [
    MS("Attention", [X, WEIGHTS, BIAS], MHA, outputs=2, bindings=BS, expect=["[B, S, 8]", "[2, B, 4, S, 2]"]),
    MS("Attention", [X, WEIGHTS, BIAS, Arg(["B"], I32, high=1)], MHA, bindings=BS, expect=["[B, S, 8]"]),
    MS(
        "Attention",
        [X, WEIGHTS, BIAS, None, Arg([2, "B", 4, "P", 2])],
        MHA,
        outputs=2,
        bindings=PAST,
        expect=["[B, S, 8]", "[2, B, 4, P + S, 2]"],
    ),
    MS(
        "Attention",
        [X, Arg([8, 30]), Arg([30])],
        {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 14]},
        bindings=BS,
        expect=["[B, S, 14]"],
    ),
    MS(
        "Attention",
        [Arg(["B", "S", "H"]), Arg(["I", "J"]), Arg(["K"])],
        MHA,
        bindings=sizes(B=[2], S=[3], H=[8, 4], I=[8, 4], J=[24, 12, 18], K=[24, 12]),
        expect=["[B, S, J//3]"],
    ),
    MS(
        "QAttention",
        [Arg(["B", "S", 8], U8), Arg([8, 24], U8), BIAS, SCALE, SCALE, None, ZERO, ZERO],
        MHA,
        bindings=sizes(B=[1, 2], S=[1, 3]),
        expect=["[B, S, 8]"],
    ),
    MS("MultiHeadAttention", [X, LK, LK], MHA, bindings=BSL, expect=["[B, S, 8]"]),
    MS(
        "MultiHeadAttention",
        [X, LK, Arg(["B", "L", 12])],
        MHA,
        outputs=3,
        bindings=BSL,
        expect=["[B, S, 12]", "[B, 4, L, 2]", "[B, 4, L, 3]"],
    ),
    MS(
        "MultiHeadAttention", [X, Arg(["B", 4, "L", 2]), Arg(["B", 4, "L", 2])], MHA, bindings=BSL, expect=["[B, S, 8]"]
    ),
    MS(
        "MultiHeadAttention",
        [X, X, X, None, None, None, Arg(["B", 4, "P", 2]), Arg(["B", 4, "P", 2])],
        MHA,
        outputs=3,
        bindings=PAST,
        expect=["[B, S, 8]", "[B, 4, P + S, 2]", "[B, 4, P + S, 2]"],
    ),
    MS(
        "MultiHeadAttention",
        [Arg(["B", "S", 8], unknown_rank=True), LK, LK],
        MHA,
        outputs=3,
        bindings=BSL,
        expect=["[?, ?, 8]", "[?, 4, L, ?]", "[?, 4, L, 2]"],
    ),
    MS(
        "GroupQueryAttention",
        [Arg(["B", 3, 64]), Arg(["B", 3, 32]), Arg(["B", 3, 32]), None, None, LENGTHS, Arg(elements=3, dtype=I32)],
        GQA,
        outputs=3,
        bindings=sizes(B=[1, 2]),
        expect=["[B, 3, 64]", "[B, 2, 3, 16]", "[B, 2, 3, 16]"],
    ),
    MS(
        "GroupQueryAttention",
        [Arg(["B", 3, 128]), None, None, None, None, LENGTHS, Arg(elements=3, dtype=I32)],
        GQA,
        outputs=3,
        bindings=sizes(B=[1, 2]),
        expect=["[B, 3, 64]", "[B, 2, 3, 16]", "[B, 2, 3, 16]"],
    ),
    MS(
        "GroupQueryAttention",
        [Arg(["B", 1, 64]), Arg(["B", 1, 32]), Arg(["B", 1, 32]), CACHE, CACHE, LENGTHS, Arg(elements=3, dtype=I32)],
        GQA,
        outputs=3,
        bindings=sizes(B=[1, 2], P=[2, 3, 7]),
        expect=["[B, 1, 64]", "[B, 2, max(P, 3), 16]", "[B, 2, max(P, 3), 16]"],
    ),
    MS(
        "GroupQueryAttention",
        [
            Arg(["B", 1, 64]),
            Arg(["B", 1, 32]),
            Arg(["B", 1, 32]),
            CACHE,
            CACHE,
            LENGTHS,
            Arg(elements=3, dtype=I32, hidden=True),
        ],
        GQA,
        outputs=3,
        bindings=sizes(B=[1, 2], P=[2, 7]),
        expect=["[B, 1, 64]", "[B, 2, ?, 16]", "[B, 2, ?, 16]"],
    ),
    MS(
        "RotaryEmbedding",
        [Arg(["B", "S", 8]), Arg(["B", "S"], I64, high=4), Arg([9, 4]), Arg([9, 4])],
        bindings=sizes(B=[1, 2], S=[1, 3]),
        expect=["[B, S, 8]"],
    ),
]


@pytest.mark.parametrize("case", FUSED + ATTENTION, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    MS("BiasGelu", [Arg(["N", 3]), Arg([2])], bindings=sizes(N=[1])),
    MS("FastGelu", [Arg([])]),
    MS("SkipLayerNormalization", [VECTOR, VECTOR, VECTOR]),
    MS("SkipLayerNormalization", [X, X, Arg([1])], bindings=BS),
    MS("EmbedLayerNormalization", [Arg(["S"], I32, high=2), None, *TABLES], outputs=2, bindings=sizes(S=[2])),
    MS("Attention", [X, WEIGHTS, BIAS], {"num_heads": 3}, bindings=BS),
    MS("Attention", [X, Arg([6, 24]), BIAS], MHA, bindings=BS),
    MS("Tokenizer", [words([1, 1, 2])], TOKENS),
    MS("Tokenizer", [words([1])], {**TOKENS, "mincharnum": 0}),
    MS("Tokenizer", [words([1])], {"mark": 0, "pad_value": "#", "mincharnum": 1}),
    MS("Inverse", [Arg([3])]),
    MS("SkipLayerNormalization", [Arg([3, 4]), Arg([1, 3, 4]), Arg([4])]),
    MS("FusedConv", [Arg([1, 1, 4]), Arg([1, 1, 2]), None, Arg([1, 1, 2])]),
    MS("FusedConv", [Arg([1, 1, 4]), Arg([1, 1, 2])], {"activation": "Elu"}),
    MS("FusedConv", [Arg([1, 1, 4]), Arg([1, 1, 2])], {"activation": "Clip", "activation_params": [1.0]}),
    MS(
        "MatMulNBits",
        [Arg(["M", 16]), Arg([5, 1, 16], U8), Arg([5])],
        {"K": 32, "N": 5, "bits": 4, "block_size": 32},
        bindings=sizes(M=[1]),
    ),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def test_of_another_stash_type_nothing_is_known() -> None:
    """No kernel has one, and inference gives the statistics sizes that depend on the axis."""
    case = Case("SimplifiedLayerNormalization", [X, VECTOR], {"stash_type": 7}, 2, opset=1)
    assert apply_case(case).outputs[1] == Tensor(DType.UNDEFINED)


@pytest.mark.parametrize("epsilon", [-1.0, float("nan")])
def test_an_epsilon_below_0_is_refused(epsilon: float) -> None:
    case = MS("SkipLayerNormalization", [X, X, VECTOR], {"epsilon": epsilon})
    assert apply_case(case).rejected == "epsilon must not be negative"
    assert run_case(replace(case, bindings=sizes(B=[1], S=[2]))) == 0


# Kernels that the CPU build of onnxruntime does not have: the answer alone.
@pytest.mark.parametrize(
    ("case", "expect"),
    [
        (MS("BiasSplitGelu", [Arg(["B", "S", "2*D"]), Arg(["2*D"])]), "Tensor(FLOAT[B, S, D])"),
        (MS("BiasAdd", [X, VECTOR, X]), "Tensor(FLOAT[B, S, 8])"),
        (MS("BiasDropout", [X, VECTOR], outputs=2), "Tensor(FLOAT[B, S, 8])"),
        (MS("SkipGroupNorm", [X, VECTOR, VECTOR, X], outputs=2), "Tensor(FLOAT[B, S, 8])"),
        (MS("PackedAttention", [Arg(["T", 8]), WEIGHTS, BIAS], {"num_heads": 4}), "Tensor(FLOAT[T, 8])"),
        (
            MS("RelativePositionBias", [Arg([32, 4]), Arg(elements="S", dtype=I64), Arg(elements="S", dtype=I64)]),
            "Tensor(FLOAT[1, 4, S, S])",
        ),
        (
            MS("MatMulInteger16", [Arg(["M", 3], TensorProto.INT16), Arg([3, "N"], TensorProto.INT16)]),
            "Tensor(INT32[M, N])",
        ),
        (
            MS("MatMulInteger16", [Arg(["M", 3], TensorProto.UINT16), Arg([3, "N"], TensorProto.UINT16)]),
            "Tensor(?[M, N])",
        ),
        (
            MS("QLinearReduceMean", [Arg(["N", "M"], U8), SCALE, ZERO, SCALE, ZERO], {"axes": [1]}),
            "Tensor(UINT8[N, 1])",
        ),
        (MS("BiasSoftmax", [Arg(["N", "M"]), Arg([1, "M"])], {"axis": 1}), "Tensor(FLOAT[N, M])"),
        (MS("MultiHeadAttention", [Arg(["B", "S", 4, 3, 2])], MHA), "Tensor(FLOAT[B, S, 8])"),
        (MS("MultiHeadAttention", [X, Arg(["B", "L", 4, 2, 2])], MHA), "Tensor(FLOAT[B, S, 8])"),
        (MS("GemmFastGelu", [Arg(["M", 3]), Arg([3, "N"]), Arg(["N"])]), "Tensor(FLOAT[M, N])"),
    ],
    ids=str,
)
def test_answers(case: Case, expect: str) -> None:
    assert str(apply_case(case).outputs[0]) == expect


def test_scores_of_multi_head_attention() -> None:
    case = MS("MultiHeadAttention", [X, LK, LK], MHA, outputs=4)
    assert str(apply_case(case).outputs[3]) == "Tensor(?[B, 4, S, L])"
