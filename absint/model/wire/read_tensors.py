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
_RAW_TAG: Final = _RAW << 3 | DELIMITED
_EXTERNAL_TAG: Final = _EXTERNAL << 3 | DELIMITED
_IS_EXTERNAL: Final = bytes([_LOCATION << 3 | VARINT, EXTERNAL])
_HEAD: Final = re.compile(rb"((?:\x08[\x80-\xff]{0,9}+[\x00-\x7f])*+\x10[\x00-\x7f])\x42([\x00-\x7f])", re.DOTALL)
"""One dim to a field, the element type, and the length of a name below 128 bytes: so begin most tensors."""

_HEADS: Final[Kept[bytes, tuple[tuple[int, ...], int, bool]]] = Kept(MAX_KEPT)
"""The sizes, the element type and if elements are few, by the bytes of these fields."""


def read_tensor(data: Content, parts: Parts, depth: int) -> Tensor:
    """A tensor without what is large in it."""
    if len(parts) == 1:
        found = _usual(data, *parts[0])
        if found is not None:
            return found
    return _any(data, parts, depth)


def _usual(data: Content, start: int, end: int) -> Tensor | None:
    """A tensor of the usual form: its sizes, type and name, then raw data, or weights in another file; else None."""
    head = _HEAD.match(data, start, end)
    if head is None:
        return None
    dims, data_type, is_small = _HEADS.get(head[1]) or _read_head(head[1])
    at = head.end() + head[2][0]
    if at + 2 > end:
        return None
    name, tag = text(data[head.end() : at]), data[at]
    if tag == _RAW_TAG:
        length, value_at = varint(data, at + 1, end, 5)
        if value_at + length != end:
            return None
        return Tensor(name, data_type, dims, data[value_at : min(end, value_at + LARGE + 1)] if is_small else b"")
    while tag == _EXTERNAL_TAG and data[at + 1] < 128 and at + 4 <= end:
        at += 2 + data[at + 1]
        if at + 2 > end:
            return None
        tag = data[at]
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
    return Tensor(
        name,
        data_type,
        dims,
        None if raw is None else data[raw.start : min(raw.end, raw.start + LARGE + 1)],
        location,
        entries,
        {
            field: [read(number) for number in integers(data, found[number], _MOST)]
            for number, (field, read) in _INTEGERS.items()
            if number in found
        },
        {
            field: floats(data, found[number], size, _MOST)
            for number, (field, size) in _FLOATS.items()
            if number in found
        },
    )


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
