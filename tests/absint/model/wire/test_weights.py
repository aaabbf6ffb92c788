"""Weights are stepped over, wherever they are."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, NoReturn

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.model import load
from absint.model.wire.fields import FIXED32, delimited, encoded
from absint.model.wire.read_graphs import read_model

COUNT = 250_000


class Counted(bytes):
    """Bytes that count those that are taken from them."""

    taken = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        Counted.taken += len(found) if isinstance(found, bytes) else 1
        return found


def raw(name: str = "w") -> TensorProto:
    return TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[COUNT], raw_data=bytes(4 * COUNT))


def packed() -> TensorProto:
    return TensorProto(name="w", data_type=TensorProto.INT64, dims=[COUNT], int64_data=[300] * COUNT)


def lying() -> TensorProto:
    """A tensor whose sizes say that it is small."""
    return TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], raw_data=bytes(4 * COUNT))


def of_graph(graph: onnx.GraphProto) -> onnx.ModelProto:
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"]))
    graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    graph.node.append(helper.make_node("Relu", ["x"], ["y"]))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("d", 1)])


def with_initialiser(tensor: TensorProto) -> bytes:
    return of_graph(onnx.GraphProto(initializer=[tensor])).SerializeToString()


def with_attribute(**value: object) -> bytes:
    return of_graph(onnx.GraphProto(node=[helper.make_node("Op", [], ["c"], **value)])).SerializeToString()


def sparse() -> onnx.SparseTensorProto:
    indices = TensorProto(name="i", data_type=TensorProto.INT64, dims=[COUNT], raw_data=bytes(8 * COUNT))
    return onnx.SparseTensorProto(values=raw(), indices=indices, dims=[COUNT * 4])


def in_function() -> bytes:
    model = of_graph(onnx.GraphProto())
    opsets = [helper.make_opsetid("", 20)]
    node = helper.make_node("Constant", [], ["b"], value=raw())
    model.functions.append(helper.make_function("d", "F", [], ["b"], [node], opsets))
    return model.SerializeToString()


def in_a_field_each() -> bytes:
    """A tensor whose numbers are not packed."""
    field = encoded(4 << 3 | FIXED32) + bytes(4)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT]).SerializeToString() + field * COUNT
    model = of_graph(onnx.GraphProto()).SerializeToString()
    return model + delimited(7, delimited(5, tensor))  # the graph in two parts


def in_two_parts() -> bytes:
    """A tensor attribute of which the data come in a second part."""
    head = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT]).SerializeToString()
    data = TensorProto(raw_data=bytes(4 * COUNT)).SerializeToString()
    attribute = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR).SerializeToString()
    node = helper.make_node("Constant", [], ["c"]).SerializeToString()
    node += delimited(5, attribute + delimited(5, head) + delimited(5, data))
    return of_graph(onnx.GraphProto()).SerializeToString() + delimited(7, delimited(1, node))


PLACES = {
    "raw": lambda: with_initialiser(raw()),
    "packed": lambda: with_initialiser(packed()),
    "in a field each": in_a_field_each,
    "sizes that lie": lambda: with_initialiser(lying()),
    "sparse": lambda: of_graph(onnx.GraphProto(sparse_initializer=[sparse()])).SerializeToString(),
    "attribute": lambda: with_attribute(value=raw()),
    "attribute in two parts": in_two_parts,
    "attribute whose sizes lie": lambda: with_attribute(value=lying()),
    "sparse attribute": lambda: with_attribute(sparse_value=sparse()),
    "subgraph": lambda: with_attribute(body=onnx.GraphProto(name="g", initializer=[raw()])),
    "function": in_function,
}


@pytest.mark.parametrize("place", PLACES)
def test_weights_are_stepped_over(place: str) -> None:
    content = PLACES[place]()
    assert len(content) > COUNT
    assert onnx.ModelProto.FromString(content).graph.output[0].name == "y"
    Counted.taken = 0
    found = read_model(Counted(content))
    assert found.graph.output[0].name == "y"
    assert Counted.taken < 30_000


@pytest.mark.parametrize("can_map", [True, False], ids=["mapped", "sliced"])
@pytest.mark.parametrize("place", PLACES)
def test_a_large_file_gives_the_same_answers(
    place: str, can_map: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mapped into memory, or read in slices on a system that maps no file."""
    path = tmp_path / "m.onnx"
    path.write_bytes(PLACES[place]())
    whole = absint.analyze(path)
    monkeypatch.setattr(load, "MAX_IN_MEMORY", 0)
    if not can_map:
        monkeypatch.setattr(load, "mmap", refused)
    mapped = absint.analyze(path)
    path.rename(tmp_path / "moved.onnx")  # nothing is read later
    assert mapped.diagnostics == whole.diagnostics
    assert list(map(str, mapped.last.states)) == list(map(str, whole.last.states))
    assert str(mapped.shapes["y"]) == "[N]"
    with pytest.raises(absint.ModelError, match=r"m\.onnx does not exist$"):
        _ = mapped.model
    assert whole.model.graph.output[0].name == "y"


def refused(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))


@pytest.mark.parametrize("place", [place for place in PLACES if place != "in a field each"])
def test_weights_are_not_read_in_slices(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(PLACES[place]())
    lengths = []
    read = os.read

    def counted(number: int, length: int) -> bytes:
        lengths.append(length)
        return read(number, length)

    monkeypatch.setattr(load, "MAX_IN_MEMORY", 0)
    monkeypatch.setattr(load, "mmap", refused)
    monkeypatch.setattr(os, "read", counted)
    absint.analyze(path)
    assert 0 < sum(lengths) < 150_000 < path.stat().st_size


def test_a_file_that_becomes_shorter_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(with_initialiser(raw()))

    def cut(*_: object, **__: object) -> NoReturn:
        path.write_bytes(b"")
        refused()

    monkeypatch.setattr(load, "MAX_IN_MEMORY", 0)
    monkeypatch.setattr(load, "mmap", cut)
    with pytest.raises(absint.ModelError, match=r"m\.onnx cannot be read: it became shorter while it was read$"):
        absint.analyze(path)


def test_a_model_of_over_2_gb_is_analysed_and_is_no_message(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    size = 3 << 30
    head = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size >> 2]).SerializeToString()
    tensor = head + encoded(9 << 3 | 2) + encoded(size)
    length = len(tensor) + size
    start = encoded(5 << 3 | 2) + encoded(length)
    graph = encoded(7 << 3 | 2) + encoded(len(start) + length)
    with path.open("wb") as file:
        file.write(of_graph(onnx.GraphProto()).SerializeToString() + graph + start + tensor)
        file.truncate(file.tell() + size)
    result = absint.analyze(path)
    assert str(result.shapes["w"]) == f"[{size >> 2}]"
    with pytest.raises(absint.ModelError) as error:
        _ = result.model
    limits = "protobuf reads at most 2,147,483,647; keep weights in an external file"
    assert str(error.value) == f"{path} holds {path.stat().st_size:,} bytes: {limits}"


def test_a_damaged_claim_is_found_when_it_is_read(tmp_path: Path) -> None:
    content = of_graph(onnx.GraphProto()).SerializeToString() + delimited(7, delimited(13, b"\x0e"))
    result = absint.analyze(content)
    assert str(result.shapes["y"]) == "[N]"
    with pytest.raises(absint.ModelError) as error:
        _ = result.diagnostics
    damage = "a type in value_info does not parse as protobuf (at byte 0: wire type 6)"
    assert str(error.value) == f"{damage}: the file is damaged"
