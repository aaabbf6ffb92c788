"""Fused attention: caches, packed inputs, rotations; executed by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, build_model, check_outputs, run_case, shape_text, sizes
from tests.transfer.inference import check_inferred

MS = partial(Case, domain="com.microsoft", opset=1)
I8, U8, I32, I64 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64
HEADS, GROUPS = {"num_heads": 4}, {"num_heads": 4, "kv_num_heads": 2}
PAST = sizes(B=[1, 2], S=[1, 3], P=[0, 5])


def arg(*dims: int | str, dtype: int = TensorProto.FLOAT) -> Arg:
    return Arg(dims, dtype)


def filled(*dims: int | str, value: int) -> Arg:
    return Arg(dims, I32, data=lambda shape, rng: np.full(shape, value))


def total(size: int | str, **how: bool) -> Arg:
    return Arg(elements=[size], dtype=I32, fed=True, **how)


X, WEIGHTS, BIAS = arg("B", "S", 8), arg(8, 24), arg(24)


def attend(
    *rest: Arg | None, bindings: Sequence[Mapping[str, int]] = PAST, expect: Sequence[str], **more: object
) -> Case:
    return MS("Attention", [X, *rest], {**HEADS, **more}, 2, bindings, expect=expect)


WIDE = {"qkv_hidden_sizes": [8, 8, 16]}
SCALE, ZERO = Arg(elements=0.5), Arg(elements=1, dtype=U8)
SELF = [
    attend(WEIGHTS, BIAS, filled("B", value=1), arg(2, "B", 4, "P", 2), expect=["[B, S, 8]", "[2, B, 4, P + S, 2]"]),
    attend(
        WEIGHTS,
        BIAS,
        filled("B", "P + S", value=1),
        arg(2, "B", 4, "P", 2),
        expect=["[B, S, 8]", "[2, B, 4, P + S, 2]"],
    ),
    attend(WEIGHTS, BIAS, filled("B", "S", "S", value=1), expect=["[B, S, 8]", "[2, B, 4, S, 2]"]),
    attend(WEIGHTS, BIAS, None, None, arg(1, 4, "S", "S"), expect=["[B, S, 8]", "[2, B, 4, S, 2]"], unidirectional=1),
    # The CPU kernel stores keys in the size of values, which is not what the operator's text says.
    attend(arg(8, 32), arg(32), expect=["[B, S, 16]", "[2, B, 4, S, ?]"], **WIDE),
    attend(WEIGHTS, BIAS, expect=["[B, S, 8]", "[2, B, 4, S, 2]"], qkv_hidden_sizes=[8, 8, 8]),
    attend(WEIGHTS, BIAS, None, arg(2, "B", 4, "P", 2), None, total("P"), expect=["[B, S, 8]", "[2, B, 4, P + S, 2]"]),
    attend(
        *(WEIGHTS, BIAS, None, arg(2, "C", 4, "P", "D")),
        bindings=sizes(B=[1, 2], C=[1, 2], S=[2], P=[3], D=[2, 3]),
        expect=["[B, S, 8]", "[2, B, 4, P + S, 2]"],
    ),
    MS(
        "QAttention",
        [
            *(arg("B", "S", 8, dtype=U8), arg(8, 24, dtype=U8), BIAS, SCALE, SCALE),
            *(None, ZERO, ZERO, arg(2, "B", 4, "P", 2)),
        ],
        HEADS,
        2,
        PAST,
        expect=["[B, S, 8]", "[2, B, 4, P + S, 2]"],
    ),
]

PROMPT = sizes(B=[1, 2], S=[1, 3], L=[0, 1, 5])
CACHES = [arg("B", 4, "P", 2)] * 2
ROOMY = sizes(B=[1, 2], S=[1, 3], P=[2, 3, 5, 6])


def multi(*inputs: Arg | None, bindings: Sequence[Mapping[str, int]] = PROMPT, expect: Sequence[str | None]) -> Case:
    return MS("MultiHeadAttention", inputs, HEADS, len(expect), bindings, expect=expect)


PLAIN = ["[B, S, 8]", "[B, 4, L, 2]", "[B, 4, L, 2]"]
KEYS = [arg("B", "L", 8)] * 2
GROWN = ["[B, S, 8]", "[B, 4, P + S, 2]", "[B, 4, P + S, 2]"]
CROSS = [
    multi(X, *KEYS, BIAS, expect=PLAIN),
    multi(X, arg("B", "L", 8), arg("B", "L", 12), arg(28), expect=["[B, S, 12]", "[B, 4, L, 2]", "[B, 4, L, 3]"]),
    multi(X, *KEYS, None, filled("B", "L", value=1), expect=PLAIN),
    multi(X, *KEYS, None, filled("B", "S", "L", value=1), expect=PLAIN),
    multi(X, *KEYS, None, None, arg("B", 4, "S", "L"), expect=PLAIN),
    multi(X, *[arg("B", 4, "L", 2)] * 2, expect=PLAIN),
    multi(X, X, X, None, None, None, *CACHES, bindings=PAST, expect=GROWN),
    multi(*(X, arg("B", 4, "S", 2), arg("B", 4, "S", 2), None, None, None, *CACHES), bindings=PAST, expect=GROWN),
    multi(*(X, *KEYS, None, None, None, None, None, total(9)), expect=PLAIN),
    multi(
        *(X, *[arg("B", 4, "L", 2)] * 2, None, None, None, *CACHES, total("T")),
        bindings=sizes(B=[1, 2], S=[1, 3], L=[1, 3], P=[3, 4], T=[0, 1, 2]),
        expect=["[B, S, 8]", "[B, 4, P, 2]", "[B, 4, P, 2]"],
    ),
    multi(
        *(X, X, X, None, None, None, *CACHES, total(2, hidden=True)),
        bindings=ROOMY,
        expect=["[B, S, 8]", "[B, 4, P, 2]", "[B, 4, P, 2]"],
    ),
    multi(
        *(X, X, X, None, None, None, *CACHES, total(2)),
        bindings=ROOMY,
        expect=["[B, S, 8]", "[B, 4, P, 2]", "[B, 4, P, 2]"],
    ),
    multi(
        *(arg("B", 1, 8), arg("B", 1, 8), arg("B", 1, 8), None, None, None, *CACHES, total(2)),
        filled(1, "B", "P", value=0),
        bindings=sizes(B=[1, 2], P=[3, 6]),
        expect=["[B, 1, 8]", "[B, 4, P, 2]", "[B, 4, P, 2]"],
    ),
    multi(
        *(X, arg("C", "L", "D"), arg("B", "T", 8)),
        bindings=sizes(B=[1, 2], C=[1, 2], S=[3], L=[4, 5], T=[4, 5], D=[8, 12]),
        expect=PLAIN,
    ),
    multi(
        *(X, X, X, None, None, None, arg("C", 4, "P", "D"), arg("B", 4, "Q", 2)),
        bindings=sizes(B=[1, 2], C=[1, 2], S=[3], P=[4, 5], Q=[4, 5], D=[2, 3]),
        expect=GROWN,
    ),
]

CACHE = [arg("B", 2, "P", 8)] * 2
QKV = [arg("B", "S", 32), arg("B", "S", 16), arg("B", "S", 16)]
ONE = [arg("B", 1, 32), arg("B", 1, 16), arg("B", 1, 16)]
AFTER = sizes(B=[1, 2], P=[0, 1, 5, 8])
ROWS = sizes(B=[1, 2], S=[1, 3])


def group(
    *inputs: Arg | None, bindings: Sequence[Mapping[str, int]], expect: Sequence[str | None], **more: object
) -> Case:
    return MS("GroupQueryAttention", inputs, {**GROUPS, **more}, len(expect), bindings, expect=expect)


FRESH = ["[B, S, 32]", "[B, 2, S, 8]", "[B, 2, S, 8]", "[B, 4, S, S]"]
LAST = filled("B", value=0)
SCALES = [*[None] * 5, arg(1), arg(1)]
QUANTISED = {f"{name}_quant_type": "PER_TENSOR" for name in "kv"}
WINDOW = {"sliding_window_cache": 1, "local_window_size": 4}
GROUPED = [
    group(*QKV, None, None, LAST, total("S"), bindings=ROWS, expect=FRESH),
    group(*QKV, None, None, LAST, total("S", hidden=True), bindings=ROWS, expect=FRESH),
    group(arg("B", "S", 64), None, None, None, None, LAST, total("S"), bindings=ROWS, expect=FRESH, qk_output=1),
    group(*QKV, None, None, LAST, total("T"), bindings=sizes(B=[1, 2], S=[1, 3], T=[0, 1, 2, 3, 4]), expect=FRESH),
    group(
        *(*ONE, *CACHE, LAST, total("P + 1")),
        bindings=AFTER,
        expect=["[B, 1, 32]", "[B, 2, P + 1, 8]", "[B, 2, P + 1, 8]", "[B, 4, 1, P + 1]"],
    ),
    group(
        *(*ONE, *CACHE, LAST, total("T")),
        bindings=sizes(B=[1, 2], P=[0, 1, 5], T=[1, 2, 4, 5, 6, 7]),
        expect=["[B, 1, 32]", "[B, 2, max(P, T), 8]", "[B, 2, max(P, T), 8]", "[B, 4, 1, T]"],
    ),
    group(
        *(*QKV, *CACHE, filled(1, value=6), total("T")),
        bindings=sizes(B=[1], S=[3], P=[4, 7, 9], T=[7]),
        expect=["[B, S, 32]", "[B, 2, max(P, T), 8]", "[B, 2, max(P, T), 8]"],
    ),
    # Without new keys the queries see those of the past.
    group(
        *(arg("B", "S", 32), *[arg("B", "L", 16)] * 2, *CACHE, LAST, total("T")),
        bindings=sizes(B=[1, 2], S=[1, 2], L=[0, 1, 2], P=[5], T=[1, 4, 5, 6, 7]),
        expect=["[B, S, 32]", "[B, 2, max(P, T), 8]", "[B, 2, max(P, T), 8]", "[B, 4, S, T]"],
    ),
    group(
        *(*ONE, *CACHE, LAST, total(10)),
        bindings=sizes(B=[1, 2], P=[3, 4, 6]),
        expect=["[B, 1, 32]", "[B, 2, P, 8]", "[B, 2, P, 8]"],
        **WINDOW,
    ),
    group(
        *(*ONE, *CACHE, LAST, total("P + 1")),
        bindings=sizes(B=[1, 2], P=[3, 4, 6]),
        expect=["[B, 1, 32]", "[B, 2, P + 1, 8]", "[B, 2, P + 1, 8]"],
        **{**WINDOW, "sliding_window_cache": 2},
    ),
    group(
        *(*ONE, *[arg("B", 2, "P", 8, dtype=I8)] * 2, LAST, total("P + 1"), *SCALES),
        bindings=AFTER,
        expect=["[B, 1, 32]", "[B, 2, P + 1, 8]", "[B, 2, P + 1, 8]"],
        kv_cache_bit_width=8,
        **QUANTISED,
    ),
    group(
        *(*ONE, *[arg("B", 2, "P", 4, dtype=U8)] * 2, LAST, total("P + 1"), *SCALES),
        bindings=AFTER,
        expect=["[B, 1, 32]", "[B, 2, P + 1, 4]", "[B, 2, P + 1, 4]"],
        kv_cache_bit_width=4,
        **QUANTISED,
    ),
    group(
        *(
            arg("B", "S", 64),
            arg("B", "S", 32),
            arg("B", "S", 32),
            None,
            None,
            LAST,
            total("S"),
            arg("M", 8),
            arg("M", 8),
        ),
        bindings=sizes(B=[1, 2], S=[1, 3], M=[9]),
        expect=["[B, S, 64]", "[B, 2, S, 16]", "[B, 2, S, 16]"],
        do_rotary=1,
    ),
    group(
        *(*QKV, None, None, LAST, total("S"), None, None, None, arg("B", 1, "S", "S"), arg(4)),
        bindings=ROWS,
        expect=FRESH[:3],
    ),
]

DECODE = sizes(B=[1, 2], P=[0, 2, 3, 7])
ONCE = [arg("B", 1, 16)] * 3
DECODERS = [
    MS("DecoderMaskedMultiHeadAttention", ONCE, HEADS, bindings=ROWS, expect=["[B, 1, 16]"]),
    MS(
        "DecoderMaskedMultiHeadAttention",
        [arg("B", 1, 16), *[arg("B", 4, "L", 4)] * 2],
        HEADS,
        bindings=sizes(B=[1, 2], L=[1, 6]),
        expect=["[B, 1, 16]"],
    ),
    *(
        MS(
            "DecoderMaskedMultiHeadAttention",
            [*ONCE, None, None, *[arg("B", 4, "P", 4)] * 2, total(2), *beams],
            {**HEADS, "past_present_share_buffer": shared},
            3,
            DECODE,
            expect=["[B, 1, 16]", "[B, 4, P, 4]", "[B, 4, P, 4]"],
        )
        for beams in ([], [total(1), filled("B", 1, "P", value=0)])
        for shared in (1, 2)
    ),
]

TURNED = sizes(B=[0, 1, 2], S=[0, 1, 5], M=[4, 9])
SECTIONS_ALONE = {"mrope_section": [2, 1, 1]}
SECTIONS = {**SECTIONS_ALONE, "num_heads": 2}
ANGLES = [arg("M", 4)] * 2


def positions(*dims: int | str) -> Arg:
    return Arg(dims, I64, high=4)


TWICE = {"num_heads": 2, "rotary_embedding_dim": 8}
ROTATIONS = [
    *(
        MS("RotaryEmbedding", [x, where, *ANGLES], more, bindings=TURNED, expect=[expect])
        for x, expect in ((arg("B", "S", 8), "[B, S, 8]"), (arg("B", 3, "S", 8), "[B, 3, S, 8]"))
        for where in (positions("B", "S"), Arg([1], I64, high=1), Arg([], I64, high=1))
        for more in ({}, {"is_packed_batching": 1}, {"is_packed_batching": 2})
    ),
    MS("RotaryEmbedding", [arg("B", "S", 32), positions("B", "S"), *ANGLES], TWICE, bindings=TURNED),
    MS(
        "RotaryEmbedding",  # the angles of a whole head, of which a part turns
        [arg("B", "S", 16), positions("B", "S"), *ANGLES],
        {"num_heads": 2, "rotary_embedding_dim": 2},
        bindings=TURNED,
        expect=["[B, S, 16]"],
    ),
    MS(
        "RotaryEmbedding",
        [arg("B", "S", "H"), positions("B", "S"), *[arg("M", "C")] * 2],
        bindings=sizes(B=[0, 1], S=[0, 2], M=[0, 4], H=[0, 6, 8], C=[0, 1, 3]),
        expect=["[B, S, H]"],
    ),
    MS(
        "RotaryEmbedding",
        [arg("B", "S", 8), positions("C", "T"), arg("M", 4), arg("N", 4)],
        bindings=sizes(B=[1, 2], C=[1, 2], S=[1, 3], T=[1, 3], M=[9], N=[9, 8]),
        expect=["[B, S, 8]"],
    ),
    *(
        MS("MRotaryEmbedding", [x, positions(3, "B", "S"), *ANGLES], SECTIONS, bindings=TURNED, expect=[expect])
        for x, expect in ((arg("B", "S", 16), "[B, S, 16]"), (arg("B", 3, "S", 8), "[B, 3, S, 8]"))
    ),
    MS(
        "MRotaryEmbedding",
        [arg("B", "S", 16), positions("K", "B", "T"), *ANGLES],
        SECTIONS,
        bindings=sizes(B=[1, 2], S=[1, 3], K=[1, 3], T=[1, 3], M=[9]),
    ),
]

NORMALISED = [
    MS(
        op,
        [arg("B", "S", "H"), arg("B", "S", "H"), arg("H")],
        outputs=4,
        bindings=sizes(B=[0, 2], S=[0, 3], H=[0, 1, 4]),
    )
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
]


@pytest.mark.parametrize("case", [*SELF, *CROSS, *GROUPED, *DECODERS, *ROTATIONS, *NORMALISED], ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


SCORED = [
    MS("MultiHeadAttention", [X, *KEYS], HEADS, 4, PROMPT, expect=[*PLAIN, "[B, 4, S, L]"]),
    MS("MultiHeadAttention", [X, X, X, None, None, None, *CACHES], HEADS, 4, PAST, expect=[*GROWN, "[B, 4, S, P + S]"]),
    MS(
        "MultiHeadAttention",
        [X, X, X, None, None, None, *CACHES, total("P - S")],
        HEADS,
        4,
        sizes(B=[1, 2], S=[1, 3], P=[3, 6]),
        expect=["[B, S, 8]", "[B, 4, P, 2]", "[B, 4, P, 2]", "[B, 4, S, P]"],
    ),
    MS(
        "DecoderMaskedMultiHeadAttention",
        [*ONCE, None, None, *[arg("B", 4, "P", 4)] * 2, total(2)],
        {**HEADS, "past_present_share_buffer": 1, "output_qk": 1},
        4,
        sizes(B=[1, 2], P=[3, 6]),
        expect=["[B, 1, 16]", "[B, 4, P, 4]", "[B, 4, P, 4]", "[B, 4, 1, 3]"],
    ),
]


@pytest.mark.parametrize("case", SCORED, ids=str)
def test_scores_agree(case: Case) -> None:
    """The type of the scores is nothing that an input tells: the model must declare it."""
    applied = apply_case(case)
    assert case.expect == [shape_text(value) for value in applied.outputs]
    for binding in case.bindings:
        rng = np.random.default_rng(0)
        arrays = [None if each is None else each.array(binding, rng) for each in case.inputs]
        model = build_model(case, arrays)
        model.graph.output[3].type.tensor_type.elem_type = TensorProto.FLOAT
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        feeds = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
        check_outputs(case, applied, binding, session.run(None, feeds))


REJECTED = [
    attend(arg(8, 32), arg(32), None, arg(2, "B", 4, "P", 2), expect=["?", "?"], **WIDE),
    attend(WEIGHTS, BIAS, expect=["?", "?"], qkv_hidden_sizes=[8, 8]),
    attend(WEIGHTS, BIAS, expect=["?", "?"], qkv_hidden_sizes=[8, 12, 4]),
    attend(WEIGHTS, BIAS, expect=["?", "?"], qkv_hidden_sizes=[8, 8, 12]),
    multi(X, *[arg("B", "L", 12)] * 2, expect=["?"]),
    multi(X, arg("B", 4, "L", 2), arg("B", 4, "L", 3), expect=["?"]),
    group(*QKV, None, None, LAST, total("S"), bindings=ROWS, expect=["?"], kv_num_heads=3),
    group(*ONE, *[arg("B", 2, "P", 6)] * 2, LAST, total("P + 1"), bindings=AFTER, expect=["?"]),
    MS("DecoderMaskedMultiHeadAttention", [arg("B", 2, 16)] * 3, HEADS, bindings=ROWS),
    MS("RotaryEmbedding", [arg("B", 8), positions("B", 8), *ANGLES], bindings=TURNED),
    MS("RotaryEmbedding", [arg("B", 5, 8), positions(2), *ANGLES], bindings=TURNED),
    MS("RotaryEmbedding", [arg("B", 5, 8), positions("B", 5), *ANGLES], {"num_heads": -1}, bindings=TURNED),
    MS("RotaryEmbedding", [arg("B", 5, 8), positions("B", 5), *ANGLES], {"rotary_embedding_dim": 8}, bindings=TURNED),
    MS("MRotaryEmbedding", [arg("B", 5, 8), positions(3, "B", 5), *ANGLES], SECTIONS_ALONE, bindings=TURNED),
    MS("MRotaryEmbedding", [arg("B", 2, 5, 8), positions(3, "B", 5), *ANGLES], {"mrope_section": [4]}, bindings=TURNED),
    MS(
        "MRotaryEmbedding",
        [arg("B", 2, 5, 8), positions(3, "B", 5), *ANGLES],
        {"mrope_layout": 2, **SECTIONS},
        bindings=TURNED,
    ),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(replace(case, expect=None)) == 0


# Its caches are written in place: past and present must be one buffer, which takes a run with bound outputs.

LAYOUT = [Arg(elements=[[0, 1, 3]], dtype=I32), Arg(elements=[[0, 0, 1]], dtype=I32)]
BLOCKS = {**GROUPS, "sparse_block_size": 16}
SPARSE = [
    MS(
        "SparseAttention",
        [*query, *CACHE, *LAYOUT, total("S"), filled("B", value=1)],
        BLOCKS,
        3,
        sizes(B=[1, 2], S=[1, 3], P=[16, 20, 32]),
        expect=["[B, S, 32]", "[B, 2, P, 8]", "[B, 2, P, 8]"],
    )
    for query in (QKV, [arg("B", "S", 64), None, None])
]


def run_in_place(case: Case, binding: Mapping[str, int]) -> list[np.ndarray]:
    """The outputs of a node that writes its inputs 3 and 4, which are its outputs 1 and 2."""
    rng = np.random.default_rng(0)
    arrays = [None if each is None else each.array(binding, rng) for each in case.inputs]
    session = ort.InferenceSession(build_model(case, arrays).SerializeToString(), providers=["CPUExecutionProvider"])
    bound, fed = session.io_binding(), {each.name for each in session.get_inputs()}
    values = {f"x{i}": ort.OrtValue.ortvalue_from_numpy(a) for i, a in enumerate(arrays) if a is not None}
    for name in fed:
        bound.bind_ortvalue_input(name, values[name])
    bound.bind_output("y0")
    bound.bind_ortvalue_output("y1", values["x3"])
    bound.bind_ortvalue_output("y2", values["x4"])
    session.run_with_iobinding(bound)
    return bound.copy_outputs_to_cpu()


@pytest.mark.parametrize("case", SPARSE, ids=str)
def test_sparse_attention_agrees_in_place(case: Case) -> None:
    applied = apply_case(case)
    for binding in case.bindings:
        check_outputs(case, applied, binding, run_in_place(case, binding))


@pytest.mark.parametrize("case", SPARSE, ids=str)
def test_onnxruntime_infers_the_same(case: Case) -> None:
    assert check_inferred(case) > 0
