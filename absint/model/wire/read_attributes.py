"""Reading declared types, attributes, and the tails of nodes: all but their names, inputs and outputs. Equal types and
equal tails are one object, since models repeat them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import prod
from typing import Final, TypeAlias

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.limits import takes_shortcuts
from absint.lattices.terms.intern import Kept
from absint.model.wire import graphs, kinds
from absint.model.wire.fields import DELIMITED, FIXED32, SHALLOW, VARINT, Field, MalformedError, varint
from absint.model.wire.read_tensors import read_sparse, read_tensor
from absint.model.wire.scalars import LARGE, Content, Parts, each, floats, integers, runs_of, signed, signed32, text
from absint.model.wire.tensors import Tensor
from absint.model.wire.unread import by_number, check, last_number, last_text, places

# Declared types

MAX_TYPES: Final = 1 << 20
"""Bytes of the types that are kept."""

_KINDS: Final = {
    1: "tensor_type",
    4: "sequence_type",
    5: "map_type",
    7: "opaque_type",
    8: "sparse_tensor_type",
    9: "optional_type",
}
_OPAQUE: Final = 7
_TYPES: Final[Kept[bytes, graphs.Type]] = Kept(MAX_TYPES)


def inner_type(data: Content, found: Sequence[Field], depth: int) -> graphs.Type:
    """The type in these fields of a message."""
    parts = places(found)
    return read_type(data, parts, depth) if parts else graphs.NO_TYPE


def read_type(data: Content, parts: Parts, depth: int) -> graphs.Type:
    """The type of a value; one object for equal bytes."""
    content = b"".join(data[start:end] for start, end in parts)
    return (_TYPES.get(content) if depth <= SHALLOW else None) or _new_type(data, parts, depth, content)


def _new_type(data: Content, parts: Parts, depth: int, content: bytes) -> graphs.Type:
    """A type, which is kept if it fits in every place that is not deep."""
    if depth <= SHALLOW and len(content) <= LARGE:
        try:
            return _TYPES.add(content, len(content), _type(data, parts, SHALLOW, content))
        except MalformedError:  # too deep for some of them, or damaged
            pass
    return _type(data, parts, depth, content)


def _type(data: Content, parts: Parts, depth: int, content: bytes) -> graphs.Type:
    """Of several kinds the last one counts; if it occurs several times in a row, these are merged."""
    last = 0
    inner: list[tuple[int, int]] = []
    seen: list[Field] = []
    for field in each(data, parts, depth):
        if field.wire == DELIMITED and field.number in _KINDS:
            if field.number != last:
                last, inner = field.number, []
            inner.append((field.start, field.end))
            seen.append(field)
    for field in seen if last == _OPAQUE else seen[: -len(inner)]:
        check(data, field, "Type", depth + 1)
    if last in (1, 8):
        return graphs.Type(_KINDS[last], _tensor_type(data, inner, depth + 1), content)
    if last in (4, 9):
        of_type = by_number(data, inner, depth + 1, "ElementType", (1,))[1]
        return graphs.Type(_KINDS[last], graphs.ElementType(inner_type(data, of_type, depth + 2)), content)
    if last == 5:
        return graphs.Type(_KINDS[last], _map_type(data, inner, depth + 1), content)
    return graphs.Type(_KINDS.get(last), None, content)


def _tensor_type(data: Content, parts: Parts, depth: int) -> graphs.TensorType:
    found = by_number(data, parts, depth, "TensorType", (1, 2))
    elem_type, shape = signed32(last_number(found[1])), places(found[2])
    if not shape:
        return graphs.TensorType(elem_type)
    dims = places(by_number(data, shape, depth + 1, "Dims", (1,))[1])
    return graphs.TensorType(elem_type, graphs.Dims(tuple(_dim(data, part, depth + 2) for part in dims)))


def _dim(data: Content, part: tuple[int, int], depth: int) -> graphs.Dim:
    """Of a size and a text the last one counts."""
    dim = graphs.Dim()
    for field in each(data, (part,), depth):
        if field.number == 1 and field.wire == VARINT:
            dim = graphs.Dim("dim_value", signed(field.value))
        elif field.number == 2 and field.wire == DELIMITED:
            dim = graphs.Dim("dim_param", dim_param=text(data[field.start : field.end]))
    return dim


def _map_type(data: Content, parts: Parts, depth: int) -> graphs.MapType:
    found = by_number(data, parts, depth, "MapType", (1, 2))
    return graphs.MapType(signed32(last_number(found[1])), inner_type(data, found[2], depth + 1))


# Attributes

ReadGraph: TypeAlias = Callable[[Content, Parts, int], graphs.Graph]
"""Reads a graph at a depth."""

MAX_KEPT: Final = 1 << 22
"""Bytes of the tails that are kept."""

MAX_TAIL: Final = 1 << 14
"""Bytes of the longest tail that is kept."""

KEPT: Final[Kept[bytes, graphs.Tail]] = Kept(MAX_KEPT)
"""Tails by their bytes: the fields op_type, attribute, domain and overload in the order of the file."""

_RUNS: Final = runs_of(floats=(7,), varints=(8,))
_USED: Final = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 20, 21, 22})
_UNIQUE: Final = count()


def read_tail(data: Content, found: Sequence[Field], depth: int, read_graph: ReadGraph) -> graphs.Tail:
    """The tail that these fields of a node make; `depth` is that of the node."""
    content = b""
    if depth <= SHALLOW and sum([field.end - field.tag for field in found]) <= MAX_TAIL:
        content = b"".join([data[field.tag : field.end] for field in found])
        kept = KEPT.get(content)
        if kept is not None:
            return kept
    return (_kept_tail(data, found, content) if content else None) or _new_tail(data, found, depth, read_graph)


def _kept_tail(data: Content, found: Sequence[Field], content: bytes) -> graphs.Tail | None:
    """A tail without a graph that fits in every node that is not deep; else None."""
    try:
        tail = _new_tail(data, found, SHALLOW, _no_graph)
    except MalformedError:
        return None
    tail.is_kept = True
    return KEPT.add(content, len(content), tail)


def _no_graph(_: Content, parts: Parts, __: int) -> graphs.Graph:
    raise MalformedError(parts[0][0], "a graph")


def _new_tail(data: Content, found: Sequence[Field], depth: int, read_graph: ReadGraph) -> graphs.Tail:
    texts = {4: "", 7: "", 8: ""}
    attributes = []
    for field in found:
        if field.number == 5:
            attributes.append(_attribute(data, field, depth + 1, read_graph))
        else:
            texts[field.number] = text(data[field.start : field.end])
    return graphs.Tail(texts[4], texts[7], texts[8], attributes)


def _attribute(data: Content, field: Field, depth: int, read_graph: ReadGraph) -> graphs.Attribute:
    is_short = field.end - field.start <= MAX_TAIL and takes_shortcuts()
    found = _usual(data[field.start : field.end], depth) if is_short else None
    return found or read_attribute(data, ((field.start, field.end),), depth, read_graph)


def _usual(content: bytes, depth: int) -> graphs.Attribute | None:
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
    attribute = graphs.Attribute()
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


def read_attribute(data: Content, parts: Parts, depth: int, read_graph: ReadGraph) -> graphs.Attribute:
    """An attribute without what is large in its tensors."""
    attribute, found, below = graphs.Attribute(), by_number(data, parts, depth, "Attribute", _USED, _RUNS), depth + 1
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


def _identity(attribute: graphs.Attribute, data: Content, parts: Parts) -> bytes:
    """The bytes of an attribute; of one with a graph or a long tensor, bytes that no other attribute has."""
    is_long = sum(end - start for start, end in parts) > 2 * LARGE
    holds_tensor = attribute.HasField("t") or attribute.HasField("sparse_tensor")
    if attribute.holds_graphs or prod(attribute.t.dims) > MAX_ELEMENTS or (is_long and holds_tensor):
        return f"attribute {next(_UNIQUE)}".encode()
    return b"".join(data[start:end] for start, end in parts)
