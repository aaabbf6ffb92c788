"""A model that is read from a file, held against what protobuf reads, and what the analysis makes of both."""

from __future__ import annotations

import random
from functools import cache

import onnx
import pytest
from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper

import absint
from absint.errors import AbsintError
from absint.model.wire import read_attributes, read_tensors
from tests.absint.model.wire.comparing import differences, parsed, read
from tests.absint.model.wire.encodings import scrambled
from tests.effort import examples
from tests.fuzz.wire import mutated_bytes, mutated_fields
from tests.jobs.reading import hunt
from tests.real_models import EXAMPLES

SEEDS = st.integers(0, 1 << 32)


@cache
def models() -> list[bytes]:
    from tests.adversarial import MODELS

    found = [case.model.SerializeToString() for case in MODELS.values()]
    return [kitchen_sink().SerializeToString(), *(content for content in found if len(content) < 6_000)]


def kitchen_sink() -> onnx.ModelProto:
    """A model with a message of every kind that is read."""
    some = helper.make_tensor("some", TensorProto.INT64, [3], [1, -2, 1 << 40])
    many = helper.make_tensor("many", TensorProto.FLOAT, [50, 50], [0.5] * 2500)
    sparse = onnx.SparseTensorProto(values=helper.make_tensor("sparse", TensorProto.FLOAT, [1], [2.0]), dims=[4, 4])
    sparse.indices.CopyFrom(helper.make_tensor("", TensorProto.INT64, [1], [3]))
    types = [
        helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 4, None, ""]),
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.INT32, None)),
        helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.BOOL, [])),
        helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [1])),
        helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [4, 4]),
        onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="d", name="n")),
        onnx.TypeProto(),
    ]
    infos = [helper.make_value_info(f"value {at}", kind) for at, kind in enumerate(types)]
    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "inner", [], infos[:1], [some])
    attributes = {
        "f": 1.5, "i": -7, "s": b"\xff text", "t": some, "w": many, "g": inner, "floats": [0.25] * 9,
        "ints": [1, 300, -1], "strings": ["a", "b"], "graphs": [inner, inner], "tp": types[0], "sparse": sparse,
    }  # fmt: skip
    nodes = [
        helper.make_node("Everything", ["", "a", "\u00e9" * 80], ["b" * 200], "name", domain="d", **attributes),
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("Relu", ["c"], ["d"], doc_string="a text"),
        helper.make_node("Constant", [], ["e"], value=many),
    ]
    nodes[0].attribute.append(onnx.AttributeProto(name="r", ref_attr_name="outer", type=onnx.AttributeProto.INT))
    nodes[2].metadata_props.add(key="k", value="v")
    elsewhere = onnx.TensorProto(name="elsewhere", data_type=1, dims=[2, 2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "16"), ("length", "16")):
        elsewhere.external_data.add(key=key, value=value)
    graph = helper.make_graph(nodes, "g", infos[:3], infos[1:], [some, many, elsewhere], value_info=infos)
    graph.sparse_initializer.append(sparse)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)]
    function = helper.make_function("d", "F", ["a"], ["b"], nodes[1:2], opsets, ["outer"], overload="o")
    function.attribute_proto.append(helper.make_attribute("given", 3))
    function.value_info.extend(infos[:1])
    made = helper.make_model(graph, opset_imports=opsets, functions=[function])
    made.metadata_props.add(key="k", value="v")
    return made


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_read_as_protobuf_reads_them(path: object) -> None:
    content = open(path, "rb").read()  # type: ignore[call-overload] # noqa: SIM115
    assert list(differences(read(content), parsed(content))) == []


def test_every_field_is_read() -> None:
    proto = kitchen_sink()
    found = read(proto.SerializeToString())
    assert found is not None
    assert list(differences(found, proto)) == []
    assert found.graph.node[1].tail is found.functions[0].node[0].tail


def test_what_models_share_is_forgotten() -> None:
    kept = (read_attributes.KEPT, read_attributes._TYPES, read_tensors._HEADS, read_tensors._RESTS)
    content = kitchen_sink().SerializeToString()
    found = absint.analyze(content)
    assert all(map(len, kept))
    absint.purge()
    assert not any(map(len, kept))
    assert answers(content) == answers(found.model)


@settings(max_examples=examples(60))
@given(SEEDS, SEEDS)
def test_other_encodings_are_read_as_protobuf_reads_them(seed: int, which: int) -> None:
    """Fields in any order, singular messages in parts, unknown fields and groups."""
    content = scrambled(onnx.ModelProto.FromString(models()[which % len(models())]), random.Random(seed))
    found = read(content)
    assert found is not None
    assert list(differences(found, parsed(content))) == []


@settings(max_examples=examples(150))
@given(SEEDS)
def test_damaged_files_are_read_and_refused_as_by_protobuf(seed: int) -> None:
    rng = random.Random(seed)
    content, other = rng.choices(models(), k=2)
    content = mutated_fields(rng, content, other) if rng.random() < 0.7 else mutated_bytes(rng, content)
    found, proto = read(content), parsed(content)
    if proto is None:
        assert found is None
        answers(content)  # fails as absint fails, in one line
    else:
        assert found is not None
        assert list(differences(found, proto)) == []


def test_files_in_unusual_encodings_are_read_and_copied_as_by_protobuf() -> None:
    """A few of the files of `python -m tests.jobs.reading`."""
    tally = hunt(0, 0, examples(500), models())
    assert tally.differences == []
    assert tally.counts["refused by protobuf"] > 100


def test_a_file_that_ends_anywhere() -> None:
    content = scrambled(onnx.ModelProto.FromString(models()[1]), random.Random(0))
    for end in range(len(content)):
        assert (read(content[:end]) is None) is (parsed(content[:end]) is None)


@settings(max_examples=examples(60))
@given(SEEDS)
def test_answers_are_those_of_the_message(seed: int) -> None:
    """Damaged or not, by bytes or by protobuf: the same values, diagnostics and errors."""
    rng = random.Random(seed)
    content, other = rng.choices(models(), k=2)
    content = mutated_fields(rng, content, other) if rng.random() < 0.6 else content
    if parsed(content) is not None and rng.random() < 0.4:
        content = scrambled(onnx.ModelProto.FromString(content), rng)
    proto = parsed(content)
    if proto is not None:
        assert answers(content) == answers(proto)


def answers(model: bytes | onnx.ModelProto) -> object:
    try:
        result = absint.analyze(model)
        nodes = [(str(node), node.outputs, node.operands, node.gate) for node in result.nodes]
        return nodes, [list(map(str, state)) for state in result.last.states], result.diagnostics
    except AbsintError as error:
        return str(error).replace("the bytes given", "the model")
