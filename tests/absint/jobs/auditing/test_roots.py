"""The node that a false claim comes from."""

from __future__ import annotations

import onnx
import pytest

import absint
from absint.jobs.auditing import Claims, Judgement, judge, roots

TEXT = """
<ir_version: 10, opset_import: ["": 18]>
graph (float[N, M] x, bool c) => (float y, float[P] filled, float out)
<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] axis = {1}>
{
    [cut] sliced = Slice(x, one, two, axis)
    [act] a = Relu(sliced)
    [norm] b = Softmax(a)
    [sum] y = ReduceSum <keepdims = 0> (b)
    [shape] s = Shape(a)
    [double] t = Mul(s, two)
    [fill] filled = ConstantOfShape(t)
    [turn] other = Transpose <perm = [1, 0]> (x)
    [branch] out = If (c) <
        then_branch = g1 () => (float[Q, R] p) { [inner] p = Relu(a) },
        else_branch = g2 () => (float[Q, R] q) { [same] q = Identity(a) }
    >
}
"""


def found(shapes: dict[str, tuple[int | str | None, ...]]) -> dict[str, str]:
    result = absint.analyze(onnx.parser.parse_model(TEXT))
    audit = judge(result, Claims("a tool", shapes))
    assert {item.places[0].value for item in audit.of(Judgement.REFUTED)} == set(shapes)
    return {value: str(node) for value, node in roots(result, audit.judged).items()}


def test_what_follows_a_false_claim_is_not_a_cause() -> None:
    assert found({"sliced": ("N", "M"), "a": ("N", "M"), "b": ("N", "M")}) == dict.fromkeys("ab", "Slice cut") | {
        "sliced": "Slice cut"
    }


def test_a_false_claim_after_true_or_missing_ones_is_a_cause() -> None:
    assert found({"b": ("N", "M"), "other": ("N", "M")}) == {"b": "Softmax norm", "other": "Transpose turn"}


def test_causes_are_sought_through_computed_sizes() -> None:
    """The source says nothing false about `s` and `t`, but their elements are wrong."""
    false = {"a": ("N", "M"), "filled": (7, 7)}
    assert found(false) == dict.fromkeys(false, "Relu act")


@pytest.mark.parametrize("inner", ["branch/then_branch/p", "branch/else_branch/q"])
def test_causes_are_sought_through_bodies(inner: str) -> None:
    false = {"sliced": ("N", "M"), "a": ("N", "M"), inner: ("N", "M"), "out": ("N", "M")}
    assert found(false) == dict.fromkeys(false, "Slice cut")


def test_of_several_ways_the_one_to_the_earliest_node() -> None:
    false = {"filled": (7, 7), "sliced": ("N", "M"), "a": ("N", "M")}
    assert found(false)["filled"] == "Slice cut"
