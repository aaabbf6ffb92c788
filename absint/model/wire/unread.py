"""The fields of a message that an analysis reads, and those that none does. These are walked all the same: protobuf
gives no model if one is damaged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from absint.model.wire.fields import DELIMITED, VARINT, Field
from absint.model.wire.scalars import Content, Parts, Runs, check_packed, each, signed, text

MESSAGES: Final[Mapping[str, Mapping[int, str]]] = {
    "Model": {20: "TrainingInfo", 26: "Device"},
    "Function": {7: "Node", 11: "Attribute", 14: "Entry"},
    "TrainingInfo": {1: "Graph", 2: "Graph", 3: "Entry", 4: "Entry"},
    "Graph": {
        **{1: "Node", 5: "Tensor", 15: "SparseTensor", 11: "ValueInfo", 12: "ValueInfo", 13: "ValueInfo"},
        **{14: "Annotation", 16: "Entry"},
    },
    "Node": {5: "Attribute", 9: "Entry", 10: "NodeDevices"},
    "Attribute": {
        **{5: "Tensor", 6: "Graph", 14: "Type", 22: "SparseTensor"},
        **{10: "Tensor", 11: "Graph", 15: "Type", 23: "SparseTensor"},
    },
    "Tensor": {3: "Segment", 13: "Entry", 16: "Entry"},
    "SparseTensor": {1: "Tensor", 2: "Tensor"},
    "ValueInfo": {2: "Type", 4: "Entry"},
    "Type": {1: "TensorType", 8: "TensorType", 4: "ElementType", 9: "ElementType", 5: "MapType", 7: "OpaqueType"},
    "TensorType": {2: "Dims"},
    "Dims": {1: "Dim"},
    "ElementType": {1: "Type"},
    "MapType": {2: "Type"},
    "Annotation": {2: "Entry"},
    "NodeDevices": {2: "Sharding"},
    "Sharding": {3: "DeviceGroup", 4: "ShardedDim"},
    "ShardedDim": {2: "Shards"},
}
"""The messages in fields of each kind of message; those of other kinds have none."""

NUMBERS: Final[Mapping[str, Mapping[int, int]]] = {
    "Attribute": {7: 4, 8: 0},
    "Tensor": {1: 0, 4: 4, 5: 0, 7: 0, 10: 8, 11: 0},
    "SparseTensor": {3: 0},
    "Sharding": {2: 0},
    "DeviceGroup": {2: 0},
}
"""The bytes of each number in fields that repeat; 0 where they vary."""

_NOTHING: Final[Mapping[int, str]] = MappingProxyType({})
_NO_NUMBERS: Final[Mapping[int, int]] = MappingProxyType({})


def by_number(
    data: Content, parts: Parts, depth: int, kind: str, numbers: Container[int], *runs: Runs
) -> Mapping[int, list[Field]]:
    """The fields of these numbers of a message of this kind, of any wire type, by number; the others are checked."""
    found = defaultdict[int, list[Field]](list)
    for field in each(data, parts, depth, *runs):
        if field.number in numbers:
            found[field.number].append(field)
        else:
            check(data, field, kind, depth + 1)
    return found


def places(found: Sequence[Field]) -> list[tuple[int, int]]:
    """Where the messages, texts or bytes in these fields stand."""
    return [(field.start, field.end) for field in found if field.wire == DELIMITED]


def texts(data: Content, found: Sequence[Field]) -> list[str]:
    """The texts in these fields."""
    return [text(data[start:end]) for start, end in places(found)]


def last_text(data: Content, found: Sequence[Field]) -> str:
    """The text of a field that is not repeated; empty if it is left out."""
    return next((text(data[field.start : field.end]) for field in reversed(found) if field.wire == DELIMITED), "")


def last_number(found: Sequence[Field]) -> int:
    """The number of a field that is not repeated, of 64 bits; 0 if it is left out."""
    return next((signed(field.value) for field in reversed(found) if field.wire == VARINT), 0)


def check(data: Content, field: Field, around: str, depth: int) -> None:
    """Raise MalformedError if a field is damaged that belongs to this kind of message; `depth` is that of a message in
    the field.
    """
    if field.wire != DELIMITED:
        return
    kind = MESSAGES.get(around, _NOTHING).get(field.number)
    if kind is not None:
        for inner in each(data, ((field.start, field.end),), depth):
            check(data, inner, kind, depth + 1)
    elif (size := NUMBERS.get(around, _NO_NUMBERS).get(field.number)) is not None:
        check_packed(data, field, size)


def is_entry(content: bytes) -> bool:
    """The content is a key and a value, the key shorter than 128 bytes and the value than 16,384; False for any other
    form.
    """
    try:
        at = content[1] + 2
        is_usual = content[0] == _KEY and content[1] < 128 and content[at] == _VALUE
        length = content[at + 1]
        if length > 127:
            second, at = content[at + 2], at + 1
            length = length & 127 | second << 7
            is_usual = is_usual and second < 128
    except IndexError:
        return False
    return is_usual and at + 2 + length == len(content)


_KEY: Final = 1 << 3 | DELIMITED
_VALUE: Final = 2 << 3 | DELIMITED
