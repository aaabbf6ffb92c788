"""Inputs of another kind: tensors, sequences, optionals, maps and sparse tensors where another one belongs."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, TypeProto, helper

import absint
from tests.absint.model.typing.runtime import refusal

FLOAT, LONG, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def tensor(dtype: int = FLOAT) -> TypeProto:
    return helper.make_tensor_type_proto(dtype, ["N"])


def sequence(element: TypeProto) -> TypeProto:
    return helper.make_sequence_type_proto(element)


def optional(element: TypeProto) -> TypeProto:
    return helper.make_optional_type_proto(element)


def mapping(key: int, value: TypeProto) -> TypeProto:
    return helper.make_map_type_proto(key, value)


def sparse(dtype: int = FLOAT) -> TypeProto:
    return helper.make_sparse_tensor_type_proto(dtype, ["N"])


def model(operator: str, inputs: list[TypeProto], domain: str = "", **attributes: object) -> onnx.ModelProto:
    """A node alone."""
    infos = [helper.make_value_info(f"i{at}", proto) for at, proto in enumerate(inputs)]
    node = helper.make_node(operator, [info.name for info in infos], ["y"], domain=domain, **attributes)
    graph = helper.make_graph([node], "kinds", infos, [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


WRONG = {
    "a sequence for a tensor": (model("Relu", [sequence(tensor())]), "input X is a sequence of FLOAT; Relu-14 takes "),
    "an optional for a tensor": (model("Relu", [optional(tensor())]), "input X is an optional FLOAT; Relu-14 takes "),
    "a map for a tensor": (
        model("Relu", [mapping(LONG, tensor())]),
        "input X is a map of INT64 to FLOAT; Relu-14 takes ",
    ),
    "a sparse tensor for a tensor": (model("Relu", [sparse()]), "input X is sparse FLOAT; Relu-14 takes "),
    "a tensor for a sequence": (
        model("SequenceLength", [tensor()]),
        "input input_sequence is FLOAT; SequenceLength-11 takes a sequence of ",
    ),
    "a sequence of sequences": (
        model("SequenceLength", [sequence(sequence(tensor()))]),
        "input input_sequence is a sequence of a sequence of FLOAT; SequenceLength-11 takes ",
    ),
    "a sequence of another type": (
        model("ConcatFromSequence", [sequence(optional(tensor()))], axis=0),
        "input input_sequence is a sequence of an optional FLOAT; ConcatFromSequence-11 takes ",
    ),
    "a map for an optional": (
        model("OptionalGetElement", [mapping(LONG, tensor())]),
        "input input is a map of INT64 to FLOAT; OptionalGetElement-18 takes ",
    ),
    "another key": (
        model("CastMap", [mapping(STRING, tensor())], "ai.onnx.ml"),
        "input X is a map of STRING to FLOAT; CastMap-1 takes a map of INT64 to FLOAT, a map of INT64 to STRING",
    ),
    "another value": (
        model("DictVectorizer", [mapping(LONG, tensor(LONG))], "ai.onnx.ml", int64_vocabulary=[1]),
        "input X is a map of INT64 to INT64; DictVectorizer-1 takes ",
    ),
    "kinds that must agree": (model("Identity", [sparse()]), "input input is sparse FLOAT; Identity-16 takes "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_onnxruntime_does_not_load(name: str) -> None:
    made, message = WRONG[name]
    assert refusal(made)
    (error,) = [str(d) for d in absint.analyze(made).diagnostics]
    assert error.startswith("error: ")
    assert error.partition("): ")[2].startswith(message)
    assert error.endswith(" [ill-typed]")


RIGHT = {
    "a sequence": model("Identity", [sequence(tensor())]),
    "an optional": model("Identity", [optional(tensor())]),
    "an optional sequence": model("OptionalHasElement", [optional(sequence(tensor()))]),
    "a tensor for an optional": model("OptionalHasElement", [tensor()]),
    "a map": model("CastMap", [mapping(LONG, tensor())], "ai.onnx.ml"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_accepted(name: str) -> None:
    assert not refusal(RIGHT[name])
    assert not [d for d in absint.analyze(RIGHT[name]).diagnostics if d.code == "ill-typed"]


def test_what_is_not_known_is_no_error() -> None:
    """Values of an operator that nobody knows."""
    nodes = [
        helper.make_node("Strange", ["x"], ["u"], domain="strange"),
        helper.make_node("Relu", ["u"], ["v"]),
        helper.make_node("Add", ["v", "x"], ["w"]),
        helper.make_node("SequenceAt", ["u", "u"], ["y"]),
        helper.make_node("If", ["u"], ["z"], then_branch=branch("a"), else_branch=branch("b")),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_value_info("x", tensor())], [onnx.ValueInfoProto(name="y")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("strange", 1)])
    assert not [d for d in absint.analyze(made).diagnostics if d.severity.value == "error"]


def branch(name: str) -> onnx.GraphProto:
    """A branch that gives a value of unknown type."""
    node = helper.make_node("Strange", ["x"], [name], domain="strange")
    return helper.make_graph([node], name, [], [onnx.ValueInfoProto(name=name)])
