"""Reading graphs, functions and the model around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.model.wire.fields import DELIMITED, MAX_DEPTH, Content, Extent, MalformedError, Parts, field_at, varint
from absint.model.wire.graphs import Function, Graph, Model, Opset
from absint.model.wire.read_attributes import read_attribute
from absint.model.wire.read_nodes import SHORT, Nodes
from absint.model.wire.read_tensors import read_entry, read_sparse, read_tensor
from absint.model.wire.read_types import DeclaredClaims, read_infos
from absint.model.wire.unread import by_number, check, last_number, last_text, places, texts

_NODE, _INITIALISER, _INPUT, _OUTPUT, _VALUE_INFO, _SPARSE = 1, 5, 11, 12, 13, 15
_COPIED: Final = (_NODE, _INPUT, _OUTPUT, _VALUE_INFO)
_FOUND: Final = (_INITIALISER, _SPARSE)
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
        Nodes(data, found[_NODE], below, read_graph),
        [read_tensor(data, (span,), below) for span in _spans(found[_INITIALISER])],
        [read_sparse(data, (span,), below) for span in _spans(found[_SPARSE])],
        read_infos(data, found[_INPUT], below),
        read_infos(data, found[_OUTPUT], below),
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
