"""Classes of equal dims, shapes and buffers: proved inside, told apart outside, and true in runs."""

from __future__ import annotations

import json
from itertools import pairwise

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from tests.runs import Runs

F = TensorProto.FLOAT


def padded() -> onnx.ModelProto:
    """H padded to 8 by two routes, beside a sum that is equal only because an Add needs it."""
    nodes = [
        helper.make_node("Relu", ["X"], ["same"]),
        helper.make_node("Cast", ["X"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("Concat", ["X", "X"], ["wide"], axis=1),
        helper.make_node("Transpose", ["X"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["X", "Z"], ["product"]),
        helper.make_node("Add", ["product", "X"], ["sum"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("X", F, ["N", "K"]), helper.make_tensor_value_info("Z", F, ["L", "K"])],
        [onnx.ValueInfoProto(name=n) for n in ("same", "half", "wide", "turned", "sum")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def groups(found: absint.questions.proofs.equivalence.Equalities) -> list[set[str]]:  # type: ignore[name-defined]
    return [set(map(str, c.members)) for c in found]


def test_dims_that_a_requirement_makes_equal_are_one_class() -> None:
    result = absint.analyze(padded())
    dims = groups(result.equal_dims())
    of_k = next(g for g in dims if "X[1]" in g)
    assert {"Z[0]", "Z[1]", "product[1]", "turned[0]"} <= of_k  # L == K, since MatMul needs it
    assert "wide[1]" not in of_k
    assert "X[0]" not in of_k


def test_shapes_and_buffers() -> None:
    result = absint.analyze(padded())
    shapes = groups(result.equal_shapes())
    assert {"X", "same", "half", "product", "sum"} in shapes
    assert {"turned"} in shapes
    buffers = groups(result.equal_buffers())
    assert {"X", "same", "product", "sum", "turned"} in buffers  # a transposed tensor has the same bytes
    assert {"half"} in buffers


def test_classes_are_told_apart_by_sizes_that_do() -> None:
    result = absint.analyze(padded())
    found = list(result.equal_dims().distinct())
    assert found
    for pair in found:
        assert pair.counterexample is not None
        sides = [absint.parse(text).evaluate(pair.counterexample) for text in (pair.first, pair.second)]
        assert sides[0] != sides[1]


def test_members_of_a_class_are_equal_in_runs() -> None:
    proto = padded()
    result = absint.analyze(proto)
    runs = Runs(proto, result)
    for sizes in (
        {"N": 2, "K": 3, "L": 3},
        {"N": 1, "K": 1, "L": 1},
        {"N": 5, "K": 4, "L": 4},
        {"N": 0, "K": 2, "L": 2},
    ):
        values = runs.run(sizes)
        for group in result.equal_dims():
            assert len({values[p.value].shape[p.axis] for p in group.members}) == 1
        for shapes in result.equal_shapes():
            assert len({values[name].shape for name in shapes.members}) == 1
        for buffers in result.equal_buffers():
            assert len({values[name].nbytes for name in buffers.members}) == 1


def test_the_largest_class_comes_first_and_every_axis_is_in_one() -> None:
    result = absint.analyze("examples/tiny_decoder.onnx")
    found = result.equal_dims()
    sizes = [len(c.members) for c in found]
    assert all(a >= b for a, b in pairwise(sizes))
    members = [m for c in found for m in c.members]
    assert len(members) == len(set(members))
    assert len(members) == sum(len(s) for s in result.shapes.values() if not s.is_top)
    assert found.undecided == 0


def test_json() -> None:
    document = json.loads(absint.analyze(padded(), assume=["N >= 2"]).equal_shapes().to_json(model="padded"))
    assert (document["model"], document["assume"], document["what"]) == ("padded", ["N >= 2"], "shapes")
    assert document["schema"] == "absint.classes/2"
    assert {"what": "[N, K]", "members": ["X", "same", "half", "product", "sum"]} in document["classes"]


def long_texts(count: int) -> onnx.ModelProto:
    """A chain of Reshape and Concat whose dims have ever longer texts."""
    infos = [helper.make_tensor_value_info(f"x{i}", F, [f"N{i}", f"M{i}"]) for i in range(count)]
    nodes, last = [], "x0"
    for i in range(1, count):
        nodes += [
            helper.make_node("Shape", [f"x{i}"], [f"s{i}"], start=0, end=1),
            helper.make_node("Concat", ["m1", f"s{i}"], [f"t{i}"], axis=0),
            helper.make_node("Reshape", [last, f"t{i}"], [f"c{i}"]),
            helper.make_node("Concat", [f"c{i}", f"x{i}"], [f"d{i}"], axis=0),
        ]
        last = f"d{i}"
    weights = [helper.make_tensor("m1", TensorProto.INT64, [1], [-1])]
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=last)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_classes_whose_expressions_take_long_to_write_are_named_after_a_member(monkeypatch: pytest.MonkeyPatch) -> None:
    result = absint.analyze(long_texts(6))
    assert {c.what for c in result.equal_dims(seconds=5)} >= {"N1", "M0"}
    monkeypatch.setattr(absint.questions.proofs.equivalence, "TEXT_SECONDS", 0.0)
    for found in (result.equal_dims(seconds=5), result.equal_shapes(seconds=5), result.equal_buffers(seconds=5)):
        assert [c.what for c in found] == [str(c.members[0]) for c in found]
