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
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {name} {case.text}')
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


@pytest.mark.parametrize(
    ("text", "sizes", "feeds"),
    [
        (STFT, {"B": 0, "N": 2, "W": 0}, {"x": ones(0, 2, 1), "w": ones(0)}),
        (GROUPED, {"B": 1}, {"q": ones(1, 1, 32), "k": ones(1, 1, 16), "n": np.zeros(1, np.int32)}),
    ],
    ids=["frames without samples", "a quantisation of values alone"],
)
def test_what_runs_is_not_said_to_fail(text: str, sizes: dict[str, int], feeds: dict[str, np.ndarray]) -> None:
    made = onnx.parser.parse_model(text)
    ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    for semantics in ("either", "onnxruntime"):
        assert analyze(made, semantics=semantics).check(sizes).ok  # type: ignore[arg-type]


def test_a_length_as_a_vector_may_not_load() -> None:
    made = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 20]> g (float[B, N, 1] x) => (float[a, b, c] y)
        <int64[1] length = {3}> { y = DFT (x, length) }""")
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
