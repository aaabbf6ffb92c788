"""Layers with a state, streams side by side and hashes of n-grams, executed by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

MS = partial(Case, domain="com.microsoft", opset=1)
I32, I64 = TensorProto.INT32, TensorProto.INT64
ROWS = sizes(B=[0, 1, 2], S=[0, 1, 5])
GQA = {"q_num_heads": 4, "kv_num_heads": 2}


def arg(*dims: int | str) -> Arg:
    return Arg(dims)


def full(*dims: int | str, value: int) -> Arg:
    return Arg(dims, I32, data=lambda shape, rng: np.full(shape, value))


def linear(
    *inputs: Arg | None,
    expect: Sequence[str] | None = None,
    bindings: Sequence[Mapping[str, int]] = ROWS,
    **attributes: object,
) -> Case:
    return MS("LinearAttention", inputs, {**GQA, **attributes}, 2, bindings, expect=expect)


QKV = [arg("B", "S", 16), arg("B", "S", 8), arg("B", "S", 12)]
EXPECT = ["[B, S, 24]", "[B, 2, 4, 6]"]
WIDTHS = sizes(B=[1, 2], S=[1, 3], Q=[8, 10, 16], K=[4, 8, 12], V=[12, 13])

LINEAR = [
    linear(*QKV, None, arg("B", "S", 2), arg("B", "S", 2), expect=EXPECT),
    linear(*QKV, arg("B", 2, 4, 6), arg("B", "S", 8), arg("B", "S", 1), expect=EXPECT),
    linear(*QKV, arg("B", 2, 4, 6), update_rule="linear", expect=EXPECT),
    linear(*QKV, None, arg("B", "S", 2), update_rule="gated", expect=EXPECT),
    linear(*QKV, None, None, arg("B", "S", 2), update_rule="delta", expect=EXPECT),
    linear(
        *(arg("B", "S", 8), arg("B", "S", 16), arg("B", "S", 24)),
        q_num_heads=2,
        kv_num_heads=4,
        update_rule="linear",
        expect=["[B, S, 24]", "[B, 4, 4, 6]"],
    ),
    linear(*QKV[:1], arg("B", "S", 4), *QKV[2:], update_rule="linear", expect=EXPECT),
    linear(
        *(arg("B", "S", "Q"), arg("B", "S", "K"), arg("B", "S", "V")),
        update_rule="linear",
        bindings=WIDTHS,
        expect=["[B, S, 4*(V//2)]", "[B, 2, Q//4, V//2]"],
    ),
    linear(
        *(arg("B", "S", 16), arg("C", "T", 8), arg("B", "S", 12), arg("B", 2, 4, "D")),
        update_rule="linear",
        bindings=sizes(B=[1, 2], S=[1, 3], C=[1, 2], T=[1, 3], D=[5, 6]),
    ),
    MS(
        "LinearAttentionGate",
        [arg("B", "S", "H"), arg("G"), arg("H"), arg("B", "T", "H")],
        outputs=2,
        bindings=sizes(B=[0, 2], S=[0, 1, 3], T=[1, 3], H=[0, 1, 4], G=[1, 4]),
        expect=["[B, S, H]", "[B, S, H]"],
    ),
    MS(
        "LinearAttentionGate",
        [arg("B", "S", "H"), arg(1, "H"), arg("H"), arg(9)],
        bindings=sizes(B=[2], S=[3], H=[1, 4]),
        expect=["[B, S, H]"],
    ),
    MS("LinearAttentionGate", [arg("H"), arg("H"), arg("H")], bindings=sizes(H=[0, 1, 4]), expect=["[H]"]),
    MS(
        "LinearAttentionGate",
        [Arg(["B", "H"], unknown_rank=True), arg("H"), arg("H"), arg("B", "H")],
        outputs=2,
        bindings=sizes(B=[2], H=[0, 4]),
        expect=["?", "?"],
    ),
]


def conv(x: Arg, w: Arg, *rest: Arg | None, expect: Sequence[str] | None = None, **attributes: object) -> Case:
    tried = sizes(B=[0, 1, 2], S=[0, 1, 5], C=[0, 6], D=[6], K=[0, 1, 4], P=[3])
    return MS("CausalConvWithState", [x, w, *rest], attributes, 2, tried, expect=expect)


CHANNELS_LAST = {"channels_last": 1}
CONVOLUTIONS = [
    conv(arg("B", "C", "S"), arg("D", 1, "K"), arg("D"), expect=["[B, C, S]", "[B, C, K - 1]"]),
    conv(arg("B", 6, "S"), arg(6, 1, "K"), None, arg("B", 6, "P"), expect=["[B, 6, S]", "[B, 6, K - 1]"]),
    conv(
        *(arg("B", 6, "S"), arg(6, 1, "K"), arg(6), arg("B", 6, "2*P")),
        dilation=2,
        activation="silu",
        expect=["[B, 6, S]", "[B, 6, 2*K - 2]"],
    ),
    conv(arg("B", "S", 6), arg(6, 1, "K"), expect=["[B, S, 6]", "[B, K - 1, 6]"], **CHANNELS_LAST),
    conv(
        *(arg("B", "S", 2, 3), arg(6, 1, 4), None, arg("B", "P", 2, 3)),
        expect=["[B, S, 2, 3]", "[B, 3, 2, 3]"],
        **CHANNELS_LAST,
    ),
    conv(arg("B", "S", "C", 2), arg("2*D", 1, 4), expect=["[B, S, C, 2]", "[B, 3, C, 2]"], **CHANNELS_LAST),
    conv(Arg(["B", "C", "S"], unknown_rank=True), arg("C", 1, "K"), expect=["?", "?"]),
    conv(arg("B", 6, "S"), Arg([6, 1, "K"], unknown_rank=True), expect=["[B, 6, S]", "[B, 6, ?]"]),
]


def attention_lstm(directions: int, attention: int | None, **attributes: object) -> Case:
    """The memory has 6 features, the input 4."""
    d, context = directions, attention or 6
    inputs = [
        *(arg("S", "B", 4), arg(d, 20, 4 + context), arg(d, 20, 5), arg(d, 40)),
        *(full("B", value=1), None, None, None, arg(d, 5, 7), arg(d, 6, 7), arg(d, 7), arg("B", "M", 6)),
        *(full("B", value=1), None if attention is None else arg(d, 11, attention)),
    ]
    tried = sizes(B=[1, 2], S=[1, 3], M=[0, 1, 4])
    expect = [f"[S, {d}, B, 5]", f"[{d}, B, 5]", f"[{d}, B, 5]"]
    return MS("AttnLSTM", inputs, {"hidden_size": 5, **attributes}, 3, tried, expect=expect)


LSTM = [
    attention_lstm(1, None),
    attention_lstm(1, 8, direction="reverse"),
    attention_lstm(2, None, direction="bidirectional"),
    attention_lstm(2, 8, direction="bidirectional"),
]

TOKENS, STATE = arg("B", "S", 4), arg("B", 4, 6, 8)
BY_ROWS = [arg("B", "S", 2, 8), arg("B", "S", 2, 8), arg("B", "S", 4, 6), None, TOKENS, TOKENS, STATE]
WITH_BIAS = {"gate_activation": "softplus"}


def delta_net(*inputs: Arg | None, expect: Sequence[str] | None = None, **attributes: object) -> Case:
    tried = sizes(B=[0, 1, 2], S=[0, 1, 4], N=[0, 4, 5], H=[0, 2, 3, 4])
    return MS("GatedDeltaNet", inputs, attributes, 2, tried, expect=expect)


DELTA_NETS = [
    delta_net(*BY_ROWS, expect=["[B, S, 4, 6]", "[B, 4, 6, 8]"]),
    delta_net(*BY_ROWS[:6], expect=["[B, S, 4, 6]", "[B, 4, 6, 8]"]),
    delta_net(arg("B", "S", 56), None, None, None, TOKENS, TOKENS, STATE, expect=["[B, S, 4, 6]", "[B, 4, 6, 8]"]),
    delta_net(arg("N", 2, 8), arg("N", 2, 8), arg("N", 4, 6), None, arg("N", 4), arg("N", 4), STATE),
    delta_net(
        arg("N", 2, 8), arg("N", 2, 8), arg("N", "H", 6), None, None, None, arg(1, "H", 6, 8), update_rule="linear"
    ),
    delta_net(*BY_ROWS[:4], arg("B", "S", 4, 8), TOKENS, STATE, arg(4), arg(4, 8), **WITH_BIAS),
    delta_net(*BY_ROWS, arg(4), arg("H"), **WITH_BIAS),
]

LEAD = sizes(N=[0, 1, 3], C=[0, 1, 2], H=[0, 1, 4])
FLAT = {"num_branches": 3}
FLAT_SIZES = sizes(N=[0, 1, 3], H=[0, 1, 4])
WRONG = sizes(N=[1, 3], C=[1, 2], H=[1, 4], G=[1, 2, 4, 8])
PRE, POST = "HyperConnectionPreMix", "HyperConnectionPostMix"

STREAMS = [
    *(
        MS(PRE, [arg("N", "C", "H"), arg("N", "C", *gate)], bindings=LEAD, expect=["[N, H]"])
        for gate in ((), (1,), ("H",))
    ),
    *(
        MS(PRE, [arg("N", "3*H"), arg("N", *gate)], FLAT, bindings=FLAT_SIZES, expect=["[N, H]"])
        for gate in ((3,), (3, 1), (3, "H"), ("3*H",))
    ),
    MS(PRE, [arg("N", "H"), arg("N", 3)], FLAT, bindings=sizes(N=[0, 2], H=[0, 3, 4, 12]), expect=["[N, H//3]"]),
    MS(PRE, [arg("N", "C", "H"), arg("N", "G")], bindings=WRONG, expect=["[N, H]"]),
    MS(PRE, [arg("N", "C", "H"), arg("N", "C", "G")], bindings=WRONG, expect=["[N, H]"]),
    MS(PRE, [arg("N", "C", "H"), arg("G", "C")], bindings=WRONG, expect=["[N, H]"]),
    MS(PRE, [arg("C", "H"), arg("C")], bindings=LEAD[:9], expect=["[H]"]),
    MS(PRE, [Arg(["N", "C", "H"], unknown_rank=True), arg("N", "C")], bindings=LEAD, expect=["?"]),
    MS(
        POST,
        [arg("N", "C", "H"), arg("N", "H"), arg("N", "C"), arg("N", "C", "C")],
        bindings=LEAD,
        expect=["[N, C, H]"],
    ),
    MS(POST, [arg("N", "3*H"), arg("N", "H"), arg("N", 3, "H")], FLAT, bindings=FLAT_SIZES, expect=["[N, 3*H]"]),
    MS(POST, [arg("N", "C", "H"), arg("N", "G"), arg("N", "C", 1)], bindings=WRONG, expect=["[N, C, H]"]),
    MS(POST, [arg("N", "C", "H"), arg("N", "H"), arg("N", "C"), arg("N", "C", "G")], bindings=WRONG),
    *(
        MS("BranchwiseRMSNorm", [arg("N", "C", "H"), *scale], bindings=LEAD, expect=["[N, C, H]"])
        for scale in ([], [arg("H")], [arg("C", "H")], [arg("C*H")])
    ),
    MS("BranchwiseRMSNorm", [arg("N", "C", "H"), arg("G")], bindings=WRONG, expect=["[N, C, H]"]),
    MS("BranchwiseRMSNorm", [arg("N", "H")], FLAT, bindings=sizes(N=[0, 2], H=[0, 3, 4, 12]), expect=["[N, H]"]),
    MS(
        "GatedRMSNorm",
        [arg("N", "H"), arg("C"), arg("N", "G")],
        {"activation": "sigmoid"},
        bindings=sizes(N=[0, 1, 3], H=[0, 4, 6], C=[0, 1, 4], G=[0, 4, 6]),
        expect=["[N, H]"],
    ),
    MS("GatedRMSNorm", [arg("N", "H"), arg(1, "C"), arg("N", "H")], bindings=LEAD, expect=["[N, H]"]),
    MS(
        "GatedAdd",
        [arg("N", "H"), arg("N", "G"), arg("M", "C")],
        bindings=sizes(N=[0, 1, 3], M=[0, 1, 3], H=[0, 1, 4], G=[1, 4], C=[1, 4]),
        expect=["[N, H]"],
    ),
    MS("GatedAdd", [arg("H"), arg("H"), arg(1)], bindings=sizes(H=[0, 1, 4]), expect=["[H]"]),
    MS("ScaledSiLU", [arg("N", "H"), Arg([])], bindings=LEAD, expect=["[N, H]"]),
    MS("ScaledSiLU", [arg("N", "H")], {"alpha": 2.0}, bindings=LEAD, expect=["[N, H]"]),
    MS(
        "EngramGate",
        [
            *(arg("B", "S", "C", "H"), arg("B", "T", "C", "H"), arg("B", "S", "H")),
            *(arg("C", "H"), arg("C", "H"), arg("C", "G")),
        ],
        outputs=2,
        bindings=sizes(B=[0, 2], S=[0, 1, 5], T=[1, 5], C=[0, 1, 3], H=[0, 4], G=[4, 0]),
        expect=["[B, S, C, H]", "[B, S, C, H]"],
    ),
    MS(
        "EngramGate",
        [arg("B", "S", "C", 4), arg("B", "S", "C", 4), arg("B", "S", 4), arg("C", 4), arg("C", 4)],
        bindings=sizes(B=[2], S=[0, 3], C=[1, 2]),
        expect=["[B, S, C, 4]"],
    ),
]

NGRAMS = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 0}
MULTIPLIERS, VOCABULARY = Arg(elements=[1, 3, 5], dtype=I64), Arg(elements=[3, 5, 7, 11], dtype=I64)


def ids(*dims: int | str, dtype: int = I64) -> Arg:
    return Arg(dims, dtype, high=2)


BOUNDS = Arg(["B + 1"], I32, data=lambda shape, rng: np.arange(shape[0]) * 2)
HASHES = [
    MS("NGramHashMapping", [ids("B", "S"), MULTIPLIERS, VOCABULARY], NGRAMS, 2, ROWS, expect=["[B, S, 4]", "[B, 2]"]),
    MS(
        "NGramHashMapping",
        [*(ids("B", "S"), ids("M"), Arg(["V"], I64, low=1), ids("B", "P"), ids(4), ids(), ids("B", "T", dtype=I32))],
        NGRAMS,
        2,
        sizes(B=[1, 2], S=[1, 5], M=[2, 3, 7], V=[3, 4], P=[1, 2], T=[1, 5]),
        expect=["[B, S, 4]", "[B, 2]"],
    ),
    MS(
        "VarlenNGramHashMapping",
        [ids("2*B"), MULTIPLIERS, VOCABULARY, BOUNDS],
        NGRAMS,
        2,
        sizes(B=[0, 1, 2, 5]),
        expect=["[2*B, 4]", "[B, 2]"],
    ),
    MS(
        "VarlenNGramHashMapping",
        [
            *(ids("2*B"), MULTIPLIERS, VOCABULARY, BOUNDS, ids("B", 2), ids(4), ids()),
            *(ids("2*B", dtype=I32), ids("B", 2, dtype=I32), ids("C", dtype=I32)),
        ],
        {**NGRAMS, "state_update_capacity": 3},
        4,
        sizes(B=[1, 2, 5], C=[1, 2, 5]),
        expect=["[2*B, 4]", "[B, 2]", "[B, 2]", "[B, 3, 2]"],
    ),
]


@pytest.mark.parametrize("case", [*LINEAR, *CONVOLUTIONS, *LSTM, *DELTA_NETS, *STREAMS, *HASHES], ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


ONE = sizes(B=[2], S=[3])
REJECTED = [
    delta_net(*BY_ROWS[:5], None, STATE),
    delta_net(*BY_ROWS, update_rule="linear"),
    delta_net(*BY_ROWS, **WITH_BIAS),
    delta_net(*BY_ROWS, arg(4), arg(4)),
    delta_net(*BY_ROWS, chunk_size=0),
    delta_net(*BY_ROWS[:3], full(3, value=0), TOKENS, TOKENS, STATE),
    delta_net(*BY_ROWS[:2], None, None, TOKENS, TOKENS, STATE),
    linear(*QKV, bindings=ONE),
    linear(*QKV, kv_num_heads=3, update_rule="linear", bindings=ONE),
    linear(*QKV, update_rule="cubic", bindings=ONE),
    linear(*QKV[:2], arg("B", 12), update_rule="linear", bindings=ONE),
    MS("LinearAttentionGate", [arg("B", 4), arg(4), arg(4)], outputs=2, bindings=ONE),
    MS("LinearAttentionGate", [Arg([]), arg(1), arg(1)]),
    conv(arg("B", 6), arg(6, 1, 4)),
    conv(arg("B", 6, "S"), arg(6, 2, 4)),
    conv(arg("B", 6, "S"), arg(6, 1, 4), dilation=0),
    conv(arg("B", 6, "S"), arg(6, 1, 4), state_window=-1),
    conv(arg("B", 6, "S"), arg(6, 1, 4), activation="relu"),
    conv(arg("B", 6, "S"), arg(6, 1, 4), ndim=4),
    MS(PRE, [arg(4), arg(4)]),
    MS(PRE, [arg(2, 3), arg(2)], {"num_branches": -1}),
    MS(PRE, [arg(2, 3, 4), arg(2)]),
    MS("BranchwiseRMSNorm", [arg(2, 3, 4), arg(1, 3, 4)]),
    MS("GatedRMSNorm", [Arg([]), arg(1), Arg([])]),
    MS("GatedRMSNorm", [arg(4), arg(2), arg(4)], {"activation": "relu"}),
    MS("GatedAdd", [arg(2, 4), arg(2, 4), arg(2)]),
    MS("ScaledSiLU", [arg(2), arg(1)]),
    MS("EngramGate", [arg(1, 2, 3, 4), arg(1, 2, 3, 4), arg(1, 2, 4), arg(3, 4), arg(3, 4)], outputs=2),
    MS("NGramHashMapping", [ids(2, 5), MULTIPLIERS, VOCABULARY], {**NGRAMS, "max_ngram_size": 1}),
    MS("NGramHashMapping", [ids(2, 5), MULTIPLIERS, VOCABULARY, None, None, ids(1)], NGRAMS),
    MS(
        "VarlenNGramHashMapping",
        [ids("2*B"), MULTIPLIERS, VOCABULARY, BOUNDS],
        {**NGRAMS, "state_update_capacity": 1},
        bindings=sizes(B=[1]),
    ),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0
