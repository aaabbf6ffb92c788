"""Inputs of unknown rank: variables in place of shapes, shapes that a caller states, and answers about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, parser

import absint
from absint.cli import run
from absint.questions.proofs.proof import Verdict
from absint.show import freezing
from tests.models import parsed

TEXT = """
<ir_version: 10, opset_import: ["": 21, "local" : 1]>
g (float[N] X, float[N] Y, float[N, 4] K, float[64, 8] W, int64 n, bool c, int64[N] ids) =>
  (float[N] a, float[N] b, float[N] e, float[N] f, float[N] m, float[N] r, float[N] t, float[N] g, float[N] l,
   float[N] slices, float[N] pooled, int64[N] s, float[N] z)
{
   one = Constant <value_float = 1.0> ()
   last = Constant <value_ints = [-1]> ()
   first = Constant <value_ints = [0]> ()
   h = Relu (X)
   i = Add (h, one)
   a = local.Twice (i)
   b = If (c) <
      then_branch = yes () => (float p) { p = Neg (a) },
      else_branch = no () => (float q) { q = Identity (h) }
   >
   e = Add (X, Y)
   f = Where (c, X, one)
   m = MatMul (X, W)
   r = ReduceSum <keepdims = 0> (X, last)
   t = Unsqueeze (r, first)
   g = Gather (W, ids)
   yes_ = Constant <value = bool {1}> ()
   l, slices = Loop (n, yes_, X) <
      body = around (int64 at, bool go, float[] v) => (bool go_on, float[] w, float[] u) {
         go_on = Identity (go)
         w = Relu (v)
         u = Neg (w)
      }
   >
   pooled = GlobalAveragePool (X)
   s = Shape (X)
   z = Softmax (X)
}
<domain: "local", opset_import: ["": 21]>
Twice (A) => (B) {
   R = Relu (A)
   B = Add (R, R)
}
"""


def model() -> onnx.ModelProto:
    """X, Y and ids are declared without a shape, and so is what the loop's body has."""
    found = parser.parse_model(TEXT)
    body = next(node for node in found.graph.node if node.op_type == "Loop").attribute[0].g
    for info in (*found.graph.input[:2], found.graph.input[6], *found.graph.output, body.input[2], *body.output[1:]):
        info.type.tensor_type.ClearField("shape")
    return found


def shapes(**stated: Any) -> dict[str, str]:
    result = absint.analyze(model(), **stated)
    return {name: str(result.shapes[name]) for name in ("X", *(info.name for info in model().graph.output))}


def test_shapes_of_inputs_that_have_none() -> None:
    found = shapes()
    assert {found[name] for name in ("X", "a", "b", "f", "l", "z")} == {"[*X]"}
    assert (found["e"], found["m"], found["r"]) == ("[*_s0]", "[*_s1]", "[*_s2]")
    assert (found["t"], found["g"]) == ("[1, *_s2]", "[*ids, 8]")


def test_a_suffix_that_is_stated() -> None:
    found = shapes(bind={"X": ["*s", 64]})
    assert {found[name] for name in ("X", "a", "b", "f", "l", "z")} == {"[*s, 64]"}
    assert (found["m"], found["r"], found["t"]) == ("[*s, 8]", "[*s]", "[1, *s]")
    assert found == shapes(assume=["shape(X) == [*s, 64]"])


def test_one_variable_for_two_inputs() -> None:
    assert shapes(assume=["shape(X) == [*s, 64]", "shape(Y) == [*s, 64]"])["e"] == "[*s, 64]"
    assert shapes(assume=["shape(X) == [*s, 64]", "shape(Y) == [64]"])["e"] == "[*s, 64]"
    assert shapes(assume=["shape(X) == [*s, 64]", "shape(Y) == [1, 64]"])["e"] == "[*_s0, 64]"
    assert shapes(assume=["shape(X) == [*Y, 64]"])["e"] == "[*_s0]"


def test_a_scan_output_has_a_trip_axis_if_there_is_a_trip() -> None:
    """Without a trip onnxruntime prints shape [0], since nobody declares the rank of the slices."""
    assert shapes()["slices"].startswith("[*_s")
    certain = model()
    certain.graph.node.insert(0, helper.make_node("Constant", [], ["n3"], value_int=3))
    loop = next(node for node in certain.graph.node if node.op_type == "Loop")
    loop.input[0] = "n3"
    assert str(absint.analyze(certain).shapes["slices"]) == "[3, *X]"


@pytest.mark.parametrize(
    ("relation", "verdict"),
    [
        ("shape(a) == shape(X)", Verdict.PROVED),
        ("shape(b) == shape(l)", Verdict.PROVED),
        ("rank(a) == rank(X) and size(b) == size(X)", Verdict.PROVED),
        ("rank(t) == rank(r) + 1", Verdict.PROVED),
        ("rank(g) >= 1", Verdict.PROVED),
        ("g[-1] == 8", Verdict.PROVED),
        ("size(g) % 8 == 0", Verdict.PROVED),
        ("g[0] == 8", Verdict.UNKNOWN),
        ("rank(X) == 4", Verdict.UNKNOWN),
        ("size(X) == 4", Verdict.UNKNOWN),
        ("shape(X) == shape(Y)", Verdict.UNKNOWN),
        ("shape(X) == [N, 4]", Verdict.UNKNOWN),
        ("shape(g) != [] and N >= 0", Verdict.PROVED),
        ("X[-1] == 64", Verdict.UNKNOWN),
    ],
)
def test_queries(relation: str, verdict: Verdict) -> None:
    proof = absint.analyze(model()).prove(relation)
    assert proof.verdict is verdict, proof.reason
    assert "%" not in proof.reason
    assert "unknown" in proof.reason or verdict is Verdict.PROVED


def test_a_query_that_is_unknown_says_why() -> None:
    result = absint.analyze(model())
    assert result.prove("X[0] == 1").reason == "the rank of 'X' is unknown, and so is its axis 0"
    assert result.prove("rank(X) == 4").reason == "`rank(*X)` is unknown"
    assert str(result.prove("rank(e) == 4").relation) == "`rank(*_s0)` == 4"
    with pytest.raises(absint.UsageError, match="nobody"):
        result.prove("shape(nobody) == shape(X)")
    with pytest.raises(absint.UsageError, match=r"state the shape of an input with the model"):
        result.prove("N >= 1", assume=["shape(X) == [2, 3]"])


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"bind": {"X": ["*s", "*t"]}}, "one variable at most"),
        ({"bind": {"K": ["*s", 4]}}, "without a name"),
        ({"bind": {"K": ["*", 5]}}, "axis 1 of 'K' is 4, not 5"),
        ({"bind": {"X": ["*", "M"]}}, "a size is a number or a range, found 'M'"),
        ({"assume": ["shape(X) == [*s, N +]"]}, "does not parse"),
        ({"assume": ["shape(K) == [*s]"]}, "'K' is declared with a shape"),
        ({"assume": ["shape(X) == [2]", "shape(X) == [3]"]}, r"already stated to have shape \[2\]"),
        ({"assume": ["shape(X) == [2]"], "bind": {"X": [3]}}, r"shape \[2\], and to have shape \[3\]"),
        ({"bind": {"X": 3}}, "no symbols"),
    ],
)
def test_shapes_that_cannot_be_stated(stated: dict[str, Any], why: str) -> None:
    with pytest.raises(absint.UsageError, match=why):
        absint.analyze(model(), **stated)


def test_an_invented_variable_has_no_name_of_an_input() -> None:
    inputs = [helper.make_tensor_value_info("_s0", TensorProto.FLOAT, None)]
    nodes = [helper.make_node("GlobalAveragePool", ["_s0"], ["p"])]
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="p")]))
    result = absint.analyze(made)
    assert (str(result.shapes["_s0"]), str(result.shapes["p"])) == ("[*_s0]", "[*_s1]")


def test_open_axes_of_a_known_rank() -> None:
    result = absint.analyze(model(), bind={"K": ["*", 4], "X": [(1, 3), "*"]})
    assert str(result.shapes["X"]) == "[X_dim0, *X]"
    assert absint.analyze(model(), bind={"X": ["*", (1, 3)]}).symbols[0] == "X_dim_1"


def test_what_is_stated_holds_for_variants_of_the_model() -> None:
    result = absint.analyze(model(), bind={"X": ["*s", 64]})
    assert result.check({"N": 2}).shapes["K"] == (2, 4)
    assert result.verify() is None


def test_annotate_leaves_the_shape_out() -> None:
    """ONNX cannot say `*s`: a value without a shape has any."""
    annotated = absint.analyze(model(), bind={"X": ["*s", 64]}).annotate()
    found = {info.name: info.type.tensor_type for info in annotated.graph.value_info}
    assert not found["h"].HasField("shape")
    assert not annotated.graph.input[0].type.tensor_type.HasField("shape")
    assert ort.InferenceSession(annotated.SerializeToString()).get_inputs()[0].shape is not None


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    assert run(["analyze", str(path), "X=*x64"]) == 0
    assert "FLOAT [*X, 64]" in capsys.readouterr().out
    assert run(["analyze", str(path), "--assume", "shape(X) == [*s, 64]", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["inputs"][0]["shape"] is None
    assert absint.Shape(document["inputs"][0]["open_shape"]) is absint.Shape(["*s", 64])
    assert run(["prove", str(path), "shape(a) == shape(X)", "rank(X) == 4"]) == 3
    shown = capsys.readouterr().out
    assert "proved" in shown
    assert "`rank(*X)` is unknown" in shown
    assert run(["profile", str(path), "X=*x64"]) == 2
    assert "a profile needs a size for each axis, found *" in capsys.readouterr().err


def test_a_rule_that_knows_nothing_of_variables_sees_an_unknown_rank() -> None:
    """A custom rule that returns its input is right about it, and still not trusted with a variable."""
    seen: list[str] = []

    @absint.rule("Custom", domain="my", inputs="X", outputs="Y")
    def custom(op: absint.Op) -> absint.Tensor:
        seen.append(str(op.tensor("X").shape))
        return op.tensor("X")

    @absint.rule("Aware", domain="my", inputs="X", outputs="Y", starred=True)
    def aware(op: absint.Op) -> absint.Tensor:
        return op.tensor("X")

    nodes = [helper.make_node(name, ["X"], [name], domain="my") for name in ("Custom", "Aware")]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, None)]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("Custom", "Aware")]
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs))
    result = absint.analyze(made, table=absint.TABLE.extended([custom, aware]))
    assert seen == ["?"]
    assert (str(result.shapes["Custom"]), str(result.shapes["Aware"])) == ("[*_s0]", "[*X]")


def test_an_explanation_says_where_a_list_of_sizes_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is an answer, of an axis too."""
    result = absint.analyze(model())
    none = "its rank is unknown, so no axis is explained: "
    assert result.explain("a").note == f"{none}*X is a list of sizes of input 'X'; state them, as X=2x3"
    assert result.explain("e", 1).note == f"{none}*_s0 is a list of sizes that begins at Add #7"
    assert str(result.explain("e")).splitlines()[0] == "e: FLOAT [*_s0]"
    (listed,) = [found for found in result.fresh_symbols if found.name == "*_s0"]
    assert str(listed) == "*_s0: sizes whose number is unknown, Add #7"
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    assert run(["explain", str(path), "a[0]"]) == 0
    assert f"a: FLOAT [*X]\n  {none}*X is a list" in capsys.readouterr().out
    assert run(["explain", str(path), "a", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["note"].startswith(none)
    assert result.explain("K").note == ""


STARRED = """
    <ir_version: 9, opset_import: ["" : 18]>
    net (float X, float[K, 8] W, int64[1] front) => (float u, float s) {
        r = Relu(X)  y = MatMul(r, W)  u = Unsqueeze(y, front)
        s = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [-1],
                  body = b (float x) => (float z) {
            z = Neg(x)
        }> (y)
    }
"""


def starred() -> absint.Result:
    found = parser.parse_model(STARRED)
    for info in (found.graph.input[0], *found.graph.output):
        info.type.tensor_type.ClearField("shape")
    body = found.graph.node[3].attribute
    for attribute in body:
        for info in (*attribute.g.input, *attribute.g.output):
            info.type.tensor_type.ClearField("shape")
    return absint.analyze(found, assume=["shape(X) == [N, *s, 64]"])


def test_known_sizes_beside_a_list_are_explained() -> None:
    """By axes from their own end; the note says where the others begin."""
    result = starred()
    assert [str(result.shapes[name]) for name in "yus"] == ["[N, *s, 8]", "[*_s0]", "[N, *s, 8]"]
    found = result.explain("y")
    where = "*s is a list of sizes of input 'X'; state them, as X=2x3"
    assert found.note == f"its rank is unknown, so no other axis is explained: {where}"
    assert [found.steps[claim].at.where for claim in found.claims] == ["y[0]", "y[-1]"]
    assert str(result.explain("y", 0)).splitlines()[-2:] == [
        "    unchanged through 2 nodes: MatMul #1, Relu #0",
        "    from X[0] = N (input)",
    ]
    assert "from W[1] = 8 (input)" in str(result.explain("s", -1))
    assert result.explain("y", 1).note == f"its rank is unknown, so nothing of axis 1 is explained: {where}"
    assert result.explain("y", 1).claims == ()
    assert result.explain("y", -1).note == ""


def test_a_frozen_copy_lists_open_ranks() -> None:
    made = parsed("""(float[K, 8] table, int64 ids) => (float rows, float twice) {
            rows = Gather(table, ids)  twice = Concat <axis = -1> (table, table)
        }
    """)
    for info in (made.graph.input[1], *made.graph.output):
        info.type.tensor_type.ClearField("shape")
    result = absint.analyze(made)
    frozen = result.freeze({"K": 64})
    found = frozen.dynamic.outputs
    assert [(value.name, value.dims, value.shape) for value in found] == [("rows", None, "[*ids, 8]")]
    entry = json.loads(freezing.FROZEN.text(frozen))["outputs"][0]
    assert (entry["shape"], entry["open_shape"]) == (None, ["*ids", 8])


def test_the_page_shows_the_names_of_unknown_ranks(tmp_path: Path) -> None:
    absint.analyze(model()).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert '"dims":null,"open":["*X"]' in page.replace(" ", "")
    assert "[*_s0]" in page
