"""Tensors whose data are longer or shorter than their type and sizes want, which no runtime loads."""

from __future__ import annotations

import itertools

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import absint
from absint.lattices.dtype import DType
from absint.model.initialisers import size_in_bytes

FIELDS = {
    "FLOAT": "float_data",
    "COMPLEX64": "float_data",
    "DOUBLE": "double_data",
    "COMPLEX128": "double_data",
    "INT64": "int64_data",
    "UINT32": "uint64_data",
    "UINT64": "uint64_data",
    "STRING": "string_data",
}
TYPES = (
    *("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"),
    *("FLOAT8E8M0", "FLOAT4E2M1", "INT4", "UINT4", "INT8", "UINT8", "INT16", "INT32", "INT64", "UINT32", "UINT64"),
    *("BOOL", "COMPLEX64", "COMPLEX128", "STRING"),
)
COUNTS = (0, 1, 7, 65, 200, 1024, 3000)
WITHOUT_KERNEL = {"FLOAT8E8M0", "FLOAT4E2M1", "INT4", "UINT4", "COMPLEX64", "COMPLEX128"}
"""No Shape of these in onnxruntime."""


def tensor(dtype: str, count: int, more: int, *, raw: bool) -> TensorProto:
    """A vector with so many numbers or bytes more than it wants."""
    made = TensorProto(name="w", data_type=DType[dtype].value, dims=[count])
    if raw:
        made.raw_data = bytes(size_in_bytes(DType[dtype], [count]) + more)
        return made
    bits = DType[dtype].bits
    numbers = -(-count * bits // 8) if 0 < bits < 8 else count * (2 if "COMPLEX" in dtype else 1)
    given = [b"a" if dtype == "STRING" else 0] * (numbers + more)
    getattr(made, FIELDS.get(dtype, "int32_data")).extend(given)
    return made


def model(weights: TensorProto, *, constant: bool = False) -> onnx.ModelProto:
    """The sizes of an initialiser, or of a Constant."""
    nodes = [helper.make_node("Constant", [], ["w"], value=weights)] if constant else []
    nodes.append(helper.make_node("Shape", ["w"], ["y"]))
    out = helper.make_tensor_value_info("y", TensorProto.INT64, None)
    graph = helper.make_graph(nodes, "graph", [], [out], [] if constant else [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


def loads(proto: onnx.ModelProto) -> bool:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(proto.SerializeToString(), options)
    except Exception:
        return False
    return True


def errors(model: onnx.ModelProto | bytes) -> list[str]:
    return [d.message for d in absint.analyze(model).diagnostics if d.severity.value == "error"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("constant", [False, True], ids=["initialiser", "Constant"])
def test_data_of_another_length_are_an_error(dtype: str, constant: bool) -> None:
    forms = [False] if dtype == "STRING" else [False, True]
    for count, more, raw in itertools.product(COUNTS, (-1, 0, 1), forms):
        if count == 0 and more < 0:
            continue
        proto = model(tensor(dtype, count, more, raw=raw), constant=constant)
        is_counted = (
            raw or count <= 1024 or FIELDS.get(dtype, "int32_data") in ("float_data", "double_data", "string_data")
        )
        for form in (proto, proto.SerializeToString()):
            found = errors(form)
            assert len(found) == (1 if more and is_counted else 0), (count, more, raw, found)
            if found:
                assert f"must have the data of {dtype}[{count}], found another length" in found[0]
        if dtype not in WITHOUT_KERNEL and count:
            assert loads(proto) == (not more)


@pytest.mark.parametrize("count", [3, 3000])
def test_texts_are_not_raw(count: int) -> None:
    made = TensorProto(name="w", data_type=TensorProto.STRING, dims=[count], raw_data=bytes(count))
    proto = model(made)
    assert not loads(proto)
    assert len(errors(proto)) == len(errors(proto.SerializeToString())) == 1


@pytest.mark.parametrize("count", [200, 3000])
def test_data_in_the_field_of_another_type_are_none(count: int) -> None:
    proto = model(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count], int32_data=[1] * count))
    assert not loads(proto)
    assert len(errors(proto)) == len(errors(proto.SerializeToString())) == 1


def test_floats_that_are_not_packed_are_counted() -> None:
    """A field for each float, as some writers give them."""
    for count in (2999, 3000):
        content = b"\x08\xb8\x17\x10\x01" + b"\x25\x00\x00\x80\x3f" * count + b"\x42\x01w"
        made = TensorProto.FromString(content)
        assert (list(made.dims), len(made.float_data)) == ([3000], count)
        unpacked = model(TensorProto(name="w", data_type=1, dims=[3000])).SerializeToString()
        plain = TensorProto(name="w", data_type=1, dims=[3000]).SerializeToString()
        graph = onnx.ModelProto.FromString(unpacked).graph.SerializeToString()
        changed = graph.replace(bytes([0x2A, len(plain)]) + plain, b"\x2a" + varint(len(content)) + content)
        whole = unpacked.replace(varint(len(graph)) + graph, varint(len(changed)) + changed)
        assert len(onnx.ModelProto.FromString(whole).graph.initializer[0].float_data) == count
        assert bool(errors(whole)) == (count != 3000)


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


@pytest.mark.parametrize("constant", [False, True])
def test_a_negative_size_is_one_error(constant: bool) -> None:
    proto = model(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-2, 3]), constant=constant)
    assert not loads(proto)
    (error,) = errors(proto)
    assert error == "its dims are [-2, 3]: sizes are never negative"
    assert not absint.analyze(proto).can_run
