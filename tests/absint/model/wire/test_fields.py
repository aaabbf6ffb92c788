"""Fields of messages, held against protobuf: what it reads, and what it refuses."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, strategies as st
from onnx import NodeProto, TypeProto

from absint.model.wire.fields import (
    DELIMITED,
    FIXED32,
    FIXED64,
    GROUP,
    MAX_DEPTH,
    VARINT,
    Field,
    MalformedError,
    delimited,
    encoded,
    fields,
    varint,
)

REFUSED = {
    "tag 0": (b"\x00", "at byte 0: a field has no number"),
    "field 0": (b"\x02\x00", "at byte 0: a field has no number"),
    "tag of 6 bytes": (b"\x8a\x80\x80\x80\x80\x00\x01a", "at byte 0: a number has over 5 bytes"),
    "tag of 33 bits": (b"\x8a\x80\x80\x80\x10\x01a", "at byte 0: a field has a number over 2**29"),
    "length of 6 bytes": (b"\x0a\x81\x80\x80\x80\x80\x00a", "at byte 1: a number has over 5 bytes"),
    "number of 11 bytes": (b"\x18" + b"\xff" * 10 + b"\x01", "at byte 1: a number has over 10 bytes"),
    "truncated number": (b"\x18\xff", "at byte 1: a number is truncated"),
    "truncated tag": (b"\xff", "at byte 0: a number is truncated"),
    "truncated text": (b"\x0a\x05abc", "at byte 0: a field of 5 bytes, and 3 are left"),
    "truncated float": (b"\x0d\x00", "at byte 0: a field of 4 bytes, and 1 are left"),
    "truncated double": (b"\x09\x00", "at byte 0: a field of 8 bytes, and 1 are left"),
    "wire type 6": (b"\x0e", "at byte 0: wire type 6"),
    "end of no group": (b"\x0c", "at byte 0: a group ends that has not begun"),
    "end of another group": (b"\x1b\x24", "at byte 1: a group ends that has not begun"),
    "group without end": (b"\x1b", "at byte 1: a number is truncated"),
    "groups in groups": (
        b"\x1b" * 101 + b"\x1c" * 101,
        "at byte 101: more than 100 messages and groups inside each other",
    ),
}
READ = {
    "field 0 in a group": b"\x1b\x03\x04\x1c",
    "long tag": b"\x8a\x80\x80\x80\x00\x01a",
    "long length": b"\x0a\x81\x80\x80\x80\x00a",
    "number of more than 64 bits": b"\x18" + b"\xff" * 9 + b"\x7f",
    "the highest number of a field": b"\xfa\xff\xff\xff\x0f\x00",
    "groups": b"\x1b\x23\x08\x01\x24\x0a\x01a\x1c",
    "groups in groups": b"\x1b" * MAX_DEPTH + b"\x1c" * MAX_DEPTH,
}


def parses(content: bytes) -> bool:
    try:
        TypeProto.Tensor().ParseFromString(content)  # its fields are none of those that the tests write as messages
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize("name", REFUSED)
def test_data_that_are_no_message_are_refused(name: str) -> None:
    content, text = REFUSED[name]
    assert not parses(content)
    with pytest.raises(MalformedError) as error:
        list(fields(content, 0, len(content)))
    assert str(error.value) == text


@pytest.mark.parametrize("name", READ)
def test_unusual_encodings_are_read(name: str) -> None:
    assert parses(READ[name])
    assert [field.end for field in fields(READ[name], 0, len(READ[name]))] == [len(READ[name])]


@pytest.mark.parametrize("kind", [bytes, memoryview], ids=str)
def test_each_field_has_its_span(kind: type[bytes] | type[memoryview]) -> None:
    content = b"\x08\x96\x01\x12\x02ab\x1d1234\x2112345678\x2b\x30\x01\x2c"
    data = kind(b"\x00" + content + b"\x00")
    assert list(fields(data, 1, 1 + len(content))) == [
        Field(1, VARINT, 1, 2, 4, 150),
        Field(2, DELIMITED, 4, 6, 8, 0),
        Field(3, FIXED32, 8, 9, 13, 0),
        Field(4, FIXED64, 13, 14, 22, 0),
        Field(5, GROUP, 22, 23, 26, 0),
    ]


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_numbers_are_written_as_they_are_read(number: int) -> None:
    content = encoded(number)
    assert varint(content, 0, len(content)) == (number % (1 << 64), len(content))


@given(st.binary(max_size=300))
def test_written_fields_are_those_of_protobuf(text: bytes) -> None:
    assert NodeProto.FromString(delimited(99, text)).SerializeToString() == delimited(99, text)
    found = next(fields(delimited(99, text), 0, len(text) + 4))
    assert (found.number, found.end - found.start) == (99, len(text))


@given(st.binary(max_size=12) | st.lists(st.sampled_from(range(0x60)), max_size=12).map(bytes))
def test_damaged_messages_are_refused_where_protobuf_refuses_them(content: bytes) -> None:
    known = {1: VARINT, 2: DELIMITED}
    try:
        found = list(fields(content, 0, len(content)))
    except MalformedError:
        assert not parses(content)
    else:
        if not any(known.get(field.number) == field.wire for field in found):
            assert parses(content)
