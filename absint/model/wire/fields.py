"""The fields of one message: their numbers, wire types and spans. No value is copied.

The interface, for readers and for copiers:

    varint(data, at, end)           a number, and the place after it
    fields(data, start, end)        each field of a message, in order, as a `Field`
    field_at(data, at, end)         the field that begins at a place
    encoded(number)                 the bytes of a number
    delimited(number, content)      the bytes of a field of a message: a text, bytes, an inner message
    MalformedError                  the data are no message: what is wrong, and at which byte

`data` is anything that gives the integer of a byte when indexed: bytes, a memoryview of bytes, an `mmap`, a `Sliced`
file. Places count from its beginning. `data[field.tag : field.end]` is a whole field and
`data[field.start : field.end]` its value; what the value of a delimited field means (a text, a message, packed numbers)
is for its reader to say, and `fields(data, field.start, field.end)` goes into a message.

The rules are those of Google's parsers: a tag and a length have at most 5 bytes, any other number at most 10, of which
64 bits count; a group ends with its own number. Only the limit of 2 GB is not kept: a field may be longer.

Source: https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from mmap import mmap
from typing import Final, TypeAlias, overload

from absint.lattices.records import NamedTuple

_STEP: Final = 1 << 14
"""Bytes that are read at once, unless a longer slice is asked for."""


class Sliced:
    """The bytes of a file that is open under a descriptor. As from `mmap`, a place gives a number, and a slice bytes;
    only these and some around them are read. Raises OSError if the file has become shorter.
    """

    __slots__ = ("_at", "_number", "_size", "_window")

    def __init__(self, number: int, size: int) -> None:
        self._number = number
        self._size = size
        self._at = 0
        self._window = b""

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> bytes: ...
    def __getitem__(self, place: int | slice) -> int | bytes:
        if isinstance(place, int):
            if not 0 <= place < self._size:
                raise IndexError(place)
            if not 0 <= place - self._at < len(self._window):
                self._fill(place)
            return self._window[place - self._at]
        start, end, _ = place.indices(self._size)
        if end - start > _STEP:
            return self._read(start, end)
        if not self._at <= start <= end <= self._at + len(self._window):
            self._fill(start)
        return self._window[start - self._at : max(start, end) - self._at]

    def _fill(self, start: int) -> None:
        self._window = self._read(start, min(start + _STEP, self._size))
        self._at = start

    def _read(self, start: int, end: int) -> bytes:
        os.lseek(self._number, start, os.SEEK_SET)
        parts = []
        while start < end:
            part = os.read(self._number, end - start)
            if not part:
                raise OSError(errno.EIO, "it became shorter while it was read")
            parts.append(part)
            start += len(part)
        return b"".join(parts)


Data: TypeAlias = bytes | memoryview | mmap | Sliced

VARINT: Final = 0
FIXED64: Final = 1
DELIMITED: Final = 2
GROUP: Final = 3
GROUP_END: Final = 4
FIXED32: Final = 5
FIXED: Final = {4: FIXED32, 8: FIXED64}
"""Wire types of numbers of so many bytes."""

RUN: Final = 8
"""The wire type, beside protobuf's, of a run of fields of one number; its value begins with the first tag."""

MAX_DEPTH: Final = 100
"""Most messages and groups inside each other that Google's parsers read."""

SHALLOW: Final = 20
"""Messages around one down to which messages of equal bytes are read once. One that is kept fits in each such place."""

_SHORT: Final = 5
_LONG: Final = 10
_MASK: Final = (1 << 64) - 1
_MAX_TAG: Final = (1 << 32) - 1


class MalformedError(ValueError):
    """The data are no message. The text completes "at byte N: ..."."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(f"at byte {at:,}: {reason}")
        self.at = at
        self.reason = reason


class Field(NamedTuple):
    """One field of a message."""

    number: int
    wire: int
    """The wire type: VARINT, FIXED64, DELIMITED, GROUP or FIXED32."""
    tag: int
    """The place of its first byte."""
    start: int
    """The place of its value, after the length of a delimited one."""
    end: int
    """The place after it; the end tag of a group belongs to its value."""
    value: int
    """The number of a VARINT, of 64 bits and without a sign; 0 for other wire types."""


def varint(data: Data, at: int, end: int, most: int = _LONG) -> tuple[int, int]:
    """The number at a place, of 64 bits and without a sign, and the place after it.

    Raises MalformedError if it has no end before `end`, or more than `most` bytes.
    """
    if at < end and (byte := data[at]) < 128:
        return byte, at + 1
    if at + 1 < end and (second := data[at + 1]) < 128:  # `most` is at least 2
        return byte & 127 | second << 7, at + 2
    number = 0
    last = min(end, at + most)
    for place in range(at, last):
        byte = data[place]
        number |= (byte & 127) << (7 * (place - at))
        if byte < 128:
            return number & _MASK, place + 1
    raise MalformedError(at, "a number is truncated" if last == end else f"a number has over {most} bytes")


def fields(data: Data, start: int, end: int, depth: int = 0) -> Iterator[Field]:
    """The fields of the message in `data[start:end]`, in order. Raises MalformedError where it is none.

    `depth` counts the messages around it: groups inside are as deep as MAX_DEPTH allows.
    """
    at = start
    while at < end:
        field = field_at(data, at, end, depth)
        yield field
        at = field.end


def field_at(data: Data, at: int, end: int, depth: int = 0) -> Field:
    """The field that begins at a place, in a message that ends at `end`. Raises as `fields` does."""
    if at + 1 < end and 8 <= (tag := data[at]) < 128 and (number := data[at + 1]) < 128:  # one byte each
        if tag & 7 == DELIMITED and at + 2 + number <= end:
            return Field(tag >> 3, DELIMITED, at, at + 2, at + 2 + number, 0)
        if tag & 7 == VARINT:
            return Field(tag >> 3, VARINT, at, at + 1, at + 2, number)
    tag, value_at = varint(data, at, end, _SHORT)
    if not 8 <= tag <= _MAX_TAG:
        raise MalformedError(at, "a field has no number" if tag < 8 else "a field has a number over 2**29")
    if tag & 7 == GROUP:
        return Field(tag >> 3, GROUP, at, value_at, _end_of_group(data, value_at, end, tag >> 3, depth), 0)
    return _field(data, at, value_at, end, tag)


def _field(data: Data, at: int, value_at: int, end: int, tag: int) -> Field:
    """The field, which is no group, whose tag is at `at` and whose length or value is at `value_at`."""
    wire, value = tag & 7, 0
    if wire == DELIMITED:
        length, value_at = varint(data, value_at, end, _SHORT)
        after = value_at + length
    elif wire == VARINT:
        value, after = varint(data, value_at, end)
    elif wire == FIXED32:
        after = value_at + 4
    elif wire == FIXED64:
        after = value_at + 8
    else:
        raise MalformedError(at, "a group ends that has not begun" if wire == GROUP_END else f"wire type {wire}")
    if after > end:
        raise MalformedError(at, f"a field of {after - value_at:,} bytes, and {end - value_at:,} are left")
    return Field(tag >> 3, wire, at, value_at, after, value)


def _end_of_group(data: Data, at: int, end: int, number: int, depth: int) -> int:
    """The place after the end tag of a group whose fields begin at `at`. Fields without a number are skipped there."""
    begun = [number]
    while begun:
        if depth + len(begun) > MAX_DEPTH:
            raise MalformedError(at, f"more than {MAX_DEPTH} messages and groups inside each other")
        tag, value_at = varint(data, at, end, _SHORT)
        if tag > _MAX_TAG:
            raise MalformedError(at, "a field has a number over 2**29")
        if tag & 7 == GROUP:
            begun.append(tag >> 3)
        elif tag & 7 != GROUP_END:
            value_at = _field(data, at, value_at, end, tag).end
        elif tag >> 3 != begun.pop():
            raise MalformedError(at, "a group ends that has not begun")
        at = value_at
    return at


def encoded(number: int) -> bytes:
    """The bytes of a number: of 64 bits, as two's complement if it is negative."""
    number &= _MASK
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    content.append(number)
    return bytes(content)


def delimited(number: int, content: bytes) -> bytes:
    """The bytes of a field of this number that holds `content`."""
    return encoded(number << 3 | DELIMITED) + encoded(len(content)) + content
