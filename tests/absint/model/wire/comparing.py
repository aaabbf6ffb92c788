"""Compares our reader with protobuf on the same file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import onnx
from google.protobuf.message import DecodeError

from absint.errors import ModelError
from absint.lattices.contents import MAX_ELEMENTS
from absint.model.protos import holders
from absint.model.wire import graphs, tensors
from absint.model.wire.fields import MalformedError
from absint.model.wire.read_graphs import read_model
from absint.model.wire.scalars import Content

KINDS: Final = ("tensor_type", "sparse_tensor_type", "sequence_type", "optional_type", "map_type")
NUMBERS: Final = ("float_data", "double_data", "int32_data", "int64_data", "uint64_data")
INTEGERS: Final = ("int32_data", "int64_data", "uint64_data")
MOST: Final = MAX_ELEMENTS + 1


def parsed(content: bytes) -> onnx.ModelProto | None:
    """The model that protobuf reads; None where it refuses."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        return None
    return model


def read(content: Content) -> graphs.Model | None:
    """The model that the reader reads; None where it refuses."""
    try:
        found = read_model(content)
        _read_the_rest(found)
    except (MalformedError, ModelError):
        return None
    return found


def _read_the_rest(model: graphs.Model) -> None:
    """Read what an analysis reads on demand; the nodes twice."""
    for holder in holders(model):
        if isinstance(holder, graphs.Graph):
            list(holder.value_info)
            assert len([*holder.node, *holder.node]) == 2 * len(holder.node)


def differences(found: object, proto: Any, where: str = "model") -> Iterator[str]:
    """The fields that the reader and protobuf read differently."""
    if isinstance(found, graphs.Type):
        yield from _of_type(found, proto, where)
    elif isinstance(found, tensors.Tensor):
        yield from _of_tensor(found, proto, where)
    elif isinstance(found, Sequence) and not isinstance(found, str | bytes) and not hasattr(found, "_fields"):
        if len(found) != len(proto):
            yield f"{where}: {len(found)} of them, not {len(proto)}"
        for at, (one, other) in enumerate(zip(found, proto, strict=False)):
            yield from differences(one, other, f"{where}[{at}]")
    elif isinstance(found, float):
        if struct.pack("<d", found) != struct.pack("<d", proto):
            yield f"{where}: {found}, not {proto}"
    elif isinstance(found, str | bytes | int):
        if type(found) is not type(proto) or found != proto:
            yield f"{where}: {found!r}, not {proto!r}"
    else:
        yield from _of_message(found, proto, where)


def _of_message(found: object, proto: Any, where: str) -> Iterator[str]:
    names = ["op_type", "domain", "overload", "attribute"] if isinstance(found, graphs.Node) else []
    fields = (name for name, kind in vars(type(found)).items() if not callable(kind) and not isinstance(kind, property))
    names += [name for name in fields if not name.startswith("_")]
    for name in names:
        if name not in ("tail", "is_closed", "kind"):
            yield from differences(getattr(found, name), getattr(proto, name), f"{where}.{name}")
    for name in {
        graphs.Attribute: ("g", "t", "tp", "sparse_tensor"),
        graphs.Model: ("graph",),
        graphs.ValueInfo: ("type",),
    }.get(type(found), ()):
        if found.HasField(name) != proto.HasField(name):  # type: ignore[attr-defined]
            yield f"{where}: has {name} or not"


def _of_type(found: graphs.Type, proto: Any, where: str) -> Iterator[str]:
    if found.WhichOneof("value") != proto.WhichOneof("value"):
        yield f"{where}: {found.WhichOneof('value')}, not {proto.WhichOneof('value')}"
        return
    if onnx.TypeProto.FromString(found.SerializeToString()) != proto:
        yield f"{where}: other bytes"
    for kind in KINDS:
        if kind == proto.WhichOneof("value") or kind.endswith("tensor_type"):
            yield from _of_kind(getattr(found, kind), getattr(proto, kind), f"{where}.{kind}")


def _of_kind(found: object, proto: Any, where: str) -> Iterator[str]:
    yield from _of_message(found, proto, where)
    if isinstance(found, graphs.TensorType):
        if found.HasField("shape") != proto.HasField("shape"):
            yield f"{where}: has a shape or not"
        for one, other in zip(found.shape.dim, proto.shape.dim, strict=False):
            if one.WhichOneof("value") != other.WhichOneof("value"):
                yield f"{where}: {one.WhichOneof('value')}, not {other.WhichOneof('value')}"


def _of_tensor(found: tensors.Tensor, proto: Any, where: str) -> Iterator[str]:
    count = 1
    for size in proto.dims:
        count *= size
    is_small = 0 <= count <= MAX_ELEMENTS
    for name in ("name", "data_type", "dims", "data_location", *(["external_data"] if is_small else [])):
        yield from differences(getattr(found, name), getattr(proto, name), f"{where}.{name}")
    if found.HasField("raw_data") != proto.HasField("raw_data"):
        yield f"{where}: has raw_data or not"
    if is_small:
        yield from differences(found.raw_data, proto.raw_data[: 8 * MAX_ELEMENTS + 1], f"{where}.raw_data")
        for name in NUMBERS:
            yield from differences(list(getattr(found, name)), list(getattr(proto, name)[:MOST]), f"{where}.{name}")
    for name in ("raw_data", "string_data", *NUMBERS):
        count, held = found.count(name), len(getattr(proto, name))
        if count is not None and count != (held if name not in INTEGERS else min(held, MOST)):
            yield f"{where}: {count} of {name}, not {held}"
