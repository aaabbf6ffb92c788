"""Reading tensors: their types and sizes, and elements where they are few. Weights are stepped over.

Elements are few if the sizes say so. If a file holds others than it says, enough of them are read to see that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.terms.kept import Kept
from absint.model.wire.fields import DELIMITED, VARINT, Field, varint
from absint.model.wire.scalars import (
    LARGE,
    Content,
    Parts,
    each,
    floats,
    integers,
    runs_of,
    signed,
    signed32,
    text,
)  # fmt: skip
from absint.model.wire.tensors import EXTERNAL, NO_TENSOR, Entry, SparseTensor, Tensor

_MOST: Final = MAX_ELEMENTS + 1
MAX_KEPT: Final = 1 << 16
"""Bytes of the types with sizes that are kept."""

_DIMS, _TYPE, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 8, 9, 13, 14
_INTEGERS: Final[Mapping[int, tuple[str, Callable[[int], int]]]] = {
    5: ("int32_data", signed32),
    7: ("int64_data", signed),
    11: ("uint64_data", int),
}
_FLOATS: Final = {4: ("float_data", 4), 10: ("double_data", 8)}
_RUNS: Final = runs_of((_DIMS, *_INTEGERS), (4,), (10,))
_RUNS_OF_SPARSE: Final = runs_of((3,))
_PACKED_TAGS: Final = frozenset(number << 3 | DELIMITED for number in (*_INTEGERS, *_FLOATS))
_NAME_TAG: Final = _NAME << 3 | DELIMITED
_RAW_TAG: Final = _RAW << 3 | DELIMITED
_EXTERNAL_TAG: Final = _EXTERNAL << 3 | DELIMITED
_IS_EXTERNAL: Final = bytes([_LOCATION << 3 | VARINT, EXTERNAL])
_HEAD: Final = re.compile(rb"(?:\x08[\x80-\xff]{0,9}+[\x00-\x7f])*+\x10[\x00-\x7f]")
"""One dim to a field, and the element type: so begin most tensors."""

_HEADS: Final[Kept[bytes, tuple[tuple[int, ...], int, bool]]] = Kept(MAX_KEPT)
"""The sizes, the element type and if elements are few, by the bytes of these fields."""


def read_tensor(data: Content, parts: Parts, depth: int) -> Tensor:
    """A tensor without what is large in it."""
    if len(parts) == 1:
        start, end = parts[0]
        head = _HEAD.match(data, start, end)
        if head is not None:
            try:
                found = _usual(data, head[0], head.end(), end)
            except IndexError:
                found = None
            if found is not None:
                return found
    return _any(data, parts, depth)


def _usual(data: Content, head: bytes, at: int, end: int) -> Tensor | None:
    """A tensor of the usual form: its sizes, type and name, before which there may be packed numbers, and behind which
    raw data, or the place of weights in another file. None for any other form.
    """
    dims, data_type, is_small = _HEADS.get(head) or _read_head(head)
    numbers: Field | None = None
    tag, length = data[at], data[at + 1]
    if tag in _PACKED_TAGS and is_small and length < 128:
        numbers = Field(tag >> 3, DELIMITED, at, at + 2, at + 2 + length, 0)
        at = numbers.end
        tag, length = data[at], data[at + 1]
    if tag != _NAME_TAG or length > 127 or at + 2 + length > end:
        return None
    name, at = text(data[at + 2 : at + 2 + length]), at + 2 + length
    if numbers is not None:
        return _of_numbers(data, name, data_type, dims, {numbers.number: (numbers,)}) if at == end else None
    if at + 2 > end:
        return None
    if data[at] == _RAW_TAG:
        length, value_at = varint(data, at + 1, end, 5)
        if value_at + length != end:
            return None
        return Tensor(name, data_type, dims, data[value_at : min(end, value_at + LARGE + 1)] if is_small else b"")
    while data[at] == _EXTERNAL_TAG and (length := data[at + 1]) < 128:
        at += 2 + length
    is_usual = not is_small and end - at == len(_IS_EXTERNAL) and data[at:end] == _IS_EXTERNAL
    return Tensor(name, data_type, dims, None, EXTERNAL) if is_usual else None


def _read_head(content: bytes) -> tuple[tuple[int, ...], int, bool]:
    found = _any(content, ((0, len(content)),), 0)
    return _HEADS.add(content, len(content), (tuple(found.dims), found.data_type, _is_small(found.dims)))


def _is_small(dims: Sequence[int]) -> bool:
    return 0 <= prod(dims) <= MAX_ELEMENTS


def _any(data: Content, parts: Parts, depth: int) -> Tensor:
    name, data_type, location = "", 0, 0
    raw: Field | None = None
    found: dict[int, list[Field]] = {}
    for field in each(data, parts, depth, _RUNS):
        number, wire = field.number, field.wire
        if number == _NAME and wire == DELIMITED:
            name = text(data[field.start : field.end])
        elif number == _TYPE and wire == VARINT:
            data_type = signed32(field.value)
        elif number == _RAW and wire == DELIMITED:
            raw = field
        elif number == _LOCATION and wire == VARINT and signed32(field.value) in (0, EXTERNAL):
            location = signed32(field.value)
        else:
            found.setdefault(number, []).append(field)
    dims = tuple(map(signed, integers(data, found.get(_DIMS, ()))))
    entries = [
        read_entry(data, field.start, field.end, depth + 1)
        for field in found.get(_EXTERNAL, ())
        if field.wire == DELIMITED
    ]
    if not _is_small(dims):
        return Tensor(name, data_type, dims, None if raw is None else b"", location, entries)
    content = None if raw is None else data[raw.start : min(raw.end, raw.start + LARGE + 1)]
    return _of_numbers(data, name, data_type, dims, found, content, location, entries)


def _of_numbers(
    data: Content,
    name: str,
    data_type: int,
    dims: tuple[int, ...],
    found: Mapping[int, Sequence[Field]],
    raw: bytes | None = None,
    location: int = 0,
    entries: Sequence[Entry] = (),
) -> Tensor:
    """A tensor of few elements, with those that are not raw."""
    whole: dict[str, Sequence[int]] = {}
    real: dict[str, Sequence[float]] = {}
    for number, same in found.items():
        if number in _INTEGERS:
            field, read = _INTEGERS[number]
            whole[field] = list(map(read, integers(data, same, _MOST)))
        elif number in _FLOATS:
            field, size = _FLOATS[number]
            real[field] = floats(data, same, size, _MOST)
    return Tensor(name, data_type, dims, raw, location, entries, whole, real)


def read_sparse(data: Content, parts: Parts, depth: int) -> SparseTensor:
    """A sparse tensor."""
    found: dict[int, list[Field]] = {}
    for field in each(data, parts, depth, _RUNS_OF_SPARSE):
        found.setdefault(field.number, []).append(field)
    values, indices = (
        [(field.start, field.end) for field in found.get(number, ()) if field.wire == DELIMITED] for number in (1, 2)
    )
    return SparseTensor(
        read_tensor(data, values, depth + 1) if values else NO_TENSOR,
        read_tensor(data, indices, depth + 1) if indices else NO_TENSOR,
        tuple(map(signed, integers(data, found.get(3, ())))),
    )


def read_entry(data: Content, start: int, end: int, depth: int) -> Entry:
    """A key and its value."""
    texts = {1: "", 2: ""}
    for field in each(data, ((start, end),), depth):
        if field.number in texts and field.wire == DELIMITED:
            texts[field.number] = text(data[field.start : field.end])
    return Entry(texts[1], texts[2])


__all__ = ["MAX_KEPT", "read_entry", "read_sparse", "read_tensor"]
