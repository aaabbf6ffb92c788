"""Claims beside the tensors of real runs, and of runs that contradict them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import symbol
from absint.lattices.value import BOTTOM, OptionalOf, SequenceOf, Tensor
from absint.runs.comparison import Comparison, compare
from absint.runs.run import feeds_for, run
from absint.runs.statements import Row
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import rule

EXAMPLE = Path(__file__).parents[3] / "examples" / "tiny_decoder.onnx"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Dims = Sequence[int | str | None] | None
node = helper.make_node


def value(name: str, dims: Dims, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], *outputs: str, **constants: Any
) -> onnx.ModelProto:
    """Outputs are named, or all that nodes compute; keyword arguments are initialisers."""
    names = outputs or tuple(name for n in nodes for name in n.output)
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    infos = [onnx.ValueInfoProto(name=name) for name in names]
    graph = helper.make_graph(list(nodes), "g", list(inputs), infos, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def identity(*inputs: tuple[str, Dims]) -> absint.Result:
    """`a_out` of `a`, and so on."""
    nodes = [node("Identity", [name], [f"{name}_out"]) for name, _ in inputs]
    return absint.analyze(model(nodes, [value(name, dims) for name, dims in inputs]))


def dims(found: Comparison, name: str) -> list[tuple[str, object, object]]:
    return [(row.expression, row.predicted, row.actual) for row in found.of(name) if row.part == "dim"]


def wrong(found: Comparison) -> list[str]:
    return [str(row) for row in found.wrong]


def executed(result: absint.Result, binding: Mapping[str, int], **feeds: Any) -> Comparison:
    """A real run with all values of the main graph."""
    fed = {**feeds_for(result, binding, seed=0), **feeds}
    return compare(result, fed, run(result, fed, [name for name in result.values if name not in fed]))


def add_and_concat() -> absint.Result:
    nodes = [node("Add", ["X", "Y"], ["S"]), node("Concat", ["S", "X"], ["Z"], axis=2)]
    declared = ["batch", "seq", "d_model"]
    return absint.analyze(model(nodes, [value("X", declared), value("Y", declared)], "Z"))


def test_case_6() -> None:
    result = add_and_concat()
    feeds = feeds_for(result, {"batch": 2, "seq": 5, "d_model": 4})
    found = compare(result, feeds, run(result, feeds))
    assert dims(found, "Z") == [("batch", 2, 2), ("seq", 5, 5), ("2*d_model", 8, 8)]
    assert found.ok
    assert found
    assert found.binding == {"batch": 2, "seq": 5, "d_model": 4}
    assert found.unchecked == ()
    assert [row for row in found.rows if row.part == "dtype"][-1] == Row(
        "Z", "dtype", None, "FLOAT", "FLOAT", "FLOAT", True
    )
    assert str(found).splitlines() == [
        "the model at batch=2, seq=5, d_model=4",
        "  X: [batch, seq, d_model] ran [2, 5, 4]",
        "  Y: [batch, seq, d_model] ran [2, 5, 4]",
        "  Z: [batch, seq, 2*d_model] ran [2, 5, 8]",
        "right: 12 claims and 0 constraints",
    ]


def test_sizes_are_enough() -> None:
    found = compare(add_and_concat(), {"X": (2, 5, 4), "Y": [2, 5, 4]}, {"Z": (2, 5, 9), "S": (2, 5, 4)})
    assert wrong(found) == ["Z[2]: claimed 2*d_model = 8, ran 9 (at d_model=4)"]
    assert not found.ok
    assert not found
    assert "  Z: [batch, seq, 2*d_model] ran [2, 5, 9], wrong" in str(found).splitlines()
    assert "wrong: 1 of 12 claims" in str(found).splitlines()


def test_inputs_that_contradict_each_other_are_told() -> None:
    found = compare(add_and_concat(), {"X": (2, 5, 4), "Y": (3, 5, 4)}, {"Z": (2, 5, 8)})
    assert wrong(found) == ["Y[0]: declared batch = 2, ran 3 (batch is 2 in X[0], 3 in Y[0])"]
    assert found.wrong[0].premise
    assert str(found).splitlines()[-1] == (
        "the inputs break a declaration or an assumption of the analysis: it claims nothing of this run"
    )


def test_declared_expressions_are_solved() -> None:
    result = identity(("A", ["2*N + 1"]), ("B", ["N", "past + seq"]), ("C", ["past"]))
    found = executed(result, {"N": 3, "past": 4, "seq": 2})
    assert found.ok
    assert found.binding == {"N": 3, "past": 4, "seq": 2}
    assert dims(found, "A_out") == [("2*N + 1", 7, 7)]
    alone = compare(identity(("A", ["2*N + 1"])), {"A": (7,)}, {"A_out": (7,)})
    assert alone.ok
    assert alone.binding == {"N": 3}
    chain = compare(
        identity(("A", ["a + b + c"]), ("B", ["a + b"]), ("C", ["a"])), {"A": (9,), "B": (5,), "C": (2,)}, {}
    )
    assert chain.binding == {"a": 2, "b": 3, "c": 4}
    assert chain.ok


def test_an_expression_that_no_size_solves_is_wrong() -> None:
    found = compare(identity(("A", ["2*N + 1"])), {"A": (6,)}, {"A_out": (6,)})
    assert wrong(found)[0] == "A[0]: declared 2*N + 1, ran 6 (it is 1 modulo 2)"
    assert found.binding == {}
    found = compare(identity(("A", ["3*N + M"]), ("B", ["M"])), {"A": (6,), "B": (1,)}, {})
    assert wrong(found) == ["A[0]: declared M + 3*N, ran 6 (it is 1 modulo 3)"]
    found = compare(identity(("A", ["N + M + 2"]), ("B", ["M"])), {"A": (6,), "B": (5,)}, {})
    assert wrong(found) == ["A[0]: declared M + N + 2, ran 6 (it is at least 7 and at most 2147483654)"]


def test_a_symbol_that_nothing_shows_leaves_its_dims_unchecked() -> None:
    result = identity(("A", ["N // 2"]))
    found = compare(result, {"A": (3,)}, {"A_out": (3,)})
    assert found.ok
    assert dims(found, "A_out") == [("N//2", None, 3)]
    assert "A_out[0]: N//2 needs N" in found.unchecked


def test_a_product_with_a_size_of_0_needs_no_other_size() -> None:
    result = identity(("A", ["N"]), ("B", ["M*N + 1"]))
    found = compare(result, {"A": (0,)}, {"B_out": (2,)})
    assert wrong(found) == ["B_out[0]: claimed M*N + 1 = 1, ran 2 (at N=0)"]


# Invented symbols


def nonzero() -> absint.Result:
    nodes = [node("NonZero", ["X"], ["P"]), node("Transpose", ["P"], ["T"])]
    return absint.analyze(model(nodes, [value("X", ["N", "M"])]))


def test_invented_symbols_are_learnt_and_must_agree() -> None:
    result = nonzero()
    found = executed(result, {"N": 2, "M": 3}, X=np.array([[0, 1, 1], [0, 0, 1]], np.float32))
    assert found.ok
    assert found.binding == {"N": 2, "M": 3, "_d0": 3}
    assert found.constraints == 1
    other = compare(result, {"X": (2, 3)}, {"P": (2, 3), "T": (4, 2)})
    assert wrong(other) == ["T[0]: claimed _d0 = 3, ran 4 (_d0 is 3 in P[1], 4 in T[0])"]


def test_a_constraint_that_does_not_hold_is_found() -> None:
    found = compare(nonzero(), {"X": (2, 3)}, {"P": (2, 7)})
    (row,) = found.wrong
    assert (row.part, row.expression, row.predicted, row.actual) == ("constraint", "M*N >= _d0", True, False)
    assert str(row) == (
        "NonZero #0: the run succeeded, but M*N >= _d0 is claimed (no more results than elements), at N=2, M=3, _d0=7"
    )


def test_a_requirement_that_does_not_hold_is_found() -> None:
    result = absint.analyze(
        model([node("MatMul", ["A", "B"], ["Y"])], [value("A", ["M", "K"]), value("B", ["L", "N"])])
    )
    inputs = {"A": (2, 3), "B": (4, 5)}
    (row,) = compare(result, inputs, {"Y": (2, 5)}).wrong
    assert row.note.startswith("the run succeeded, but K == L is required (")
    assert row.note.endswith(", at K=3, L=4")
    assert not row.premise
    (row,) = compare(result, inputs, {}).wrong
    assert row.note.startswith("K == L is required (")


def test_a_node_that_is_claimed_never_to_run() -> None:
    result = absint.analyze(model([node("Add", ["A", "B"], ["Y"])], [value("A", [3]), value("B", [4])]))
    assert wrong(compare(result, {"A": (3,), "B": (4,)}, {"Y": (3,)})) == [
        "Add #0: the run succeeded, but it is claimed never to run (dims of axis -1 must broadcast, found 3 and 4)"
    ]


def test_an_assumption_that_does_not_hold_is_found() -> None:
    proto = model([node("Relu", ["X"], ["Y"])], [value("X", ["N"])])
    result = absint.analyze(proto, assume=["N % 8 == 0"])
    assert compare(result, {"X": (16,)}, {"Y": (16,)}).ok
    (row,) = compare(result, {"X": (12,)}, {"Y": (12,)}).wrong
    assert (row.value, row.part, row.premise) == ("the assumptions", "constraint", True)


def test_nodes_that_state_the_same_are_one_finding() -> None:
    nodes = [node("Concat", ["A", "B"], [name], axis=1) for name in ("P", "Q", "R")]
    result = absint.analyze(model(nodes, [value("A", ["N", 2]), value("B", ["M", 2])]))
    (row,) = compare(result, {"A": (2, 2), "B": (3, 2)}, {}).wrong
    assert row.note.endswith("; 2 others say so too")


def test_bounds_of_a_symbol_are_checked() -> None:
    @rule("Sample", domain="my", inputs="X", outputs="Y")
    def sample(op: Op) -> Tensor:
        return Tensor(op.tensor("X").dtype, Shape([op.fresh("count", 2, 5)]))

    proto = model([node("Sample", ["X"], ["Y"], domain="my")], [value("X", ["N"])])
    proto.opset_import.append(helper.make_opsetid("my", 1))
    result = absint.analyze(proto, table=shipped().extended([sample]))
    assert compare(result, {"X": (9,)}, {"Y": (5,)}).ok
    assert wrong(compare(result, {"X": (9,)}, {"Y": (6,)})) == [
        "Y[0]: claimed _d0, ran 6 (symbol '_d0' is between 2 and 5 and cannot be 6)"
    ]


def test_the_condition_of_an_if_is_learnt_where_it_is_given() -> None:
    def branch(name: str, size: int) -> onnx.GraphProto:
        nodes = [node("Constant", [], [name], value_floats=[1.0] * size)]
        return helper.make_graph(nodes, name, [], [value(name, [size])])

    nodes = [node("If", ["c"], ["Y"], then_branch=branch("a", 2), else_branch=branch("b", 3))]
    result = absint.analyze(model(nodes, [value("c", [], BOOL)]))
    for truth in (True, False):
        found = executed(result, {}, c=np.array(truth))
        assert found.ok
        assert found.unchecked == ()
        assert not compare(result, {"c": np.array(truth)}, {"Y": (3 if truth else 2,)}).ok
    assert compare(result, {"c": ()}, {"Y": (2,)}).unchecked == ("Y[0]: ite(c, 2, 3) needs c",)


# Types, ranks, elements, kinds


def test_a_type_that_differs_is_wrong() -> None:
    found = compare(add_and_concat(), {}, {"Z": np.zeros((2, 5, 8))})
    assert wrong(found) == ["dtype of Z: claimed FLOAT, ran DOUBLE"]
    assert found.unchecked == ("input 'X': not given", "input 'Y': not given")
    assert found.binding == {"batch": 2, "seq": 5, "d_model": 4}


class Foreign:
    """A tensor of another package."""

    def __init__(self, shape: object, dtype: object) -> None:
        self.shape, self.dtype = shape, dtype


def test_anything_with_shape_and_dtype_is_a_tensor() -> None:
    result = add_and_concat()
    found = compare(result, {"X": Foreign((2, 5, 4), "torch.float32")}, {"Z": Foreign([2, 5, 8], "torch.bfloat16")})
    assert wrong(found) == ["dtype of Z: claimed FLOAT, ran BFLOAT16"]


def test_a_rank_that_differs_is_wrong_and_no_error() -> None:
    found = compare(add_and_concat(), {"X": (2, 5)}, {"Z": (2, 5, 8, 1)})
    assert wrong(found) == ["rank of X: declared 3, ran 2", "rank of Z: claimed 3, ran 4"]


def shape_of_x() -> absint.Result:
    nodes = [node("Shape", ["X"], ["s"]), node("ConstantOfShape", ["s"], ["zeros"])]
    return absint.analyze(model(nodes, [value("X", ["N", 4])]))


def test_elements_are_compared() -> None:
    result = shape_of_x()
    assert executed(result, {"N": 3}).ok
    assert executed(result, {"N": 0}).ok
    x = np.zeros((3, 4), np.float32)
    found = compare(result, {"X": x}, {"s": np.array([2, 4]), "zeros": x})
    assert wrong(found) == ["s, element 0: claimed N = 3, ran 2 (N is 3 in X[0], 2 in s, element 0)"]
    found = compare(result, {"X": x}, {"s": np.array([3, 4]), "zeros": x + np.eye(3, 4, dtype=np.float32)})
    assert wrong(found) == ["zeros, every element: claimed 0, ran 1.0"]
    found = compare(result, {"X": x}, {"zeros": x + np.float32("nan")})
    assert wrong(found) == ["zeros, every element: claimed 0, ran nan"]
    assert json.loads(found.to_json())["rows"][-1]["actual"] == "nan"


def test_elements_show_the_sizes_that_nothing_else_does() -> None:
    x = value("x", [1])
    nodes = [node("Expand", ["x", "to"], ["Y"]), node("ConstantOfShape", ["to"], ["Z"])]
    result = absint.analyze(model(nodes, [x, value("to", [2], INT64)]))
    found = executed(result, {}, to=np.array([3, 2]))
    assert found.ok
    assert dims(found, "Z") == [("to_0", 3, 3), ("to_1", 2, 2)]
    found = compare(result, {"to": np.array([3, 2])}, {"Z": (2, 3)})
    assert wrong(found)[0] == "Z[0]: claimed to_0 = 3, ran 2 (to_0 is 3 in to, element 0, 2 in Z[0])"


def test_truths_and_exact_floats_are_compared() -> None:
    nodes = [
        node("Shape", ["X"], ["s"]),
        node("Equal", ["s", "four"], ["e"]),
        node("Cast", ["s"], ["f"], to=FLOAT),
        node("Div", ["f", "two"], ["h"]),
    ]
    proto = model(nodes, [value("X", ["N"])], four=np.array(4), two=np.array(2, np.float32))
    result = absint.analyze(proto)
    assert executed(result, {"N": 4}).ok
    assert executed(result, {"N": 5}).ok
    found = compare(result, {"X": (5,)}, {"e": np.array([True]), "h": np.array([2], np.float32)})
    assert wrong(found) == [
        "e, element 0: claimed N == 4 = False, ran True",
        "h, element 0: claimed (N)/2 = 2.5, ran 2.0",
    ]
    found = compare(result, {}, {"e": np.array([True]), "h": np.array([2], np.float32)})
    assert found.ok
    assert "e, element 0: N == 4 needs N" in found.unchecked
    assert "h, element 0: (N)/2 needs N" in found.unchecked


class Unreadable(Foreign):
    """As a tensor on another device."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise TypeError("it is on another device")


def test_elements_that_cannot_be_read_are_unchecked() -> None:
    found = compare(shape_of_x(), {"X": (3, 4)}, {"s": Unreadable((2,), "int64")})
    assert found.ok
    assert "s: its elements cannot be read: it is on another device" in found.unchecked


def sequence_model() -> absint.Result:
    nodes = [node("SequenceConstruct", ["X", "Y"], ["s"])]
    return absint.analyze(model(nodes, [value("X", ["N", 2]), value("Y", ["N", 2])]))


def test_sequences() -> None:
    result = sequence_model()
    found = executed(result, {"N": 3})
    assert found.ok
    assert [(row.value, row.part) for row in found.rows if row.value.startswith("s")] == [
        ("s", "length"), ("s, item 0", "dtype"), ("s, item 0", "dim"), ("s, item 0", "dim"),
        ("s, item 1", "dtype"), ("s, item 1", "dim"), ("s, item 1", "dim"),
    ]  # fmt: skip
    inputs = {"X": (3, 2), "Y": (3, 2)}
    assert wrong(compare(result, inputs, {"s": [(3, 2), (4, 2)]})) == [
        "s, item 1[0]: claimed N = 3, ran 4 (N is 3 in X[0], 4 in s, item 1[0])"
    ]
    assert wrong(compare(result, inputs, {"s": []})) == ["length of s: claimed 2, ran 0"]
    assert wrong(compare(result, inputs, {"s": (2,)})) == ["s: claimed sequence, ran tensor"]
    assert wrong(compare(result, inputs, {"s": None})) == ["s: claimed sequence, ran absent"]
    assert wrong(compare(result, {"X": [(3, 2)]}, {})) == ["X: declared tensor, ran sequence"]


def test_each_item_of_a_sequence_has_its_own_claim() -> None:
    nodes = [node("SequenceConstruct", ["X", "Y"], ["s"])]
    result = absint.analyze(model(nodes, [value("X", ["N", 2]), value("Y", ["M", 2])]))
    found = executed(result, {"N": 3, "M": 5})
    assert found.ok
    assert [str(row.expression) for row in found.rows if row.part == "dim" and row.axis == 0] == ["N", "M", "N", "M"]
    inputs = {"X": (3, 2), "Y": (5, 2)}
    assert wrong(compare(result, inputs, {"s": [(5, 2), (3, 2)]})) == [
        "s, item 0[0]: claimed N = 3, ran 5 (N is 3 in X[0], 5 in s, item 0[0])",
        "s, item 1[0]: claimed M = 5, ran 3 (M is 5 in Y[0], 3 in s, item 1[0])",
    ]
    # Of a sequence of another length only what holds of every item is held against them.
    assert wrong(compare(result, inputs, {"s": [(9, 2)]})) == ["length of s: claimed 2, ran 1"]


def test_kinds_that_no_model_here_computes() -> None:
    """Through a rule that claims each of them."""
    claimed: Any = BOTTOM

    @rule("Make", domain="my", inputs="X", outputs="Y")
    def make(op: Op) -> Any:
        return claimed

    proto = model([node("Make", ["X"], ["Y"], domain="my")], [value("X", ["N"])])
    proto.opset_import.append(helper.make_opsetid("my", 1))

    def judged(actual: object) -> list[str]:
        result = absint.analyze(proto, table=shipped().extended([make]))
        return wrong(compare(result, {"X": (2,)}, {"Y": actual}))

    assert judged((2,)) == ["Y: claimed never computed, ran tensor"]
    claimed = OptionalOf(Tensor(DType.FLOAT, Shape([symbol("N")])))
    assert judged(None) == judged((2,)) == []
    assert judged((3,)) == ["Y[0]: claimed N = 2, ran 3 (N is 2 in X[0], 3 in Y[0])"]
    claimed = OptionalOf(Tensor(DType.FLOAT), present=True)
    assert judged(None) == ["Y: claimed present, ran absent"]
    claimed = OptionalOf(Tensor(DType.FLOAT), present=False)
    assert judged((1,)) == ["Y: claimed absent, ran tensor"]
    claimed = SequenceOf(Tensor(DType.FLOAT, Shape([2])), symbol("N"))
    assert judged([(2,), (2,), (3,)]) == [
        "length of Y: claimed N = 2, ran 3 (N is 2 in X[0], 3 in length of Y)", "Y, item 2[0]: claimed 2, ran 3",
    ]  # fmt: skip


# What is not compared


def test_what_is_missing_is_unchecked_and_the_rest_compared() -> None:
    result = add_and_concat()
    found = compare(result, {"X": (2, 5, 4)}, {"S": (2, 5, 5)})
    assert wrong(found) == ["S[2]: claimed d_model = 4, ran 5 (d_model is 4 in X[2], 5 in S[2])"]
    assert found.unchecked == ("input 'Y': not given", "output 'Z': not given")
    assert str(found).splitlines()[-3:] == ["not compared:", "  input 'Y': not given", "  output 'Z': not given"]


def test_an_unknown_rank_is_unchecked() -> None:
    result = identity(("A", None))
    found = compare(result, {"A": (2, 3)}, {"A_out": np.zeros((2, 3))})
    assert wrong(found) == ["dtype of A_out: claimed FLOAT, ran DOUBLE"]
    assert "A_out: its rank is unknown" in found.unchecked


def test_initialisers_that_are_inputs_may_be_given() -> None:
    proto = model([node("Add", ["X", "W"], ["Y"])], [value("X", ["N"]), value("W", [1])], W=np.zeros(1, np.float32))
    result = absint.analyze(proto)
    assert result.inputs == ("X",)
    assert compare(result, {"X": (2,), "W": (1,)}, {"Y": (2,)}).ok
    assert wrong(compare(result, {"X": (2,), "W": (2,)}, {"Y": (2,)})) == ["W[0]: declared 1, ran 2"]


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ({"Z": (1,)}, {}, "the model has no input 'Z'; there are: X, Y"),
        ({}, {"out": (1,)}, "the main graph has no value 'out'; there are: X, Y, S, Z"),
        ({"X": "abc"}, {}, "X: cannot read a tensor from str: give an array, its sizes as a tuple, or a list"),
        ({"X": ("N", 2)}, {}, r"X: \('N', 2\) is no shape: its sizes are integers"),
        ({"X": (-1, 2)}, {}, r"X: \(-1, 2\) is no shape: sizes must not be negative"),
        ({"X": [(1,), "a"]}, {}, "X, item 1: cannot read a tensor from str"),
        ({"X": Foreign((None,), "float32")}, {}, r"X: \(None,\) is no shape"),
    ],
)
def test_bad_input_is_one_line(inputs: dict[str, object], outputs: dict[str, object], message: str) -> None:
    with pytest.raises(absint.UsageError, match=message) as caught:
        compare(add_and_concat(), inputs, outputs)
    assert "\n" not in str(caught.value)


def test_the_nearest_names_are_suggested() -> None:
    result = identity(("pixel_values", ["N"]))
    with pytest.raises(absint.UsageError, match="no value 'pixel_value'; did you mean 'pixel_values'"):
        compare(result, {}, {"pixel_value": (1,)})


# A real model


def test_every_value_of_a_real_model() -> None:
    result = absint.analyze(EXAMPLE)
    found = executed(result, {"batch": 2, "seq": 3, "past": 5})
    assert found.ok
    assert found.unchecked == ()
    assert len(found.rows) > 2000
    assert str(found).count("\n") < 60
    assert "more values" in str(found)


def test_any_dim_that_is_changed_is_found() -> None:
    result = absint.analyze(EXAMPLE)
    feeds = feeds_for(result, {"batch": 2, "seq": 3, "past": 5})
    shapes = {name: np.shape(array) for name, array in run(result, feeds, list(result.values)[-40:]).items()}
    inputs = {name: array.shape for name, array in feeds.items()}
    assert compare(result, inputs, shapes).ok
    for name, shape in shapes.items():
        for axis, size in enumerate(shape):
            changed = (*shape[:axis], size + 1, *shape[axis + 1 :])
            found = compare(result, inputs, {**shapes, name: changed})
            assert [(row.value, row.axis) for row in found.wrong] == ([(name, axis)] if name not in inputs else [])


def test_json() -> None:
    found = compare(add_and_concat(), {"X": (2, 5, 4)}, {"Z": (2, 5, 9)})
    document = json.loads(found.to_json())
    rows = document.pop("rows")
    assert document == {
        "schema": "absint.compare/1",
        "absint": absint.__version__,
        "model": "the model",
        "ok": False,
        "binding": {"batch": 2, "seq": 5, "d_model": 4},
        "unchecked": ["input 'Y': not given"],
        "constraints": 0,
    }
    assert rows[-1] == {
        "value": "Z",
        "part": "dim",
        "axis": 2,
        "expression": "2*d_model",
        "predicted": 8,
        "actual": 9,
        "ok": False,
        "note": "at d_model=4",
        "premise": False,
    }
    assert json.loads(compare(add_and_concat(), {}, {}).to_json())["rows"] == []


def test_long_lists_of_what_is_wrong_are_cut() -> None:
    names = [f"X{number}" for number in range(30)]
    result = identity(*((name, ["N"]) for name in names))
    found = compare(result, {name: (number,) for number, name in enumerate(names)}, {})
    assert len(found.wrong) == 29
    assert "  and 9 more" in str(found).splitlines()


def counting() -> absint.Result:
    """Positions of the axis of X, and half of them as a sequence."""
    nodes = [
        node("Shape", ["X"], ["s"]),
        node("Squeeze", ["s"], ["n"]),
        node("Constant", [], ["zero"], value_int=0),
        node("Constant", [], ["one"], value_int=1),
        node("Range", ["zero", "n", "one"], ["positions"]),
        node("SequenceConstruct", ["positions", "positions"], ["items"]),
    ]
    return absint.analyze(model(nodes, [value("X", ["N"])], "positions"))


def test_elements_that_grow_are_compared() -> None:
    feeds = {"X": np.zeros(4, np.float32)}
    right = np.arange(4)
    found = compare(counting(), feeds, {"positions": right, "items": [right, right]})
    assert found.ok
    assert sum(row.part == "element" for row in found.rows) == 12
    found = compare(counting(), feeds, {"positions": np.array([0, 1, 7, 3])})
    assert wrong(found) == ["positions, element 2: claimed 2, ran 7"]
    found = compare(counting(), feeds, {"items": [right, np.array([0, 1, 2, 9])]})
    assert wrong(found) == ["items, item 1, element 3: claimed 3, ran 9"]


def test_of_many_elements_that_grow_some_are_compared() -> None:
    size = 100_000
    found = compare(counting(), {"X": np.zeros(size, np.float32)}, {"positions": np.arange(size)})
    assert found.ok
    compared = [row.axis for row in found.rows if row.part == "element"]
    assert compared[0] == 0
    assert compared[-1] == size - 1
    assert 1000 < len(compared) < 5000
