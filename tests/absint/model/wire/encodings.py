"""Other encodings of a message, all of which protobuf reads as it reads the usual one: fields in another order,
messages in parts, values that a later one replaces, numbers packed or not, long tags and lengths, unknown fields.

With damage they are no encodings any more: lengths that lead elsewhere, tags without a number, numbers without an end,
texts that are no UTF-8.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from absint.model.wire.fields import DELIMITED, FIXED32, FIXED64, GROUP, GROUP_END, VARINT, encoded

UNKNOWN: Final = 1_000
"""A field number that onnx does not use."""

NUMBERS: Final = (0, 1, 2, 5, 127, 128, 300, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 3, 2**64 - 1)
_FLOATS: Final = {FieldDescriptor.TYPE_FLOAT: (FIXED32, "<f"), FieldDescriptor.TYPE_DOUBLE: (FIXED64, "<d")}
_BYTES: Final = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def scrambled(message: Message, random: Random, damage: float = 0.0) -> bytes:
    """Bytes that protobuf parses into the message, but for unknown fields; `damage` is the chance of a fault at each
    tag, length, number and text.
    """
    return _Writer(random, damage).message(message)


class _Writer:
    def __init__(self, random: Random, damage: float) -> None:
        self.random = random
        self.damage = damage
        self.oddity = random.choice([0.0, 0.02, 0.3])
        """The chance of an unusual form at each place."""

    def is_odd(self) -> bool:
        return self.random.random() < self.oddity

    def is_damaged(self) -> bool:
        return self.random.random() < self.damage

    def message(self, message: Message) -> bytes:
        return b"".join(self.chunks(message))

    def chunks(self, message: Message) -> list[bytes]:
        """The fields, in an order that keeps those of one number, and of one `oneof`, as they are."""
        queues = [self.field(message, field, value) for field, value in message.ListFields()]
        queues += [[self.unknown(message.DESCRIPTOR)] for _ in range(self.random.choice([0, 0, 1, 2]))]
        if self.random.random() < 0.4:
            return [chunk for queue in queues for chunk in queue]
        made = []
        while queues:
            queue = self.random.choice(queues)
            made.append(queue.pop(0))
            if not queue:
                queues.remove(queue)
        return made

    def field(self, message: Message, field: FieldDescriptor, value: Any) -> list[bytes]:
        if field.is_repeated:
            if field.message_type is not None or field.type in _BYTES:
                return [self.delimited(field.number, self.content(field, item)) for item in value]
            return self.numbers(field, list(value))
        before = []
        if field.containing_oneof is not None and self.is_odd():
            other = self.random.choice(field.containing_oneof.fields)
            before = [] if other is field else [self.decoy(other)]
        if field.message_type is not None:
            parts = self.chunks(value)
            cut = self.random.randint(0, len(parts)) if self.random.random() < 0.5 else 0
            contents = [b"".join(parts[:cut]), b"".join(parts[cut:])] if cut else [b"".join(parts)]
            return [*before, *(self.delimited(field.number, content) for content in contents)]
        before += [self.decoy(field)] if self.is_odd() else []
        if field.type in _BYTES:
            return [*before, self.delimited(field.number, self.content(field, value))]
        return [*before, self.tag(field.number, _wire(field)) + self.number(field, value)]

    def content(self, field: FieldDescriptor, value: Any) -> bytes:
        if field.message_type is not None:
            return self.message(value)
        content: bytes = value if isinstance(value, bytes) else value.encode()
        return content + self.random.choice([b"\xff", b"\xc3", b"\0"]) if self.is_damaged() else content

    def numbers(self, field: FieldDescriptor, values: list[Any]) -> list[bytes]:
        """Numbers that repeat: some in a field each, some packed, some of these fields empty."""
        made = []
        is_mixed = self.is_odd()
        packed = self.random.random() < 0.5
        while values:
            packed = self.random.random() < 0.5 if is_mixed else packed
            count = self.random.choice([0, 1, 2, len(values)]) if is_mixed else len(values)
            some, values = values[:count], values[count:]
            if packed:
                content = b"".join(self.number(field, value) for value in some)
                made.append(self.delimited(field.number, content[:-1] if self.is_damaged() else content))
            else:
                made += [self.tag(field.number, _wire(field)) + self.number(field, value) for value in some]
        return made

    def number(self, field: FieldDescriptor, value: Any) -> bytes:
        if field.type in _FLOATS:
            content = struct.pack(_FLOATS[field.type][1], value)
            return content[: self.random.randrange(8)] if self.is_damaged() else content
        if field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_ENUM) and self.is_odd():
            value += self.random.choice([0, 1, -1, 1 << 20]) << 32  # only 32 bits count
        content = encoded(value)
        if len(content) == 10 and self.is_odd():
            content = content[:-1] + bytes([content[-1] | self.random.choice([2, 126])])  # only 64 bits count
        return self.stretched(content, 10)

    def tag(self, number: int, wire: int) -> bytes:
        if self.is_damaged():
            wire = self.random.choice([wire, 6, 7, GROUP, GROUP_END])
            number = self.random.choice([0, number, number + 1, 1 << 29])
        return self.stretched(encoded(number << 3 | wire), 5)

    def delimited(self, number: int, content: bytes) -> bytes:
        length = len(content)
        if self.is_damaged():
            length += self.random.choice([1, -1, 2, -2, 3, 7, -7, 100, length, -length, 1 << 31, 1 << 40])
        return self.tag(number, DELIMITED) + self.stretched(encoded(max(length, 0)), 5) + content

    def stretched(self, content: bytes, most: int) -> bytes:
        """The number in more bytes than it needs."""
        if self.is_damaged():
            beyond = b"\x80" * most + content, b"\xff" * most + b"\x01"
            return self.random.choice([content[:-1], content + b"\x80", *beyond])
        if len(content) < most and self.is_odd():
            more = self.random.choice([1, 2, most - len(content)])
            more = min(more, most - len(content))
            return content[:-1] + bytes([content[-1] | 128]) + b"\x80" * (more - 1) + b"\0"
        return content

    def decoy(self, field: FieldDescriptor) -> bytes:
        """A field that a later one replaces."""
        if field.message_type is not None:
            return self.delimited(field.number, self.random.choice([b"", self.unknown(field.message_type)]))
        if field.type in _BYTES:
            return self.delimited(field.number, b"decoy")
        value = 0.5 if field.type in _FLOATS else self.random.choice(NUMBERS)
        if field.type == FieldDescriptor.TYPE_ENUM:  # one that protobuf does not know
            value = self.random.choice([99, -1, 1 << 31])
        return self.tag(field.number, _wire(field)) + self.number(field, value)

    def unknown(self, kind: Any) -> bytes:
        """A field of another number, or of a number of this kind of message with another wire type."""
        known: Sequence[FieldDescriptor] = kind.fields
        number = UNKNOWN + self.random.randrange(3)
        wires = [VARINT, FIXED32, FIXED64, DELIMITED, GROUP]
        if known and self.is_odd():
            field = self.random.choice(known)
            number = field.number
            taken = {_wire(field)} | ({DELIMITED} if field.is_repeated else set())
            wires = [wire for wire in wires if wire not in taken]
        return self.of_wire(number, self.random.choice(wires))

    def of_wire(self, number: int, wire: int) -> bytes:
        if wire == VARINT:
            return self.tag(number, wire) + self.stretched(encoded(self.random.choice(NUMBERS)), 10)
        if wire == DELIMITED:
            return self.delimited(number, self.random.choice([b"", b"\x07", b"\x87\x80\x00", b"\xff" * 12]))
        if wire == GROUP:
            inner = [self.of_wire(self.random.choice([1, 7, UNKNOWN]), self.random.randrange(4)) for _ in range(2)]
            inner = inner if self.random.random() < 0.5 else []
            return self.tag(number, GROUP) + b"".join(inner) + self.tag(number, GROUP_END)
        return self.tag(number, wire) + bytes(4 if wire == FIXED32 else 8)


def _wire(field: FieldDescriptor) -> int:
    """The wire type of a field, of one that is not packed."""
    if field.message_type is not None or field.type in _BYTES:
        return DELIMITED
    return _FLOATS[field.type][0] if field.type in _FLOATS else VARINT
