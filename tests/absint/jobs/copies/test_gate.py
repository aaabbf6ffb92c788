"""What a runtime would hold against a copy is left out of it, and told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

import absint
from absint.cli import run
from absint.errors import UsageError
from tests.models import parsed

HIDDEN = "s = Shape(x) f = Cast<to = 1>(s) r = Relu(f) t = Cast<to = 7>(r) v = Reshape(x, t)"
"""`v` is `x`, and no inference finds its shape."""

STRICT = f"""<ir_version: 10, opset_import: ["": 20]> g (float[N, 4] x) => (float[] y)
<int64[1] ax = {{1}}, int64 one = {{1}}> {{
    {HIDDEN} d0 = Shape<start = 1>(v) d = Squeeze(d0) c = Equal(d, one)
    y = If(c) <then_branch = t () => (float[] a) {{ a = Squeeze(v, ax) }},
               else_branch = e () => (float[] b) {{ b = Identity(v) }}>
}}"""

IDLE = """<ir_version: 10, opset_import: ["": 17]> g (int64 m, float[N, M] x) => (float[] y) {
    go = Constant<value = bool {1}>()
    y = Loop(m, go) <body = b (int64 i, bool c) => (bool d, float[] s) {
        d = Identity(c) u = SequenceConstruct(x) w = SequenceAt(u, i) s = Identity(w) }> }"""

OUTER = """<ir_version: 10, opset_import: ["": 17]> g (int64 m, float[N, M] x) => (float[] y) {
    go = Constant<value = bool {1}>() k = Constant<value = int64 {0}>() q = SequenceConstruct(x) v = SequenceAt(q, k)
    y = Loop(m, go) <body = b (int64 i, bool c) => (bool d, float[] e) { d = Identity(c) e = Relu(v) }> }"""

SCALAR = """<ir_version: 10, opset_import: ["" : 18]> g (bool c, float[N] x) => (int64[] y) {
    y = If(c) <then_branch = t () => (int64[] o) { k = Constant<value = float {1.0}>() n = NonZero(k) o = Identity(n) },
               else_branch = e () => (int64[] p) { p = Constant<value = int64[1] {1}>() }> }"""

X = np.zeros((3, 4), np.float32)

CASES: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "a branch that no run takes": (STRICT, {"x": X}, "with it the copy does not load (onnxruntime: Node () Op (If) "),
    "a loop without a trip": (IDLE, {"m": np.array(0), "x": X}, "onnxruntime gives a loop without a trip other sizes"),
    "a value around it": (OUTER, {"m": np.array(0), "x": X}, "onnxruntime gives a loop without a trip other sizes"),
    "nonzero elements of a scalar": (SCALAR, {"c": np.array(True), "x": X[0]}, "onnxruntime takes 'n' for [0, 1]"),
}


def outputs(model: onnx.ModelProto, feeds: Mapping[str, Any], *, optimised: bool) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [(value.shape, value.tolist()) for value in session.run(None, dict(feeds))]


@pytest.mark.parametrize("name", CASES)
def test_a_copy_does_what_the_model_does(name: str) -> None:
    text, feeds, reason = CASES[name]
    model = parser.parse_model(text)
    found = absint.analyze(model).annotated()
    assert any(reason in str(item) for item in found.left_out)
    assert found.unchecked == ""
    for optimised in (False, True):
        assert outputs(found.model, feeds, optimised=optimised) == outputs(model, feeds, optimised=optimised)


def test_the_whole_reason_is_told() -> None:
    (item,) = absint.analyze(parser.parse_model(STRICT)).annotated().left_out
    assert str(item).startswith(
        "the type of 'v' is left out: with it the copy does not load (onnxruntime: Node () Op (If)"
    )
    assert str(item).endswith("Op (Squeeze) [ShapeInferenceError] Dimension of input 1 must be 1 instead of 4)")


def test_a_refusal_in_a_body_is_that_of_the_inner_node() -> None:
    model = parsed(
        """(float[N, 4] x, bool c) => (float[] y) {
        s = Shape(x) f = Cast<to = 1>(s) r = Relu(f) t = Cast<to = 7>(r)
        y = If(c) <then_branch = t () => (float[] a) { v = Reshape(x, t) k = Constant<value = int64[1] {1}>()
                                                       a = Squeeze(v, k) },
                   else_branch = e () => (float[] b) { b = Identity(x) }> }""",
        20,
    )
    (item,) = absint.analyze(model).annotated(load=False).left_out
    assert item.reason == "Squeeze: Dimension of input 1 must be 1 instead of 4"


@pytest.mark.parametrize("text", [IDLE, OUTER], ids=["inside", "outside"])
def test_without_a_load_no_loop_takes_sizes_from_types(text: str) -> None:
    model = parser.parse_model(text)
    feeds = {"m": np.array(0), "x": X}
    found = absint.analyze(model).annotated(load=False)
    assert found.unchecked == "onnxruntime was not asked"
    assert outputs(found.model, feeds, optimised=False) == outputs(model, feeds, optimised=False)


def test_without_a_load_the_rules_of_absint_judge() -> None:
    """onnx's inference does not see the constants around a branch."""
    found = absint.analyze(parser.parse_model(STRICT)).annotated(load=False)
    assert [item.value for item in found.left_out] == ["v"]
    assert "Squeeze" in found.left_out[0].reason
    assert found.unchecked == "onnxruntime was not asked"


def test_a_model_that_onnxruntime_does_not_know_is_written_unchecked() -> None:
    text = IDLE.replace('["": 17]', '["": 17, "mine": 1]').replace("s = Identity(w)", "s = mine.Own(w)")
    found = absint.analyze(parser.parse_model(text)).annotated()
    assert found.unchecked.startswith("onnxruntime does not load the model itself: ")


def test_weights_are_not_read() -> None:
    """The file of the external data is not there."""
    model = parser.parse_model(STRICT)
    weight = onnx.TensorProto(name="w", data_type=1, dims=[4, 1024], data_location=onnx.TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="nowhere.bin")
    model.graph.initializer.append(weight)
    model.graph.node.append(onnx.helper.make_node("MatMul", ["x", "w"], ["z"]))
    model.graph.output.append(onnx.ValueInfoProto(name="z"))
    found = absint.analyze(model).annotated()
    assert ([item.value for item in found.left_out], found.unchecked) == (["v"], "")


@pytest.mark.parametrize("command", [["annotate"], ["freeze", "N=3"]], ids=" ".join)
def test_a_command_says_that_nobody_looked(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parser.parse_model(STRICT), "m.onnx")
    name, *sizes = command
    assert run([name, "m.onnx", *sizes, "-o", "out.onnx", "--no-load"]) == 0
    assert "note: it is not known whether the copy loads: onnxruntime was not asked" in "".join(capsys.readouterr())


FOLDED = """<ir_version: 8, opset_import: ["": 18]> g (float[N, M] x, int64 m) => (float[] y)
<int64[1] zeros = {0}, bool go = {1}> {
    a = Max(zeros, zeros) u = Unsqueeze(x, a) v = Squeeze(u, a)
    y = Loop(m, go) <body = l (int64 i, bool c) => (bool d, float[] s) { d = Identity(c) s = Identity(v) }> }"""


def test_a_constant_gives_a_loop_without_a_trip_no_other_sizes() -> None:
    model = parser.parse_model(FOLDED)
    feeds = {"m": np.array(0), "x": X}
    frozen = absint.analyze(model).freeze({})
    assert frozen.model is not None
    assert outputs(frozen.model, feeds, optimised=False) == outputs(model, feeds, optimised=False)


def test_sizes_that_keep_a_copy_from_loading_are_refused() -> None:
    model = parsed("""(float[N, M] x, bool b) => (float[] y)
    <float[4, 4] w = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}> {
        y = If(b) <then_branch = t () => (float[] a) { a = MatMul(x, w) },
                   else_branch = e () => (float[] c) { c = Identity(x) }> }""")
    with pytest.raises(UsageError, match=r"MatMul: Incompatible dimensions .*: leave a size open that this"):
        absint.analyze(model).freeze({"N": 3, "M": 2})


ALTERNATING = """<ir_version: 10, opset_import: ["": 16]> g (float[K] x, int64 a) => (float[A] u) {
  zero = Constant<value = int64 {0}>() three = Constant<value = int64 {3}>() one = Constant<value = int64 {1}>()
  ones = Constant<value = int64[1] {1}>() t = Constant<value = bool {1}>()
  m = Max(a, zero) mm = Min(m, three) mv = Reshape(mm, ones) o = ConstantOfShape(mv) s = SequenceConstruct(o)
  p = Greater(a, zero) nz = NonZero(x) nzs = Shape(nz) n = Gather(nzs, one)
  y = If(p) <else_branch = e () => (int64 q) { q = Identity(n) }, then_branch = b () => (int64 r) {
     v = Max(m, zero) w = Min(v, three)
     k, l = Loop(w, t) <body = lb (int64 i, bool c) => (bool d, int64 j, float[] f) {
        j = Identity(i) f = Identity(x) d = Identity(c) }>
     r = Identity(v) }> u = Neg(x) }"""


def test_freezing_ends_and_twice_is_once() -> None:
    frozen = absint.analyze(parser.parse_model(ALTERNATING)).freeze({"K": 3})
    assert frozen.model is not None
    assert absint.analyze(frozen.model).freeze({}).model == frozen.model
