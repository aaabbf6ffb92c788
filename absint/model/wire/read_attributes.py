"""Reading attributes, and the tails of nodes: all but their names, inputs and outputs. Equal tails are one object."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import prod
from typing import Final, TypeAlias

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.limits import takes_shortcuts
from absint.lattices.terms.intern import Kept
from absint.model.wire import kinds
from absint.model.wire.fields import (
    DELIMITED,
    FIXED32,
    LARGE,
    SHALLOW,
    VARINT,
    Content,
    Field,
    MalformedError,
    Parts,
    floats,
    integers,
    runs_of,
    signed,
    signed32,
    text,
    varint,
)  # fmt: skip
from absint.model.wire.graphs import Attribute, Graph, Tail
from absint.model.wire.read_tensors import read_sparse, read_tensor
from absint.model.wire.read_types import read_type
from absint.model.wire.tensors import Tensor
from absint.model.wire.unread import by_number, check, last_number, last_text, places

ReadGraph: TypeAlias = Callable[[Content, Parts, int], Graph]
"""Reads a graph at a depth."""

MAX_KEPT: Final = 1 << 22
"""Bytes of the tails that are kept."""

MAX_TAIL: Final = 1 << 14
"""Bytes of the longest tail that is kept."""

KEPT: Final[Kept[bytes, Tail]] = Kept(MAX_KEPT)
"""Tails by their bytes: the fields op_type, attribute, domain and overload in the order of the file."""

_RUNS: Final = runs_of(floats=(7,), varints=(8,))
_USED: Final = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 20, 21, 22})
_UNIQUE: Final = count()


def read_tail(data: Content, found: Sequence[Field], depth: int, read_graph: ReadGraph) -> Tail:
    """The tail that these fields of a node make; `depth` is that of the node."""
    content = b""
    if depth <= SHALLOW and sum([field.end - field.tag for field in found]) <= MAX_TAIL:
        content = b"".join([data[field.tag : field.end] for field in found])
        kept = KEPT.get(content)
        if kept is not None:
            return kept
    return (_kept_tail(data, found, content) if content else None) or _new_tail(data, found, depth, read_graph)


def _kept_tail(data: Content, found: Sequence[Field], content: bytes) -> Tail | None:
    """A tail without a graph that fits in every node that is not deep; else None."""
    try:
        tail = _new_tail(data, found, SHALLOW, _no_graph)
    except MalformedError:
        return None
    tail.is_kept = True
    return KEPT.add(content, len(content), tail)


def _no_graph(_: Content, parts: Parts, __: int) -> Graph:
    raise MalformedError(parts[0][0], "a graph")


def _new_tail(data: Content, found: Sequence[Field], depth: int, read_graph: ReadGraph) -> Tail:
    texts = {4: "", 7: "", 8: ""}
    attributes = []
    for field in found:
        if field.number == 5:
            attributes.append(_attribute(data, field, depth + 1, read_graph))
        else:
            texts[field.number] = text(data[field.start : field.end])
    return Tail(texts[4], texts[7], texts[8], attributes)


def _attribute(data: Content, field: Field, depth: int, read_graph: ReadGraph) -> Attribute:
    is_short = field.end - field.start <= MAX_TAIL and takes_shortcuts()
    found = _usual(data[field.start : field.end], depth) if is_short else None
    return found or read_attribute(data, ((field.start, field.end),), depth, read_graph)


def _usual(content: bytes, depth: int) -> Attribute | None:
    """An attribute of the usual form: a short name, one value, and its type. None for any other."""
    if content[:1] != _NAME or content[-3:-1] != _TYPE:
        return None
    at, end = 2 + content[1], len(content) - 3
    found = _VALUES.get((content[-1], content[at])) if at < end and content[1] < 128 else None
    if found is None:
        return None
    name, read = found
    value = read(content, at + 1, end, depth + 1)
    if value is None:
        return None
    attribute = Attribute()
    attribute.name, attribute.type = text(content[2:at]), content[-1]
    setattr(attribute, name, value)
    attribute.keep(content if name != "t" else _identity(attribute, content, ((0, len(content)),)))
    return attribute


def _integer(content: bytes, at: int, end: int, _: int) -> int | None:
    if content[end - 1] > 127:
        return None
    number, after = varint(content, at, end)
    return signed(number) if after == end else None


def _integers(content: bytes, at: int, end: int, _: int) -> list[int] | None:
    """Of a byte each, after a tag each."""
    run = content[at - 1 : end]
    return list(run[1::2]) if run.isascii() and run[::2] == run[:1] * (len(run) // 2) else None


def _float(content: bytes, at: int, end: int, _: int) -> float | None:
    return float(struct.unpack_from("<f", content, at)[0]) if end - at == 4 else None


def _text(content: bytes, at: int, end: int, _: int) -> bytes | None:
    return content[at + 1 : end] if content[at] == end - at - 1 < 128 else None


def _tensor(content: bytes, at: int, end: int, depth: int) -> Tensor | None:
    length, start = varint(content, at, end, 5)
    return read_tensor(content, ((start, end),), depth) if start + length == end else None


_NAME: Final = b"\n"
_TYPE: Final = b"\xa0\x01"
_VALUES: Final[Mapping[tuple[int, int], tuple[str, Callable[[bytes, int, int, int], object]]]] = {
    (kinds.FLOAT, 2 << 3 | FIXED32): ("f", _float),
    (kinds.INT, 3 << 3 | VARINT): ("i", _integer),
    (kinds.STRING, 4 << 3 | DELIMITED): ("s", _text),
    (kinds.TENSOR, 5 << 3 | DELIMITED): ("t", _tensor),
    (kinds.INTS, 8 << 3 | VARINT): ("ints", _integers),
}
"""The field of each type by the tag of the value, and its reader: None for a value of another form."""


def read_attribute(data: Content, parts: Parts, depth: int, read_graph: ReadGraph) -> Attribute:
    """An attribute without what is large in its tensors."""
    attribute, found, below = Attribute(), by_number(data, parts, depth, "Attribute", _USED, _RUNS), depth + 1
    attribute.name, attribute.ref_attr_name = last_text(data, found[1]), last_text(data, found[21])
    attribute.i = last_number(found[3])
    known = [field for field in found[20] if 0 <= signed32(field.value) <= kinds.LAST]
    attribute.type = signed32(last_number(known))  # one that protobuf does not know is no type
    for field in found[2]:
        if field.wire == FIXED32:
            attribute.f = struct.unpack("<f", data[field.start : field.end])[0]
    if found[7]:
        attribute.floats = floats(data, found[7], 4)
    if found[8]:
        attribute.ints = [signed(number) for number in integers(data, found[8])]
    for field in (*(found[6] if attribute.type != kinds.GRAPH else ()), *found[11]):
        check(data, field, "Attribute", below)  # no analysis reads its nodes
    if strings := places(found[4]):
        attribute.s = data[slice(*strings[-1])]
    attribute.strings = [data[start:end] for start, end in places(found[9])]
    if tensor := places(found[5]):
        attribute.t = read_tensor(data, tensor, below)
    if graph := places(found[6]):
        attribute.g = read_graph(data, graph, below)
    attribute.graphs = [read_graph(data, (part,), below) for part in places(found[11])]
    if declared := places(found[14]):
        attribute.tp = read_type(data, declared, below)
    if sparse := places(found[22]):
        attribute.sparse_tensor = read_sparse(data, sparse, below)
    attribute.keep(_identity(attribute, data, parts))
    return attribute


def _identity(attribute: Attribute, data: Content, parts: Parts) -> bytes:
    """The bytes of an attribute; of one with a graph or a long tensor, bytes that no other attribute has."""
    is_long = sum(end - start for start, end in parts) > 2 * LARGE
    if attribute.holds_graphs or prod(attribute.t.dims) > MAX_ELEMENTS or (is_long and _holds_tensor(attribute)):
        return f"attribute {next(_UNIQUE)}".encode()
    return b"".join(data[start:end] for start, end in parts)


def _holds_tensor(attribute: Attribute) -> bool:
    return attribute.HasField("t") or attribute.HasField("sparse_tensor")
