"""Mutations of a message as bytes: its fields by the descriptors of ONNX, each a tag and a value."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any, Final

import onnx

EXTREMES: Final = (0, 1, 2, 7, 99, 127, 128, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)

Field = tuple[int, int, Any]
"""Number, wire type, and the value: bytes, a number, or the fields of a message."""


def varint(number: int) -> bytes:
    """The number in groups of seven bits."""
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def fields_of(content: bytes, descriptor: Any) -> list[Field]:
    """The fields of a message that is well formed, those of inner messages too."""
    found: list[Field] = []
    at = 0
    while at < len(content):
        tag, at = _number(content, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _number(content, at)
            found.append((number, kind, value))
        elif kind == 2:
            length, at = _number(content, at)
            part, at = content[at : at + length], at + length
            field = descriptor.fields_by_number.get(number)
            inner = field is not None and field.message_type is not None
            found.append((number, kind, fields_of(part, field.message_type) if inner else part))
        else:
            size = 8 if kind == 1 else 4
            found.append((number, kind, content[at : at + size]))
            at += size
    return found


def _number(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while content[at] > 127:
        number |= (content[at] & 127) << shift
        shift, at = shift + 7, at + 1
    return number | content[at] << shift, at + 1


def joined(fields: list[Field]) -> bytes:
    """The message of these fields."""
    parts = []
    for number, kind, value in fields:
        parts.append(varint(number << 3 | kind))
        if kind == 0:
            parts.append(varint(value))
        elif kind == 2:
            content = joined(value) if isinstance(value, list) else value
            parts += [varint(len(content)), content]
        else:
            parts.append(value)
    return b"".join(parts)


def mutated_fields(rng: Random, model: bytes, other: bytes) -> bytes:
    """A few fields deleted, repeated, moved, replaced by those of another model, or stretched."""
    descriptor = onnx.ModelProto.DESCRIPTOR
    fields, donor = fields_of(model, descriptor), fields_of(other, descriptor)
    for _ in range(rng.choice((1, 1, 2, 4))):
        _mutate(rng, _some_list(rng, fields), _some_list(rng, donor))
    return joined(fields)


def _some_list(rng: Random, fields: list[Field]) -> list[Field]:
    """The fields of a message at some depth."""
    while inner := [value for _, _, value in fields if isinstance(value, list) and value]:
        if rng.random() < 0.25:
            break
        fields = rng.choice(inner)
    return fields


def _mutate(rng: Random, fields: list[Field], donor: list[Field]) -> None:
    if not fields:
        return
    at = rng.randrange(len(fields))
    number, kind, value = fields[at]
    match rng.randrange(7):
        case 0:
            del fields[at]
        case 1:
            fields[at:at] = [fields[at]] * rng.choice((1, 1, 2, 50))
        case 2:
            rng.shuffle(fields)
        case 3 if donor:
            fields.insert(at, deepcopy(rng.choice(donor)))  # a message may not come to lie in itself
        case 4 if donor:
            fields[at] = deepcopy(rng.choice(donor))
        case 5:
            fields[at] = (rng.choice((number + 1, 1, 15, 20, 2**28)), kind, value)
        case _ if kind == 0:
            fields[at] = (number, kind, rng.choice(EXTREMES))
        case _ if isinstance(value, bytes):
            fields[at] = (number, kind, mutated_bytes(rng, value) if kind == 2 else value[::-1])
        case _:
            fields[at] = (number, kind, joined(value)[: rng.randrange(20)])


def mutated_bytes(rng: Random, content: bytes) -> bytes:
    """Bits flipped, bytes cut, repeated and replaced, without regard to their meaning."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(6):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(changed):
                changed[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            case 2:
                del changed[at : at + rng.choice((1, 2, 8, 100))]
            case 3:
                changed[at:at] = changed[at : at + rng.choice((1, 4, 40))] * rng.choice((1, 2, 20))
            case 4:
                changed[at:at] = varint(rng.choice(EXTREMES))
            case _:
                changed[at:at] = rng.choice((b"\xff\xfe", b"\0", b"\n", b"\x1b[2J", b"%", "é".encode(), b"N*M"))
    return bytes(changed)
