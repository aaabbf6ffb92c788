"""Reading graphs, functions and the model around them; and nodes, where most of the time of reading goes.

Most nodes begin with inputs, outputs and a name, all ASCII and shorter than 128 bytes, and end in a tail that some
node before had too. If the bytes up to the tail are ASCII, every length among them is a single byte, so a step from one
field to the next needs no test. Longer and other names are read with a test for each. New tails, and nodes whose fields
come in another order, are read field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, overload

from absint.errors import ModelError
from absint.model.wire.fields import DELIMITED, MAX_DEPTH, SHALLOW, MalformedError, field_at, varint
from absint.model.wire.graphs import Function, Graph, Model, Node, Opset, Tail, ValueInfo
from absint.model.wire.read_attributes import KEPT, MAX_TAIL, ReadGraph, inner_type, read_attribute, read_tail
from absint.model.wire.read_tensors import read_entry, read_sparse, read_tensor
from absint.model.wire.scalars import Content, Extent, Parts, contents, each, text
from absint.model.wire.unread import by_number, check, is_entry, last_number, last_text, places, texts

_INPUT: Final = 1 << 3 | DELIMITED
_OUTPUT: Final = 2 << 3 | DELIMITED
_NAME: Final = 3 << 3 | DELIMITED
SHORT: Final = 2 * MAX_TAIL
"""Bytes of the longest node that is not read at once."""

_NAMES: Final = frozenset({1, 2, 3})
_TAIL: Final = frozenset({4, 5, 7, 8})
"""op_type, attribute, domain and overload."""

_OF_TAIL: Final = frozenset(number << 3 | DELIMITED for number in _TAIL)
_METADATA: Final = 9 << 3 | DELIMITED
_TEXTS: Final = frozenset(number << 3 | DELIMITED for number in (6, 9))
"""doc_string and metadata_props."""


class Nodes(Sequence[Node]):
    """The nodes of a graph. Their bytes are kept, and each is read when an iteration comes to it: most are looked at
    once, and thousands of objects that stay alive are slow to make.

    Reading one raises MalformedError if it is damaged.
    """

    __slots__ = ("_depth", "_is_read", "_items", "_read_graph", "_usual")

    def __init__(self, data: Content, places: Iterable[Extent], depth: int, read_graph: ReadGraph) -> None:
        self._items: list[bytes | Node] = [
            place if isinstance(place, bytes) else _any(data, *place, depth, read_graph) for place in places
        ]
        self._depth = depth
        self._read_graph = read_graph
        self._usual = _usual if depth <= SHALLOW else _never
        self._is_read = False

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> list[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | list[Node]:
        return [self._at(place) for place in range(len(self))[at]] if isinstance(at, slice) else self._at(at)

    def __iter__(self) -> Iterator[Node]:
        return self.since(0)

    def since(self, start: int) -> Iterator[Node]:
        """The nodes from a place on."""
        usual = self._usual
        for at, item in enumerate(self._items[start:] if start else self._items, start):
            yield item if isinstance(item, Node) else usual(item) or self._read(at, item)
        self._is_read |= not start

    def with_graphs(self) -> Iterable[Node]:
        """All nodes that have graphs, and some others: those that are kept, once all have been read."""
        return [item for item in self._items if isinstance(item, Node)] if self._is_read else self

    def texts(self) -> list[bytes | None]:
        """The bytes of each node that has not been kept as an object: equal bytes are equal nodes."""
        return [item if isinstance(item, bytes) else None for item in self._items]

    def _at(self, at: int) -> Node:
        """A node, which is kept."""
        item = self._items[at]
        if not isinstance(item, Node):
            item = self._items[at] = self._usual(item) or self._read(at, item)
        return item

    def _read(self, at: int, content: bytes) -> Node:
        """A node of another form; kept if its tail is not, since its graphs are the same objects each time."""
        depth, read_graph = self._depth, self._read_graph
        node = _of_any_names(content, depth, read_graph) or _any(content, 0, len(content), depth, read_graph)
        if not node.tail.is_kept:
            self._items[at] = node
        return node


def _usual(content: bytes) -> Node | None:
    """A node of the usual form; None for any other."""
    texts = content.decode("latin-1")
    inputs, outputs, name, at = [], [], "", 0
    try:
        tag = content[0]
        while tag == _INPUT:
            start = at + 2
            at = start + content[at + 1]
            inputs.append(texts[start:at])
            tag = content[at]
        while tag == _OUTPUT:
            start = at + 2
            at = start + content[at + 1]
            outputs.append(texts[start:at])
            tag = content[at]
        if tag == _NAME:
            start = at + 2
            at = start + content[at + 1]
            name = texts[start:at]
    except IndexError:
        return None
    tail = KEPT.get(content[at:]) or KEPT.get(content[at : _end_of_tail(content, at)])
    if tail is None or not (content.isascii() or texts[:at].isascii()):
        return None
    return Node(inputs, tuple(outputs), name, tail)


def _never(_: bytes) -> None:
    """For nodes that are deep: a tail that is known may not fit there."""


def _of_any_names(content: bytes, depth: int, read_graph: ReadGraph) -> Node | None:
    """A node that begins with its names, which may be long and not ASCII; None for any other form."""
    found: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _NAME: []}
    at, end = 0, len(content)
    for tag, names in found.items():
        while at < end and content[at] == tag:
            length, start = varint(content, at + 1, end, 5)
            at = start + length
            names.append(text(content[start:at]))
    tail = _tail(content, at, depth, read_graph)
    name = found[_NAME][-1] if found[_NAME] else ""
    return None if tail is None else Node(found[_INPUT], tuple(found[_OUTPUT]), name, tail)


def _tail(content: bytes, at: int, depth: int, read_graph: ReadGraph) -> Tail | None:
    """The tail of a node whose names end at a place; None if one of them comes later, or the tail is empty."""
    if depth <= SHALLOW:
        kept = KEPT.get(content[at:]) or KEPT.get(content[at : _end_of_tail(content, at)])
        if kept is not None:
            return kept
    found = []
    for field in each(content, ((at, len(content)),), depth):
        if field.wire == DELIMITED and field.number in _NAMES:
            return None
        if field.wire == DELIMITED and field.number in _TAIL:
            found.append(field)
        else:
            check(content, field, "Node", depth + 1)
    return read_tail(content, found, depth, read_graph) if found else None


def _end_of_tail(content: bytes, at: int) -> int:
    """The place behind a tail, if only texts for readers come behind it; else its beginning.

    Exporters note at each node which line of which module it comes from.
    """
    start = end = at
    tags = _OF_TAIL
    while at + 1 < len(content):
        if content[at] not in tags:
            if tags is _TEXTS:
                return start
            end, tags = at, _TEXTS
            continue
        tag, length, at = content[at], content[at + 1], at + 2
        if length > 127:
            length, at = varint(content, at - 1, len(content), 5)
        if tag == _METADATA and not is_entry(content[at : at + length]):
            return start
        at += length
    return end if at == len(content) and tags is _TEXTS else start


def _any(data: Content, start: int, end: int, depth: int, read_graph: ReadGraph) -> Node:
    found = by_number(data, ((start, end),), depth, "Node", _NAMES | _TAIL)
    rest = (field for number in _TAIL for field in found[number] if field.wire == DELIMITED)
    tail = read_tail(data, sorted(rest, key=attrgetter("tag")), depth, read_graph)
    return Node(texts(data, found[1]), tuple(texts(data, found[2])), last_text(data, found[3]), tail)


class DeclaredClaims(Sequence[ValueInfo]):
    """The types that a graph declares for the values inside of it. They are read when somebody looks at one."""

    __slots__ = ("_contents", "_depth", "_read")

    def __init__(self, data: Content, places: Iterable[Extent], depth: int) -> None:
        self._contents: list[bytes] | None = contents(data, places)
        self._depth = depth
        self._read: list[ValueInfo] = []

    def __len__(self) -> int:
        return len(self._read if self._contents is None else self._contents)

    @overload
    def __getitem__(self, at: int) -> ValueInfo: ...
    @overload
    def __getitem__(self, at: slice) -> list[ValueInfo]: ...
    def __getitem__(self, at: int | slice) -> ValueInfo | list[ValueInfo]:
        return self.read()[at]

    def __iter__(self) -> Iterator[ValueInfo]:
        return iter(self.read())

    def read(self) -> list[ValueInfo]:
        """All of them. Raises ModelError if one is damaged."""
        if self._contents is not None:
            try:
                self._read = [_info(item, self._depth) for item in self._contents]
            except MalformedError as error:
                damage = f"a type in value_info does not parse as protobuf ({error})"
                raise ModelError(f"{damage}: the file is damaged") from None
            self._contents = None
        return self._read


def read_infos(data: Content, places: Iterable[Extent], depth: int) -> list[ValueInfo]:
    """The declared types of values, at these places."""
    return [_info(item, depth) for item in contents(data, places)]


def _info(data: bytes, depth: int) -> ValueInfo:
    name, declared = "", []
    for field in each(data, ((0, len(data)),), depth):  # there are thousands: `by_number` would take a third longer
        if field.number == 1 and field.wire == DELIMITED:
            name = text(data[field.start : field.end])
        elif field.number == 2:
            declared.append(field)
        else:
            check(data, field, "ValueInfo", depth + 1)
    return ValueInfo(name, inner_type(data, declared, depth + 1))


_NODES, _INITIALISERS, _INPUTS, _OUTPUTS, _VALUE_INFO, _SPARSE = 1, 5, 11, 12, 13, 15
_COPIED: Final = (_NODES, _INPUTS, _OUTPUTS, _VALUE_INFO)
_FOUND: Final = (_INITIALISERS, _SPARSE)
_OTHER: Final = (False, None)
_OF_FUNCTION: Final = frozenset({1, 4, 5, 7, 9, 10, 11, 12, 13})


def read_model(data: Content) -> Model:
    """The model that is the content. Raises MalformedError if it is none."""
    model, found = Model(), by_number(data, ((0, len(data)),), 0, "Model", (1, 7, 8, 14, 25))
    model.ir_version = last_number(found[1])
    model.opset_import = [_read_opset(data, part, 1) for part in places(found[8])]
    model.metadata_props = [read_entry(data, start, end, 1) for start, end in places(found[14])]
    model.functions = [_read_function(data, part, 1) for part in places(found[25])]
    if graphs := places(found[7]):
        model.graph = read_graph(data, graphs, 1)
    return model


def read_graph(data: Content, parts: Parts, depth: int) -> Graph:
    """A graph without its weights."""
    if depth > MAX_DEPTH:
        raise MalformedError(parts[0][0], f"more than {MAX_DEPTH} messages and groups inside each other")
    found = _delimited(data, parts, depth)
    below = depth + 1
    return Graph(
        Nodes(data, found[_NODES], below, read_graph),
        [read_tensor(data, (span,), below) for span in _spans(found[_INITIALISERS])],
        [read_sparse(data, (span,), below) for span in _spans(found[_SPARSE])],
        read_infos(data, found[_INPUTS], below),
        read_infos(data, found[_OUTPUTS], below),
        DeclaredClaims(data, found[_VALUE_INFO], below),
    )


def _delimited(data: Content, parts: Parts, depth: int) -> dict[int, list[Extent]]:
    """The nodes and declared types of a graph, copied unless they are long, and where its tensors stand."""
    found: dict[int, list[Extent]] = {number: [] for number in (*_COPIED, *_FOUND)}
    by_tag = {number << 3 | DELIMITED: (number in _COPIED, places) for number, places in found.items()}
    for at, end in parts:
        last = end - 2
        while at < end:
            tag = data[at]
            is_copied, places = by_tag.get(tag, _OTHER)
            if places is None or at >= last:  # another field, or one without a byte
                field = field_at(data, at, end, depth)
                if field.wire == DELIMITED and field.number in found:
                    found[field.number].append((field.start, field.end))
                else:
                    check(data, field, "Graph", depth + 1)
                at = field.end
                continue
            append, longest = places.append, SHORT if is_copied else -1
            while at < last and data[at] == tag:  # fields of a number come in long runs
                length, start = data[at + 1], at + 2
                if length > 127:
                    second = data[start]
                    if second < 128:
                        length, start = length & 127 | second << 7, start + 1
                    else:
                        length, start = varint(data, at + 1, end, 5)
                at = start + length
                append(data[start:at] if length <= longest else (start, at))
            if at > end:
                raise MalformedError(start, f"a field of {length:,} bytes, and {end - start:,} are left")
    return found


def _spans(places: Sequence[Extent]) -> list[tuple[int, int]]:
    return [place for place in places if isinstance(place, tuple)]


def _read_opset(data: Content, part: tuple[int, int], depth: int) -> Opset:
    """The version of a domain."""
    found = by_number(data, (part,), depth, "Opset", (1, 2))
    return Opset(last_text(data, found[1]), last_number(found[2]))


def _read_function(data: Content, part: tuple[int, int], depth: int) -> Function:
    function, found, below = Function(), by_number(data, (part,), depth, "Function", _OF_FUNCTION), depth + 1
    function.name, function.domain, function.overload = (last_text(data, found[number]) for number in (1, 10, 13))
    function.input, function.output = texts(data, found[4]), texts(data, found[5])
    nodes = [field for field in found[7] if field.wire == DELIMITED]
    extents: list[Extent] = [data[start:end] if end - start <= SHORT else (start, end) for start, end in places(nodes)]
    function.node = list(Nodes(data, extents, below, read_graph))
    function.opset_import = [_read_opset(data, inner, below) for inner in places(found[9])]
    function.attribute_proto = [read_attribute(data, (inner,), below, read_graph) for inner in places(found[11])]
    function.value_info = read_infos(data, places(found[12]), below)
    with_bodies = [
        field
        for field, node in zip(nodes, function.node, strict=True)
        if not node.tail.is_kept and any(attribute.holds_graphs for attribute in node.attribute)
    ]
    for field in (*with_bodies, *found[11]):  # of which an analysis reads what a call needs
        check(data, field, "Function", below)
    return function
