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

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from mmap import mmap
from types import MappingProxyType
from typing import Final, TypeAlias

from absint.lattices.records import NamedTuple
from absint.model.wire.sliced import Sliced

Data: TypeAlias = bytes | memoryview | mmap | Sliced

VARINT: Final = 0
FIXED64: Final = 1
DELIMITED: Final = 2
GROUP: Final = 3
GROUP_END: Final = 4
FIXED32: Final = 5

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


# Scalar values of fields: texts, signed numbers, and numbers that repeat, one to a field or packed.
#
# Many writers give each number of a list a field of its own. Such a run of fields counts as one field here.

Content: TypeAlias = bytes | mmap | Sliced
"""A file, in memory, mapped into it or read in slices: its slices are bytes."""

Parts: TypeAlias = Sequence[tuple[int, int]]
"""The places of a message: several if its field occurs several times, since a parser merges these."""

Extent: TypeAlias = bytes | tuple[int, int]
"""A message: its content, or where it stands."""

Runs: TypeAlias = Mapping[int, re.Pattern[bytes]]
"""Patterns of runs of fields, by their first byte."""

RUN: Final = 8
"""The wire type, beside protobuf's, of a run of fields of one number; its value begins with the first tag."""

LARGE: Final = 1 << 13
"""Bytes of the largest value that is copied wherever it appears: 1024 numbers of 64 bits."""

_NO_RUNS: Final[Runs] = MappingProxyType({})
_LONGEST: Final = 11
"""Bytes of the longest number, with a tag."""

_VARINT: Final = rb"[\x80-\xff]{0,9}+[\x00-\x7f]"
_OF_RUN: Final = re.compile(b".(" + _VARINT + b")", re.DOTALL)
_PACKED: Final = re.compile(rb"[\x80-\xff]*+[\x00-\x7f]")
_WELL_FORMED: Final = re.compile(b"(?:" + _VARINT + rb")*+\Z")
_LOOKED_AT: Final = 1 << 16


def runs_of(varints: Sequence[int] = (), floats: Sequence[int] = (), doubles: Sequence[int] = ()) -> Runs:
    """The runs of fields of these numbers, all below 16."""
    kinds = ((varints, VARINT, _VARINT), (floats, FIXED32, b".{4}"), (doubles, FIXED64, b".{8}"))
    return {
        (tag := number << 3 | wire): re.compile(b"(?:" + re.escape(bytes([tag])) + value + b")++", re.DOTALL)
        for numbers, wire, value in kinds
        for number in numbers
    }


def each(data: Content, parts: Parts, depth: int, runs: Runs = _NO_RUNS) -> Iterator[Field]:
    """The fields of a message, `depth` messages below the outermost one."""
    if depth > MAX_DEPTH:
        raise MalformedError(parts[0][0], f"more than {MAX_DEPTH} messages and groups inside each other")
    if isinstance(data, Sliced):  # where a pattern finds no bytes, each field of a run comes alone
        for at, end in parts:
            yield from fields(data, at, end, depth)
        return
    for at, end in parts:
        while at < end:
            tag = data[at]
            if tag in runs and (run := runs[tag].match(data, at, end)) is not None:
                field = Field(tag >> 3, RUN, at, at, run.end(), 0)
            else:
                field = field_at(data, at, end, depth)
            yield field
            at = field.end


def text(content: bytes) -> str:
    """The text of these bytes. As in protobuf, it is the bytes themselves if they are not valid UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content  # type: ignore[return-value]


def contents(data: Content, places: Iterable[Extent]) -> list[bytes]:
    """The contents of messages."""
    return [place if isinstance(place, bytes) else data[place[0] : place[1]] for place in places]


def content_of(text: str | bytes) -> bytes:
    """The bytes of a text."""
    return text if isinstance(text, bytes) else text.encode()


def signed(number: int) -> int:
    """An int64."""
    return number - (1 << 64) if number >> 63 else number


def signed32(number: int) -> int:
    """An int32 or an enum: the lower 32 bits."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def integers(data: Content, found: Sequence[Field], most: int | None = None) -> list[int]:
    """The numbers of VARINT fields, of runs of these and of packed ones, 64 bits without a sign each; only the first
    `most`.
    """
    numbers: list[int] = []
    for field in found:
        if field.wire == VARINT:  # with a tag that is longer than it must be
            numbers.append(field.value)
            continue
        if field.wire == DELIMITED:
            check_packed(data, field, 0)
        if field.wire in (RUN, DELIMITED) and (most is None or len(numbers) < most):
            end = field.end if most is None else min(field.end, field.start + _LONGEST * most)
            content = data[field.start : end]
            if content.isascii():  # a byte each, after its tag in a run
                numbers += content[1::2] if field.wire == RUN else content
            else:
                numbers += map(_number, (_OF_RUN if field.wire == RUN else _PACKED).findall(content))
    return numbers if most is None else numbers[:most]


@lru_cache(maxsize=1 << 10)
def _number(content: bytes) -> int:
    return varint(content, 0, len(content))[0]


def floats(data: Content, found: Sequence[Field], size: int, most: int | None = None) -> list[float]:
    """The floats of 4 bytes or doubles of 8 bytes of fields, runs and packed fields; only the first `most`."""
    letter, alone = ("f", FIXED32) if size == 4 else ("d", FIXED64)
    numbers: list[float] = []
    for field in found:
        if field.wire == DELIMITED:
            check_packed(data, field, size)
        elif field.wire not in (RUN, alone):
            continue
        step = int(field.wire == RUN)
        count = (field.end - field.start) // (size + step)
        count = count if most is None else min(count, most - len(numbers))
        content = data[field.start : field.start + count * (size + step)]
        numbers += (number for (number,) in struct.iter_unpack("<" + "x" * step + letter, content))
    return numbers


def check_packed(data: Content, field: Field, size: int) -> None:
    """Raise MalformedError unless a field holds numbers of `size` bytes each, or of any length if that is 0. Of more
    than 64 KB of the latter only the end is looked at.
    """
    length = field.end - field.start
    if size:
        if length % size:
            raise MalformedError(field.start, f"{length:,} bytes are no numbers of {size} bytes each")
    elif length and data[field.end - 1] > 127:
        raise MalformedError(field.start, "the last number is truncated")
    elif length <= _LOOKED_AT and _WELL_FORMED.match(data[field.start : field.end]) is None:
        raise MalformedError(field.start, "a number has over 10 bytes")
