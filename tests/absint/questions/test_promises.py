"""A node that may fail on data, or for a reason that no rule states, is never said to run; runs show each failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import absint
from absint import analyze
from absint.questions.sizes.outcomes import Outcome
from tests.models import parsed


class Failing(NamedTuple):
    """A model with inputs of one shape on which it runs, and on which it fails."""

    text: str
    sizes: Mapping[str, int]
    good: Mapping[str, Any]
    bad: Mapping[str, Any]
    complete: bool
    """The rule says itself what may fail."""


def ones(*dims: int) -> np.ndarray:
    return np.ones(dims, np.float32)


CLASSES = {"x": ones(3, 2)}
POOLED = {"x": ones(1, 1, 2)}
REGION = {"x": ones(1, 1, 3, 3), "b": ones(1, 4)}

CASES = {
    "Gather": Failing(
        "(float[N] x, int64[M] i) => (float[K] y) { y = Gather(x, i) }",
        {"N": 3, "M": 1},
        {"x": ones(3), "i": np.array([2])},
        {"x": ones(3), "i": np.array([7])},
        True,
    ),
    "NegativeLogLikelihoodLoss": Failing(
        "(float[N, C] x, int64[N] i) => (float y) { y = NegativeLogLikelihoodLoss(x, i) }",
        {"N": 3, "C": 2},
        {**CLASSES, "i": np.array([0, 1, 1])},
        {**CLASSES, "i": np.array([0, 1, 7])},
        False,
    ),
    "RoiAlign": Failing(
        "(float[1, 1, N, N] x, float[R, 4] b, int64[R] i) => (float[p, q, r, s] y) { y = RoiAlign(x, b, i) }",
        {"N": 3, "R": 1},
        {**REGION, "i": np.array([0])},
        {**REGION, "i": np.array([7])},
        True,
    ),
    "MaxUnpool": Failing(
        "(float[1, 1, N] x, int64[1, 1, N] i) => (float[p, q, r] y) "
        "{ y = MaxUnpool<kernel_shape = [2], strides = [2]>(x, i) }",
        {"N": 2},
        {**POOLED, "i": np.array([[[0, 2]]])},
        {**POOLED, "i": np.array([[[0, 99]]])},
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_may_fail_is_not_said_to_run(name: str) -> None:
    case = CASES[name]
    made = parsed(f"{name} {case.text}", 20)
    session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    session.run(None, dict(case.good))
    with pytest.raises(Exception, match="Non-zero status code"):
        session.run(None, dict(case.bad))
    result = analyze(made)
    checked = result.check(case.sizes)
    assert checked.outcome is Outcome.LEGAL
    assert name in {failure.origin.operator for failure in checked.possible_failures}
    ranged = result.check_range({symbol: (size, size + 2) for symbol, size in case.sizes.items()})
    assert ranged.outcome is Outcome.LEGAL
    assert bool(ranged.possible_failures) or not case.complete


def unpromised() -> Outcome:
    """What a check says of an operator whose rule promises nothing."""

    @absint.rule("Same", inputs="X", domain="my")
    def same(op: absint.Op) -> absint.Value:
        return op.tensor("X")

    text = """<ir_version: 10, opset_import: ["": 20, "my": 1]> g (float[N] x) => (float[k] y) { y = my.Same(x) }"""
    return analyze(onnx.parser.parse_model(text), table=absint.TABLE.extended([same])).check({"N": 3}).outcome


def test_what_no_rule_promises_is_not_said_to_run() -> None:
    assert unpromised() is Outcome.LEGAL


@pytest.mark.parametrize("outputs", [["y", "", "b"], ["y", "a", ""], ["y", "a", "b"]], ids=str)
def test_an_output_that_is_left_out_is_missed(outputs: list[str]) -> None:
    """onnxruntime's Attention with a past fails unless both caches are asked for."""
    shapes = {"q": "S", "k": "S", "v": "S", "pk": "P", "pv": "P"}
    tensor = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], outputs)
    inputs = [tensor(name, onnx.TensorProto.FLOAT, ["B", 2, size, 8]) for name, size in shapes.items()]
    results = [tensor(name, onnx.TensorProto.FLOAT, None) for name in outputs if name]
    graph = onnx.helper.make_graph([node], "g", inputs, results)
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
    session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {name: ones(1, 2, {"S": 2, "P": 3}[size], 8) for name, size in shapes.items()}
    checked = analyze(made, semantics="onnxruntime").check({"B": 1, "S": 2, "P": 3})
    if all(outputs):
        session.run(None, feeds)
        assert checked.outcome is Outcome.RUNS
    else:
        with pytest.raises(Exception, match="does not support past"):
            session.run(None, feeds)
        assert checked.outcome is Outcome.ILLEGAL


STFT = """<ir_version: 8, opset_import: ["": 17]> g (float[B, N, 1] x, float[W] w) => (float[a, b, c, d] y)
    <int64 step = {8}> { y = STFT (x, step, w) }"""
GROUPED = """<ir_version: 10, opset_import: ["": 20, "com.microsoft": 1]>
    g (float[B, 1, 32] q, float[B, 1, 16] k, int32[B] n) => (float[a, b, c] y)
    <int32[1] total = {1}> {
        y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, v_quant_type = "PER_TENSOR">
            (q, k, k, , , n, total)
    }"""


CAUSAL = """<ir_version: 10, opset_import: ["": 20, "com.microsoft": 1]>
    g (float[2, 6, N] x, float[6, 1, 2] w) => (float[a, b, c] y)
    { y, s = com.microsoft.CausalConvWithState <input_channels = 0> (x, w) }"""
BY_HEADS = """<ir_version: 10, opset_import: ["": 24]> g (double[A, 2, 12] q, double[B, 1, W] k) => (double[a, b, c] y)
    { y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, k) }"""


def doubles(*dims: int) -> np.ndarray:
    return np.ones(dims)


@pytest.mark.parametrize(
    ("text", "sizes", "feeds"),
    [
        (STFT, {"B": 0, "N": 2, "W": 0}, {"x": ones(0, 2, 1), "w": ones(0)}),
        (GROUPED, {"B": 1}, {"q": ones(1, 1, 32), "k": ones(1, 1, 16), "n": np.zeros(1, np.int32)}),
        (CAUSAL, {"N": 5}, {"x": ones(2, 6, 5), "w": ones(6, 1, 2)}),
        (BY_HEADS, {"A": 1, "B": 2, "W": 3}, {"q": doubles(1, 2, 12), "k": doubles(2, 1, 3)}),
    ],
    ids=["frames without samples", "a quantisation of values alone", "no input channels", "heads of two batches"],
)
def test_what_runs_is_not_said_to_fail(text: str, sizes: dict[str, int], feeds: dict[str, np.ndarray]) -> None:
    made = onnx.parser.parse_model(text)
    ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    for semantics in ("either", "onnxruntime"):
        assert analyze(made, semantics=semantics).check(sizes).ok  # type: ignore[arg-type]


def test_a_length_as_a_vector_may_not_load() -> None:
    made = parsed(
        """(float[B, N, 1] x) => (float[a, b, c] y)
        <int64[1] length = {3}> { y = DFT (x, length) }""",
        20,
    )
    with pytest.raises(Exception, match="must be a scalar"):
        ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    assert analyze(made).check({"B": 1, "N": 3}).outcome is not Outcome.RUNS


def test_a_pool_without_counts_is_told() -> None:
    node = onnx.helper.make_node(
        "TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0,
        ngram_indexes=[0, 1], pool_int64s=[1, 2],
    )  # fmt: skip
    node.attribute.add(name="ngram_counts", type=onnx.AttributeProto.INTS)
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node], "g", [tensor("x", onnx.TensorProto.INT64, ["N"])], [tensor("y", onnx.TensorProto.FLOAT, None)]
    )
    result = analyze(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9))
    assert not result.analysis.crashes
    assert result.check({"N": 2}).outcome is Outcome.LEGAL


UNPACKED = """<ir_version: 10, opset_import: ["": 25]>
    g (double[A, B, C, D] q, double[E, F, G, H] k, double[E, F, G, I] v)
    => (double[a, b, c, d] y) { y = Attention (q, k, v) }"""
CACHED = """<ir_version: 10, opset_import: ["": 24]>
    g (double[A, 2, 1, 4] q, double[A, 2, N, 4] k, double[B, 2, P, 4] p) => (double[a, b, c, d] y)
    { y, pk, pv = Attention (q, k, k, , p, p) }"""
MASKED = """<ir_version: 10, opset_import: ["": 24]>
    g (double[2, 2, N, 4] q, double[M, 1, 3] m) => (double[a, b, c, d] y)
    { y = Attention (q, q, q, m) }"""
UNPACKED_SIZES = {"A": 2, "B": 4, "C": 3, "D": 2, "E": 2, "F": 2, "G": 5, "H": 2, "I": 3}


@pytest.mark.parametrize(
    ("text", "sizes", "runs"),
    [
        (UNPACKED, UNPACKED_SIZES, True),
        (UNPACKED, {**UNPACKED_SIZES, "E": 1}, True),
        (UNPACKED, {**UNPACKED_SIZES, "H": 1}, True),
        (UNPACKED, {**UNPACKED_SIZES, "E": 3}, False),
        (UNPACKED, {**UNPACKED_SIZES, "F": 3}, False),
        (UNPACKED, {**UNPACKED_SIZES, "F": 0}, False),
        (CACHED, {"A": 2, "N": 1, "B": 2, "P": 3}, True),
        (CACHED, {"A": 2, "N": 1, "B": 3, "P": 0}, True),
        (CACHED, {"A": 2, "N": 1, "B": 3, "P": 3}, False),
        (MASKED, {"N": 3, "M": 2}, True),
        (MASKED, {"N": 3, "M": 3}, False),
        (BY_HEADS, {"A": 1, "B": 2, "W": 3}, True),
        (BY_HEADS, {"A": 1, "B": 3, "W": 3}, False),
    ],
    ids=str,
)
def test_attention_as_a_function_says_at_which_sizes_it_fails(text: str, sizes: dict[str, int], runs: bool) -> None:
    made = onnx.parser.parse_model(text)
    checked = analyze(made, semantics="onnxruntime").check(sizes)
    session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {i.name: doubles(*(sizes.get(d, d) for d in i.shape)) for i in session.get_inputs()}
    if runs:
        session.run(None, feeds)
        assert checked.outcome is not Outcome.ILLEGAL
    else:
        with pytest.raises(Exception, match="Non-zero status code"):
            session.run(None, feeds)
        assert checked.outcome is Outcome.ILLEGAL


def of_microsoft(text: str) -> str:
    return f'<ir_version: 10, opset_import: ["": 20, "com.microsoft": 1]> g {text}'


NORMALISED = of_microsoft("""(float[B, 4, 64] q, float[B, 4, 32] k, int32[B] n, float[16] w) => (float[a, b, c] y)
    <int32[1] total = {4}>
    { y, pk, pv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>
        (q, k, k, , , n, total, , , , , , , , w, w) }""")
PACKED = of_microsoft("""(float[B, S, 4, 3, 4] q) => (float[a, b, c] y)
    { y = com.microsoft.MultiHeadAttention <num_heads = 4> (q) }""")
ROTATED = of_microsoft("""(float[B, S, 8] x, float[8, 24] w, float[24] b) => (float[a, b, c] y)
    { y = com.microsoft.Attention <num_heads = 4, do_rotary = 1> (x, w, b) }""")
MASK_OF_RANK_4 = of_microsoft("""(float[B, S, 8] x, float[8, 24] w, float[24] b, int32[B, 1, 4, 4] m)
    => (float[a, b, c] y) { y = com.microsoft.Attention <num_heads = 4> (x, w, b, m) }""")
WINDOW_OF_STATES = of_microsoft("""(float[B, 6, S] x, float[6, 1, 3] w) => (float[a, b, c] y)
    { y, s = com.microsoft.CausalConvWithState <state_window = 2> (x, w) }""")
GATED = of_microsoft("""(float[B, 4] x, float[B, 2] r, float[2, 8, 4] u, float[2, 4, 8] d) => (float[a, b] y)
    { y = com.microsoft.MoE <k = 1, activation_type = "relu"> (x, r, u, , d, , u) }""")
ROUTED = of_microsoft("""(float[B, 6] x, float[6] b) => (float[c, d] y)
    { y, s, w = com.microsoft.MoEGroupRouter <top_k = 2> (x, b) }""")
EMBEDDED = of_microsoft("""(int32[B, S] i, float[N, 8] w, float[5, 8] p, float[8] g) => (float[a, b, c] y)
    { y, m = com.microsoft.EmbedLayerNormalization (i, , w, p, , g, g) }""")
WRITTEN = """<ir_version: 10, opset_import: ["": 20]> g (float[N, M] x, int64[I, 1] i, float[I, M] u) => (float[a, b] y)
    { y = ScatterND (x, i, u) }"""
BOTH, LONG = {"B": 2, "S": 3}, {"B": 2}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (NORMALISED, LONG),
        (PACKED, BOTH),
        (ROTATED, BOTH),
        (MASK_OF_RANK_4, BOTH),
        (WINDOW_OF_STATES, BOTH),
        (GATED, LONG),
        (ROUTED, LONG),
        (EMBEDDED, {**BOTH, "N": 0}),
        (WRITTEN, {"N": 0, "M": 2, "I": 1}),
    ],
    ids=["norms", "packed", "rotated", "mask", "window", "gated", "routed", "embedded", "written"],
)
def test_what_no_data_let_run_is_illegal_in_onnxruntime(text: str, sizes: dict[str, int]) -> None:
    made = onnx.parser.parse_model(text)
    assert analyze(made, semantics="onnxruntime").check(sizes).outcome is Outcome.ILLEGAL
    kinds = {"tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(float)": np.float32}

    def run() -> None:
        session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        given = session.get_inputs()
        session.run(None, {i.name: np.zeros([sizes.get(d, d) for d in i.shape], kinds[i.type]) for i in given})

    with pytest.raises(Exception, match=r"ONNXRuntimeError|CPU"):
        run()


def test_a_mask_of_rank_4_without_scores_is_legal() -> None:
    assert analyze(onnx.parser.parse_model(MASK_OF_RANK_4), semantics="onnxruntime").check({"B": 0, "S": 3}).ok
