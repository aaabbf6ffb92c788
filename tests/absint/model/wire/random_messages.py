"""Random messages of ONNX: any field, with values at the ends of their types. They need not make sense as models."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from absint.model.wire.fields import delimited

_TEXTS: Final = ("", "a", "x", "N", "Relu", "é" * 70, "b" * 130, "location", "\0")
_FLOATS: Final = (0.0, -0.0, 1.5, float("inf"), float("nan"), 2.0**-149)
_INTEGERS: Final = (0, 1, 2, 3, 7, 127, 128, 300, -1, -2, 2**31 - 1, -(2**31))
_LARGE: Final = (2**40, 2**63 - 1, -(2**63))
_COUNTS: Final = (0, 0, 1, 1, 2, 3)
_MANY: Final = (1, 3, 40, 1030)


def random_model(random: Random) -> onnx.ModelProto:
    """A model with a graph, of a few messages."""
    model = onnx.ModelProto()
    _fill(model, random, 25)
    model.graph.SetInParent()
    return model


def _fill(message: Message, random: Random, room: int) -> int:
    """Set some fields; `room` is for so many messages, and what is left of it is the answer."""
    for field in message.DESCRIPTOR.fields:
        if random.random() < (0.5 if field.message_type is None else 0.35) or room <= 0:
            continue
        if field.message_type is None:
            _set(message, field, random)
            continue
        for _ in range(random.choice(_COUNTS) if field.is_repeated else 1):
            held = getattr(message, field.name)
            inner = held.add() if field.is_repeated else held
            inner.SetInParent()
            room = _fill(inner, random, room - 1)
    return room


def _set(message: Message, field: FieldDescriptor, random: Random) -> None:
    if not field.is_repeated:
        setattr(message, field.name, _value(field, random))
        return
    count = random.choice(_MANY) if random.random() < 0.1 else random.choice(_COUNTS)
    getattr(message, field.name).extend(_value(field, random) for _ in range(count))


def _value(field: FieldDescriptor, random: Random) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return random.choice(_TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random.choice([b"", b"\xff\xfe", bytes(8), bytes(random.randrange(300))])
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return random.choice(_FLOATS)
    if field.enum_type is not None:
        return random.choice([value.number for value in field.enum_type.values])
    if field.type == FieldDescriptor.TYPE_UINT64:
        return random.choice([0, 1, 300, 2**63, 2**64 - 1])
    if field.type == FieldDescriptor.TYPE_INT32:
        return random.choice(_INTEGERS)
    return random.choice(_INTEGERS + _LARGE)


def in_graphs(levels: int, content: bytes) -> bytes:
    """A model whose graph has this content, inside bodies of so many levels."""
    for _ in range(levels):
        attribute = delimited(1, b"body") + delimited(6, content) + b"\xa0\x01\x05"
        content = delimited(1, delimited(4, b"If") + delimited(5, attribute))
    return b"\x08\x0a" + delimited(7, content)


def in_types(levels: int, content: bytes) -> bytes:
    """A type of sequences and optionals inside each other around the content of a type."""
    for level in range(levels):
        content = delimited(9 if level % 3 else 4, delimited(1, content))
    return content
