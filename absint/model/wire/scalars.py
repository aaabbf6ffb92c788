"""Scalar values of fields: texts, signed numbers, and numbers that repeat, one to a field or packed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Final, TypeAlias, TypeVar

from absint.model.wire.fields import (
    DELIMITED,
    FIXED32,
    FIXED64,
    MAX_DEPTH,
    VARINT,
    Field,
    MalformedError,
    fields,
    varint,
)  # fmt: skip

Content: TypeAlias = bytes | mmap
"""A file, in memory or mapped into it: its slices are bytes."""

Parts: TypeAlias = Sequence[tuple[int, int]]
"""The places of a message: several if its field occurs several times, since a parser merges these."""

LARGE: Final = 1 << 13
"""Bytes of the largest value that is copied wherever it appears: 1024 numbers of 64 bits."""

Number = TypeVar("Number", int, float)


def each(data: Content, parts: Parts, depth: int) -> Iterator[Field]:
    """The fields of a message, `depth` messages below the outermost one."""
    if depth > MAX_DEPTH:
        raise MalformedError(parts[0][0], f"more than {MAX_DEPTH} messages and groups inside each other")
    for start, end in parts:
        yield from fields(data, start, end, depth)


def text(content: bytes) -> str:
    """The text of these bytes. As in protobuf, it is the bytes themselves if they are not valid UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content  # type: ignore[return-value]


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
    """The numbers of VARINT fields and packed ones, 64 bits without a sign each; only the first `most`."""
    numbers: list[int] = []
    for field in found:
        if field.wire == VARINT:
            numbers.append(field.value)
        elif field.wire == DELIMITED:
            at = field.start
            while at < field.end and (most is None or len(numbers) < most):
                number, at = varint(data, at, field.end)
                numbers.append(number)
        if most is not None and len(numbers) >= most:
            break
    return numbers


def floats(data: Content, found: Sequence[Field], size: int, most: int | None = None) -> list[float]:
    """The floats of 4 bytes or doubles of 8 bytes, one to a field or packed; only the first `most`."""
    wire, letter = (FIXED32, "f") if size == 4 else (FIXED64, "d")
    numbers: list[float] = []
    for field in found:
        length = field.end - field.start
        if field.wire not in (wire, DELIMITED):
            continue
        if length % size:
            raise MalformedError(field.start, f"{length:,} bytes are no numbers of {size} bytes each")
        count = length // size if most is None else min(length // size, most - len(numbers))
        numbers += struct.unpack(f"<{count}{letter}", data[field.start : field.start + count * size])
    return numbers


__all__ = ["LARGE", "Content", "Parts", "content_of", "each", "floats", "integers", "signed", "signed32", "text"]
