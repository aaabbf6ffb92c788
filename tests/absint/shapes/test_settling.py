"""The round with Z3: what it settles, that nothing else depends on it, and what it rests on."""

from __future__ import annotations

import re

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import absint
from absint.questions.proofs.proof import Verdict
from tests.runs import Runs

F = TensorProto.FLOAT


def model(nodes: list[onnx.NodeProto], inputs: dict[str, list[str | int]], *outputs: str) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, F, dims) for name, dims in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def broadcast_that_a_later_node_settles() -> onnx.ModelProto:
    """A + B broadcasts N with M; the products with both say that N + M == 2*N, which Z3 sees and the facts need not."""
    nodes = [
        helper.make_node("Add", ["A", "B"], ["sum"], name="add"),
        helper.make_node("Concat", ["A", "B"], ["both"], name="both", axis=0),
        helper.make_node("Concat", ["A", "A"], ["twice"], name="twice", axis=0),
        helper.make_node("Sub", ["both", "C"], ["less"], name="sub"),
        helper.make_node("MatMul", ["twice", "both"], ["dot"], name="dot"),
    ]
    return model(nodes, {"A": ["N"], "B": ["M"], "C": [1]}, "sum", "dot", "less")


def test_a_proof_settles_a_choice() -> None:
    proto = broadcast_that_a_later_node_settles()
    plain, settled = absint.analyze(proto, refine=False), absint.analyze(proto, refine="smt")
    assert str(plain.shapes["sum"]) == "[broadcast(M, N)]"
    assert str(settled.shapes["sum"]) in ("[N]", "[M]")
    settled.verify()
    Runs(proto, settled).check({"N": 1, "M": 1}, {"N": 3, "M": 3}, {"N": 8, "M": 8})


def test_premises_that_contradict_each_other_settle_nothing() -> None:
    """N*M == 7 and N + M == 9 have no solution, which the facts do not see: any choice would be proved."""
    nodes = [
        helper.make_node("Add", ["A", "B"], ["sum"], name="add"),
        helper.make_node("Flatten", ["Q"], ["flat"], name="flat", axis=0),
        helper.make_node("MatMul", ["flat", "W"], ["dot"], name="dot"),
        helper.make_node("Concat", ["A", "B"], ["both"], name="both", axis=0),
        helper.make_node("MatMul", ["both", "V"], ["last"], name="last"),
    ]
    inputs: dict[str, list[str | int]] = {"A": ["N"], "B": ["M"], "Q": ["N", "M"], "W": [7, 1], "V": [9]}
    proto = model(nodes, inputs, "sum", "dot", "last")
    settled = absint.analyze(proto, refine="smt")
    assert str(settled.shapes["sum"]) == "[broadcast(M, N)]"
    assert settled.last is settled.base
    assert settled.prove("N == M").verdict is Verdict.CONTRADICTION


def choice_beside_a_premise() -> str:
    """The size of Y, a choice by N; Z is computed in FLOAT, which holds N exactly up to 16777216."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] X) => (float[K] Y, float[M] Z)
          <int64 limit = {20000000}, float two = {2.0}, int64 zero = {0}, int64[1] axes = {0}> {
        shape = Shape(X)
        size = Gather(shape, zero)
        inexact = Cast<to=1>(size)
        scaled = Mul(inexact, two)
        back = Cast<to=7>(scaled)
        target = Unsqueeze(back, axes)
        Z = ConstantOfShape(target)
        is_less = Less(size, limit)
        Y = If (is_less) <then_branch = t () => (float[A] a) { a = Identity(X) },
                          else_branch = e () => (float[B] b) { b = Concat<axis=0>(X, X) }>
        }"""
    return str(absint.analyze(onnx.parser.parse_model(text), refine="smt").shapes["Y"])


def test_a_numeric_premise_settles_nothing() -> None:
    """Above the premise a run succeeds, and Y does not depend on Z."""
    assert choice_beside_a_premise() == "[ite(N >= 20000000, 2*N, N)]"


def test_what_was_proved_has_its_provenance() -> None:
    """Nothing of the first round changes, so contracts and checks still demand what the proofs used."""
    result = absint.analyze(broadcast_that_a_later_node_settles(), refine="smt")
    assert {(1, 1), (2, 2)} <= {(n, m) for n in range(4) for m in range(4) if result.check({"N": n, "M": m}).ok}
    assert not result.check({"N": 2, "M": 3}).ok
    assert not result.contract().allows({"N": 2, "M": 3})
    assert all(item.reason for item in result.last.learned)


def test_values_do_not_depend_on_what_was_asked_before() -> None:
    """No abstract value depends on an answer of Z3 to a query."""
    result = absint.analyze("examples/tiny_decoder.onnx")
    again = absint.analyze("examples/tiny_decoder.onnx")
    again.prove("past >= 1")
    assert {n: str(s) for n, s in result.shapes.items()} == {n: str(s) for n, s in again.shapes.items()}


@pytest.mark.parametrize("path", ["examples/tiny_decoder.onnx", "examples/tiny_detector.onnx"])
def test_real_models_stay_sound(path: str) -> None:
    plain, settled = absint.analyze(path), absint.analyze(path, refine="smt")
    settled.verify()
    assert set(settled.shapes) == set(plain.shapes)
    assert not settled.analysis.crashes


CROPPED = """<ir_version: 8, opset_import: ["" : 17]>
cropped (float[B, 4, H, W] x, float[1, 96, 96, 8] table, float[8, 4, 2, 2] w) => (float[] y) <
    int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] most = {96},
    int64[3] rows = {1, -1, 8}, int64[3] columns = {0, 8, -1}
> {
    patches = Conv <kernel_shape = [2, 2], strides = [2, 2]> (x, w)
    shape = Shape (x)
    high = Gather (shape, two)
    wide = Gather (shape, three)
    h = Div (high, two)
    w2 = Div (wide, two)
    above = Sub (most, h)
    before = Sub (most, w2)
    top = Div (above, two)
    left = Div (before, two)
    bottom = Add (top, h)
    right = Add (left, w2)
    band = Slice (table, top, bottom, one)
    crop = Slice (band, left, right, two)
    positions = Reshape (crop, rows)
    flat = Reshape (patches, columns)
    tokens = Transpose <perm = [0, 2, 1]> (flat)
    y = Add (tokens, positions)
}"""


def test_a_cropped_table_of_positions_keeps_its_choices() -> None:
    """From a height of 196 on a negative start counts from the end: 196 by 2 is legal, with one position."""
    proto = onnx.parser.parse_model(CROPPED)
    result = absint.analyze(proto)
    assert {"ite(H >= 196", "ite(W >= 196"} <= set(re.findall(r"ite\(\w >= \d+", str(result.shapes["y"])))
    Runs(proto, result).check({"B": 1, "H": 196, "W": 2}, {"B": 2, "H": 8, "W": 6}, {"B": 1, "H": 192, "W": 192})
