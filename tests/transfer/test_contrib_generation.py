"""Text generation, executed by onnxruntime with a decoder of one table; operators on tokens."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from onnx import GraphProto, TensorProto, helper, numpy_helper

import absint
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

MS = partial(Case, domain="com.microsoft", opset=1)
F32, I32, I64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
VOCABULARY = 11


def decoder() -> GraphProto:
    """Logits that depend on the last token, and a cache (2, B, heads, length, size) that grows by the tokens."""
    info, ints = helper.make_tensor_value_info, partial(np.array, dtype=np.int64)
    inputs = [info(name, I32, ["b", "s"]) for name in ("input_ids", "position_ids")]
    inputs += [info("attention_mask", I32, ["b", "t"]), info("past_0", F32, [2, "b", 2, "p", 3])]
    outputs = [info("logits", F32, ["b", "s", VOCABULARY]), info("present_0", F32, [2, "b", 2, "t", 3])]
    table = np.random.default_rng(0).standard_normal((VOCABULARY, VOCABULARY)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["logits"]),
        helper.make_node("Cast", ["input_ids"], ["floats"], to=F32),
        helper.make_node("Unsqueeze", ["floats", "axes"], ["rows"]),
        helper.make_node("Tile", ["rows", "repeats"], ["new"]),
        helper.make_node("Concat", ["past_0", "new"], ["present_0"], axis=3),
    ]
    constants = {"table": table, "axes": ints([0, 2, 4]), "repeats": ints([2, 1, 2, 1, 3])}
    return helper.make_graph(
        nodes, "decoder", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()]
    )


DECODER = {"decoder": decoder(), "eos_token_id": 10, "pad_token_id": 9}
PROMPT = Arg(["B", "S"], I32, high=9)
LENGTH, HIDDEN = Arg(elements=["L"], dtype=I32, fed=True), Arg(elements=["L"], dtype=I32, hidden=True)
ONE, PENALTY = Arg(elements=[1], dtype=I32, fed=True), Arg(elements=[1.0], dtype=F32, fed=True)
LENGTHS = sizes(B=[1, 2], S=[1, 3], L=[2, 4, 8])
BEAMS = sizes(B=[1, 2], S=[1, 3], L=[4], K=[1, 2, 3], R=[1, 2])


def beams(length: Arg = LENGTH, *, outputs: int = 3, **attributes: object) -> Case:
    numbers = [Arg(elements=[name], dtype=I32, fed=True) for name in "KR"]
    inputs = [PROMPT, length, ONE, *numbers, PENALTY, PENALTY]
    return MS("BeamSearch", inputs, {**DECODER, **attributes}, outputs, BEAMS)


def expecting(case: Case, *expect: str) -> Case:
    return replace(case, expect=expect)


SEARCHES = [
    *(
        MS(op, [PROMPT, length], DECODER, bindings=LENGTHS, expect=[expect])
        for op in ("GreedySearch", "Sampling")
        for length, expect in (
            (LENGTH, "[B, L]"),
            (HIDDEN, "[B, ?]"),
            (Arg(elements="L", dtype=I32, fed=True), "[B, L]"),
        )
    ),
    MS("GreedySearch", [PROMPT, LENGTH, ONE, PENALTY], {**DECODER, "vocab_size": 11}, bindings=LENGTHS),
    MS("GreedySearch", [PROMPT, LENGTH], {**DECODER, "eos_token_id": 3}, bindings=LENGTHS, expect=["[B, L]"]),
    expecting(beams(), "[B, R, L]", "[B, R]", "[L - S, B, K, ?]"),
    expecting(beams(vocab_size=8), "[B, R, L]", "[B, R]", "[L - S, B, K, 8]"),
    expecting(beams(early_stopping=1, eos_token_id=3), "[B, R, L]", "[B, R]", "[L - S, B, K, ?]"),
    expecting(beams(HIDDEN, outputs=1), "[B, R, ?]"),
]

PREDICTED = Arg(["P"], I64, high=9)
INDEX = Arg([1], I64, data=lambda shape, rng: np.zeros(shape))
COSTS = sizes(M=[0, 1, 3, 7], N=[0, 1, 4])
TOKENS = [
    MS(
        "NGramRepeatBlock",
        [Arg(["B", "S"], I64, high=2), Arg(["C", "V"])],
        {"ngram_size": 2},
        bindings=sizes(B=[0, 1, 2], S=[0, 1, 5], C=[0, 1, 2], V=[2, 7]),
        expect=["[B, V]"],
    ),
    MS(
        "BifurcationDetector",
        [Arg(["S"], I64, high=9), Arg(["C"], I64), INDEX],
        outputs=2,
        bindings=sizes(S=[0, 1, 5], C=[0, 1, 3]),
        expect=["[C]", "[1]"],
    ),
    MS(
        "BifurcationDetector",
        [Arg(["S"], I64, high=3), Arg(["C"], I64), INDEX, Arg(["S + 1"], I64, high=3)],
        outputs=2,
        bindings=sizes(S=[0, 1, 5, 9], C=[0, 1, 3]),
        expect=["[?]", "[1]"],
    ),
    MS(
        "BifurcationDetector",
        [Arg(["S"], I64), Arg(["C"], I64), Arg([], I64, high=1), PREDICTED],
        outputs=2,
        bindings=sizes(S=[5], C=[0, 3], P=[5, 6, 7]),
        expect=["[?]", "[]"],
    ),
    MS("DynamicTimeWarping", [Arg(["M", "N"])], bindings=COSTS, expect=["[2, ?]"]),
    MS("DynamicTimeWarping", [Arg([1, "M", "N"])], bindings=COSTS, expect=["[2, ?]"]),
    MS("DynamicTimeWarping", [Arg(["M", "N"], unknown_rank=True)], bindings=COSTS, expect=["[2, ?]"]),
]


@pytest.mark.parametrize("case", [*SEARCHES, *TOKENS], ids=lambda case: f"{case.op}-{case.inputs[1:2]}")
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


LONG, SHORT = sizes(B=[2], S=[4], L=[4]), sizes(B=[2], S=[3], L=[4])
REJECTED = [
    MS("GreedySearch", [Arg([3], I32), LENGTH], DECODER, bindings=SHORT),
    MS("GreedySearch", [Arg([2, 4], I32), Arg(elements=[4], dtype=I32)], DECODER, bindings=LONG),
    MS("NGramRepeatBlock", [Arg([2, 5], I64), Arg([7])], {"ngram_size": 2}),
    MS("NGramRepeatBlock", [Arg([2, 5], I64), Arg([2, 7])], {"ngram_size": 0}),
    MS("BifurcationDetector", [Arg([1, 5], I64), Arg([3], I64), INDEX], outputs=2),
    MS("DynamicTimeWarping", [Arg([3])]),
    MS("DynamicTimeWarping", [Arg([2, 3, 4])]),
]


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: f"{case.op}-{case.inputs[:1]}")
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


# Not executed: a model of sounds takes an encoder of several graphs, and so does a search of an encoder and a decoder.
def test_whisper_beam_search() -> None:
    inputs = [Arg(["B", 80, 3000]), Arg(elements=["L"], dtype=I32), None, *[Arg(elements=[2], dtype=I32)] * 2, PENALTY]
    heads = Arg(["H", 2], I32)
    case = MS("WhisperBeamSearch", [*inputs, *[None] * 6, heads], {"vocab_size": 51865, "model_type": 2}, 5)
    found = [str(value) for value in apply_case(case).outputs]
    assert found == [
        "Tensor(INT32[B, 2, L])",
        "Tensor(FLOAT[B, 2])",
        "Tensor(FLOAT[?, B, 2, 51865])",
        "Tensor(FLOAT[B, 2, H, ?, ?])",
        "Tensor(FLOAT[B])",
    ]


def test_beam_search_of_an_encoder_and_a_decoder() -> None:
    inputs = [PROMPT, LENGTH, None, *[Arg(elements=[2], dtype=I32)] * 2, PENALTY]
    case = MS("BeamSearch", inputs, {"model_type": 1}, 3)
    assert [str(value) for value in apply_case(case).outputs][::2] == [
        "Tensor(INT32[B, 2, L])",
        "Tensor(FLOAT[?, B, 2, ?])",
    ]


@pytest.mark.parametrize("op", ["GreedySearch", "Sampling"])
def test_the_graphs_of_a_search_are_left_alone(op: str) -> None:
    attributes = {**DECODER, "init_decoder": decoder()}
    node = helper.make_node(op, ["ids", "length"], ["tokens"], domain="com.microsoft", **attributes)
    twice = helper.make_node(op, ["tokens", "longer"], ["more"], domain="com.microsoft", **DECODER)
    graph = helper.make_graph(
        [node, twice],
        "search",
        [helper.make_tensor_value_info("ids", I32, ["B", "S"])],
        [helper.make_tensor_value_info("more", I32, None)],
        [numpy_helper.from_array(np.array([n], np.int32), name) for name, n in (("length", 20), ("longer", 32))],
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    result = absint.analyze(helper.make_model(graph, opset_imports=imports))
    assert str(result.shapes["tokens"]) == "[B, 20]"
    assert str(result.shapes["more"]) == "[B, 32]"
    assert [str(d) for d in result.diagnostics] == []
    assert "S <= 19" in str(result.contract())
    result.verify()
