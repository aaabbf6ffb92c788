"""Scalar values of fields: texts, signed numbers, and numbers that repeat, one to a field or packed.

Many writers give each number of a list a field of its own. Such a run of fields counts as one field here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from mmap import mmap
from types import MappingProxyType
from typing import Final, TypeAlias

from absint.model.wire import fields

Content: TypeAlias = bytes | mmap | fields.Sliced
"""A file, in memory, mapped into it or read in slices: its slices are bytes."""

Parts: TypeAlias = Sequence[tuple[int, int]]
"""The places of a message: several if its field occurs several times, since a parser merges these."""

Extent: TypeAlias = bytes | tuple[int, int]
"""A message: its content, or where it stands."""

Runs: TypeAlias = Mapping[int, re.Pattern[bytes]]
"""Patterns of runs of fields, by their first byte."""

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
    kinds = ((varints, fields.VARINT, _VARINT), (floats, fields.FIXED32, b".{4}"), (doubles, fields.FIXED64, b".{8}"))
    return {
        (tag := number << 3 | wire): re.compile(b"(?:" + re.escape(bytes([tag])) + value + b")++", re.DOTALL)
        for numbers, wire, value in kinds
        for number in numbers
    }


def each(data: Content, parts: Parts, depth: int, runs: Runs = _NO_RUNS) -> Iterator[fields.Field]:
    """The fields of a message, `depth` messages below the outermost one."""
    if depth > fields.MAX_DEPTH:
        raise fields.MalformedError(parts[0][0], f"more than {fields.MAX_DEPTH} messages and groups inside each other")
    if isinstance(data, fields.Sliced):  # where a pattern finds no bytes, each field of a run comes alone
        for at, end in parts:
            yield from fields.fields(data, at, end, depth)
        return
    for at, end in parts:
        while at < end:
            tag = data[at]
            if tag in runs and (run := runs[tag].match(data, at, end)) is not None:
                field = fields.Field(tag >> 3, fields.RUN, at, at, run.end(), 0)
            else:
                field = fields.field_at(data, at, end, depth)
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


def integers(data: Content, found: Sequence[fields.Field], most: int | None = None) -> list[int]:
    """The numbers of VARINT fields, of runs of these and of packed ones, 64 bits without a sign each; only the first
    `most`.
    """
    numbers: list[int] = []
    for field in found:
        if field.wire == fields.VARINT:  # with a tag that is longer than it must be
            numbers.append(field.value)
            continue
        if field.wire == fields.DELIMITED:
            check_packed(data, field, 0)
        if field.wire in (fields.RUN, fields.DELIMITED) and (most is None or len(numbers) < most):
            end = field.end if most is None else min(field.end, field.start + _LONGEST * most)
            content = data[field.start : end]
            if content.isascii():  # a byte each, after its tag in a run
                numbers += content[1::2] if field.wire == fields.RUN else content
            else:
                numbers += map(_number, (_OF_RUN if field.wire == fields.RUN else _PACKED).findall(content))
    return numbers if most is None else numbers[:most]


@lru_cache(maxsize=1 << 10)
def _number(content: bytes) -> int:
    return fields.varint(content, 0, len(content))[0]


def floats(data: Content, found: Sequence[fields.Field], size: int, most: int | None = None) -> list[float]:
    """The floats of 4 bytes or doubles of 8 bytes of fields, runs and packed fields; only the first `most`."""
    letter, alone = "f" if size == 4 else "d", fields.FIXED[size]
    numbers: list[float] = []
    for field in found:
        if field.wire == fields.DELIMITED:
            check_packed(data, field, size)
        elif field.wire not in (fields.RUN, alone):
            continue
        step = int(field.wire == fields.RUN)
        count = (field.end - field.start) // (size + step)
        count = count if most is None else min(count, most - len(numbers))
        content = data[field.start : field.start + count * (size + step)]
        numbers += (number for (number,) in struct.iter_unpack("<" + "x" * step + letter, content))
    return numbers


def check_packed(data: Content, field: fields.Field, size: int) -> None:
    """Raise MalformedError unless a field holds numbers of `size` bytes each, or of any length if that is 0. Of more
    than 64 KB of the latter only the end is looked at.
    """
    length = field.end - field.start
    if size:
        if length % size:
            raise fields.MalformedError(field.start, f"{length:,} bytes are no numbers of {size} bytes each")
    elif length and data[field.end - 1] > 127:
        raise fields.MalformedError(field.start, "the last number is truncated")
    elif length <= _LOOKED_AT and _WELL_FORMED.match(data[field.start : field.end]) is None:
        raise fields.MalformedError(field.start, "a number has over 10 bytes")
