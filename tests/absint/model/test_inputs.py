"""The meaning of declared dims of inputs."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper

import absint

Dims = list[int | str | None] | None


def identity(*inputs: tuple[str, int, Dims]) -> ModelProto:
    """A model that passes every input through."""
    infos = [helper.make_tensor_value_info(name, dtype, dims) for name, dtype, dims in inputs]
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name, _, _ in inputs]
    outputs = [helper.make_tensor_value_info(f"{name}_out", dtype, None) for name, dtype, _ in inputs]
    return helper.make_model(helper.make_graph(nodes, "g", infos, outputs), opset_imports=[helper.make_opsetid("", 20)])


def shapes(model: ModelProto) -> list[str]:
    result = absint.analyze(model)
    return [str(result.shapes[name]) for name in result.outputs]


def test_unnamed_dims_are_named_after_input_and_axis() -> None:
    model = identity(("x", 1, [None, "N", None]), ("y", 1, ["x_dim0", "x_dim2 + 1"]))
    assert shapes(model) == ["[x_dim0_, N, x_dim2_]", "[x_dim0, x_dim2 + 1]"]
    assert absint.analyze(model).symbols == ("x_dim0_", "N", "x_dim2_", "x_dim0", "x_dim2")


def test_a_tight_difference_is_an_expression_only_if_its_names_stand_alone() -> None:
    assert shapes(identity(("x", 1, ["past", "seq"]), ("y", 1, ["past-seq"]))) == ["[past, seq]", "[past - seq]"]
    result = absint.analyze(identity(("x", 1, ["past"]), ("y", 1, ["past-seq"])))
    assert result.symbols == ("past", "past-seq")


def test_an_expression_is_taken_to_be_a_natural_number() -> None:
    model = identity(("x", 1, ["N"]), ("y", 1, ["N - 7"]))
    result = absint.analyze(model)
    assert [str(s) for s in result.shapes.values()] == ["[N]", "[N - 7]", "[N]", "[N - 7]"]
    dim = result.shapes["x"][0]  # type: ignore[index]
    assert dim.bounds.lo == 7


def test_a_declared_divisor_is_not_zero() -> None:
    result = absint.analyze(identity(("x", 1, ["N", "M"]), ("y", 1, ["N // M"])))
    assert result.shapes["x"][1].bounds.lo == 1  # type: ignore[index]


def test_contradictory_assumptions_are_an_error() -> None:
    model = identity(("x", 1, ["N"]), ("y", 1, ["N - 7"]))
    with pytest.raises(absint.UsageError, match="contradict each other: N >= 7, N == 3"):
        absint.analyze(model, bind={"N": 3})


def test_elements_of_a_small_integer_input_agree_between_its_uses() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    s = helper.make_tensor_value_info("s", TensorProto.INT64, [2])
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["a"]), helper.make_node("Expand", ["x", "s"], ["b"])]
    nodes.append(helper.make_node("ConstantOfShape", ["s"], ["c"]))
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "abc"]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x, s], outputs), opset_imports=[helper.make_opsetid("", 20)]
    )
    result = absint.analyze(model)
    assert str(result.shapes["a"]) == str(result.shapes["c"]) == "[s_0, s_1]"


def test_the_elements_of_a_sequence_have_sizes_of_their_own() -> None:
    element = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 3])
    info = helper.make_value_info("s", helper.make_sequence_type_proto(element))
    nodes = [
        helper.make_node("Constant", [], [f"i{k}"], value=helper.make_tensor("v", TensorProto.INT64, [], [k]))
        for k in (0, 1)
    ]
    nodes += [helper.make_node("SequenceAt", ["s", f"i{k}"], [f"e{k}"]) for k in (0, 1)]
    outputs = [helper.make_tensor_value_info(f"e{k}", TensorProto.FLOAT, None) for k in (0, 1)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [info], outputs), opset_imports=[helper.make_opsetid("", 20)]
    )
    assert shapes(model) == ["[_d1, 3]", "[_d2, 3]"]  # _d0 is the length
