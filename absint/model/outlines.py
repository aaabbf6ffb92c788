"""Messages without the data of their large tensors, wherever these are: initialisers, attributes, bodies, functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from onnx import ModelProto, TensorProto

from absint.model.wire.fields import DELIMITED, Data, delimited, fields

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    Kind = TypeVar("Kind", bound=Message)

LARGE: Final = 1 << 12
"""Bytes from which a tensor is left without its data."""

_CONTENTS: Final = frozenset(
    field.number for field in TensorProto.DESCRIPTOR.fields if field.name.endswith("_data") and not field.message_type
)


def outline(data: Data) -> ModelProto:
    """The model in the data without the data of large tensors. Raises MalformedError and DecodeError if it is none."""
    made = ModelProto()
    made.ParseFromString(_outlined(data, 0, len(data), ModelProto.DESCRIPTOR))
    return made


def outlined(message: Kind) -> Kind:
    """The message itself if it is small, else a copy without the data of large tensors."""
    if message.ByteSize() < LARGE:
        return message
    content = message.SerializeToString()
    made: Kind = type(message)()
    made.ParseFromString(_outlined(content, 0, len(content), message.DESCRIPTOR))
    return made


def _outlined(data: Data, start: int, end: int, kind: Descriptor) -> bytes:
    if end - start < LARGE:
        return bytes(data[start:end])
    return b"".join(_parts(data, start, end, kind))


def _parts(data: Data, start: int, end: int, kind: Descriptor) -> Iterator[bytes | memoryview]:
    """The fields of a large message; neighbours that stay as they are come in one piece."""
    is_tensor = kind.full_name == TensorProto.DESCRIPTOR.full_name
    inner = _holding_tensors(kind)
    kept = start
    for field in fields(data, start, end):
        if is_tensor and field.number in _CONTENTS:
            yield data[kept : field.tag]
            kept = field.end
        elif field.wire == DELIMITED and field.number in inner and field.end - field.start >= LARGE:
            yield data[kept : field.tag]
            yield delimited(field.number, _outlined(data, field.start, field.end, inner[field.number]))
            kept = field.end
    yield data[kept:end]


@lru_cache(maxsize=64)
def _holding_tensors(kind: Descriptor) -> dict[int, Descriptor]:
    """The fields of a kind of message that hold tensors, at any depth, with their kinds."""
    fields_of = {number: field.message_type for number, field in kind.fields_by_number.items() if field.message_type}
    return {number: inner for number, inner in fields_of.items() if _reaches_tensor(inner)}


def _reaches_tensor(kind: Descriptor) -> bool:
    pending, seen = [kind], {kind.full_name}
    while pending:
        kind = pending.pop()
        if kind.full_name == TensorProto.DESCRIPTOR.full_name:
            return True
        for field in kind.fields:
            if field.message_type is not None and field.message_type.full_name not in seen:
                seen.add(field.message_type.full_name)
                pending.append(field.message_type)
    return False


__all__ = ["LARGE", "outline", "outlined"]
