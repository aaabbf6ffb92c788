"""Reading the nodes of a graph: the loop in which most of the time of reading goes.

Most nodes begin with inputs, outputs and a name, all ASCII and shorter than 128 bytes, and end in a tail that some
node before had too. If the bytes up to the tail are ASCII, every length among them is a single byte, so a step from one
field to the next needs no test. Longer and other names are read with a test for each. New tails, and nodes whose fields
come in another order, are read field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, overload

from absint.model.wire.fields import DELIMITED, SHALLOW, Content, Extent, each, text, varint
from absint.model.wire.graphs import Node, Tail
from absint.model.wire.read_attributes import KEPT, MAX_TAIL, ReadGraph, read_tail
from absint.model.wire.unread import by_number, check, is_entry, last_text, texts

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

    __slots__ = ("_depth", "_items", "_read_graph", "_usual")

    def __init__(self, data: Content, places: Iterable[Extent], depth: int, read_graph: ReadGraph) -> None:
        self._items: list[bytes | Node] = [
            place if isinstance(place, bytes) else _any(data, *place, depth, read_graph) for place in places
        ]
        self._depth = depth
        self._read_graph = read_graph
        self._usual = _usual if depth <= SHALLOW else _never

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
