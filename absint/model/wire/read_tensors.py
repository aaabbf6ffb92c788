"""Reading tensors: their types and sizes, and elements where they are few. Weights are stepped over.

Elements are few if the sizes say so. If a file holds others than it says, enough of them are read to see that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.limits import takes_shortcuts
from absint.lattices.records import NamedTuple
from absint.lattices.terms.intern import Kept
from absint.model.initialisers import size_in_bytes
from absint.model.wire.fields import DELIMITED, FIXED, MAX_DEPTH, RUN, VARINT, Field, MalformedError, Sliced, varint
from absint.model.wire.scalars import LARGE, Content, Parts, each, floats, integers, runs_of, signed, signed32, text
from absint.model.wire.tensors import EXTERNAL, NO_TENSOR, Entry, Rest, SparseTensor, Tensor
from absint.model.wire.unread import by_number, check, is_entry, last_number, last_text, places

_MOST: Final = MAX_ELEMENTS + 1
MAX_KEPT: Final = 1 << 16
"""Bytes of the types with sizes that are kept."""

MAX_RESTS: Final = 1 << 18
"""Bytes of the small tensors without their names that are kept."""

MAX_REST: Final = 1 << 8
"""Bytes of the longest of these."""

_DIMS, _TYPE, _STRINGS, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 6, 8, 9, 13, 14
_INTEGERS: Final[Mapping[int, tuple[str, Callable[[int], int]]]] = {
    5: ("int32_data", signed32),
    7: ("int64_data", signed),
    11: ("uint64_data", int),
}
_FLOATS: Final = {4: ("float_data", 4), 10: ("double_data", 8)}
_USED: Final = frozenset({_DIMS, _TYPE, _STRINGS, _NAME, _RAW, _EXTERNAL, _LOCATION, *_INTEGERS, *_FLOATS})
_RUNS: Final = runs_of((_DIMS, *_INTEGERS), (4,), (10,))
_RUNS_OF_SPARSE: Final = runs_of((3,))
_PACKED_TAGS: Final = frozenset(number << 3 | DELIMITED for number in (*_INTEGERS, *_FLOATS))
_NAME_TAG: Final = _NAME << 3 | DELIMITED
_RAW_TAG: Final = _RAW << 3 | DELIMITED
_EXTERNAL_TAG: Final = _EXTERNAL << 3 | DELIMITED
_IS_EXTERNAL: Final = bytes([_LOCATION << 3 | VARINT, EXTERNAL])
_HEAD: Final = re.compile(rb"(?:\x08[\x80-\xff]{0,9}+[\x00-\x7f])*+\x10[\x00-\x7f]")
"""One dim to a field, and the element type: so begin most tensors."""

_RESTS: Final[Kept[bytes, Rest]] = Kept(MAX_RESTS)
"""Small tensors without their names, by their bytes."""


class _Head(NamedTuple):
    """The sizes and the element type of a tensor: what follows from them."""

    is_small: bool
    """Elements are few."""
    bytes: int
    """The bytes of the elements; -1 if the type does not say."""
    inside: Rest
    """The tensor with weights in the file."""
    outside: Rest
    """The tensor with weights in another file."""


_HEADS: Final[Kept[bytes, _Head]] = Kept(MAX_KEPT)
"""By the bytes of these fields."""


def read_tensor(data: Content, parts: Parts, depth: int) -> Tensor:
    """A tensor without what is large in it."""
    if len(parts) == 1 and depth < MAX_DEPTH and takes_shortcuts() and not isinstance(data, Sliced):
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


def _usual(data: Content, head: bytes, start: int, end: int) -> Tensor | None:
    """A tensor of the usual form: its sizes, type and perhaps a name, before which there may be packed numbers, and
    behind which raw data, or the place of weights in another file. None for any other form.
    """
    # The head says what to expect: numbers of a small tensor may be packed before the name.
    known = _HEADS.get(head) or _read_head(head)
    at, tag = start, data[start]
    if known.is_small and tag in _PACKED_TAGS and at < end:
        length, at = _length(data, at + 1, end)
        at += length
        if at > end:
            return None
        tag = data[at]
    # The name parts tensors that are equal otherwise, so it is cut out of the key of `_RESTS`.
    name_at = name_end = at
    if tag == _NAME_TAG:
        length, name_at = data[at + 1], at + 2
        if length > 127:
            length, name_at = varint(data, at + 1, end, 5)
        name_end = name_at + length
        if name_end > end:
            return None
    if known.is_small and at - start + end - name_end <= MAX_REST:
        content = head + data[start:at] + data[name_end:end]
        rest = _RESTS.get(content)
        if rest is None:
            rest = (at == start and _after_name(data, known, name_end, end)) or _read_rest(content)
            if rest is not None:
                _RESTS.add(content, len(content), rest)
    else:
        rest = _after_name(data, known, name_end, end) if at == start else None
    return None if rest is None else Tensor(text(data[name_at:name_end]), rest)


def _length(data: Content, at: int, end: int) -> tuple[int, int]:
    length = data[at]
    return (length, at + 1) if length < 128 else varint(data, at, end, 5)


def _after_name(data: Content, head: _Head, at: int, end: int) -> Rest | None:
    """The rest of a tensor whose name ends at a place, behind which are raw data or the place of weights elsewhere."""
    if at + 2 > end:
        return None
    if data[at] == _RAW_TAG:
        length, value_at = _length(data, at + 1, end)
        if value_at + length != end:
            return None
        known = head.inside
        if not head.is_small:
            if length == head.bytes:
                return known
            return Rest(known.data_type, known.dims, b"", held={"raw_data": length})
        content = data[value_at : min(end, value_at + LARGE + 1)]
        return Rest(known.data_type, known.dims, content, held={"raw_data": length})
    # The entries say where weights stand, which no shape needs.
    while data[at] == _EXTERNAL_TAG and (length := data[at + 1]) < 128 and is_entry(data[at + 2 : at + 2 + length]):
        at += 2 + length
    is_usual = not head.is_small and end - at == len(_IS_EXTERNAL) and data[at:end] == _IS_EXTERNAL
    return head.outside if is_usual else None


def _read_head(content: bytes) -> _Head:
    sizes = Field(_DIMS, RUN, 0, 0, len(content) - 2, 0)
    dims, data_type = tuple(map(signed, integers(content, [sizes]))), content[-1]
    inside, outside = Rest(data_type, dims, b""), Rest(data_type, dims, None, EXTERNAL)
    head = _Head(_is_small(dims), size_in_bytes(data_type, dims), inside, outside)
    return _HEADS.add(content, len(content), head)


def _read_rest(content: bytes) -> Rest | None:
    """A small tensor without its name; None if there is a name in it, or damage, or more messages inside each other
    than fit every depth below MAX_DEPTH.
    """
    parts = ((0, len(content)),)
    try:
        if any(field.number == _NAME for field in each(content, parts, MAX_DEPTH - 1, _RUNS)):
            return None
        return _any(content, parts, MAX_DEPTH - 1).rest
    except MalformedError:
        return None


def _is_small(dims: Sequence[int]) -> bool:
    return 0 <= prod(dims) <= MAX_ELEMENTS


def _any(data: Content, parts: Parts, depth: int) -> Tensor:
    found = by_number(data, parts, depth, "Tensor", _USED, _RUNS)
    name, data_type = last_text(data, found[_NAME]), signed32(last_number(found[_TYPE]))
    raw = next((field for field in reversed(found[_RAW]) if field.wire == DELIMITED), None)
    known = [field for field in found[_LOCATION] if signed32(field.value) in (0, EXTERNAL)]
    location = signed32(last_number(known))
    # A field that stands twice counts as protobuf counts it: the last one, or all parts joined.
    dims = tuple(map(signed, integers(data, found[_DIMS])))
    entries = [read_entry(data, start, end, depth + 1) for start, end in places(found[_EXTERNAL])]
    held = _held(raw, found)
    if not _is_small(dims):
        for number in (*_INTEGERS, *_FLOATS):
            for field in found[number]:
                check(data, field, "Tensor", depth + 1)
        return Tensor(name, Rest(data_type, dims, None if raw is None else b"", location, entries, held=held))
    # One number more than fits: enough to see that the sizes are false.
    content = None if raw is None else data[raw.start : min(raw.end, raw.start + LARGE + 1)]
    whole: dict[str, Sequence[int]] = {}
    real: dict[str, Sequence[float]] = {}
    for number, (name_of_field, read) in _INTEGERS.items():
        if found[number]:
            whole[name_of_field] = list(map(read, integers(data, found[number], _MOST)))
    for number, (name_of_field, size) in _FLOATS.items():
        if found[number]:
            real[name_of_field] = floats(data, found[number], size, _MOST)
    held |= {field: len(whole.get(field, ())) for field, _ in _INTEGERS.values()}
    return Tensor(name, Rest(data_type, dims, content, location, entries, whole, real, held))


def _held(raw: Field | None, found: Mapping[int, Sequence[Field]]) -> dict[str, int]:
    """What a tensor holds: bytes of raw data, else floats and texts. Integers, whose lengths vary, are not counted."""
    if raw is not None:
        return {"raw_data": raw.end - raw.start}
    held = {"string_data": sum(field.wire == DELIMITED for field in found.get(_STRINGS, ()))}
    for number, (name, size) in _FLOATS.items():
        wires = (RUN, DELIMITED, FIXED[size])
        fields = [field for field in found.get(number, ()) if field.wire in wires]
        held[name] = sum((field.end - field.start) // (size + (field.wire == RUN)) for field in fields)
    return held


def read_sparse(data: Content, parts: Parts, depth: int) -> SparseTensor:
    """A sparse tensor."""
    found = by_number(data, parts, depth, "SparseTensor", (1, 2, 3), _RUNS_OF_SPARSE)
    values, indices = (
        read_tensor(data, inner, depth + 1) if (inner := places(found[number])) else NO_TENSOR for number in (1, 2)
    )
    return SparseTensor(values, indices, tuple(map(signed, integers(data, found[3]))))


def read_entry(data: Content, start: int, end: int, depth: int) -> Entry:
    """A key and its value."""
    found = by_number(data, ((start, end),), depth, "Entry", (1, 2))
    return Entry(last_text(data, found[1]), last_text(data, found[2]))
